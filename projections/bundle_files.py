"""A bundle's files, opened as what a stranger may have put there.

A pipe would wait for ever, a device has no end, a link leads elsewhere, and a file
with holes may be longer than any memory: only regular files are read, and only as
far as somebody said.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

# A manifest, or its signatures: some 200,000 rows by their hashes.
STATEMENT_MAX = 16 * 2**20
# All files of a bundle together; reading them takes seconds, not hours.
WHOLE_MAX = 4 * 2**30
_BLOCK = 2**20


@contextmanager
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Give a regular file of a bundle. Raises `OSError` for anything else there."""
    # Not even opened: some devices do something when they are.
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        yield file


def read_bounded(path: Path, most: int) -> bytes:
    """Return what a regular file of at most so many bytes holds; else `OSError`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            msg = f"it has {size} bytes, and at most {most} are read"
            raise OSError(errno.EFBIG, msg)
        return file.read(most)


def hash_bounded(path: Path, most: int) -> tuple[str, int]:
    """Return the SHA-256 and size of a regular file of at most so many bytes.

    Raises `OSError` for a longer one, also where it only becomes one meanwhile.
    """
    digest, size = sha256(), 0
    with open_regular(path) as file:
        stated = os.fstat(file.fileno()).st_size
        while stated <= most and (block := file.read(_BLOCK)):
            digest.update(block)
            size += len(block)
            stated = max(stated, size)
        if stated > most:
            msg = f"it has {stated} bytes, and {most} are left to be read"
            raise OSError(errno.EFBIG, msg)
    return digest.hexdigest(), size
