"""A second look at an interval: bias-corrected and accelerated, never in a row.

Efron 1987 (JASA 82:171); METRICS §10. Its levels come from the normal distribution in
floats, and might differ in the last digit between machines; hence no module that makes
rows may import this one. What floats decide here are two ranks: the ends are exact
replicates all the same.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import msgspec
import numpy as np

from ledger.projections.cohort import CLUSTERS_LT_MIN
from ledger.projections.resampling import (
    Interval,
    Ratio,
    Resamples,
    Rule,
    Statistic,
    in_order,
    interval,
    is_enough,
    replicates,
)

ALL_ON_ONE_SIDE, NO_SPREAD = "all_on_one_side", "no_spread"
_NORMAL = NormalDist()


class Accelerated(msgspec.Struct, frozen=True, kw_only=True):
    """The interval, and what its ranks were made from.

    `bias` is z0, `acceleration` a. Where they are not defined the interval is the
    percentile one, for the reason that is given.
    """

    interval: Interval
    bias: float | None = None
    acceleration: float | None = None
    ranks: tuple[int, int] | None = None
    reason: str | None = None


def accelerated(statistic: Statistic, resamples: Resamples, rule: Rule) -> Accelerated:
    """Return the interval of a statistic by the resamples that its row has."""
    if not is_enough(resamples, rule):
        few = Interval(reason=CLUSTERS_LT_MIN)
        return Accelerated(interval=few, reason=few.reason)
    found = replicates(resamples, {"own": statistic})["own"]
    plain = interval(found, rule, needs_spread=statistic.needs_spread)
    everybody = np.ones((1, resamples.clusters), dtype=np.int64)
    (estimate,) = statistic.ratios(everybody)
    without_one = statistic.ratios(
        everybody - np.eye(resamples.clusters, dtype=np.int64)
    )
    if plain.reason or not estimate[1] or not all(below for _, below in without_one):
        return Accelerated(interval=plain, reason=plain.reason or NO_SPREAD)
    ranked = in_order(found)
    share = _share_below(ranked, Fraction(*estimate))
    if share in {0, 1}:
        return Accelerated(interval=plain, reason=ALL_ON_ONE_SIDE)
    acceleration = _acceleration(without_one)
    if acceleration is None:
        return Accelerated(interval=plain, reason=NO_SPREAD)
    bias = _NORMAL.inv_cdf(float(share))
    lo, hi = (
        _rank(bias, acceleration, float(level), len(ranked))
        for level in (rule.alpha / 2, 1 - rule.alpha / 2)
    )
    return Accelerated(
        interval=Interval(
            lo=Fraction(*ranked[lo - 1]),
            hi=Fraction(*ranked[hi - 1]),
            undefined=plain.undefined,
        ),
        bias=bias,
        acceleration=acceleration,
        ranks=(lo, hi),
    )


def _share_below(ranked: Sequence[Ratio], estimate: Fraction) -> Fraction:
    """Return the share of replicates below the estimate, equal ones counting half."""
    twice = sum(
        2 if replicate < estimate else replicate == estimate
        for replicate in (Fraction(*ratio) for ratio in ranked)
    )
    return Fraction(twice, 2 * len(ranked))


def _acceleration(without_one: Sequence[Ratio]) -> float | None:
    """Return a sixth of the jackknife's skewness; None where nothing varies."""
    values = [Fraction(*ratio) for ratio in without_one]
    mean = sum(values, Fraction(0)) / len(values)
    apart = [float(mean - value) for value in values]
    squares = math.fsum(each**2 for each in apart)
    cubes = math.fsum(each**3 for each in apart)
    return cubes / (6 * squares**1.5) if squares else None


def _rank(bias: float, acceleration: float, level: float, size: int) -> int:
    shifted = bias + _NORMAL.inv_cdf(level)
    adjusted = _NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))
    return min(max(math.ceil(size * adjusted), 1), size)
