"""How far `projections.db` is, told without making or changing anything in it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ledger.durable import require_no_pipe
from ledger.errors import CorruptLogError
from ledger.projections.schema import FORMAT


def tables_reach(path: Path) -> tuple[int, str | None] | None:
    """Return how many events are folded in, and the id of the last one.

    None where the tables are of another version. Raises `CorruptLogError` for a file
    that is damaged, and `UncheckableError` for a pipe.
    """
    require_no_pipe(path)
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                return None
            found = connection.execute("SELECT position, event_id FROM state")
            return found.fetchone() or (0, None)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        msg = f"{path} is damaged: {error}"
        raise CorruptLogError(msg) from error
