"""The scores of a row: each a fraction of integers, or undefined for a reason.

Beside each stands what its interval resamples: the units that it is over, and how it
is computed again from a resample of their clusters.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ledger.projections import resampling_sums
from ledger.projections.cohort import (
    MISMATCH,
    NOT_DECLARED,
    ZERO_ON_OUTCOME,
    Measure,
    climatology,
    mean,
    official,
    skill,
    skill_of_rates,
    undefined,
)
from ledger.projections.columns import Integers
from ledger.projections.ground import Ground
from ledger.projections.resampling import Statistic

BRIER = ("brier_sum", "brier")


class Score(NamedTuple):
    """A score and, where it has an interval, what that resamples and computes again."""

    measure: Measure
    ground: Ground | None = None
    statistic: Callable[[], Statistic] | None = None


def measures(ground: Ground, unofficial: str | None) -> dict[str, Score]:
    """Return every score that is made of sums over the units of a cohort.

    `unofficial` is the reason for which none of them is official; None for none.
    """
    mine, is_binary = ground.mine, ground.cohort.is_binary
    frozen, outcomes = _skill_frozen(ground), _outcomes(ground)
    return {
        BRIER[is_binary]: mean_of(ground, ground.brier(mine)),
        "log_score_bits": _raw_log_score(ground),
        "log_score_bits_clipped": mean_of(ground, ground.of(mine.picobits_clipped)),
        "log_loss": mean_of(ground, -ground.of(mine.piconats_clipped)),
        "bss_frozen": frozen,
        "bss_same_cohort": _skill_of_rates(ground, outcomes),
        "reference_brier": _brier_of_reference(ground),
        "base_rate_brier": Score(_brier_of_rates(ground, outcomes)),
        "official_skill": Score(_official(ground, frozen.measure, unofficial)),
        "skill_vs_r1_bits": _skill_bits(ground, "r1"),
        "skill_vs_r2_bits": _skill_bits(ground, "r2"),
        "r2_vs_r1_bits": _skill_of_routine(ground),
        "event_rate": _event_rate(ground),
    }


def mean_of(ground: Ground, scores: Integers) -> Score:
    """Return the mean of unit scores, which are in units of 1e-12."""
    return Score(
        mean(ground.loss(scores)),
        ground,
        lambda: resampling_sums.mean(scores, *ground.resampled),
    )


def _raw_log_score(ground: Ground) -> Score:
    if ground.any_of(ground.mine.is_infinite):
        measure = Measure(
            value=None, n=ground.size, reason=ZERO_ON_OUTCOME, is_infinite=True
        )
        return Score(measure)
    return mean_of(ground, ground.of(ground.mine.picobits))


def _skill_frozen(ground: Ground) -> Score:
    on = ground.beside(ground.reference)
    theirs = ground.theirs(ground.reference)
    if on is None or theirs is None:
        return Score(undefined(NOT_DECLARED, ground.size))
    losses, baseline = on.brier(on.mine), on.brier(theirs)
    return Score(
        skill(on.loss(losses), on.loss(baseline)),
        on,
        lambda: resampling_sums.skill(losses, baseline, *on.resampled),
    )


def _official(ground: Ground, skilled: Measure, unofficial: str | None) -> Measure:
    """Return the official skill: on preregistered, matched cases alone (Piper §5.5).

    They are matched where the reference is on as large a share of the scored units as
    the suite's declared units are to be covered.
    """
    if skilled.value is None:
        return official(skilled)
    if unofficial is not None:
        return undefined(unofficial, skilled.n)
    minimum = Fraction(ground.sample.board.suite.manifest.coverage.minimum)
    if skilled.n < minimum * ground.size:
        return undefined(MISMATCH, skilled.n)
    return official(skilled)


def _brier_of_reference(ground: Ground) -> Score:
    on = ground.beside(ground.reference)
    theirs = ground.theirs(ground.reference)
    if on is None or theirs is None:
        return Score(undefined(NOT_DECLARED, ground.size))
    return mean_of(on, on.brier(theirs))


def _skill_bits(ground: Ground, role: str) -> Score:
    """Return the mean gain in clipped log score over the baseline of a role."""
    name = ground.serving(role)
    on, theirs = ground.beside(name), ground.theirs(name)
    if on is None or theirs is None:
        return Score(undefined(NOT_DECLARED, ground.size))
    return mean_of(on, on.of(on.mine.picobits_clipped - theirs.picobits_clipped))


def _skill_of_routine(ground: Ground) -> Score:
    """Return the mean gain of the second baseline over the first, where both are."""
    r1, r2 = ground.serving("r1"), ground.serving("r2")
    of_r1, of_r2 = ground.theirs(r1), ground.theirs(r2)
    on = ground.beside(r2)
    both = None if on is None else on.beside(r1)
    if both is None or of_r1 is None or of_r2 is None:
        return Score(undefined(NOT_DECLARED, ground.size))
    return mean_of(both, both.of(of_r2.picobits_clipped - of_r1.picobits_clipped))


def _outcomes(ground: Ground) -> list[Integers] | None:
    """Return where the event happened and where not, or where each answer did: 1.

    None where neither is the same for all units.
    """
    units = ground.sample.board.units
    outcome, positive = ground.of(units.outcome), ground.of(units.positive)
    if ground.cohort.is_binary and (positive >= 0).all():
        happened = (outcome == positive).astype(np.int64)
        return [happened, 1 - happened]
    answers = np.unique(ground.of(units.answers)).tolist()
    if len(answers) > 1:
        return None
    width = len(units.answer_lists[answers[0]]) if answers else 0
    return [(outcome == answer).astype(np.int64) for answer in range(width)]


def _skill_of_rates(ground: Ground, outcomes: list[Integers] | None) -> Score:
    if outcomes is None:
        return Score(undefined(NOT_DECLARED, ground.size))
    losses, binary = ground.brier(ground.mine), ground.cohort.is_binary
    counts = [int(each.sum()) for each in outcomes]
    return Score(
        skill_of_rates(ground.loss(losses), counts, binary=binary),
        ground,
        lambda: resampling_sums.same_cohort_skill(
            losses, outcomes, *ground.resampled, binary=binary
        ),
    )


def _brier_of_rates(ground: Ground, outcomes: list[Integers] | None) -> Measure:
    if outcomes is None or not ground.size:
        return undefined(NOT_DECLARED, ground.size)
    counts = [int(each.sum()) for each in outcomes]
    value = climatology(counts, binary=ground.cohort.is_binary)
    return Measure(value=value, n=ground.size)


def _event_rate(ground: Ground) -> Score:
    """Return how often the templates' positive answers happened."""
    units = ground.sample.board.units
    positive = ground.of(units.positive)
    if not ground.size or (positive < 0).any():
        return Score(undefined(NOT_DECLARED, ground.size))
    happened = (ground.of(units.outcome) == positive).astype(np.int64)
    return Score(
        Measure(value=Fraction(int(happened.sum()), ground.size), n=ground.size),
        ground,
        lambda: resampling_sums.rate(happened, *ground.resampled),
    )
