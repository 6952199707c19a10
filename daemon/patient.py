"""What a doctor looks at: a ledger's folder, its log as far as it can be read, clocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from ledger.clock import Clock, parse_instant
from ledger.clock_watch import Steady
from ledger.errors import CorruptLogError, LedgerError
from ledger.folder import Folder
from ledger.replay import StoredEvents
from ledger.store import Head, Store, legible
from ledger.store_opening import open_store
from ledger.suite import CharterManifest, SuiteManifest


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What is outside the folder: this user, the clocks, where marks are kept."""

    uid: int
    clock: Clock
    steady: Steady
    state_home: Path


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """A log that could be opened, and what it says of itself."""

    store: Store
    head: Head
    ledger: str
    charters: list[tuple[int, CharterManifest]]
    suites: list[SuiteManifest]
    last_received: datetime

    @property
    def charter(self) -> CharterManifest:
        """The charter in force."""
        return self.charters[-1][1]


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger as it lies there. `log` is why nothing can be read, where that is so."""

    folder: Folder
    around: Surroundings
    log: Readable | LedgerError


@contextmanager
def examined(folder: Folder, around: Surroundings) -> Iterator[Patient]:
    """Give a ledger to look at; nothing is written, and it may be in use."""
    try:
        store = open_store(folder.log, read_only=True)
    except LedgerError as error:
        yield Patient(folder=folder, around=around, log=error)
        return
    try:
        yield Patient(folder=folder, around=around, log=_read(store))
    finally:
        store.close()


def _read(store: Store) -> Readable | LedgerError:
    """Return what the log says of itself, or why that cannot be known."""
    try:
        with legible():
            return _read_lawful(store)
    except LedgerError as error:
        return error
    except ValueError as error:
        return CorruptLogError(f"the last entry's time is none: {error}")


def _read_lawful(store: Store) -> Readable:
    charters, suites = _frozen(store)
    first = next(store.rows(0, 1), None)
    last = next(store.rows(store.count() - 1, store.count()), None)
    if first is None or last is None or not charters:
        msg = "the log has no charter: entry 0 must be one"
        raise CorruptLogError(msg)
    return Readable(
        store=store,
        head=store.head(),
        ledger=first.event_id.hex(),
        charters=charters,
        suites=suites,
        last_received=parse_instant(last.received_at),
    )


def _frozen(
    store: Store,
) -> tuple[list[tuple[int, CharterManifest]], list[SuiteManifest]]:
    """Return the charters by their positions, and the suites, in order."""
    charters, suites = [], []
    for each, event in StoredEvents(store).frozen():
        if isinstance(event.manifest, CharterManifest):
            charters.append((each.seq, event.manifest))
        else:
            suites.append(event.manifest)
    return charters, suites
