"""What a forecast of a number costs once the number is known (METRICS §16).

All of it in fractions: the values are decimals, and so are the levels. A quantile
forecast is its quantiles by level, ascending; the door refuses those that cross.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import msgspec

# A level, and the value that the number is said to stay below with that probability.
Quantile = tuple[Fraction, Fraction]
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
    levels, whole = _in_parts([level for level, _ in quantiles])
    (y, *values), parts = _in_parts([observed, *(value for _, value in quantiles)])
    total = sum(
        (y - value) * (level if y >= value else level - whole)
        for level, value in zip(levels, values, strict=True)
    )
    return Fraction(total, whole * parts * len(quantiles))


def _in_parts(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numbers as whole multiples of one part, and how many parts make 1.

    To add up integers takes a tenth of the time that fractions take.
    """
    parts = lcm(*(number.denominator for number in numbers))
    whole = [number.numerator * (parts // number.denominator) for number in numbers]
    return whole, parts


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
    size, pairs = len(quantiles), len(quantiles) // 2
    levels, whole = _in_parts([level for level, _ in quantiles])
    # A level and its mirror sum to 1, and the middle one is its own mirror: one half.
    mirrored = zip(levels, reversed(levels), strict=True)
    if size % 2 == 0 or any(low + high != whole for low, high in mirrored):
        return None
    (y, *values), parts = _in_parts([observed, *(value for _, value in quantiles)])
    # Everything twice, so that halves stay whole: the weights then sum to the size. An
    # interval leaves out alpha, which is twice its lower level, and weighs its half.
    median = values[pairs]
    dispersion, over, under = 0, max(median - y, 0), max(y - median, 0)
    for k in range(pairs):
        lower, upper = values[k], values[-1 - k]
        dispersion += 2 * levels[k] * (upper - lower)
        over += 2 * max(lower - y, 0)
        under += 2 * max(y - upper, 0)
    dispersed, overpredicted, underpredicted = (
        Fraction(dispersion, whole * parts * size),
        Fraction(over, parts * size),
        Fraction(under, parts * size),
    )
    return IntervalScore(
        score=dispersed + overpredicted + underpredicted,
        dispersion=dispersed,
        overprediction=overpredicted,
        underprediction=underpredicted,
    )


def crps_ensemble(members: Sequence[Fraction], observed: Fraction) -> Fraction:
    """Return the CRPS of the distribution that at least one sample steps through.

    That is mean |x - y| less half of mean |x - x'| over all pairs, a member's with
    itself included (Gneiting & Raftery 2007); of one member, |x - y|.
    """
    distance, spread = _distance_and_spread(members, observed)
    return distance - spread / len(members) ** 2


def crps_fair(members: Sequence[Fraction], observed: Fraction) -> Fraction | None:
    """Return the CRPS that does not punish small ensembles (Ferro 2014).

    The pairs are those of different members. None of one member, which has none.
    """
    size = len(members)
    if size == 1:
        return None
    distance, spread = _distance_and_spread(members, observed)
    return distance - spread / (size * (size - 1))


def _distance_and_spread(
    members: Sequence[Fraction], observed: Fraction
) -> tuple[Fraction, Fraction]:
    """Return mean |x - y|, and the sum of |x - x'| over all pairs, each pair once."""
    (y, *values), parts = _in_parts([observed, *members])
    distance = sum(abs(value - y) for value in values)
    # In order, a member is the larger one of as many pairs as stand before it.
    last = len(values) - 1
    spread = sum((2 * at - last) * value for at, value in enumerate(sorted(values)))
    return Fraction(distance, parts * len(values)), Fraction(spread, parts)


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
