"""Interquartile means over clusters, always beside the mean over units (METRICS §21)."""

from typing import Any

from ledger.projections.aggregation import cluster_means, interquartile_mean
from ledger.projections.cohort import NOT_DECLARED, Measure, undefined
from ledger.projections.columns import Integers
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground
from ledger.projections.measures import BRIER


def robust(ground: Ground) -> dict[str, dict[str, Any]]:
    """Return the interquartile means over clusters, and the extremes of clusters."""
    mine, clusters = ground.mine, ground.cluster.code
    columns = {
        BRIER[ground.cohort.is_binary]: ground.brier(mine),
        "log_score_bits_clipped": ground.of(mine.picobits_clipped),
        "log_loss": -ground.of(mine.piconats_clipped),
    }
    return {name: _robust(column, clusters) for name, column in columns.items()}


def _robust(scores: Integers, clusters: Integers) -> dict[str, Any]:
    means = cluster_means(scores, clusters)
    middle = interquartile_mean(means)
    if middle is None:
        return undefined(NOT_DECLARED, 0).told()
    return {
        **Measure(value=middle, n=len(means)).told(),
        "min": dec12(min(means)),
        "max": dec12(max(means)),
    }
