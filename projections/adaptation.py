"""How skill grows with what a forecaster may adapt to (METRICS §21; FUTURE-TS).

A suite declares its budgets in order, from the least. What a forecaster does without
adapting says how it generalises; how much it gains from more says how well it is
tuned. The two are kept apart: robustness takes the least adapted skill, and no other.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from ledger.projections.cohort import EMPTY, MISMATCH, Measure

_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


class AtBudget(msgspec.Struct, frozen=True, kw_only=True):
    """A forecaster's skill under one budget, and whether that is over every unit."""

    budget: str
    skill: Measure
    is_covered: bool

    @property
    def whole(self) -> Measure:
        """The skill where it is over every unit; see `whole`."""
        return whole(self.skill, is_covered=self.is_covered)


class Adaptation(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecaster makes of its budgets.

    `auc` is the area under its skill over the budgets, divided by their length: its
    skill if there is one budget only, which `is_single` flags. `least_adapted` is the
    skill under the least budget, `best` the largest. None is over some of the units:
    whoever skips the hard ones has no number rather than a better one.
    """

    auc: Measure
    least_adapted: Measure
    best: Measure
    is_single: bool


def budget_axis(budgets: Sequence[str]) -> list[Fraction]:
    """Return where declared budgets stand on their axis.

    Budgets that are ascending numbers, such as how many examples are shown, stand at
    those; names, such as `zero-shot`, one step apart.

    >>> budget_axis(["0", "1", "4"]) == [0, 1, 4]
    True
    >>> budget_axis(["zero-shot", "few-shot", "full"]) == [0, 1, 2]
    True
    """
    if all(_NUMBER.fullmatch(budget) for budget in budgets):
        numbers = [Fraction(budget) for budget in budgets]
        if all(less < more for less, more in pairwise(numbers)):
            return numbers
    return [Fraction(place) for place in range(len(budgets))]


def adaptation(path: Sequence[AtBudget]) -> Adaptation:
    """Return what skills under the declared budgets, all of them in order, come to.

    Nothing is compared over different units: where one budget does not cover all of
    them there is no area (`cohort_mismatch`), and where the skill under one is
    undefined, none for the same reason.
    """
    undefined = _undefined(path)
    if undefined is not None:
        return Adaptation(
            auc=undefined,
            least_adapted=path[0].whole if path else undefined,
            best=undefined,
            is_single=len(path) == 1,
        )
    skills = [each.skill.value or Fraction(0) for each in path]
    axis = budget_axis([each.budget for each in path])
    n = min(each.skill.n for each in path)
    return Adaptation(
        auc=Measure(value=_area(axis, skills), n=n),
        least_adapted=path[0].skill,
        best=Measure(value=max(skills), n=n),
        is_single=len(path) == 1,
    )


def whole(skill: Measure, *, is_covered: bool) -> Measure:
    """Return a skill where it is over all units that it should be over.

    Else it is undefined (`cohort_mismatch`), and says over how many it would have been.
    """
    return skill if is_covered else Measure(value=None, n=skill.n, reason=MISMATCH)


def _undefined(path: Sequence[AtBudget]) -> Measure | None:
    if not path:
        return Measure(value=None, n=0, reason=EMPTY)
    wholes = (each.whole for each in path)
    return next((each for each in wholes if each.value is None), None)


def _area(axis: Sequence[Fraction], skills: Sequence[Fraction]) -> Fraction:
    """Return the area under straight lines from skill to skill, per unit of the axis."""
    length = axis[-1] - axis[0]
    if not length:
        return skills[0]
    pieces = zip(pairwise(axis), pairwise(skills), strict=True)
    area = sum(
        ((right - left) * (low + high) / 2 for (left, right), (low, high) in pieces),
        Fraction(0),
    )
    return area / length
