"""Pinned files on disk: when one is no longer what its suite pinned, forecasts stop.

Nobody is to forecast a suite by one acceptance test and be judged by another. Files
are looked for under their pinned names in the folders that `daemon.toml` names; a
suite's own TOML is every `*.toml` there that names a suite in force. Versions that a
later one superseded are left alone, as their files may well have changed.

A pinned file may lie elsewhere, so that one which was never seen is only named. One that
was seen and is gone counts as changed, or deleting an edited file would make it right.
"""

import errno
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path

import msgspec

from ledger import codec
from ledger.daemon.admission import FORECASTS
from ledger.durable import read_regular
from ledger.errors import LedgerError, RefusedError
from ledger.state import FrozenSuite
from ledger.suite_check import freeze_manifest
from ledger.unseen import whole

CODE, UNWATCHED = "pinned-file-changed", "pinned-files-unwatched"
GONE = "gone"
_NO_SUITE = "no suite that could be frozen"
_TABLE = ".toml"


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
        # Which suite a TOML was of when it could last be read.
        self._tables_of: dict[Path, str] = {}
        # Where pinned files were seen.
        self._seen: set[Path] = set()
        # By the names of their pins, those that are in none of the folders.
        self.absent: list[str] = []
        self._left: str | None = None
        self._unsure: str | None = None
        self.files = 0

    @property
    def changed(self) -> tuple[Changed, ...]:
        """The first file of each suite that has changed."""
        return tuple(self._changed.values())

    @property
    def trouble(self) -> str | None:
        """What keeps files from being compared, where something does."""
        return self._left or self._unsure

    def leave(self, reason: str) -> None:
        """Refuse all forecasts from now on: nobody compares files any more."""
        self._left = reason

    def missing(self) -> list[str]:
        """Return the folders that are not there."""
        return [whole(str(each)) for each in self._folders if not _is_folder(each)]

    def places(self, suites: Mapping[str, FrozenSuite]) -> set[Path]:
        """Return the folders in which a change would matter."""
        pinned = {
            place.parent
            for frozen in suites.values()
            for name in frozen.manifest.pins
            for place in self._candidates(name)
        }
        return {each for each in (*self._folders, *pinned) if _is_folder(each)}

    def look(self, suites: Mapping[str, FrozenSuite]) -> None:
        """Compare the files of the suites in force with what they pin."""
        self.files, self._unsure = 0, None
        found: dict[str, Changed] = {}
        absent: list[str] = []
        for each in (*self._differing(suites, absent), *self._other_tables(suites)):
            found.setdefault(each.suite, each)
        # One assignment each: another thread sees all of it or what was before.
        self._changed, self.absent = found, list(dict.fromkeys(absent))

    def refusal(self, payload: bytes) -> RefusedError | None:
        """Return why a signed event may not follow now, or None.

        What opens a sealed forecast is none, and stays allowed.
        """
        changed = self._changed
        is_left = self._left is not None and bool(self._folders)
        if not changed and not is_left:
            return None
        try:
            event = _FORECAST.decode(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None  # The door says what is wrong with it.
        if event.type not in FORECASTS or event.opens is not None:
            return None
        if is_left:
            msg = f"nobody can tell whether the files of {event.suite} are as pinned"
            return RefusedError(UNWATCHED, f"{msg}: {self._left}")
        found = changed.get(event.suite)
        return None if found is None else RefusedError(CODE, found.sentence())

    def _differing(
        self, suites: Mapping[str, FrozenSuite], absent: list[str]
    ) -> Iterator[Changed]:
        """Yield the pinned files that are not as pinned; note which are nowhere."""
        for name, frozen in suites.items():
            for pin, digest in frozen.manifest.pins.items():
                hashes = {place: self._hash(place) for place in self._candidates(pin)}
                there = {place: each for place, each in hashes.items() if each}
                for place, found in there.items():
                    if found != digest:
                        yield _changed(name, place, digest, found)
                if not there and self._folders:
                    absent.append(pin)
                    for place in hashes.keys() & self._seen:
                        yield _changed(name, place, digest, GONE)
                self._seen.update(there)

    def _other_tables(self, suites: Mapping[str, FrozenSuite]) -> Iterator[Changed]:
        """Yield the suites' own files that are others, or are gone without another."""
        gone: dict[Path, Changed] = {}
        for place in self._tables():
            for each in self._table(place, suites):
                if each.found == GONE:
                    gone[place] = each
                else:
                    yield each
        there = {suite for place, suite in self._tables_of.items() if place not in gone}
        for place, each in gone.items():
            if each.suite in there:
                del self._tables_of[place]  # It has another name now.
            else:
                yield each

    def _candidates(self, name: str) -> Iterator[Path]:
        # A pin's name may have slashes; it leads out of no folder.
        parts = Path(name).parts
        if ".." not in parts and not Path(name).is_absolute():
            yield from (folder / name for folder in self._folders)

    def _tables(self) -> Iterator[Path]:
        """Yield TOML files, and those that were read earlier in any case.

        A folder that is closed to being listed hides no change of those.
        """
        found = set(self._tables_of)
        for folder in self._folders:
            try:
                found.update(
                    each for each in folder.iterdir() if each.name.endswith(_TABLE)
                )
            except (FileNotFoundError, NotADirectoryError):
                continue  # `missing` names it.
            except OSError as error:
                self._doubt(folder, error)
        yield from sorted(found)

    def _doubt(self, place: Path, error: OSError) -> None:
        """Note the first place where a suite's own file may lie unseen."""
        self._unsure = self._unsure or (
            f"{whole(str(place))} cannot be read ({error.strerror}), so that nobody can "
            "tell whether a suite's own file there is another: make it readable, or "
            "take it away"
        )

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
            return _unreadable(error)
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
        except OSError as error:
            yield from self._unread(place, error, suites)
            return
        except (ValueError, RecursionError):
            was = suites.get(self._tables_of.get(place, ""))
            if was is not None:
                yield _changed(was.manifest.suite, place, was.suite_hash, _NO_SUITE)
            return
        frozen = suites.get(str(table.get("suite")))
        if frozen is None:
            self._tables_of.pop(place, None)
            return
        self._tables_of[place] = frozen.manifest.suite
        self.files += 1
        try:
            found = codec.suite_hash(freeze_manifest(table))
        except LedgerError:
            found = _NO_SUITE
        if found != frozen.suite_hash:
            yield _changed(frozen.manifest.suite, place, frozen.suite_hash, found)

    def _unread(
        self, place: Path, error: OSError, suites: Mapping[str, FrozenSuite]
    ) -> Iterator[Changed]:
        """Yield a suite's TOML that can be read no more; doubt one of no known suite."""
        frozen = suites.get(self._tables_of.get(place, ""))
        is_gone = error.errno in {errno.ENOENT, errno.ENOTDIR}
        if frozen is not None:
            found = GONE if is_gone else _unreadable(error)
            yield _changed(frozen.manifest.suite, place, frozen.suite_hash, found)
        elif is_gone:
            self._tables_of.pop(place, None)
        else:
            self._doubt(place, error)


def _is_folder(path: Path) -> bool:
    # `Path.is_dir` raises where a folder on the way may not be entered.
    return os.path.isdir(path)  # noqa: PTH112


def _unreadable(error: OSError) -> str:
    return f"unreadable ({error.strerror})"


def _changed(suite: str, place: Path, pinned: str, found: str) -> Changed:
    return Changed(suite=suite, file=whole(str(place)), pinned=pinned, found=found)
