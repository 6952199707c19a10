"""What acting on a row's probabilities would have been worth (METRICS §17).

The suite says which answer triggers which action, what that costs and what it avoids.
It says nothing (`not_declared`) where it declares no action, and where units have no
one vector, or not that answer among two.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections.acting_intervals import cost_intervals
from ledger.projections.cohort import EMPTY, NOT_DECLARED, Measure
from ledger.projections.columns import Integers, integers
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground, Said
from ledger.projections.inferred import Inference, told
from ledger.projections.utility import CurvePoint, decision_curve, policy, regret

Shown = dict[str, Any]
# Of a policy, what is a number per unit.
_SHOWN = (
    "cost",
    "cost_always",
    "cost_never",
    "net_benefit",
    "missed_failure_cost",
    "extra_compute",
    "regret_vs_hindsight_unattainable",
)


class Acting(NamedTuple):
    """The block of a row, and whether acting beat what needs no forecast.

    None where that is unknown.
    """

    shown: Shown
    is_useful: bool | None


def acting(ground: Ground, inference: Inference) -> Acting:
    """Return what the row's policy cost, beside policies that look at no probability.

    `regret` is what it cost more than the better of always and never acting: negative
    where it was useful. The baseline's policy acts on the reference's probabilities.
    """
    declared = ground.sample.board.suite.manifest.utility
    answer = _answers(ground)
    if declared is None or answer is None:
        return Acting({"reason": NOT_DECLARED if ground.size else EMPTY}, None)
    said = _said(ground, answer, None)
    cost, loss = Fraction(declared.action_cost), Fraction(declared.avoidable_loss)
    mine = policy(*said, action_cost=cost, avoidable_loss=loss)
    if mine is None:
        return Acting({"reason": EMPTY}, None)
    thresholds = [Fraction(each) for each in declared.thresholds]
    shown: Shown = {
        "event": declared.event,
        "action": declared.action,
        "acted": mine.acted,
        "missed": mine.missed,
        "curve": [_point(each) for each in decision_curve(*said, thresholds)],
    }
    numbers = {
        "regret": mine.regret_vs_best_constant,
        **{name: getattr(mine, name) for name in _SHOWN},
    }
    beside = None
    if ground.covers(ground.reference):
        beside = _said(ground, answer, ground.reference)
        theirs = policy(*beside, action_cost=cost, avoidable_loss=loss)
        assert theirs is not None, "both are over the same units"
        numbers["regret_vs_baseline_policy"] = regret(mine, theirs)
    intervals = cost_intervals(ground, inference, (said, beside), (cost, loss))
    for name, value in numbers.items():
        shown[name] = told(Measure(value=value, n=mine.n), intervals.get(name))
    return Acting(shown, mine.regret_vs_best_constant < 0)


def _answers(ground: Ground) -> Integers | None:
    """Return which answer of each unit is the event; None where there is no such."""
    manifest, units = ground.sample.board.suite.manifest, ground.sample.board.units
    if manifest.utility is None or not ground.is_single:
        return None
    event = manifest.utility.event
    places = integers(
        [each.index(event) if event in each else -1 for each in units.answer_lists]
    )
    if not ground.size:
        return integers([])
    answer = places[ground.of(units.answers)]
    return None if (answer < 0).any() else answer


def _said(ground: Ground, answer: Integers, baseline: str | None) -> Said:
    happened = ground.of(ground.sample.board.units.outcome) == answer
    return Said(ground.p_of(answer, baseline), happened.astype(np.int64))


def _point(point: CurvePoint) -> Shown:
    shown = {
        name: dec12(getattr(point, name))
        for name in ("threshold", "net_benefit", "treat_all", "treat_none")
    }
    return {**shown, "tp": point.tp, "fp": point.fp}
