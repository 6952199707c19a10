"""How often each probability was said, and how often the event followed.

Calibration asks nothing else of a cohort: a million units that were told a thousand
different probabilities are a thousand rows here.
"""

from fractions import Fraction

import msgspec
import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.exact import PPM, UNITS


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The distinct probabilities of a cohort in ascending order, with their counts.

    `said` are the units that were told `p_ppm`, `happened` those of them in which
    the event happened; three columns of one length.
    """

    p_ppm: Integers
    said: Integers
    happened: Integers

    @property
    def units(self) -> int:
        """Return how many units there are."""
        return int(self.said.sum())

    @property
    def events(self) -> int:
        """Return how many units the event happened in."""
        return int(self.happened.sum())


def tally(p_ppm: Integers, y: Integers) -> Tally:
    """Return the counts of a cohort: its probabilities, and 1 where the event was."""
    distinct, counts = np.unique(occasions(p_ppm, y), return_counts=True)
    said_ppm, which = np.unique(distinct >> 1, return_inverse=True)
    return Tally(
        p_ppm=said_ppm,
        said=grouped(len(said_ppm), which, counts),
        happened=grouped(len(said_ppm), which, counts * (distinct & 1)),
    )


def occasions(p_ppm: Integers, y: Integers) -> Integers:
    """Return each unit's probability and outcome as one number, 2 p + y."""
    return 2 * p_ppm + y


def squares(counts: Tally) -> int:
    """Return the sum of p² over all units, in units of 1e-12.

    In Python's integers: numpy's would wrap at nine million units.
    """
    said = zip(counts.p_ppm.tolist(), counts.said.tolist(), strict=True)
    return sum(n * p * p for p, n in said)


def brier(counts: Tally) -> Fraction:
    """Return the binary Brier score of at least one unit: the mean of p² - 2py + y."""
    both = int((counts.happened * counts.p_ppm).sum())
    total = squares(counts) - 2 * PPM * both + UNITS * counts.events
    return Fraction(total, counts.units * UNITS)


def grouped(groups: int, group: Integers, column: Integers) -> Integers:
    """Return the sums of a column in groups 0 to `groups` - 1; no group's may wrap.

    Of counts they never do, of millionths only beyond nine million million units.
    """
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, column)
    return sums
