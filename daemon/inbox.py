"""Signed events that come as files: each event is let in once, each file put away.

A file is dropped into `inbox/` by a rename, so that it is whole when it appears. It is
moved to `taking/`, its events are made durable, and then it goes to `done/`, or to
`refused/` with the reasons beside it. Whoever is killed in between takes what lies in
`taking/` again: an event that is in the log already keeps its first receipt.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from ledger.daemon.commits import Outcome
from ledger.daemon.protocol import LINE_BYTES_MAX
from ledger.durable import SMALL, write_durably
from ledger.errors import LedgerError, RefusedError
from ledger.folder import Folder
from ledger.ids import sha256_hex
from ledger.unseen import whole

DONE, REFUSED, TAKING, OBSERVED = "done", "refused", "taking", "observed"
FILE_BYTES_MAX = 256 * 1024 * 1024
# Blank ones included: they take time, and nothing comes of them that could be yielded.
FILE_LINES_MAX = 1_000_000
# What is not yet whole is dropped under such a name and renamed.
_UNFINISHED = (".tmp",)
_LINES, _ONE = ".jsonl", ".json"
_GROUP_EVENTS_MAX, _GROUP_BYTES_MAX = 500, 4 * 1024 * 1024
_TOLD_MAX = 1_000
_NAME_BYTES_MAX = 200  # of the 255 that a name may have, with what is added to it
_FILE_S_OWN = {errno.EACCES, errno.ELOOP, errno.ENXIO, errno.EPERM}
# Refusals that speak of the ledger and not of the event: the file waits.
_LEDGER_S_OWN = frozenset({"behind-mark", "busy", "clock-jumped"})


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was refused, numbered from 1; without a number it is the file."""

    line: int | None
    code: str
    message: str


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: how many of its events are in the log, and what is not.

    `kept_as` is where it lies now, within the inbox.
    """

    name: str
    accepted: int
    refused: int
    told: tuple[Refused, ...]
    kept_as: str


class WaitsError(LedgerError):
    """The ledger takes nothing at present, so that a file stays for later."""


# A line: a signed event as it stands, or why it is none.
Line = msgspec.Raw | RefusedError
# Yields signed events, is sent what became of each once it is durable, and returns.
Taking = Generator[list[msgspec.Raw], Sequence[Outcome], Taken]


class Inbox:
    """`inbox/` of one ledger. One process at a time may take from it: who has the lock."""

    def __init__(self, folder: Folder) -> None:
        """Take the ledger's folder; `make` makes what is missing in it."""
        self.path = folder.path / "inbox"

    def make(self) -> None:
        """Make the inbox and its folders, closed to other users."""
        for name in ("", DONE, REFUSED, TAKING, OBSERVED):
            (self.path / name).mkdir(mode=0o700, exist_ok=True)

    def places(self) -> set[Path]:
        """Return the folder in which files are dropped, once it is there."""
        return {self.path} if self.path.is_dir() else set()

    def waiting(self) -> list[str]:
        """Return what is to be taken: what was begun first, then in the order of names.

        Hidden names and `*.tmp` are somebody's who still writes.
        """
        begun = _names(self.path / TAKING)
        own = {DONE, REFUSED, TAKING, OBSERVED}
        dropped = [
            name
            for name in _names(self.path)
            if name not in own
            and not name.startswith(".")
            and not name.endswith(_UNFINISHED)
        ]
        return [*begun, *dropped]

    def take(self, name: str) -> Taking:
        """Take one file that waits.

        Each step yields signed events, and is sent an outcome for each, in their order.
        Raises `WaitsError` where the ledger takes nothing at present, and `OSError`
        where the disk fails; the file stays where it is found the next time.
        """
        place = self.path / TAKING / name
        if not os.path.lexists(place):
            # From here on nobody can put another file under the name that is read.
            (self.path / name).rename(place)
        told = _Told()
        try:
            with _opened(place) as file:
                for numbers, group in _groups(file, is_one=name.endswith(_ONE)):
                    outcomes: Sequence[Outcome] = yield [
                        each for each in group if isinstance(each, msgspec.Raw)
                    ]
                    told.note(numbers, group, outcomes)
        except RefusedError as unfit:
            told.refuse(None, unfit)
        return self._put_away(name, told)

    def _put_away(self, name: str, told: "_Told") -> Taken:
        kept_in = self.path / (REFUSED if told.refused else DONE)
        kept_as = _free(kept_in, name)
        taken = Taken(
            name=whole(name),
            accepted=told.accepted,
            refused=told.refused,
            told=tuple(told.lines),
            kept_as=f"{kept_in.name}/{whole(kept_as)}",
        )
        if told.refused:
            # Before the file: what lies in refused/ has its reason beside it.
            reason = msgspec.json.format(msgspec.json.encode(taken), indent=1)
            write_durably(kept_in / f"{kept_as}.reason.json", reason + b"\n")
        (self.path / TAKING / name).rename(kept_in / kept_as)
        return taken


class _Told:
    """What became of the lines of one file so far."""

    def __init__(self) -> None:
        self.accepted = self.refused = 0
        self.lines: list[Refused] = []

    def note(
        self, numbers: Sequence[int], group: Sequence[Line], outcomes: Sequence[Outcome]
    ) -> None:
        """Note a group; raise `WaitsError` for a line that the ledger could not judge."""
        coming = iter(outcomes)
        for number, line in zip(numbers, group, strict=True):
            outcome = line if isinstance(line, RefusedError) else next(coming)
            if isinstance(outcome, RefusedError):
                self.refuse(number, outcome)
            else:
                self.accepted += 1

    def refuse(self, line: int | None, refusal: RefusedError) -> None:
        """Note a line, or the whole file."""
        if refusal.code in _LEDGER_S_OWN:
            raise WaitsError(str(refusal))
        self.refused += 1
        if len(self.lines) < _TOLD_MAX:
            said = Refused(line=line, code=refusal.code, message=refusal.message)
            self.lines.append(said)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except FileNotFoundError:
        return []


def _opened(path: Path) -> IO[bytes]:
    """Open a regular file of a kind and size that is taken; refuse anything else."""
    if path.suffix not in {_LINES, _ONE}:
        msg = f"{whole(path.name)} is named neither *.jsonl nor *.json"
        raise RefusedError("file-unfit", f"{msg}: rename it and drop it again")
    try:
        # A link is nobody's file here, and a pipe would wait for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno not in _FILE_S_OWN:
            raise
        msg = f"it cannot be opened as a regular file: {error.strerror}"
        raise RefusedError("file-unfit", msg) from None
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_size <= FILE_BYTES_MAX:
        return os.fdopen(handle, "rb")
    os.close(handle)
    msg = f"it is no regular file of at most {FILE_BYTES_MAX:,} bytes"
    raise RefusedError("file-unfit", f"{msg}: drop files, larger ones in parts")


def _groups(file: IO[bytes], *, is_one: bool) -> Iterator[tuple[list[int], list[Line]]]:
    """Yield lines that are not blank with their numbers, some at a time."""
    numbers: list[int] = []
    group: list[Line] = []
    size = 0
    for number, line in _whole(file) if is_one else _lines(file):
        numbers.append(number)
        group.append(line)
        size += len(memoryview(line)) if isinstance(line, msgspec.Raw) else 0
        if len(group) == _GROUP_EVENTS_MAX or size >= _GROUP_BYTES_MAX:
            yield numbers, group
            numbers, group, size = [], [], 0
    if group:
        yield numbers, group


def _whole(file: IO[bytes]) -> Iterator[tuple[int, Line]]:
    """Yield a file that is one JSON object, however it is laid out; else its lines."""
    content = file.read(SMALL + 1)
    try:
        if len(content) <= SMALL:
            msgspec.json.decode(content, type=dict[str, msgspec.Raw])
            yield 1, msgspec.Raw(content)
            return
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # What is wrong is said of each line.
    file.seek(0)
    yield from _lines(file)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, Line]]:
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if number > FILE_LINES_MAX:
            msg = f"the file has more than {FILE_LINES_MAX:,} lines"
            rest = f"{msg}: drop this one and the rest in other files"
            yield number, RefusedError("file-unfit", rest)
            return
        if file.tell() > FILE_BYTES_MAX:
            msg = f"the file grew beyond {FILE_BYTES_MAX:,} bytes while it was read"
            rest = f"{msg}: write this line and the rest elsewhere, then rename it"
            yield number, RefusedError("file-unfit", rest)
            return
        if len(line.removesuffix(b"\n")) > LINE_BYTES_MAX:
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE_BYTES_MAX)
            msg = f"the line is longer than {LINE_BYTES_MAX:,} bytes: no event is"
            yield number, RefusedError("too-large", msg)
        elif line.strip():
            yield number, msgspec.Raw(line)


def _free(folder: Path, name: str) -> str:
    """Return a name that nothing has in a folder: this one, or one like it."""
    if len(os.fsencode(name)) > _NAME_BYTES_MAX:
        name = sha256_hex(os.fsencode(name)) + Path(name).suffix[:16]
    count, found = 1, Path(name)
    while os.path.lexists(folder / found):
        count += 1
        found = found.with_stem(f"{Path(name).stem}-{count}")
    return found.name
