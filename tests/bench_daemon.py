"""How many forecasts a daemon makes durable for many clients, and how long each waits.

    python tests/bench_daemon.py

Each client sends one signed event at a time and waits for its receipt. Beside it the
SQLite recorder of `eventsourcing`, which checks no signature and has no socket, takes
the same payloads from as many threads; and one core checks signatures and does nothing
else. All in one run, one after the other.
"""

import selectors
import socket
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, uuid5

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore
from nacl.bindings import crypto_sign_open

from ledger.clock import monotonic_seconds
from ledger.keys.signing import pae
from ledger.writer import Submission
from tests.bench import Table, per_second, seconds
from tests.served import Served, served, wire

CLIENTS = 32
EVENTS = 6_000
SAMPLE = 2_000


class Client:
    """One connection with events to send, one after the other."""

    def __init__(self, path: Path, submissions: list[Submission]) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.lines = deque(
            msgspec.json.encode(
                {
                    "jsonrpc": "2.0",
                    "id": number,
                    "method": "append",
                    "params": {"events": wire(each)},
                }
            )
            + b"\n"
            for number, each in enumerate(submissions)
        )
        self.sent_at = 0.0
        self.waits: list[float] = []
        self._answer = b""

    def send(self) -> bool:
        """Send the next event; return whether there was one."""
        if not self.lines:
            return False
        self.sent_at = monotonic_seconds()
        self.socket.sendall(self.lines.popleft())
        return True

    def receive(self) -> bool:
        """Take what came; return whether the answer is whole."""
        self._answer += self.socket.recv(65_536)
        if not self._answer.endswith(b"\n"):
            return False
        assert b'"receipts":[{"seq"' in self._answer, self._answer
        self._answer = b""
        self.waits.append(monotonic_seconds() - self.sent_at)
        return True


def told(ledger: Served, submissions: list[Submission], clients: int) -> list[float]:
    """Send events through so many clients; return how long each receipt took."""
    shares = [submissions[each::clients] for each in range(clients)]
    talking = [Client(ledger.socket(), share) for share in shares]
    with selectors.DefaultSelector() as selector:
        for client in talking:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        left = len(talking)
        while left:
            for key, _ in selector.select():
                client = key.data
                if client.receive() and not client.send():
                    selector.unregister(client.socket)
                    client.socket.close()
                    left -= 1
    return [wait for client in talking for wait in client.waits]


def events(ledger: Served, count: int, first: int) -> list[Submission]:
    """Return signed openings of units, and forecasts on them: openings first."""
    pairs = [ledger.shop.sealable(first + number) for number in range(count // 2)]
    return [pair[0] for pair in pairs] + [pair[1] for pair in pairs]


def recorded(home: Path, submissions: list[Submission], threads: int) -> float:
    """Return how many of these payloads `eventsourcing` records a second."""
    recorder = SQLiteAggregateRecorder(
        SQLiteDatastore(str(home / f"eventsourcing-{threads}.db"))
    )
    recorder.create_table()

    def record(share: int) -> None:
        originator = uuid5(NAMESPACE_URL, f"bench-{share}")
        for version, each in enumerate(submissions[share::threads]):
            recorder.insert_events(
                [StoredEvent(originator, version, "Event", each.payload)]
            )

    def all_of_them() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(record, range(threads)))

    return len(submissions) / seconds(all_of_them)


def bare_verify(submissions: list[Submission]) -> float:
    """Return Ed25519 signatures a second, one core, nothing else."""
    signed = [
        (each.signature + pae(each.payload), each.author_key)
        for each in submissions[:SAMPLE]
    ]

    def verify() -> None:
        for message, key in signed:
            crypto_sign_open(message, key)

    return len(signed) / seconds(verify)


def main() -> None:
    """Print the table."""
    table = Table()
    with served() as ledger, TemporaryDirectory() as home:
        ledger.start()
        many = events(ledger, EVENTS, 0)
        few = events(ledger, EVENTS // 6, EVENTS)
        waits: list[float] = []
        limit = bare_verify(many)
        took = seconds(lambda: waits.extend(told(ledger, many, CLIENTS)))
        theirs = recorded(Path(home), many, CLIENTS)
        limit = (limit + bare_verify(many)) / 2
        rate, what = len(many) / took, f"daemon, {CLIENTS} clients"
        table.line(what, per_second(rate), rate / theirs, "eventsourcing", ">= 3.5")
        table.line(what, per_second(rate), rate / limit, "bare verify", ">= 0.50")
        waits.sort()
        middle, late = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
        table.line("the same, p50", f"{middle * 1_000:.1f} ms")
        table.line("the same, p99", f"{late * 1_000:.1f} ms")
        rate = len(few) / seconds(lambda: told(ledger, few, 1))
        theirs = recorded(Path(home), few, 1)
        table.line(
            "daemon, 1 client",
            per_second(rate),
            rate / theirs,
            "eventsourcing",
            ">= 0.8",
        )
        assert ledger.stop() == 0
        assert ledger.verify()["ok"]


if __name__ == "__main__":
    main()
