"""`ledger lineage` and `ledger open`: the story of a unit, and what is still open."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import codec
from ledger.clock import micros
from ledger.events import Evidence, FailureTag
from ledger.log import open_reader
from ledger.projections.agenda import OpenUnit, open_units
from ledger.projections.chronicle import Chronicle, Wanted, chronicles
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.stored import open_tables
from tests.console import Console
from tests.court import BAR
from tests.on_disk import PINNED, OnDisk, everybodys
from tests.simulator import History
from tests.test_findings import SALT, hidden


def told(history: History, **wanted: str) -> list[Chronicle]:
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    found = chronicles(tables.connection, fold.frozen, history, Wanted(**wanted))
    return list(found)


def agenda(history: History, **later: float) -> list[OpenUnit]:
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    at_us = micros(history.now + timedelta(**later))
    return open_units(tables.connection, fold.frozen, {}.get, at_us)


# --- Chronicles -----------------------------------------------------------------------


def test_a_chain_has_its_vectors_in_order_with_lead_time_and_what_keeps_them_out() -> (
    None
):
    history = History()
    question = history.question(cutoff_at=history.now + timedelta(minutes=1))
    first = history.seal(question, "0.8")
    history.wait(hours=1)
    history.update(question, first, "0.9", reason="news")
    ((chain,),) = [unit.chains for unit in told(history)]
    assert [
        (each.seq, each.kind, each.parent, each.lead_seconds, each.why_not)
        for each in chain.vectors
    ] == [
        (2, "initial", None, 86_400, None),
        (3, "update", 2, 86_400 - 3_601, "late"),
    ]
    assert [each.is_eligible for each in chain.vectors] == [True, False]
    assert [each.findings for each in chain.vectors] == [[], ["late"]]
    assert [each.update_reason for each in chain.vectors] == [None, "news"]


def test_a_vector_tells_its_evidence() -> None:
    history = History()
    seen = Evidence(cutoff_at=history.now, tiers=("L0",), features={"files": "3"})
    history.seal(history.question(), evidence=seen, model_version="m-1")
    (vector,) = told(history)[0].chains[0].vectors
    assert (vector.evidence, vector.model_version) == (seen, "m-1")


def test_a_hidden_vector_is_shown_once_it_is_opened() -> None:
    history = History()
    question, sealed = hidden(history)
    (vector,) = told(history)[0].chains[0].vectors
    assert (vector.probabilities, vector.why_not) == (None, "hidden")
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)
    vector, reveal = told(history)[0].chains[0].vectors
    assert vector.probabilities == {"fail": "0.2", "pass": "0.8"}
    assert (vector.is_hidden, vector.opened_at_seq) == (True, reveal.seq)
    assert (vector.is_eligible, vector.why_not) == (True, None)
    assert (reveal.is_eligible, reveal.why_not) == (False, "reveal")


def test_by_claims_lead_time_goes_by_when_a_vector_was_made() -> None:
    history = History(
        chronology="claimed", run_class="exploratory", statistics__looks=[]
    )
    question = history.question()
    history.seal(question, created_at=question.resolve_by - timedelta(hours=27))
    assert told(history)[0].chains[0].vectors[0].lead_seconds == 27 * 3_600


def test_records_show_what_was_amended_and_which_stands() -> None:
    history = History()
    question = history.question()
    opened = history.open(question)
    history.wait(hours=3)
    wrong = history.resolve(question, failure_tags=(FailureTag(code="F2"),))
    history.record(
        question, "RESOLVED", outcome="fail", author="reviewer", supersedes=None,
        confirms=wrong,
    )  # fmt: skip
    history.resolve(question, "fail")
    (unit,) = told(history)
    assert (unit.status, unit.outcome, unit.reviews) == ("RESOLVED", "fail", 1)
    assert [each.stands for each in unit.resolutions] == [False, False, False, True]
    assert [each.supersedes for each in unit.resolutions] == [None, opened, None, wrong]
    assert [each.confirms for each in unit.resolutions] == [None, None, wrong, None]
    assert [each.findings for each in unit.resolutions][-1] == ["amended"]
    assert [each.rule for each in unit.findings] == ["unforecast", "amended"]
    assert unit.resolutions[1].failure_tags == (FailureTag(code="F2"),)


def several() -> History:
    history = History()
    for number in range(3):
        question = history.question(f"d-{number}", horizon="2h" if number else "24h")
        history.seal(question)
        if number == 1:
            history.seal(question, forecaster="rival")
    return history


CHOSEN: dict[str, tuple[dict[str, str], list[str]]] = {
    "all of them": ({}, ["d-0", "d-1", "d-2"]),
    "one by its id": ({"unit": "d-1"}, ["d-1"]),
    "one by the name that findings use": (
        {"unit": '["history@v1","dispatch-pass","d-2","2h"]'},
        ["d-2"],
    ),
    "a suite's": ({"suite": "history@v1"}, ["d-0", "d-1", "d-2"]),
    "another suite's": ({"suite": "history@v2"}, []),
    "a template's": ({"template": "weather"}, []),
    "a horizon's": ({"horizon": "2h"}, ["d-1", "d-2"]),
    "a forecaster's": ({"forecaster": "rival"}, ["d-1"]),
}


@pytest.mark.parametrize(("wanted", "ids"), CHOSEN.values(), ids=CHOSEN)
def test_units_are_chosen(wanted: dict[str, str], ids: list[str]) -> None:
    assert [unit.id for unit in told(several(), **wanted)] == ids


def test_of_a_chosen_forecaster_only_its_chains_are_shown() -> None:
    (unit,) = told(several(), forecaster="rival")
    assert [chain.forecaster for chain in unit.chains] == ["rival"]


def test_a_unit_is_found_by_any_hash_that_was_brought_for_it() -> None:
    history = History()
    history.seal(history.question())
    other = history.question(acceptance_hash=BAR)
    history.seal(other, forecaster="rival")
    assert [unit.id for unit in told(history, unit=codec.question_hash(other))] == [
        "d-1"
    ]


# --- What is open ---------------------------------------------------------------------

STATES: dict[str, tuple[timedelta, str]] = {
    "at the cut-off": (timedelta(hours=2), "due"),
    "after the cut-off": (timedelta(hours=2, microseconds=1), "pending"),
    "when the outcome is due": (timedelta(hours=24), "pending"),
    "after that": (timedelta(hours=24, microseconds=1), "overdue"),
}


@pytest.mark.parametrize(("later", "state"), STATES.values(), ids=STATES)
def test_what_a_unit_waits_for_goes_by_the_clock(later: timedelta, state: str) -> None:
    history = History()
    question = history.question()
    history.open(question)
    gone = (question.opened_at + later - history.now).total_seconds()
    (unit,) = agenda(history, seconds=gone)
    assert unit.state == state
    assert unit.unforecast_by == ["native", "rival"]


def test_who_has_sealed_on_a_unit_is_not_named() -> None:
    history = History()
    history.seal(history.question("d-2"))
    hidden(history)
    assert [(each.vectors, each.unforecast_by) for each in agenda(history)] == [
        (1, ["rival"]),
        (1, ["rival"]),
    ]


def test_what_has_an_outcome_is_not_open_until_it_is_withdrawn() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.record(question, "VOID")
    assert agenda(history) == []
    history.record(question, "PENDING", author="resolver")
    assert [each.id for each in agenda(history)] == ["d-1"]


def test_the_most_urgent_comes_first_and_what_is_overdue_before_what_is_pending() -> (
    None
):
    history = History()
    hours = {"late": (-5, -3), "soon": (1, 30), "wait": (-2, 9), "then": (2, 20)}
    for name, (cutoff, resolve_by) in hours.items():
        began = history.now
        history.open(
            history.question(
                name,
                opened_at=began - timedelta(hours=6),
                cutoff_at=began + timedelta(hours=cutoff),
                resolve_by=began + timedelta(hours=resolve_by),
            )
        )
    assert [(each.id, each.state) for each in agenda(history)] == [
        ("soon", "due"),
        ("then", "due"),
        ("late", "overdue"),
        ("wait", "pending"),
    ]


def listed_open(history: OnDisk) -> list[tuple[str, str, str]]:
    """Return suite, id and state of what is open of the pinned list."""
    with (
        open_reader(history.folder) as reader,
        open_tables(history.folder, reader.store) as (tables, frozen),
    ):
        found = open_units(
            tables.connection, frozen, history.folder.blobs.get, micros(history.now)
        )
    return [(each.suite, each.id, each.state) for each in found]


def test_a_pinned_question_is_open_though_no_event_speaks_of_it(tmp_path: Path) -> None:
    history = OnDisk(tmp_path)
    first, second = PINNED
    assert listed_open(history) == [
        ("history@v1", "listed-1", "due"),
        ("history@v1", "listed-2", "due"),
    ]
    history.seal(first)
    history.freeze(everybodys(2))
    # What nobody opened in time can be forecast under the next version only.
    assert listed_open(history) == [
        ("history@v1", "listed-1", "due"),
        ("history@v2", "listed-1", "due"),
        ("history@v2", "listed-2", "due"),
        ("history@v1", "listed-2", "pending"),
    ]
    history.wait(hours=3)
    history.record(second, "RESOLVED", outcome="pass", question=second)
    assert ("history@v1", "listed-2") not in {
        (name, question) for name, question, _ in listed_open(history)
    }
    history.writer.close()


# --- The commands ---------------------------------------------------------------------


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """A ledger with a resolved unit, one that is due, and one that is overdue."""
    console = Console(tmp_path).found().frozen()
    for words in (
        (
            "resolve",
            "--status",
            "PENDING",
            "--id",
            "d-1",
            *times("-30m", "+2h", "+24h"),
        ),
        (
            "resolve",
            "--status",
            "PENDING",
            "--id",
            "d-2",
            *times("-30m", "+3h", "+24h"),
        ),
        ("resolve", "--status", "PENDING", "--id", "d-3", *times("-5h", "-3h", "-1h")),
        ("seal", "--id", "d-1", "-p", "0.8"),
        ("update", "--id", "d-1", "-p", "0.6", "--reason", "flaky"),
        ("resolve", "--id", "d-1", "--outcome", "pass"),
    ):
        shown = console.here(*words)
        assert shown.code == 0, shown.stderr
    return console


def times(opened: str, cutoff: str, resolve_by: str) -> tuple[str, ...]:
    named = ("--opened", opened, "--cutoff", cutoff, "--resolve-by", resolve_by)
    return (*named, "--acceptance", BAR)


def test_a_unit_s_story_is_printed_for_programs(console: Console) -> None:
    unit: dict[str, Any] = console.here("lineage", "d-1", "--json").object
    assert (unit["id"], unit["status"], unit["outcome"]) == ("d-1", "RESOLVED", "pass")
    (chain,) = unit["chains"]
    assert [each["probabilities"]["pass"] for each in chain["vectors"]] == [
        "0.8",
        "0.6",
    ]
    assert [each["status"] for each in unit["resolutions"]] == ["PENDING", "RESOLVED"]
    assert [each["rule"] for each in unit["findings"]] == ["resolved-early"]


def test_a_unit_s_story_is_printed_for_people(console: Console) -> None:
    text = console.here("lineage", "--id", "d-1").stdout
    for part in (
        "dispatch-pass/d-1/24h  RESOLVED: pass",
        "native:",
        "update of 5",
        "fail=0.4 pass=0.6",
        "why flaky",
        "RESOLVED (stands)",
        "PENDING (superseded)",
        "resolved-early: resolver resolved at",
    ):
        assert part in text


def test_all_units_are_printed_a_line_each(console: Console) -> None:
    units = console.here("lineage", "--json").objects
    assert [unit["id"] for unit in units] == ["d-1", "d-2", "d-3"]


@pytest.mark.parametrize(
    "words", [["d-9"], ["d-1", "--id", "d-2"], ["--forecaster", "rival"]]
)
def test_a_unit_that_is_not_there_is_not_shown(
    console: Console, words: list[str]
) -> None:
    shown = console.here("lineage", *words)
    assert shown.code == 2
    assert shown.stderr.startswith("error: ")


def test_what_is_open_is_listed_for_programs(console: Console) -> None:
    found = console.here("open", "--json").objects
    assert [(each["id"], each["state"]) for each in found] == [
        ("d-2", "due"),
        ("d-3", "overdue"),
    ]
    assert found[0]["seconds_left"] > 0 > found[1]["seconds_left"]
    assert [each["unforecast_by"] for each in found] == [["native"], ["native"]]


def test_what_is_open_is_listed_for_people(console: Console) -> None:
    lines = console.here("open").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["state", "due", "overdue"]
    assert "dispatch-pass/d-2/24h" in lines[1]


def test_what_a_forecaster_has_not_forecast_is_listed(console: Console) -> None:
    assert console.here("seal", "--id", "d-2", "-p", "0.5").code == 0
    listed = ("open", "--forecaster", "native", "--json")
    assert [each["id"] for each in console.here(*listed).objects] == ["d-3"]
    assert console.here(*listed, "--suite", "piper-self@v1").code == 0
    assert console.here(*listed, "--suite", "piper-self@v2").code == 2


def test_where_nothing_is_open_that_is_said(tmp_path: Path) -> None:
    shown = Console(tmp_path).found().here("open")
    assert (shown.code, shown.stdout) == (0, "")
    assert "nothing is open" in shown.stderr
