"""A recalibrated row says how much of it is recalibrated, and whose the rest is."""

import csv
from datetime import timedelta
from typing import Any

import pytest

from ledger.projections.export_tables import rows_frame
from ledger.projections.flat_rows import columns_of, csv_bytes, flat
from tests.reporting import row, rows
from tests.simulator import History
from tests.test_recalibration import of_native, recalibration, taught

SAID = (("0.2", "fail"), ("0.7", "pass"), ("0.7", "fail"), ("0.4", "pass"))


def block(history: History, who: str, **asked: Any) -> dict[str, Any]:
    found = row(history, who, **asked)
    shown: dict[str, Any] = found["recalibration"]
    assert shown["fitted"] + shown["passed_on"] == found["counts"]["scored"]
    return shown


@pytest.mark.parametrize(
    ("units", "fitted", "fits"), [(2, 0, 0), (3, 1, 1), (4, 2, 1), (5, 3, 2)]
)
def test_units_before_the_first_fit_are_counted_as_passed_on(
    units: int, fitted: int, fits: int
) -> None:
    history = of_native(recalibration("isotonic", min_past=2))
    for number in range(units):
        taught(history, number, *SAID[number % len(SAID)])
    assert block(history, "native-isotonic") == {
        "fitted": fitted,
        "passed_on": 2,
        "reasons": {"insufficient": 2},
        "fits": fits,
    }


@pytest.mark.parametrize(
    ("said", "reason"),
    {
        "a threshold divides the outcomes": (SAID[:2], "separation"),
        "one outcome": ((("0.2", "pass"), ("0.7", "pass")), "single_class"),
        "one probability": ((("0.7", "pass"), ("0.7", "fail")), "constant_forecast"),
    }.values(),
)
def test_a_fit_without_a_solution_passes_on_until_the_next(
    said: tuple[tuple[str, str], ...], reason: str
) -> None:
    history = of_native(recalibration("platt", min_past=2))
    more = (("0.4", "pass"), ("0.6", "fail"))
    for number, (p, outcome) in enumerate((*said, *more)):
        taught(history, number, p, outcome)
    before = block(history, "native-platt")
    assert before == {
        "fitted": 0,
        "passed_on": 4,
        "reasons": {"insufficient": 2, reason: 2},
        "fits": 0,
    }
    taught(history, 9, "0.5", "pass")
    after = block(history, "native-platt")
    assert (after["fitted"], after["fits"]) == (1, 1)
    assert after["reasons"] == before["reasons"]


def test_questions_of_three_answers_are_counted_as_passed_on() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    taught(history, 1, "0.8", "fail")
    taught(history, 2, "0.8", "fail")
    taught(history, 3, "0.8", "dry", template="weather")
    assert block(history, "native-isotonic") == {
        "fitted": 1,
        "passed_on": 2,
        "reasons": {"insufficient": 1, "not_declared": 1},
        "fits": 1,
    }


def updated(**changes: Any) -> History:
    """Return a unit that is opened, forecast before any fit, and updated after one."""
    history = of_native(recalibration("isotonic", min_past=1), **changes)
    question = history.question("asked", cutoff_at=history.now + timedelta(hours=9))
    history.open(question)
    history.wait(hours=1)
    first = history.seal(question, "0.8")
    taught(history, 1, "0.8", "fail")
    history.update(question, first, "0.8")
    history.wait(hours=9)
    history.resolve(question, "fail")
    return history


@pytest.mark.parametrize(
    ("slot", "fitted"), {"initial": 0, "final": 1, "all": 0}.items(), ids=str
)
def test_a_unit_is_fitted_if_every_vector_is_that_the_slot_takes(
    slot: str, fitted: int
) -> None:
    found = block(updated(), "native-isotonic", slot=slot)
    assert (found["fitted"], found["passed_on"]) == (fitted, 2 - fitted)


@pytest.mark.parametrize("is_filled", [False, True])
def test_what_the_reference_fills_in_is_no_vector_that_was_passed_on(
    *, is_filled: bool
) -> None:
    """The unit's own place lies before any fit, its only vector after one."""
    history = of_native(
        recalibration("isotonic", min_past=1), scoring__baseline_fill=is_filled
    )
    question = history.question("asked", cutoff_at=history.now + timedelta(hours=9))
    history.open(question)
    taught(history, 1, "0.8", "fail")
    history.seal(question, "0.8")
    history.wait(hours=9)
    history.resolve(question, "fail")
    found = block(history, "native-isotonic", slot="time_weighted")
    assert (found["fitted"], found["passed_on"]) == (1, 1)


def test_only_what_maps_another_has_the_block() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    taught(history, 1, "0.8", "fail")
    having = {each["forecaster"] for each in rows(history) if "recalibration" in each}
    methods = {"platt", "isotonic"}
    mapping = {
        each.name for each in history.manifest.competitors if each.method in methods
    }
    assert having == mapping
    assert "native-isotonic" in having


def test_tables_of_rows_name_the_source_and_what_was_passed_on() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    taught(history, 1, "0.8", "fail")
    taught(history, 2, "0.8", "fail")
    told = [flat(each) for each in rows(history)]
    columns = ("source", "recalibration.fitted", "recalibration.passed_on")
    assert set(columns) <= set(columns_of(told))
    frame = rows_frame(told)
    mapped = frame.filter(
        (frame["forecaster"] == "native-isotonic") & frame["horizon"].is_null()
    )
    assert mapped.select(columns).rows() == [("native", 1, 1)]
    lines = csv.DictReader(csv_bytes(told).decode().splitlines())
    assert {each["source"] for each in lines if each["layer"] == "calibrated"} == {
        "native"
    }
