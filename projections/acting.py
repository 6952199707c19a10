"""What acting on a row's probabilities would have been worth (METRICS §17).

The suite says which answer triggers which action, what that costs and what it avoids.
It says nothing (`not_declared`) where it declares no action, and where units have no
one vector, or not that answer among two.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections.acting_intervals import cost_statistics
from ledger.projections.cohort import EMPTY, NOT_DECLARED, Measure
from ledger.projections.columns import Integers, integers
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground, Said
from ledger.projections.inferred import told
from ledger.projections.measures import Score
from ledger.projections.resampling import Interval, Statistic
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
    """What a row says of acting, its numbers, and whether it beat knowing nothing.

    `is_useful` is None where that is unknown.
    """

    facts: Shown
    numbers: dict[str, Score]
    is_useful: bool | None

    def told(self, intervals: Mapping[str, Interval]) -> Shown:
        """Return the block of a row, given the intervals of its numbers."""
        numbers = self.numbers.items()
        return {
            **self.facts,
            **{name: told(each.measure, intervals.get(name)) for name, each in numbers},
        }


def acting(ground: Ground) -> Acting:
    """Return what the row's policy cost, beside policies that look at no probability.

    `regret` is what it cost more than the better of always and never acting: negative
    where it was useful. The baseline's policy acts on the reference's probabilities.
    """
    declared = ground.sample.board.suite.manifest.utility
    answer = _answers(ground)
    if declared is None or answer is None:
        return Acting({"reason": NOT_DECLARED if ground.size else EMPTY}, {}, None)
    said = _said(ground, answer, None)
    cost, loss = Fraction(declared.action_cost), Fraction(declared.avoidable_loss)
    mine = policy(*said, action_cost=cost, avoidable_loss=loss)
    if mine is None:
        return Acting({"reason": EMPTY}, {}, None)
    thresholds = [Fraction(each) for each in declared.thresholds]
    facts: Shown = {
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
    statistics = cost_statistics(ground, (said, beside), (cost, loss))
    scores = {
        name: Score(Measure(value=value, n=mine.n), ground, _given(statistics, name))
        for name, value in numbers.items()
    }
    return Acting(facts, scores, mine.regret_vs_best_constant < 0)


def _given(
    statistics: Mapping[str, Statistic], name: str
) -> Callable[[], Statistic] | None:
    return (lambda: statistics[name]) if name in statistics else None


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
