"""Sockets made on the file system: in whose folder, open to whom, and taken away again."""

import grp
import os
import socket
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from ledger.daemon.settings import Sockets
from ledger.daemon.sockets import (
    AGENT,
    PATH_BYTES_MAX,
    SIDES,
    file_name,
    is_too_long,
    runtime_folder,
)
from ledger.errors import UsageError
from ledger.folder import Folder

_BACKLOG = 1_024
_CONNECT_SECONDS = 5
# One more means to the system that the group is to stay as it is.
_GROUP_MAX, _DIGITS_MAX = 2**32 - 2, 10


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a side's socket lies; `group` is who may use it beside this user."""

    path: Path
    group: int | None = None


def places(
    folder: Folder, stated: Sockets, environment: Mapping[str, str]
) -> dict[str, Place]:
    """Return where the sockets of both sides lie.

    In the folders of the settings, else in the ledger's own; where its path is too
    long for a socket, in the user's runtime folder. Raises `UsageError` where no path
    is short enough, and for a group that there is not.
    """
    named = {
        AGENT: stated.agent_folder,
        **dict.fromkeys(SIDES[1:], stated.evaluator_folder),
    }
    group = None if stated.agent_group is None else _group(stated.agent_group)
    return {
        side: Place(
            path=_path(side, folder, named[side], environment),
            group=group if side == AGENT else None,
        )
        for side in SIDES
    }


def _path(
    side: str, folder: Folder, named: str | None, environment: Mapping[str, str]
) -> Path:
    within = folder.path.absolute() if named is None else folder.path.absolute() / named
    path = within / file_name(side)
    runtime = runtime_folder(environment)
    if named is None and runtime is not None and is_too_long(str(path)):
        path = Path(runtime) / file_name(side)
    if is_too_long(str(path)):
        msg = (
            f"{path} is too long for a socket's name, which has at most {PATH_BYTES_MAX} "
            f"bytes: name a shorter {side}_folder in daemon.toml"
        )
        raise UsageError(msg)
    return path


def _group(name: str) -> int:
    if name.isdecimal():
        if len(name) > _DIGITS_MAX or int(name) > _GROUP_MAX:
            msg = (
                f"agent_group in daemon.toml is {name[:40]}, and a group's number is at "
                f"most {_GROUP_MAX}: write the name or the number of a group"
            )
            raise UsageError(msg)
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        msg = f"agent_group in daemon.toml is {name[:40]!r}, and there is no such group here"
        raise UsageError(msg) from None


class Listening:
    """A listening socket and, where this process made it, its file."""

    def __init__(self, listener: socket.socket, path: Path | None = None) -> None:
        """Take a socket over; `path` is removed with it."""
        self.listener = listener
        self._path = path
        self._made = None if path is None else path.stat()

    def close(self) -> None:
        """Close the socket and remove its file, unless somebody replaced it."""
        self.listener.close()
        if self._path is None or self._made is None:
            return
        try:
            there = self._path.lstat()
        except FileNotFoundError:
            return
        if os.path.samestat(there, self._made):
            self._path.unlink()


def listen(place: Place) -> Listening:
    """Make a side's socket and listen on it; its folder is made where there is none.

    A socket that nobody answers on is a dead daemon's and is replaced. Raises
    `UsageError` where somebody answers, where another file is in the way, and where
    the folder lets others put a socket of theirs there.
    """
    path = place.path
    mode = 0o700 if place.group is None else 0o750
    try:
        _make_folder(path.parent, mode, place.group)
        _require_closed(path.parent, mode)
        _clear(path)
        with ExitStack() as on_failure:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            on_failure.callback(listener.close)
            listener.bind(str(path))
            made = Listening(listener, path)
            on_failure.callback(made.close)
            if place.group is not None:
                os.chown(path, -1, place.group)
            path.chmod(0o600 if place.group is None else 0o660)
            listener.listen(_BACKLOG)
            on_failure.pop_all()
    except OSError as error:
        msg = f"the socket {path} cannot be made: {error.strerror}"
        raise UsageError(msg) from error
    return made


def _make_folder(folder: Path, mode: int, group: int | None) -> None:
    if folder.is_dir():
        return
    folder.mkdir(mode=0o700, parents=True)
    if group is not None:
        os.chown(folder, -1, group)
    folder.chmod(mode)


def _require_closed(folder: Path, mode: int) -> None:
    """Refuse a folder in which another user could put another socket, or may look."""
    found = folder.stat()
    if found.st_uid not in {os.geteuid(), 0}:
        msg = f"{folder} belongs to another user, who could replace a socket in it: choose a folder of your own"
        raise UsageError(msg)
    above = folder.parent.stat().st_mode
    if above & stat.S_IWOTH and not above & stat.S_ISVTX:
        msg = f"anybody may move {folder} away and put another there: chmod o-w {folder.parent}"
        raise UsageError(msg)
    if stat.S_IMODE(found.st_mode) & ~mode & 0o077:
        had = f"{stat.S_IMODE(found.st_mode):04o}"
        remedy = f"chmod {mode:o} {folder}"
        if _is_shared(folder):
            remedy = (
                "name a folder in daemon.toml that holds nothing else, such as "
                f"{folder / 'sealed-ledger'}"
            )
        msg = f"{folder} has mode {had}, which opens it to others: {remedy}"
        raise UsageError(msg)


def _is_shared(folder: Path) -> bool:
    """Tell whether a folder holds what is neither a socket nor a ledger's."""
    if Folder(folder).settings_file.exists():
        return False
    return any(not stat.S_ISSOCK(each.lstat().st_mode) for each in folder.iterdir())


def _clear(path: Path) -> None:
    """Remove a dead daemon's socket; that it is there says nothing, a connect does."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        msg = f"{path} is no socket: move that file away"
        raise UsageError(msg)
    if is_answered(path):
        msg = f"another daemon answers at {path}: stop it, or name another folder in daemon.toml"
        raise UsageError(msg)
    path.unlink()


def is_answered(path: Path) -> bool:
    """Tell whether a process listens on the socket of that name."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(_CONNECT_SECONDS)
        try:
            caller.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except (BlockingIOError, TimeoutError):
            return True  # Its queue is full: somebody has it.
    return True
