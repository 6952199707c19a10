"""What a row's forecasts cost to make, by what their authors said of it (DESIGN §8).

A forecast costs what all of its chain cost: the first vector, every update and every
duplicate, whether it counts or not. Within a unit costs are summed, then over units;
their mean is over the units that state one. Nothing is guessed: a unit of which one
statement is no decimal has no sum, and is left out of both.
"""

from typing import Any

import numpy as np

from ledger.projections.cohort import EMPTY, Measure, undefined
from ledger.projections.columns import Integers, rows_among
from ledger.projections.costs_board import Costs
from ledger.projections.exact import dec12, sum_of_ratios
from ledger.projections.sample import Cohort, Sample

Shown = dict[str, Any]
# A forecaster may call costs what it likes; a row is no place for thousands of names.
_NAMES_MAX = 100


def costs(sample: Sample, cohort: Cohort) -> dict[str, Shown]:
    """Return the costs of a row's forecasts by their names; nothing where none is said.

    Of more than a hundred names, those that most vectors state, of equals the first.
    """
    board, mine = sample.board, sample.entrant.mine
    if mine is None or not len(board.costs.vector):
        return {}
    vectors = np.sort(mine[rows_among(board.vectors.unit[mine], cohort.units)])
    stated = rows_among(board.costs.vector, vectors)
    name = board.costs.name.code[stated]
    often = np.bincount(name, minlength=len(board.costs.name.names)).tolist()
    named = [
        (-count, each, code)
        for code, (each, count) in enumerate(
            zip(board.costs.name.names, often, strict=True)
        )
        if count
    ]
    return {
        each: _cost(board.costs, board.vectors.unit, stated[name == code])
        for _, each, code in sorted(named)[:_NAMES_MAX]
    }


def _cost(stated: Costs, unit: Integers, rows: Integers) -> Shown:
    """Return one cost: a unit's on average, in all, and how many vectors state it."""
    code, of_unit = stated.code[rows], unit[stated.vector[rows]]
    is_whole = ~np.isin(of_unit, of_unit[code < 0])
    counted = np.bincount(code[is_whole], minlength=len(stated.amounts))
    used = np.flatnonzero(counted)
    total = sum_of_ratios(
        (stated.amounts[at].numerator * count, stated.amounts[at].denominator)
        for at, count in zip(used.tolist(), counted[used].tolist(), strict=True)
    )
    n = len(np.unique(of_unit[is_whole]))
    mean = Measure(value=total / n, n=n) if n else undefined(EMPTY, 0)
    return {
        **mean.told(),
        "total": dec12(total) if n else None,
        "vectors": len(rows),
        "unreadable": int(np.count_nonzero(code < 0)),
    }
