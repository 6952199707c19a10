"""Forecasts of numbers, scored unit by unit over a cohort (METRICS §§16, 19).

A slot takes the same vectors for a number as it does for probabilities. What they
cost is averaged within their unit first, so that updates are never counted as
independent; a unit on which one of them does not state what a metric needs is left
out of that metric, whose `n` shows it.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import msgspec
import numpy as np

from ledger.projections.board import Board
from ledger.projections.cohort import EMPTY, INSUFFICIENT, NOT_DECLARED, Measure
from ledger.projections.columns import INT64_MAX, Flags, Integers, integers
from ledger.projections.exact import UNITS
from ledger.projections.quantities_board import Quantity
from ledger.projections.quantities_losses import METRICS, Losses, losses, read_said
from ledger.projections.slotted import Chosen


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric came to on each unit of a cohort that has it.

    `units` are rows of the board's units, `losses` theirs in units of 1e-12; `reason`
    says why there are none.
    """

    units: Integers
    losses: list[int]
    reason: str | None

    @property
    def measure(self) -> Measure:
        """The mean over the units."""
        n = len(self.losses)
        mean = Fraction(sum(self.losses), n * UNITS) if n else None
        return Measure(value=mean, n=n, reason=self.reason)

    @property
    def column(self) -> Integers | None:
        """The losses as a column; None where one has more than 63 bits."""
        largest = max(map(abs, self.losses), default=0)
        return integers(self.losses) if largest <= INT64_MAX else None


def quantity_scores(
    board: Board, chosen: Chosen, units: Integers
) -> dict[str, dict[str, Scored]]:
    """Return what the vectors of a slot came to on some units.

    The keys are the suite's quantities, then all of `METRICS`. A unit counts where it
    is resolved with a value of the quantity.
    """
    is_member = np.zeros(len(board.units.number), dtype=np.bool_)
    is_member[units] = True
    return {
        name: _scored(quantity, chosen, is_member)
        for name, quantity in board.quantities.items()
    }


def _scored(quantity: Quantity, chosen: Chosen, is_member: Flags) -> dict[str, Scored]:
    is_observed = is_member & (quantity.observed.code >= 0)
    # Whoever is computed from outcomes says nothing of numbers.
    found = (
        {metric: {} for metric in METRICS}
        if chosen.vector is None
        else _unit_losses(quantity, chosen, chosen.vector, is_observed)
    )
    reasons = dict.fromkeys(METRICS, NOT_DECLARED if is_observed.any() else EMPTY)
    if found["crps_ecdf"]:
        # There were samples, but no two of one forecast that could differ.
        reasons["crps_fair"] = INSUFFICIENT
    return {
        metric: Scored(
            units=integers(list(of_metric)),
            losses=list(of_metric.values()),
            reason=None if of_metric else reasons[metric],
        )
        for metric, of_metric in found.items()
    }


def _unit_losses(
    quantity: Quantity, chosen: Chosen, vector: Integers, is_observed: Flags
) -> dict[str, dict[int, int]]:
    """Return the loss of each unit that has one, by metric, in units of 1e-12."""
    # What fills the time before the first vector says nothing of numbers.
    kept = np.flatnonzero(is_observed[chosen.unit] & (vector >= 0))
    unit = chosen.unit[kept]
    said = [read_said(text) for text in quantity.said.names]
    values = [Fraction(text) for text in quantity.observed.names]

    @lru_cache(None)
    def judged(code: int, value: int) -> Losses:
        return {} if code < 0 else losses(said[code], values[value], quantity.rule)

    rows = zip(
        unit.tolist(),
        quantity.said.code[vector[kept]].tolist(),
        quantity.observed.code[unit].tolist(),
        chosen.weight[kept].tolist(),
        strict=True,
    )
    found: dict[str, dict[int, int]] = {metric: {} for metric in METRICS}
    for place, of_unit in groupby(rows, key=itemgetter(0)):
        weighed = [(judged(code, value), weight) for _, code, value, weight in of_unit]
        for metric, loss in _means(weighed).items():
            found[metric][place] = round(loss * UNITS)
    return found


def _means(weighed: list[tuple[Losses, int]]) -> Losses:
    """Return the weighted mean of each metric that all vectors of a unit have."""
    whole = sum(weight for _, weight in weighed)
    return {
        metric: sum((each[metric] * weight for each, weight in weighed), Fraction(0))
        / whole
        for metric in METRICS
        if all(metric in each for each, _ in weighed)
    }
