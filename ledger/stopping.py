"""Why a writer stops, and what to do: it never goes on with a log that it does not know."""

import errno

from ledger.durable import FULL
from ledger.errors import WriterStoppedError

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


def database_failed(
    what: str, error: Exception, path: str, *, is_full: bool
) -> WriterStoppedError:
    """Return what the database stops the writer with; `what` is known of it then."""
    return WriterStoppedError(f"{what} ({error}): {_remedy(path, is_full=is_full)}")


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
