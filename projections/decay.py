"""Decay: how much an outcome still counts that became known some days ago.

After `half_life_days` an outcome counts half, and half of that after as many again.
Its age at a place is the number of days, by the UTC calendar, from the one on which it
became known to that of the place: by receipt, or by the authors' own times where the
suite is `claimed`. What became known on the same day counts in full. A weight is an
integer of 1e-12, 2^(-age / half-life) correctly rounded, half-even: whole days make a
small table of weights, which is the same on every machine, so that sums are exact.
"""

from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache

import msgspec
import numpy as np

from ledger.projections.columns import INT64_MAX, Integers, counted_earlier
from ledger.projections.exact import CONTEXT, LN_2, UNITS

DAY_US = 86_400_000_000
# What counts less than half of 1e-12 counts nothing: 2^-41 does.
_HALVINGS_MAX = 41
_REMEMBERED = 65_536
# How many pairs of a place and a day are weighed at once, so that memory stays flat.
_PAIRS_MAX = 4_000_000


@lru_cache(_REMEMBERED)
def weight(age_days: int, half_life_days: int) -> int:
    """Return how much an outcome of that age counts, in units of 1e-12.

    >>> weight(0, 30), weight(30, 30), weight(15, 30)
    (1000000000000, 500000000000, 707106781187)
    """
    halvings, rest = divmod(age_days, half_life_days)
    if halvings >= _HALVINGS_MAX:
        return 0
    # A power of two is divided by exactly, so that a tie is a tie.
    power = CONTEXT.exp(CONTEXT.divide(LN_2 * -rest, Decimal(half_life_days)))
    scaled = CONTEXT.divide(power * UNITS, Decimal(1 << halvings))
    return int(scaled.to_integral_value(ROUND_HALF_EVEN, CONTEXT))


def weights(age_days: Integers, half_life_days: int) -> Integers:
    """Return how much outcomes of these ages count, in units of 1e-12."""
    # Few ages occur, and counting them takes no sorting.
    occurring = np.bincount(age_days)
    ages = np.flatnonzero(occurring)
    table = np.zeros(len(occurring), dtype=np.int64)
    table[ages] = [weight(age, half_life_days) for age in ages.tolist()]
    found: Integers = table[age_days]
    return found


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of one answer that came to be known, or ceased to be.

    `place` and `day` are where that happened, `since` is the day on which the outcome
    had become known, which its weight goes by.
    """

    key: Integers
    place: Integers
    day: Integers
    since: Integers


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Where weights are asked for: within which key, at which place, on which day."""

    key: Integers
    place: Integers
    day: Integers


def weighed(turns: Turns, asked: Asked, half_life_days: int) -> Integers:
    """Return what the turns with the same key before each asked place weigh.

    In units of 1e-12. Places ascend with days: what happened on an earlier day stands
    at an earlier place, and is weighed once for all places of a day.
    """
    if not len(turns.key):
        return np.zeros(len(asked.key), dtype=np.int64)
    days = _Days(turns, asked)
    wanted, which = np.unique(days.asked, return_inverse=True)
    before = days.before(wanted, half_life_days)[which.reshape(-1)]
    age = turns.day - turns.since
    for each in np.unique(age).tolist():
        rows = np.flatnonzero(age == each)
        today = counted_earlier(
            days.of_turn[rows], turns.place[rows], days.asked, asked.place
        )
        before = before + weight(each, half_life_days) * today.astype(before.dtype)
    return before


class _Days:
    """The days of each key, numbered in the order of keys and then of days."""

    def __init__(self, turns: Turns, asked: Asked) -> None:
        self._turns = turns
        keys = np.concatenate([turns.key, asked.key])
        days = np.concatenate([turns.day, asked.day])
        self._earliest = int(days.min())
        self._span = int(days.max()) - self._earliest + 1
        pairs = keys * self._span + days - self._earliest
        self._pairs, which = np.unique(pairs, return_inverse=True)
        self.of_turn = which.reshape(-1)[: len(turns.key)]
        self.asked = which.reshape(-1)[len(turns.key) :]

    def before(self, wanted: Integers, half_life_days: int) -> Integers:
        """Return what the turns of earlier days of the same key weigh on some days."""
        happened, since, size = self._counted()
        pair = self._pairs[wanted]
        day = pair % self._span
        # What is older than this weighs nothing any more.
        first = np.searchsorted(
            happened, pair - np.minimum(day, _HALVINGS_MAX * half_life_days)
        )
        many = np.searchsorted(happened, pair) - first
        width = np.int64 if int(size.sum()) * UNITS < INT64_MAX else object
        found = np.zeros(len(pair), dtype=width)
        for rows in _pieces(many):
            starts = np.cumsum(many[rows]) - many[rows]
            at, skipped = np.repeat([rows, starts - first[rows]], many[rows], axis=1)
            earlier = np.arange(len(at)) - skipped
            age = day[at] + self._earliest - since[earlier]
            weight_each = weights(age, half_life_days).astype(width) * size[earlier]
            found[rows] = np.add.reduceat(weight_each, starts)
        return found

    def _counted(self) -> tuple[Integers, Integers, Integers]:
        """Return on which day of a key how many turned that were known since a day."""
        since = self._turns.since
        order = np.lexsort((since, self.of_turn))
        of, since = self.of_turn[order], since[order]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = (np.diff(of) != 0) | (np.diff(since) != 0)
        starts = np.flatnonzero(is_new)
        sizes = np.diff(starts, append=len(order))
        return self._pairs[of[starts]], since[starts], sizes


def _pieces(sizes: Integers) -> list[Integers]:
    """Return row numbers in pieces, so that no piece of several is much too large."""
    rows = np.flatnonzero(sizes)
    piece = np.cumsum(sizes[rows]) // _PAIRS_MAX
    starts = np.flatnonzero(np.diff(piece)) + 1
    return np.split(rows, starts) if len(rows) else []
