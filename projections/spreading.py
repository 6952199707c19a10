"""Between whom a row's mean lies: the least and the largest mean of a target or cluster.

A mean that hides a partner with whom nothing works is no evidence (S004). Of one cell
there is nothing to tell apart.
"""

from typing import Any

from ledger.projections.capability import extremes
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground, Groups
from ledger.projections.measures import BRIER

Shown = dict[str, Any]


def spreading(ground: Ground) -> Shown:
    """Return the extremes of the mean Brier loss over targets and over clusters."""
    return {
        "loss": BRIER[ground.cohort.is_binary],
        "target": _extremes(ground, ground.target),
        "cluster": _extremes(ground, ground.cluster),
    }


def _extremes(ground: Ground, cells: Groups) -> Shown | None:
    found = extremes(ground.brier(ground.mine), cells.code, cells.names)
    if found is None or cells.size == 1:
        return None
    return {
        "n": cells.size,
        "min": dec12(found.least),
        "min_of": found.least_cell,
        "max": dec12(found.most),
        "max_of": found.most_cell,
    }
