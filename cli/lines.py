"""Lines of an input as they come, in groups that are worth a commit.

An input that pauses gets its answers at once; one that does not is taken in groups,
so that a disk is not waited for once a line. Memory is bounded by a group.
"""

import io
import select
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

GROUP_LINES_MAX = 1_000
GROUP_BYTES_MAX = 8 << 20
# Room for the largest event in any spelling; what is longer is no event.
LINE_BYTES_MAX = 1 << 20
_CHUNK_BYTES = 1 << 18


class Line(NamedTuple):
    """A line by its number from 1; `content` is None where it is too long to be kept."""

    number: int
    content: bytes | None


def groups(source: BinaryIO) -> Iterator[list[Line]]:
    """Yield the lines of `source`, blank ones left out, in groups of bounded size."""
    group: list[Line] = []
    size = 0
    for line in _lines_or_pauses(source):
        is_full = len(group) >= GROUP_LINES_MAX or size >= GROUP_BYTES_MAX
        if group and (line is None or is_full):
            yield group
            group, size = [], 0
        if line is not None:
            group.append(line)
            size += len(line.content or b"")
    if group:
        yield group


def _lines_or_pauses(source: BinaryIO) -> Iterator[Line | None]:
    """Yield each line that is not blank, and None where no more is waiting."""
    number, rest, is_too_long = 0, b"", False
    while chunk := _some(source):
        first, *others = chunk.split(b"\n")
        parts = [rest + first, *others]
        rest = parts.pop()
        for part in parts:
            number += 1
            if is_too_long or len(part) > LINE_BYTES_MAX:
                yield Line(number, None)
            elif part.strip():
                yield Line(number, part)
            is_too_long = False
        if len(rest) > LINE_BYTES_MAX:
            rest, is_too_long = b"", True
        if not _more_is_waiting(source):
            yield None
    if is_too_long or rest.strip():
        yield Line(number + 1, None if is_too_long else rest)


def _some(source: BinaryIO) -> bytes:
    """Return what is there, waiting for the first byte only; b"" at the end."""
    if isinstance(source, io.BufferedIOBase):
        return source.read1(_CHUNK_BYTES)
    return source.read(_CHUNK_BYTES)


def _more_is_waiting(source: BinaryIO) -> bool:
    try:
        ready, _, _ = select.select([source.fileno()], [], [], 0)
    except (OSError, ValueError):
        return True  # In memory: it is all there.
    return bool(ready)
