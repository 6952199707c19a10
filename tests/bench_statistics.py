"""How fast intervals and rankings are, beside the loops that people write: ratios.

    python tests/bench_statistics.py                      a million forecasts, minutes
    python tests/bench_statistics.py --forecasts 100000   a tenth of it

Naive loops are measured over three replicates and extrapolated. Each line names its
aim, where it has one; the last lines say what exactness costs.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ledger.projections import resampling_sums
from ledger.projections.auroc import auroc
from ledger.projections.resampling import Resamples, Rule, Statistic, intervals
from ledger.projections.resampling_auroc import Auroc
from ledger.projections.tally import tally

SEED = b"\1" * 32
RULE = Rule(level=Fraction(95, 100), min_clusters=10, max_undefined=Fraction(1, 100))
RESAMPLES = 2_000
NAIVE = 3
UNITS_A_CLUSTER = 100
ROW = "{:<44} {:>9} {:>9}  {:<38} {:>6}"


class Sample:
    """Made-up forecasts that are calibrated, in clusters of about a hundred."""

    def __init__(self, size: int) -> None:
        self.chance = np.random.default_rng(20_260_101)
        self.clusters = max(10, size // UNITS_A_CLUSTER)
        self.cluster = self.chance.integers(0, self.clusters, size)
        self.p_ppm = self.chance.integers(0, 1_000_001, size)
        self.p = self.p_ppm / 1e6
        self.y = (self.chance.random(size) < self.p).astype(np.int64)
        self.losses = (self.p_ppm - 1_000_000 * self.y) ** 2
        self.loss = self.losses / 1e12
        order = np.argsort(self.cluster, kind="stable")
        ends = np.cumsum(np.bincount(self.cluster, minlength=self.clusters))
        self.members = np.split(order, ends[:-1])

    def interval(self, statistic: Callable[[], Statistic]) -> None:
        """Take an interval, from the columns on."""
        resamples = Resamples(seed=SEED, clusters=self.clusters, resamples=RESAMPLES)
        intervals(resamples, {"own": statistic()}, RULE)

    def mean(self) -> Statistic:
        return resampling_sums.mean(self.losses, self.cluster, self.clusters)

    def auroc(self) -> Statistic:
        return Auroc(self.p_ppm, self.y, self.cluster, self.clusters)

    def drawn(self) -> np.ndarray:
        """Return the rows of one resample, as people gather them."""
        clusters = self.chance.integers(0, self.clusters, self.clusters)
        return np.concatenate([self.members[each] for each in clusters])

    def naive_mean(self) -> float:
        return float(self.loss[self.drawn()].mean())

    def naive_auroc(self) -> float:
        rows = self.drawn()
        return float(roc_auc_score(self.y[rows], self.p[rows]))

    def float_mean_interval(self) -> None:
        """Do the same as `mean` does in floats, summed by cluster first."""
        sums = np.bincount(self.cluster, self.loss, self.clusters)
        sizes = np.bincount(self.cluster, minlength=self.clusters)
        means = []
        for _ in range(RESAMPLES):
            rows = self.chance.integers(0, self.clusters, self.clusters)
            means.append(sums[rows].sum() / sizes[rows].sum())
        np.quantile(means, [0.025, 0.975])

    def float_auroc(self) -> float:
        """Rank in floats, with numpy alone."""
        low, high = np.sort(self.p[self.y == 0]), np.sort(self.p[self.y == 1])
        below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
        return float(below.mean() / (2 * len(low)))


def seconds(act: Callable[[], object], times: int = 1) -> float:
    began = time.perf_counter()
    for _ in range(times):
        act()
    return (time.perf_counter() - began) / times


def line(what: str, took: float, ratio: float, to: str, aim: str = "") -> None:
    print(ROW.format(what, f"{took:.2f} s", f"{ratio:.2f}", to, aim), flush=True)


def main() -> None:
    """Print a line as soon as it is measured."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--forecasts", type=int, default=1_000_000)
    sample = Sample(arguments.parse_args().forecasts)
    print(ROW.format("what", "took", "ratio", "to", "aim"))

    mean = seconds(lambda: sample.interval(sample.mean))
    naive = seconds(sample.naive_mean, NAIVE) * RESAMPLES
    line("interval of a mean score", mean, naive / mean, "a loop over rows", "30")

    ranked = seconds(lambda: sample.interval(sample.auroc))

    naive = seconds(sample.naive_auroc, NAIVE) * RESAMPLES
    line("interval of AUROC", ranked, naive / ranked, "a loop of scikit-learn", "30")

    point = seconds(lambda: auroc(tally(sample.p_ppm, sample.y)), NAIVE)
    theirs = seconds(lambda: roc_auc_score(sample.y, sample.p), NAIVE)
    line("AUROC", point, theirs / point, "scikit-learn", "3")

    floats = seconds(sample.float_mean_interval)
    line("  what exactness costs: the mean's interval", mean, mean / floats, "floats")
    floats = seconds(sample.float_auroc, NAIVE)
    line("  what exactness costs: AUROC", point, point / floats, "floats")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory {peak} MB, of which a stream of draws {_stream(sample)} MB")


def _stream(sample: Sample) -> int:
    return RESAMPLES * sample.clusters * 8 // 2**20


if __name__ == "__main__":
    main()
