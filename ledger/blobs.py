"""Pinned and evidence files by their SHA-256: erasable, never trusted by name."""

from pathlib import Path

from ledger.durable import read_regular, write_durably
from ledger.ids import sha256_hex

BLOB_BYTES_MAX = 1 << 30


class BlobFolder:
    """`blobs/`: one file a hash. Reading checks the hash again."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; it is made when the first blob is kept."""
        self._folder = folder

    def get(self, digest: str) -> bytes | None:
        """Return the bytes whose SHA-256 is `digest`, or None.

        That is: it is absent, changed, longer than a blob may be, or no file at all.
        """
        try:
            content = read_regular(self._folder / digest, BLOB_BYTES_MAX)
        except OSError:
            return None
        return content if sha256_hex(content) == digest else None

    def keep(self, content: bytes) -> str:
        """Store bytes durably and return their SHA-256."""
        digest = sha256_hex(content)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / digest
        if self.get(digest) is None:
            write_durably(path, content)
        return digest
