"""Files that a suite pins: found beside its TOML, checked, and kept in `blobs/`."""

from pathlib import Path

from ledger import codec
from ledger.blobs import BLOB_BYTES_MAX
from ledger.durable import read_regular
from ledger.errors import CorruptLogError, RefusedError
from ledger.folder import Folder
from ledger.ids import sha256_hex
from ledger.suite import SuiteManifest

Missing = str  # one sentence without its full stop


class PinKeeper:
    """Keeps what suites pin, and takes it back where the suite is not frozen."""

    def __init__(self, folder: Folder) -> None:
        """Keep files in the ledger's blobs."""
        self._folder = folder
        self._fresh: list[str] = []

    def keep(self, manifest: SuiteManifest, beside: Path) -> int:
        """Keep every pinned file that lies `beside`; return a mark for `undo`.

        Raises `RefusedError` that names each file which is missing or is another one
        now, and each question list that holds no questions.
        """
        mark = len(self._fresh)
        found, problems = pinned_files(manifest, beside, self._folder)
        if problems:
            msg = f"{manifest.suite} cannot be frozen: {'; '.join(problems)}"
            raise RefusedError("pin-unfit", msg)
        for digest, content in found.items():
            if self._folder.blobs.get(digest) is None:
                self._folder.blobs.keep(content)
                self._fresh.append(digest)
        return mark

    def undo(self, mark: int = 0) -> None:
        """Remove what was kept since `mark`: nothing is frozen that needs it."""
        for digest in self._fresh[mark:]:
            (self._folder.path / "blobs" / digest).unlink(missing_ok=True)
        del self._fresh[mark:]

    def settle(self) -> None:
        """Keep everything for good: the suites that pin it are frozen."""
        self._fresh.clear()


def pinned_files(
    manifest: SuiteManifest, beside: Path, folder: Folder | None
) -> tuple[dict[str, bytes], list[Missing]]:
    """Return the pinned files by their hashes, and what is wrong with the others."""
    found, problems = {}, []
    lists = {each.questions for each in manifest.templates if each.questions}
    for name, digest in manifest.pins.items():
        content = _content(beside / name, digest)
        kept = folder.blobs.get(digest) if folder is not None else None
        if content is None and kept is None:
            problems.append(_problem(beside / name, name, digest))
            continue
        found[digest] = content if content is not None else kept or b""
        if name in lists:
            problems += _problem_of_list(name, found[digest])
    return found, problems


def _content(path: Path, digest: str) -> bytes | None:
    try:
        content = read_regular(path, BLOB_BYTES_MAX)
    except OSError:
        return None
    return content if sha256_hex(content) == digest else None


def _problem(path: Path, name: str, digest: str) -> Missing:
    try:
        actual = sha256_hex(read_regular(path, BLOB_BYTES_MAX))
    except OSError as error:
        # Of anything but a regular file, such as a pipe, that it is none.
        return (
            f"the pinned file {name} is not at {path} ({error.strerror}): put it there"
        )
    return (
        f"the pinned file {name} is another one now: its SHA-256 is {actual}, and the "
        f"suite says {digest}: restore the file, or correct the pin"
    )


def _problem_of_list(name: str, content: bytes) -> list[Missing]:
    try:
        codec.read_questions(content)
    except CorruptLogError as error:
        return [f"the question list {name} is unfit: {error.reason}"]
    return []
