"""What becomes of ForecastBench's files: every row is a draft, or is said not to be."""

import gzip
import io
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.app import run
from ledger.cli.forecastbench import convert
from ledger.cli.forecastbench_files import read_rows
from ledger.cli.forecastbench_plan import (
    REASONS,
    Forecaster,
    Plan,
    Report,
    forecasters_of,
)
from ledger.cli.forecastbench_suite import toml_of
from ledger.errors import UsageError
from ledger.suite_check import freeze_manifest, gaps, manifest_from_toml

HEADER = "forecast_due_date,source,id,resolution_date,resolved_to,resolved"
ROLES = {
    role: role for role in ("root", "evaluator", "issuer", "resolver", "forecaster")
}


def plan(*settings: str, as_of: date | None = None) -> Plan:
    return Plan(
        suite="forecastbench@v1",
        issuer="issuer",
        forecaster="forecaster",
        resolver="resolver",
        forecasters=forecasters_of(settings),
        as_of=as_of,
    )


def imported(
    path: Path, lines: list[str], asked: Plan | None = None
) -> tuple[list[dict[str, Any]], Report]:
    """Convert a CSV of these lines."""
    file, report = path / "resolutions.csv", Report()
    file.write_text("\n".join([HEADER, *lines]) + "\n")
    drafts = list(convert(read_rows(file), asked or plan("half=0.5"), report))
    return drafts, report


def accounted(report: Report) -> int:
    """Return how many rows became a unit or were skipped: it must be all of them."""
    skipped = sum(each.count for each in report.skipped.values())
    return skipped + sum(report.units.values())


def test_a_question_of_a_data_set_is_opened_forecast_and_resolved(
    tmp_path: Path,
) -> None:
    line = "2025-03-02,fred,GDP,2025-03-09,1.0,True"
    (opened, sealed, resolved), report = imported(tmp_path, [line])
    unit = {"template": "dataset", "id": "2025-03-02/fred/GDP", "horizon": "7d"}

    assert opened == {
        "type": "ResolutionRecorded",
        "author": "issuer",
        "created_at": "2025-03-02T00:00:00Z",
        "suite": "forecastbench@v1",
        "status": "PENDING",
        "source": "fred",
        "question": {
            **unit,
            "target": "fred/GDP",
            "opened_at": "2025-03-02T00:00:00Z",
            "cutoff_at": "2025-03-02T23:59:59Z",
            "resolve_by": "2025-03-09T23:59:59Z",
            "tags": {"kind": "dataset", "round": "2025-03-02", "source": "fred"},
        },
    }
    assert sealed == {
        "type": "ForecastSealed",
        "author": "forecaster",
        "created_at": "2025-03-02T23:59:59Z",
        "suite": "forecastbench@v1",
        "forecaster": "half",
        **unit,
        "probabilities": {"yes": "0.5", "no": "0.5"},
    }
    assert resolved == {
        "type": "ResolutionRecorded",
        "author": "resolver",
        "created_at": "2025-03-09T23:59:59Z",
        "suite": "forecastbench@v1",
        **unit,
        "published_at": "2025-03-09T23:59:59Z",
        "source": "fred",
        "status": "RESOLVED",
        "outcome": "yes",
    }
    assert report.units == {"dataset": 1}
    assert report.drafts == {"PENDING": 1, "ForecastSealed": 1, "RESOLVED": 1}


# What a row becomes after its question is opened: the statuses of its records.
OUTCOMES = {
    "a data set that moved": ("2025-03-02,fred,X,2025-03-09,1.0,True", ["RESOLVED"]),
    "a data set that did not": ("2025-03-02,fred,X,2025-03-09,0,True", ["RESOLVED"]),
    "a data set without an outcome": ("2025-03-02,fred,X,2025-03-09,,False", []),
    "a market's resolution": ("2025-03-02,infer,X,2025-04-01,0.0,True", ["RESOLVED"]),
    "an open market's price is no outcome": (
        "2025-03-02,infer,X,2025-04-01,0.37,False",
        [],
    ),
    "a price of 1 is no outcome either": (
        "2025-03-02,infer,X,2025-04-01,1.0,False",
        [],
    ),
    "a resolution between the answers": (
        "2025-03-02,manifold,X,2025-04-01,0.37,True",
        ["VOID"],
    ),
    "just below yes": ("2025-03-02,manifold,X,2025-04-01,0.999999,True", ["VOID"]),
    "just above no": ("2025-03-02,manifold,X,2025-04-01,0.000001,True", ["VOID"]),
}


@pytest.mark.parametrize(("line", "statuses"), OUTCOMES.values(), ids=OUTCOMES)
def test_a_row_becomes_the_records_that_it_supports(
    tmp_path: Path, line: str, statuses: list[str]
) -> None:
    drafts, report = imported(tmp_path, [line])
    records = [each["status"] for each in drafts if "status" in each]

    assert records == ["PENDING", *statuses]
    assert report.skipped == {}
    for each in drafts:
        if each.get("status") == "VOID":
            assert each["reason_code"] == "not-binary"


SKIPPED = {
    "combination": "2025-03-02,fred,\"('X', 'Y')\",2025-03-09,1.0,True",
    "round-too-young": "2025-03-03,fred,X,2025-03-10,1.0,True",
    "unknown-source": "2025-03-02,oracle-bones,X,2025-03-09,1.0,True",
    "unknown-horizon": "2025-03-02,fred,X,2025-03-10,1.0,True",
    "repeated": "2025-03-02,fred,GDP,2025-03-09,1.0,True",
}


def test_every_reason_to_skip_has_words_and_a_case() -> None:
    assert SKIPPED.keys() == REASONS.keys()


@pytest.mark.parametrize(("reason", "line"), SKIPPED.items())
def test_a_row_that_becomes_nothing_is_counted_with_its_place(
    tmp_path: Path, reason: str, line: str
) -> None:
    kept = "2025-03-02,fred,GDP,2025-03-09,1.0,True"
    # The board of a day takes in the rounds of 50 days before it and earlier.
    asked = plan("half=0.5", as_of=date(2025, 4, 21))
    drafts, report = imported(tmp_path, [kept, line], asked)

    assert len(drafts) == 3
    assert {name: each.places for name, each in report.skipped.items()} == {
        reason: ["line 3"]
    }
    assert accounted(report) == report.rows == 2


def test_one_question_in_two_rounds_is_two_units_of_one_target(tmp_path: Path) -> None:
    lines = [
        "2025-03-02,metaculus,7,2025-05-01,1.0,True",
        "2025-03-16,metaculus,7,2025-05-01,1.0,True",
    ]
    drafts, report = imported(tmp_path, lines)
    questions = [each["question"] for each in drafts if "question" in each]

    assert [each["id"] for each in questions] == [
        "2025-03-02/metaculus/7",
        "2025-03-16/metaculus/7",
    ]
    assert {each["target"] for each in questions} == {"metaculus/7"}
    assert report.rounds == {"2025-03-02": 1, "2025-03-16": 1}


def test_a_market_is_one_unit_a_round_whenever_it_resolves(tmp_path: Path) -> None:
    early = "2025-03-02,infer,X,2025-03-20,0.4,False"
    late = "2025-03-02,infer,X,2025-04-01,1.0,True"
    drafts, report = imported(tmp_path, [early, late])
    before, _ = imported(tmp_path, [early])

    assert [each["type"] for each in drafts] == [
        "ResolutionRecorded",
        "ForecastSealed",
        "ResolutionRecorded",
    ]
    # A later file resolves what an earlier one opened: the same question.
    assert drafts[0] == before[0]
    assert report.skipped["repeated"].count == 1


def test_a_forecast_of_more_than_six_places_is_rounded_and_counted(
    tmp_path: Path,
) -> None:
    line = "2025-03-02,fred,X,2025-03-09,1.0,True"
    forecasts = {
        "0.1234564": "0.123456",
        "0.1234565": "0.123456",
        "0.1234575": "0.123458",
        "0.9999999": "1",
        "0.000001": "0.000001",
    }
    asked = plan(*(f"p{place}={place}" for place in forecasts))
    drafts, report = imported(tmp_path, [line], asked)
    vectors = [each["probabilities"] for each in drafts if "probabilities" in each]

    assert [each["yes"] for each in vectors] == list(forecasts.values())
    assert vectors[0]["no"] == "0.876544"
    assert sum(report.rounded.values()) == 4


def test_a_forecast_set_gives_each_unit_its_own_vector(tmp_path: Path) -> None:
    given = tmp_path / "2025-03-02.model.json.gz"
    content = {
        "forecast_due_date": "2025-03-02",
        "organization": "somebody",
        "forecasts": [
            {"source": "fred", "id": "X", "forecast": 0.7, "reasoning": "",
             "resolution_date": "2025-03-09"},
            {"source": "infer", "id": "9", "forecast": 0.2, "resolution_date": None},
            {"source": "infer", "id": ["9", "10"], "forecast": 0.1},
            {"source": "fred", "id": "Y", "forecast": None,
             "resolution_date": "2025-03-09"},
        ],
    }  # fmt: skip
    given.write_bytes(gzip.compress(json.dumps(content).encode()))
    lines = [
        "2025-03-02,fred,X,2025-03-09,1.0,True",
        "2025-03-02,fred,X,2025-04-01,1.0,True",
        "2025-03-02,fred,Y,2025-03-09,1.0,True",
        "2025-03-02,infer,9,2025-04-01,0.5,False",
        "2025-03-16,infer,9,2025-04-01,0.5,False",
    ]
    drafts, report = imported(tmp_path, lines, plan(f"model={given}"))
    vectors = {
        (each["id"], each["horizon"]): each["probabilities"]["yes"]
        for each in drafts
        if "probabilities" in each
    }

    assert vectors == {
        ("2025-03-02/fred/X", "7d"): "0.7",
        ("2025-03-02/infer/9", "market"): "0.2",
    }
    assert report.without_forecast == {"model": 3}


def test_a_resolution_set_in_json_reads_like_the_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {
        "forecast_due_date": "2025-03-02",
        "question_set": "2025-03-02-llm.json",
        "resolutions": [
            {"source": "fred", "id": "X", "direction": None,
             "resolution_date": "2025-03-09", "resolved_to": 1.0, "resolved": True},
            {"source": "fred", "id": ["X", "Y"], "direction": [1, -1],
             "resolution_date": "2025-03-09", "resolved_to": 0.0, "resolved": True},
        ],
    }  # fmt: skip
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(content).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    report = Report()
    drafts = list(convert(read_rows(Path("-")), plan("half=0.5"), report))
    lines = ["2025-03-02,fred,X,2025-03-09,1.0,True"]

    assert drafts == imported(tmp_path, lines)[0]
    assert report.skipped["combination"].places == ["resolution 2"]


# A file that cannot be believed is refused as a whole, by its first wrong line.
UNREADABLE = {
    "an outcome that is no number": (
        ["2025-03-02,fred,X,2025-03-09,one,True"],
        "line 2 is no resolution",
    ),
    "an outcome outside 0 and 1": (
        ["2025-03-02,fred,X,2025-03-09,1.01,True"],
        "line 2: resolved_to: 1.01 is no probability",
    ),
    "not a number at all": (
        ["2025-03-02,fred,X,2025-03-09,nan,True"],
        "line 2: resolved_to: NaN is no probability",
    ),
    "a day that does not exist": (
        ["2025-02-30,fred,X,2025-03-09,1.0,True"],
        "line 2 is no resolution",
    ),
    "neither resolved nor not": (
        ["2025-03-02,fred,X,2025-03-09,1.0,perhaps"],
        "line 2 is no resolution",
    ),
    "resolved to nothing": (
        ["2025-03-02,fred,X,2025-03-09,,True"],
        "line 2: fred X is resolved, and to nothing",
    ),
    "a line that stops": (["2025-03-02,fred,X"], "line 2 is no resolution"),
    "two outcomes of one unit": (
        [
            "2025-03-02,fred,X,2025-03-09,1.0,True",
            "2025-03-02,fred,X,2025-03-09,0.0,True",
        ],
        "fred X of round 2025-03-02 resolved to 1.0 in line 2, and to 0.0 in line 3",
    ),
    "a round that comes back": (
        [
            "2025-03-02,fred,X,2025-03-09,1.0,True",
            "2025-03-16,fred,X,2025-03-23,1.0,True",
            "2025-03-02,fred,Y,2025-03-09,1.0,True",
        ],
        "sort the file by forecast_due_date",
    ),
}


@pytest.mark.parametrize(("lines", "sentence"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_believed_is_refused(
    tmp_path: Path, lines: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        imported(tmp_path, lines)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no column forecast_due_date"),
        (b"round,event,old,new\n", "this has round, event, old, new"),
        (b"{}", "not what ForecastBench publishes"),
        (b"\x1f\x8b\x08\x00garbage", "cannot be read"),
        (b"\xff\xfe", "not what ForecastBench publishes"),
    ],
)
def test_another_kind_of_file_is_refused_by_name(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        list(read_rows(file))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.csv cannot be read"):
        list(read_rows(tmp_path / "nothing.csv"))


@pytest.mark.parametrize(
    "settings",
    [
        ["always"],
        ["=0.5"],
        ["always="],
        ["always=1.5"],
        ["always=0.5", "always=0.5"],
        ["always=no-such-file.json"],
    ],
)
def test_a_forecaster_that_is_neither_a_number_nor_a_file_is_refused(
    settings: list[str],
) -> None:
    with pytest.raises(UsageError):
        forecasters_of(settings)


def test_one_round_of_a_forecaster_comes_from_one_file(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text('{"forecast_due_date": "2025-03-02", "forecasts": []}')
    (one,) = forecasters_of([f"model={file}"])

    assert one == Forecaster(name="model", files={date(2025, 3, 2): file})
    for again in (f"model={file}", "model=0.5"):
        with pytest.raises(UsageError):
            forecasters_of([f"model={file}", again])
    with pytest.raises(UsageError):
        forecasters_of(["model=0.5", f"model={file}"])


def test_the_suite_of_an_import_can_be_frozen_as_it_is() -> None:
    asked = plan("always-0=0", 'a "quoted" name=0.5')
    manifest = manifest_from_toml(toml_of(asked, "evaluator"))

    assert gaps(manifest, ROLES) == []
    frozen = freeze_manifest(manifest, ROLES)
    assert frozen.chronology == "claimed"
    assert frozen.run_class == "exploratory"
    assert [each.name for each in frozen.competitors] == [
        "always-0",
        'a "quoted" name',
        "past-rate",
    ]
    assert frozen.scoring.reference == "past-rate"


def command(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> tuple[str, str]:
    """Run `ledger import forecastbench`; return what it printed where."""
    with pytest.raises(SystemExit) as exited:
        run(["import", "forecastbench", *arguments])
    assert exited.value.code == status
    printed = capsys.readouterr()
    return printed.out, printed.err


@pytest.fixture
def resolutions(tmp_path: Path) -> Path:
    lines = [
        HEADER,
        "2025-03-02,fred,GDP,2025-03-09,1.0,True",
        "2025-03-02,infer,9,2025-04-01,0.5,False",
        "2025-03-02,fred,GDP,2025-03-10,1.0,True",
    ]
    file = tmp_path / "resolutions.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_the_command_prints_drafts_and_accounts_for_every_row(
    capsys: pytest.CaptureFixture[str], resolutions: Path
) -> None:
    out, err = command(capsys, str(resolutions), "--forecaster", "third=0.3333333")

    assert [json.loads(line)["type"] for line in out.splitlines()] == [
        "ResolutionRecorded",
        "ForecastSealed",
        "ResolutionRecorded",
        "ResolutionRecorded",
        "ForecastSealed",
    ]
    assert err.splitlines() == [
        "3 rows read: 2 units (dataset 1, market 1) in 1 round",
        "5 drafts: PENDING 2, ForecastSealed 2, RESOLVED 1",
        "PENDING: 1 unit without an outcome in this file",
        "skipped: 1 row, at none of the documented horizons (line 4)",
        "rounded: 2 forecasts of third, to millionths",
    ]


def test_the_command_reports_in_json_beside_its_file(
    capsys: pytest.CaptureFixture[str], resolutions: Path, tmp_path: Path
) -> None:
    file = tmp_path / "drafts.jsonl"
    out, err = command(capsys, str(resolutions), "--out", str(file), "--json")
    report = json.loads(out)

    assert err == ""
    assert report["rows"] == 3
    assert report["drafts"] == {"PENDING": 2, "ForecastSealed": 6, "RESOLVED": 1}
    assert report["skipped"]["unknown-horizon"] == {"count": 1, "places": ["line 4"]}
    assert len(file.read_text().splitlines()) == 9
    out, err = command(capsys, str(resolutions), "--json")
    assert (out, json.loads(err)) == (file.read_text(), report)


def test_a_refused_import_leaves_no_file(
    capsys: pytest.CaptureFixture[str], resolutions: Path, tmp_path: Path
) -> None:
    with resolutions.open("a") as more:
        more.write("2025-03-02,fred,GDP,2025-03-09,0.0,True\n")
    file = tmp_path / "drafts.jsonl"
    _, err = command(capsys, str(resolutions), "--out", str(file), status=2)

    assert "resolved to 1.0 in line 2, and to 0.0 in line 5" in err
    assert list(tmp_path.iterdir()) == [resolutions]


def test_the_command_prints_the_suite_that_takes_its_drafts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = command(capsys, "--suite-toml", "--suite", "bench@v2", "--owner", "eve")
    manifest = manifest_from_toml(out)

    assert manifest["suite"] == "bench@v2"
    assert manifest["owner"] == "eve"
    assert [each["name"] for each in manifest["competitors"]] == [
        "always-0",
        "always-0.5",
        "always-1",
        "past-rate",
    ]


@pytest.mark.parametrize("arguments", [[], ["r.csv", "--as-of", "yesterday"]])
def test_the_command_says_what_it_lacks(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    _, err = command(capsys, *arguments, status=2)
    assert err.startswith("error: ")
