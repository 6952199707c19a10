"""How `log.db` is made and opened, and what SQLite must answer before it is written to.

apsw bundles a current SQLite; older ones that Python links can lose committed
data (ADR 0001). Settings are read back and asserted, because SQLite reports
some failures only by answering something else.
"""

import os
from contextlib import closing
from pathlib import Path

import apsw

from ledger.durable import make_private, sync_folder
from ledger.errors import CorruptLogError, UncheckableError, WriterStoppedError
from ledger.schema import SCHEMA
from ledger.stopping import is_full, not_set_up
from ledger.store import FORMAT, Store, legible

# What SQLite must answer to a writer: the file's own mode, and the connection's.
DURABLE: dict[str, str | int] = {
    "journal_mode": "wal",
    "synchronous": 2,
    "wal_autocheckpoint": 0,
    "trusted_schema": 0,
}
_BUSY_MILLISECONDS = 5_000


def sqlite_version() -> str:
    """Return the version of the SQLite that opens the log."""
    return apsw.sqlite_lib_version()


def settings_of(path: Path) -> dict[str, object]:
    """Return what SQLite answers where a writer needs `DURABLE`; the file stays as it is.

    Raises `CorruptLogError` where the file cannot be read as a database.
    """
    with legible(), closing(_connect_reader(path)) as database:
        database.set_busy_timeout(_BUSY_MILLISECONDS)
        found = {"journal_mode": database.pragma("journal_mode")}
        for name in DURABLE.keys() - found.keys():
            database.pragma(name, DURABLE[name])
            found[name] = database.pragma(name)
        return found


def create_store(path: Path) -> Store:
    """Make a new `log.db`; its folder is on disk when this returns.

    Raises `UsageError` where that cannot be written.
    """
    make_private(path)
    try:
        database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        _set_up_writer(database)
        store = Store(database)
        # Whoever could not make it removes the file, so that nothing is rolled back.
        for statement in ("BEGIN", *SCHEMA):
            database.execute(statement)
        store.write_meta({"format": FORMAT})
        database.execute("COMMIT")
    except apsw.Error as error:
        raise not_set_up(path, error) from error
    sync_folder(path.parent)
    return store


def open_store(path: Path, *, read_only: bool) -> Store:
    """Open an existing `log.db`.

    Raises `UncheckableError` for a missing file or an unknown format version, and
    `CorruptLogError` for a file that is no log. Where there is no room for the files
    beside it, a writer gets a `UsageError`, and a reader an `UncheckableError`.
    """
    if not path.is_file():
        is_ledger = path.with_name("ledger.toml").exists()
        remedy = f"`ledger init {path.parent}` makes one"
        remedy = "restore the folder from its backup" if is_ledger else remedy
        msg = f"there is no log at {path}: {remedy}"
        raise UncheckableError(msg)
    try:
        database = (
            _connect_reader(path)
            if read_only
            else apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        )
        database.set_busy_timeout(_BUSY_MILLISECONDS)
        store = Store(database)
        found = store.meta().get("format")
        if not read_only:
            _set_up_writer(database)
            # Setting wal_autocheckpoint takes the hook away: it is set once more.
            store = Store(database)
    except apsw.CantOpenError as error:
        msg = f"{path} cannot be opened here ({error}): copy the folder and try there"
        raise UncheckableError(msg) from error
    except (apsw.Error, UnicodeDecodeError) as error:
        if is_full(error):
            refused = not_set_up(path, error)
            raise (UncheckableError(refused) if read_only else refused) from error
        msg = f"{path} is not a readable log ({error})"
        raise CorruptLogError(msg) from error
    if found != FORMAT:
        database.close()
        msg = f"{path} has format {found!r}, and this program reads format {FORMAT!r}"
        raise UncheckableError(msg)
    return store


def _connect_reader(path: Path) -> apsw.Connection:
    # In a folder that cannot be written SQLite cannot make its shared-memory
    # file; without a write-ahead log the database alone is the whole truth.
    wal = path.with_name(path.name + "-wal")
    alone = not wal.exists() or wal.stat().st_size == 0
    if alone and not os.access(path.parent, os.W_OK):
        return apsw.Connection(
            f"{path.absolute().as_uri()}?immutable=1",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def _set_up_writer(database: apsw.Connection) -> None:
    database.set_busy_timeout(_BUSY_MILLISECONDS)
    for name, value in DURABLE.items():
        _require(database, name, value)


def _require(database: apsw.Connection, name: str, value: str | int) -> None:
    database.pragma(name, value)
    actual = database.pragma(name)
    if actual != value:
        msg = f"SQLite answered {name}={actual!r} where {value!r} is needed: see `ledger doctor`"
        raise WriterStoppedError(msg)
