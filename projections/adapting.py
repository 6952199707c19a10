"""What a competitor makes of the budgets that its suite declares (METRICS §21).

Skill is that over the frozen reference, never clamped. Robustness is the skill under
the least budget alone, on units that are tagged as out of distribution or as events:
what was adapted cannot count for it. What is over some of the units is no number here:
a skill could be had by skipping the hard ones (FUTURE-TS's comparable coverage).
"""

from typing import Any

import numpy as np

from ledger.projections.adaptation import AtBudget, adaptation, whole
from ledger.projections.cohort import NOT_DECLARED, Measure, skill, undefined
from ledger.projections.columns import Integers
from ledger.projections.entrants import Field
from ledger.projections.ground import Ground
from ledger.projections.parts import values_of
from ledger.projections.sample import Sample, sample

Shown = dict[str, Any]
# A unit with any of these tags is unlike those that a forecaster may have learnt from.
_UNLIKE = ("tag:event", "tag:ood")


def adapting(about: Sample, field: Field, slot: str) -> Shown | None:
    """Return a competitor's skill under each budget, and what the path comes to.

    None where the suite declares no budgets, or the competitor is computed. A budget
    covers the units where every one that is resolved has a score under it, and one of
    the reference beside it.
    """
    budgets = about.board.suite.manifest.adaptation_budgets
    if not budgets or about.entrant.competitor.principal is None:
        return None
    grounds = [_ground(about, field, slot, budget) for budget in budgets]
    resolved = _resolved(about)
    path = [
        AtBudget(
            budget=budget,
            skill=_skill(ground),
            is_covered=_is_covered(ground, resolved),
        )
        for budget, ground in zip(budgets, grounds, strict=True)
    ]
    found = adaptation(path)
    apart, least = _unlike(about, resolved), grounds[0]
    forecast = np.intersect1d(least.cohort.units, apart, assume_unique=True)
    set_apart = Ground(least.sample, least.sample.cohort(forecast))
    robustness = whole(_skill(set_apart), is_covered=_is_covered(set_apart, apart))
    return {
        "budgets": {
            each.budget: {**each.skill.told(), "is_covered": each.is_covered}
            for each in path
        },
        "auc": found.auc.told(),
        "least_adapted": found.least_adapted.told(),
        "best": found.best.told(),
        "is_single": found.is_single,
        "robustness": robustness.told(),
    }


def _ground(about: Sample, field: Field, slot: str, budget: str) -> Ground:
    """Return the units on which a competitor has a score under a budget."""
    if budget not in field.budgets(about.entrant.competitor):
        return Ground(about, about.cohort(about.scored[:0]))
    entrant = field.enter(about.entrant.competitor, slot, budget)
    under = sample(about.board, entrant, about.declared)
    return Ground(under, under.cohort(under.scored))


def _skill(ground: Ground) -> Measure:
    on, theirs = ground.beside(ground.reference), ground.theirs(ground.reference)
    if on is None or theirs is None:
        return undefined(NOT_DECLARED, ground.size)
    return skill(on.loss(on.brier(on.mine)), on.loss(on.brier(theirs)))


def _resolved(about: Sample) -> Integers:
    """Return the declared units that are resolved; those that only train are not."""
    is_resolved = about.board.units.outcome[about.declared] >= 0
    found: Integers = about.declared[is_resolved]
    return found


def _is_covered(ground: Ground, units: Integers) -> bool:
    """Tell whether a skill here is over so many units as it should be over.

    The units of a ground are among them. Without a reference there is no skill at all,
    for a reason of its own.
    """
    on = ground.beside(ground.reference)
    return (ground if on is None else on).size == len(units)


def _unlike(about: Sample, units: Integers) -> Integers:
    """Return those of some units that have a tag which sets them apart."""
    apart = np.zeros(len(units), dtype=np.bool_)
    for grouping in _UNLIKE:
        values = values_of(about.board, grouping)
        tagged = np.array([bool(name) for name in values.names], dtype=np.bool_)
        apart |= tagged[values.code[units]]
    found: Integers = units[apart]
    return found
