"""Slots: which vectors of a chain stand for a unit, and with what weight.

`initial` is the root, `final` the last vector, `at_lead:<h>` the last one sealed
at least so many hours before `resolve_by`, `all` every vector alike, and
`time_weighted` each for as long as it was in force, until the cut-off or the start
of work (METRICS §19). A unit's score is the weighted mean over its own chain, so
that updates are never counted as independent.
"""

import re

import msgspec
import numpy as np

from ledger.errors import UsageError
from ledger.projections.columns import INT64_MAX, Flags, Integers, following_in_group
from ledger.projections.suites import HOUR_US

INITIAL, FINAL, ALL, TIME_WEIGHTED, AT_LEAD = (
    "initial",
    "final",
    "all",
    "time_weighted",
    "at_lead:",
)

# As a suite's `headline` spells it.
_LEAD = re.compile(rf"{AT_LEAD}([1-9][0-9]{{0,5}})")


class Chains(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors that count, one row each; those of a chain stand together, in order.

    `end_us` is when the last vector of the chain ceases to be in force.
    """

    chain: Integers
    is_root: Flags
    sealed_us: Integers
    resolve_by_us: Integers
    end_us: Integers


def weights(slot: str, chains: Chains) -> Integers:
    """Return how much each vector weighs in a slot; 0 for none.

    Raises `UsageError` for a slot that there is not.
    """
    if slot == INITIAL:
        return chains.is_root.astype(np.int64)
    if slot == FINAL:
        return _is_last(chains, np.ones(len(chains.chain), dtype=np.bool_))
    if slot == ALL:
        return np.ones(len(chains.chain), dtype=np.int64)
    if slot == TIME_WEIGHTED:
        until = np.minimum(
            following_in_group(chains.chain, chains.sealed_us), chains.end_us
        )
        return np.maximum(until - chains.sealed_us, 0)
    lead = _LEAD.fullmatch(slot)
    if lead is None:
        msg = (
            f"there is no slot {slot!r}: take initial, final, all, time_weighted or "
            "at_lead:<hours>"
        )
        raise UsageError(msg)
    latest = chains.resolve_by_us - int(lead[1]) * HOUR_US
    return _is_last(chains, chains.sealed_us <= latest)


def _is_last(chains: Chains, chosen: Flags) -> Integers:
    """Mark the last of the chosen vectors of each chain."""
    rows = np.flatnonzero(chosen)
    ends = np.ones(len(rows), dtype=np.bool_)
    ends[:-1] = chains.chain[rows[1:]] != chains.chain[rows[:-1]]
    marked = np.zeros(len(chosen), dtype=np.int64)
    marked[rows[ends]] = 1
    return marked


def weighted_means(values: Integers, weight: Integers, starts: Integers) -> Integers:
    """Return the weighted mean of each group, rounded half-even to an integer.

    A group's rows stand together, from each of `starts` on.
    """
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    whole = np.add.reduceat(weight, starts)
    largest = int(np.abs(values).max()) * int(whole.max())
    # Numpy wraps silently: what may not fit becomes Python's integers.
    width = np.int64 if largest < INT64_MAX // 2 else object
    totals = np.add.reduceat(values.astype(width) * weight.astype(width), starts)
    whole = whole.astype(width)
    quotient, rest = totals // whole, totals % whole
    is_up = (2 * rest > whole) | ((2 * rest == whole) & (quotient % 2 == 1))
    means: Integers = (quotient + is_up).astype(np.int64)
    return means
