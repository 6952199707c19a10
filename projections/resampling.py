"""Intervals by resampling clusters: exact replicates, and exact ends (METRICS §10).

Whole clusters are drawn with replacement, and a statistic is computed again from
integers, numerator and denominator alike (Davison & Hinkley 1997; Field & Welsh 2007).
An end of an interval is one of the replicates: an exact fraction, attained, without
interpolation. All statistics of a cohort see the same resamples, hence differences
between them are paired.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Protocol

import msgspec
import numpy as np

from ledger.projections.cohort import (
    CLUSTERS_LT_MIN,
    DEGENERATE,
    UNDEFINED_REPLICATES,
)
from ledger.projections.columns import Integers
from ledger.projections.rng import RNG_ID, bounded, draws

QUANTILE_RULE = "inverted_cdf"
# One cluster is one observation, whatever a suite declares.
_CLUSTERS_MIN = 2
# Enough for numpy to be busy with, and little enough to stay near the processor: a
# block of weights has 16 MB at most, however many clusters there are.
_AT_ONCE = 200
_WEIGHTS_AT_ONCE = 2**21

# A numerator and a denominator that is not negative; a denominator of zero says that
# the replicate is undefined.
Ratio = tuple[int, int]


class Statistic(Protocol):
    """What can be computed again from how often each cluster was drawn.

    `needs_spread` is whether replicates that are all alike leave it no interval. A mean
    of units that are all alike is what every resample says; a ranking that no resample
    can shake says that the sample is too easy for one, not that it is certain.
    """

    needs_spread: bool

    def ratios(self, weights: Integers) -> list[Ratio]:
        """Return the statistic of each replicate; shape (replicates, clusters)."""


class Resamples(msgspec.Struct, frozen=True, kw_only=True):
    """Which clusters are drawn: the seed of the row, and how often how many."""

    seed: bytes
    clusters: int
    resamples: int
    label: str = "boot"

    def weights(self) -> Iterator[Integers]:
        """Yield how often each cluster was drawn, some replicates at a time.

        A block has the shape (replicates, clusters); each of its rows sums to the
        number of clusters. Clusters are numbered in the order of their names' bytes.
        """
        at_once = max(1, min(_AT_ONCE, _WEIGHTS_AT_ONCE // self.clusters))
        for words in draws(
            self.seed,
            self.label,
            replicates=self.resamples,
            words=self.clusters,
            at_once=at_once,
        ):
            drawn = bounded(words, self.clusters)
            yield np.stack([np.bincount(row, minlength=self.clusters) for row in drawn])


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How an interval is taken from replicates, and when there is none.

    `level` is the confidence, such as 95/100. Fewer clusters than `min_clusters`, or
    a larger share of undefined replicates than `max_undefined`, leave no interval.
    """

    level: Fraction
    min_clusters: int
    max_undefined: Fraction

    @property
    def alpha(self) -> Fraction:
        """The share of replicates that lies outside, half of it at each end."""
        return 1 - self.level


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """What an interval was drawn from that is not what its row was drawn from.

    `cohort` is the hash of its units, `seed` the seed that follows from that; `is_few`
    whether there are so few `clusters` that it is too short.
    """

    clusters: int
    seed: bytes
    cohort: str
    is_few: bool

    def told(self) -> dict[str, int | str | bool]:
        """Return it as rows show it, by the names that a row's own inference has."""
        few = {"few_clusters": True} if self.is_few else {}
        return {
            "K": self.clusters,
            "row_seed": self.seed.hex(),
            "cohort_hash": self.cohort,
            **few,
        }


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """Two replicates, or the reason why there are none; and how many were undefined.

    `drawn` is what it was drawn from, where it is over other units than its row.
    """

    lo: Fraction | None = None
    hi: Fraction | None = None
    reason: str | None = None
    undefined: int = 0
    drawn: Drawn | None = None


def recorded(resamples: Resamples, rule: Rule) -> dict[str, str | int]:
    """Return what a reader needs in order to draw the same resamples again.

    The root seed stands in the suite's manifest, and an interval's own number of
    undefined replicates beside the interval.
    """
    return {
        "rng_id": RNG_ID,
        "label": resamples.label,
        "resamples": resamples.resamples,
        "clusters": resamples.clusters,
        "quantile_rule": QUANTILE_RULE,
        "alpha": str(rule.alpha),
    }


def replicates(
    resamples: Resamples, statistics: Mapping[str, Statistic]
) -> dict[str, list[Ratio]]:
    """Return every statistic of every replicate, in the order of the draws."""
    found: dict[str, list[Ratio]] = {name: [] for name in statistics}
    for weights in resamples.weights():
        for name, statistic in statistics.items():
            found[name] += statistic.ratios(weights)
    return found


def intervals(
    resamples: Resamples, statistics: Mapping[str, Statistic], rule: Rule
) -> dict[str, Interval]:
    """Return the interval of every statistic, all of them from the same resamples."""
    if not is_enough(resamples, rule):
        return dict.fromkeys(statistics, Interval(reason=CLUSTERS_LT_MIN))
    return {
        name: interval(found, rule, needs_spread=statistics[name].needs_spread)
        for name, found in replicates(resamples, statistics).items()
    }


def is_enough(resamples: Resamples, rule: Rule) -> bool:
    """Tell whether there are clusters enough for any interval."""
    return resamples.clusters >= max(_CLUSTERS_MIN, rule.min_clusters)


def interval(
    ratios: Sequence[Ratio], rule: Rule, *, needs_spread: bool = False
) -> Interval:
    """Return the percentile interval of replicates by the inverted distribution.

    Undefined ones are left out and counted (`undefined_replicates` where they are too
    many). Where all others are alike and the statistic `needs_spread` there is none
    (`degenerate_variance`). With a = 1 - level, the ends have the ranks ⌈Ba/2⌉ and ⌈B(1 - a/2)⌉: R's
    quantile of type 1.
    """
    ranked = in_order(ratios)
    undefined = len(ratios) - len(ranked)
    if not ranked or undefined > rule.max_undefined * len(ratios):
        return Interval(reason=UNDEFINED_REPLICATES, undefined=undefined)
    if needs_spread and Fraction(*ranked[0]) == Fraction(*ranked[-1]):
        return Interval(reason=DEGENERATE, undefined=undefined)
    below = rule.alpha / 2
    lo, hi = (
        Fraction(*ranked[max(1, ceil(len(ranked) * share)) - 1])
        for share in (below, 1 - below)
    )
    return Interval(lo=lo, hi=hi, undefined=undefined)


def in_order(ratios: Sequence[Ratio]) -> list[Ratio]:
    """Return the defined ratios from the least to the largest, compared exactly.

    >>> in_order([(1, 3), (0, 0), (-1, 2), (333, 1000)])
    [(-1, 2), (333, 1000), (1, 3)]
    """
    defined = [ratio for ratio in ratios if ratio[1]]
    # Fractions whose denominators are at most d differ by 1/d² or not at all, so that
    # their whole parts differ once both are multiplied by d²: integers sort them.
    largest = max((denominator for _, denominator in defined), default=1)
    places = 2 * largest.bit_length()
    return sorted(defined, key=lambda ratio: (ratio[0] << places) // ratio[1])
