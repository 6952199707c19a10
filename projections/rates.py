"""The integrity of a row: what share of it was late, void, missing, leaked, amended.

(METRICS §24.) Each is a count of a count, null of nothing.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.board_units import CANCELED, CENSORED, INVALID, VOID
from ledger.projections.cohort import EMPTY, NOT_DECLARED
from ledger.projections.columns import Flags, Integers, integers, rows_among
from ledger.projections.counts import Counts, vectors_in
from ledger.projections.exact import PPM, dec12, exact_text
from ledger.projections.filling import time_covered
from ledger.projections.integrity import MISMATCHES
from ledger.projections.leakage import LEAK_TESTS
from ledger.projections.sample import Sample
from ledger.projections.slots import TIME_WEIGHTED

Shown = dict[str, Any]
_DECILES = 10
# What is recorded with a reason instead of an outcome.
_REASONED = {
    "void": VOID,
    "invalid": INVALID,
    "censored": CENSORED,
    "canceled": CANCELED,
}


def rate(part: int, whole: int) -> Shown:
    """Return a share as rows show it; null of nothing."""
    if not whole:
        return {"value": None, "count": part, "of": 0, "reason": EMPTY}
    share = Fraction(part, whole)
    return {
        "value": dec12(share),
        "exact": exact_text(share),
        "count": part,
        "of": whole,
    }


def coverage(sample: Sample) -> Shown:
    """Return the share of units with a vector that counts, and whether it suffices.

    Units that only train are left out: a vector there costs nobody anything, and would
    make up for one that is lacking where it counts.
    `in_slot` is the share of which the row's slot has a vector (METRICS §19), never
    more than that. It must reach the minimum: otherwise a forecaster could choose its
    units by sealing the others too late for the slot. Where time weighs, `in_time` is
    the share of the time, in microseconds, in which a vector was in force.
    """
    minimum = Fraction(sample.board.suite.manifest.coverage.minimum)
    rows, entrant = sample.untrained, sample.entrant
    units, in_time = len(rows), {}
    covered = int(np.count_nonzero(entrant.has_eligible[rows]))
    in_slot = int(np.count_nonzero(entrant.slotted.has_vector[rows]))
    if entrant.slot == TIME_WEIGHTED:
        time = time_covered(sample.board, entrant.slotted, rows)
        in_time = {"in_time": rate(*time)}
    return {
        **rate(covered, units),
        "in_slot": rate(in_slot, units),
        **in_time,
        "minimum": dec12(minimum),
        "is_met": bool(units) and Fraction(in_slot, units) >= minimum,
    }


def integrity(sample: Sample, counts: Counts) -> dict[str, Shown]:
    """Return the integrity rates of a row, its findings by rule, and its leak tests."""
    found, decile = findings(sample), _deciles(sample)
    declared, submitted = counts["units"], counts["submitted"]
    unresolved = counts["overdue"] + counts["censored"] + counts["canceled"]
    records = int(sample.board.units.records[sample.declared].sum())
    mismatches = sum(found.get(rule, 0) for rule in MISMATCHES)
    return {
        "late_forecast_rate": rate(counts["late"], submitted),
        "unresolved_rate": rate(unresolved, declared),
        "void_rate": rate(counts["void"] + counts["invalid"], declared),
        "void_by_probability": _void_by_probability(sample, decile),
        "reasons": _reasons(sample, decile),
        "duplicate_rate": rate(counts["duplicate"], submitted),
        "missing_rate": rate(counts["missing"], declared),
        "hash_mismatch": rate(mismatches, submitted + records),
        "feature_leak_tests": _leak_tests(sample),
        "findings": found,
    }


def findings(sample: Sample) -> dict[str, int]:
    """Return how many findings each rule has, on a forecaster's vectors and records."""
    found, name = sample.board.findings, sample.entrant.origin.name
    rows = rows_among(found.unit, sample.declared)
    mine = found.forecasters.get(name, -1)
    about = (found.forecaster[rows] == mine) | (found.forecaster[rows] < 0)
    rules = found.rule.code[rows[about]]
    counts = np.bincount(rules, minlength=len(found.rule.names)).tolist()
    return {
        rule: count
        for rule, count in sorted(zip(found.rule.names, counts, strict=True))
        if count
    }


def _leak_tests(sample: Sample) -> Shown:
    """Return for each test how many vectors passed and failed, and in all."""
    rows, vectors = vectors_in(sample), sample.board.vectors
    tested = failed = dict.fromkeys(LEAK_TESTS, 0)
    if rows is not None:
        tested = _counted(vectors.leaks_tested[rows])
        failed = _counted(vectors.leaks_found[rows])
    return {
        "passed": sum(tested.values()) - sum(failed.values()),
        "failed": sum(failed.values()),
        "tests": {
            test: rate(failed[test], tested[test]) for test in sorted(LEAK_TESTS)
        },
    }


def _counted(bits: np.ndarray) -> dict[str, int]:
    return {test: int(np.count_nonzero(bits & bit)) for test, bit in LEAK_TESTS.items()}


def _deciles(sample: Sample) -> Integers:
    """Return in which tenth the probability of each declared unit's event was.

    The event is the positive answer, and its probability that of the slot's last
    vector; the last tenth includes 1. It is -1 where a unit lacks either.
    """
    units, entrant = sample.board.units, sample.entrant
    positive = units.positive[sample.declared]
    has_both = entrant.slotted.has_vector[sample.declared] & (positive >= 0)
    rows = np.flatnonzero(has_both)
    codes = entrant.chosen.code[entrant.slotted.last[sample.declared[rows]]].tolist()
    said = [
        entrant.chosen.distinct[code][at]
        for code, at in zip(codes, positive[rows].tolist(), strict=True)
    ]
    decile = np.full(len(sample.declared), -1, dtype=np.int64)
    decile[rows] = np.minimum(integers(said) * _DECILES // PPM, _DECILES - 1)
    return decile


def _void_by_probability(sample: Sample, decile: Integers) -> Shown:
    """Return how many units are VOID or INVALID, by what was said of their event.

    Selective voiding shows here: what is voided should not depend on the forecast.
    """
    is_said = decile >= 0
    if not is_said.any():
        return {
            "deciles": None,
            "reason": NOT_DECLARED if len(sample.declared) else EMPTY,
        }
    is_void = np.isin(sample.board.units.status[sample.declared], (VOID, INVALID))
    pairs = zip(_by_tenth(decile, is_void), _by_tenth(decile, is_said), strict=True)
    return {"deciles": [rate(*pair) for pair in pairs]}


def _reasons(sample: Sample, decile: Integers) -> dict[str, list[Shown]]:
    """Return of each status without an outcome how many units have which reason.

    `deciles` counts those that have a vector by what was said of their event, null
    where none has: one reason may be given for what was thought likely, and no other.
    """
    units, rows = sample.board.units, sample.declared
    status, reason = units.status[rows], units.reason.code[rows]
    found: dict[str, list[Shown]] = {}
    for name, number in _REASONED.items():
        codes = np.unique(reason[status == number]).tolist()
        given = {units.reason.names[code]: code for code in codes}
        found[name] = []
        for text in sorted(given, key=str.encode):
            is_given = (status == number) & (reason == given[text])
            is_said = bool((decile[is_given] >= 0).any())
            found[name].append(
                {
                    "reason_code": text,
                    "units": int(np.count_nonzero(is_given)),
                    "deciles": _by_tenth(decile, is_given) if is_said else None,
                }
            )
    return found


def _by_tenth(decile: Integers, chosen: Flags) -> list[int]:
    """Return how many of the chosen units each tenth has."""
    within = decile[chosen & (decile >= 0)]
    counted: list[int] = np.bincount(within, minlength=_DECILES).tolist()
    return counted
