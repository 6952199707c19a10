"""Long lines take turns: nobody's keep the evaluator, or another agent, waiting."""

import asyncio
import math
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from ledger.clock import monotonic_seconds
from ledger.daemon.admission import (
    SLICE_EVENTS,
    Batch,
    batch_in_slices,
    is_checked_ahead,
)
from ledger.daemon.protocol import BUSY, STOPPED, FaultError
from ledger.daemon.reading import ReadingRoom
from ledger.daemon.sockets import AGENT, EVALUATOR
from ledger.daemon.turns import Turns
from ledger.errors import RefusedError
from ledger.signatures import Given, SignaturesAhead
from ledger.writer import Submission
from tests.served import SECONDS, Present, Served, served, wire
from tests.workshop import signed_bytes

EVENTS = 1_000
CROWD = 30
# All the lines together take several times as long.
SOON = 1.0


class Queue:
    """Who has some lines, and serves each in a time that is stated."""

    def __init__(self, name: str, lines: int, turns: Turns, served_: list[str]) -> None:
        self.name, self.lines = name, lines
        self._turns, self._served = turns, served_

    def take_turn(self) -> None:
        while self.lines and self._turns.admits(self):
            self.lines -= 1
            self._served.append(self.name)
            self._turns.spend(1.0)


@pytest.mark.parametrize(
    ("seconds", "order"),
    [
        (0.5, "aabcabcb"),  # one line in a round, and the first before anybody waits
        (1.0, "aabcabcb"),
        (1.5, "aaabcbcb"),  # two lines in a round
        (math.inf, "aaabbbcc"),
    ],
)
def test_who_has_waited_longest_is_next(seconds: float, order: str) -> None:
    found: list[str] = []
    rounds: list[int] = []

    async def work() -> None:
        turns = Turns(seconds)
        queues = [
            Queue(name, lines, turns, found)
            for name, lines in (("a", 3), ("b", 3), ("c", 2))
        ]
        for each in queues:
            each.take_turn()
        while any(each.lines for each in queues):
            assert any(map(turns.awaits, queues))
            before = len(found)
            await asyncio.sleep(0)  # Here the event loop looks at everything else.
            rounds.append(len(found) - before)
        assert not any(map(turns.awaits, queues))

    asyncio.run(asyncio.wait_for(work(), SECONDS))
    assert "".join(found) == order
    assert all(lines <= max(1, math.ceil(seconds)) for lines in rounds)


def forged(shop: Present) -> dict[str, Any]:
    """Return an event whose signature is another's."""
    payload = b'{"author":"forecaster","type":"ForecastSealed"}'
    [event] = wire(signed_bytes(payload, shop.keys["forecaster"]))
    signature = bytearray(b64decode(event["signatures"][0]["sig"]))
    signature[5] ^= 1
    event["signatures"][0]["sig"] = b64encode(signature).decode()
    return event


@pytest.fixture
def daemon() -> Iterator[Served]:
    with served() as found:
        yield found.start()


@pytest.mark.parametrize(
    ("count", "breaks"),
    [(SLICE_EVENTS - 1, 0), (SLICE_EVENTS, 2), (EVENTS, 2 * (EVENTS // SLICE_EVENTS))],
)
def test_many_events_are_opened_and_checked_in_slices(
    tmp_path: Path, count: int, breaks: int
) -> None:
    shop = Present(tmp_path)
    shop.found()
    event = msgspec.Raw(msgspec.json.encode(forged(shop)))
    with shop.writer() as writer:
        work = batch_in_slices(
            [event] * count, side=AGENT, is_atomic=False,
            roster=writer.state.roster, folder=shop.folder,
        )  # fmt: skip
    found = 0
    while True:
        try:
            next(work)
        except StopIteration as done:
            made: Batch = done.value
            break
        found += 1
    assert found == breaks
    assert len(made.admitted) == count
    assert all(isinstance(each, RefusedError) for each in made.admitted)


@pytest.mark.parametrize("is_full", [True, False])
def test_what_is_sent_away_busy_is_not_given_to_be_checked(
    tmp_path: Path, *, is_full: bool
) -> None:
    shop = Present(tmp_path)
    shop.found()
    given: list[int] = []

    class Ahead(SignaturesAhead):
        def give(self, chunk: Sequence[Submission]) -> Given | None:
            given.append(len(chunk))
            return None

    def require_room(made: Batch) -> None:
        assert (made.events, given) == (2, [])
        if is_full:
            raise FaultError(BUSY, "try again", "busy")

    with shop.writer() as writer, Ahead() as ahead:
        work = batch_in_slices(
            [msgspec.Raw(msgspec.json.encode(forged(shop)))] * 2, side=AGENT,
            is_atomic=False, roster=writer.state.roster, folder=shop.folder,
            ahead=ahead, require_room=require_room,
        )  # fmt: skip
        with pytest.raises(FaultError if is_full else StopIteration):
            next(work)
    assert given == ([] if is_full else [2])


@pytest.mark.parametrize(
    ("side", "events", "jobs_waiting", "events_waiting", "is_ahead"),
    [
        (AGENT, 1, 0, 0, False),
        (AGENT, 1, 1, 1, True),
        (AGENT, 64, 1, 1_024, True),
        (AGENT, 65, 1, 1_024, False),
        (AGENT, 64, 1, 1_025, False),
        (EVALUATOR, 1, 0, 0, False),
        (EVALUATOR, 1_000, 9, 4_096, True),
    ],
)
def test_little_of_what_agents_send_queues_unchecked(
    side: str, events: int, jobs_waiting: int, events_waiting: int, *, is_ahead: bool
) -> None:
    found = is_checked_ahead(side, events, jobs_waiting, events_waiting)
    assert found is is_ahead


def test_a_forged_crowd_keeps_no_evaluator_waiting_and_is_answered(
    daemon: Served,
) -> None:
    events = [forged(daemon.shop)] * EVENTS
    talks = [daemon.talk(AGENT) for _ in range(CROWD)]
    waits = []
    with daemon.talk() as evaluator:
        for talk in talks:
            lines = talk.request("append", events=events) + talk.request(
                "append", events=[{}]
            )
            talk.send(lines)
            began = monotonic_seconds()
            evaluator.ask("ping")
            waits.append(monotonic_seconds() - began)
        # A short line of one more agent does not wait for all the long ones.
        with daemon.talk(AGENT) as late:
            late.ask("ping")
            [known] = late.append(*daemon.shop.sealable(0)[1:])["receipts"]
    assert known["error"]["code"] == "unknown-question"
    assert max(waits) < SOON, waits
    for talk in talks:
        first, second = talk.read(), talk.read()
        assert first is not None
        assert second is not None
        assert (first["id"], second["id"]) == (1, 2), "in their order"
        codes = {each["error"]["code"] for each in first["result"]["receipts"]}
        assert codes == {"bad-signature"}
        assert len(first["result"]["receipts"]) == EVENTS
        talk.close()
    assert daemon.stop() == 0


def test_a_long_line_that_waits_for_its_turn_when_the_daemon_stops_is_told_so(
    daemon: Served,
) -> None:
    talks = [daemon.talk(AGENT) for _ in range(CROWD)]
    line = talks[0].request("append", events=[forged(daemon.shop)] * EVENTS)
    for talk in talks:
        talk.send(line)
    with daemon.talk() as evaluator:
        evaluator.ask("ping")
    assert daemon.stop() == 0
    answers = [talk.read() for talk in talks]
    for talk in talks:
        talk.close()
    errors = [each["error"] for each in answers if each and "error" in each]
    assert {(each["code"], each["data"]["code"]) for each in errors} == {
        (STOPPED, "stopped")
    }


def test_a_read_that_was_not_begun_when_the_daemon_stops_is_told_so() -> None:
    is_begun, may_end = Event(), Event()

    def long() -> str:
        is_begun.set()
        assert may_end.wait(SECONDS)
        return "read"

    async def work() -> list[Any]:
        room = ReadingRoom("reads", 3)
        asked = [asyncio.ensure_future(room.ask(each)) for each in (long, long)]
        await asyncio.to_thread(is_begun.wait, SECONDS)
        room.finish()
        may_end.set()
        found = await asyncio.gather(*asked, room.ask(long), return_exceptions=True)
        room.close()
        return found

    first, *others = asyncio.run(asyncio.wait_for(work(), SECONDS))
    assert first == "read"
    assert [each.data["code"] for each in others] == ["stopped", "stopped"]


def test_agents_that_ask_for_rows_all_the_time_hold_up_no_evaluator() -> None:
    with served() as found:
        found.configure("[limits]\nreads = 1\n")
        found.start()
        with found.talk(AGENT) as agent, found.talk() as evaluator:
            for method, asked in (("rows", {}), ("entry", {"seq": 0})):
                lines = [agent.request(method, **asked) for _ in range(CROWD)]
                agent.send(b"".join(lines))
                # One reader, for whom one may wait: the others are sent away.
                assert evaluator.ask(method, **asked)
                answers = [agent.read() for _ in lines]
                errors = [each["error"] for each in answers if each and "error" in each]
                assert {each["data"]["code"] for each in errors} == {"busy"}
