"""The high-water mark: the newest checkpoint, kept outside the ledger's folder.

A folder that is replaced by yesterday's copy is a perfect log, only shorter.
What remembers the difference must live elsewhere.
"""

from collections.abc import Callable
from pathlib import Path

from ledger.durable import read_regular, write_durably

_SECONDS_BETWEEN_SYNCS = 1.0


class HighWaterMark:
    """The last signed checkpoint of one ledger in the user's state folder.

    Written at most once a second and on close, so that it costs commits nothing:
    after a crash it may be behind the log by that much, never ahead.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float]) -> None:
        """Take the file's place; `monotonic` counts seconds."""
        self._path = path
        self._monotonic = monotonic
        self._written_at: float | None = None
        self._pending: str | None = None

    def note(self) -> str | None:
        """Return the remembered checkpoint note, or None on a machine without one."""
        try:
            # What is no text is no checkpoint either, which whoever reads it says.
            return read_regular(self._path).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def raise_to(self, note: str) -> None:
        """Remember a checkpoint that a commit just made durable."""
        self._pending = note
        now = self._monotonic()
        if self._written_at is None or now - self._written_at >= _SECONDS_BETWEEN_SYNCS:
            self.flush()
            self._written_at = now

    def flush(self) -> None:
        """Write what is pending."""
        if self._pending is not None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(self._path, self._pending.encode())
            self._pending = None


def mark_path(state_home: Path, ledger: str) -> Path:
    """Return where a ledger's high-water mark lies."""
    return state_home / "sealed-ledger" / ledger / "head"
