"""Entrants: what each competitor has on each unit of a suite, in one slot.

A principal's vectors come from its chains; a computed competitor has one vector a
unit, at the unit's own place. Either way the baselines stand beside it at the places
of the very same vectors, weighted as these are.
"""

import msgspec
import numpy as np

from ledger.projections import slots
from ledger.projections.board import Board
from ledger.projections.columns import Flags, Integers
from ledger.projections.computed import Computed, Places, compute, places_of
from ledger.projections.lineage import INITIAL
from ledger.projections.scores import ScoreColumns
from ledger.projections.slotted import Chosen, Slotted, slotted
from ledger.suite import Competitor


class Entrant(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor on all units of a suite, in one slot, and its baselines there.

    `mine` are the rows of its vectors on the board, those that do not count included;
    None for a computed one. `baselines` are by name: what the slot would have scored
    with the baseline's vectors, which are in `spoken`.
    """

    competitor: Competitor
    chosen: Chosen
    slotted: Slotted
    has_eligible: Flags
    mine: Integers | None
    baselines: dict[str, Slotted]
    spoken: dict[str, Chosen]
    places: Places


class Field:
    """All competitors of a board; what several of them need is computed once."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.places: Places = places_of(board)
        self.computed: dict[str, Computed] = compute(board, self.places)

    def competes(self, competitor: Competitor) -> bool:
        """Tell whether a competitor can have rows: it seals, or is computed."""
        return competitor.principal is not None or competitor.name in self.computed

    def budgets(self, competitor: Competitor) -> list[str]:
        """Return the adaptation budgets that a competitor's vectors name, sorted."""
        vectors = self.board.vectors
        used = np.unique(vectors.budget.code[self._of(competitor)]).tolist()
        return sorted(filter(None, (vectors.budget.names[code] for code in used)))

    def enter(
        self, competitor: Competitor, slot: str, budget: str | None = None
    ) -> Entrant:
        """Return what a competitor has in a slot; with a budget, under that one only.

        Raises `UsageError` for a slot that there is not.
        """
        if competitor.principal is None:
            mine, chosen = None, self._computed(competitor, slot)
            has_eligible = self.board.units.own_eligible
        else:
            mine = self._of(competitor, budget)
            chosen = self._sealed(mine, slot)
            counts = mine[self.board.vectors.eligible[mine]]
            has_eligible = np.zeros(len(self.board.units.number), dtype=np.bool_)
            has_eligible[self.board.vectors.unit[counts]] = True
        spoken = self._baselines(chosen, slot)
        return Entrant(
            competitor=competitor,
            chosen=chosen,
            slotted=slotted(self.board, chosen),
            has_eligible=has_eligible,
            mine=mine,
            baselines={
                name: slotted(self.board, theirs) for name, theirs in spoken.items()
            },
            spoken=spoken,
            places=self.places,
        )

    def _of(self, competitor: Competitor, budget: str | None = None) -> Integers:
        vectors = self.board.vectors
        code = vectors.forecasters.get(competitor.name, -1)
        rows = np.flatnonzero(vectors.forecaster == code)
        if budget is not None:
            rows = rows[vectors.budget.code[rows] == vectors.budget.names.index(budget)]
        return rows

    def _sealed(self, mine: Integers, slot: str) -> Chosen:
        """Return which of a competitor's vectors the slot takes, with their weights.

        None of a chain of which it would take one that is still hidden: whoever hid
        several could open the one that turned out right, and leave the others closed.
        """
        vectors = self.board.vectors
        rows = mine[vectors.eligible[mine] | vectors.is_withheld[mine]]
        unit, sealed_us = vectors.unit[rows], vectors.sealed_us[rows]
        is_root = vectors.kind[rows] == INITIAL
        weight = self._weights(slot, unit, sealed_us, is_root)
        withheld = unit[(weight > 0) & vectors.is_withheld[rows]]
        is_taken = (weight > 0) & ~np.isin(unit, withheld)
        rows, weight = rows[is_taken], weight[is_taken]
        return Chosen(
            unit=vectors.unit[rows],
            place=self.places.of_vector[rows],
            sealed_us=vectors.sealed_us[rows],
            weight=weight,
            code=vectors.code[rows],
            distinct=vectors.distinct,
            scores=ScoreColumns(
                vectors.brier_sum[rows],
                vectors.picobits[rows],
                vectors.picobits_clipped[rows],
                vectors.piconats_clipped[rows],
            ),
        )

    def _computed(self, competitor: Competitor, slot: str) -> Chosen:
        """Return the one vector of a computed competitor on each unit."""
        units, said = self.board.units, self.computed[competitor.name]
        unit = np.flatnonzero(units.own_eligible)
        sealed_us = units.own_us[unit]
        weight = self._weights(
            slot, unit, sealed_us, np.ones(len(unit), dtype=np.bool_)
        )
        unit, weight = unit[weight > 0], weight[weight > 0]
        return said_at(said, self.places.own[unit], unit, units.own_us[unit], weight)

    def _weights(
        self, slot: str, unit: Integers, sealed_us: Integers, is_root: Flags
    ) -> Integers:
        units = self.board.units
        return slots.weights(
            slot,
            slots.Chains(
                chain=unit,
                is_root=is_root,
                sealed_us=sealed_us,
                resolve_by_us=units.resolve_by_us[unit],
                end_us=units.end_us[unit],
            ),
        )

    def _baselines(self, chosen: Chosen, slot: str) -> dict[str, Chosen]:
        """Return the reference and the baselines of a role beside some vectors."""
        manifest = self.board.suite.manifest
        found = {}
        for each in manifest.competitors:
            if each.role is None and each.name != manifest.scoring.reference:
                continue
            if each.name in self.computed:
                theirs = said_at(
                    self.computed[each.name],
                    chosen.place,
                    chosen.unit,
                    chosen.sealed_us,
                    chosen.weight,
                )
            elif each.principal is not None:
                theirs = self._sealed(self._of(each), slot)
            else:
                continue
            found[each.name] = theirs
        return found


def said_at(
    said: Computed,
    place: Integers,
    unit: Integers,
    sealed_us: Integers,
    weight: Integers,
) -> Chosen:
    """Return what a computed competitor says at some places, so weighted."""
    return Chosen(
        unit=unit,
        place=place,
        sealed_us=sealed_us,
        weight=weight,
        code=said.code[place],
        distinct=said.distinct,
        scores=ScoreColumns(*(column[place] for column in said.scores)),
    )
