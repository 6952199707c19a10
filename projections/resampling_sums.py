"""Statistics that are made of sums over units, and so of sums over clusters.

Units are summed within their clusters once; a replicate then costs as many
multiplications as there are clusters. Every sum is exact: where 64 bits might not
hold one, its summands are split into words that they do hold (METRICS §0.3).
"""

from collections.abc import Callable, Sequence

import numpy as np

from ledger.projections.columns import INT64_MAX, Integers, integers
from ledger.projections.exact import UNITS
from ledger.projections.resampling import Ratio

_WORD_BITS = 31
_WORD = 2**_WORD_BITS - 1


class OfSums:
    """A ratio that is made of the resampled sums of some columns."""

    needs_spread = False

    def __init__(
        self,
        columns: Sequence[Integers],
        cluster: Integers,
        clusters: int,
        ratio: Callable[..., Ratio],
    ) -> None:
        """Take a column a sum, a cluster a unit, and what to make of the sums."""
        self._ratio = ratio
        self._words = [
            _in_words(cluster_sums(column, cluster, clusters)) for column in columns
        ]

    def ratios(self, weights: Integers) -> list[Ratio]:
        """Return the ratio of each replicate; shape (replicates, clusters)."""
        sums = [_weighted(words, weights) for words in self._words]
        return [self._ratio(*each) for each in zip(*sums, strict=True)]


def mean(scores: Integers, cluster: Integers, clusters: int) -> OfSums:
    """Return the unit-weighted mean of scores in units of 1e-12.

    For a difference of paired means, `scores` are the units' differences.
    """
    columns = (scores, np.ones_like(scores))
    return OfSums(columns, cluster, clusters, lambda total, n: (total, n * UNITS))


def rate(happened: Integers, cluster: Integers, clusters: int) -> OfSums:
    """Return the share of units where something happened: 1, else 0."""
    columns = (happened, np.ones_like(happened))
    return OfSums(columns, cluster, clusters, lambda total, n: (total, n))


def skill(
    losses: Integers, baseline_losses: Integers, cluster: Integers, clusters: int
) -> OfSums:
    """Return 1 minus the loss relative to a frozen baseline's, on the same units.

    The baseline is not fitted again (METRICS §10); a replicate in which it has no
    loss is undefined. Losses are not negative.
    """
    columns = (losses, baseline_losses)
    return OfSums(columns, cluster, clusters, lambda own, base: (base - own, base))


def same_cohort_skill(
    losses: Integers,
    happened: Sequence[Integers],
    cluster: Integers,
    clusters: int,
    *,
    binary: bool,
) -> OfSums:
    """Return the Brier skill over always saying the replicate's own rates.

    `happened` has a column for each answer, 1 where it happened; `losses` are in the
    binary form where `binary`, else in the sum form, in units of 1e-12. A replicate
    in which only one answer happened is undefined (METRICS §5).
    """
    half = 2 if binary else 1

    def ratio(total: int, *counts: int) -> Ratio:
        n = sum(counts)
        # The rates lose (n² - Σ count²) / n² in the sum form, half of it in the binary.
        spread = n * n - sum(count * count for count in counts)
        return spread * UNITS - half * total * n, spread * UNITS

    return OfSums((losses, *happened), cluster, clusters, ratio)


def cluster_sums(column: Integers, cluster: Integers, clusters: int) -> list[int]:
    """Return the sum of a column over the units of each cluster, whatever its size."""
    units = int(np.bincount(cluster, minlength=1).max())
    if _magnitude(column) * units <= INT64_MAX:
        small: list[int] = _summed(column, cluster, clusters).tolist()
        return small
    high = _summed(column >> _WORD_BITS, cluster, clusters).tolist()
    low = _summed(column & _WORD, cluster, clusters).tolist()
    return [(h << _WORD_BITS) + each for h, each in zip(high, low, strict=True)]


def _summed(column: Integers, cluster: Integers, clusters: int) -> Integers:
    sums = np.zeros(clusters, dtype=np.int64)
    np.add.at(sums, cluster, column)
    return sums


def _magnitude(column: Integers) -> int:
    return max(int(column.max(initial=0)), -int(column.min(initial=0)))


def _in_words(sums: list[int]) -> list[Integers]:
    """Return sums as words of 31 bits, the lowest first; the last has the sign.

    A replicate adds up as many summands as there are clusters. One word is enough
    where 64 bits hold the sum of that many, however they are drawn.
    """
    words = []
    while max(map(abs, sums), default=0) * len(sums) > INT64_MAX:
        words.append(integers([each & _WORD for each in sums]))
        sums = [each >> _WORD_BITS for each in sums]
    return [*words, integers(sums)]


def _weighted(words: list[Integers], weights: Integers) -> list[int]:
    """Return each replicate's sum."""
    totals = [0] * len(weights)
    for place, word in enumerate(words):
        shift = place * _WORD_BITS
        part = (weights @ word).tolist()
        totals = [
            total + (each << shift) for total, each in zip(totals, part, strict=True)
        ]
    return totals
