"""The intervals of a row: which of its scores have one, and how they were drawn.

Whole clusters are resampled, never rows (METRICS §10). Scores over the same units see
the same resamples; those over fewer units, where a baseline was not on all, have a
seed of their own, that of those units' cohort, and say so: a reader who has the row,
the manifest and the log can draw each of them again.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ledger.projections.cohort import CLUSTERS_LT_MIN, Measure
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground
from ledger.projections.measures import Score
from ledger.projections.resampling import (
    QUANTILE_RULE,
    Drawn,
    Interval,
    Resamples,
    Rule,
    Statistic,
    intervals,
)
from ledger.projections.rng import RNG_ID, row_seed
from ledger.projections.seeds import root_seed
from ledger.suite import SuiteManifest

_LABEL = "boot"


class Inference:
    """How the intervals of a suite are drawn, as its manifest fixes it."""

    def __init__(self, manifest: SuiteManifest) -> None:
        statistics = manifest.statistics
        self.root = root_seed(manifest)
        self.resamples = statistics.resamples
        self.few_clusters = statistics.few_clusters
        self.rule = Rule(
            level=Fraction(statistics.level),
            min_clusters=statistics.min_clusters,
            max_undefined=Fraction(statistics.max_undefined),
        )

    def drawn(self, ground: Ground) -> Resamples:
        """Return which clusters of a ground are drawn."""
        return Resamples(
            seed=row_seed(self.root, ground.cohort.hash),
            clusters=ground.cluster.size,
            resamples=self.resamples,
            label=_LABEL,
        )

    def intervals(
        self, ground: Ground, statistics: Mapping[str, Statistic], *, row: Ground
    ) -> dict[str, Interval]:
        """Return the interval of statistics over the same ground, all paired.

        They stand in a row over the ground `row`.
        """
        found = intervals(self.drawn(ground), statistics, self.rule)
        drawn = self._beside(row, ground)
        return {name: _saying(interval, drawn) for name, interval in found.items()}

    def has_clusters(self, ground: Ground) -> bool:
        """Tell whether a ground has enough clusters for any interval."""
        return ground.cluster.size >= max(2, self.rule.min_clusters)

    def of_all(
        self, row: Ground, *groups: Mapping[str, Score]
    ) -> list[dict[str, Interval]]:
        """Return the intervals of each group's scores, by their names there.

        Those that have a value and resample something have one. What is over the same
        ground is drawn once, whichever group it is of. They stand in a row over the
        ground `row`.
        """
        found: list[dict[str, Interval]] = [{} for _ in groups]
        grounds: dict[int, tuple[Ground, dict[str, Statistic]]] = {}
        for at, scores in enumerate(groups):
            for name, (measure, ground, statistic) in scores.items():
                if measure.value is None or ground is None or statistic is None:
                    continue
                if not self.has_clusters(ground):
                    few = Interval(reason=CLUSTERS_LT_MIN)
                    found[at][name] = _saying(few, self._beside(row, ground))
                    continue
                _, statistics = grounds.setdefault(id(ground), (ground, {}))
                statistics[f"{at}/{name}"] = statistic()
        for ground, statistics in grounds.values():
            made = self.intervals(ground, statistics, row=row)
            for place, interval in made.items():
                group, _, name = place.partition("/")
                found[int(group)][name] = interval
        return found

    def _beside(self, row: Ground, on: Ground) -> Drawn | None:
        """Return what differs where an interval is over other units than its row."""
        if on.cohort.hash == row.cohort.hash:
            return None
        return Drawn(
            clusters=on.cluster.size,
            seed=row_seed(self.root, on.cohort.hash),
            cohort=on.cohort.hash,
            is_few=on.cluster.size < self.few_clusters,
        )

    def recorded(self, ground: Ground) -> dict[str, str | int]:
        """Return what a reader needs in order to draw a row's resamples again."""
        return {
            "rng_id": RNG_ID,
            "root_seed": self.root.hex(),
            "row_seed": row_seed(self.root, ground.cohort.hash).hex(),
            "label": _LABEL,
            "B": self.resamples,
            "K": ground.cluster.size,
            "quantile_rule": QUANTILE_RULE,
            "alpha": dec12(self.rule.alpha),
        }


def _saying(interval: Interval, drawn: Drawn | None) -> Interval:
    if drawn is None:
        return interval
    return msgspec.structs.replace(interval, drawn=drawn)


def told(measure: Measure, interval: Interval | None) -> dict[str, Any]:
    """Return a measure as rows show it, with its interval or why there is none.

    Where that is over other units than its row, so is said of what it was drawn.
    """
    shown: dict[str, Any] = measure.told()
    if interval is None:
        return shown
    shown |= ends(interval)
    if interval.reason is not None:
        shown["ci_reason"] = interval.reason
    if interval.undefined:
        shown["undefined_replicates"] = interval.undefined
    if interval.drawn is not None:
        shown["drawn"] = interval.drawn.told()
    return shown


def ends(interval: Interval) -> dict[str, str | None]:
    """Return the two ends of an interval as rows show them."""
    lo, hi = interval.lo, interval.hi
    return {
        "lo": None if lo is None else dec12(lo),
        "hi": None if hi is None else dec12(hi),
    }


def clamped(interval: Interval) -> Interval:
    """Return the interval of an official skill, given that of the unclamped one.

    To clamp keeps the order of replicates, and so their quantiles.
    """
    if interval.lo is None or interval.hi is None:
        return interval
    lo, hi = (
        100 * min(max(end, Fraction(0)), Fraction(1))
        for end in (interval.lo, interval.hi)
    )
    return msgspec.structs.replace(interval, lo=lo, hi=hi)
