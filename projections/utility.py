"""What acting on probabilities would have been worth (METRICS §17).

Whoever acts on an event pays `action_cost`; whoever does not, and it comes, loses
`avoidable_loss`. To act pays from the probability cost / loss on. Columns have one
row a unit: `p_ppm` is the probability of the event, `y` 1 where it came.
"""

from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np

from ledger.projections.columns import Flags, Integers
from ledger.projections.exact import PPM


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Net benefit per unit of acting from a threshold on (Vickers & Elkin 2006).

    It is counted in events that were met: an action without an event costs
    threshold / (1 - threshold) of one. `treat_all` always acts, `treat_none` never.
    """

    threshold: Fraction
    tp: int
    fp: int
    net_benefit: Fraction
    treat_all: Fraction
    treat_none: Fraction


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy costs per unit, beside policies that look at no probability.

    `missed_failure_cost` is the part that events cost on which it did not act,
    `extra_compute` the part that its actions cost. A regret is negative where the
    policy is cheaper than what it is compared with; the one against hindsight never
    is, because nobody could have acted so.
    """

    n: int
    acted: int
    missed: int
    cost: Fraction
    cost_always: Fraction
    cost_never: Fraction
    net_benefit: Fraction
    missed_failure_cost: Fraction
    extra_compute: Fraction
    regret_vs_best_constant: Fraction
    regret_vs_hindsight_unattainable: Fraction


def decision_curve(
    p_ppm: Integers, y: Integers, thresholds: Sequence[Fraction]
) -> list[CurvePoint]:
    """Return the curve at thresholds between 0 and 1; of no units, no point."""
    if not len(p_ppm):
        return []
    return [_point(p_ppm, y, threshold) for threshold in thresholds]


def _point(p_ppm: Integers, y: Integers, threshold: Fraction) -> CurvePoint:
    n, happened = len(y), _count(y == 1)
    acts, odds = reaches(p_ppm, threshold), threshold / (1 - threshold)
    tp = _count(acts & (y == 1))
    fp = _count(acts) - tp
    return CurvePoint(
        threshold=threshold,
        tp=tp,
        fp=fp,
        net_benefit=(tp - fp * odds) / n,
        treat_all=(happened - (n - happened) * odds) / n,
        treat_none=Fraction(0),
    )


def policy(
    p_ppm: Integers, y: Integers, *, action_cost: Fraction, avoidable_loss: Fraction
) -> Policy | None:
    """Return what acting on probabilities cost; None of no units.

    `action_cost` lies above 0 and below `avoidable_loss`.
    """
    if not len(p_ppm):
        return None
    n, happened = len(y), _count(y == 1)
    threshold = action_cost / avoidable_loss
    acts = reaches(p_ppm, threshold)
    acted, missed = _count(acts), _count(~acts & (y == 1))
    extra, lost = action_cost * acted / n, avoidable_loss * missed / n
    never = avoidable_loss * happened / n
    made = Policy(
        n=n,
        acted=acted,
        missed=missed,
        cost=extra + lost,
        cost_always=action_cost,
        cost_never=never,
        net_benefit=_point(p_ppm, y, threshold).net_benefit,
        missed_failure_cost=lost,
        extra_compute=extra,
        regret_vs_best_constant=extra + lost - min(action_cost, never),
        regret_vs_hindsight_unattainable=extra + lost - action_cost * happened / n,
    )
    saved = made.cost_never - made.cost
    assert made.net_benefit * (1 - threshold) * avoidable_loss == saved
    assert made.regret_vs_hindsight_unattainable >= 0
    return made


def regret(mine: Policy, baseline: Policy) -> Fraction:
    """Return how much more a policy costs than a baseline's on the same units."""
    assert mine.n == baseline.n, "compare policies on identical units"
    return mine.cost - baseline.cost


def reaches(p_ppm: Integers, threshold: Fraction) -> Flags:
    """Mark the probabilities that reach a threshold, exactly."""
    # A whole number of millionths reaches a threshold iff it reaches the next one up.
    least = -(-threshold.numerator * PPM // threshold.denominator)
    reached: Flags = p_ppm >= least
    return reached


def _count(marked: Flags) -> int:
    return int(np.count_nonzero(marked))
