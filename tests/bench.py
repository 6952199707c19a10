"""How fast, as ratios to a limit or a peer measured in the same run: `make bench`.

Absolute figures move from machine to machine and hour to hour; a ratio of two
things that were done one after the other moves far less. What has an aim says so. The
interpreter counts as well: one that was built without `--enable-optimizations` takes a
tenth longer to audit, and up to 1.6 times as long for what is Python alone.

    make bench                      100,000 events, a few minutes
    make bench ENTRIES=1000000      the memory of an audit at a million
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore
from nacl.bindings import crypto_sign_open
from sqlite_utils import Database

from ledger import codec
from ledger.keys.signing import pae
from ledger.log import open_reader
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.stored import StoredPayloads
from ledger.signatures import SignaturesAhead
from ledger.writer import Submission
from tests.workshop import EVENTS_A_COMMIT, Workshop, batched

SAMPLE = 4_000
ROW = "{:<46} {:>12} {:>10}  {:<34} {:>8}"


class Table:
    """Prints a line as soon as it is measured."""

    def __init__(self) -> None:
        print(ROW.format("what", "rate", "ratio", "to", "aim"))
        print("-" * 116)

    def line(
        self,
        what: str,
        rate: str,
        ratio: float | None = None,
        to: str = "",
        aim: str = "",
    ) -> None:
        shown = "" if ratio is None else f"{ratio:.2f}"
        print(ROW.format(what, rate, shown, to, aim), flush=True)


def seconds(act: Callable[[], object]) -> float:
    """Return how long `act` took on the wall."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


class Bench:
    """One ledger of `entries` events, and every measurement made on it."""

    def __init__(self, home: Path, entries: int, table: Table) -> None:
        self.home = home
        self.table = table
        self.workshop = Workshop(home / "bench").found()
        self.units = entries // 4
        self.submissions: list[Submission] = []

    def bare_verify(self) -> float:
        """Return Ed25519 signatures a second, one core, nothing else."""
        sample = self.submissions[:SAMPLE]

        signed = [
            (each.signature + pae(each.payload), each.author_key) for each in sample
        ]

        def verify() -> None:
            for message, key in signed:
                crypto_sign_open(message, key)

        return len(sample) / seconds(verify)

    def run(self) -> None:
        """Measure everything, one line each."""
        self.append()
        self.verify()
        self.replay()
        self.read()
        self.peers()
        self.demo()

    def append(self) -> None:
        """Append signed events, a thousand a commit."""
        took = 0.0
        with self.workshop.writer() as writer, SignaturesAhead() as ahead:
            # Signed as they are needed, so that no event is old when it arrives.
            for some in batched(self.workshop.history(self.units), EVENTS_A_COMMIT):
                self.submissions += some
                took += seconds(partial(writer.append, ahead.checked(some)))
        limit = self.bare_verify()
        self.append_rate = len(self.submissions) / took
        self.table.line("bare Ed25519 verify, one core", per_second(limit), 1, "itself")
        self.table.line(
            "append signed events, 1,000 a commit",
            per_second(self.append_rate),
            self.append_rate / limit,
            "bare verify",
            ">= 0.50",
        )

    def verify(self) -> None:
        """Audit the ledger with one process and with two, in turn."""
        one, two = [], []
        for _ in range(3):
            one.append(audit(self.workshop.folder.path, 1))
            two.append(audit(self.workshop.folder.path, 2))
        size = len(self.submissions)
        seconds_of_one = middle([each.seconds for each in one])
        self.table.line(
            "verify, one process",
            per_second(size / seconds_of_one),
            middle([size / each.seconds / each.bare_rate for each in one]),
            "bare verify",
            ">= 0.75",
        )
        seconds_of_two = middle([each.seconds for each in two])
        self.table.line(
            "verify, two processes",
            per_second(size / seconds_of_two),
            seconds_of_one / seconds_of_two,
            "verify, one process",
            ">= 1.60",
        )
        peak = max(each.peak_megabytes for each in one)
        self.table.line(
            f"peak memory of verify, {size:,} events",
            f"{peak:.0f} MB",
            peak / 400,
            "400 MB",
            "<= 1.00",
        )

    def replay(self) -> None:
        """Fold the log into projection tables, signatures left aside."""
        limit = self.bare_verify()
        with open_reader(self.workshop.folder) as reader:
            size = reader.events.size()
            read = seconds(lambda: sum(1 for _ in reader.events.read(0, size)))
            times = []
            for number in range(3):
                tables = Tables(self.home / f"replay-{number}.db")
                fold = Fold(tables, StoredPayloads(reader.store))
                times.append(seconds(fold.catch_up))
                tables.close()
            took = middle(times)
        limit = (limit + self.bare_verify()) / 2
        self.table.line(
            "replay into projection tables",
            per_second(size / took),
            size / took / 100_000,
            "100,000 events/s",
            ">= 1.00",
        )
        # 100,000 a second where a core checks 25,300 signatures: the same work
        # on a slower core.
        self.table.line(
            "the same",
            per_second(size / took),
            size / took / limit,
            "bare verify",
            ">= 3.95",
        )
        self.table.line(
            "the same",
            per_second(size / took),
            read / took,
            "reading and decoding alone",
        )

    def read(self) -> None:
        """Read every payload back, undecoded and decoded."""
        with open_reader(self.workshop.folder) as reader:
            size = reader.events.size()
            took = seconds(lambda: sum(1 for _ in reader.store.rows(0, size)))
        self.read_rate = size / took
        payloads = [each.payload for each in self.submissions]
        decoded = len(payloads) / seconds(lambda: [codec.read(p) for p in payloads])
        self.table.line(
            "read entries",
            per_second(self.read_rate),
            self.read_rate / decoded,
            "decoding",
        )

    def peers(self) -> None:
        """Give the same payloads to two libraries that check no signature."""
        payloads = [each.payload for each in self.submissions]
        self.eventsourcing(payloads)
        self.sqlite_utils(payloads)

    def eventsourcing(self, payloads: list[bytes]) -> None:
        recorder = SQLiteAggregateRecorder(
            SQLiteDatastore(str(self.home / "eventsourcing.db"))
        )
        recorder.create_table()
        originator = uuid5(NAMESPACE_URL, "bench")
        events = [
            StoredEvent(originator, version, "Event", payload)
            for version, payload in enumerate(payloads)
        ]

        def insert() -> None:
            for some in batched(events, EVENTS_A_COMMIT):
                recorder.insert_events(some)

        wrote = len(events) / seconds(insert)
        read = len(events) / seconds(lambda: recorder.select_events(originator))
        self.table.line(
            "append, beside eventsourcing's SQLite recorder",
            per_second(self.append_rate),
            self.append_rate / wrote,
            f"{per_second(wrote)}, no signatures",
        )
        self.table.line(
            "read, beside the same",
            per_second(self.read_rate),
            self.read_rate / read,
            per_second(read),
        )

    def sqlite_utils(self, payloads: list[bytes]) -> None:
        database = Database(self.home / "sqlite_utils.db")
        database.enable_wal()
        rows = [
            {"seq": seq, "payload": payload} for seq, payload in enumerate(payloads)
        ]

        def insert() -> None:
            for some in batched(rows, EVENTS_A_COMMIT):
                database.table("events").insert_all(some, pk="seq")

        wrote = len(rows) / seconds(insert)
        self.table.line(
            "append, beside sqlite-utils insert_all",
            per_second(self.append_rate),
            self.append_rate / wrote,
            f"{per_second(wrote)}, no signatures",
        )

    def demo(self) -> None:
        """Run the demo as a stranger does."""
        command = [str(Path(sys.executable).with_name("ledger")), "demo"]
        took = seconds(
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        )
        self.table.line("the demo", f"{took:.1f} s", took / 60, "60 s", "<= 1.00")


def middle(figures: list[float]) -> float:
    """Return the median."""
    return sorted(figures)[len(figures) // 2]


def per_second(rate: float) -> str:
    """Return a rate as people read it."""
    return f"{rate:,.0f}/s"


class Audit(NamedTuple):
    """What one audit took, and the bare signatures a second just before and after."""

    seconds: float
    bare_rate: float
    peak_megabytes: float


def audit(folder: Path, jobs: int) -> Audit:
    """Audit a ledger with so many processes, as `ledger verify` does in one of its own."""
    script = Path(__file__).with_name("bench_audit.py")
    command = [sys.executable, str(script), str(folder), str(jobs)]
    return Audit(*map(float, subprocess.check_output(command).split()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ledger-bench-") as home:
        Bench(Path(home), asked.entries, Table()).run()


if __name__ == "__main__":
    main()
