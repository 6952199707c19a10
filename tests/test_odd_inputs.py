"""What real files have in them, and what becomes of it: in the import, and at the door.

Each oddity was found in published data. The import says what it does with it; the
door judges a draft of it that was written by hand.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import RefusedError
from ledger.events import ForecastSealed, ForecastUpdated, LedgerEvent, Question
from ledger.log import open_reader
from tests.archive import Archive
from tests.console import Console
from tests.importer import Imported, from_csv, from_objects

MAP = (
    "--set", "id=id", "--set", "opened_at=opens", "--set", "cutoff_at=closes",
    "--set", "resolve_by=closes", "--forecaster", "model=p", "--set", "outcome=result",
    "--set", "published_at==2025-04-01T00:00:00Z", "--outcome", "1=yes",
    "--outcome", "0=no", "--outcome", "0.5=VOID:tie",
)  # fmt: skip
ROW: dict[str, Any] = {
    "id": "q-1",
    "opens": "2025-03-01T00:00:00Z",
    "closes": "2025-03-31T00:00:00Z",
    "p": 0.25,
    "result": 1,
}
Ledger = Callable[..., Archive]


def row(**changes: Any) -> dict[str, Any]:
    return ROW | changes


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return what makes a ledger that takes rows such as these."""

    def make(*rows: dict[str, Any], options: tuple[str, ...] = ()) -> Archive:
        from_objects(tmp_path, list(rows) or [ROW], *MAP, *options)
        suite = Console(tmp_path).must(
            "import", "jsonl", tmp_path / "table.jsonl", *MAP, *options, "--suite-toml"
        )
        return Archive(tmp_path, suite.stdout)

    return make


def draft(home: Path, kind: str, **changes: Any) -> dict[str, Any]:
    """Return one of the drafts of a sound row, changed by hand."""
    made = from_objects(home, [ROW], *MAP)
    found = next(
        each
        for each in made.drafts
        if kind in (each["type"], each.get("status")) or kind in each
    )
    if kind == "question":
        return {**found, "question": {**found["question"], **changes}}
    return {**found, **changes}


def refused(archive: Archive, *drafts: dict[str, Any]) -> str:
    """Return the code by which the last draft is refused; the others go in."""
    archive.append(drafts[:-1])
    with pytest.raises(RefusedError) as refusal:
        archive.append(drafts[-1:])
    return refusal.value.code


def events(archive: Archive) -> list[LedgerEvent]:
    """Return what the log has after charter and suite."""
    with open_reader(archive.folder) as reader:
        return [entry.event for entry in reader.events.read(2, reader.events.size())]


def questions(archive: Archive) -> list[Question]:
    found = (getattr(event, "question", None) for event in events(archive))
    return [question for question in found if question is not None]


def vectors(archive: Archive) -> list[dict[str, str]]:
    return [
        event.probabilities
        for event in events(archive)
        if isinstance(event, ForecastSealed | ForecastUpdated)
    ]


# --- Probabilities --------------------------------------------------------------------


def test_a_null_probability_is_a_missing_forecast(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [row(p=None)], *MAP)
    opened, sealed = draft(tmp_path, "question"), draft(tmp_path, "forecaster")
    sealed["probabilities"] = {"yes": None, "no": None}

    assert made.vectors == []
    assert made.report["without_forecast"] == {"model": 1}
    assert refused(ledger(), opened, sealed) == "draft-unfit"


def test_exactly_0_and_exactly_1_are_probabilities(
    tmp_path: Path, ledger: Ledger
) -> None:
    rows = [row(id="q-0", p=0), row(id="q-1", p=1), row(id="q-2", p=1.0)]
    made = from_objects(tmp_path, rows, *MAP)
    archive = ledger(*rows)
    archive.append(made.drafts)

    assert vectors(archive) == [
        {"yes": "0", "no": "1"},
        {"yes": "1", "no": "0"},
        {"yes": "1", "no": "0"},
    ]
    assert made.report["rounded"] == {}


def test_a_vector_that_sums_to_962_thousandths_is_no_vector(
    tmp_path: Path, ledger: Ledger
) -> None:
    columns = (
        "--set", "id=id", "--set", "forecaster==model", "--set", "probability.yes=yes",
        "--set", "probability.no=no", "--set", "opened_at==2025-03-01T00:00:00Z",
        "--set", "cutoff_at==2025-03-31T00:00:00Z",
        "--set", "resolve_by==2025-03-31T00:00:00Z",
    )  # fmt: skip
    content = "id,yes,no\nq-1,0.5,0.462\n"
    made = from_csv(tmp_path, content, *columns)
    scaled = from_csv(tmp_path, content, *columns, "--normalise")
    opened, sealed = draft(tmp_path, "question"), draft(tmp_path, "forecaster")
    archive = ledger()

    assert made.skipped == {"sum-not-one": ["line 2: they sum to 0.962"]}
    assert (
        refused(archive, opened, {**sealed, "probabilities": {"yes": 0.5, "no": 0.462}})
        == "sum-not-one"
    )
    archive.append([{**sealed, "probabilities": scaled.vectors[0]}])
    assert vectors(archive) == [{"yes": "0.519751", "no": "0.480249"}]
    assert scaled.report["normalised"] == {"model": 1}


def test_two_identical_forecasts_in_one_second_are_one(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [ROW, ROW], *MAP)
    archive = ledger()
    archive.append(made.drafts)
    archive.append([draft(tmp_path, "forecaster")])  # the receipt of the first

    assert made.skipped == {"repeated": ["line 2: model at 2025-03-31T00:00:00Z"]}
    assert len(vectors(archive)) == 1


def test_two_forecasts_in_one_second_are_a_seal_and_its_update(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [ROW, row(p=0.5)], *MAP)
    archive = ledger()
    archive.append(made.drafts)

    assert [type(event) for event in events(archive)][1:3] == [
        ForecastSealed,
        ForecastUpdated,
    ]


# --- Outcomes -------------------------------------------------------------------------


def test_a_tie_is_void_and_one_half_is_a_probability(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [row(p=0.5, result=0.5)], *MAP)
    archive = ledger()
    archive.append(made.drafts)
    record = draft(tmp_path, "RESOLVED", outcome="0.5", supersedes="standing")

    assert made.outcomes == [("VOID", "tie")]
    assert vectors(archive) == [{"yes": "0.5", "no": "0.5"}]
    record["created_at"] = record["published_at"] = "2025-04-02T00:00:00Z"
    assert refused(archive, record) == "outcome-outside-answers"


def test_the_price_of_a_market_that_is_open_is_no_outcome(
    tmp_path: Path, ledger: Ledger
) -> None:
    rows = [row(result=0.37), row(id="q-2", result=1.0, resolved=False)]
    made = from_objects(tmp_path, rows, *MAP, "--set", "resolved=resolved")
    unmapped = from_objects(tmp_path, rows[:1], *MAP)
    archive = ledger()
    archive.append(made.drafts)

    assert made.outcomes == []
    assert made.report["pending"] == 2
    assert unmapped.skipped == {"outcome-unmapped": ["line 1: '0.37'"]}
    record = draft(tmp_path, "RESOLVED", outcome="0.37")
    assert refused(archive, record) == "outcome-outside-answers"


# --- Times ----------------------------------------------------------------------------


@pytest.mark.parametrize("year", ["2525", "9999"])
def test_a_question_may_close_in_a_far_year_if_its_template_allows_it(
    tmp_path: Path, ledger: Ledger, year: str
) -> None:
    far = row(closes=f"{year}-12-31T23:59:59Z", p=None, result=None)
    made = from_objects(tmp_path, [far], *MAP)
    archive = ledger(far)
    archive.append(made.drafts)

    assert str(questions(archive)[0].resolve_by.year) == year


@pytest.mark.parametrize("year", ["2525", "9999"])
def test_a_far_year_is_outside_a_template_of_a_month(
    tmp_path: Path, ledger: Ledger, year: str
) -> None:
    opened = draft(tmp_path, "question", resolve_by=f"{year}-12-31T23:59:59Z")

    assert refused(ledger(), opened) == "question-outside-template"


def test_a_question_that_closes_before_it_opens_is_none(
    tmp_path: Path, ledger: Ledger
) -> None:
    closes = "2025-02-28T23:59:59Z"
    made = from_objects(tmp_path, [ROW, row(id="q-2", closes=closes)], *MAP)
    opened = draft(tmp_path, "question", cutoff_at=closes, resolve_by=closes)

    assert list(made.skipped) == ["times-out-of-order"]
    assert "line 2" in made.skipped["times-out-of-order"][0]
    assert refused(ledger(), opened) == "times-out-of-order"


def test_a_question_that_closes_as_it_opens_is_one(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [row(closes=ROW["opens"])], *MAP)
    archive = ledger()
    archive.append(made.drafts)

    assert len(questions(archive)) == 1


def test_a_date_that_is_not_available_is_missing(
    tmp_path: Path, ledger: Ledger
) -> None:
    made = from_objects(tmp_path, [ROW, row(id="q-2", closes="N/A")], *MAP)
    opened = draft(tmp_path, "question", cutoff_at="N/A")

    assert made.skipped == {"missing": ["line 2: cutoff_at"]}
    assert refused(ledger(), opened) == "draft-unfit"


def test_a_time_without_a_zone_is_refused_unless_the_import_may_assume_utc(
    tmp_path: Path, ledger: Ledger
) -> None:
    naive = row(id="q-2", opens="2025-03-01 08:00:00")
    made = from_objects(tmp_path, [ROW, naive], *MAP)
    assumed = from_objects(tmp_path, [naive], *MAP, "--assume-utc")
    opened = draft(tmp_path, "question", opened_at="2025-03-01T08:00:00")

    assert list(made.skipped) == ["time-without-zone"]
    assert "opened_at '2025-03-01 08:00:00'" in made.skipped["time-without-zone"][0]
    assert assumed.questions[0]["opened_at"] == "2025-03-01T08:00:00Z"
    assert refused(ledger(), opened) == "draft-unfit"


# --- Names and texts ------------------------------------------------------------------


def test_an_id_that_is_a_list_is_no_id(tmp_path: Path, ledger: Ledger) -> None:
    made = from_objects(tmp_path, [ROW, row(id=["q-1", "q-2"])], *MAP)
    opened = draft(tmp_path, "question", id=["q-1", "q-2"])

    assert made.skipped == {"not-one-value": ["line 2: id is a list"]}
    assert refused(ledger(), opened) == "draft-unfit"


@pytest.mark.parametrize(
    "name",
    [
        "meteofrance/TEMPERATURE/celsius.07072.D",
        "../../etc/passwd",
        "BTC-USD",
        " ",
        "Ø",
    ],
)
def test_an_id_may_be_any_text(tmp_path: Path, ledger: Ledger, name: str) -> None:
    made = from_objects(tmp_path, [row(id=name)], *MAP)
    archive = ledger()
    archive.append(made.drafts)

    assert questions(archive)[0].id == name
    assert len(events(archive)) == 3


LONG = (
    "\nWird es regnen?\n\n• «Ja», wenn — laut DWD — mehr als 0,2 mm fallen.\n" * 90
)[:5800]


def test_a_text_of_many_lines_and_signs_is_kept_as_it_is(
    tmp_path: Path, ledger: Ledger
) -> None:
    assert len(LONG.encode()) > 6_000
    asked = row(title=LONG)
    made = from_objects(tmp_path, [asked], *MAP, "--set", "text=title")
    archive = ledger()
    archive.append(made.drafts)

    assert questions(archive)[0].text == LONG


def test_a_text_may_stay_outside_as_its_hash(tmp_path: Path, ledger: Ledger) -> None:
    asked = row(title=LONG)
    options = ("--set", "text=title", "--hash-text")
    archive = ledger(asked, options=options)
    archive.append(from_objects(tmp_path, [asked], *MAP, *options).drafts)

    (question,) = questions(archive)
    assert question.text is None
    assert question.text_hash == sha256(LONG.encode()).hexdigest()


def test_a_text_beyond_an_entry_is_refused_at_the_door_and_its_hash_is_not(
    tmp_path: Path, ledger: Ledger
) -> None:
    asked = row(title="x" * 70_000)
    made = from_objects(tmp_path, [asked], *MAP, "--set", "text=title")
    hashed = from_objects(tmp_path, [asked], *MAP, "--set", "text=title", "--hash-text")
    archive = ledger()

    assert refused(archive, made.drafts[0]) == "too-large"
    assert archive.append(hashed.drafts) == 3


def test_one_question_in_two_rounds_is_two_units_of_one_cluster(
    tmp_path: Path, ledger: Ledger
) -> None:
    rows = [
        row(round="2025-03-01"),
        row(round="2025-03-16", opens="2025-03-16T00:00:00Z", result=0),
    ]
    by_round = ("--set", "id={round}/{id}", "--set", "target=id")
    made: Imported = from_objects(tmp_path, rows, *MAP, *by_round)
    mixed = from_objects(tmp_path, rows, *MAP)
    archive = ledger(*rows, options=by_round)
    archive.append(made.drafts)

    assert [each.id for each in questions(archive)] == [
        "2025-03-01/q-1",
        "2025-03-16/q-1",
    ]
    assert {each.cluster_name for each in questions(archive)} == {"q-1"}
    assert made.outcomes == [("RESOLVED", "yes"), ("RESOLVED", "no")]
    assert mixed.skipped == {"question-differs": ["line 2: q-1"]}
