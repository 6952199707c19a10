"""Filling: the time before a first vector, in the slot that weighs by time (METRICS §19).

A vector is in force from when it was sealed. What came before, from the unit's own
place on (its first PENDING record, else anybody's first vector), nobody has answered
for; a suite may say that the reference speaks there (`scoring.baseline_fill`), so that
whoever seals late has no shorter time to be judged on.
"""

import msgspec
import numpy as np

from ledger.projections.board import Board
from ledger.projections.columns import Integers
from ledger.projections.computed import Computed, Places
from ledger.projections.exact import exact_sum
from ledger.projections.scores import ScoreColumns
from ledger.projections.slotted import Chosen, Slotted


def filled(board: Board, places: Places, chosen: Chosen, reference: Computed) -> Chosen:
    """Return the vectors of a slot, with the reference's before each chain.

    What is added weighs as long as it was in force. It stands at the unit's own place,
    and is sealed by nobody: the moment is that of the vector which follows.
    """
    first = np.flatnonzero(np.diff(chosen.unit, prepend=-1))
    gap = chosen.sealed_us[first] - board.units.own_us[chosen.unit[first]]
    first, gap = first[gap > 0], gap[gap > 0]
    place = places.own[chosen.unit[first]]

    def inserted(column: Integers, added: Integers) -> Integers:
        return np.insert(column, first, added)

    def beside(rows: Integers | None) -> Integers | None:
        return None if rows is None else np.insert(rows, first, -1)

    return msgspec.structs.replace(
        chosen,
        vector=beside(chosen.vector),
        origin=beside(chosen.origin),
        unit=inserted(chosen.unit, chosen.unit[first]),
        place=inserted(chosen.place, place),
        sealed_us=inserted(chosen.sealed_us, chosen.sealed_us[first]),
        weight=inserted(chosen.weight, gap),
        code=inserted(chosen.code, reference.code[place] + len(chosen.distinct)),
        distinct=[*chosen.distinct, *reference.distinct],
        scores=ScoreColumns(
            *(
                inserted(mine, theirs[place])
                for mine, theirs in zip(chosen.scores, reference.scores, strict=True)
            )
        ),
    )


def time_covered(board: Board, slotted: Slotted, units: Integers) -> tuple[int, int]:
    """Return how long vectors were in force on some units, and could have been.

    Both in microseconds, over the units with a vector in the slot that weighs by time.
    """
    rows = units[slotted.has_vector[units]]
    end_us = board.units.end_us[rows]
    return (
        exact_sum(end_us - slotted.first_us[rows]),
        exact_sum(end_us - board.units.own_us[rows]),
    )
