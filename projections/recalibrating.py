"""How much of a recalibrated row is recalibrated, and what was passed on (METRICS §7).

Before its past suffices, and where a fit has no solution, a recalibration says what its
source says: a row that is mostly that is its source's by another name.
"""

from typing import Any

import numpy as np

from ledger.projections.columns import rows_among
from ledger.projections.entrants import Field
from ledger.projections.ground import Ground
from ledger.projections.recalibration import PASSED_ON, passed_on

Shown = dict[str, Any]


def recalibrating(ground: Ground, field: Field) -> Shown:
    """Return on how many scored units the source was mapped; nothing of all others.

    A unit of which the slot takes several vectors is `fitted` if every one of them is.
    What the reference fills in before a chain is nobody's vector.
    """
    entrant = ground.sample.entrant
    computed = field.computed.get(entrant.competitor.name)
    if computed is None or computed.fit is None:
        return {}
    chosen = entrant.chosen
    rows = rows_among(chosen.unit, ground.cohort.units)
    # What fills in is numbered after the vectors of the competitor.
    rows = rows[chosen.code[rows] < len(computed.distinct)]
    unit, fit = chosen.unit[rows], computed.fit[chosen.place[rows]]
    without = len(np.unique(unit[fit < 0]))
    counted = {
        reason: len(np.unique(unit[fit == passed_on(reason)])) for reason in PASSED_ON
    }
    return {
        "fitted": ground.size - without,
        "passed_on": without,
        "reasons": {reason: count for reason, count in counted.items() if count},
        "fits": len(np.unique(fit[fit >= 0])),
    }
