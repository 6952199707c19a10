"""Which vectors count (DESIGN §7): each rule a bit, in the order of naming.

A vector that breaks a rule is kept, flagged and counted, and never scored.
"""

import numpy as np

from ledger.projections.columns import Flags, Integers
from ledger.projections.docket import Docket
from ledger.projections.resolutions import Standings

COMPROMISED = "compromised-key"
OTHER_SUITE = "suite-hash-mismatch"
OTHER_QUESTION = "question-hash-mismatch"
DUPLICATE = "duplicate-unit"
LATE = "late"
AFTER_START = "after-start"
AFTER_RESOLUTION = "after-resolution"
KNOWN = "known-before-sealing"
# A hidden vector that nobody opened: withheld, or not yet shown.
HIDDEN = "hidden"

RULES = (
    COMPROMISED,
    OTHER_SUITE,
    OTHER_QUESTION,
    DUPLICATE,
    LATE,
    AFTER_START,
    AFTER_RESOLUTION,
    KNOWN,
    HIDDEN,
)
BIT = {rule: 1 << place for place, rule in enumerate(RULES)}


def broken_rules(
    docket: Docket, standings: Standings, is_duplicate: Flags, is_closed: Flags
) -> Integers:
    """Return for each forecast event the rules that it breaks, as bits.

    `is_closed` marks hidden vectors that were not opened. A reveal is no vector:
    only who signed it, and of what it speaks, can be wrong with it.
    """
    forecasts = docket.forecasts
    vector = ~forecasts.is_reveal
    late, after_start, after_resolution, known = broken_bounds(
        docket, standings, forecasts.unit, forecasts.seq, sealed_us(docket)
    )
    return _bits(
        {
            COMPROMISED: forecasts.is_compromised,
            OTHER_SUITE: forecasts.is_of_other_suite,
            OTHER_QUESTION: forecasts.is_of_other_question,
            DUPLICATE: is_duplicate,
            LATE: vector & late,
            AFTER_START: vector & after_start,
            AFTER_RESOLUTION: vector & after_resolution,
            KNOWN: vector & known,
            HIDDEN: is_closed,
        }
    )


def broken_bounds(
    docket: Docket,
    standings: Standings,
    unit: Integers,
    seq: Integers,
    sealed: Integers,
) -> tuple[Flags, Flags, Flags, Flags]:
    """Tell what was said of units late, after the start, the resolution, publication.

    On the cut-off is on time; at the very start of work, at the place of the
    resolution, or at the moment of publication is too late.
    """
    is_claimed = docket.units.is_claimed[unit]
    place = np.where(is_claimed, sealed, seq)
    return (
        sealed > docket.units.cutoff_us[unit],
        sealed >= standings.started_us[unit],
        place >= standings.outcome_place[unit],
        sealed >= standings.published_us[unit],
    )


def sealed_us(docket: Docket) -> Integers:
    """Return when each forecast event was sealed: received or, by claims, created."""
    forecasts = docket.forecasts
    is_claimed = docket.units.is_claimed[forecasts.unit]
    return np.where(is_claimed, forecasts.created_us, forecasts.received_us)


def breaks_none_but(broken: Integers, *rules: str) -> Flags:
    """Mark the events that break no rule, or only some of these."""
    others: Flags = broken & ~sum(BIT[rule] for rule in rules) == 0
    return others


def reasons(broken: Integers) -> list[str]:
    """Return the first rule that each event breaks; "" for none."""
    first = {
        bits: next((rule for rule in RULES if bits & BIT[rule]), "")
        for bits in np.unique(broken).tolist()
    }
    return [first[bits] for bits in broken.tolist()]


def _bits(claims: dict[str, Flags]) -> Integers:
    broken = np.zeros(len(claims[LATE]), dtype=np.int64)
    for rule, holds in claims.items():
        broken |= np.where(holds, BIT[rule], 0)
    return broken
