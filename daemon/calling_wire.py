"""One connection to a daemon: a request there, its answer back, and why none came.

A daemon that admits no more clients says so in an answer that bears no id, with what a
ping would have answered, and hangs up. Whoever asks connects again when it says.
"""

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ledger.clock import monotonic_seconds
from ledger.daemon.protocol import Id
from ledger.errors import UncheckableError

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_RETRY_MS = 50
_MILLISECONDS = 1_000
_CHUNK = 65_536
_BYTES_MAX = 256 * 1024 * 1024  # of an answer: rows are long, and something ends them


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is an error; `data` has its kebab-case code and more."""

    code: int
    message: str
    data: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """The stable kebab-case code."""
        return str(self.data.get("code", "unknown"))

    @property
    def wait_seconds(self) -> float:
        """How long a busy daemon wants to be left alone."""
        match self.data.get("retry_after_ms"):
            case int(stated) if stated >= 0:
                return stated / _MILLISECONDS
            case _:
                return _RETRY_MS / _MILLISECONDS


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon answers: a result, or an error. Without an id it is to nobody's."""

    id: Id = None
    result: Any = msgspec.UNSET
    error: Fault | None = None


class SilentError(UncheckableError):
    """Somebody listens, and did not answer in time."""


class BusyError(UncheckableError):
    """The daemon answered that it takes nothing now, for as long as it was asked.

    `greeting` is what a ping would have answered, where no more clients are admitted.
    """

    def __init__(self, path: str, seconds: float, fault: Fault) -> None:
        """Take who was asked, for how long, and what was answered at last."""
        waited = f" and was for {round(seconds, 1):g} s" if seconds else ""
        msg = (
            f"the daemon at {path} is busy{waited}: {fault.message}; it did nothing of "
            "what was asked"
        )
        super().__init__(msg)
        self.path = path
        self.greeting: Mapping[str, Any] = fault.data if "pid" in fault.data else {}


class Patience:
    """How long to go on trying, and how long to wait before each next time."""

    def __init__(self, path: str, seconds: float) -> None:
        """Begin to count."""
        self._path = path
        self._seconds = seconds
        self._until = monotonic_seconds() + seconds
        self._tries = 0
        self._lost: Exception | None = None

    @property
    def left_seconds(self) -> float:
        """How much time is left; never negative."""
        return max(0.0, self._until - monotonic_seconds())

    def busy_seconds(self, fault: Fault) -> float:
        """Return how long to leave a busy daemon alone; raise `BusyError` at the end."""
        if self._lost is not None and not self.left_seconds:
            raise self._unknown(self._lost)
        if not self.left_seconds:
            raise BusyError(self._path, self._seconds, fault)
        return min(fault.wait_seconds, self.left_seconds)

    def pause_seconds(self, why: Exception) -> float:
        """Return how long to wait after a failure; raise `UncheckableError` at the end."""
        self._lost = why
        if not self.left_seconds:
            raise self._unknown(why)
        wait = RETRY_SECONDS[min(self._tries, len(RETRY_SECONDS) - 1)]
        self._tries += 1
        return min(wait, self.left_seconds)

    def _unknown(self, why: Exception) -> UncheckableError:
        msg = (
            f"no answer came from the daemon at {self._path} in {self._seconds:g} s "
            f"({why}): what was asked may have been done; ask for it again, it is not "
            "done twice"
        )
        return UncheckableError(msg)


def request_line(method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request as it goes over the wire."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return msgspec.json.encode(request) + b"\n"


class Wire:
    """A connection, made when it is needed. What failed is closed, and made anew."""

    def __init__(self, path: str) -> None:
        """Take the socket's path."""
        self._path = path
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def ask(self, line: bytes, seconds: float) -> Answer:
        """Send a line, and return the answer to it.

        Raises `OSError` where none comes in so many seconds: `TimeoutError` where
        somebody listens, `BlockingIOError` where too many wait to be heard.
        """
        try:
            answer = _read(self._exchanged(line, monotonic_seconds() + seconds))
        except OSError:
            self.close()
            raise
        if answer.id is None:
            self.close()  # As the daemon does: it let nobody in, or read no request.
        return answer

    def _exchanged(self, line: bytes, ends_at: float) -> bytes:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._in_time(ends_at).connect(self._path)
        with suppress(BrokenPipeError, ConnectionResetError):
            # Who hung up may have said why before.
            self._in_time(ends_at).sendall(line)
        found = bytearray()
        while not found.endswith(b"\n"):
            chunk = self._in_time(ends_at).recv(_CHUNK)
            if not chunk or len(found) > _BYTES_MAX:
                msg = "the daemon hung up"
                raise ConnectionError(msg)
            found += chunk
        return bytes(found)

    def _in_time(self, ends_at: float) -> socket.socket:
        """Return the socket, whose next call ends when the time does."""
        assert self._socket is not None
        left = ends_at - monotonic_seconds()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)
        return self._socket


def _read(line: bytes) -> Answer:
    """Return a line's answer; raise `ConnectionError` for what is none."""
    try:
        answer = msgspec.json.decode(line, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the answer is none of a daemon's: {error}"
        raise ConnectionError(msg) from error
    if answer.error is None and answer.result is msgspec.UNSET:
        msg = "the answer is none of a daemon's: it has neither a result nor an error"
        raise ConnectionError(msg)
    return answer
