"""Skill over the budgets that a suite declares, and the table that has no sum."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.adaptation import AtBudget, adaptation, budget_axis
from ledger.projections.capability import Column, capability, extremes
from ledger.projections.cohort import Measure
from ledger.projections.columns import integers
from ledger.projections.exact import UNITS
from tests.oracle_cases import case, exactly


def at(budget: str, skill: str | None, *, is_covered: bool = True) -> AtBudget:
    value = None if skill is None else Fraction(skill)
    reason = None if skill is not None else "baseline_zero"
    return AtBudget(
        budget=budget,
        skill=Measure(value=value, n=8, reason=reason),
        is_covered=is_covered,
    )


def test_the_area_over_the_budgets_is_the_oracles() -> None:
    inputs, expected = case("adaptation-auc")
    path = [
        at(str(budget), skill)
        for budget, skill in zip(inputs["budgets"], inputs["skill"], strict=True)
    ]
    found = adaptation(path)
    assert found.auc.value == exactly(expected["auc_normalised"])
    assert found.least_adapted.value == exactly(expected["least_adapted"])
    assert found.best.value == exactly(expected["best"])
    assert not found.is_single


def test_one_budget_is_its_own_area_and_says_so() -> None:
    found = adaptation([at("full", "0.3")])
    assert found.auc.value == found.least_adapted.value == Fraction(3, 10)
    assert found.is_single


def test_a_skill_that_is_not_defined_leaves_no_area_for_its_own_reason() -> None:
    found = adaptation([at("zero-shot", "0.1"), at("few-shot", None)])
    assert (found.auc.value, found.auc.reason) == (None, "baseline_zero")
    assert found.least_adapted.value == Fraction(1, 10)
    assert found.best.value is None


def test_a_budget_under_which_units_were_skipped_is_compared_with_none() -> None:
    skipped = at("few-shot", "0.9", is_covered=False)
    found = adaptation([at("zero-shot", "0.1"), skipped])
    assert (found.auc.value, found.auc.reason) == (None, "cohort_mismatch")
    assert found.least_adapted.value == Fraction(1, 10)


def test_a_least_budget_under_which_units_were_skipped_shows_nothing() -> None:
    skipped = at("zero-shot", "0.9", is_covered=False)
    found = adaptation([skipped, at("few-shot", "0.1")])
    for each in (found.auc, found.least_adapted, found.best):
        assert (each.value, each.n, each.reason) == (None, 8, "cohort_mismatch")


def test_units_that_were_skipped_are_the_reason_before_an_undefined_skill() -> None:
    found = adaptation([at("zero-shot", None, is_covered=False)])
    assert found.auc.reason == found.least_adapted.reason == "cohort_mismatch"


def test_without_a_budget_there_is_nothing() -> None:
    found = adaptation([])
    assert (found.auc.value, found.auc.reason) == (None, "empty")
    assert found.least_adapted == found.auc


@pytest.mark.parametrize(
    ("budgets", "axis"),
    {
        "numbers": (["0", "0.5", "16"], [0, Fraction(1, 2), 16]),
        "numbers that do not ascend": (["4", "2"], [0, 1]),
        "names": (["zero-shot", "few-shot", "full"], [0, 1, 2]),
        "one name among numbers": (["0", "4", "full"], [0, 1, 2]),
        "an equal number": (["1", "1.0"], [0, 1]),
    }.values(),
)
def test_budgets_that_are_ascending_numbers_are_their_own_axis(
    budgets: list[str], axis: list[Fraction]
) -> None:
    assert budget_axis(budgets) == axis


@given(skill=st.integers(-9, 9), steps=st.integers(1, 6))
def test_a_skill_that_no_budget_changes_is_the_area(skill: int, steps: int) -> None:
    path = [at(f"b{k}", str(skill)) for k in range(steps)]
    assert adaptation(path).auc.value == skill


# --- Capability -----------------------------------------------------------------------

SKILL = Column(name="skill", higher_is_better=True)
COST = Column(name="cost", higher_is_better=False)


def scores(*cells: str | None) -> dict[str, Measure]:
    return {
        column.name: Measure(value=None if cell is None else Fraction(cell), n=4)
        for column, cell in zip((SKILL, COST), cells, strict=True)
    }


def test_only_who_is_beaten_in_every_respect_is_off_the_front() -> None:
    found = capability(
        (SKILL, COST),
        {
            "sharp": scores("0.4", "9"),
            "cheap": scores("0.1", "1"),
            "wasteful": scores("0.1", "2"),
            "also-cheap": scores("0.1", "1"),
        },
    )
    assert found.front == ("also-cheap", "cheap", "sharp")
    assert found.incomparable == ()
    assert [each.value for each in found.cells["wasteful"]] == [Fraction(1, 10), 2]


def test_who_lacks_a_number_is_neither_beaten_nor_beats() -> None:
    found = capability(
        (SKILL, COST), {"whole": scores("0.1", "1"), "best": scores("0.9", None)}
    )
    assert (found.front, found.incomparable) == (("whole",), ("best",))


CELLS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8
)


@given(cells=CELLS)
def test_the_front_is_whom_nobody_beats(cells: list[tuple[int, int]]) -> None:
    found = capability(
        (SKILL, COST),
        {
            f"c{k}": scores(str(skill), str(cost))
            for k, (skill, cost) in enumerate(cells)
        },
    )
    unbeaten = {
        f"c{k}"
        for k, (skill, cost) in enumerate(cells)
        if not any(
            s >= skill and c <= cost and (s, c) != (skill, cost) for s, c in cells
        )
    }
    assert set(found.front) == unbeaten


def test_the_worst_and_the_best_partner_are_named_with_their_means() -> None:
    found = extremes(
        integers([UNITS, 0, UNITS, UNITS, 0, UNITS]),
        integers([0, 0, 2, 2, 1, 3]),
        ["anna", "ben", "cleo", "dora"],
    )
    assert found is not None
    assert (found.least, found.least_cell) == (Fraction(0), "ben")
    assert (found.most, found.most_cell) == (Fraction(1), "cleo")


def test_of_no_units_no_partner_is_the_worst() -> None:
    assert extremes(integers([]), integers([]), []) is None
