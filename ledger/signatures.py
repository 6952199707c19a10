"""Signatures checked ahead of the writer, by a process of their own.

An Ed25519 check takes as long as all that the rules and the disk do with an event, and
in a second thread it would wait for the interpreter's lock more than it works. A process
that is given events some steps before they are staged nearly halves the time of a bulk
append. Until it is ready, or where it died, each signature is checked where its event
is staged: nothing is ever let in on a verdict that was not given.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Self

import msgspec

from ledger.keys.signing import payload_verifies
from ledger.shielding import shielded
from ledger.writer import Checked, Submission

_CHUNK = 32
_CHUNKS_AHEAD = 3
# What fits into the buffer of a pipe, so that to give more never waits.
_BYTES_AHEAD = 128 * 1024
# Fewer events than these are checked before a process could be started.
WORTH_A_PROCESS = 1_000
_READY = b"ready"
_END_SECONDS = 1

# The author's key, the signature and the payload of each event of a chunk.
_Chunk = list[tuple[bytes, bytes, bytes]]
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODER = msgspec.msgpack.Decoder(_Chunk)


class Given:
    """Events whose signatures are being checked; asked for in the order of giving."""

    def __init__(self, ahead: "SignaturesAhead", number: int) -> None:
        self._ahead = ahead
        self._number = number
        self._found: bytes | None = None

    def verdicts(self) -> bytes:
        """Return a byte for each event, 1 where it is signed; nothing if none will come.

        Waits for them. All calls come from one thread, which may be another than the
        one that gives.
        """
        if self._found is None:
            self._found = self._ahead.answer(self._number)
        return self._found


class SignaturesAhead:
    """The process, and what was given to it; `close` ends it.

    It is started when something is given for the first time, and until it is ready
    nothing is given to it.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._connection, self._theirs = self._context.Pipe()
        self._process: SpawnProcess | None = None
        self._is_ready = self._is_broken = False
        # How much was given and answered: each is counted by one thread alone.
        self._sizes: deque[int] = deque()
        self._given_bytes = self._answered_bytes = 0
        self._given = self._answered = 0

    def checked(self, submissions: Iterable[Submission]) -> Iterator[Submission]:
        """Yield events in their order, as `Checked` those whose signatures verify.

        Up to a hundred are taken from `submissions` before the first is yielded.
        """
        source = iter(submissions)
        given: deque[tuple[list[Submission], Given | None]] = deque()
        while True:
            while len(given) < _CHUNKS_AHEAD:
                chunk = list(islice(source, _CHUNK))
                if not chunk:
                    break
                given.append((chunk, self.give(chunk)))
            if not given:
                return
            yield from known(*given.popleft())

    def give(self, chunk: Sequence[Submission]) -> Given | None:
        """Have events checked; None where that would wait, and is better done here."""
        size = sum(len(each.payload) for each in chunk)
        if self._given_bytes - self._answered_bytes + size > _BYTES_AHEAD:
            return None
        if not self._is_at_work():
            return None
        signed = [(each.author_key, each.signature, each.payload) for each in chunk]
        try:
            self._connection.send_bytes(_ENCODE(signed))
        except OSError:
            self._is_broken = True
            return None
        self._sizes.append(size)
        self._given_bytes += size
        self._given += 1
        return Given(self, self._given)

    def answer(self, number: int) -> bytes:
        """Return the verdicts of what was given as the `number`th; earlier ones go."""
        found = b""
        while self._answered < number and not self._is_broken:
            found = self._received()
            self._answered += 1
            self._answered_bytes += self._sizes.popleft()
        return b"" if self._is_broken else found

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._theirs.close()
        if self._process is None:
            return
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def _start(self) -> None:
        self._process = self._context.Process(
            target=_check, args=(self._theirs,), daemon=True
        )
        with shielded():
            self._process.start()
        # Held by the process alone, so that its end is the end of the connection.
        self._theirs.close()

    def _is_at_work(self) -> bool:
        try:
            if self._process is None:
                self._start()
            if not (self._is_ready or self._is_broken) and self._connection.poll():
                self._is_ready = self._received() == _READY
        except OSError:
            self._is_broken = True
        return self._is_ready and not self._is_broken

    def _received(self) -> bytes:
        try:
            return self._connection.recv_bytes()
        except (OSError, EOFError):
            self._is_broken = True
            return b""


def known(chunk: Sequence[Submission], given: Given | None) -> list[Submission]:
    """Return events, as `Checked` those that were found to be signed."""
    verdicts = b"" if given is None else given.verdicts()
    return [
        Checked.of(each) if is_signed else each
        for each, is_signed in zip(chunk, verdicts or repeat(0), strict=False)
    ]


def _check(connection: Connection) -> None:
    """Answer each chunk with a byte for each event: 1 where the signature verifies."""
    # Signals that reach a whole group: the main process answers for both.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    try:
        connection.send_bytes(_READY)
        while True:
            chunk = _DECODER.decode(connection.recv_bytes())
            verdicts = (payload_verifies(body, sig, key) for key, sig, body in chunk)
            connection.send_bytes(bytes(verdicts))
    except (OSError, EOFError):
        return  # The main process is done, or gone.
