"""DeLong's variance of the AUROC: a second opinion, for units that are independent.

DeLong, DeLong & Clarke-Pearson 1988 (Biometrics 44:837); METRICS §8. Variances are
exact fractions of placements: of a unit, how many of the other class it beats. Where a
cluster has several units they are not independent and the variance is too small: only
the cluster bootstrap applies there.
"""

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import msgspec
import numpy as np

from ledger.projections.cohort import DEGENERATE, INSUFFICIENT
from ledger.projections.columns import Integers
from ledger.projections.exact import CONTEXT, exact_sum
from ledger.projections.normal import normal_quantile, normal_tails

# A variance takes two of each class.
_CLASS_MIN = 2


class DeLong(msgspec.Struct, frozen=True, kw_only=True):
    """An AUROC's variance, and its interval or the reason why there is none."""

    variance: Fraction | None = None
    lo: Decimal | None = None
    hi: Decimal | None = None
    reason: str | None = None


class PairedDeLong(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two AUROCs on the same units, and how unlikely it is by chance.

    `z` is the difference in standard errors, `p` the two-sided probability of as much
    if there were none; both are None for the reason that is given.
    """

    difference: Fraction | None = None
    variance: Fraction | None = None
    z: Decimal | None = None
    p: Decimal | None = None
    reason: str | None = None


class _Placements(NamedTuple):
    """Twice how many units of the other class each unit beats, ties counting half.

    A unit where the event came beats lower ones, one where it did not higher ones.
    """

    came: Integers
    missed: Integers

    @property
    def is_enough(self) -> bool:
        return min(len(self.came), len(self.missed)) >= _CLASS_MIN

    def auroc(self) -> Fraction:
        pairs = len(self.came) * len(self.missed)
        return Fraction(exact_sum(self.came), 2 * pairs)

    def variance(self) -> Fraction:
        came, missed = len(self.came), len(self.missed)
        # Placements are shares of the other class, in halves.
        of_came = _variance(self.came) / (2 * missed) ** 2
        of_missed = _variance(self.missed) / (2 * came) ** 2
        return of_came / came + of_missed / missed


def applies(cluster: Integers) -> bool:
    """Tell whether every cluster has one unit, so that the method may be used."""
    return len(np.unique(cluster)) == len(cluster)


def delong(p_ppm: Integers, y: Integers, level: Fraction) -> DeLong:
    """Return the variance and interval of an AUROC, cut off at 0 and 1.

    Undefined with fewer than two units of a class (`insufficient`); where the
    variance is zero, as for perfect separation, there is no interval
    (`degenerate_variance`): [1, 1] would claim certainty.
    """
    placed = _placements(p_ppm, y)
    if not placed.is_enough:
        return DeLong(reason=INSUFFICIENT)
    variance = placed.variance()
    if not variance:
        return DeLong(variance=variance, reason=DEGENERATE)
    reach = CONTEXT.multiply(normal_quantile(level), _root(variance))
    auroc = _decimal(placed.auroc())
    return DeLong(
        variance=variance,
        lo=max(Decimal(0), CONTEXT.subtract(auroc, reach)),
        hi=min(Decimal(1), CONTEXT.add(auroc, reach)),
    )


def paired_delong(p_ppm: Integers, q_ppm: Integers, y: Integers) -> PairedDeLong:
    """Return how the AUROC of p differs from that of q on the same units.

    The variance of the difference is that of the units' differences in placement,
    which takes their covariance into account.
    """
    one, other = _placements(p_ppm, y), _placements(q_ppm, y)
    if not one.is_enough:
        return PairedDeLong(reason=INSUFFICIENT)
    between = _Placements(one.came - other.came, one.missed - other.missed)
    difference, variance = between.auroc(), between.variance()
    if not variance:
        return PairedDeLong(difference=difference, variance=variance, reason=DEGENERATE)
    z = CONTEXT.divide(_decimal(difference), _root(variance))
    return PairedDeLong(
        difference=difference, variance=variance, z=z, p=normal_tails(z)
    )


def _placements(p_ppm: Integers, y: Integers) -> _Placements:
    came, missed = p_ppm[y == 1], p_ppm[y == 0]
    return _Placements(_beaten(came, missed), _beaten(-missed, -came))


def _beaten(units: Integers, others: Integers) -> Integers:
    ordered = np.sort(others)
    lower = np.searchsorted(ordered, units, side="left")
    return lower + np.searchsorted(ordered, units, side="right")


def _variance(column: Integers) -> Fraction:
    """Return the sample variance of integers below 2^31."""
    n, total = len(column), exact_sum(column)
    return Fraction(n * exact_sum(column * column) - total * total, n * (n - 1))


def _root(value: Fraction) -> Decimal:
    return CONTEXT.sqrt(_decimal(value))


def _decimal(value: Fraction) -> Decimal:
    return CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
