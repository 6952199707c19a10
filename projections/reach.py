"""How far `projections.db` is, told without making or changing anything in it."""

from contextlib import closing
from pathlib import Path

import apsw

from ledger.durable import require_disposable
from ledger.errors import CorruptLogError, UncheckableError
from ledger.projections.schema import FORMAT, IN_THE_WAY, found, read_only


def tables_reach(path: Path) -> tuple[int, str | None] | None:
    """Return how many events are folded in, and the id of the last one.

    None where the tables are of another version. Raises `CorruptLogError` for a file
    that is damaged, and `UncheckableError` for a pipe and where somebody writes.
    """
    require_disposable(path)
    try:
        with closing(read_only(path)) as connection:
            if connection.pragma("user_version") != FORMAT:
                return None
            rows = found(connection, "SELECT position, event_id FROM state")
            return rows[0] if rows else (0, None)
    except IN_THE_WAY as error:
        msg = f"{path} cannot be read now: {error}"
        raise UncheckableError(msg) from error
    except (apsw.Error, UnicodeDecodeError) as error:
        msg = f"{path} is damaged: {error}"
        raise CorruptLogError(msg) from error
