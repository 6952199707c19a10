"""What a suite sets apart: periods, the units that only train, and the looks."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger.clock import instant_text
from ledger.errors import UsageError
from ledger.events import Evidence, Question
from ledger.projections.counts import PARTITIONS
from tests.reporting import Row, row, rows, said, value
from tests.simulator import BEGAN, History, suite

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
PURPOSES = {"train", "tune", "holdout", "spent_holdout"}


def split(name: str, since: float, until: float, purpose: str) -> dict[str, str]:
    """Return a split between two hours after the histories begin."""
    return {
        "name": name,
        "from": instant_text(BEGAN + since * HOUR),
        "until": instant_text(BEGAN + until * HOUR),
        "purpose": purpose,
    }


def told(
    history: History, number: int, outcome: str = "pass", **asked: Any
) -> Question:
    question = history.question(f"u-{number}", **asked)
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, outcome)
    return question


def of_split(history: History, name: str, forecaster: str = "native") -> Row:
    found = rows(history, forecaster=forecaster)
    return next(each for each in found if each["slice"] == f"split={name}")


def purpose_of(history: History, name: str, forecaster: str = "native") -> set[str]:
    return PURPOSES & set(of_split(history, name, forecaster)["labels"])


# --- Splits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cutoff", "units"),
    [
        (5 * HOUR - MICROSECOND, (0, 0)),
        (5 * HOUR, (1, 0)),
        (9 * HOUR - MICROSECOND, (1, 0)),
        (9 * HOUR, (0, 1)),
    ],
)
def test_a_split_has_the_units_whose_cutoff_lies_from_its_begin_until_before_its_end(
    cutoff: timedelta, units: tuple[int, int]
) -> None:
    splits = [split("early", 5, 9, "train"), split("late", 9, 20, "holdout")]
    history = History(statistics__splits=splits)
    told(history, 1, cutoff_at=BEGAN + cutoff)
    history.wait(hours=12)
    history.seal(history.question("later"))
    found = [of_split(history, name)["counts"]["units"] for name in ("early", "late")]
    assert tuple(found) == units


@pytest.mark.parametrize("purpose", ["train", "tune", "holdout"])
def test_a_split_s_row_is_declared_and_shows_its_purpose(purpose: str) -> None:
    history = History(
        statistics__splits=[split("all", 0, 99, purpose)], statistics__min_slice=1
    )
    told(history, 1)
    assert purpose_of(history, "all") == {purpose}
    assert "exploratory" not in of_split(history, "all")["labels"]
    assert PURPOSES & set(row(history)["labels"]) == {purpose} - {"holdout"}


@pytest.mark.parametrize(
    ("tuned", "in_the_way"),
    [((3, 9), []), ((2, 9), ["tune"]), ((0, 2), []), ((0, 3), ["tune"])],
)
def test_a_row_that_has_one_unit_to_tune_on_is_good_for_no_claim(
    tuned: tuple[float, float], in_the_way: list[str]
) -> None:
    history = History(
        asks="issuer",
        statistics__splits=[split("tuned", *tuned, "tune")],
        statistics__looks=[2],
        statistics__min_slice=1,
    )
    for number, hours in enumerate((2, 12)):
        cutoff_at = BEGAN + hours * HOUR
        question = history.asked(f"u-{number}", cutoff_at=cutoff_at)
        history.seal(question)
        history.wait(hours=10)
        history.resolve(question)
    assert row(history)["gates"]["in_the_way"] == in_the_way


def test_a_suite_without_splits_cannot_be_grouped_by_them() -> None:
    with pytest.raises(UsageError, match=r"by split: history@v1 has none"):
        rows(History(), by=["split"])


@pytest.mark.parametrize(
    ("seen", "purpose"),
    [
        ((0, 5), "holdout"),
        ((0, 5 + 1 / 3600), "spent_holdout"),
        ((9 - 1 / 3600, 12), "spent_holdout"),
        ((9, 12), "holdout"),
    ],
)
@pytest.mark.parametrize("kind", ["train", "tune"])
def test_a_holdout_that_a_split_for_training_or_tuning_overlaps_is_spent(
    seen: tuple[float, float], kind: str, purpose: str
) -> None:
    splits = [split("seen", *seen, kind), split("held", 5, 9, "holdout")]
    history = History(statistics__splits=splits)
    told(history, 1, cutoff_at=BEGAN + 6 * HOUR)
    assert purpose_of(history, "held") == {purpose}


def test_a_later_version_may_train_on_what_was_a_holdout_of_an_earlier_one() -> None:
    history = History(statistics__splits=[split("held", 5, 9, "holdout")])
    told(history, 1, cutoff_at=BEGAN + 6 * HOUR)
    history.freeze(
        suite("history@v2", statistics__splits=[split("folded", 0, 9, "train")])
    )
    assert purpose_of(history, "held") == {"holdout"}


@pytest.mark.parametrize(
    ("purpose", "found"),
    [
        ("train", "spent_holdout"),
        ("tune", "spent_holdout"),
        ("holdout", "holdout"),
    ],
)
def test_what_an_earlier_version_trained_or_tuned_on_is_no_holdout_of_a_later_one(
    purpose: str, found: str
) -> None:
    history = History(statistics__splits=[split("first", 0, 9, purpose)])
    told(history, 1)
    history.manifest = suite(
        "history@v2", statistics__splits=[split("held", 5, 20, "holdout")]
    )
    history.freeze(history.manifest)
    told(history, 2)
    assert purpose_of(history, "held") == {found}


def trained(history: History, until: datetime) -> None:
    """Let two forecasters forecast a unit, one of them trained until a moment."""
    question = history.question("u-1")
    history.seal(question, evidence=Evidence(training_cutoff_at=until))
    history.seal(question, forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)


@pytest.mark.parametrize(
    ("after", "purpose"),
    [(timedelta(0), "holdout"), (MICROSECOND, "spent_holdout")],
)
def test_a_holdout_is_spent_for_who_was_trained_until_after_it_began(
    after: timedelta, purpose: str
) -> None:
    history = History(statistics__splits=[split("held", 1, 9, "holdout")])
    trained(history, BEGAN + HOUR + after)
    assert purpose_of(history, "held") == {purpose}
    assert purpose_of(history, "held", "rival") == {"holdout"}
    assert purpose_of(history, "held", "past-rate") == {"holdout"}
    # What recalibrates it has its source's training.
    assert purpose_of(history, "held", "native-calibrated") == {purpose}


def test_training_until_now_spends_no_split_that_is_no_holdout() -> None:
    splits = [split("tuned", 0, 9, "tune"), split("held", 9, 20, "holdout")]
    history = History(statistics__splits=splits)
    trained(history, BEGAN + HOUR)
    history.wait(hours=9)
    told(history, 2)
    assert purpose_of(history, "held") == {"holdout"}
    assert "trained-in-holdout" not in row(history)["integrity"]["findings"]


# --- Units that only train ------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "expected"), [(0, (3, 0)), (1, (2, 1)), (2, (1, 2)), (9, (0, 3))]
)
def test_the_first_units_to_be_resolved_are_not_scored(
    kept: int, expected: tuple[int, int]
) -> None:
    history = History(statistics__min_training=kept)
    for number in range(3):
        told(history, number)
    counts = row(history)["counts"]
    assert (counts["scored"], counts["training"]) == expected
    assert counts["resolved"] == 3
    for classes in PARTITIONS:
        assert sum(counts[each] for each in classes) == counts["units"]


def test_what_was_resolved_first_trains_in_whichever_order_it_was_forecast() -> None:
    history = History(statistics__min_training=1)
    asked = [history.question(f"u-{number}") for number in range(2)]
    history.seal(asked[0], "0.9")
    history.seal(asked[1], "0.5")
    history.wait(hours=3)
    history.resolve(asked[1])
    history.resolve(asked[0])
    assert value(row(history), "brier") == "1/100"
    # An amendment does not change which of them came first.
    history.resolve(asked[1], "fail")
    assert value(row(history), "brier") == "1/100"
    # What has no outcome any more trains nobody.
    history.record(asked[1], "VOID")
    assert row(history)["counts"]["training"] == 1
    assert row(history)["counts"]["scored"] == 0


def test_by_claimed_times_what_was_published_first_trains() -> None:
    history = History(
        statistics__min_training=1,
        statistics__looks=[],
        chronology="claimed",
        run_class="exploratory",
    )
    asked = [history.question(f"u-{number}") for number in range(2)]
    history.seal(asked[0], "0.9")
    history.seal(asked[1], "0.5")
    history.wait(hours=3)
    history.resolve(asked[0], published_at=history.now)
    history.resolve(asked[1], published_at=history.now - HOUR)
    assert value(row(history), "brier") == "1/100"


def test_what_trains_is_in_the_past_of_baselines_and_missing_for_nobody() -> None:
    history = History(statistics__min_training=1)
    told(history, 1)
    told(history, 2)
    assert said(history, "past-rate")["u-2"][0] == 750_000
    rival = row(history, "rival")
    assert rival["counts"]["unscored"] == rival["bounds"]["brier"]["n"] == 1


# --- Looks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "look", "is_off"),
    [
        (1, (1, None, 2, False), True),
        (2, (2, 2, 4, True), False),
        (3, (3, 2, 4, False), True),
        (4, (4, 4, None, True), False),
        (5, (5, 4, None, False), True),
    ],
)
def test_a_row_says_at_which_look_it_is(
    units: int, look: tuple[Any, ...], *, is_off: bool
) -> None:
    history = History(statistics__looks=[2, 4])
    for number in range(units):
        told(history, number)
    found = row(history)
    names = ("resolved", "reached", "next", "is_due")
    assert found["look"] == dict(zip(names, look, strict=True))
    assert ("off_look" in found["labels"]) == is_off


def test_looks_count_units_that_somebody_else_forecast() -> None:
    history = History(statistics__looks=[2])
    told(history, 1)
    question = history.question("other")
    history.seal(question, forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)
    assert row(history)["look"]["is_due"]


def test_a_suite_without_looks_has_none_to_miss() -> None:
    history = History(run_class="exploratory", statistics__looks=[])
    told(history, 1)
    assert row(history)["look"] is None
    assert "off_look" not in row(history)["labels"]


# --- Updates --------------------------------------------------------------------------


@pytest.mark.parametrize("updates", [0, 1, 7])
def test_updates_leave_the_initial_slot_as_it_is(updates: int) -> None:
    history = History()
    asked = [history.question(f"u-{number}") for number in range(3)]
    for question in asked:
        last = history.seal(question, "0.8")
        for _ in range(updates):
            last = history.update(question, last, "0.2")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    found = row(history, slot="initial")
    assert found["counts"]["scored"] == found["counts"]["clusters"] == 3
    assert found["counts"]["forecasts"] == 3 * (1 + updates)
    assert found["scores"]["brier"]["n"] == 3
    assert value(found, "brier") == "1/25"
