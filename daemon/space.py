"""Room on the ledger's disk: what is left of it when agents fill it is the evaluator's.

A commit that finds no room ends the daemon, and on a full disk none starts again.
"""

import os
from collections.abc import Callable
from pathlib import Path

from ledger.daemon.doctor_disk import FREE_BYTES_MIN, MIB
from ledger.daemon.journal import Journal
from ledger.daemon.protocol import BUSY, FaultError
from ledger.folder import Folder

# Of a small disk as much is kept as one part of so many.
_PARTS = 8
# A line's events are written to the write-ahead log, to the log and to an index.
_GROWTH = 4
# Of a line that is committed alone, small as it is, the write-ahead log takes whole
# pages; it is kept free by as much once more, as long as it holds them.
_LINE_BYTES = 2 * 32 * 1024
_RETRY_MS = 1_000


class Space:
    """How much of a disk agents may still fill."""

    def __init__(
        self,
        folder: Folder,
        journal: Journal,
        waiting: Callable[[], tuple[int, int]],
        unmoved: Callable[[], int],
    ) -> None:
        """Take a ledger, and what tells how many lines and bytes wait to be written.

        And how many bytes of the write-ahead log are still to be moved into the log,
        which grows by as much. (The file may be longer: what was moved is written over.)
        """
        self._folder = folder.path
        self._unmoved = unmoved
        self._log, self._tables = folder.log, folder.projections
        self._journal = journal
        self._waiting = waiting
        self._free = self._kept = self._left = 0
        self.is_low = False
        self.look()

    def look(self) -> None:
        """See how much is left, every second; what may come until then is counted."""
        found = os.statvfs(self._folder)
        self._free = found.f_bavail * found.f_frsize
        reserve = min(FREE_BYTES_MIN, found.f_blocks * found.f_frsize // _PARTS)
        self._kept = reserve + self._unmoved()
        self._left = self._free - self._kept - _cost(*self._waiting())
        # Once it was low, a little more is no news: the journal lies on this disk.
        self._note(is_low=self._left < (self._kept if self.is_low else 0))

    def require(self, line_bytes: int) -> None:
        """Raise `FaultError` (`disk-low`) where a line of an agent has no room."""
        self._take(_cost(1, line_bytes))

    def require_for_tables(self) -> None:
        """Raise `FaultError` (`disk-low`) where the tables that rows are of have no room.

        Caught up with the log, they are at most as large, and some of that may lie in
        the write-ahead log alone.
        """
        log_bytes = _size(self._log) + self._unmoved()
        self._take(max(0, log_bytes - _size(self._tables)))

    def _take(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            self.look()
            self._left -= cost
        if self._left < 0:
            self._note(is_low=True)
            msg = (
                f"the ledger's disk has {self._free / MIB:,.1f} MiB free, and the last "
                f"{self._kept / MIB:,.1f} MiB are not for agents: have its operator "
                "free space, then send this again"
            )
            raise FaultError(BUSY, msg, "disk-low", retry_after_ms=_RETRY_MS)

    def _note(self, *, is_low: bool) -> None:
        if is_low == self.is_low:
            return
        self.is_low = is_low
        tell = self._journal.alarm if is_low else self._journal.note
        tell(
            "disk-low" if is_low else "disk-freed",
            free_bytes=self._free,
            kept_bytes=self._kept,
        )


def _cost(lines: int, line_bytes: int) -> int:
    """Return what so many lines, of so many bytes together, may take of the disk."""
    return lines * _LINE_BYTES + line_bytes * _GROWTH


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
