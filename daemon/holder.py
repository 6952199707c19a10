"""Which process is a ledger's daemon, said in the lock file by who holds the lock.

A daemon that is flooded or hangs answers no ping, and still has to be told from a command
that writes. What a dead one left there is no harm: it no longer holds the lock.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ledger.durable import read_regular
from ledger.folder import Folder

_NOTE = re.compile(rb"daemon ([1-9][0-9]{0,9})\n")


@contextmanager
def noted(folder: Folder, pid: int) -> Iterator[None]:
    """Have the lock file say that its holder is a daemon, this process.

    On a disk that takes nothing it says nothing, and a daemon is known by its answers.
    """
    _write(folder, b"daemon %d\n" % pid)
    try:
        yield
    finally:
        _write(folder, b"")


def noted_daemon(folder: Folder) -> int | None:
    """Return the process that the lock file names; it may be gone. None for none."""
    try:
        found = _NOTE.fullmatch(read_regular(folder.lock))
    except OSError:
        return None
    return None if found is None else int(found[1])


def _write(folder: Folder, text: bytes) -> None:
    with suppress(OSError):
        # Never made anew: that would be a file which nobody has locked.
        handle = os.open(folder.lock, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
