"""CORP: the reliability curve that isotonic regression draws, and what it takes apart.

Dimitriadis, Gneiting & Jordan 2021 (PNAS 118:e2016191118); METRICS §9. The curve
needs no bins to be declared: it is the best one that never falls.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ledger.projections.exact import PPM, dec12, sum_of_ratios
from ledger.projections.tally import Tally, brier


class Block(NamedTuple):
    """Neighbouring probabilities that the curve maps to one rate.

    `n` units were told between `p_min_ppm` and `p_max_ppm`, together `p_sum_ppm`;
    the event happened in `ones` of them.
    """

    p_min_ppm: int
    p_max_ppm: int
    p_sum_ppm: int
    n: int
    ones: int

    @property
    def rate(self) -> Fraction:
        """Return the share of units in which the event happened."""
        return Fraction(self.ones, self.n)

    @property
    def mean_ppm(self) -> Fraction:
        """Return the mean of the probabilities said, in parts per million."""
        return Fraction(self.p_sum_ppm, self.n)

    def told(self) -> dict[str, str | int]:
        """Return the block as rows show it."""
        return {
            "p_min": dec12(Fraction(self.p_min_ppm, PPM)),
            "p_max": dec12(Fraction(self.p_max_ppm, PPM)),
            "n": self.n,
            "ones": self.ones,
            "rate": dec12(self.rate),
        }


class Corp(msgspec.Struct, frozen=True, kw_only=True):
    """A Brier score taken apart: `brier` = miscalibration - discrimination + uncertainty.

    Miscalibration is what mapping each probability to its block's rate would gain,
    discrimination what those rates gain over always saying the cohort's own.
    """

    blocks: tuple[Block, ...]
    brier: Fraction
    miscalibration: Fraction
    discrimination: Fraction
    uncertainty: Fraction


def corp(counts: Tally) -> Corp | None:
    """Return the curve and the decomposition of a cohort; None of an empty one."""
    if not counts.units:
        return None
    units, events = counts.units, counts.events
    blocks, score = pooled(counts), brier(counts)
    # Always saying the rate of a group loses rate (1 - rate) a unit.
    mapped = sum_of_ratios(
        (each.ones * (each.n - each.ones), each.n) for each in blocks
    )
    recalibrated = mapped / units
    uncertainty = Fraction(events * (units - events), units * units)
    found = Corp(
        blocks=tuple(blocks),
        brier=score,
        miscalibration=score - recalibrated,
        discrimination=uncertainty - recalibrated,
        uncertainty=uncertainty,
    )
    assert found.miscalibration >= 0, "no curve that rises fits better than the best"
    assert found.discrimination >= 0, "a constant is one of the curves that never fall"
    assert found.brier == (
        found.miscalibration - found.discrimination + found.uncertainty
    )
    return found


def pooled(counts: Tally) -> list[Block]:
    """Return the blocks of the isotonic regression of outcomes on probabilities."""
    p_ppm, said = counts.p_ppm.tolist(), counts.said.tolist()
    blocks, start = [], 0
    for stop, n, ones in pool(said, counts.happened.tolist()):
        told = zip(p_ppm[start:stop], said[start:stop], strict=True)
        p_sum = sum(p * units for p, units in told)
        blocks.append(Block(p_ppm[start], p_ppm[stop - 1], p_sum, n, ones))
        start = stop
    return blocks


def pool(said: Sequence[int], happened: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return where each block stops, its units, and those in which the event happened.

    The units come by ascending probability. Adjacent violators are pooled: while the
    rate on the left is at least that on the right, the two are one block. Rates are
    compared by cross-multiplication; a probability that nobody was told joins its left
    neighbour.
    """
    blocks: list[tuple[int, int, int]] = []
    for stop, (units, events) in enumerate(zip(said, happened, strict=True), 1):
        n, ones = units, events
        while blocks and blocks[-1][2] * n >= ones * blocks[-1][1]:
            _, left_n, left_ones = blocks.pop()
            n, ones = n + left_n, ones + left_ones
        blocks.append((stop, n, ones))
    return blocks


class Isotonic(msgspec.Struct, frozen=True, kw_only=True):
    """Isotonic recalibration: straight lines between the means of blocks.

    `said_ppm` are the blocks' mean probabilities, ascending, `rates` how often the
    event happened in each; below the first and above the last the rate is constant.
    """

    said_ppm: tuple[Fraction, ...]
    rates: tuple[Fraction, ...]

    def apply(self, p_ppm: int) -> int:
        """Return the recalibrated probability, rounded half-even to a millionth."""
        right = bisect_right(self.said_ppm, p_ppm)
        if right in {0, len(self.said_ppm)}:
            return round(PPM * self.rates[max(right - 1, 0)])
        start, end = self.said_ppm[right - 1], self.said_ppm[right]
        low, high = self.rates[right - 1], self.rates[right]
        share = (p_ppm - start) / (end - start)
        return round(PPM * (low + share * (high - low)))


def fit_isotonic(counts: Tally) -> Isotonic | None:
    """Return the recalibration that a past of units teaches; None without units."""
    blocks = pooled(counts)
    if not blocks:
        return None
    return Isotonic(
        said_ppm=tuple(block.mean_ppm for block in blocks),
        rates=tuple(block.rate for block in blocks),
    )
