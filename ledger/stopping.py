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
        what = f"{error.filename} cannot be written ({error.strerror})"
        rest = "; `ledger log` tells what is in the log"
        return _stopped(what, "let this user write there", rest)
    first = _room(error.filename) if error.errno in FULL else None
    return _stopped(f"the disk failed ({error})", first)


def database_failed(what: str, error: apsw.Error, path: str) -> WriterStoppedError:
    """Return what the database stops the writer with; `what` is known of it then."""
    return _stopped(f"{what} ({error})", _room(path) if is_full(error) else None)


def not_set_up(path: Path, error: Exception) -> UsageError:
    """Return what is said of a database that could not be made, or made ready to write."""
    first = "see that this user can write there and that the disk is sound"
    if is_full(error):
        first = _room(str(path))
    return UsageError(f"{path} cannot be set up ({error}): {first}, then try again")


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
    what = "log.db or log.db-wal was removed or replaced, and nothing more was written here"
    right = (
        "see that the right log.db is there, and no log.db-wal or log.db-shm of another "
        "beside it"
    )
    return _stopped(what, right)


def _room(path: str) -> str:
    return f"free space on the disk of {path}"


def _stopped(what: str, first: str | None, rest: str = "") -> WriterStoppedError:
    """Say what to do: a command is tried again, and a daemon is started again."""
    if first is None:
        return WriterStoppedError(f"{what}: try again", of_daemon=f"{what}: restart")
    return WriterStoppedError(
        f"{what}: {first}, then try again{rest}",
        of_daemon=f"{what}: {first}, then start{rest}",
    )
