"""A client's place: it is free once nobody is there, whatever is read from it."""

import asyncio
import io
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ledger.clock import system_clock
from ledger.daemon.connection import Connections
from ledger.daemon.journal import Journal
from ledger.daemon.settings import Limits
from ledger.daemon.sockets import AGENT
from ledger.daemon.turns import Turns
from tests.served import SECONDS

LINES = b"{}\n{}\n"


class Silent:
    """A desk that answers nobody: who asked something waits."""

    def serve(
        self, line: bytes, side: str, reply: Callable[[bytes], None]
    ) -> Iterator[None]:
        del line, side, reply
        yield from ()


class Hall:
    """The connections of one side, with one place in it."""

    def __init__(self) -> None:
        self.held = ExitStack()
        self.among = Connections(
            AGENT,
            limits=Limits(connections=1, pending=1),
            desk=Silent(),
            journal=Journal(io.StringIO(), system_clock),
            greeting={},
            turns=Turns(1.0),
            is_quiet=lambda: False,
        )

    async def come(self) -> socket.socket:
        """Have a client connect; one that is let in is read from."""
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        self.held.callback(theirs.close)
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self.among.new, ours)
        return theirs

    async def until_paused(self) -> None:
        while any(each.is_read for each in self.among.open):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def gone(client: socket.socket) -> None:
    client.close()


def half_gone(client: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(("leave", "is_free"), [(gone, True), (half_gone, False)])
@pytest.mark.parametrize("is_swept", [False, True])
def test_who_hangs_up_while_nothing_is_read_from_it_leaves_its_place_at_once(
    leave: Callable[[socket.socket], None], *, is_free: bool, is_swept: bool
) -> None:
    async def work() -> None:
        hall = Hall()
        with hall.held:
            client = await hall.come()
            client.sendall(LINES)
            await hall.until_paused()
            first = set(hall.among.open)
            leave(client)
            if is_swept:
                hall.among.sweep()
                assert bool(hall.among.open) is not is_free
            await hall.come()
            assert (hall.among.open != first) is is_free
            assert len(hall.among.open) == 1
            for each in tuple(hall.among.open):
                each.abort()
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(work(), SECONDS))


def test_who_stopped_sending_first_leaves_its_place_too() -> None:
    async def work() -> None:
        hall = Hall()
        with hall.held:
            client = await hall.come()
            client.sendall(b"{}\n")
            half_gone(client)
            await hall.until_paused()
            gone(client)
            hall.among.sweep()
            assert not hall.among.open
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(work(), SECONDS))
