"""Clients that write to a daemon until it dies, and forget no receipt that they got."""

import time
from collections.abc import Sequence
from itertools import count
from random import Random
from threading import Event, Lock, Thread
from typing import Any

from ledger.log import open_reader
from ledger.writer import Submission
from tests.console import Console
from tests.served import SECONDS, Served, until, wire

CLIENTS = 8
# Of the kills, so many meet a daemon that does not answer yet.
STARTING_SHARE = 0.15
RECEIPTS_MAX = 120


class Flood:
    """Eight writers at one daemon; what was not answered is sent again to the next."""

    def __init__(self, ledger: Served) -> None:
        self.ledger = ledger
        self.told: dict[str, int] = {}
        self.wrong: list[Any] = []
        self._numbers = count()
        self._waiting: list[Sequence[Submission] | None] = [None] * CLIENTS
        self._lock = Lock()
        self._enough = Event()
        self._wanted = 0

    def until_killed(self, receipts: int) -> None:
        """Write until so many more receipts have come, and kill the daemon then."""
        self._wanted = len(self.told) + receipts
        self._enough.clear()
        threads = [Thread(target=self._write, args=(each,)) for each in range(CLIENTS)]
        for each in threads:
            each.start()
        came = self._enough.wait(SECONDS)
        self.ledger.kill()
        for each in threads:
            each.join(SECONDS)
        assert came, "the daemon gave too few receipts"
        assert self.wrong == []

    def settle(self) -> None:
        """Send what was not answered once more, to a daemon that is left alone."""
        with self.ledger.talk() as talk:
            for client, events in enumerate(self._waiting):
                if events is not None:
                    self._take(client, talk.append(*events))

    def check(self) -> None:
        """Every acknowledged event stands once, where its receipt says, and all verifies."""
        with open_reader(self.ledger.folder) as reader:
            ids = [row.event_id.hex() for row in reader.store.rows(0, 1 << 40)]
        assert len(ids) == len(set(ids))
        lost = {
            event_id: seq
            for event_id, seq in self.told.items()
            if seq >= len(ids) or ids[seq] != event_id
        }
        assert lost == {}
        shown = Console(self.ledger.home).here("verify", "--json")
        assert shown.code == 0, shown.stdout

    def _write(self, client: int) -> None:
        try:
            with self.ledger.talk() as talk:
                while True:
                    events = self._waiting[client] or self._next()
                    self._waiting[client] = events
                    is_atomic = len(self.told) % 2 == 0
                    asked = talk.request(
                        "append", events=wire(*events), atomic=is_atomic
                    )
                    talk.send(asked)
                    answer = talk.read()
                    if answer is None:
                        return
                    self._take(client, answer.get("result", answer))
        except (ConnectionError, FileNotFoundError):
            return  # It was killed: another client had enough.

    def _next(self) -> Sequence[Submission]:
        with self._lock:
            return self.ledger.shop.sealable(next(self._numbers))

    def _take(self, client: int, result: dict[str, Any]) -> None:
        receipts = result.get("receipts", [{"error": result}])
        with self._lock:
            self.wrong += [each["error"] for each in receipts if "error" in each]
            self.told.update(
                (each["event_id"], each["seq"]) for each in receipts if "seq" in each
            )
            self._waiting[client] = None
            if self.wrong or len(self.told) >= self._wanted:
                self._enough.set()


def kill_often(ledger: Served, kills: int, chance: Random) -> Flood:
    """Kill the daemon of a ledger so often, at points that chance chooses.

    Most die amid answers, some while they start. After each kill the log is checked,
    while the next daemon starts.
    """
    flood = Flood(ledger)
    for _ in range(kills):
        process = ledger.begin()
        flood.check()
        if chance.random() < STARTING_SHARE:
            time.sleep(chance.random())
            ledger.kill()
            continue
        until(lambda p=process: p.poll() is not None or ledger.answers())
        flood.until_killed(chance.randrange(1, RECEIPTS_MAX))
    ledger.start()
    flood.settle()
    ledger.kill()
    flood.check()
    return flood
