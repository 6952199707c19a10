"""Time weighs, and what was said before anybody spoke is the reference's or nobody's."""

from datetime import timedelta
from typing import Any

import pytest

from tests.reporting import Row, row, suite_of, value
from tests.simulator import History
from tests.test_recalibration import recalibration


def opened_and_sealed(history: History, after: timedelta) -> None:
    """Open a unit for four hours, seal it some time after, and let it fail."""
    question = history.question(cutoff_at=history.now + timedelta(hours=4))
    history.open(question)
    history.now = question.opened_at + after
    history.seal(question, "0.9")
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, "fail")


def weighted(after: timedelta, forecaster: str = "native", **changes: Any) -> Row:
    history = History(suite_of(**changes))
    opened_and_sealed(history, after)
    return row(history, forecaster, slot="time_weighted")


@pytest.mark.parametrize(
    ("hours", "brier", "in_time"),
    [
        # The reference said one half, of which a quarter is lost.
        (1, "67/100", "3/4"),
        (3, "39/100", "1/4"),
    ],
)
def test_the_time_before_the_first_vector_is_the_reference_s_if_the_suite_says_so(
    hours: int, brier: str, in_time: str
) -> None:
    found = weighted(timedelta(hours=hours), scoring__baseline_fill=True)
    assert value(found, "brier") == brier
    assert found["coverage"]["in_time"]["exact"] == in_time
    assert value(found, "reference_brier") == "1/4"
    assert found["counts"]["submitted"] == found["counts"]["forecasts"] == 1


def test_without_a_fill_that_time_is_not_scored_and_yet_shows() -> None:
    found = weighted(timedelta(hours=3), scoring__baseline_fill=False)
    assert value(found, "brier") == "81/100"
    assert found["coverage"]["in_time"]["exact"] == "1/4"


def test_other_slots_are_not_filled_and_have_no_share_of_time() -> None:
    history = History(suite_of(scoring__baseline_fill=True))
    opened_and_sealed(history, timedelta(hours=3))
    found = row(history, slot="all")
    assert value(found, "brier") == "81/100"
    assert "in_time" not in found["coverage"]


def test_a_fill_is_no_vector_that_anybody_sealed() -> None:
    found = weighted(timedelta(hours=3), scoring__baseline_fill=True)
    assert found["window"]["from"] == found["window"]["until"]


def test_what_recalibrates_a_forecaster_is_filled_as_it_is() -> None:
    changes = {"competitors": [recalibration("isotonic")]}
    found = weighted(
        timedelta(hours=3), "native-isotonic", scoring__baseline_fill=True, **changes
    )
    assert value(found, "brier") == "39/100"


def test_a_computed_competitor_speaks_from_the_opening_on() -> None:
    found = weighted(timedelta(hours=3), "past-rate", scoring__baseline_fill=True)
    assert found["coverage"]["in_time"]["exact"] == "1/1"
    assert value(found, "brier") == "1/4"
