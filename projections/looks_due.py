"""When a look fell due: at which size of a log a suite had so many resolved units.

A log can be read again as it was. So whoever comes after a look has its rows all the
same, and nobody has to compute them at the right moment.
"""

from collections.abc import Callable
from contextlib import closing

import apsw
import msgspec
import numpy as np

from ledger.errors import UsageError
from ledger.projections.board_looks import ENTRIES, FIRST_OUTCOMES, declared_with
from ledger.projections.columns import Integers, integers
from ledger.projections.fold import Fold, Progress
from ledger.projections.materialize import Tables
from ledger.projections.payloads import PayloadSource
from ledger.projections.schema import found
from ledger.suite import SuiteManifest

# Returns the first entries of a log, as many as it is asked for.
Until = Callable[[int], PayloadSource]


class Tally(msgspec.Struct, frozen=True):
    """How many declared units ever had an outcome, after each entry about a suite."""

    seqs: Integers
    counts: Integers


def due_at(
    until: Until,
    size: int,
    manifest: SuiteManifest,
    number: int,
    progress: Progress | None = None,
) -> int:
    """Return at how many entries look `number` of a suite fell due.

    That is the first size of the log at which the suite's rows say that so many
    declared units are resolved, or more, of the sizes up to `size`: several are declared
    at once where several cut-offs are past. Raises `UsageError` for a look that the suite
    does not declare, or that was not reached.
    """
    _require_declared(manifest, number)
    with closing(Tables()) as tables:
        fold = Fold(tables, until(size))
        fold.catch_up(progress)
        tally, began = _tally(tables.connection, manifest.suite), 0
        # A charter that voids a key changes what is true of entries before it: until
        # then they are judged as they were.
        for voided in fold.frozen.charters.voiding:
            if voided:
                earlier = _tally_until(until(voided), manifest.suite)
                found = _first(earlier, number, began, voided)
                if found is not None:
                    return found
            began = voided
    found = _first(tally, number, began, size)
    if found is None:
        raise UsageError(_why_never(tally, size, manifest, number))
    return found


def _require_declared(manifest: SuiteManifest, number: int) -> None:
    looks = manifest.statistics.looks
    if number in looks:
        return
    known = ", ".join(map(str, looks))
    msg = (
        f"{manifest.suite} declares no look at {number} resolved units: its looks are "
        f"at {known}"
        if looks
        else f"{manifest.suite} declares no looks: --at SIZE has its rows at any size "
        "of the log"
    )
    raise UsageError(msg)


def _tally_until(source: PayloadSource, suite: str) -> Tally:
    with closing(Tables()) as tables:
        Fold(tables, source).catch_up()
        return _tally(tables.connection, suite)


def _tally(connection: apsw.Connection, suite: str) -> Tally:
    """Return how many units were resolved and declared after each entry of a suite.

    A unit is declared from the first entry on that was received at its cut-off or
    later; once it had an outcome it is counted, whatever becomes of that.
    """
    seqs, received_us = _columns(connection, f"{ENTRIES} ORDER BY e.seq", suite, 2)
    first, _, cutoff_us = _columns(connection, FIRST_OUTCOMES, suite, 3)
    since = declared_with(first, cutoff_us, seqs, received_us)
    place = np.searchsorted(seqs, since)
    change = np.bincount(place, minlength=len(seqs) + 1)
    return Tally(seqs, np.cumsum(change)[: len(seqs)])


def _columns(
    connection: apsw.Connection, sql: str, suite: str, width: int
) -> list[Integers]:
    rows = found(connection, sql, {"suite": suite})
    return [integers([row[column] for row in rows]) for column in range(width)]


def _first(tally: Tally, number: int, began: int, size: int) -> int | None:
    """Return the first size with a count or more, of those above `began` up to `size`."""
    first = np.maximum(tally.seqs, began) + 1
    # A count stands until the next entry about the suite is in the log.
    last = np.append(tally.seqs, size)[1:]
    found = first[(tally.counts >= number) & (first <= last)]
    return int(found[0]) if len(found) else None


def _why_never(tally: Tally, size: int, manifest: SuiteManifest, number: int) -> str:
    """Return why no size of the log had a count, as a sentence."""
    now = int(tally.counts[-1]) if len(tally.counts) else 0
    return (
        f"look {number} of {manifest.suite} is not reached: {now} of its declared units "
        f"are resolved now, at {size} entries"
    )
