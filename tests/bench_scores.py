"""How fast scores are: exact intervals beside naive ones, and rows of a large ledger.

    make bench                         100,000 forecasts in 1,000 clusters
    make bench FORECASTS=1000000       a million in 10,000

Each ratio is of two things that were done one after the other in the same run. The
naive ways are what a careful person writes first: rows drawn again one replicate at a
time with numpy, scikit-learn's AUROC on each; a few replicates are timed and the rest
is extrapolated.
"""

import argparse
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
import numpy as np
from sklearn.metrics import roc_auc_score

from ledger import codec
from ledger.clock import instant_text_micros
from ledger.events import ForecastSealed, Question, ResolutionRecorded
from ledger.ids import event_id
from ledger.projections import resampling_sums
from ledger.projections.auroc import auroc
from ledger.projections.columns import Integers
from ledger.projections.exact import exact_sum, picobits
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload
from ledger.projections.report import Report
from ledger.projections.resampling import Resamples, Rule, intervals
from ledger.projections.resampling_auroc import Auroc
from ledger.projections.tally import tally
from tests.bench import Table, per_second, seconds
from tests.simulator import History, key_of, ppm_text, suite

RESAMPLES = 2_000
NAIVE = 3  # replicates that are timed
SUITES = 10
NEWLY_RESOLVED = 1_000
GRID = 10_000  # parts per million: probabilities on a grid of 0.01
RULE = Rule(level=Fraction(95, 100), min_clusters=10, max_undefined=Fraction(1, 100))
SEED = bytes(32)
KEYS = {name: key_of(name).verifier.public for name in ("forecaster", "resolver")}


class Forecasts:
    """Binary forecasts in clusters: what a statistic takes."""

    def __init__(self, count: int, clusters: int) -> None:
        chance = np.random.default_rng(7)
        self.clusters = clusters
        self.p_ppm: Integers = chance.integers(1, 100, count) * GRID
        self.y: Integers = (chance.integers(0, 1_000_000, count) < self.p_ppm).astype(
            np.int64
        )
        self.cluster: Integers = np.sort(chance.integers(0, clusters, count))
        self.brier: Integers = (self.p_ppm - 1_000_000 * self.y) ** 2
        self.bits = _bits(np.where(self.y == 1, self.p_ppm, 1_000_000 - self.p_ppm))

    def resamples(self) -> Resamples:
        return Resamples(seed=SEED, clusters=self.clusters, resamples=RESAMPLES)


def _bits(p_ppm: Integers) -> Integers:
    distinct, which = np.unique(p_ppm, return_inverse=True)
    found = np.array([picobits(ppm) for ppm in distinct.tolist()], dtype=np.int64)
    scores: Integers = found[which]
    return scores


class Naive:
    """The same numbers in floats, by drawing rows again one replicate at a time."""

    def __init__(self, forecasts: Forecasts) -> None:
        self.forecasts = forecasts
        starts = np.searchsorted(forecasts.cluster, np.arange(forecasts.clusters + 1))
        self.rows = [np.arange(*span) for span in pairwise(starts.tolist())]
        self.chance = np.random.default_rng(8)
        self.p = forecasts.p_ppm / 1e6
        self.losses = (self.p - forecasts.y) ** 2

    def drawn(self) -> Integers:
        chosen = self.chance.integers(0, len(self.rows), len(self.rows))
        return np.concatenate([self.rows[each] for each in chosen])

    def mean(self) -> float:
        return float(self.losses[self.drawn()].mean())

    def auroc(self) -> float:
        drawn = self.drawn()
        return float(roc_auc_score(self.forecasts.y[drawn], self.p[drawn]))

    def row(self) -> list[float]:
        """Return a row as numpy makes it: two means, a skill and their intervals."""
        forecasts, clusters = self.forecasts, self.forecasts.clusters
        columns = [
            self.losses,
            np.log2(np.where(forecasts.y == 1, self.p, 1 - self.p)),
        ]
        sums = np.stack(
            [np.bincount(forecasts.cluster, column, clusters) for column in columns]
        )
        sizes = np.bincount(forecasts.cluster, minlength=clusters)
        found = []
        for _ in range(RESAMPLES):
            drawn = self.chance.integers(0, clusters, clusters)
            found.append(sums[:, drawn].sum(axis=1) / sizes[drawn].sum())
        ends = np.quantile(np.array(found), [0.025, 0.975], axis=0)
        return [*(column.mean() for column in columns), *ends.ravel()]


def extrapolated(act: Callable[[], object]) -> float:
    """Return how long all replicates would take, after some of them."""
    return seconds(lambda: [act() for _ in range(NAIVE)]) / NAIVE * RESAMPLES


def intervals_of(forecasts: Forecasts, table: Table) -> None:
    """Measure points and intervals beside the naive ways."""
    cluster, clusters, naive = forecasts.cluster, forecasts.clusters, Naive(forecasts)
    took = seconds(
        lambda: intervals(
            forecasts.resamples(),
            {"brier": resampling_sums.mean(forecasts.brier, cluster, clusters)},
            RULE,
        )
    )
    ratio = extrapolated(naive.mean) / took
    table.line("2,000 resamples of a mean", f"{took:.2f} s", ratio, "naive", ">= 30")
    took = seconds(
        lambda: intervals(
            forecasts.resamples(),
            {"auroc": Auroc(forecasts.p_ppm, forecasts.y, cluster, clusters)},
            RULE,
        )
    )
    ratio = extrapolated(naive.auroc) / took
    aim = ">= 30"
    table.line("2,000 resamples of the AUROC", f"{took:.2f} s", ratio, "naive", aim)
    naive.auroc()  # the first call of scikit-learn imports more of it
    took = seconds(lambda: auroc(tally(forecasts.p_ppm, forecasts.y)))
    theirs = seconds(lambda: roc_auc_score(forecasts.y, naive.p))
    ratio = theirs / took
    table.line("the AUROC", f"{took * 1e3:.0f} ms", ratio, "scikit-learn", ">= 3")
    exact = seconds(lambda: exact_row(forecasts))
    ratio = exact / seconds(naive.row)
    table.line("a row with intervals, exactly", f"{exact:.2f} s", ratio, "in floats")


def exact_row(forecasts: Forecasts) -> None:
    """Make what `Naive.row` makes, out of integers."""
    columns = {"brier": forecasts.brier, "log_score_bits": forecasts.bits}
    for column in columns.values():
        Fraction(exact_sum(column), len(column))
    statistics = {
        name: resampling_sums.mean(column, forecasts.cluster, forecasts.clusters)
        for name, column in columns.items()
    }
    intervals(forecasts.resamples(), statistics, RULE)


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
        self.outcomes = forecasts // 5
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
    ledger.newly_resolved = NEWLY_RESOLVED
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
    what = f"rows after {NEWLY_RESOLVED:,} outcomes: {recomputed} of {rows}"
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
    intervals_of(Forecasts(count, clusters), table)
    rows_of(Ledger(count, clusters), table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    table.line("peak memory of all this", f"{peak:.0f} MB")


if __name__ == "__main__":
    main()
