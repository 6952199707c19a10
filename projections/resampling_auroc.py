"""The AUROC of every replicate, exactly: pairs of units counted as often as drawn.

A pair counts the product of its clusters' weights (Obuchowski 1997). The K x K matrix
of pairs between clusters would give the same numbers; passing over units sorted by
probability takes time in proportion to units, not to squares of clusters.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ledger.projections.columns import INT64_MAX, Integers
from ledger.projections.resampling import Ratio

# So many units at once that their weights stay near the processor.
_UNITS = 1024
_LARGEST_OF_32 = 2**31 - 1

Table = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class Auroc:
    """How often units where the event came have the higher probability, as a ratio.

    It has no interval where every resample ranks alike: neither does DeLong's have one
    there (METRICS §8), and [1, 1] would claim a certainty that nothing supports.
    """

    needs_spread = True

    def __init__(
        self, p_ppm: Integers, y: Integers, cluster: Integers, clusters: int
    ) -> None:
        """Take the probability, the outcome (1 or 0) and the cluster of every unit."""
        order = np.argsort(p_ppm, kind="stable")
        came = y[order] == 1
        self._positive = cluster[order[came]]
        self._negative = cluster[order[~came]]
        self._positives = np.bincount(self._positive, minlength=clusters)
        self._negatives = np.bincount(self._negative, minlength=clusters)
        high, low = p_ppm[order[came]], p_ppm[order[~came]]
        below = np.searchsorted(low, high, side="left")
        not_above = np.searchsorted(low, high, side="right")
        # A tied negative counts once in the two, one that is below counts twice.
        is_tied = bool((below != not_above).any())
        self._ends = (below, not_above) if is_tied else (below,)

    def ratios(self, weights: Integers) -> list[Ratio]:
        """Return each replicate's AUROC; undefined where a class was not drawn."""
        positives = (weights @ self._positives).tolist()
        negatives = (weights @ self._negatives).tolist()
        pairs = [2 * p * n for p, n in zip(positives, negatives, strict=True)]
        assert max(pairs, default=0) <= INT64_MAX, "a resample has above 2^32 units"
        twice = self._pairs_won(weights) * (2 // len(self._ends))
        return list(zip(twice.tolist(), pairs, strict=True))

    def _pairs_won(self, weights: Integers) -> Integers:
        """Return for each replicate how many negatives precede the ends, in sum."""
        table = _table(weights)
        won = np.zeros(len(weights), dtype=np.int64)
        preceding = np.zeros(len(weights), dtype=np.int64)
        for start in range(0, len(self._negative), _UNITS):
            drawn = table.take(self._negative[start : start + _UNITS], axis=0)
            upto = np.zeros((len(drawn) + 1, len(weights)), dtype=table.dtype)
            np.add.accumulate(drawn, axis=0, dtype=table.dtype, out=upto[1:])
            for positive, within in self._ending_in(start):
                drawn = table.take(positive, axis=0)
                count = np.add.reduce(drawn, axis=0, dtype=np.int64)
                pairs = drawn * upto.take(within, axis=0)
                won += preceding * count
                won += np.add.reduce(pairs, axis=0, dtype=table.dtype)
            preceding += upto[-1]
        return won

    def _ending_in(self, start: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield the positives with an end in a block of negatives, and which of it."""
        stop = start + _UNITS
        if stop >= len(self._negative):  # the last: here belong those that beat all
            stop = len(self._negative) + 1
        for ends in self._ends:
            first, last = np.searchsorted(ends, [start, stop]).tolist()
            for chunk in range(first, last, _UNITS):
                rows = slice(chunk, min(chunk + _UNITS, last))
                yield self._positive[rows], ends[rows] - start


def _table(weights: Integers) -> Table:
    """Return a row of weights a cluster, in as few bits as hold a block's pairs."""
    heaviest = int(weights.max(initial=0))
    most = (heaviest * _UNITS) ** 2
    assert most <= INT64_MAX, "a cluster was drawn above a million times"
    if most <= _LARGEST_OF_32:
        return np.ascontiguousarray(weights.T, dtype=np.int32)
    return np.ascontiguousarray(weights.T, dtype=np.int64)
