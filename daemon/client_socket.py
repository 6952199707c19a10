"""A client's way over the daemon's socket: a lost answer is asked for again.

What was sent is sent again as it was, signatures included, so that the daemon answers
with the receipt of what it has already: nothing is written twice.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ledger.daemon.calling_wire import RETRY_SECONDS, Patience, Wire, request_line
from ledger.daemon.client_talk import Ask, error_of
from ledger.daemon.protocol import BUSY


class SocketWay:
    """One connection at a time to one socket."""

    def __init__(self, path: str, seconds: float) -> None:
        """Take the socket's path, and how long a request may take in all."""
        self._path = path
        self._seconds = seconds
        self._wire = Wire(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a conversation."""
        yield

    def ask(self, ask: Ask) -> Any:  # noqa: ANN401 - any result
        """Return a result, asking again while the daemon is busy or gone for a moment."""
        line = request_line(ask.method, ask.params)
        patience = Patience(self._path, self._seconds)
        while True:
            try:
                left = max(patience.left_seconds, RETRY_SECONDS[0])
                answer = self._wire.ask(line, left)
            except OSError as error:
                time.sleep(patience.pause_seconds(error))
                continue
            if answer.error is None:
                return answer.result
            if answer.error.code != BUSY:
                raise error_of(answer.error)
            time.sleep(patience.busy_seconds(answer.error))

    def close(self) -> None:
        """Hang up."""
        self._wire.close()
