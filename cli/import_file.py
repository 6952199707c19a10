"""A file of others, opened as it lies there: plain or gzipped, a path or stdin."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.errors import UsageError

STANDARD = "-"
_GZIP = b"\x1f\x8b"


@contextmanager
def opened(file: str) -> Iterator[io.BufferedReader]:
    """Give the content of a file, unpacked if it is gzipped, whatever its name.

    Raises `UsageError` where it cannot be opened, or be read to its end.
    """
    try:
        if file == STANDARD:
            # An odd stand-in for stdin has no `peek`: it is wrapped like a raw file.
            yield _unpacked(io.BufferedReader(sys.stdin.buffer))  # type: ignore[arg-type]
            return
        with Path(file).open("rb") as stream:
            yield _unpacked(stream)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        msg = f"{file} cannot be read: {reason}"
        raise UsageError(msg) from error


def _unpacked(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] == _GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=stream))
    return stream
