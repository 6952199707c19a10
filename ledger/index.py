"""What the rules must find again: units by name and by question, on disk.

A disposable file (or a temporary one, for an audit): deleting it costs a
replay and nothing else. Units in use stay in memory and are written when the
log commits, so that memory is bounded by `CACHED_MAX`, not by the log.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from ledger.durable import make_private, remove_database, require_disposable
from ledger.errors import CorruptLogError
from ledger.merkle import Tree
from ledger.stopping import database_failed, is_full, not_set_up
from ledger.unit import Unit

_NOTES = logging.getLogger(__name__)
T = TypeVar("T")
CACHED_MAX = 50_000
# Changes that are written together: a transaction of its own for each commit of the
# log would double what that costs, and a replay finds them again.
DUE = 4_096
_SCHEMA = """
CREATE TABLE IF NOT EXISTS units(name TEXT PRIMARY KEY, unit BLOB) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked(question TEXT PRIMARY KEY, name TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS frozen(seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS position(one INTEGER PRIMARY KEY CHECK (one = 1),
    size INTEGER, root BLOB, format INTEGER, frozen INTEGER) STRICT;
"""
_FORMAT = 6  # of the tables and the blobs in `units`; another one means: replay
# Text of somebody else's may be none: apsw says so with Python's own error.
_UNREADABLE = (apsw.Error, UnicodeDecodeError)
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Unit)


def open_index(path: Path, tree: Tree, root_at: Callable[[int], bytes]) -> "Index":
    """Return the index of the log whose tree this is.

    `root_at` gives the root that the log had at a smaller size. A file that is
    damaged, of another format or of another log is replaced by an empty one: a
    replay makes it again. Raises `UsageError` as `new_index` does.
    """
    try:
        index = Index(path)
        if index.is_whole() and _is_of(index.position(), tree, root_at):
            return index
        index.close()
    except _UNREADABLE as error:
        if is_full(error):
            raise not_set_up(path, error) from error
        _NOTES.warning("the index %s is damaged (%s): it is made again", path, error)
    return new_index(path)


def new_index(path: Path) -> "Index":
    """Return an empty index in the place of what is there.

    Raises `UsageError` where it cannot be written.
    """
    remove_database(path)
    try:
        return Index(path)
    except apsw.Error as error:
        raise not_set_up(path, error) from error


def _is_of(
    position: tuple[int, bytes] | None, tree: Tree, root_at: Callable[[int], bytes]
) -> bool:
    """Tell whether an index speaks of this log, or of none yet."""
    if position is None:
        return True
    size, root = position
    if size == tree.size:
        return root == tree.root()
    return size < tree.size and root == root_at(size)


def index_position(path: Path) -> tuple[int, bytes] | None:
    """Return the size and root of the log that an index file speaks of, only reading.

    None where the file is of another format. Raises `CorruptLogError` for a file that
    is damaged.
    """
    try:
        with closing(_reader(path)) as database:
            return _position(database)
    except _UNREADABLE as error:
        msg = f"{path} is damaged: {error}"
        raise CorruptLogError(msg) from error


def _reader(path: Path) -> apsw.Connection:
    require_disposable(path)
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    # Who only reads leaves nothing behind: SQLite would make files beside it. Without
    # a write-ahead log the file alone is the whole truth.
    return apsw.Connection(
        f"{path.absolute().as_uri()}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )


def _contents(database: apsw.Connection) -> Iterator[tuple[object, ...]]:
    for table in ("units", "asked", "frozen"):
        rows = database.execute(f"SELECT * FROM {table} ORDER BY 1")  # noqa: S608 - ours
        yield from ((table, *row) for row in rows)


def _says(
    database: apsw.Connection,
    table: str,
    content: dict[str, T],
    spelled: Callable[[T], object],
) -> bool:
    """Tell whether a table has exactly these keys and what belongs to each."""
    left = dict(content)
    # All columns: somebody else's tables may have more, or in another order.
    rows: Any = database.execute(f"SELECT * FROM {table}")  # noqa: S608 - ours
    for row in rows:
        value = left.pop(row[0], None)
        if value is None or row != (row[0], spelled(value)):
            return False
    return not left


def _told(mine: tuple[object, ...] | None, theirs: tuple[object, ...] | None) -> str:
    """Return what is different between a row that should be and one that is."""
    if mine is None:
        assert theirs is not None
        return f"{theirs[0]} has {theirs[1]}, which the log does not"
    if theirs is None or mine[:2] != theirs[:2]:
        return f"{mine[0]} lacks {mine[1]}, or has what the log does not"
    return f"{mine[0]} says something else of {mine[1]} than the log"


def _position(database: apsw.Connection) -> tuple[int, bytes] | None:
    row = database.execute("SELECT size, root, format FROM position").fetchone()
    if row is None or row[2] != _FORMAT or None in row:
        return None
    return row[0], row[1]


def _read(blob: bytes, path: str) -> Unit:
    try:
        return _DECODER.decode(blob)
    except (TypeError, ValueError) as error:
        msg = f"{path} is damaged ({error}): delete it, it is made again"
        raise CorruptLogError(msg) from error


class Index:
    """Units of one log up to `size`; `flush` writes what changed since the last."""

    def __init__(self, path: Path | None = None) -> None:
        """Open or make the file; without a path, a temporary one that SQLite deletes."""
        # An empty name asks SQLite for a private file that lives until close.
        if path is not None:
            require_disposable(path)
            make_private(path)
        self._database = apsw.Connection("" if path is None else str(path))
        if path is not None:
            self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "normal" if path else "off")
        self._database.pragma("cache_size", -32_768)
        self._database.execute(_SCHEMA)
        self._units: dict[str, Unit] = {}
        self._asked: dict[str, Unit] = {}
        # As often as it was changed: to look a unit up again each time, among very
        # many, would cost as much as the change.
        self._touched: list[Unit] = []
        self._asked_new: dict[str, str] = {}
        self._frozen_new: list[int] = []
        self._stored = self._database.execute(
            "SELECT EXISTS(SELECT 1 FROM units)",
        ).fetchone() == (1,)

    def difference(self, path: Path, size: int, root: bytes) -> str | None:
        """Return the first thing in which a file differs from this index, or "".

        `size` and `root` say of which log this index knows everything. None where the
        file speaks of another. Raises `CorruptLogError` for a file that is damaged.
        """
        if self._stored:
            self.flush(size, root)
        try:
            with closing(_reader(path)) as other:
                # One state of the file, whoever writes to it meanwhile.
                other.execute("BEGIN")
                if _position(other) != (size, root):
                    return None
                if not self._stored and self._is_kept_in(other):
                    return ""
                pairs = zip_longest(self._contents(), _contents(other))
                return next((_told(*pair) for pair in pairs if pair[0] != pair[1]), "")
        except _UNREADABLE as error:
            msg = f"{path} is damaged: {error}"
            raise CorruptLogError(msg) from error

    def _is_kept_in(self, other: apsw.Connection) -> bool:
        """Tell whether a file says exactly what this index has in memory."""
        frozen = [(seq,) for seq in self._frozen_new]
        return (
            _says(other, "units", self._changed(), _ENCODER.encode)
            and _says(other, "asked", self._asked_new, str)
            and other.execute("SELECT * FROM frozen ORDER BY 1").fetchall() == frozen
        )

    def _contents(self) -> Iterator[tuple[object, ...]]:
        """Yield what `_contents` would, were all of it written: in SQLite's order."""
        if self._stored:
            yield from _contents(self._database)
            return
        units = self._changed()
        for name in sorted(units):
            yield "units", name, _ENCODER.encode(units[name])
        for question in sorted(self._asked_new):
            yield "asked", question, self._asked_new[question]
        for seq in self._frozen_new:
            yield "frozen", seq

    def close(self) -> None:
        """Close the file. Unflushed changes are dropped: a replay finds them again."""
        self._database.close()

    def position(self) -> tuple[int, bytes] | None:
        """Return the size and root of the log that the file speaks of, if any."""
        return _position(self._database)

    def is_whole(self) -> bool:
        """Tell whether the file is as this program makes it, as far as that is quick.

        Its tables, and how many suites it knows: without one of those, a sound log
        would seem to have lost it. That no unit was taken out is not seen here.
        """
        sql = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        with closing(apsw.Connection(":memory:")) as fresh:
            fresh.execute(_SCHEMA)
            if list(self._database.execute(sql)) != list(fresh.execute(sql)):
                return False
        row = self._database.execute("SELECT frozen FROM position").fetchone()
        if row is None:
            return True
        return self.position() is not None and row == (len(self.frozen()),)

    def frozen(self) -> list[int]:
        """Return the positions of the SuiteFrozen events, ascending."""
        rows = self._database.execute("SELECT seq FROM frozen ORDER BY seq")
        return [seq for (seq,) in rows]

    def named(self, name: str) -> Unit | None:
        """Return the unit of that name."""
        unit = self._units.get(name)
        if unit is None and self._stored:
            row = self._row("SELECT unit FROM units WHERE name = ?", name)
            if row is not None:
                unit = self._units[name] = _read(row[0], self._database.filename)
        return unit

    def asked(self, suite: str, question_hash: str) -> Unit | None:
        """Return the unit that a question of a suite belongs to."""
        question = suite + question_hash
        unit = self._asked.get(question)
        if unit is None and self._stored:
            row = self._row("SELECT name FROM asked WHERE question = ?", question)
            unit = None if row is None else self.named(row[0])
            if unit is not None:
                self._asked[question] = unit
        return unit

    def _row(self, sql: str, key: str) -> Any:  # noqa: ANN401 - a row of either table
        try:
            self._begin()
            return self._database.execute(sql, (key,)).fetchone()
        except _UNREADABLE as error:
            msg = f"{self._database.filename} cannot be read ({error}): look after the disk, or delete the file, it is made again"
            raise CorruptLogError(msg) from error

    def put(self, unit: Unit) -> None:
        """Take a unit that is new or was changed."""
        self._units[unit.name] = unit
        self._touched.append(unit)

    def put_question(self, unit: Unit, question_hash: str) -> None:
        """Remember that a question belongs to `unit`."""
        question = unit.suite + question_hash
        self._asked[question] = unit
        self._asked_new[question] = unit.name

    def put_frozen(self, seq: int) -> None:
        """Remember where a suite or charter was frozen."""
        self._frozen_new.append(seq)

    def flush(self, size: int, root: bytes) -> None:
        """Write what changed; from now on the file speaks of the log at `size`."""
        try:
            self._begin()
            self._write(size, root)
            self._database.execute("COMMIT")
        except apsw.Error as error:
            # The log may have more by now: what it has is found again by a replay.
            path = self._database.filename or "temporary files"
            raise database_failed(f"{path} cannot be written", error, path) from error
        self._stored = self._stored or bool(self._touched)
        self._forget_changes()
        if len(self._units) > CACHED_MAX:
            self._units.clear()
            self._asked.clear()

    def _write(self, size: int, root: bytes) -> None:
        self._database.executemany(
            "REPLACE INTO units VALUES (?, ?)",
            ((name, _ENCODER.encode(unit)) for name, unit in self._changed().items()),
        )
        self._database.executemany(
            "REPLACE INTO asked VALUES (?, ?)",
            self._asked_new.items(),
        )
        self._database.executemany(
            "REPLACE INTO frozen VALUES (?)",
            ((seq,) for seq in self._frozen_new),
        )
        self._database.execute(
            "REPLACE INTO position VALUES (1, ?, ?, ?, (SELECT count(*) FROM frozen))",
            (size, root, _FORMAT),
        )

    def _changed(self) -> dict[str, Unit]:
        """Return each unit once that was changed since the last flush, by its name."""
        if not self._stored:
            return self._units
        once = {id(unit): unit for unit in self._touched}
        return {unit.name: unit for unit in once.values()}

    def _begin(self) -> None:
        # Within one transaction a look-up takes no locks: a tenth of the time.
        if not self._database.in_transaction:
            self._database.execute("BEGIN")

    @property
    def is_due(self) -> bool:
        """Whether so much has changed that it should be written, or forgotten units be."""
        return len(self._touched) + len(self._asked_new) >= DUE or self.is_full

    @property
    def is_full(self) -> bool:
        """Whether so much is in memory that a long replay should flush."""
        return len(self._units) > CACHED_MAX

    def discard(self) -> None:
        """Forget everything since the last flush."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._units.clear()
        self._asked.clear()
        self._forget_changes()

    def _forget_changes(self) -> None:
        self._touched.clear()
        self._asked_new.clear()
        self._frozen_new.clear()
