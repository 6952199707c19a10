"""How far a fitted line may be off: by its information, and by whole clusters.

The inverse information takes units as independent. The cluster sandwich does not: it
sums the residuals of a cluster before it squares them (Liang & Zeger 1986, Biometrika
73:13). No correction for few clusters is made; intervals ask for a declared minimum.
"""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import NamedTuple

import numpy as np

from ledger.projections.calibration_fit import (
    CONTEXT,
    Information,
    Logistic,
    odds,
    odds_against,
)
from ledger.projections.columns import Integers, integers
from ledger.projections.tally import occasions

# Residuals are sums of millions of terms. As integers of 1e-27, three words of 32
# bits each, they are summed exactly, in whatever order.
_PLACES = 27
_WORD_BITS = 32
_WORDS = 3
# More than any probability and outcome as one number; a power of two divides quickly.
_OCCASIONS = 2**21


class Clusters(NamedTuple):
    """Units in the order of their clusters, each as a place in `distinct` occasions.

    `starts` is where each cluster begins; only clusters that have units are there.
    """

    distinct: Integers
    place: Integers
    starts: Integers


class Variances(NamedTuple):
    """Of the intercept and of the slope; that of a slope which was not fitted is 0."""

    intercept: Decimal
    slope: Decimal


def clusters_of(p_ppm: Integers, y: Integers, cluster: Integers) -> Clusters:
    """Return the units by cluster; `p_ppm` are clipped as they were for the fit."""
    asked = occasions(p_ppm, y)
    distinct = np.unique(asked)
    # Sorting both as one number takes a fraction of what ordering by one does.
    keys = np.sort(cluster * _OCCASIONS + asked)
    codes = keys // _OCCASIONS
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = codes[1:] != codes[:-1]
    place = np.searchsorted(distinct, keys - codes * _OCCASIONS)
    return Clusters(distinct, place, np.flatnonzero(is_first))


def information_variances(line: Logistic, *, slope_is_free: bool) -> Variances:
    """Return the diagonal of the inverse information."""
    with localcontext(CONTEXT):
        ones, _, squares = line.information
        if not slope_is_free:
            return Variances(1 / ones, Decimal(0))
        whole = line.information.determinant
        return Variances(squares / whole, ones / whole)


def cluster_variances(
    line: Logistic, clusters: Clusters, *, slope_is_free: bool
) -> Variances:
    """Return the diagonal of the sandwich I⁻¹ M I⁻¹.

    I is the information, and M sums over clusters the outer product of each one's
    sums of residuals y - μ and (y - μ) x.
    """
    with localcontext(CONTEXT):
        residuals = _residuals(line, clusters.distinct)
        ones, mixed, squares = line.information
        levels = _sums([_fixed(each) for each, _ in residuals], clusters)
        if not slope_is_free:
            return Variances(_product(levels, levels) / (ones * ones), Decimal(0))
        tilts = _sums([_fixed(each * x) for each, x in residuals], clusters)
        middle = Information(
            _product(levels, levels), _product(levels, tilts), _product(tilts, tilts)
        )
        whole = line.information.determinant
        return Variances(
            _through(middle, squares / whole, -mixed / whole),
            _through(middle, -mixed / whole, ones / whole),
        )


def _product(first: list[int], second: list[int]) -> Decimal:
    total = sum(a * b for a, b in zip(first, second, strict=True))
    return Decimal(total).scaleb(-2 * _PLACES)


def _through(middle: Information, first: Decimal, second: Decimal) -> Decimal:
    """Return v' M v for a row v of the inverse information."""
    return (
        first * first * middle.ones
        + 2 * first * second * middle.mixed
        + second * second * middle.squares
    )


def _residuals(line: Logistic, distinct: Integers) -> list[tuple[Decimal, Decimal]]:
    """Return y - μ of each occasion, and x, the log-odds that were said in it."""
    p_ppm = np.unique(distinct >> 1).tolist()
    said = [odds(p) for p in p_ppm]
    against = odds_against(said, line.intercept, line.slope)
    lines = {
        p: (1 / (1 + each), of.log)
        for p, each, of in zip(p_ppm, against, said, strict=True)
    }
    found = []
    for occasion in distinct.tolist():
        p, y = divmod(occasion, 2)
        expected, x = lines[p]
        found.append((y - expected, x))
    return found


def _fixed(value: Decimal) -> int:
    return int(value.scaleb(_PLACES).to_integral_value(ROUND_HALF_EVEN))


def _sums(values: list[int], clusters: Clusters) -> list[int]:
    """Return the sum of each cluster's values, which have more bits than a column."""
    mask = (1 << _WORD_BITS) - 1
    totals = [0] * len(clusters.starts)
    for word in range(_WORDS):
        shift = word * _WORD_BITS
        is_last = word == _WORDS - 1
        digits = [value >> shift for value in values]
        column = integers(digits if is_last else [each & mask for each in digits])
        sums = np.add.reduceat(column[clusters.place], clusters.starts)
        totals = [
            total + (part << shift)
            for total, part in zip(totals, sums.tolist(), strict=True)
        ]
    return totals
