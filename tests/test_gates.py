"""Which claims the numbers of a row allow, and which part of one failed."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from ledger.projections.gates import (
    Parts,
    four_bars,
    gains,
    no_degradation,
    promotion,
    routine_bound,
)
from tests.oracle_cases import case

HALF = Fraction(1, 2)


def fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


# --- Four bars ------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "skill_r1_lo": Fraction(1, 20),
    "skill_r2_lo": Fraction(1, 50),
    "calibration": "pass",
    "permutation": "collapses",
    "allows_warn": True,
}


def test_the_credit_is_the_oracles() -> None:
    inputs, expected = case("four-bar")
    earned = [
        four_bars(
            skill_r1_lo=fraction(each["skill_r1_lo"]),
            skill_r2_lo=fraction(each["skill_r2_lo"]),
            calibration=each["calibration"],
            permutation=each["permutation"],
            allows_warn=True,
        ).credit
        for each in inputs["rows"]
    ]
    assert earned == expected["credit"]


@pytest.mark.parametrize(
    ("change", "credit"),
    {
        "every bar holds": ({}, "target_specific"),
        "a bound just above 0": (
            {"skill_r1_lo": Fraction(1, 10**12)},
            "target_specific",
        ),
        "a bound of exactly 0": ({"skill_r1_lo": Fraction(0)}, "none_or_unproven"),
        "a routine's bound of exactly 0": (
            {"skill_r2_lo": Fraction(0)},
            "routine_replay_or_unproven",
        ),
        "a warning that is allowed": ({"calibration": "warn"}, "target_specific"),
        "a warning that is not": (
            {"calibration": "warn", "allows_warn": False},
            "uncalibrated",
        ),
        "other targets' forecasts do as well": (
            {"permutation": "survives"},
            "generic_prediction",
        ),
        "two bars fail, the first counts": (
            {"permutation": "survives", "skill_r2_lo": Fraction(-1)},
            "routine_replay_or_unproven",
        ),
        "too few to permute": ({"permutation": "insufficient"}, "insufficient"),
        "too few to calibrate": ({"calibration": "insufficient"}, "insufficient"),
        "no gate was computed": ({"permutation": None}, "insufficient"),
        "nothing may be claimed, whatever holds": (
            {"is_creditable": False},
            "insufficient",
        ),
        "nothing may be claimed, whatever fails": (
            {"is_creditable": False, "permutation": "survives"},
            "insufficient",
        ),
        "something is unknown, whatever else fails": (
            {"skill_r1_lo": Fraction(-1), "calibration": None},
            "insufficient",
        ),
    }.values(),
)
def test_the_credit_is_that_of_the_first_bar_that_fails(
    change: dict[str, Any], credit: str
) -> None:
    assert four_bars(**{**GOOD, **change}).credit == credit


def test_each_bar_is_shown_the_unknown_one_included() -> None:
    found = four_bars(**{**GOOD, "skill_r2_lo": None, "permutation": "survives"})
    assert found.bars == {
        "skill_vs_r1": True,
        "skill_vs_r2": None,
        "calibration": True,
        "permutation": False,
    }


@pytest.mark.parametrize(
    ("r2_over_r1", "bound"),
    {
        "better": (Fraction(1, 9), Fraction(2)),
        "no better": (Fraction(0), Fraction(1)),
        "worse": (Fraction(-1), Fraction(1)),
        "unknown": (None, None),
    }.values(),
)
def test_a_routine_that_is_no_better_than_the_population_gives_way_to_it(
    r2_over_r1: Fraction | None, bound: Fraction | None
) -> None:
    found = routine_bound(
        skill_r1_lo=Fraction(1), skill_r2_lo=Fraction(2), r2_over_r1=r2_over_r1
    )
    assert found == bound


# --- Promotion ------------------------------------------------------------------------

PARTS = Parts(
    brier_gain=Fraction(1, 100),
    lo_minus_trivial=Fraction(1, 500),
    no_degradation=True,
    no_leakage=True,
    has_utility=True,
)


def test_the_decisions_are_the_oracles() -> None:
    inputs, expected = case("promotion-gate")
    decisions = [
        promotion(
            Parts(
                brier_gain=fraction(each["brier_gain"]),
                lo_minus_trivial=fraction(each["paired_lo_minus_trivial"]),
                no_degradation=each["no_material_degradation"],
                no_leakage=each["no_leakage"],
                has_utility=each["utility_ok"],
            )
        ).decision
        for each in inputs["rows"]
    ]
    assert decisions == expected["decision"]


@pytest.mark.parametrize(
    ("change", "decision", "verdict"),
    {
        "every part holds": ({}, "PROMOTE", "KEEP"),
        "no gain": ({"brier_gain": Fraction(0)}, "REJECT", "REVERT"),
        "the least gain": ({"brier_gain": Fraction(1, 10**12)}, "PROMOTE", "KEEP"),
        "no gain, and the rest unknown": (
            {"brier_gain": Fraction(-1), "no_leakage": None, "lo_minus_trivial": None},
            "REJECT",
            "REVERT",
        ),
        "a gain that may be trivial": (
            {"lo_minus_trivial": Fraction(0)},
            "HOLD",
            "INCONCLUSIVE",
        ),
        "a loss elsewhere": ({"no_degradation": False}, "HOLD", "REVERT"),
        "a leak": ({"no_leakage": False}, "HOLD", "REVERT"),
        "no use": ({"has_utility": False}, "HOLD", "REVERT"),
        "nobody tested for leaks": (
            {"no_leakage": None},
            "INCONCLUSIVE",
            "INCONCLUSIVE",
        ),
        "no gain is known": ({"brier_gain": None}, "INCONCLUSIVE", "INCONCLUSIVE"),
        "no interval": ({"lo_minus_trivial": None}, "INCONCLUSIVE", "INCONCLUSIVE"),
        "too small a sample, for": (
            {"sample_suffices": False},
            "INCONCLUSIVE",
            "INCONCLUSIVE",
        ),
        "too small a sample, against": (
            {"sample_suffices": False, "brier_gain": Fraction(-1)},
            "INCONCLUSIVE",
            "INCONCLUSIVE",
        ),
        "nothing may be claimed, for": (
            {"may_be_claimed": False},
            "INCONCLUSIVE",
            "INCONCLUSIVE",
        ),
        "nothing may be claimed, against": (
            {"may_be_claimed": False, "brier_gain": Fraction(-1)},
            "INCONCLUSIVE",
            "INCONCLUSIVE",
        ),
    }.values(),
)
def test_a_candidate_is_promoted_only_where_every_part_holds(
    change: dict[str, Any], decision: str, verdict: str
) -> None:
    found = promotion(msgspec.structs.replace(PARTS, **change))
    assert (found.decision, found.verdict) == (decision, verdict)


def test_each_part_says_whether_it_holds() -> None:
    parts = msgspec.structs.replace(PARTS, brier_gain=Fraction(0), no_leakage=None)
    assert promotion(parts).parts.hold == {
        "brier_gain": False,
        "lo_minus_trivial": True,
        "no_degradation": True,
        "no_leakage": None,
        "has_utility": True,
        "sample_suffices": True,
        "may_be_claimed": True,
    }


LEAST = Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("brier_gain", "lo_minus_trivial", "holds"),
    {
        "more than is trivial": (HALF, LEAST, True),
        "as much as is trivial": (HALF, Fraction(0), False),
        "the least gain": (LEAST, LEAST, True),
        "no gain": (Fraction(0), LEAST, False),
        "no gain, and no interval": (Fraction(0), None, False),
        "no interval": (HALF, None, None),
        "nothing is known": (None, None, None),
    }.values(),
)
def test_a_native_forecaster_gains_what_is_not_trivial(
    brier_gain: Fraction | None,
    lo_minus_trivial: Fraction | None,
    *,
    holds: bool | None,
) -> None:
    assert gains(brier_gain, lo_minus_trivial) is holds


@pytest.mark.parametrize(
    ("increases", "holds"),
    {
        "nothing to look at": ({}, True),
        "as much as the margin": ({"log_loss": HALF}, True),
        "more than the margin": ({"log_loss": HALF + Fraction(1, 10**9)}, False),
        "one slice is unknown": ({"log_loss": HALF, "tag:a=b": None}, None),
        "one is unknown, and one too large": ({"a": None, "b": Fraction(1)}, False),
    }.values(),
)
def test_a_loss_may_grow_by_the_margin_and_no_more(
    increases: dict[str, Fraction | None], *, holds: bool | None
) -> None:
    assert no_degradation(increases, HALF) is holds
