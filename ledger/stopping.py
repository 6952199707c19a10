"""Why a writer stops, and what to do: it never goes on with a log that it does not know.

Also why one could not begin.
"""

import errno
from pathlib import Path

import apsw

from ledger.durable import FULL
from ledger.errors import UsageError, WriterStoppedError

_BARRED = (errno.EACCES, errno.EPERM, errno.EROFS)


def file_failed(error: OSError) -> WriterStoppedError:
    """Return what a file beside the database stops the writer with."""
    if error.errno in _BARRED:
        return WriterStoppedError(
            f"{error.filename} cannot be written ({error.strerror}): let this user "
            "write there, then start; `ledger log` tells what is in the log"
        )
    is_full = error.errno in FULL
    return WriterStoppedError(
        f"the disk failed ({error}): {_remedy(error.filename, is_full=is_full)}"
    )


def database_failed(what: str, error: apsw.Error, path: str) -> WriterStoppedError:
    """Return what the database stops the writer with; `what` is known of it then."""
    return WriterStoppedError(
        f"{what} ({error}): {_remedy(path, is_full=is_full(error))}"
    )


def not_set_up(path: Path, error: Exception) -> UsageError:
    """Return what is said of a database that could not be made, or made ready to write."""
    then = "let this user write there"
    if is_full(error):
        then = f"free space on the disk of {path}"
    return UsageError(f"{path} cannot be set up ({error}): {then}, then try again")


def is_full(error: Exception) -> bool:
    """Tell whether SQLite found no room on the disk.

    Of the memory that the users of a write-ahead log share, a file beside it, it says
    that as an error of the disk.
    """
    return isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError)
        # Its stubs leave this attribute out.
        and getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE
    )


def lock_lost() -> WriterStoppedError:
    """Return what is said once others are not kept out any more."""
    return WriterStoppedError(
        "the lock file was removed or replaced, so another program may be writing, and "
        "nothing more was written here: open the ledger again"
    )


def log_lost() -> WriterStoppedError:
    """Return what is said once the log is another file than the one that is open."""
    return WriterStoppedError(
        "log.db or log.db-wal was removed or replaced, and nothing more was written "
        "here: see that the right log.db is there, and no log.db-wal or log.db-shm of "
        "another beside it, then start"
    )


def _remedy(path: str, *, is_full: bool) -> str:
    return f"free space on the disk of {path}, then start" if is_full else "restart"
