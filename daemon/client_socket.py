"""A client's way over the daemon's socket: a lost answer is asked for again.

What was sent is sent again as it was, signatures included, so that the daemon answers
with the receipt of what it has already: nothing is written twice.
"""

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from ledger.clock import monotonic_seconds
from ledger.daemon import protocol
from ledger.daemon.client_talk import Ask, error_of
from ledger.errors import UncheckableError

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_MILLISECONDS = 1_000
_CHUNK = 65_536
_BYTES_MAX = 256 * 1024 * 1024


class Patience:
    """How long to go on trying, and how long to wait before each next time."""

    def __init__(self, seconds: float) -> None:
        """Begin to count."""
        self._until = monotonic_seconds() + seconds
        self._tries = 0

    @property
    def left_seconds(self) -> float:
        """How much time is left; never negative."""
        return max(0.0, self._until - monotonic_seconds())

    def busy_seconds(self, error: Mapping[str, Any]) -> float | None:
        """Return how long a busy daemon wants to be left alone; None for other errors."""
        if error["code"] != protocol.BUSY or not self.left_seconds:
            return None
        wait: float = error["data"].get("retry_after_ms", 50) / _MILLISECONDS
        return min(wait, self.left_seconds)

    def pause_seconds(self, path: str, why: Exception) -> float:
        """Return how long to wait after a failure; raise `UncheckableError` at the end."""
        if not self.left_seconds:
            msg = (
                f"no answer came from the daemon at {path} ({why}): what was asked may "
                "have been done; ask for it again, it is not done twice"
            )
            raise UncheckableError(msg) from why
        wait = RETRY_SECONDS[min(self._tries, len(RETRY_SECONDS) - 1)]
        self._tries += 1
        return min(wait, self.left_seconds)


def request_line(ask: Ask) -> bytes:
    """Return a request as it goes over the wire."""
    request = {"jsonrpc": "2.0", "id": 1, "method": ask.method, "params": ask.params}
    return msgspec.json.encode(request) + b"\n"


def read_answer(line: bytes) -> dict[str, Any]:
    """Return an answer's object; raise `ConnectionError` for what is none."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        msg = f"the answer is no JSON object: {error}"
        raise ConnectionError(msg) from error


class SocketWay:
    """One connection at a time to one socket."""

    def __init__(self, path: str, seconds: float) -> None:
        """Take the socket's path, and how long a request may take in all."""
        self._path = path
        self._seconds = seconds
        self._connection: socket.socket | None = None
        self._rest = bytearray()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a conversation."""
        yield

    def ask(self, ask: Ask) -> Any:  # noqa: ANN401 - any result
        """Return a result, asking again while the daemon is busy or gone for a moment."""
        line, patience = request_line(ask), Patience(self._seconds)
        while True:
            try:
                answer = read_answer(self._exchange(line, patience))
            except OSError as error:
                self.close()
                time.sleep(patience.pause_seconds(self._path, error))
                continue
            if "error" not in answer:
                return answer["result"]
            wait = patience.busy_seconds(answer["error"])
            if wait is None:
                raise error_of(answer["error"])
            time.sleep(wait)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._rest = None, bytearray()

    def _exchange(self, line: bytes, patience: Patience) -> bytes:
        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._connection.settimeout(max(patience.left_seconds, RETRY_SECONDS[0]))
            self._connection.connect(self._path)
        self._connection.settimeout(max(patience.left_seconds, RETRY_SECONDS[0]))
        self._connection.sendall(line)
        while (end := self._rest.find(b"\n")) < 0:
            more = self._connection.recv(_CHUNK)
            if not more or len(self._rest) > _BYTES_MAX:
                msg = "the daemon hung up"
                raise ConnectionError(msg)
            self._rest += more
        found = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return found
