"""The log on disk: SQLite through apsw, append-only, every commit durable.

Nothing here decides whether an event may be written, only that what is written stays.
`store_opening` makes and opens the file.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ledger.durable import HeldFile
from ledger.errors import (
    CorruptLogError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
    missing_entry,
)
from ledger.stopping import database_failed, is_full

FORMAT = "1"
CHECKPOINT_EVERY = 1_024
_ENTRY = "SELECT seq, received_at, author, sig, payload, leaf, event_id FROM entries "
_WAL_PAGES_MAX = 1_000
_PAGE_BYTES = 4_096
_NOTHING_WRITTEN = "log.db failed and nothing was written"


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry as stored; `leaf` and `event_id` are hashes that can be made again."""

    seq: int
    received_at: str
    author: bytes
    sig: bytes
    payload: bytes
    leaf: bytes
    event_id: bytes


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """How far the log goes: its size, the tree's right edge, the newest checkpoint."""

    size: int
    edge: tuple[bytes, ...]
    note: str


class Store:
    """One connection to `log.db`. A second writer is kept out by the folder's lock."""

    def __init__(self, database: apsw.Connection) -> None:
        """Take a connection that `create_store` or `open_store` prepared."""
        self._database = database
        self._wal_pages = 0
        database.setwalhook(self._count_wal)

    def close(self, *, is_lost: bool = False) -> None:
        """Close; a writer calls `checkpoint_wal` first, unless its file `is_lost`."""
        if is_lost:
            # SQLite would move what is left to do into somebody else's file.
            self._database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._database.close()

    def files(self) -> tuple[HeldFile, HeldFile]:
        """Return the database and its write-ahead log, once something was read."""
        database = self._database
        return HeldFile(Path(database.filename)), HeldFile(Path(database.filename_wal))

    def meta(self) -> dict[str, str]:
        """Return the format version and what else names this log."""
        return dict(self._database.execute("SELECT key, value FROM meta"))

    def head(self) -> Head:
        """Return the head as the last commit left it.

        Raises `CorruptLogError` where it is not the one row of its table, or says
        another length than the entries have. (A read-only connection checks no
        CHECK: a second row could cut the log off for readers.)
        """
        try:
            [row] = self._database.execute(
                "SELECT (SELECT max(seq) FROM entries), (SELECT count(*) FROM head), "
                "size, edge, note FROM (SELECT 1) LEFT JOIN head ON one = 1"
            )
        except UnicodeDecodeError as error:
            msg = f"the head of log.db is no text: {error}"
            raise CorruptLogError(msg) from error
        last, heads, size, edge, note = row
        count = 0 if last is None else last + 1
        if heads > 1 or (heads == 1 and size is None):
            msg = f"log.db has {heads} heads, and one row numbered 1 is right"
            raise CorruptLogError(msg)
        if count != (size or 0):
            msg = f"log.db has {count} entries, and its head says {size or 0}"
            raise CorruptLogError(msg)
        if not size:
            return Head(size=0, edge=(), note="")
        hashes = tuple(edge[i : i + 32] for i in range(0, len(edge), 32))
        return Head(size=size, edge=hashes, note=note)

    def count(self) -> int:
        """Return one more than the highest position in `entries`."""
        [(last,)] = self._database.execute("SELECT max(seq) FROM entries")
        return 0 if last is None else last + 1

    def require_whole(self) -> None:
        """Raise `CorruptLogError` unless each position up to the last has an entry.

        Reads the smallest index: some 30 milliseconds for a million entries.
        """
        [(there, last)] = self._database.execute(
            "SELECT (SELECT count(*) FROM entries), (SELECT max(seq) FROM entries)"
        )
        count = 0 if last is None else last + 1
        if there != count:
            msg = f"log.db has {there} entries, and the last has position {last}"
            raise CorruptLogError(msg)

    def rows(self, start: int, stop: int) -> Iterator[Row]:
        """Yield the entries of positions from `start` until before `stop`, if any.

        Raises `CorruptLogError` where one is missing of which there are later ones.
        """
        sql = f"{_ENTRY}WHERE seq >= ? AND seq < ? ORDER BY seq"
        due = max(start, 0)
        with legible():
            for row in starmap(Row, self._database.execute(sql, (start, stop))):
                if row.seq != due:
                    break
                yield row
                due += 1
            # What is there now was appended since.
            if due < min(stop, self.count()) and not self._has(due):
                raise missing_entry(due)

    def _has(self, seq: int) -> bool:
        found = self._database.execute("SELECT 1 FROM entries WHERE seq = ?", (seq,))
        return found.fetchone() is not None

    def payloads(
        self, start: int, stop: int
    ) -> Iterator[tuple[int, str, bytes, bytes, bytes]]:
        """Yield position, received_at, author, event id and payload of entries.

        For readers of what is said, who would throw the rest of a row away.
        """
        return self._database.execute(
            "SELECT seq, received_at, author, event_id, payload "
            "FROM entries WHERE seq >= ? AND seq < ? ORDER BY seq",
            (start, stop),
        )

    def rows_at(self, seqs: Sequence[int]) -> Iterator[Row]:
        """Yield the entries at these positions, in the order given."""
        for seq in seqs:
            yield from self.rows(seq, seq + 1)

    def find(self, event_id: bytes) -> Row | None:
        """Return the entry of an event, or None where it is not in the log."""
        found = self._database.execute(f"{_ENTRY}WHERE event_id = ?", (event_id,))
        row = found.fetchone()
        return None if row is None else Row(*row)

    def beginning(self, digits: str) -> list[Row]:
        """Return two at most of the entries whose event ids begin with hex digits."""
        found = self._database.execute(
            f"{_ENTRY}WHERE event_id BETWEEN ? AND ? LIMIT 2",
            tuple(bytes.fromhex(digits.ljust(64, fill)) for fill in "0f"),
        )
        return [Row(*row) for row in found]

    def leaves(self, start: int, stop: int) -> list[bytes]:
        """Return the leaf hashes of positions from `start` until before `stop`."""
        found = self._database.execute(
            "SELECT leaf FROM entries WHERE seq >= ? AND seq < ? ORDER BY seq",
            (start, stop),
        )
        return [leaf for (leaf,) in found]

    def holding(self, text: str) -> list[int]:
        """Return the positions of the entries whose payload holds `text`, ascending."""
        found = self._database.execute(
            "SELECT seq FROM entries WHERE instr(payload, ?) ORDER BY seq",
            (text.encode(),),
        )
        return [seq for (seq,) in found]

    def checkpoints(self) -> list[tuple[int, str]]:
        """Return the stored checkpoints, smallest first, without the newest one."""
        sql = "SELECT size, note FROM checkpoints ORDER BY size"
        return list(self._database.execute(sql))

    def cosignatures(self) -> list[tuple[int, str]]:
        """Return the witnesses' lines by the size that they signed."""
        sql = "SELECT size, line FROM cosignatures ORDER BY size, line"
        return list(self._database.execute(sql))

    def begin(self) -> None:
        """Begin the transaction that `append` will commit.

        Within it a look-up takes no locks: a tenth of the time.
        """
        if self._database.in_transaction:
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            msg = f"another program holds {self._database.filename}: close it and try again"
            raise UsageError(msg) from None
        except apsw.Error as error:
            raise self._stopped(_NOTHING_WRITTEN, error) from error

    def known(self, event_id: bytes) -> Row | None:
        """Begin the transaction and return the entry of an event, or None.

        Raises `WriterStoppedError` where the disk fails: what it would answer next
        time is nothing to write by.
        """
        self.begin()
        try:
            return self.find(event_id)
        except apsw.Error as error:
            raise self._stopped(_NOTHING_WRITTEN, error) from error

    def roll_back(self) -> None:
        """End a transaction that wrote nothing."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def append(
        self, rows: Sequence[Row], head: Head, kept: Sequence[tuple[int, str]] = ()
    ) -> None:
        """Write entries, the new head and checkpoints to keep, in one transaction.

        When this returns, they are on disk. Raises `WriterStoppedError` when that
        is not known: the caller must stop, and a restart reads what is true.
        """
        try:
            self.begin()
            self._write(rows, head, kept)
            self._database.execute("COMMIT")
        except apsw.Error as error:
            what = "whether the append reached the disk is unknown"
            raise self._stopped(what, error) from error

    def _write(
        self, rows: Sequence[Row], head: Head, kept: Sequence[tuple[int, str]]
    ) -> None:
        self._database.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (r.seq, r.received_at, r.author, r.sig, r.payload, r.leaf, r.event_id)
                for r in rows
            ),
        )
        self._database.execute(
            "REPLACE INTO head VALUES (1, ?, ?, ?)",
            (head.size, b"".join(head.edge), head.note),
        )
        self._keep(kept)

    def keep_checkpoint(self, size: int, note: str) -> None:
        """Store a checkpoint for ever: one that left the machine or was witnessed.

        Raises `WriterStoppedError` where the disk fails.
        """
        self.begin()
        try:
            self._keep([(size, note)])
            self._database.execute("COMMIT")
        except apsw.Error as error:
            what = f"the checkpoint of size {size} could not be kept"
            raise self._stopped(what, error) from error

    def _keep(self, checkpoints: Sequence[tuple[int, str]]) -> None:
        self._database.executemany(
            "INSERT OR IGNORE INTO checkpoints VALUES (?, ?)", checkpoints
        )

    def write_meta(self, values: dict[str, str]) -> None:
        """Write what names this log; once, when it is made."""
        self._database.executemany("INSERT INTO meta VALUES (?, ?)", values.items())

    def _count_wal(self, _: apsw.Connection, __: str, pages: int) -> int:
        # The file never shrinks: once it was emptied, it is filled from its beginning.
        self._wal_pages = pages
        return apsw.SQLITE_OK

    @property
    def unmoved_bytes(self) -> int:
        """How much of the write-ahead log may still be to be moved into the database."""
        return self._wal_pages * _PAGE_BYTES

    def trim_wal(self) -> None:
        """Move the write-ahead log into the database once it has grown."""
        if self._wal_pages > _WAL_PAGES_MAX:
            self.checkpoint_wal()

    def checkpoint_wal(self) -> None:
        """Move all of the write-ahead log into the database, errors reported.

        SQLite would swallow an error of its automatic checkpoint, so that one is
        switched off.
        """
        try:
            self._database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            return  # A reader is at work; the next commit tries again.
        except apsw.Error as error:
            what = "the log could not be checkpointed"
            raise self._stopped(what, error) from error

    def _stopped(self, what: str, error: apsw.Error) -> WriterStoppedError:
        return database_failed(what, error, self._database.filename)

    def ask(
        self, query: str, values: Sequence[int | bytes] = ()
    ) -> list[tuple[Any, ...]]:
        """Return what a query finds: for an audit, which believes no column's type.

        Raises `CorruptLogError` where SQLite cannot read the file.
        """
        with legible():
            return self._database.execute(query, values).fetchall()


@contextmanager
def legible() -> Iterator[None]:
    """Raise `CorruptLogError` where SQLite cannot read what the block asks it for.

    Without room for the files beside it that says nothing of the log.
    """
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        if is_full(error):
            msg = f"log.db cannot be read now ({error}): free space on its disk"
            raise UncheckableError(msg) from error
        msg = f"log.db cannot be read: {error}"
        raise CorruptLogError(msg) from error
