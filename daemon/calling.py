"""One question to a daemon, and its answer: for commands that look after it."""

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ledger.daemon.listening import places
from ledger.daemon.settings import read_settings
from ledger.daemon.sockets import EVALUATOR, SIDES, candidates
from ledger.errors import LedgerError, UncheckableError
from ledger.folder import Folder

_CHUNK = 65_536
_BYTES_MAX = 256 * 1024 * 1024  # of an answer: rows are long, and something ends them


class FaultAnsweredError(LedgerError):
    """The daemon answered with an error; `data` has its kebab-case code and more."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def sockets_of(
    folder: Folder, stated: str | None, environment: Mapping[str, str]
) -> list[str]:
    """Return the sockets at which a ledger's daemon may answer, the evaluator's first.

    Those of the settings come before those that every client tries.
    """
    sides = (EVALUATOR, *(side for side in SIDES if side != EVALUATOR))
    if stated is not None:
        return [stated]
    tried = candidates(
        sides, stated=None, ledger=str(folder.path.absolute()), environment=environment
    )
    own = places(folder, read_settings(folder).sockets, environment)
    return list(dict.fromkeys([*(str(own[side].path) for side in sides), *tried]))


class Caller:
    """One connection to a daemon: a question, its answer, and the next."""

    def __init__(self, path: str, *, seconds: int) -> None:
        """Connect; each answer may take so many seconds.

        Raises `UncheckableError` where nobody listens.
        """
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise _unanswered(path, error) from error

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def ask(self, method: str, params: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - any result
        """Return what the daemon answers.

        Raises `UncheckableError` where no answer comes, and `FaultAnsweredError` for an
        error.
        """
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        try:
            self._socket.sendall(msgspec.json.encode(request) + b"\n")
            answer = msgspec.json.decode(self._line())
        except (OSError, msgspec.DecodeError) as error:
            raise _unanswered(self._path, error) from error
        if "error" in answer:
            fault = answer["error"]
            raise FaultAnsweredError(fault["code"], fault["message"], fault["data"])
        return answer["result"]

    def _line(self) -> bytes:
        found = bytearray()
        while not found.endswith(b"\n"):
            chunk = self._socket.recv(_CHUNK)
            if not chunk or len(found) > _BYTES_MAX:
                raise ConnectionError("the answer does not end")
            found += chunk
        return bytes(found)


def _unanswered(path: str, error: Exception) -> UncheckableError:
    reason = getattr(error, "strerror", None) or error
    return UncheckableError(f"no daemon answers at {path}: {reason}")


def ask(
    path: str,
    method: str,
    params: Mapping[str, object] | None = None,
    *,
    seconds: int,
) -> Any:  # noqa: ANN401 - any result
    """Return what the daemon at a socket answers to one question; raise as `Caller`."""
    caller = Caller(path, seconds=seconds)
    try:
        return caller.ask(method, params)
    finally:
        caller.close()


def answering(
    folder: Folder, sockets: Sequence[str], *, seconds: int
) -> tuple[str, dict[str, Any]]:
    """Return the socket at which this ledger's daemon answers, and what it answered.

    Raises `UncheckableError` where none does, or only that of another ledger.
    """
    ledger, tried = folder.settings().ledger, []
    for path in sockets:
        try:
            greeting = ask(path, "ping", seconds=seconds)
        except UncheckableError as error:
            tried.append(str(error) if Path(path).exists() else f"{path} is not there")
            continue
        if greeting["ledger"] == ledger:
            return path, greeting
        tried.append(f"{path} is that of ledger {greeting['ledger'][:12]}…")
    msg = f"no daemon answers for {folder.path}: {'; '.join(tried)}: `ledger daemon start --ledger {folder.path}`"
    raise UncheckableError(msg)
