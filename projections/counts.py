"""The counts of a row, and its integrity rates. Each is defined once, here.

Units: `units` is the declared set, those whose cut-off is past. It is the sum of
`resolved`, `void`, `invalid`, `censored`, `canceled` and `pending` by how units
stand, and the sum of `eligible` and `missing` by whether the competitor has a
vector in the slot. `scored`, the cohort, is both resolved and eligible; `targets`
and `clusters` are counted within it. `overdue` ones are among the pending,
`unforecast` have no vector of anybody, `reviewed` have a second resolver's review.

Vectors, of this competitor on the declared units: `submitted` are all that were
recorded, among them `late` (after the cut-off), `duplicate` and `hidden` (committed
to and never opened); `forecasts` are the eligible ones on scored units, updates
included, and no measure of how much is independent. `raw_infinite` units have a
vector that gave nothing to what happened; `clipped` vectors were moved by the clip.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.board import STATUSES, Board
from ledger.projections.cohort import EMPTY
from ledger.projections.columns import Flags, Integers
from ledger.projections.entrants import Entrant
from ledger.projections.exact import dec12
from ledger.projections.leakage import LEAK_TESTS

Rate = dict[str, Any]


def count(
    board: Board, entrant: Entrant, declared: Integers, has_vector: Flags
) -> dict[str, int]:
    """Return the counts over declared units; `has_vector` is one row a unit."""
    units, tally, slotted = board.units, entrant.tally, entrant.slotted
    scored = declared[has_vector[declared] & slotted.is_scored[declared]]
    by_status = np.bincount(units.status[declared], minlength=len(STATUSES)).tolist()
    is_pending = units.status[declared] == STATUSES.index("PENDING")
    rows = scored.tolist()
    eligible = int(np.count_nonzero(has_vector[declared]))
    return {
        "units": len(declared),
        "scored": len(rows),
        "targets": len({units.traits.targets[row] for row in rows}),
        "clusters": len({units.clusters[row] for row in rows}),
        "forecasts": int(tally.eligible[scored].sum()),
        "submitted": int(tally.submitted[declared].sum()),
        "eligible": eligible,
        "missing": len(declared) - eligible,
        **{status.lower(): by_status[place] for place, status in enumerate(STATUSES)},
        "overdue": int(
            np.count_nonzero(
                is_pending & (units.resolve_by_us[declared] < board.as_of_us)
            )
        ),
        "late": int(tally.late[declared].sum()),
        "duplicate": int(tally.duplicate[declared].sum()),
        "hidden": int(tally.hidden[declared].sum()),
        "unforecast": int(np.count_nonzero(units.vectors[declared] == 0)),
        "reviewed": int(np.count_nonzero(units.reviews[declared])),
        "raw_infinite": int(np.count_nonzero(slotted.is_infinite[scored])),
        "clipped": int(slotted.clipped[scored].sum()),
    }


def integrity(
    board: Board, entrant: Entrant, declared: Integers, counts: dict[str, int]
) -> dict[str, Rate]:
    """Return the integrity rates (METRICS §24); undefined ones are null."""
    units, tally = board.units, entrant.tally
    unresolved = counts["overdue"] + counts["censored"] + counts["canceled"]
    mismatches = tally.mismatches[declared].sum() + units.mismatches[declared].sum()
    compared = counts["submitted"] + int(units.records[declared].sum())
    return {
        "late_forecast_rate": rate(counts["late"], counts["submitted"]),
        "unresolved_rate": rate(unresolved, counts["units"]),
        "void_rate": rate(counts["void"] + counts["invalid"], counts["units"]),
        "duplicate_rate": rate(counts["duplicate"], counts["submitted"]),
        "missing_rate": rate(counts["missing"], counts["units"]),
        "hash_mismatch": rate(int(mismatches), compared),
        "feature_leak_tests": _leak_tests(entrant, declared),
    }


def rate(part: int, whole: int) -> Rate:
    """Return a share as rows show it; null of nothing."""
    if not whole:
        return {"value": None, "count": part, "of": 0, "reason": EMPTY}
    return {"value": dec12(Fraction(part, whole)), "count": part, "of": whole}


def _leak_tests(entrant: Entrant, declared: Integers) -> Rate:
    """Return for each test how many vectors passed and failed, and in all."""
    tally = entrant.tally
    failed = {test: int(tally.leaks_found[test][declared].sum()) for test in LEAK_TESTS}
    passed = {
        test: int(tally.leaks_tested[test][declared].sum()) - failed[test]
        for test in LEAK_TESTS
    }
    return {
        "passed": sum(passed.values()),
        "failed": sum(failed.values()),
        "tests": {
            test: {"passed": passed[test], "failed": failed[test]}
            for test in sorted(LEAK_TESTS)
        },
    }
