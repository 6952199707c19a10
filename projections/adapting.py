"""What a competitor makes of the budgets that its suite declares (METRICS §21).

Skill is that over the frozen reference, never clamped. Robustness is the skill under
the least budget alone, on units that are tagged as out of distribution or as events:
what was adapted cannot count for it.
"""

from typing import Any

import numpy as np

from ledger.projections.adaptation import AtBudget, adaptation
from ledger.projections.cohort import NOT_DECLARED, Measure, skill, undefined
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
    covers its units where every one that is resolved has a vector under it.
    """
    budgets = about.board.suite.manifest.adaptation_budgets
    if not budgets or about.entrant.competitor.principal is None:
        return None
    grounds = [_ground(about, field, slot, budget) for budget in budgets]
    path = [
        AtBudget(budget=budget, skill=_skill(ground), is_covered=_is_covered(ground))
        for budget, ground in zip(budgets, grounds, strict=True)
    ]
    found = adaptation(path)
    return {
        "budgets": {
            each.budget: {**each.skill.told(), "is_covered": each.is_covered}
            for each in path
        },
        "auc": found.auc.told(),
        "least_adapted": found.least_adapted.told(),
        "best": found.best.told(),
        "is_single": found.is_single,
        "robustness": _skill(_unlike(grounds[0])).told(),
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


def _is_covered(ground: Ground) -> bool:
    """Tell whether every declared unit that is resolved has a score here."""
    declared, outcome = ground.sample.declared, ground.sample.board.units.outcome
    return ground.size == int(np.count_nonzero(outcome[declared] >= 0))


def _unlike(ground: Ground) -> Ground:
    """Return the units of a ground with a tag that sets them apart."""
    units = ground.cohort.units
    apart = np.zeros(len(units), dtype=np.bool_)
    for grouping in _UNLIKE:
        values = values_of(ground.sample.board, grouping)
        tagged = np.array([bool(name) for name in values.names], dtype=np.bool_)
        apart |= tagged[values.code[units]]
    return Ground(ground.sample, ground.sample.cohort(units[apart]))
