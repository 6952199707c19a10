"""Chains: one forecaster's vectors on one unit, in the order of the log.

The first ForecastSealed is the root; updates follow it, since the door lets an
update attach to the chain's last vector only. A further ForecastSealed is a
duplicate, but for the first that no compromised key signed: the chain begins again
with it, so that a thief cannot seal a unit in place of its forecaster. A reveal
opens a hidden vector and is none itself; a thief's opens nothing.
"""

import msgspec
import numpy as np

from ledger import codec
from ledger.events import Forecast, ForecastUpdated
from ledger.projections.columns import NEVER, Flags, Integers
from ledger.projections.docket import Docket, Forecasts

INITIAL, UPDATE, DUPLICATE, REVEAL = range(4)
KINDS = ("initial", "update", "duplicate", "reveal")


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """One row a forecast event: what it is in its chain, and what it follows.

    `parent` is the position of the vector that its payload names: the chain's last
    before it, as it was by then; a theft that becomes known later may move the chain
    and changes nobody's words. `revealed` is,
    for a hidden vector, the row of the reveal that opens it; -1 for any other.
    `is_unfaithful` marks reveals that show another vector than was committed to.
    """

    kind: Integers
    parent: Integers
    revealed: Integers
    is_unfaithful: Flags


def lineage(docket: Docket) -> Lineage:
    """Return where each forecast event stands in its chain."""
    forecasts = docket.forecasts
    size = len(forecasts.seq)
    kind, parent = np.empty(size, dtype=np.int64), np.full(size, NEVER, dtype=np.int64)
    order = np.lexsort((forecasts.seq, forecasts.forecaster, forecasts.unit))
    starts = _chain_starts(forecasts, order)
    ordered = np.where(starts, INITIAL, DUPLICATE)
    ordered[forecasts.is_update[order]] = UPDATE
    ordered[forecasts.is_reveal[order]] = REVEAL
    kind[order] = ordered
    # The last vector of the chain up to each event, and then before it.
    position = np.arange(size)
    last = np.maximum.accumulate(np.where(ordered <= UPDATE, position, 0))
    follows = (ordered == UPDATE) | (ordered == REVEAL)
    parent[order[follows]] = forecasts.seq[order[last[position[follows] - 1]]]
    if forecasts.is_compromised.any():
        _name_parents(forecasts, follows[np.argsort(order)], parent)
    shown = _shown(forecasts)
    return Lineage(
        kind=kind,
        parent=parent,
        revealed=_revealed(forecasts, shown),
        is_unfaithful=forecasts.is_reveal & (shown < 0),
    )


def _chain_starts(forecasts: Forecasts, order: Integers) -> Flags:
    unit, forecaster = forecasts.unit[order], forecasts.forecaster[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (unit[1:] != unit[:-1]) | (forecaster[1:] != forecaster[:-1])
    chain = np.cumsum(starts)
    follows = forecasts.is_update | forecasts.is_reveal
    sound = np.flatnonzero(~(follows | forecasts.is_compromised)[order])
    _, first = np.unique(chain[sound], return_index=True)
    starts[sound[first]] = True
    return starts


def _name_parents(forecasts: Forecasts, follows: Flags, parent: Integers) -> None:
    """Say which vectors those name that follow, on units where a thief forecast."""
    stolen = np.unique(forecasts.unit[forecasts.is_compromised])
    is_among = np.isin(forecasts.unit, stolen)
    seq = {
        forecasts.entries[row].event_id.hex(): forecasts.seq[row]
        for row in np.flatnonzero(is_among).tolist()
    }
    for row in np.flatnonzero(is_among & follows).tolist():
        event = forecasts.event(row)
        assert isinstance(event, ForecastUpdated)
        parent[row] = seq[event.parent]


def _shown(forecasts: Forecasts) -> Integers:
    """Return the hidden vector that each reveal shows as it was committed to, or -1."""
    shown = np.full(len(forecasts.seq), -1, dtype=np.int64)
    reveals = np.flatnonzero(forecasts.is_reveal).tolist()
    if not reveals:
        return shown
    hidden = {
        forecasts.entries[row].event_id.hex(): row
        for row in np.flatnonzero(forecasts.is_hidden).tolist()
    }
    for row in reveals:
        reveal = forecasts.event(row)
        assert isinstance(reveal, ForecastUpdated)
        opened = hidden.get(reveal.opens or "", -1)
        if opened >= 0 and _shows(forecasts.event(opened), reveal):
            shown[row] = opened
    return shown


def _shows(hidden: Forecast, reveal: ForecastUpdated) -> bool:
    parent = hidden.parent if isinstance(hidden, ForecastUpdated) else None
    committed = codec.commitment(reveal, parent=parent, salt=reveal.salt or "")
    return committed == hidden.commitment


def _revealed(forecasts: Forecasts, shown: Integers) -> Integers:
    """Return the first reveal of each hidden vector that no compromised key signed."""
    revealed = np.full(len(forecasts.seq), -1, dtype=np.int64)
    # Where a place is assigned to repeatedly, numpy keeps the last assignment.
    opening = np.flatnonzero((shown >= 0) & ~forecasts.is_compromised)[::-1]
    revealed[shown[opening]] = opening
    return revealed
