"""The counts of a row. Each is defined once, in `DEFINITIONS`, and computed below it.

`docs/rows.md` shows the same table. A unit is declared once its cut-off is past; a
vector is in a row if its unit is.
"""

import numpy as np

from ledger.projections.board_units import (
    CANCELED,
    CENSORED,
    INVALID,
    PENDING,
    RESOLVED,
    VOID,
)
from ledger.projections.columns import Flags, Integers, rows_among
from ledger.projections.lineage import DUPLICATE
from ledger.projections.sample import Sample

Counts = dict[str, int]

DEFINITIONS = {
    "units": "declared units: those whose cut-off is at or before `as_of`",
    "scored": "units with an outcome and a vector in the slot: the cohort of every score",
    "unscored": "units with an outcome and no vector in the slot",
    "training": "units with an outcome that came so early that they only train",
    "void": "units whose record says VOID",
    "invalid": "units whose record says INVALID",
    "censored": "units whose record says CENSORED: a missing outcome",
    "canceled": "units whose record says CANCELED: a missing outcome",
    "overdue": "units without an outcome although `resolve_by` is past: a missing outcome",
    "pending": "units without an outcome that may still come in time",
    "resolved": "units with an outcome, whoever forecast them",
    "eligible": "units with a vector of this forecaster that counts",
    "missing": "units without one: absent, late, mismatched or withheld",
    "unslotted": "eligible units of which no vector stands in the slot",
    "unforecast": "units of which nobody sealed any vector",
    "reviewed": "units with a second resolver's review",
    "targets": "different targets among the scored units",
    "clusters": "different clusters among the scored units: what is resampled",
    "submitted": "vectors of this forecaster: first ones, updates and duplicates",
    "forecasts": "submitted vectors that count, updates included: no measure of independence",
    "late": "submitted vectors that were sealed after the cut-off",
    "duplicate": "further first vectors of this forecaster on a unit: the first counts",
    "hidden": "submitted vectors that were committed to and not opened",
    "raw_infinite_count": "scored units whose raw log score is minus infinity",
    "clipped_count": "scored units where the clip moved a probability",
}
# What is counted by vectors and not by units.
OF_VECTORS = ("submitted", "forecasts", "late", "duplicate", "hidden")
# Each sum is the number of declared units: no unit is left out or counted twice.
PARTITIONS = (
    (
        "scored",
        "unscored",
        "training",
        "void",
        "invalid",
        "censored",
        "canceled",
        "overdue",
        "pending",
    ),
    ("eligible", "missing"),
)


def count(sample: Sample) -> Counts:
    """Return the counts of a row, in the order of their definitions."""
    found = {**_of_units(sample), **_of_vectors(sample)}
    return {name: found[name] for name in DEFINITIONS}


def overdue(sample: Sample) -> Flags:
    """Mark the declared units without an outcome whose time is up."""
    units, rows = sample.board.units, sample.declared
    is_pending = units.status[rows] == PENDING
    marked: Flags = is_pending & (units.resolve_by_us[rows] < sample.board.as_of_us)
    return marked


def _of_units(sample: Sample) -> Counts:
    units, rows, slotted = sample.board.units, sample.declared, sample.entrant.slotted
    status = np.bincount(units.status[rows], minlength=PENDING + 1).tolist()
    scored, late = sample.scored, int(np.count_nonzero(overdue(sample)))
    training = int(np.count_nonzero(sample.board.is_training[rows]))
    eligible = int(np.count_nonzero(sample.entrant.has_eligible[rows]))
    return {
        "units": len(rows),
        "scored": len(scored),
        "unscored": status[RESOLVED] - training - len(scored),
        "training": training,
        "void": status[VOID],
        "invalid": status[INVALID],
        "censored": status[CENSORED],
        "canceled": status[CANCELED],
        "overdue": late,
        "pending": status[PENDING] - late,
        "resolved": status[RESOLVED],
        "eligible": eligible,
        "missing": len(rows) - eligible,
        "unslotted": eligible - int(np.count_nonzero(slotted.has_vector[rows])),
        "unforecast": int(np.count_nonzero(units.vectors[rows] == 0)),
        "reviewed": int(np.count_nonzero(units.reviews[rows])),
        "targets": len(np.unique(units.target.code[scored])),
        "clusters": len(np.unique(units.cluster.code[scored])),
        "raw_infinite_count": int(np.count_nonzero(slotted.is_infinite[scored])),
        "clipped_count": int(np.count_nonzero(slotted.is_clipped[scored])),
    }


def _of_vectors(sample: Sample) -> Counts:
    rows = vectors_in(sample)
    if rows is None:
        return _of_computed(sample)
    vectors, units = sample.board.vectors, sample.board.units
    is_late = vectors.sealed_us[rows] > units.cutoff_us[vectors.unit[rows]]
    return {
        "submitted": len(rows),
        "forecasts": int(np.count_nonzero(vectors.eligible[rows])),
        "late": int(np.count_nonzero(is_late)),
        "duplicate": int(np.count_nonzero(vectors.kind[rows] == DUPLICATE)),
        "hidden": int(np.count_nonzero(vectors.is_closed[rows])),
    }


def _of_computed(sample: Sample) -> Counts:
    """Return the counts of a computed competitor: one vector where a unit has a place."""
    units, rows = sample.board.units, sample.declared
    rows = rows[sample.entrant.places.own[rows] >= 0]
    return {
        "submitted": len(rows),
        "forecasts": int(np.count_nonzero(units.own_eligible[rows])),
        "late": int(np.count_nonzero(units.own_us[rows] > units.cutoff_us[rows])),
        "duplicate": 0,
        "hidden": 0,
    }


def vectors_in(sample: Sample) -> Integers | None:
    """Return the rows of a forecaster's vectors on declared units; None if computed."""
    mine, vectors = sample.entrant.mine, sample.board.vectors
    if mine is None:
        return None
    return mine[rows_among(vectors.unit[mine], sample.declared)]
