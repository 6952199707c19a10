"""The log as it lies on disk, before any of it is believed.

Columns are read as bytes, whatever is in them, and by position rather than by
count, so that no gap, type or encoding can hide what stands behind it.
"""

from collections.abc import Iterator, Sequence
from operator import lt

import msgspec

from ledger.errors import CorruptLogError
from ledger.projections.audit_report import (
    Check,
    holds,
    is_false,
)
from ledger.schema import SCHEMA
from ledger.store import FORMAT, Store

# Position, received_at, author, sig, payload, leaf, event_id.
RawEntry = tuple[int, bytes, bytes, bytes, bytes, bytes, bytes]

_FIRST = -(2**63)  # the least that SQLite can number a row with
_SELECT = (
    "SELECT seq, ifnull(CAST(received_at AS BLOB), x''), {} "
    "FROM entries WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?"
)
_COLUMNS = ("author", "sig", "payload", "leaf", "event_id")
# quick_check has seen the types, but not that text is text.
_SOUND = _SELECT.format(", ".join(_COLUMNS))
# A damaged page can answer text, or NULL where the schema has none.
_UNSOUND = _SELECT.format(
    ", ".join(f"ifnull(CAST({column} AS BLOB), x'')" for column in _COLUMNS)
)
# One statement sees one state of the log, whatever a writer does meanwhile.
_AROUND = (
    "SELECT 'last', max(seq), x'', x'' FROM entries "
    "UNION ALL SELECT 'head', CAST(size AS INTEGER), CAST(edge AS BLOB), "
    "CAST(note AS BLOB) FROM head "
    "UNION ALL SELECT 'checkpoint', size, x'', CAST(note AS BLOB) FROM checkpoints "
    "UNION ALL SELECT 'witness', CAST(size AS INTEGER), x'', CAST(line AS BLOB) "
    "FROM cosignatures"
)
# Who reads in order comes to no page twice, and a core's own cache has better uses.
_CACHE = "PRAGMA cache_size = -256"
_TABLES = tuple(sql for sql in SCHEMA if sql.startswith("CREATE TABLE"))
_NAMES = tuple(sql.removeprefix("CREATE TABLE ").partition("(")[0] for sql in _TABLES)
# SQLite tells the first field of an index's cell and the last, whatever stands between
# them and however it is spelled. So each cell is looked for by both, as SQLite's own check
# does, but in an order in which it is near. No position is counted from the end.
_BY_ID = (
    "SELECT named.event_id, named.seq "
    "FROM entries AS named INDEXED BY sqlite_autoindex_entries_1 "
    "CROSS JOIN entries AS found INDEXED BY sqlite_autoindex_entries_1 "
    "ON found.event_id = named.event_id AND found.seq = named.seq "
    "WHERE named.event_id > ? AND +named.seq BETWEEN 0 AND ? "
    "ORDER BY named.event_id LIMIT 1000"
)
_ID_BYTES = 32


class StoredHead(msgspec.Struct, frozen=True):
    """The head's row: what the last commit says that the log is."""

    size: int
    edge: bytes
    note: bytes


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored beside the entries, and the position of the last of them."""

    last: int | None
    head: StoredHead | None
    checkpoints: tuple[tuple[int, bytes], ...]
    cosignatures: tuple[tuple[int, bytes], ...]


def check_storage(store: Store) -> Check:
    """Return whether the file is sound and its schema exactly the log's own.

    That the index of event ids says what the entries say is left to
    `Entries.check_ids`, once they were read: SQLite would look each of them up, anywhere
    among the pages, which is a read from the disk for each where the log is large.
    """
    try:
        problems = [*_unsound(store), *_strange(store)]
    except CorruptLogError as error:
        return is_false("storage", 0, error.reason)
    if problems:
        return _has(problems)
    return holds("storage", len(_TABLES), "integrity_check and schema")


def _has(problems: Sequence[str]) -> Check:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return is_false("storage", len(_TABLES), problems[0] + more)


def _unsound(store: Store) -> Iterator[str]:
    """Yield what SQLite and the schema find wrong with the file itself."""
    store.ask(_CACHE)
    yield from _said(store, "quick_check(20)")
    for table in _NAMES:
        if table != "entries":
            yield from _said(store, f"integrity_check({table})")
    found = store.ask("SELECT sql FROM sqlite_master WHERE sql NOTNULL")
    stored = {sql for (sql,) in found}
    for sql in SCHEMA:
        if sql not in stored:
            yield f"the schema lacks: {sql[:60]}…"
    for sql in stored.difference(SCHEMA):
        yield f"the schema has more: {sql[:80]}"
    # Without the right to write, SQLite's own check leaves CHECK out.
    heads = [one for (one,) in store.ask("SELECT one FROM head ORDER BY one")]
    if heads not in ([], [1]):
        yield f"head has the rows {heads[:3]}, and one row numbered 1 is right"


def _said(store: Store, check: str) -> Iterator[str]:
    """Yield what one of SQLite's own checks complains of."""
    for (text,) in store.ask(f"PRAGMA {check}"):
        if text != "ok":
            yield f"integrity_check: {text}"


def _strange(store: Store) -> Iterator[str]:
    """Yield what stands in the file's own words and is not of this program."""
    for key, value in store.ask("SELECT key, value FROM meta ORDER BY key"):
        if (key, value) != ("format", FORMAT):
            yield f"meta has {key[:40]!r}, and only the format belongs there"
    # Ours leaves both at what SQLite gives a new file.
    for name in ("user_version", "application_id"):
        [(number,)] = store.ask(f"PRAGMA {name}")
        if number:
            yield f"{name} is {number}, and a log's is 0"


def has_tables(store: Store) -> bool:
    """Tell whether the tables are those of a log, so that reading them means anything."""
    found = store.ask("SELECT sql FROM sqlite_master WHERE type = 'table'")
    return {sql for (sql,) in found}.issuperset(_TABLES)


def read_around(store: Store) -> Around:
    """Return everything but the entries, of one moment.

    Raises `CorruptLogError` where SQLite cannot read it.
    """
    last, head, notes, lines = None, None, [], []
    for what, number, edge, content in store.ask(_AROUND):
        match what:
            case "last":
                last = number
            case "head":
                head = StoredHead(number or 0, edge or b"", content or b"")
            case "checkpoint":
                notes.append((number, content or b""))
            case _:
                lines.append((number or 0, content or b""))
    return Around(
        last=last,
        head=head,
        checkpoints=tuple(sorted(notes)),
        cosignatures=tuple(sorted(lines)),
    )


class Entries:
    """Reads entries by position, through a connection of its own process."""

    def __init__(self, store: Store, *, is_sound: bool) -> None:
        """Take a store; `is_sound` says that `check_storage` held."""
        store.ask(_CACHE)
        self._store = store
        self._query = _SOUND if is_sound else _UNSOUND
        # The event ids of the entries from 0 on, as far as those follow each other.
        self._ids = bytearray()

    def read(self, first: int, last: int, limit: int) -> list[RawEntry]:
        """Return at most `limit` entries of the positions from `first` to `last`."""
        return self._store.ask(self._query, (first, last, limit))

    def batches(self, last: int | None, limit: int) -> Iterator[list[RawEntry]]:
        """Yield all entries up to the position `last`, in order, `limit` at a time.

        Raises `CorruptLogError` at the first entry that SQLite cannot read.
        """
        first = _FIRST
        while last is not None and first <= last:
            try:
                batch = self.read(first, last, limit)
            except CorruptLogError as error:
                if limit == 1:
                    raise CorruptLogError(error.reason, seq=max(first, 0)) from None
                limit = 1  # what stands before the damage is still to be judged
                continue
            if not batch:
                return
            self._note_ids(batch)
            first = batch[-1][0] + 1
            yield batch

    def _note_ids(self, batch: list[RawEntry]) -> None:
        ids = [row[-1] for row in batch]
        is_next = len(self._ids) == _ID_BYTES * batch[0][0]
        if is_next and set(map(len, ids)) == {_ID_BYTES}:
            self._ids += b"".join(ids)

    def check_ids(self, storage: Check, last: int | None) -> Check:
        """Return a check of the file that held, with that of the index of event ids.

        It is about all entries up to the position `last`, once `batches` yielded them.
        """
        if storage.ok is not True or self._is_indexed(-1 if last is None else last):
            return storage
        try:
            # SQLite has the last word, and the words for what is wrong.
            problems = list(_said(self._store, "integrity_check(entries)"))
        except CorruptLogError as error:
            return is_false("storage", 0, error.reason)
        return _has(problems) if problems else storage

    def _is_indexed(self, last: int) -> bool:
        """Tell whether the index has each id once, in order, where its entry stands."""
        ids, before, size = self._ids, b"", 0
        try:
            while rows := self._store.ask(_BY_ID, (before, last)):
                named, seqs = zip(*rows, strict=True)
                stored = [ids[_ID_BYTES * seq : _ID_BYTES * (seq + 1)] for seq in seqs]
                if list(named) != stored:
                    return False
                # From page to page as well: a search led astray would come back for ever.
                if not all(map(lt, (before, *named), named)):
                    return False
                before = named[-1]
                size += len(rows)
        except CorruptLogError:
            return False
        return size == last + 1 and len(ids) == _ID_BYTES * size
