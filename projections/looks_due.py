"""When a look fell due: at which size of a log a suite had so many resolved units.

A log can be read again as it was. So whoever comes after a look has its rows all the
same, and nobody has to compute them at the right moment.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import msgspec
import numpy as np

from ledger.errors import UsageError
from ledger.projections.columns import Integers, following_in_group, integers
from ledger.projections.fold import Fold, Progress
from ledger.projections.materialize import Tables
from ledger.projections.payloads import PayloadSource
from ledger.suite import SuiteManifest

# Returns the first entries of a log, as many as it is asked for.
Until = Callable[[int], PayloadSource]

_EVENTS = """SELECT e.seq, e.received_us FROM
    (SELECT seq, received_us, unit FROM forecasts
    UNION ALL SELECT seq, received_us, unit FROM resolutions) e
    JOIN questions q USING (unit) WHERE q.suite = ? ORDER BY e.seq"""
_RECORDS = """SELECT r.unit, r.seq, r.status = 'RESOLVED', q.cutoff_us
    FROM resolutions r JOIN questions q USING (unit)
    WHERE q.suite = ? AND q.is_spoken AND r.counts ORDER BY r.unit, r.seq"""


class Tally(msgspec.Struct, frozen=True):
    """How many declared units had an outcome after each entry about a suite."""

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
    declared units are resolved, of the sizes up to `size`. Raises `UsageError` for a
    look that the suite does not declare, or that was not reached or passed over.
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


def _tally(connection: sqlite3.Connection, suite: str) -> Tally:
    """Return how many units were resolved and declared after each entry of a suite.

    A unit is declared from the first entry on that was received at its cut-off or
    later; its status is that of the last record that counts.
    """
    seqs, received_us = _columns(connection, _EVENTS, suite, 2)
    unit, seq, is_resolved, cutoff_us = _columns(connection, _RECORDS, suite, 4)
    place = np.searchsorted(seqs, seq)
    until = np.minimum(following_in_group(unit, place), len(seqs))
    as_of_us = np.maximum.accumulate(received_us)
    since = np.maximum(place, np.searchsorted(as_of_us, cutoff_us))
    counted = (is_resolved > 0) & (since < until)
    change = np.bincount(since[counted], minlength=len(seqs) + 1)
    change -= np.bincount(until[counted], minlength=len(seqs) + 1)
    return Tally(seqs, np.cumsum(change)[: len(seqs)])


def _columns(
    connection: sqlite3.Connection, sql: str, suite: str, width: int
) -> list[Integers]:
    rows = connection.execute(sql, (suite,)).fetchall()
    return [integers([row[column] for row in rows]) for column in range(width)]


def _first(tally: Tally, number: int, began: int, size: int) -> int | None:
    """Return the first size with a count, of those above `began` and up to `size`."""
    first = np.maximum(tally.seqs, began) + 1
    # A count stands until the next entry about the suite is in the log.
    last = np.append(tally.seqs, size)[1:]
    found = first[(tally.counts == number) & (first <= last)]
    return int(found[0]) if len(found) else None


def _why_never(tally: Tally, size: int, manifest: SuiteManifest, number: int) -> str:
    """Return why no size of the log had a count, as a sentence."""
    look = f"look {number} of {manifest.suite}"
    above = np.flatnonzero(tally.counts > number)
    if not len(above):
        now = int(tally.counts[-1]) if len(tally.counts) else 0
        return (
            f"{look} is not reached: {now} of its declared units are resolved now, "
            f"at {size} entries"
        )
    row = int(above[0])
    before, after = (int(tally.counts[row - 1]) if row else 0), int(tally.counts[row])
    seq = int(tally.seqs[row])
    return (
        f"{look} was passed over: entry {seq} took its resolved units from {before} to "
        f"{after}, since several cut-offs were past at once. --at {seq + 1} has the "
        "rows of that moment, which are off_look"
    )
