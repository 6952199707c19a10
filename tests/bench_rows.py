"""How fast rows are on a large ledger, and what new outcomes make it compute again.

    python tests/bench_rows.py                        100,000 forecasts
    python tests/bench_rows.py --forecasts 1000000    a million, minutes

Ten suites share the forecasts; then a thousand outcomes come in for one of them. Only
its rows may change, and only they may be computed again.
"""

import argparse
import resource
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec

from ledger import codec
from ledger.clock import instant_text_micros
from ledger.events import ForecastSealed, Question, ResolutionRecorded
from ledger.ids import event_id
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload
from ledger.projections.report import Report
from tests.bench import Table, per_second, seconds
from tests.simulator import History, key_of, ppm_text, suite

SUITES = 10
NEWLY_RESOLVED = 1_000
GRID = 10_000  # parts per million: probabilities on a grid of 0.01
KEYS = {name: key_of(name).verifier.public for name in ("forecaster", "resolver")}


class Ledger:
    """A log that is made as it is read: seals first, then outcomes of some of them.

    Every unit brings its question with its vector; suites take turns. Nobody signs,
    and no rule is asked: that is measured elsewhere.
    """

    def __init__(self, forecasts: int, clusters: int) -> None:
        self.forecasts, self.clusters = forecasts, clusters
        self.history = History(suite("bench-0@v1"))
        self.manifests = [suite(f"bench-{number}@v1") for number in range(SUITES)]
        for manifest in self.manifests[1:]:
            self.history.freeze(manifest)
        self.hashes = [codec.suite_hash(each) for each in self.manifests]
        self.first = len(self.history.entries)
        self.began = self.history.now
        # A whole number of turns: the next is of the first suite.
        self.outcomes = forecasts // 5 // SUITES * SUITES
        self.newly_resolved = 0

    def size(self) -> int:
        return self.first + self.forecasts + self.outcomes + self.newly_resolved

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        return self.payloads_at(range(start, stop))

    def payloads_at(self, seqs: Sequence[int]) -> Iterator[Payload]:
        return map(self._payload, seqs)

    def _payload(self, seq: int) -> Payload:
        if seq < self.first:
            return self.history.entries[seq]
        number = seq - self.first
        received_at = self.began + timedelta(milliseconds=number)
        event: ForecastSealed | ResolutionRecorded
        if number < self.forecasts:
            event = self._seal(number, received_at)
        else:
            received_at += timedelta(hours=3)
            event = self._outcome(number - self.forecasts, received_at)
        payload = codec.encode(event)
        return Payload(
            seq=seq,
            received_at=instant_text_micros(received_at),
            author_key=KEYS[event.author],
            event_id=bytes.fromhex(event_id(payload)),
            payload=payload,
        )

    def _question(self, number: int) -> Question:
        target = f"target-{number // SUITES % self.clusters}"
        asked = self.history.question(f"unit-{number}", target=target)
        return msgspec.structs.replace(
            asked,
            opened_at=self.began,
            cutoff_at=self.began + timedelta(hours=2),
            resolve_by=self.began + timedelta(hours=24),
        )

    def _seal(self, number: int, now: datetime) -> ForecastSealed:
        said_ppm = GRID * (1 + number * 37 % 99)
        return ForecastSealed(
            author="forecaster",
            created_at=now,
            ledger=self.history.ledger,
            suite=self.manifests[number % SUITES].suite,
            suite_hash=self.hashes[number % SUITES],
            question=self._question(number),
            forecaster="native",
            probabilities={
                "fail": ppm_text(1_000_000 - said_ppm),
                "pass": ppm_text(said_ppm),
            },
        )

    def _outcome(self, number: int, now: datetime) -> ResolutionRecorded:
        unit = number
        if number >= self.outcomes:  # of the first suite alone
            unit = self.outcomes + (number - self.outcomes) * SUITES
        return ResolutionRecorded(
            author="resolver",
            created_at=now,
            ledger=self.history.ledger,
            suite=self.manifests[unit % SUITES].suite,
            question_hash=codec.question_hash(self._question(unit)),
            status="RESOLVED",
            outcome="pass" if unit * 29 % 99 < unit * 37 % 99 else "fail",
        )


def rows_of(ledger: Ledger, table: Table) -> None:
    """Measure rows of all suites, and then of the one that new outcomes touch."""
    tables = Tables()
    fold = Fold(tables, ledger)
    took = seconds(fold.catch_up)
    table.line("fold, events made as they are read", per_second(ledger.size() / took))
    report = Report(tables, fold.frozen)
    every = seconds(report.refresh)
    before = stored(ledger, tables)
    left = (ledger.forecasts - ledger.outcomes) // SUITES
    ledger.newly_resolved = min(NEWLY_RESOLVED, left)
    fold.catch_up()
    recomputed = 0

    def refresh() -> None:
        nonlocal recomputed
        recomputed = report.refresh()

    some = seconds(refresh)
    after = stored(ledger, tables)
    touched = [name for name, rows in after.items() if rows != before[name]]
    assert touched == ["bench-0@v1"], touched
    rows = sum(map(len, after.values()))
    table.line(f"rows of {SUITES} suites, {rows} in all", f"{every:.1f} s")
    what = f"rows after {ledger.newly_resolved:,} outcomes: {recomputed} of {rows}"
    table.line(what, f"{some:.1f} s", some / every, "all of them", "1/10")


def stored(ledger: Ledger, tables: Tables) -> dict[str, list[str]]:
    """Return the rows of every suite as they are stored."""
    return {each.suite: tables.stored_rows(each.suite) for each in ledger.manifests}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forecasts", type=int, default=100_000)
    count = parser.parse_args().forecasts
    clusters = max(10, count // 100)
    table = Table()
    rows_of(Ledger(count, clusters), table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    table.line("peak memory of all this", f"{peak:.0f} MB")


if __name__ == "__main__":
    main()
