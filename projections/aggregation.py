"""Aggregates over clusters, beside the mean over units (METRICS §21)."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.exact import UNITS

_FEWEST = 4


def interquartile_mean(values: Sequence[Fraction]) -> Fraction | None:
    """Return the mean of the middle half; of fewer than four values, of them all.

    A quarter of the values, rounded down, is dropped from each end. None of nothing.

    >>> interquartile_mean([Fraction(each) for each in (9, 1, 2, 3)])
    Fraction(5, 2)
    """
    dropped = len(values) // _FEWEST
    kept = sorted(values)[dropped : len(values) - dropped]
    return sum(kept, Fraction(0)) / len(kept) if kept else None


def cluster_means(scores: Integers, clusters: Integers) -> list[Fraction]:
    """Return the mean score of each cluster, from unit scores in units of 1e-12."""
    _, which = np.unique(clusters, return_inverse=True)
    totals: dict[int, int] = {}
    for cluster, score in zip(which.tolist(), scores.tolist(), strict=True):
        totals[cluster] = totals.get(cluster, 0) + score
    sizes = np.bincount(which).tolist()
    return [
        Fraction(totals[cluster], size * UNITS) for cluster, size in enumerate(sizes)
    ]
