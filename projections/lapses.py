"""Findings that no single unit shows: of the ledger's clock, of what was frozen, of time.

The clock's depend on two neighbours of the log. The others depend on how far a
suite's time has come: on its `as_of`, which is when its last event was received.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import apsw

from ledger.clock import SECONDS_MAX, micros, text_of_micros
from ledger.projections.eligibility import COMPROMISED
from ledger.projections.payloads import Payload, read_whole
from ledger.projections.schema import found
from ledger.projections.suites import HOUR_US, SECOND_US, Charters, SuiteVersion
from ledger.projections.tables import FindingRow

CLOCK_SKEW = "clock-skew"
UNFORECAST = "unforecast"
UNOPENED = "commitment-unopened"
_CLOCK = "the ledger's clock"
_LAST_US = micros(datetime.max.replace(tzinfo=UTC))


def skewed(before: Payload | None, entries: Sequence[Payload]) -> Iterator[FindingRow]:
    """Yield which entries borrowed their time; `before` stands before the first.

    The writer never lets a time run backwards: while its clock is behind, entries
    keep the time of the last one, so that equal neighbours are what shows it.
    """
    times = [None if before is None else before.received_at]
    times += [entry.received_at for entry in entries]
    for entry, time_before in zip(entries, times, strict=False):
        if entry.received_at == time_before:
            yield _skewed(entry)


def _skewed(entry: Payload) -> FindingRow:
    return FindingRow(
        seq=entry.seq,
        rule=CLOCK_SKEW,
        unit=None,
        subject=_CLOCK,
        message=(
            f"received at {entry.received_at}, the time of the entry before it: the "
            "clock had stepped back"
        ),
    )


def frozen_by_thieves(
    entries: Iterable[Payload], charters: Charters
) -> Iterator[FindingRow]:
    """Yield what a compromised key froze: it is in force, and nobody need believe it."""
    for entry in filter(charters.is_void, entries):
        event = read_whole(entry.payload)
        yield FindingRow(
            seq=entry.seq,
            rule=COMPROMISED,
            unit=None,
            subject=event.suite,
            message=f"{event.author} signed with a key that was compromised by then",
        )


def lapsed(
    connection: apsw.Connection, suite: SuiteVersion, as_of_us: int
) -> Iterator[FindingRow]:
    """Yield what a suite's time has brought to light and no finding says yet.

    A unit that no event speaks of has no position to be found at: one that is only
    pinned shows in the counts of a row, and not here.
    """
    yield from _unforecast(connection, suite, as_of_us)
    yield from _unopened(connection, suite, as_of_us)


# The conditions are spelled as in `tables.PARTIAL_INDEXES`, so that these are used.
_UNFORECAST = """SELECT q.unit, q.identity, q.cutoff_us FROM questions q
    WHERE q.vectors = 0 AND q.suite = ? AND q.cutoff_us <= ? AND q.is_spoken AND NOT EXISTS
        (SELECT 1 FROM findings x WHERE x.seq = q.unit AND x.rule = ?)"""
_UNOPENED = """SELECT f.seq, f.unit, f.forecaster, q.identity, q.resolve_by_us
    FROM forecasts f JOIN questions q USING (unit)
    WHERE f.is_hidden = 1 AND f.opened_seq IS NULL AND q.suite = ?
        AND q.resolve_by_us < ? AND NOT EXISTS
        (SELECT 1 FROM findings x WHERE x.seq = f.seq AND x.rule = ?)"""


def _unforecast(
    connection: apsw.Connection, suite: SuiteVersion, as_of_us: int
) -> Iterator[FindingRow]:
    asked = (suite.name, as_of_us, UNFORECAST)
    for unit, identity, cutoff_us in found(connection, _UNFORECAST, asked):
        yield FindingRow(
            seq=unit,
            rule=UNFORECAST,
            unit=unit,
            subject=identity,
            message=f"nobody has sealed a forecast, and the cut-off was {text_of_micros(cutoff_us)}",
        )


def _unopened(
    connection: apsw.Connection, suite: SuiteVersion, as_of_us: int
) -> Iterator[FindingRow]:
    allowed_us = min(suite.manifest.reveal_by_hours * HOUR_US, SECONDS_MAX * SECOND_US)
    # On the last instant a reveal is still let in.
    asked = (suite.name, as_of_us - allowed_us, UNOPENED)
    rows = found(connection, _UNOPENED, asked)
    for seq, unit, forecaster, identity, resolve_by_us in rows:
        last = text_of_micros(min(resolve_by_us + allowed_us, _LAST_US))
        yield FindingRow(
            seq=seq,
            rule=UNOPENED,
            unit=unit,
            subject=identity,
            message=f"{forecaster} did not open what it had hidden, and could until {last}",
        )
