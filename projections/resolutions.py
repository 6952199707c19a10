"""How units stand: now, and at any place of the log before.

A place is a position in the log. By claimed times it is an instant: an event
stands where its author says that it was made or published.
"""

import msgspec
import numpy as np

from ledger.projections.columns import (
    NEVER,
    Flags,
    Integers,
    first_of_each,
    following_in_group,
    last_of_each,
    least_of_each,
    taken,
)
from ledger.projections.docket import Docket
from ledger.projections.starts import may_start


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: how it stands now, and what bounds the forecasts on it.

    `record` and `pending` are the rows, among the records, of the one that stands
    and of the first PENDING one; -1 where there is none. `outcome_place` is where
    the first record that is not PENDING stands. `published_us` is the earliest
    publication that a record states, `started_us` the start that the latest states
    that may. `reviews` are those that no compromised key signed, of records that count.
    """

    record: Integers
    pending: Integers
    outcome_place: Integers
    started_us: Integers
    published_us: Integers
    reviews: Integers


class Spans(msgspec.Struct, frozen=True, kw_only=True):
    """One row a record: from when until when it was what was known of its unit.

    `until_seq` is the position of the record that superseded it. By publication
    the same is `known_us` to `known_until_us`. All are `NEVER` where that did not
    come to pass, as for a record that does not count.
    """

    until_seq: Integers
    known_us: Integers
    known_until_us: Integers


def standings(docket: Docket) -> Standings:
    """Return how each unit stands after the last of its records that count."""
    records, size = docket.records, len(docket.units.number)
    unit, counting = records.unit, np.flatnonzero(records.counts)
    outcomes = counting[~records.is_pending[counting]]
    stating = counting[may_start(docket)[counting]]
    first_outcome = first_of_each(size, unit, outcomes)
    # Whoever says no time of publication knew the outcome when they recorded it.
    known_us = np.where(
        records.published_us == NEVER, records.created_us, records.published_us
    )
    return Standings(
        record=last_of_each(size, unit, counting),
        pending=first_of_each(size, unit, counting[records.is_pending[counting]]),
        outcome_place=np.where(
            docket.units.is_claimed,
            taken(known_us, first_outcome),
            taken(records.seq, first_outcome),
        ),
        started_us=taken(records.started_us, last_of_each(size, unit, stating)),
        # A PENDING record knows of no outcome that could have been published.
        published_us=least_of_each(
            size, unit[outcomes], records.published_us[outcomes]
        ),
        reviews=np.bincount(unit[records.is_heard], minlength=size),
    )


def spans(
    unit: Integers, seq: Integers, published_us: Integers, counts: Flags
) -> Spans:
    """Return while each record was what was known; rows ascend by unit, then seq."""
    until_seq, known_us, known_until_us = np.full((3, len(seq)), NEVER, dtype=np.int64)
    counting = np.flatnonzero(counts)
    until_seq[counting] = following_in_group(unit[counting], seq[counting])
    published = counting[published_us[counting] != NEVER]
    order = np.lexsort((seq[published], published_us[published], unit[published]))
    published = published[order]
    # A record that was published after a later one of the log never was the latest.
    known = published[np.maximum.accumulate(published) == published]
    known_us[known] = published_us[known]
    known_until_us[known] = following_in_group(unit[known], known_us[known])
    return Spans(until_seq=until_seq, known_us=known_us, known_until_us=known_until_us)
