"""Entrants: what each competitor has on each unit of a suite, in one slot.

A principal's vectors come from its chains, and so do those of what recalibrates it;
another computed competitor has one vector a unit, at the unit's own place. Either way
the computed baselines stand beside it at the places of the very same vectors, weighted
as these are; one that somebody seals, or that recalibrates such a one, has its own.
"""

import msgspec
import numpy as np

from ledger.errors import UsageError
from ledger.projections import slots
from ledger.projections.board import Board, Vectors
from ledger.projections.columns import Flags, Integers
from ledger.projections.computed import Computed, Places, compute, places_of
from ledger.projections.filling import filled
from ledger.projections.lineage import INITIAL, UPDATE
from ledger.projections.recalibrated import origin_of, recalibrate
from ledger.projections.scores import ScoreColumns
from ledger.projections.slotted import Chosen, Slotted, slotted
from ledger.suite import Competitor
from ledger.suite_table import listed


class Entrant(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor on all units of a suite, in one slot, and its baselines there.

    `origin` is whose vectors its own go back to: the one that it recalibrates, or itself.
    `mine` are the rows of these on the board, those that do not count included; None
    where they are computed. `baselines` are by name: what the slot would have scored
    with the baseline's vectors, which are in `spoken`.
    """

    competitor: Competitor
    origin: Competitor
    slot: str
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
        rates = compute(board, self.places)
        self.computed: dict[str, Computed] = {
            **rates,
            **recalibrate(board, self.places, rates),
        }

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
        origin = origin_of(competitor, self.board.suite.manifest)
        mine = None if origin.principal is None else self._of(competitor, budget)
        if mine is None:
            chosen, has_eligible = (
                self._computed(competitor, slot),
                self.board.units.own_eligible,
            )
        else:
            chosen = self._sealed(competitor, mine, slot)
            counts = mine[self.board.vectors.eligible[mine]]
            has_eligible = np.zeros(len(self.board.units.number), dtype=np.bool_)
            has_eligible[self.board.vectors.unit[counts]] = True
        spoken = self._baselines(chosen, slot)
        return Entrant(
            competitor=competitor,
            origin=origin,
            slot=slot,
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

    def beside(self, entrant: Entrant, name: str) -> Slotted:
        """Return what another competitor scored in the slot of an entrant, unit by unit.

        A computed one is asked at the places of the entrant's vectors, weighted as
        these are: it knows as much of the past. Raises `UsageError` for a name that has
        no vectors in this suite.
        """
        known = entrant.baselines.get(name)
        if known is not None:
            return known
        return slotted(self.board, self.vectors_beside(entrant, name))

    def vectors_beside(self, entrant: Entrant, name: str) -> Chosen:
        """Return the vectors that `beside` scores, and raise as it does."""
        known = entrant.spoken.get(name)
        if known is not None:
            return known
        other = self.board.suite.manifest.competitor(name)
        if other is None or not self.competes(other):
            competitors = self.board.suite.manifest.competitors
            names = [each.name for each in competitors if self.competes(each)]
            msg = f"{name!r} has no vectors to compare with: of {listed(names)} one has"
            raise UsageError(msg)
        return self._beside(entrant.chosen, entrant.slot, other)

    def _of(self, competitor: Competitor, budget: str | None = None) -> Integers:
        """Return the rows of the vectors that a competitor, or its origin, sealed."""
        vectors = self.board.vectors
        origin = origin_of(competitor, self.board.suite.manifest)
        code = vectors.forecasters.get(origin.name, -1)
        rows = np.flatnonzero(vectors.forecaster == code)
        if budget is not None:
            rows = rows[vectors.budget.code[rows] == vectors.budget.names.index(budget)]
        return rows

    def _sealed(self, competitor: Competitor, mine: Integers, slot: str) -> Chosen:
        """Return which of a competitor's vectors the slot takes, with their weights.

        None of a chain of which it would take one that is still hidden: whoever hid
        several could open the one that turned out right, and leave the others closed.
        """
        vectors = self.board.vectors
        counts = vectors.eligible[mine] | vectors.is_withheld[mine]
        rows, is_root = mine[counts], _roots(vectors, mine)[counts]
        unit, sealed_us = vectors.unit[rows], vectors.sealed_us[rows]
        weight = self._weights(slot, unit, sealed_us, is_root)
        withheld = unit[(weight > 0) & vectors.is_withheld[rows]]
        is_taken = (weight > 0) & ~np.isin(unit, withheld)
        rows, weight = rows[is_taken], weight[is_taken]
        unit, place = vectors.unit[rows], self.places.of_vector[rows]
        if competitor.name in self.computed:
            said = self.computed[competitor.name]
            taken = said_at(said, place, unit, vectors.sealed_us[rows], weight)
            return self._filled(msgspec.structs.replace(taken, origin=rows), slot)
        taken = Chosen(
            unit=unit,
            place=place,
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
            vector=rows,
            origin=rows,
        )
        return self._filled(taken, slot)

    def _filled(self, taken: Chosen, slot: str) -> Chosen:
        """Return the vectors of a slot, filled where it weighs by time and is to be."""
        scoring = self.board.suite.manifest.scoring
        reference = self.computed.get(scoring.reference)
        is_to_be = slot == slots.TIME_WEIGHTED and scoring.baseline_fill
        if not is_to_be or reference is None:
            return taken
        return filled(self.board, self.places, taken, reference)

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
        """Return the reference, the baselines and the incumbent beside some vectors."""
        manifest = self.board.suite.manifest
        named = {manifest.scoring.reference, manifest.incumbent}
        return {
            each.name: self._beside(chosen, slot, each)
            for each in manifest.competitors
            if (each.role or each.name in named) and self.competes(each)
        }

    def _beside(self, chosen: Chosen, slot: str, other: Competitor) -> Chosen:
        """Return the vectors of another competitor that go with some vectors."""
        origin = origin_of(other, self.board.suite.manifest)
        if origin.principal is not None:
            return self._sealed(other, self._of(other), slot)
        return said_at(
            self.computed[other.name],
            chosen.place,
            chosen.unit,
            chosen.sealed_us,
            chosen.weight,
        )


def _roots(vectors: Vectors, mine: Integers) -> Flags:
    """Mark the roots of chains; of a budget that came later, the first vector under it."""
    kind, unit = vectors.kind[mine], vectors.unit[mine]
    is_root: Flags = kind == INITIAL
    later = np.flatnonzero((kind == UPDATE) & ~np.isin(unit, unit[is_root]))
    _, first = np.unique(unit[later], return_index=True)
    is_root[later[first]] = True
    return is_root


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
        has_past=None if said.has_past is None else said.has_past[place],
    )
