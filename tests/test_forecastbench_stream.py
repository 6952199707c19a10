"""A history of resolutions becomes records that supersede each other, change by change."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.forecastbench_history import read_changes, read_questions
from ledger.cli.forecastbench_plan import (
    STREAM_REASONS,
    Plan,
    Report,
    forecasters_of,
)
from ledger.cli.forecastbench_stream import convert_stream
from ledger.cli.forecastbench_suite import toml_of
from ledger.errors import RefusedError, UsageError
from ledger.events import ResolutionRecorded
from ledger.log import open_reader
from tests.archive import Archive
from tests.console import Console

HEADER = "round,commit_time,commit,event,source,id,horizon_key,resolution_date,old,new"
ASKED: dict[str, Any] = {
    "forecast_due_date": "2025-12-07",
    "question_set": "2025-12-07-llm.json",
    "questions": [
        {
            "id": "GDP",
            "source": "fred",
            "question": "Will it rise from {forecast_due_date} to {resolution_date}?",
            "resolution_criteria": "The value on {resolution_date}.",
            "background": "N/A",
            "resolution_dates": ["2025-12-14", "2026-01-06"],
        },
        {
            "id": "9",
            "source": "infer",
            "question": "Will it happen?",
            "resolution_criteria": "Resolves to the market.",
            "background": "Line one,\r\nline two.",
            "market_info_resolution_criteria": "As the market says.",
            "resolution_dates": "N/A",
        },
    ],
}
RESOLVED = "2025-12-07,2025-12-21T01:54:53+00:00,c1,RESOLVED,fred,GDP,2025-12-14,2025-12-14,,1.0"
AMENDED = "2025-12-07,2025-12-23T01:57:38+00:00,c2,AMENDED,fred,GDP,2025-12-14,2025-12-14,1.0,0.0"
WITHDRAWN = "2025-12-07,2025-12-24T01:57:38+00:00,c3,WITHDRAWN,fred,GDP,2025-12-14,2025-12-14,0.0,"
GONE = "2025-12-07,2025-12-24T01:57:38+00:00,c3,WITHDRAWN_UNRESOLVED,infer,9,,2025-12-20,0.0135,"
BACK = "2025-12-07,2026-01-02T02:00:00+01:00,c4,RESOLVED,infer,9,,2025-12-31,,0.0"


def plan(*forecasters: str) -> Plan:
    return Plan(
        suite="forecastbench@v1",
        issuer="issuer",
        forecaster="forecaster",
        resolver="resolver",
        forecasters=forecasters_of(forecasters),
    )


def files(path: Path, lines: list[str], asked: dict[str, Any]) -> tuple[Path, Path]:
    stream, questions = path / "stream.csv.gz", path / "questions.json"
    stream.write_bytes(gzip.compress("\n".join([HEADER, *lines, ""]).encode()))
    questions.write_text(json.dumps(asked))
    return stream, questions


def imported(
    path: Path, *lines: str, forecasters: tuple[str, ...] = (), **changed: Any
) -> tuple[list[dict[str, Any]], Report]:
    stream, questions = files(path, list(lines), ASKED | changed)
    report = Report()
    asked, changes = read_questions(questions), read_changes(stream)
    return list(convert_stream(changes, asked, plan(*forecasters), report)), report


def records(drafts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in drafts if each.get("status", "PENDING") != "PENDING"]


def test_a_question_of_a_data_set_is_one_unit_a_resolution_date(tmp_path: Path) -> None:
    drafts, report = imported(tmp_path)
    asked = [each["question"] for each in drafts]

    assert [(each["template"], each["horizon"]) for each in asked] == [
        ("dataset", "7d"),
        ("dataset", "30d"),
        ("market", "market"),
    ]
    assert asked[1]["id"] == "2025-12-07/fred/GDP"
    assert asked[1]["resolve_by"] == "2026-01-06T23:59:59Z"
    assert report.questions == 2
    assert report.units == {"dataset": 2, "market": 1}
    assert report.pending == 3


def test_a_text_is_what_forecasters_were_shown(tmp_path: Path) -> None:
    drafts, _ = imported(tmp_path)
    texts = [each["question"]["text"] for each in drafts]

    assert texts == [
        "Will it rise from 2025-12-07 to 2025-12-14?\n\nThe value on 2025-12-14.",
        "Will it rise from 2025-12-07 to 2026-01-06?\n\nThe value on 2026-01-06.",
        (
            "Will it happen?\n\nResolves to the market.\n\nAs the market says.\n\n"
            "Line one,\r\nline two."
        ),
    ]


def test_a_change_is_a_record_of_the_instant_of_its_commit(tmp_path: Path) -> None:
    drafts, report = imported(tmp_path, RESOLVED, AMENDED)
    resolved, amended = records(drafts)

    assert amended == {
        "type": "ResolutionRecorded",
        "author": "resolver",
        "created_at": "2025-12-23T01:57:38Z",
        "suite": "forecastbench@v1",
        "template": "dataset",
        "id": "2025-12-07/fred/GDP",
        "horizon": "7d",
        "status": "RESOLVED",
        "outcome": "no",
        "published_at": "2025-12-23T01:57:38Z",
        "source": "fred",
        "supersedes": "standing",
        "extensions": {
            "forecastbench": {
                "commit": "c2",
                "event": "AMENDED",
                "resolution_date": "2025-12-14",
                "old": "1.0",
                "new": "0.0",
            }
        },
    }
    assert "supersedes" not in resolved
    assert report.changes == {"RESOLVED": 1, "AMENDED": 1}
    assert report.pending == 2


def test_what_was_withdrawn_is_void_and_can_come_back(tmp_path: Path) -> None:
    lines = (RESOLVED, AMENDED, WITHDRAWN, GONE, BACK)
    drafts, report = imported(tmp_path, *lines)
    told = [
        (each["status"], each.get("outcome"), each.get("reason_code"))
        for each in records(drafts)
    ]

    assert told == [
        ("RESOLVED", "yes", None),
        ("RESOLVED", "no", None),
        ("VOID", None, "withdrawn"),
        ("VOID", None, "withdrawn-unresolved"),
        ("RESOLVED", "no", None),
    ]
    assert records(drafts)[-1]["created_at"] == "2026-01-02T01:00:00Z"
    assert report.rows == sum(report.changes.values()) == 5
    assert report.drafts == {"PENDING": 3, "RESOLVED": 3, "VOID": 2}


def test_an_outcome_between_the_answers_is_void(tmp_path: Path) -> None:
    between = RESOLVED.removesuffix("1.0") + "0.5"
    drafts, _ = imported(tmp_path, between)

    assert records(drafts)[0]["reason_code"] == "not-binary"


def test_a_history_has_no_forecasts_but_those_that_are_named(tmp_path: Path) -> None:
    forecasts = tmp_path / "set.json"
    one = {"source": "fred", "id": "GDP", "resolution_date": "2025-12-14"}
    given = {"forecast_due_date": "2025-12-07", "forecasts": [one | {"forecast": 0.7}]}
    forecasts.write_text(json.dumps(given))
    drafts, report = imported(
        tmp_path, RESOLVED, forecasters=("half=0.5", f"model={forecasts}")
    )
    sealed = [each["forecaster"] for each in drafts if "probabilities" in each]

    assert sealed == ["half", "model", "half", "half"]
    assert report.without_forecast == {"model": 2}


# What becomes nothing: the changed question set, or the line, and where it is noted.
SKIPPED: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "other-round": ({}, [RESOLVED.replace("2025-12-07", "2025-11-23")], "line 2"),
    "unknown-event": ({}, [RESOLVED.replace("RESOLVED", "ARCHIVED")], "line 2"),
    "unknown-question": ({}, [RESOLVED.replace("GDP", "CPI")], "line 2"),
    "combination": (
        {"questions": [{"id": ["9", "10"], "source": "infer"}]},
        [],
        "question 1",
    ),
    "unknown-source": (
        {"questions": [{"id": "9", "source": "bones"}]},
        [],
        "question 1",
    ),
    "unknown-horizon": (
        {
            "questions": [
                {"id": "GDP", "source": "fred", "resolution_dates": ["2025-12-15"]}
            ]
        },
        [],
        "question 1, 2025-12-15",
    ),
}


def test_every_reason_of_a_stream_has_a_case() -> None:
    assert STREAM_REASONS.keys() <= SKIPPED.keys()


@pytest.mark.parametrize("reason", SKIPPED)
def test_what_becomes_nothing_is_counted_with_its_place(
    tmp_path: Path, reason: str
) -> None:
    changed, lines, place = SKIPPED[reason]
    drafts, report = imported(tmp_path, *lines, **changed)

    assert records(drafts) == []
    assert {name: each.places for name, each in report.skipped.items()} == {
        reason: [place]
    }
    assert report.rows == len(lines)


def test_a_data_set_without_dates_is_no_unit(tmp_path: Path) -> None:
    asked = [{"id": "GDP", "source": "fred", "resolution_dates": "N/A"}]
    drafts, report = imported(tmp_path, questions=asked)

    assert drafts == []
    assert report.skipped["unknown-horizon"].count == 1


# A history with a gap is refused as a whole, by the line at which it shows.
UNREADABLE: dict[str, tuple[list[str], str]] = {
    "an amendment of nothing": ([AMENDED], "line 2: fred GDP is AMENDED from 1.0"),
    "an amendment of another value": (
        [RESOLVED, AMENDED.replace(",1.0,0.0", ",0.0,1.0")],
        "and it stood at 1.0: is a line missing",
    ),
    "an amendment from nothing": (
        [RESOLVED, AMENDED.replace(",1.0,0.0", ",,0.0")],
        "is AMENDED from None",
    ),
    "a withdrawal of nothing": ([WITHDRAWN], "is WITHDRAWN from 0.0"),
    "resolved twice": ([RESOLVED, RESOLVED], "is RESOLVED from None, and it stood at 1.0"),
    "gone after it was resolved": ([RESOLVED, GONE.replace("infer,9,", "fred,GDP,2025-12-14")], "stood at 1.0"),
    "resolved to nothing": ([RESOLVED.removesuffix("1.0")], "its new value is None"),
    "withdrawn to something": ([GONE + "1.0"], "its new value is 1.0"),
    "an outcome outside 0 and 1": (
        [RESOLVED.removesuffix("1.0") + "1.5"],
        "line 2: new: 1.5 is no probability",
    ),
    "two changes in one commit": (
        [GONE, BACK.replace("2026-01-02T02:00:00+01:00", "2025-12-24T01:57:38+00:00")],
        "in the commit in which it changed before",
    ),
    "a commit before the last one": ([GONE, RESOLVED], "sort by commit_time"),
    "a time without a zone": ([RESOLVED.replace("+00:00", "")], "names no zone"),
    "a value that is no number": ([RESOLVED.replace("1.0", "yes")], "is no change"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "sentence"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_history_that_contradicts_itself_is_refused(
    tmp_path: Path, lines: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        imported(tmp_path, *lines)
    assert sentence in str(refused.value)


@pytest.fixture
def replayed(tmp_path: Path) -> tuple[Archive, list[dict[str, Any]]]:
    drafts, _ = imported(tmp_path, RESOLVED, AMENDED, WITHDRAWN, GONE, BACK)
    archive = Archive(tmp_path, toml_of(plan(), "evaluator"))
    archive.append(drafts)
    return archive, drafts


def history(archive: Archive) -> dict[str, list[ResolutionRecorded]]:
    """Return the records of each question in their order, that it was opened included."""
    told: dict[str, list[ResolutionRecorded]] = {}
    with open_reader(archive.folder) as reader:
        for entry in reader.events.read(2, reader.events.size()):
            assert isinstance(entry.event, ResolutionRecorded)
            told.setdefault(entry.event.question_hash, []).append(entry.event)
    return told


def test_each_record_supersedes_the_one_before(
    replayed: tuple[Archive, list[dict[str, Any]]],
) -> None:
    archive, _ = replayed
    with open_reader(archive.folder) as reader:
        entries = list(reader.events.read(2, reader.events.size()))
    told: dict[str, list[str]] = {}
    for entry in entries:
        assert isinstance(entry.event, ResolutionRecorded)
        before = told.setdefault(entry.event.question_hash, [])
        assert entry.event.supersedes == (before[-1] if before else None)
        before.append(entry.event_id)

    assert sorted(len(ids) for ids in told.values()) == [1, 3, 4]


def test_a_history_appended_again_changes_nothing(
    replayed: tuple[Archive, list[dict[str, Any]]],
) -> None:
    archive, drafts = replayed
    before = history(archive)
    for draft in drafts:
        if draft["status"] == "PENDING":
            archive.append([draft])  # the first entry's receipt
        else:
            with pytest.raises(RefusedError):
                archive.append([draft])

    assert history(archive) == before


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def test_the_command_accounts_for_questions_and_changes(
    console: Console, tmp_path: Path
) -> None:
    lines = [
        RESOLVED,
        AMENDED,
        RESOLVED.replace("GDP", "CPI").replace("12-21", "12-25"),
    ]
    stream, questions = files(tmp_path, lines, ASKED)
    shown = console.must(
        "import", "forecastbench", "--stream", stream, "--questions", questions
    )

    assert len(shown.objects) == 5
    assert shown.stderr.splitlines() == [
        "2 questions read: 3 units (dataset 2, market 1) in 1 round",
        "3 changes read: RESOLVED 1, AMENDED 1",
        "5 drafts: PENDING 3, RESOLVED 2",
        "PENDING: 2 units without an outcome in this file",
        "skipped: 1 row, of what the question set does not ask (line 4)",
    ]


def test_a_stream_and_its_questions_go_together_and_alone(
    console: Console, tmp_path: Path
) -> None:
    stream, questions = files(tmp_path, [RESOLVED], ASKED)
    both = ("--stream", stream, "--questions", questions)

    def refused(*words: object) -> str:
        return console.run("import", "forecastbench", *words).stderr

    assert "go together" in refused("--stream", stream)
    assert "go together" in refused("--questions", questions)
    assert "stands alone" in refused("resolutions.csv", *both)
    assert "stands alone" in refused(*both, "--as-of", "2026-01-01")
    assert "has no column round" in refused(
        "--stream", questions, "--questions", questions
    )
    assert "not what ForecastBench publishes" in refused(
        "--stream", stream, "--questions", stream
    )


def test_where_nothing_can_be_read_there_is_no_file(
    console: Console, tmp_path: Path
) -> None:
    stream, questions = files(tmp_path, [], ASKED | {"questions": []})
    out = tmp_path / "drafts.jsonl"
    shown = console.run(
        "import", "forecastbench", "--stream", stream, "--questions", questions,
        "--out", out,
    )  # fmt: skip

    assert shown.code == 2
    assert "nothing was imported" in shown.stderr
    assert not out.exists()
