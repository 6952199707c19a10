"""Key files over time: a key waits, takes over, and is kept when its time is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.durable import sync_folder
from ledger.errors import RefusedError, UsageError
from ledger.keys.keyfile import read_key, write_key
from ledger.keys.signing import SignerKey


class Successor:
    """The key that follows the one in a file, and waits beside it until it is listed.

    An interruption leaves it there, and the same command then goes on with it.
    """

    def __init__(self, path: Path) -> None:
        """Take the file whose key is to be replaced."""
        self.path = path
        self._waiting = path.with_name(f"{path.name}.next")

    def key(self) -> SignerKey | None:
        """Return the key that waits, if one does."""
        return read_key(self._waiting) if self._waiting.exists() else None

    @contextmanager
    def waiting(self, fresh: SignerKey) -> Iterator[SignerKey]:
        """Give the key that waits, or `fresh`, durably there before it is listed."""
        before = self.key()
        if before is None:
            write_key(self._waiting, fresh)
        try:
            yield before or fresh
        except (RefusedError, UsageError):
            if before is None:
                self._waiting.unlink()
            raise

    def take_over(self, version: str) -> None:
        """Let the waiting key take its place; the old one is kept."""
        if self.path.exists() and not _kept(self.path, version).exists():
            # At no moment is there no key at the path.
            _kept(self.path, version).hardlink_to(self.path)
        self._waiting.rename(self.path)
        sync_folder(self.path.parent)


def retire(path: Path, version: str) -> None:
    """Keep a key that signs nothing more, if it is here, where no command reads it."""
    if path.exists():
        path.rename(_kept(path, version))
        sync_folder(path.parent)


def _kept(path: Path, version: str) -> Path:
    return path.with_name(f"{path.name}.until-{version.replace('@', '-')}")
