"""Slotted: what the vectors that a slot takes scored, one row a unit.

A unit's score is the weighted mean over its own chain, so that updates are never
counted as independent.
"""

import msgspec
import numpy as np

from ledger.projections.board import Board
from ledger.projections.columns import NEVER, Flags, Integers, integers
from ledger.projections.scores import ScoreColumns
from ledger.projections.slots import weighted_means

BINARY = 2


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of one competitor that a slot takes, one a row, units together.

    `place` is a row of `Places`: where the baselines are that go with the vector.
    `vector` is a row of the board's vectors; there is none of what was computed, and it
    is -1 for what only fills the time before the first vector. `origin` is the row that
    a vector goes back to: itself, or what it was mapped from. `has_past` marks what a
    past rate said where it knew an outcome within its own keys; None of anything else.
    """

    unit: Integers
    place: Integers
    sealed_us: Integers
    weight: Integers
    code: Integers
    distinct: list[tuple[int, ...]]
    scores: ScoreColumns
    vector: Integers | None = None
    origin: Integers | None = None
    has_past: Flags | None = None


class Slotted(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: what a competitor's slot scored there, in units of 1e-12.

    Scores say nothing where `is_scored` is false, nor `brier`, the binary form, where
    there are more than two answers. `is_infinite` marks a raw log score of minus
    infinity, where `picobits` is 0, `is_clipped` that the clip moved some vector.
    `last` is the row, in `Chosen`, of the last vector that the slot takes.
    """

    has_vector: Flags
    is_scored: Flags
    is_infinite: Flags
    is_clipped: Flags
    brier: Integers
    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers
    first_us: Integers
    last_us: Integers
    last: Integers


def slotted(board: Board, chosen: Chosen) -> Slotted:
    """Return what the vectors of a slot scored on each unit, weighted."""
    size, scores = len(board.units.number), chosen.scores
    has_vector = np.zeros(size, dtype=np.bool_)
    has_vector[chosen.unit] = True
    last = np.full(size, -1, dtype=np.int64)
    last[chosen.unit] = np.arange(len(chosen.unit))
    is_scored = has_vector & (board.units.outcome >= 0)
    kept = is_scored[chosen.unit]
    unit, weight = chosen.unit[kept], chosen.weight[kept]
    raw, clipped = scores.picobits[kept], scores.picobits_clipped[kept]
    brier_sum = scores.brier_sum[kept]
    width = np.array([len(each) for each in board.units.answer_lists], dtype=np.int64)
    is_binary = width[board.units.answers[unit]] == BINARY

    def mean(values: Integers) -> Integers:
        return _per_unit(size, unit, weight, values)

    return Slotted(
        has_vector=has_vector,
        is_scored=is_scored,
        is_infinite=_marked(size, unit[raw == NEVER]),
        is_clipped=_marked(size, unit[raw != clipped]),
        # Halved before it is averaged: then both are rounded once.
        brier=mean(np.where(is_binary, brier_sum // 2, 0)),
        brier_sum=mean(brier_sum),
        picobits=mean(np.where(raw == NEVER, 0, raw)),
        picobits_clipped=mean(clipped),
        piconats_clipped=mean(scores.piconats_clipped[kept]),
        first_us=_extreme(size, chosen, np.minimum, NEVER),
        last_us=_extreme(size, chosen, np.maximum, -NEVER),
        last=last,
    )


def _marked(size: int, units: Integers) -> Flags:
    marked = np.zeros(size, dtype=np.bool_)
    marked[units] = True
    return marked


def _per_unit(
    size: int, unit: Integers, weight: Integers, values: Integers
) -> Integers:
    """Return the weighted mean of each unit, rounded half-even to an integer."""
    found = np.zeros(size, dtype=np.int64)
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    found[unit[starts]] = weighted_means(values, weight, starts)
    return found


def _extreme(size: int, chosen: Chosen, which: np.ufunc, start: int) -> Integers:
    found = np.full(size, start, dtype=np.int64)
    which.at(found, chosen.unit, chosen.sealed_us)
    return found


def said_of(
    distinct: list[tuple[int, ...]], code: Integers, answer: Integers
) -> Integers:
    """Return what vectors say of an answer each, in parts per million."""
    # Few vectors are distinct: each is looked into once.
    widest = max((len(each) for each in distinct), default=1)
    pairs, which = np.unique(code * widest + answer, return_inverse=True)
    stated = [distinct[pair // widest][pair % widest] for pair in pairs.tolist()]
    said: Integers = integers(stated)[which.reshape(-1)]
    return said
