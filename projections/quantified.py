"""What a row's forecasts of numbers cost, with intervals (METRICS §16).

Each metric is over the units that have it, which its `n` counts: a forecaster states a
point, quantiles or samples as it likes.
"""

from typing import Any

import numpy as np

from ledger.projections import resampling_sums
from ledger.projections.columns import Integers
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.projections.quantities_scored import Scored, quantity_scores
from ledger.projections.resampling import Interval, Statistic

Shown = dict[str, Any]


def quantified(ground: Ground, inference: Inference) -> Shown:
    """Return the metrics of each number that the suite asks for; nothing of none."""
    board, chosen = ground.sample.board, ground.sample.entrant.chosen
    found = quantity_scores(board, chosen, ground.cohort.units)
    return {
        name: {
            "unit": board.suite.manifest.quantities[name].unit,
            "scores": _scores(ground, inference, metrics),
        }
        for name, metrics in found.items()
    }


def _scores(ground: Ground, inference: Inference, metrics: dict[str, Scored]) -> Shown:
    intervals: dict[str, Interval] = {}
    for units, names in _by_units(metrics):
        on = _on(ground, units)
        statistics: dict[str, Statistic] = {
            name: resampling_sums.mean(column, *on.resampled)
            for name in names
            if (column := metrics[name].column) is not None
        }
        intervals |= inference.intervals(on, statistics, row=ground)
    return {
        name: told(scored.measure, intervals.get(name))
        for name, scored in metrics.items()
    }


def _by_units(metrics: dict[str, Scored]) -> list[tuple[Integers, list[str]]]:
    """Return the metrics that are over the same units, and these: resampled as one."""
    found: dict[bytes, tuple[Integers, list[str]]] = {}
    for name, scored in metrics.items():
        if scored.losses:
            key = scored.units.tobytes()
            found.setdefault(key, (scored.units, []))[1].append(name)
    return list(found.values())


def _on(ground: Ground, units: Integers) -> Ground:
    if np.array_equal(units, ground.cohort.units):
        return ground
    return Ground(ground.sample, ground.sample.cohort(units))
