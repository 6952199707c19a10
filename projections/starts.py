"""When work on a unit started, as its records state it: who may, and what that does."""

import numpy as np

from ledger.projections.columns import (
    NEVER,
    Flags,
    Integers,
    following_in_group,
    least_of_each,
)
from ledger.projections.docket import Docket


def may_start(docket: Docket) -> Flags:
    """Mark the records that say when work started, and may.

    Who only opens questions could drop every vector that fared badly, by saying that
    work had started before all of them: so a PENDING record that is not the unit's
    first event states no start from before that event's receipt. What the first event
    states, every forecaster knew. A start from between two vectors may be true; it is
    in force, and `shuts_out` names the record. By claimed times nothing tells what
    was said later.
    """
    records, units = docket.records, docket.units
    events = (docket.forecasts, records)
    # What a thief said is nothing that anybody knew.
    sound = ~np.concatenate([each.is_compromised for each in events])
    unit = np.concatenate([each.unit for each in events])[sound]
    opened_us, first_seq = (
        least_of_each(len(units.number), unit, column[sound])[records.unit]
        for column in (
            np.concatenate([each.received_us for each in events]),
            np.concatenate([each.seq for each in events]),
        )
    )
    is_first = records.seq == first_seq
    is_bound = records.is_pending & ~is_first & ~units.is_claimed[records.unit]
    is_stated = records.started_us != NEVER
    may: Flags = is_stated & ~(is_bound & (records.started_us < opened_us))
    return may


def shuts_out(docket: Docket, sealed_us: Integers, would_count: Flags) -> Flags:
    """Mark the PENDING records whose start shuts out vectors that counted until then.

    `sealed_us` says when each forecast event was sealed, `would_count` which of them
    are vectors against which nothing but a start of work can be said.
    """
    records, forecasts = docket.records, docket.forecasts
    shut = np.zeros(len(records.seq), dtype=np.bool_)
    rows = np.flatnonzero(would_count)
    unit, sealed = forecasts.unit[rows], sealed_us[rows]
    latest = -least_of_each(len(docket.units.number), unit, -sealed)
    stating = np.flatnonzero(records.counts & may_start(docket))
    # The start that was in force before each; backwards, what follows is what preceded.
    known = following_in_group(
        records.unit[stating][::-1], records.started_us[stating][::-1]
    )[::-1]
    of = records.unit[stating]
    is_bound = records.is_pending[stating] & ~docket.units.is_claimed[of]
    # Hardly any is left: work starts after the vectors that it was forecast by.
    for place in np.flatnonzero(is_bound & (records.started_us[stating] <= latest[of])):
        row, vectors = stating[place], np.flatnonzero(unit == of[place])
        moment = sealed[vectors]
        shut[row] = np.any(
            (forecasts.seq[rows[vectors]] < records.seq[row])
            & (moment >= records.started_us[row])
            & (moment < known[place])
        )
    return shut
