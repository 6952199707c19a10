"""Verdicts: which claim the numbers of a row allow (METRICS §§14, 22).

A verdict is no number and no p-value. Each part of it is named and shown with what
it was decided on, so that a reader sees which one failed.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from ledger.projections.cohort import INSUFFICIENT

TARGET_SPECIFIC = "target_specific"
Decision = Literal["PROMOTE", "HOLD", "REJECT", "INCONCLUSIVE"]
Verdict = Literal["KEEP", "REVERT", "INCONCLUSIVE"]
# What keeping up a claim asks for, in this order; and the credit without it.
_BARS = {
    "skill_vs_r1": "none_or_unproven",
    "skill_vs_r2": "routine_replay_or_unproven",
    "calibration": "uncalibrated",
    "permutation": "generic_prediction",
}
_CALIBRATIONS, _PERMUTATIONS = {"pass", "warn", "fail"}, {"collapses", "survives"}


class FourBars(msgspec.Struct, frozen=True, kw_only=True):
    """The credit that a row earns, and each bar: whether it holds, None for unknown."""

    credit: str
    bars: dict[str, bool | None]


def four_bars(
    *,
    skill_r1_lo: Fraction | None,
    skill_r2_lo: Fraction | None,
    calibration: str | None,
    permutation: str | None,
    allows_warn: bool,
    is_creditable: bool = True,
) -> FourBars:
    """Return whether a forecast is about its target, or which bar it failed first.

    The bounds are the lower ends of the intervals of skill over the two baselines: a
    bound of 0 fails. `calibration` is `pass`, `warn` or `fail`, `permutation`
    `collapses` or `survives`; whatever else, or None, leaves the bar undecided, and
    then there is no credit but `insufficient`. Nor is there any where the row is not
    creditable, whatever its bars say.
    """
    calibrated = {"pass", "warn"} if allows_warn else {"pass"}
    bars = {
        "skill_vs_r1": _is_above_zero(skill_r1_lo),
        "skill_vs_r2": _is_above_zero(skill_r2_lo),
        "calibration": calibration in calibrated
        if calibration in _CALIBRATIONS
        else None,
        "permutation": permutation == "collapses"
        if permutation in _PERMUTATIONS
        else None,
    }
    if not is_creditable or None in bars.values():
        return FourBars(credit=INSUFFICIENT, bars=bars)
    failed = [credit for bar, credit in _BARS.items() if not bars[bar]]
    return FourBars(credit=failed[0] if failed else TARGET_SPECIFIC, bars=bars)


def routine_bound(
    *,
    skill_r1_lo: Fraction | None,
    skill_r2_lo: Fraction | None,
    r2_over_r1: Fraction | None,
) -> Fraction | None:
    """Return the bound that the second bar looks at (METRICS §7).

    A target's own routine is a baseline where it does better than the population;
    where it does not, the population's rate is the stronger one, and stands for it.
    """
    if r2_over_r1 is None:
        return None
    return skill_r2_lo if r2_over_r1 > 0 else skill_r1_lo


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a promotion is decided on; None is unknown (Piper §5.5).

    `brier_gain` is the loss of the strongest simple past-only baseline less the
    candidate's, on the forward holdout; `lo_minus_trivial` the lower end of its paired
    interval less the gain that is trivial. `may_be_claimed` is whether the row is good
    for a claim at all.
    """

    brier_gain: Fraction | None
    lo_minus_trivial: Fraction | None
    no_degradation: bool | None
    no_leakage: bool | None
    has_utility: bool | None
    sample_suffices: bool = True
    may_be_claimed: bool = True

    @property
    def hold(self) -> dict[str, bool | None]:
        """Which parts hold, by name; None where that is unknown."""
        return {
            "brier_gain": _is_above_zero(self.brier_gain),
            "lo_minus_trivial": _is_above_zero(self.lo_minus_trivial),
            "no_degradation": self.no_degradation,
            "no_leakage": self.no_leakage,
            "has_utility": self.has_utility,
            "sample_suffices": self.sample_suffices,
            "may_be_claimed": self.may_be_claimed,
        }


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a candidate, what its evaluator signs, and on which parts."""

    decision: Decision
    verdict: Verdict
    parts: Parts


def promotion(parts: Parts) -> Promotion:
    """Return what becomes of a candidate.

    A sample that is too small, or a row that is good for no claim, decides nothing, for
    or against. Otherwise a candidate that is not better than the baseline is rejected,
    whatever else is unknown.
    """
    decision = _decision(parts)
    return Promotion(decision=decision, verdict=_verdict(decision, parts), parts=parts)


def _decision(parts: Parts) -> Decision:
    hold = parts.hold
    if not (hold.pop("sample_suffices") and hold.pop("may_be_claimed")):
        return "INCONCLUSIVE"
    if hold["brier_gain"] is False:
        return "REJECT"
    if None in hold.values():
        return "INCONCLUSIVE"
    return "PROMOTE" if all(hold.values()) else "HOLD"


def _verdict(decision: Decision, parts: Parts) -> Verdict:
    """Return what is signed: of all parts, an interval that is too wide proves nothing."""
    if decision == "PROMOTE":
        return "KEEP"
    failed = {name for name, holds in parts.hold.items() if holds is False}
    if decision == "INCONCLUSIVE" or failed == {"lo_minus_trivial"}:
        return "INCONCLUSIVE"
    return "REVERT"


def gains(
    brier_gain: Fraction | None, lo_minus_trivial: Fraction | None
) -> bool | None:
    """Tell whether somebody gains more than what is trivial; None where it is unknown."""
    return _all_hold(_is_above_zero(brier_gain), _is_above_zero(lo_minus_trivial))


def native_skill(*, gains: bool | None, no_leakage: bool | None) -> bool | None:
    """Tell whether a native forecaster is skilled, by what is asked of it itself.

    Whoever is made from it may have passed without its having done so: a gain that it
    owes to what it could not know is no skill.
    """
    return _all_hold(gains, no_leakage)


def _all_hold(*parts: bool | None) -> bool | None:
    """Tell whether all parts hold: one that does not decides, else one unknown does."""
    if False in parts:
        return False
    return None if None in parts else True


def _is_above_zero(value: Fraction | None) -> bool | None:
    return None if value is None else value > 0


def no_degradation(
    increases: Mapping[str, Fraction | None], margin: Fraction
) -> bool | None:
    """Tell whether no loss may have increased by more than a margin.

    `increases` are the upper ends of the paired intervals of what losses increased by:
    of the log loss, and in each frozen slice, by name. One above the margin decides;
    else one that is unknown leaves it open.
    """
    known = [each for each in increases.values() if each is not None]
    if any(each > margin for each in known):
        return False
    return True if len(known) == len(increases) else None
