"""Pinned files on disk: when one is no longer what its suite pinned, forecasts stop.

Nobody is to forecast a suite by one acceptance test and be judged by another. Files
are looked for under their pinned names in the folders that `daemon.toml` names; a
suite's own TOML is every `*.toml` there that names a suite in force. Versions that a
later one superseded are left alone, as their files may well have changed.
"""

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path

import msgspec

from ledger import codec
from ledger.durable import read_regular
from ledger.errors import LedgerError, RefusedError
from ledger.state import FrozenSuite
from ledger.suite_check import freeze_manifest

CODE = "pinned-file-changed"
_FORECASTS = ("ForecastSealed", "ForecastUpdated")


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not what a suite pinned; `found` is its hash, or what is wrong."""

    suite: str
    file: str
    pinned: str
    found: str

    def sentence(self) -> str:
        """Return what is wrong and what to do."""
        return (
            f"{self.suite} pins {self.file} with SHA-256 {self.pinned}, and on disk it "
            f"is {self.found}: put the pinned file back, or freeze the next version of "
            "the suite with the new one"
        )


class _Forecast(msgspec.Struct, frozen=True):
    type: str
    suite: str = ""
    opens: str | None = None


_FORECAST = msgspec.json.Decoder(_Forecast)


class PinWatch:
    """Compares files with what is pinned, and refuses forecasts while one differs."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Take the folders in which files are looked for."""
        self._folders = folders
        self._changed: dict[str, Changed] = {}
        # By path: what the file system said of a file, and its hash then.
        self._hashes: dict[Path, tuple[tuple[int, ...], str]] = {}
        self.files = 0

    @property
    def changed(self) -> tuple[Changed, ...]:
        """The first file of each suite that has changed."""
        return tuple(self._changed.values())

    def missing(self) -> list[str]:
        """Return the folders that are not there."""
        return [str(each) for each in self._folders if not each.is_dir()]

    def places(self, suites: Mapping[str, FrozenSuite]) -> set[Path]:
        """Return the folders in which a change would matter."""
        pinned = {
            place.parent
            for frozen in suites.values()
            for name in frozen.manifest.pins
            for place in self._candidates(name)
        }
        return {each for each in (*self._folders, *pinned) if each.is_dir()}

    def look(self, suites: Mapping[str, FrozenSuite]) -> None:
        """Compare the files of the suites in force with what they pin."""
        self.files = 0
        found: dict[str, Changed] = {}
        for each in self._differing(suites):
            found.setdefault(each.suite, each)
        # One assignment: another thread sees all of it or what was before.
        self._changed = found

    def refusal(self, payload: bytes) -> RefusedError | None:
        """Return why a signed event may not follow now, or None.

        What opens a sealed forecast is none, and stays allowed.
        """
        changed = self._changed
        if not changed:
            return None
        try:
            event = _FORECAST.decode(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None  # The door says what is wrong with it.
        found = changed.get(event.suite)
        if found is None or event.type not in _FORECASTS or event.opens is not None:
            return None
        return RefusedError(CODE, found.sentence())

    def _differing(self, suites: Mapping[str, FrozenSuite]) -> Iterator[Changed]:
        for name, frozen in suites.items():
            for pin, digest in frozen.manifest.pins.items():
                for place in self._candidates(pin):
                    found = self._hash(place)
                    if found not in {None, digest}:
                        yield _changed(name, place, digest, str(found))
        for place in self._tables():
            yield from self._table(place, suites)

    def _candidates(self, name: str) -> Iterator[Path]:
        # A pin's name may have slashes; it leads out of no folder.
        parts = Path(name).parts
        if ".." not in parts and not Path(name).is_absolute():
            yield from (folder / name for folder in self._folders)

    def _tables(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from sorted(folder.glob("*.toml"))

    def _hash(self, path: Path) -> str | None:
        """Return the SHA-256 of a file, None where there is none, else what is wrong."""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return "no regular file"
            seen = (
                status.st_dev, status.st_ino, status.st_size,
                status.st_mtime_ns, status.st_ctime_ns,
            )  # fmt: skip
            known = self._hashes.get(path)
            if known is None or known[0] != seen:
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(path, flags), "rb") as file:
                    known = seen, file_digest(file, "sha256").hexdigest()
                self._hashes[path] = known
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"unreadable ({error.strerror})"
        self.files += 1
        return known[1]

    def forget(self) -> None:
        """Read every file again at the next look: something was changed."""
        self._hashes.clear()

    def _table(
        self, place: Path, suites: Mapping[str, FrozenSuite]
    ) -> Iterator[Changed]:
        """Yield a suite's TOML that would not freeze as what was frozen."""
        try:
            table = tomllib.loads(read_regular(place).decode())
        except (OSError, ValueError, RecursionError):
            return  # It names no suite.
        frozen = suites.get(str(table.get("suite")))
        if frozen is None:
            return
        self.files += 1
        try:
            found = codec.suite_hash(freeze_manifest(table))
        except LedgerError:
            found = "no suite that could be frozen"
        if found != frozen.suite_hash:
            yield _changed(frozen.manifest.suite, place, frozen.suite_hash, found)


def _changed(suite: str, place: Path, pinned: str, found: str) -> Changed:
    return Changed(suite=suite, file=str(place), pinned=pinned, found=found)
