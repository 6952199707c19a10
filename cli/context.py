"""Where a command works: which ledger, whose keys, what time it is.

The current folder and the clock are read here alone.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.cli import growth
from ledger.clock import Clock, steady_seconds, system_clock
from ledger.daemon import homes
from ledger.daemon.homes import LEDGER_DIR
from ledger.errors import RefusedError, UncheckableError, UsageError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key, read_keys
from ledger.keys.signing import SignerKey
from ledger.log import Reader, open_reader, open_writer
from ledger.writer import Writer

_DAEMON_SECONDS = 60
LOG_KEY_LOST = (
    "the log's own key is made once and no other goes on with its log, so restore it "
    "from the backup"
)


def clock() -> Clock:
    """Return the clock that commands read."""
    return system_clock


def state_home() -> Path:
    """Return where this user's programs remember things: $XDG_STATE_HOME."""
    return homes.state_home(os.environ)


def find_ledger(stated: str | None) -> Folder:
    """Return the ledger that was named, or that of the current folder.

    Raises `UsageError` where there is none.
    """
    folder = Folder(Path(stated or "."))
    if stated is None and not folder.settings_file.exists():
        msg = (
            "the current folder is no ledger: say which with --ledger DIR or "
            f"{LEDGER_DIR}, or make one with `ledger init DIR --origin NAME`"
        )
        raise UsageError(msg)
    folder.settings()
    return folder


def find_ledger_if_any(stated: str | None) -> Folder | None:
    """Return the ledger that was named or is here; None where none is meant."""
    if stated is None and not Folder(Path()).settings_file.exists():
        return None
    return find_ledger(stated)


def keys_folder(folder: Folder, stated: str | None) -> Path:
    """Return where private keys are looked for; raise `UsageError` for no folder."""
    if stated is None:
        return folder.keys
    if not Path(stated).is_dir():
        msg = f"{stated} is no folder: --keys names the one that holds the key files"
        raise UsageError(msg)
    return Path(stated)


def read_input(path: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`; raise `UsageError` for none."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


class KeyRing:
    """The private keys at hand, by the names of their principals."""

    def __init__(self, folder: Path) -> None:
        """Read the key files of `folder`."""
        self.folder = folder
        self._keys = read_keys(folder)

    def __contains__(self, name: str) -> bool:
        """Tell whether the key of a principal is at hand."""
        return name in self._keys

    def all(self) -> dict[str, SignerKey]:
        """Return every key at hand, by the names of their principals."""
        return dict(self._keys)

    def get(self, name: str) -> SignerKey | None:
        """Return the key of a principal, or None."""
        return self._keys.get(name)

    def require(self, name: str) -> SignerKey:
        """Return the key of a principal; refuse to sign without it."""
        signer = self._keys.get(name)
        if signer is None:
            known = ", ".join(self._keys) or "none"
            msg = (
                f"{self.folder} holds no private key of {name} (it holds {known}): "
                "say where it is with --keys FOLDER"
            )
            raise RefusedError("key-missing", msg)
        return signer


@contextmanager
def writing(folder: Folder, *, alone: bool = False) -> Iterator[Writer]:
    """Take the ledger's lock for one command, and give its writer.

    Where the ledger's daemon has the lock, the writer is one that hands each event to
    it; unless the command must be able to take back what it staged, and be `alone`.
    """
    try:
        writer = _own_writer(folder)
    except UsageError:
        remote = _daemons_writer(folder, alone=alone)
        if remote is None:
            raise
        writer = remote
    with writer:
        growth.note(folder, writer.size)
        yield writer


def _own_writer(folder: Folder) -> Writer:
    return open_writer(
        folder,
        read_key(folder.log_key, LOG_KEY_LOST),
        clock=clock(),
        state_home=state_home(),
        steady=steady_seconds,
    )


def _daemons_writer(folder: Folder, *, alone: bool) -> Writer | None:
    """Return a writer that goes through the ledger's daemon; None where none answers."""
    from ledger.daemon.calling import reached, sockets_of
    from ledger.daemon.calling_wire import BusyError, SilentError
    from ledger.daemon.remote import RemoteWriter

    try:
        sockets = sockets_of(folder, None, os.environ)
        caller, greeting = reached(folder, sockets, seconds=_DAEMON_SECONDS)
    except (BusyError, SilentError):
        raise
    except (UncheckableError, UsageError):
        # Why the lock could not be taken is the better answer.
        return None
    if alone:
        msg = (
            f"the daemon at {caller.path} (process {greeting['pid']}) writes to {folder.path}, "
            "and takes nothing back: leave --atomic out, or stop it first with "
            f"`ledger daemon stop --ledger {folder.path}`"
        )
        caller.close()
        raise UsageError(msg)
    return RemoteWriter(folder, caller, clock())


@contextmanager
def reading(stated: str | None) -> Iterator[tuple[Folder, Reader]]:
    """Give a reader of the ledger that was named, beside whoever writes to it."""
    folder = find_ledger(stated)
    with open_reader(folder) as reader:
        yield folder, reader
