"""One client's connection: lines in, lines out, and limits on both.

A client that sends a line without end, takes no answers, sends more than it waits for
or goes away in the middle of a line costs a bounded amount of memory and nobody else
anything. Who has long lines takes turns with the others of its side.
"""

import asyncio
import select
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import msgspec

from ledger.clock import monotonic_seconds
from ledger.daemon.journal import Journal
from ledger.daemon.protocol import (
    BUSY,
    INVALID_REQUEST,
    LINE_BYTES_MAX,
    FaultError,
    fault_line,
)
from ledger.daemon.settings import Limits
from ledger.daemon.turns import Turns

_RETRY_MS = 1_000
_CREDENTIALS = struct.Struct("3i")


class Desk(Protocol):
    """What answers lines."""

    def serve(
        self, line: bytes, side: str, reply: Callable[[bytes], None]
    ) -> Iterator[None]:
        """Answer a line, now or later, by one call of `reply` in this thread.

        Yields between slices of what takes long: others may be served there.
        """


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end, as the system says."""

    pid: int
    uid: int


class Connections:
    """The connections of one side."""

    def __init__(
        self,
        side: str,
        *,
        limits: Limits,
        desk: Desk,
        journal: Journal,
        greeting: Mapping[str, object],
        turns: Turns,
        is_quiet: Callable[[], bool],
    ) -> None:
        """Take what a ping is answered with: who is sent away hears it too.

        While `is_quiet`, nothing of who comes and goes is written to the journal.
        """
        self.side = side
        self.limits = limits
        self.desk = desk
        self.journal = journal
        self.greeting = greeting
        self.turns = turns
        self.is_quiet = is_quiet
        self.open: set[Connection] = set()

    def new(self) -> "Connection":
        """Return what the event loop makes of an accepted socket."""
        return Connection(self)

    def has_room(self) -> bool:
        """Tell whether one more may be let in; those that are gone make room."""
        if len(self.open) >= self.limits.connections:
            self._forget_gone()
        return len(self.open) < self.limits.connections

    def sweep(self) -> None:
        """Drop those that are gone or idle, and those that take no answers."""
        self._forget_gone()
        now = monotonic_seconds()
        for each in tuple(self.open):
            each.drop_if_useless(now)

    def _forget_gone(self) -> None:
        """Forget who hung up while nothing is read: the event loop does not see it."""
        unread = {each.handle: each for each in self.open if not each.is_read}
        gone = select.poll()
        for handle in unread:
            gone.register(handle, 0)  # Nothing but that the other side is closed.
        for handle, _ in gone.poll(0):
            unread[handle].forget()


class Connection(asyncio.Protocol):
    """Splits what arrives into lines, has them served, and sends answers back."""

    def __init__(self, among: Connections) -> None:
        self._among = among
        self._buffer = bytearray()
        self._searched = 0  # of the buffer holds no end of a line
        self._pending = 0
        self._work: Iterator[None] | None = None  # what is left of the line served
        self._transport: asyncio.Transport | None = None
        self._peer = Peer(pid=0, uid=-1)
        self._line_at = monotonic_seconds()
        self._stalled_at: float | None = None
        self._has_ended = False  # The client sends no more; its lines are served.
        self._is_ending = False  # Nothing more is served.
        self._is_pumping = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit a client, or say that there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peer = _peer(transport)
        among = self._among
        if not among.has_room():
            self._note("refused", reason="too-many-connections")
            msg = (
                f"{len(among.open)} clients are connected, and no more are allowed: try "
                "again once one has gone, or allow more connections in daemon.toml"
            )
            wait = {"retry_after_ms": _RETRY_MS}
            fault = FaultError(BUSY, msg, "busy", **wait, **among.greeting)
            transport.write(fault_line(None, fault))
            transport.close()
            return
        among.open.add(self)
        self._note("connected")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a client; what queued for it is done all the same."""
        self._leave("" if exc is None else type(exc).__name__)
        self._transport = self._work = None
        self._buffer.clear()

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        if self._is_ending or self not in self._among.open:
            return
        self._buffer += data
        self._pump()

    def eof_received(self) -> bool:
        """Answer what was asked before the client stopped sending, then close."""
        self._has_ended = True
        self._pump()
        self._close_if_done()
        return True

    def pause_writing(self) -> None:
        """Read no more from a client that does not take its answers."""
        self._stalled_at = monotonic_seconds()
        self._listen_or_not()

    def resume_writing(self) -> None:
        """Go on with a client that took them."""
        self._stalled_at = None
        self._pump()

    def finish(self) -> None:
        """Serve no more; close once what was asked is answered."""
        self._is_ending = True
        self._listen_or_not()
        self._close_if_done()

    def abort(self) -> None:
        """Close at once, whatever was not sent."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def handle(self) -> int:
        """The number of its socket."""
        assert self._transport is not None
        number: int = self._transport.get_extra_info("socket").fileno()
        return number

    @property
    def is_read(self) -> bool:
        """Whether the event loop would see that the client hangs up."""
        transport = self._transport
        return transport is None or (transport.is_reading() and not self._has_ended)

    def forget(self) -> None:
        """Let go of a client that is gone; what queued for it is done all the same."""
        self._leave("")
        self.abort()

    def _leave(self, reason: str) -> None:
        if self in self._among.open:
            self._among.open.discard(self)
            self._note("disconnected", reason=reason)

    def drop_if_useless(self, now: float) -> None:
        """Close an idle connection; abort one whose client takes no answers."""
        limits = self._among.limits
        stalled = self._stalled_at
        if stalled is not None and now - stalled > limits.slow_seconds:
            self._note("dropped", reason="slow")
            self.abort()
        elif not self._pending and now - self._line_at > limits.idle_seconds:
            self._note("dropped", reason="idle")
            self.abort()

    def take_turn(self) -> None:
        """Serve what is next; the event loop has been elsewhere meanwhile."""
        self._pump()
        self._close_if_done()

    def _pump(self) -> None:
        """Serve the lines that are here, as many as may be under way at once."""
        if self._is_pumping:  # An answer came at once, from within the loop below.
            return
        self._is_pumping = True
        turns = self._among.turns
        try:
            while True:
                end = self._line_end()
                if self._work is None and end < 0:
                    self._refuse_long_line()
                    break
                if not turns.admits(self):
                    break
                began = monotonic_seconds()
                self._serve(end, began)
                turns.spend(monotonic_seconds() - began)
        finally:
            self._is_pumping = False
        self._listen_or_not()

    def _line_end(self) -> int:
        """Return where the next line to serve ends; -1 where none may be served."""
        if self._work is not None or not self._may_serve():
            return -1
        end = self._buffer.find(b"\n", self._searched)
        return end if end <= LINE_BYTES_MAX else -1

    def _serve(self, end: int, now: float) -> None:
        """Go on with the line that is being served, or begin with the next."""
        if self._work is None:
            line = bytes(memoryview(self._buffer)[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            self._line_at = now
            if not line.strip():
                return
            self._pending += 1
            among = self._among
            self._work = among.desk.serve(line, among.side, self._reply)
        for _ in self._work:
            return  # The rest of it comes in another turn.
        self._work = None

    def _may_serve(self) -> bool:
        limits = self._among.limits
        is_open = self._transport is not None and not self._is_ending
        return is_open and self._stalled_at is None and self._pending < limits.pending

    def _refuse_long_line(self) -> None:
        if not self._may_serve():
            return
        self._searched = len(self._buffer)
        if self._searched <= LINE_BYTES_MAX:
            return
        msg = f"the line has more than {LINE_BYTES_MAX} bytes: send fewer events in one"
        self._note("dropped", reason="line-too-long")
        self._send(fault_line(None, FaultError(INVALID_REQUEST, msg, "line-too-long")))
        self._buffer.clear()
        self.finish()

    def _listen_or_not(self) -> None:
        """Let the system hold back a client that may not send more now."""
        if self._transport is None or self._transport.is_closing() or self._has_ended:
            return
        if self._may_serve() and not self._among.turns.awaits(self):
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _reply(self, line: bytes) -> None:
        self._pending -= 1
        self._send(line)
        self._pump()
        self._close_if_done()

    def _send(self, line: bytes) -> None:
        if self._transport is not None:
            self._transport.write(line)

    def _close_if_done(self) -> None:
        if self._pending or self._transport is None:
            return
        if self._is_ending or (self._has_ended and b"\n" not in self._buffer):
            self._transport.close()

    def _note(self, what: str, **facts: object) -> None:
        among, peer = self._among, self._peer
        if among.is_quiet():
            among.journal.lost += 1
            return
        among.journal.note(what, side=among.side, uid=peer.uid, pid=peer.pid, **facts)


def _peer(transport: asyncio.Transport) -> Peer:
    # Linux tells who connected; a system that does not leaves both unknown.
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return Peer(pid=0, uid=-1)
    found = transport.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, option, _CREDENTIALS.size
    )
    pid, uid, _ = _CREDENTIALS.unpack(found)
    return Peer(pid=pid, uid=uid)
