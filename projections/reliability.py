"""Reliability by bins: calibration error and the table behind it (METRICS §9).

A coarse diagnostic: it depends on where the bins are cut, and is biased upwards in
small samples (Naeini 2015, Guo 2017, Roelofs 2022). It decides nothing.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ledger.projections.cohort import EMPTY, Measure, undefined
from ledger.projections.columns import Integers
from ledger.projections.exact import CONTEXT, PPM, dec12
from ledger.projections.normal import normal_quantile
from ledger.projections.tally import Tally, grouped

_EQUAL_WIDTH = "equal_width_left_closed"
_EQUAL_MASS = "equal_mass"


class Bounds(NamedTuple):
    """An interval of a rate."""

    lo: Fraction
    hi: Fraction


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """The `n` units of a bin, in `ones` of which the event happened.

    `p_sum_ppm` sums what they were told; the bounds take them as independent, and
    are None where there are none. A small bin has fewer units than declared.
    """

    place: int
    n: int
    ones: int
    p_sum_ppm: int
    wilson: Bounds | None
    is_small: bool

    def told(self) -> dict[str, Any]:
        """Return the bin as rows show it; an empty one has nothing but its `n`."""
        shown: dict[str, Any] = {"bin": self.place, "n": self.n}
        if self.wilson is None:
            return shown
        return {
            **shown,
            "ones": self.ones,
            "mean_p": dec12(Fraction(self.p_sum_ppm, self.n * PPM)),
            "rate": dec12(Fraction(self.ones, self.n)),
            "lo": dec12(self.wilson.lo),
            "hi": dec12(self.wilson.hi),
            "is_small": self.is_small,
        }


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """The expected and the largest calibration error, and every bin of the table."""

    ece: Measure
    mce: Measure
    bins: tuple[Bin, ...]


def bins_of(counts: Tally, binning: str) -> Integers:
    """Return the bin of each distinct probability; equal ones are never split.

    `equal_width_left_closed/M` cuts [0, 1] into M equal parts, each with its left
    end and the last with both; `equal_mass/M` cuts by how many units were told less.
    `ValueError` for a binning of another name.
    """
    name, _, size = binning.partition("/")
    bins = int(size)
    if name == _EQUAL_WIDTH:
        return np.minimum(counts.p_ppm * bins // PPM, bins - 1)
    if name == _EQUAL_MASS:
        below = np.cumsum(counts.said) - counts.said
        return below * bins // max(counts.units, 1)
    raise ValueError(
        f"no binning is called {binning}: use {_EQUAL_WIDTH}/M or {_EQUAL_MASS}/M"
    )


def reliability(
    counts: Tally, *, binning: str, level: Fraction, min_bin: int
) -> Reliability:
    """Return the calibration errors and the table of a cohort by declared bins.

    `level` is that of the bounds of each rate. Empty bins are listed, and add nothing.
    """
    size = int(binning.partition("/")[2])
    group = bins_of(counts, binning)
    columns = (counts.said, counts.happened, counts.said * counts.p_ppm)
    told, happened, said_sum = (
        grouped(size, group, column).tolist() for column in columns
    )
    bins = tuple(
        Bin(
            place=place,
            n=n,
            ones=ones,
            p_sum_ppm=p_sum,
            wilson=wilson(ones, n, level) if n else None,
            is_small=n < min_bin,
        )
        for place, (n, ones, p_sum) in enumerate(
            zip(told, happened, said_sum, strict=True)
        )
    )
    if not counts.units:
        none = undefined(EMPTY, 0)
        return Reliability(ece=none, mce=none, bins=bins)
    gaps = [(abs(each.p_sum_ppm - PPM * each.ones), each.n) for each in bins if each.n]
    expected = Fraction(sum(gap for gap, _ in gaps), counts.units * PPM)
    largest = max(Fraction(gap, n * PPM) for gap, n in gaps)
    return Reliability(
        ece=Measure(value=expected, n=counts.units),
        mce=Measure(value=largest, n=counts.units),
        bins=bins,
    )


def wilson(ones: int, n: int, level: Fraction) -> Bounds:
    """Return Wilson's score interval of a rate among `n` > 0 independent units (1927).

    (k + z²/2 ± z √(k (n - k) / n + z²/4)) / (n + z²), to more digits than are shown.
    """
    with localcontext(CONTEXT):
        z = normal_quantile(level)
        spread = z * CONTEXT.sqrt(Decimal(ones * (n - ones)) / n + z * z / 4)
        middle, whole = ones + z * z / 2, n + z * z
        return Bounds(
            Fraction((middle - spread) / whole), Fraction((middle + spread) / whole)
        )
