"""What a forecast of a number costs once the number is known (METRICS §16).

All of it in fractions: the values are decimals, and so are the levels. A quantile
forecast is its quantiles by level, ascending; the door refuses those that cross.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

import msgspec

# A level, and the value that the number is said to stay below with that probability.
Quantile = tuple[Fraction, Fraction]
_MEDIAN = Fraction(1, 2)
_NOTHING = Fraction(0)


def pinball(level: Fraction, quantile: Fraction, observed: Fraction) -> Fraction:
    """Return the quantile loss (y - q)(level - 1{y < q}): 0 where it is met.

    Its least expected value is at the true quantile (Koenker & Bassett 1978).

    >>> pinball(Fraction(3, 4), Fraction(12), Fraction(15))
    Fraction(9, 4)
    """
    missed = observed - quantile
    return missed * level if missed >= 0 else missed * (level - 1)


def mean_pinball(quantiles: Sequence[Quantile], observed: Fraction) -> Fraction:
    """Return the mean quantile loss over some levels, at least one."""
    losses = (pinball(level, value, observed) for level, value in quantiles)
    return sum(losses, _NOTHING) / len(quantiles)


class IntervalScore(msgspec.Struct, frozen=True, kw_only=True):
    """A weighted interval score and its three parts, which sum to it.

    `dispersion` is how wide the intervals are; `overprediction` is paid where the
    number stayed below them, or below the median, `underprediction` where above.
    """

    score: Fraction
    dispersion: Fraction
    overprediction: Fraction
    underprediction: Fraction


def weighted_interval_score(
    quantiles: Sequence[Quantile], observed: Fraction
) -> IntervalScore | None:
    """Return the score of K central intervals and the median (Bracher et al. 2021).

    It is the mean of twice the quantile loss over all 2K + 1 levels. None where the
    levels are no such intervals: each one needs its mirror, and the half its value.
    """
    levels = [level for level, _ in quantiles]
    if levels != [1 - level for level in reversed(levels)] or _MEDIAN not in levels:
        return None
    pairs = len(quantiles) // 2
    median = quantiles[pairs][1]
    dispersion = _NOTHING
    over = max(median - observed, _NOTHING) / 2
    under = max(observed - median, _NOTHING) / 2
    for k in range(pairs):
        (level, lower), (_, upper) = quantiles[k], quantiles[-1 - k]
        # An interval leaves out alpha = 2 * level, and weighs alpha / 2.
        dispersion += level * (upper - lower)
        over += max(lower - observed, _NOTHING)
        under += max(observed - upper, _NOTHING)
    weight = pairs + _MEDIAN
    score = IntervalScore(
        score=(dispersion + over + under) / weight,
        dispersion=dispersion / weight,
        overprediction=over / weight,
        underprediction=under / weight,
    )
    assert score.score == 2 * mean_pinball(quantiles, observed)
    return score


def crps_ensemble(members: Sequence[Fraction], observed: Fraction) -> Fraction:
    """Return the CRPS of the distribution that at least one sample steps through.

    That is mean |x - y| less half of mean |x - x'| over all pairs, a member's with
    itself included (Gneiting & Raftery 2007); of one member, |x - y|.
    """
    return _distance(members, observed) - _spread(members) / len(members) ** 2


def crps_fair(members: Sequence[Fraction], observed: Fraction) -> Fraction | None:
    """Return the CRPS that does not punish small ensembles (Ferro 2014).

    The pairs are those of different members. None of one member, which has none.
    """
    size = len(members)
    if size == 1:
        return None
    return _distance(members, observed) - _spread(members) / (size * (size - 1))


def _distance(members: Sequence[Fraction], observed: Fraction) -> Fraction:
    apart = (abs(member - observed) for member in members)
    return sum(apart, _NOTHING) / len(members)


def _spread(members: Sequence[Fraction]) -> Fraction:
    """Return the sum of |x - x'| over all pairs of members, each pair once."""
    # In order, a member is the larger one of as many pairs as stand before it.
    last = len(members) - 1
    weighted = (
        (2 * place - last) * member for place, member in enumerate(sorted(members))
    )
    return sum(weighted, _NOTHING)


def critical_fractile(underage: Fraction, overage: Fraction) -> Fraction:
    """Return the level at which a newsvendor orders; not both costs are 0."""
    assert underage + overage > 0, "the door refuses costs that are both 0"
    return underage / (underage + overage)


def newsvendor_cost(
    order: Fraction, demand: Fraction, *, underage: Fraction, overage: Fraction
) -> Fraction:
    """Return what one unit too few, or too many, cost in all.

    This is underage plus overage times the quantile loss at the critical fractile.
    """
    cost = underage * max(demand - order, _NOTHING) + overage * max(
        order - demand, _NOTHING
    )
    level = critical_fractile(underage, overage)
    assert cost == (underage + overage) * pinball(level, order, demand)
    return cost


def quantile_at(
    quantiles: Sequence[Quantile], level: Fraction, *, interpolates: bool
) -> Fraction | None:
    """Return the value at a level: as stated or, if allowed, between its neighbours.

    None where it is not stated and may not be, or lies beyond the outermost levels.
    """
    at = bisect_left(quantiles, level, key=lambda each: each[0])
    if at < len(quantiles) and quantiles[at][0] == level:
        return quantiles[at][1]
    if not interpolates or at in {0, len(quantiles)}:
        return None
    (below, lower), (above, upper) = quantiles[at - 1 : at + 1]
    return lower + (upper - lower) * (level - below) / (above - below)
