"""How far the reliability curve may stray by chance (METRICS §9).

The consistency band stands around the diagonal: where would the curve run if every
probability were right? The confidence band stands around the curve itself: where would
it run for other clusters? (Dimitriadis, Gneiting & Jordan 2021.) Both are told at the
ends of the curve's blocks, which are the points that the curve is drawn through.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import msgspec
import numpy as np

from ledger.projections.cohort import CLUSTERS_LT_MIN
from ledger.projections.columns import Flags, Integers
from ledger.projections.corp import Block, pool
from ledger.projections.exact import PPM, dec12
from ledger.projections.resampling import Interval, Ratio, Resamples, Rule, interval
from ledger.projections.rng import bounded, draws
from ledger.projections.tally import occasions

CONSISTENCY_LABEL = "consistency"
CONSISTENCY = Rule(level=Fraction(9, 10), min_clusters=0, max_undefined=Fraction(0))
# One cluster is one observation, whatever a suite declares.
_CLUSTERS_MIN = 2
# What is held in memory at once: 16 MB of words, or of counts.
_AT_ONCE = 2**21
# Units by ascending distinct probability, and those of them with the event.
Counts = tuple[list[int], list[int]]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Between which rates the curve runs at a probability, by its replicates."""

    p_ppm: int
    interval: Interval

    def told(self) -> dict[str, str | None]:
        """Return the place as rows show it."""
        lo, hi = self.interval.lo, self.interval.hi
        return {
            "p": dec12(Fraction(self.p_ppm, PPM)),
            "lo": None if lo is None else dec12(lo),
            "hi": None if hi is None else dec12(hi),
        }


def consistency_band(
    blocks: Sequence[Block], p_ppm: Integers, *, seed: bytes, resamples: int
) -> tuple[Place, ...]:
    """Return where 90 % of the curves run if every probability is right.

    `p_ppm` are those of at least one unit, in the order of the units' names; `seed` is
    the row's. In a replicate the event happens in unit i if its word, modulo a million,
    is less than its probability in millionths: a word for each unit and replicate.
    """
    distinct, place, said = np.unique(p_ppm, return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    starts = np.cumsum(said) - said

    def replicates() -> Iterator[Counts]:
        for words in draws(
            seed,
            CONSISTENCY_LABEL,
            replicates=resamples,
            words=len(p_ppm),
            at_once=max(1, _AT_ONCE // len(p_ppm)),
        ):
            happens: Flags = bounded(words, PPM) < p_ppm
            sums = np.add.reduceat(happens[:, order], starts, axis=1, dtype=np.int64)
            yield from ((said.tolist(), happened) for happened in sums.tolist())

    return _band(_points(blocks), distinct, replicates(), CONSISTENCY)


def confidence_band(
    blocks: Sequence[Block],
    p_ppm: Integers,
    y: Integers,
    cluster: Integers,
    *,
    resamples: Resamples,
    rule: Rule,
) -> tuple[Place, ...]:
    """Return where the curves of resampled clusters run, at the rule's level.

    `cluster` numbers those of `resamples`, each of which has a unit. A probability
    that a replicate has no unit of lies on the block to its left.
    """
    points = _points(blocks)
    if resamples.clusters < max(_CLUSTERS_MIN, rule.min_clusters):
        none = Interval(reason=CLUSTERS_LT_MIN)
        return tuple(Place(p_ppm=p, interval=none) for p in points)
    distinct = np.unique(p_ppm)
    # Cells of equal probability, outcome and cluster count as one, times their units.
    keys = occasions(p_ppm, y) * resamples.clusters + cluster
    cells, units = np.unique(keys, return_counts=True)
    asked = cells // resamples.clusters
    of_cluster, is_event = cells - asked * resamples.clusters, asked & 1
    starts = np.searchsorted(asked >> 1, distinct)

    def replicates() -> Iterator[Counts]:
        at_once = max(1, _AT_ONCE // len(cells))
        for weights in resamples.weights():
            for start in range(0, len(weights), at_once):
                drawn = weights[start : start + at_once, of_cluster] * units
                said = np.add.reduceat(drawn, starts, axis=1)
                happened = np.add.reduceat(drawn * is_event, starts, axis=1)
                yield from zip(said.tolist(), happened.tolist(), strict=True)

    return _band(points, distinct, replicates(), rule)


def _points(blocks: Sequence[Block]) -> list[int]:
    """Return the probabilities at which a block begins or ends."""
    return sorted({p for each in blocks for p in (each.p_min_ppm, each.p_max_ppm)})


def _band(
    points: list[int], distinct: Integers, replicates: Iterable[Counts], rule: Rule
) -> tuple[Place, ...]:
    places = np.searchsorted(distinct, points).tolist()
    curves: list[list[Ratio]] = [[] for _ in points]
    for said, happened in replicates:
        blocks = pool(said, happened)
        stops = [stop for stop, _, _ in blocks]
        for curve, place in zip(curves, places, strict=True):
            _, n, ones = blocks[bisect_right(stops, place)]
            curve.append((ones, n))
    return tuple(
        Place(p_ppm=p, interval=interval(curve, rule))
        for p, curve in zip(points, curves, strict=True)
    )
