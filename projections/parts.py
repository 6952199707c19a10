"""Parts of a suite that have a row of their own: a horizon, a slice, or both.

A grouping is `horizon`, `target`, `template`, `slot`, `tag:<name>`, which divide the
units; `split`, the periods that the suite sets apart; `adaptation_budget`, which divides a forecaster's vectors; or `evidence_tier`,
which a forecaster has as a whole.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec
import numpy as np

from ledger.errors import UsageError
from ledger.projections.baselines import TAG, tag_of
from ledger.projections.board import Board
from ledger.projections.columns import Integers
from ledger.projections.fetching import Texts
from ledger.projections.splits import divided
from ledger.suite import Competitor

HORIZON, BUDGET, TIER = "horizon", "adaptation_budget", "evidence_tier"
SPLIT = "split"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which units a row is about, under which name; None for no restriction."""

    units: Integers
    horizon: str | None
    grouping: str | None
    value: str | None

    @property
    def slice(self) -> str | None:
        """What the slice is called in a row, such as `tag:repo=a`."""
        return None if self.grouping is None else f"{self.grouping}={self.value}"


class Parts:
    """The parts of a board's declared units, by the groupings that are wanted."""

    def __init__(self, board: Board, groupings: Sequence[str]) -> None:
        """Raise `UsageError` for a grouping that there is not."""
        splits = board.suite.manifest.statistics.splits
        # What was set apart beforehand is always shown apart.
        wanted = (*groupings, SPLIT) if splits else groupings
        self._groupings = list(dict.fromkeys(wanted))
        declared = np.flatnonzero(board.units.are_declared(board.as_of_us))
        self._horizons: dict[str | None, Integers] = {None: declared}
        if HORIZON in self._groupings:
            self._horizons.update(_divided(declared, board.units.horizon))
        self._divided = {
            each: _divided(declared, values_of(board, each))
            for each in self._groupings
            if each not in {HORIZON, BUDGET, TIER, SPLIT}
        }
        if SPLIT in self._groupings:
            if not splits:
                msg = f"rows cannot be grouped by split: {board.suite.name} has none"
                raise UsageError(msg)
            self._divided[SPLIT] = divided(splits, board.units.cutoff_us, declared)

    def of(self, competitor: Competitor, budgets: Sequence[str]) -> Iterator[Part]:
        """Yield a competitor's parts: everything first, then by horizon and slice."""
        for horizon, units in self._horizons.items():
            yield Part(units=units, horizon=horizon, grouping=None, value=None)
        for grouping in self._groupings:
            if grouping == BUDGET:
                values = dict.fromkeys(budgets, self._horizons[None])
            elif grouping == TIER:
                tier = competitor.evidence_tier
                values = {tier: self._horizons[None]} if tier else {}
            else:
                values = self._divided.get(grouping, {})
            yield from self._sliced(grouping, values)

    def _sliced(self, grouping: str, values: dict[str, Integers]) -> Iterator[Part]:
        for (value, members), (horizon, of_horizon) in product(
            values.items(), self._horizons.items()
        ):
            units = (
                members
                if horizon is None
                else np.intersect1d(members, of_horizon, assume_unique=True)
            )
            if len(units) or horizon is None:
                yield Part(units=units, horizon=horizon, grouping=grouping, value=value)


def values_of(board: Board, grouping: str) -> Texts:
    """Return what each unit is grouped by; "" for no value."""
    units = board.units
    if grouping.startswith(TAG):
        return tag_of(units.tags, grouping.removeprefix(TAG))
    named = {
        HORIZON: units.horizon,
        "target": units.target,
        "template": units.template,
        "slot": units.slot,
    }
    if grouping not in named:
        known = ", ".join((*named, SPLIT, TIER, BUDGET))
        msg = f"rows cannot be grouped by {grouping!r}: take {known} or tag:<name>"
        raise UsageError(msg)
    return named[grouping]


def _divided(declared: Integers, values: Texts) -> dict[str, Integers]:
    """Return the declared units that have each value, by the value's bytes."""
    code = values.code[declared]
    order = np.argsort(code, kind="stable")
    codes, starts = np.unique(code[order], return_index=True)
    pieces = np.split(declared[order], starts[1:]) if len(codes) else []
    found = {
        values.names[at]: piece
        for at, piece in zip(codes.tolist(), pieces, strict=True)
    }
    return {name: found[name] for name in sorted(found, key=str.encode) if name}
