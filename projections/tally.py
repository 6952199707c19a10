"""How often each probability was said, and how often the event followed.

Calibration asks nothing else of a cohort: a million units that were told a thousand
different probabilities are a thousand rows here.
"""

import msgspec
import numpy as np

from ledger.projections.columns import Integers


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
    said, happened = np.zeros((2, len(said_ppm)), dtype=np.int64)
    np.add.at(said, which, counts)
    np.add.at(happened, which, counts * (distinct & 1))
    return Tally(p_ppm=said_ppm, said=said, happened=happened)


def occasions(p_ppm: Integers, y: Integers) -> Integers:
    """Return each unit's probability and outcome as one number, 2 p + y."""
    return 2 * p_ppm + y
