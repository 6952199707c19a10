"""A ledger on disk as the projections see it: its entries, and its tables caught up."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import starmap

import apsw

from ledger.errors import UncheckableError
from ledger.folder import Folder
from ledger.projections.fold import Fold, Progress
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload
from ledger.projections.report import Report
from ledger.projections.suites import Frozen
from ledger.store import Row, Store, legible


class StoredPayloads:
    """A store's entries as the fold reads them: none from position `size` on."""

    def __init__(self, store: Store, size: int | None = None) -> None:
        """Read up to the store's head, or to a smaller size."""
        self._store = store
        with legible():
            self._size = store.head().size if size is None else size

    def size(self) -> int:
        """Return how many events there are."""
        return self._size

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        """Yield the events of positions from `start` until before `stop`.

        Raises `CorruptLogError` where SQLite cannot read them, so that nobody takes
        a damaged log for damaged tables.
        """
        with legible():
            found = self._store.payloads(start, min(stop, self._size))
            yield from starmap(Payload, found)

    def payloads_at(self, seqs: Sequence[int]) -> Iterator[Payload]:
        """Yield the events at these positions, in the order given, as `payloads` does."""
        with legible():
            yield from map(_payload, self._store.rows_at(seqs))


def _payload(row: Row) -> Payload:
    return Payload(row.seq, row.received_at, row.author, row.event_id, row.payload)


@contextmanager
def open_report(
    folder: Folder,
    store: Store,
    progress: Progress | None = None,
    *,
    size: int | None = None,
) -> Iterator[Report]:
    """Give the rows of a ledger, its tables caught up with what the store has.

    With `size` they are the rows of the log's first `size` entries. Where
    `projections.db` cannot be written, the tables are made in memory, from what it has.
    Raises `UncheckableError` where it is damaged.
    """
    with open_tables(folder, store, progress, size=size) as (tables, frozen):
        # Tables at the log's head may have rows from before: those are written too.
        kept = tables.in_memory() if tables.is_barred else tables
        with closing(kept):
            yield Report(kept, frozen, folder.blobs.get)


@contextmanager
def open_tables(
    folder: Folder,
    store: Store,
    progress: Progress | None = None,
    *,
    size: int | None = None,
) -> Iterator[tuple[Tables, Frozen]]:
    """Give the tables of a ledger as `open_report` does, and what the log froze.

    Those of a `size` are made in memory: `projections.db` is neither read nor written.
    """
    log = StoredPayloads(store, size)
    try:
        with closing(_open_tables(folder, log) if size is None else Tables()) as tables:
            fold = Fold(tables, log)
            fold.catch_up(progress)
            yield tables, fold.frozen
    except apsw.FullError as error:
        msg = f"the disk of {folder.projections} is full: free space there"
        raise UncheckableError(msg) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        msg = f"{folder.projections} is in use by another program: try again later"
        raise UncheckableError(msg) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
        msg = f"{folder.projections} cannot be written here ({error}): copy the folder and try there"
        raise UncheckableError(msg) from error
    except (apsw.Error, UnicodeDecodeError) as error:
        msg = f"{folder.projections} is damaged ({error}): delete it, it is made again"
        raise UncheckableError(msg) from error


def _open_tables(folder: Folder, log: StoredPayloads) -> Tables:
    """Return the stored tables, or some in memory where what they lack cannot be written.

    Only what they lack is read of the log then.
    """
    try:
        stored = Tables(folder.projections)
        if not stored.is_barred or stored.position()[0] == log.size():
            return stored
        with closing(stored):
            return stored.in_memory()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        return Tables()
