"""When a look fell due: found in the log, at the size that counting each would give."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.errors import UsageError
from ledger.projections.board import read_board
from ledger.projections.board_looks import Reached
from ledger.projections.fold import Fold
from ledger.projections.looks_due import due_at
from ledger.projections.materialize import Tables
from ledger.projections.report import no_files
from ledger.suite import SuiteManifest
from tests.reporting import LIVES, row
from tests.simulator import BEGAN, History
from tests.story import STEPS, Step, tell

HOUR = timedelta(hours=1)


def with_looks(manifest: SuiteManifest, *looks: int) -> SuiteManifest:
    statistics = msgspec.structs.replace(manifest.statistics, looks=looks)
    return msgspec.structs.replace(manifest, statistics=statistics)


def due(history: History, number: int, *looks: int) -> int:
    manifest = with_looks(history.manifest, *(looks or (number,)))
    return due_at(history.until, history.size(), manifest, number)


def why_not(history: History, number: int, *looks: int) -> str:
    with pytest.raises(UsageError) as refused:
        due(history, number, *looks)
    return str(refused.value)


def reached(history: History, size: int) -> Reached:
    """Return how many units a row of the log's first entries says are resolved."""
    tables = Tables()
    fold = Fold(tables, history.until(size))
    fold.catch_up()
    suite = fold.frozen.suites.get(history.manifest.suite)
    if suite is None:
        return Reached(resolved=0, before=0, is_amended=False)
    return read_board(tables, fold.frozen, suite, no_files).reached


def told(history: History, *numbers: int, hours: float = 3) -> None:
    """Let units be forecast, and then have an outcome."""
    asked = [history.question(f"u-{number}") for number in numbers]
    for question in asked:
        history.seal(question)
    history.wait(hours=hours)
    for question in asked:
        history.resolve(question)


# --- Against each size of the log, one by one -----------------------------------------


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]), steps=st.one_of(STEPS, LIVES)
)
def test_a_look_is_due_at_the_first_size_whose_rows_count_so_many_units(
    chronology: str, steps: list[Step]
) -> None:
    history = tell(chronology, steps)
    found = [reached(history, size) for size in range(1, history.size() + 1)]
    for number in range(1, 5):
        sizes = [at for at, each in enumerate(found, 1) if each.resolved >= number]
        if sizes:
            assert due(history, number) == sizes[0]
            assert found[sizes[0] - 1].before < number
            assert not found[sizes[0] - 1].is_amended
        else:
            assert f"look {number} of history@v1" in why_not(history, number)


# --- Both sides of a look -------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "is_reached", "is_due"),
    [(-1, False, False), (0, True, True), (1, True, True), (2, True, False)],
)
def test_a_look_is_reached_with_the_entry_that_brings_its_last_outcome(
    more: int, *, is_reached: bool, is_due: bool
) -> None:
    history = History(statistics__looks=[2])
    told(history, 1, 2)
    last = history.size()
    told(history, 3)
    shown = history.until(last + more)
    assert row(shown)["look"]["is_due"] == is_due
    manifest = history.manifest
    if is_reached:
        assert due_at(history.until, shown.size(), manifest, 2) == last
    else:
        with pytest.raises(UsageError, match="1 of its declared units are resolved"):
            due_at(history.until, shown.size(), manifest, 2)


@pytest.mark.parametrize("microseconds", [-1, 0])
def test_an_outcome_counts_from_the_entry_on_that_comes_at_the_cut_off(
    microseconds: int,
) -> None:
    history = History(statistics__looks=[1])
    asked = history.question("early")
    history.seal(asked)
    history.resolve(asked)
    resolved = history.size()
    history.now = asked.cutoff_at + timedelta(microseconds=microseconds)
    history.seal(history.question("next"))
    history.now = asked.cutoff_at + HOUR
    history.seal(history.question("last"))
    assert due(history, 1) == resolved + (2 if microseconds else 1)


@pytest.mark.parametrize(
    ("status", "outcome", "is_due"),
    [
        ("RESOLVED", "pass", True),
        ("RESOLVED", "fail", False),
        ("VOID", None, False),
        ("CENSORED", None, False),
    ],
)
def test_a_look_is_held_no_longer_once_one_of_its_outcomes_has_changed(
    status: str, outcome: str | None, *, is_due: bool
) -> None:
    history = History(statistics__looks=[1, 2])
    told(history, 1)
    first = history.size()
    asked = history.question("u-2")
    history.seal(asked)
    history.wait(hours=3)
    history.resolve(asked)
    second = history.size()
    history.record(asked, status, outcome=outcome, author="resolver")
    look = row(history)["look"]
    assert (look["resolved"], look["reached"], look["is_due"]) == (2, 2, is_due)
    assert (due(history, 1), due(history, 2)) == (first, second)


SEALED, SOON, LATE = -HOUR, timedelta(), HOUR


@pytest.mark.parametrize("field", ["started_at", "published_at"])
@pytest.mark.parametrize(
    ("before", "after", "is_due"),
    [
        (None, [None], {"started_at": True, "published_at": True}),
        (None, [SEALED], {"started_at": False, "published_at": False}),
        (SOON, [SOON], {"started_at": True, "published_at": True}),
        (SOON, [None], {"started_at": True, "published_at": True}),
        (SOON, [SEALED], {"started_at": False, "published_at": False}),
        (SOON, [SEALED, None], {"started_at": False, "published_at": False}),
        (SOON, [SEALED, SOON], {"started_at": True, "published_at": False}),
        (SOON, [LATE], {"started_at": False, "published_at": True}),
    ],
)
def test_a_look_is_held_no_longer_once_other_vectors_may_be_left_out(
    field: str,
    before: timedelta | None,
    after: list[timedelta | None],
    is_due: dict[str, bool],
) -> None:
    history = History(statistics__looks=[1])
    asked = history.question("u-1")
    history.seal(asked)
    history.wait(hours=3)
    began = history.now
    history.wait(hours=3)

    def stating(when: timedelta | None) -> dict[str, Any]:
        return {} if when is None else {field: began + when}

    history.resolve(asked, **stating(before))
    assert row(history)["look"]["is_due"]
    for each in after:
        history.resolve(asked, **stating(each))
    assert row(history)["look"]["is_due"] is is_due[field]


def test_other_outcomes_in_the_place_of_bad_ones_make_no_second_look() -> None:
    history = History(statistics__looks=[2])
    told(history, 1, 2)
    due_once = history.size()
    assert row(history)["look"]["is_due"]
    for number in (3, 4):
        bad = history.question(f"u-{number}")
        history.seal(bad)
        history.wait(hours=3)
        history.resolve(bad, "fail")
        history.record(bad, "VOID", author="resolver")
    look = row(history)["look"]
    assert (look["resolved"], look["is_due"]) == (4, False)
    assert due(history, 2) == due_once


def test_an_outcome_that_was_amended_before_the_look_is_in_it() -> None:
    history = History(statistics__looks=[2])
    asked = history.question("u-1")
    history.seal(asked)
    history.wait(hours=3)
    history.resolve(asked)
    history.record(asked, "VOID", author="resolver")
    told(history, 2)
    look, counts = row(history)["look"], row(history)["counts"]
    assert (look["resolved"], look["is_due"], counts["resolved"]) == (2, True, 1)


def test_a_unit_that_never_had_an_outcome_changes_nothing_about_a_look() -> None:
    history = History(statistics__looks=[1])
    open_still = history.question("open")
    history.seal(open_still)
    told(history, 1)
    history.record(open_still, "VOID", author="resolver")
    assert row(history)["look"]["is_due"]


def test_what_a_thief_resolved_counts_as_it_did_before_anybody_knew() -> None:
    history = History(statistics__looks=[1])
    told(history, 1)
    stolen = history.size()
    key = {"resolver": "resolver#2"}
    lost = {"resolver": stolen - 1}
    history.add(history.charter(2, compromised_since=lost, keys=key))
    assert row(history)["look"]["resolved"] == 0
    assert due(history, 1) == stolen


@pytest.mark.parametrize(
    ("again", "looks"),
    [
        ([], (0, None, False)),
        ([3], (1, 1, False)),
        ([3, 4], (2, 2, False)),
        ([3, 4, 5], (3, 3, True)),
    ],
)
def test_outcomes_that_a_charter_took_back_bring_no_look_back(
    again: list[int], looks: tuple[int, int | None, bool]
) -> None:
    history = History(statistics__looks=[1, 2, 3])
    told(history, 1, 2)
    assert row(history)["look"]["is_due"]
    lost, key = {"resolver": 1}, {"resolver": "resolver#2"}
    history.add(history.charter(2, compromised_since=lost, keys=key))
    for number in again:
        asked = history.question(f"u-{number}")
        history.seal(asked)
        history.wait(hours=3)
        history.resolve(asked, author="reviewer")
    look = row(history)["look"]
    assert (look["resolved"], look["reached"], look["is_due"]) == looks


@pytest.mark.parametrize("lost", ["forecaster", "rival", None])
def test_a_look_is_held_no_longer_once_a_charter_took_something_back(
    lost: str | None,
) -> None:
    """Whoever lost a key could otherwise take back what had fared badly by the look."""
    history = History(statistics__looks=[1, 2])
    told(history, 1)
    since = {lost: history.size() - 2} if lost else {}
    key = {lost: f"{lost}#2"} if lost else {}
    history.add(history.charter(2, compromised_since=since, keys=key))
    assert row(history)["look"]["is_due"] is (lost is None)
    # No outcome was taken back: the next look is one as ever.
    asked = history.question("u-2")
    history.seal(asked, **({"key": key[lost]} if lost == "forecaster" else {}))
    history.wait(hours=3)
    history.resolve(asked)
    assert row(history)["look"]["is_due"]


# --- What cannot be had, and why ------------------------------------------------------


def test_a_look_that_a_suite_does_not_declare_is_refused_with_those_that_it_does() -> (
    None
):
    history = History()
    told(history, 1)
    said = why_not(history, 1, 2, 40)
    assert said.endswith("no look at 1 resolved units: its looks are at 2, 40")


def test_a_suite_without_looks_says_so() -> None:
    history = History(run_class="exploratory", statistics__looks=[])
    with pytest.raises(UsageError, match="declares no looks: --at SIZE"):
        due_at(history.until, history.size(), history.manifest, 1)


def test_a_look_that_is_ahead_says_how_many_are_resolved() -> None:
    history = History()
    assert "0 of its declared units are resolved now, at 2 entries" in why_not(
        history, 1
    )
    told(history, 1)
    assert "1 of its declared units are resolved now, at 4 entries" in why_not(
        history, 2
    )


# --- Several at once ------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_look_that_several_units_reach_at_once_is_due_with_all_of_them(
    number: int,
) -> None:
    history = History(statistics__looks=[number])
    told(history, 1, 2, 3, hours=0)
    history.now = BEGAN + 5 * HOUR
    history.seal(history.question("later"))
    size = history.size()
    look = row(history)["look"]
    assert (look["resolved"], look["reached"], look["is_due"]) == (3, number, True)
    assert due(history, number) == size
    assert row(history.until(size - 1))["look"]["resolved"] == 0
    told(history, 4)
    assert row(history)["look"]["is_due"] is False
    assert due(history, number) == size


def test_of_two_looks_that_are_reached_at_once_the_later_stands_in_the_row() -> None:
    history = History(statistics__looks=[1, 2, 4])
    told(history, 1, 2, 3, hours=0)
    history.now = BEGAN + 5 * HOUR
    history.seal(history.question("later"))
    look = row(history)["look"]
    assert (look["reached"], look["next"], look["is_due"]) == (2, 4, True)
    assert due(history, 1, 1, 2) == due(history, 2, 1, 2) == history.size()
