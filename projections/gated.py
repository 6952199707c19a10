"""The gates of a row: is it calibrated, about its target, creditable, to be promoted.

Each shows what it was decided on. The four bars are looked at in order, and the first
that fails names the credit (METRICS §§9, 12, 14, 22).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.calibration import Calibration, Gate, calibration_bar
from ledger.projections.cohort import INSUFFICIENT, MISMATCH, NOT_DECLARED
from ledger.projections.exact import dec12, exact_text
from ledger.projections.gates import four_bars, routine_bound
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference
from ledger.projections.labels import UNOFFICIAL
from ledger.projections.measures import Score
from ledger.projections.permutation_gate import Specificity
from ledger.projections.permuted import Permuted, against, permuted
from ledger.projections.resampling import Interval
from ledger.suite_grammar import Interval as Range

Shown = dict[str, Any]
# Whom nobody credits: what credit is measured against, and what nobody could know.
_UNCREDITED = ("baseline", "oracle")
# On what share of the units a routine has to have a past of its own.
_ROUTINE = Fraction(1, 2)
_COUNTS = ("rows", "targets", "unpartnered", "alone", "strata_alone")


def gates(
    ground: Ground,
    inference: Inference,
    scores: Mapping[str, Score],
    intervals: Mapping[str, Interval],
    fits: Calibration | None,
    *,
    in_the_way: Sequence[str],
) -> Shown:
    """Return the calibration bar, the permutation gate, the four bars and the credit.

    `in_the_way` are the row's labels that stand in the way of any claim.
    """
    manifest = ground.sample.board.suite.manifest
    bar = _calibration(ground, fits)
    found = _permutation(ground, inference)
    lo = {
        role: intervals[name].lo if name in intervals else None
        for role, name in (("r1", "skill_vs_r1_bits"), ("r2", "skill_vs_r2_bits"))
    }
    routine = scores["r2_vs_r1_bits"].measure.value
    needs = _needs(ground, in_the_way)
    four = four_bars(
        skill_r1_lo=lo["r1"],
        skill_r2_lo=routine_bound(
            skill_r1_lo=lo["r1"], skill_r2_lo=lo["r2"], r2_over_r1=routine
        ),
        calibration=bar["status"],
        permutation=found["status"],
        allows_warn=manifest.gates.four_bar.allow_calibration_warn,
        is_creditable=False not in needs.values(),
    )
    return {
        "calibration": bar,
        "permutation": found,
        "four_bar": four.bars,
        "r2_admitted": None if routine is None else routine > 0,
        "credit": four.credit,
        **_why_not(four.credit, needs, in_the_way),
        "credit_needs": needs,
        "in_the_way": list(in_the_way),
    }


def _needs(ground: Ground, in_the_way: Sequence[str]) -> dict[str, bool | None]:
    """Return what credit needs besides its bars, which are about one cohort.

    That is one only if either baseline is on all of its units; None where one of them
    is not declared. Nor is a routine that knew too little of its own more than the
    population by another name; None where it is not computed, and nobody can tell.
    """
    both = [ground.beside(ground.serving(role)) for role in ("r1", "r2")]
    horizons = ground.of(ground.sample.board.units.horizon.code)
    return {
        "is_one_cohort": None if None in both else all(on is ground for on in both),
        "is_one_horizon": len(np.unique(horizons)) <= 1,
        "routine_has_past": _routine_has_past(ground),
        "may_be_claimed": not in_the_way,
    }


def _routine_has_past(ground: Ground) -> bool | None:
    has_past = ground.has_past(ground.serving("r2"))
    if has_past is None:
        return None
    return int(np.count_nonzero(has_past)) >= _ROUTINE * ground.size


def _why_not(
    credit: str, needs: Mapping[str, bool | None], in_the_way: Sequence[str]
) -> dict[str, str]:
    """Return the reason for which there is no credit to speak of, if so."""
    if credit != INSUFFICIENT:
        return {}
    if needs["is_one_cohort"] is False:
        return {"credit_reason": MISMATCH}
    if not needs["is_one_horizon"]:
        return {"credit_reason": NOT_DECLARED}  # Units have no horizon in common.
    reason = UNOFFICIAL[in_the_way[0]] if in_the_way else INSUFFICIENT
    return {"credit_reason": reason}


def _calibration(ground: Ground, fits: Calibration | None) -> Shown:
    manifest = ground.sample.board.suite.manifest
    if fits is None:
        return {"status": INSUFFICIENT, "reason": NOT_DECLARED}
    declared = manifest.gates.calibration
    bar = calibration_bar(
        fits,
        Gate(
            slope=_range(declared.slope),
            intercept=_range(declared.intercept),
            min_class=manifest.statistics.min_class_gate,
        ),
    )
    reason = {} if bar.reason is None else {"reason": bar.reason}
    return {"status": bar.status, **reason}


def _range(declared: Range) -> tuple[Fraction, Fraction]:
    low, high = map(Fraction, declared)
    return low, high


def _permutation(ground: Ground, inference: Inference) -> Shown:
    """Return the gate against R1, and what the same permutations say against R2."""
    r1, r2 = ground.serving("r1"), ground.serving("r2")
    on = ground.beside(r1)
    if r1 is None or on is None:
        return {**_undecided(NOT_DECLARED), "against": r1}
    if ground.sample.entrant.competitor.layer in _UNCREDITED:
        return {**_undecided(NOT_DECLARED), "against": r1}
    decided = permuted(on, r1, inference.root)
    shown = {**_permuted(decided), "against": r1}
    beside = on.beside(r2)
    if r2 is None or beside is None or decided.found is None:
        return shown
    if beside is on:
        second = decided._replace(found=against(on, decided.found, (r1, r2)))
    else:
        second = permuted(beside, r2, inference.root)
    return {**shown, "vs_r2": {**_against_routine(second), "against": r2}}


def _against_routine(decided: Permuted) -> Shown:
    """Return the effects against R2, and by what they were drawn: no decision."""
    assert decided.found is not None, "fewer units have no more targets"
    reason = {"reason": INSUFFICIENT} if decided.found.wrong is None else {}
    effects = _effects(decided.found)
    return {**effects, **reason, "inference": decided.inference}


def _undecided(reason: str) -> Shown:
    none = dict.fromkeys(
        ("p_value", "observed_bits", "wrong_target_bits", "delta_bits", "retained")
    )
    return {"status": INSUFFICIENT, "reason": reason, **none}


def _permuted(decided: Permuted) -> Shown:
    found = decided.found
    if found is None:
        return _undecided(decided.reason or INSUFFICIENT)
    reason = {} if found.reason is None else {"reason": found.reason}
    p_value = found.p_value
    return {
        "status": found.decision,
        **reason,
        "p_value": None if p_value is None else dec12(p_value),
        "p_exact": None if p_value is None else exact_text(p_value),
        "permutations": found.permutations,
        "derangements": found.derangements,
        "count": found.count,
        "is_exact": found.is_exact,
        **_effects(found),
        **{name: getattr(found, name) for name in _COUNTS},
        "inference": decided.inference,
    }


def _effects(found: Specificity) -> Shown:
    """Return the skills of a gate in bits; `retained` is a share."""
    named = {
        "observed_bits": found.observed,
        "wrong_target_bits": found.wrong,
        "delta_bits": found.delta,
        "retained": found.retained,
    }
    return {
        name: None if value is None else dec12(value) for name, value in named.items()
    }
