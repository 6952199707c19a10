"""The ablations that a suite declares, in the row of whoever has all the evidence.

A lift is in bits of the clipped log score, over the units on which every competitor of
the order has one (METRICS §13).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ledger.projections import resampling_sums
from ledger.projections.ablation import Lift, Tier, ablation
from ledger.projections.cohort import NOT_DECLARED
from ledger.projections.entrants import Field
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.suite import Ablation

Shown = dict[str, Any]


def ablating(ground: Ground, field: Field, inference: Inference) -> Shown:
    """Return the ablations, by name, whose evidence the row's competitor has in full.

    It is the last of a cumulative order, and of the others the first.
    """
    own = ground.sample.entrant.competitor.name
    return {
        each.name: _ablated(ground, field, inference, each)
        for each in ground.sample.board.suite.manifest.ablations
        if own == each.order[-1 if each.kind == "cumulative" else 0]
    }


def _ablated(
    ground: Ground, field: Field, inference: Inference, declared: Ablation
) -> Shown:
    manifest = ground.sample.board.suite.manifest
    order = [manifest.competitor(name) for name in declared.order]
    if not all(each is not None and field.competes(each) for each in order):
        return {"kind": declared.kind, "reason": NOT_DECLARED}
    tiers = [_tier(ground, field, name) for name in declared.order]
    found = ablation(tiers, declared.kind)
    on = Ground(ground.sample, ground.sample.cohort(found.units))
    lifts = [*found.lifts, *([] if found.total is None else [found.total])]
    shown = _told(ground, on, inference, lifts)
    return {
        "kind": declared.kind,
        "units": on.size,
        "scored": found.scored,
        "lifts": shown[: len(found.lifts)],
        "total": None if found.total is None else shown[-1],
    }


def _told(
    ground: Ground, on: Ground, inference: Inference, lifts: Sequence[Lift]
) -> list[Shown]:
    """Return lifts as rows show them, all from the same resamples of common units."""
    columns = {str(place): each.gains for place, each in enumerate(lifts)}
    intervals = inference.intervals(
        on,
        {
            place: resampling_sums.mean(gains, *on.resampled)
            for place, gains in columns.items()
        },
        row=ground,
    )
    return [
        {
            "tier": each.tier,
            "without": each.without,
            **told(each.gain, intervals[place] if on.size else None),
        }
        for place, each in zip(columns, lifts, strict=True)
    ]


def _tier(ground: Ground, field: Field, name: str) -> Tier:
    """Return what a competitor scored on the declared units of the row's part."""
    theirs = field.beside(ground.sample.entrant, name)
    if name == ground.sample.entrant.competitor.name:
        theirs = ground.mine
    is_declared = np.zeros(len(theirs.is_scored), dtype=np.bool_)
    is_declared[ground.sample.declared] = True
    return Tier(
        name=name,
        score=theirs.picobits_clipped,
        is_scored=theirs.is_scored & is_declared,
    )
