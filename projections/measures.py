"""The scores of a row: each a fraction of integers, or undefined for a reason."""

from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.aggregation import cluster_means, interquartile_mean
from ledger.projections.cohort import (
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
from ledger.projections.exact import dec12
from ledger.projections.sample import Cohort, Sample, common_cohort
from ledger.projections.slotted import Slotted

BRIER = ("brier_sum", "brier")


def measures(sample: Sample, cohort: Cohort) -> dict[str, Measure]:
    """Return every score of a competitor over its cohort."""
    mine = sample.entrant.slotted
    frozen, outcomes = _skill_frozen(sample, cohort), _outcomes(sample, cohort)
    return {
        BRIER[cohort.is_binary]: mean(cohort.brier(mine)),
        "log_score_bits": _raw_log_score(cohort, mine),
        "log_score_bits_clipped": mean(cohort.loss(mine.picobits_clipped)),
        "log_loss": mean(cohort.loss(-mine.piconats_clipped)),
        "bss_frozen": frozen,
        "bss_same_cohort": _skill_of_rates(cohort, mine, outcomes),
        "reference_brier": _brier_of_reference(sample, cohort),
        "base_rate_brier": _brier_of_rates(cohort, outcomes),
        "official_skill": official(frozen),
        "skill_vs_r1_bits": _skill_bits(sample, cohort, "r1"),
        "skill_vs_r2_bits": _skill_bits(sample, cohort, "r2"),
        "event_rate": _event_rate(sample, cohort),
    }


def _raw_log_score(cohort: Cohort, mine: Slotted) -> Measure:
    if mine.is_infinite[cohort.units].any():
        return Measure(
            value=None, n=cohort.size, reason=ZERO_ON_OUTCOME, is_infinite=True
        )
    return mean(cohort.loss(mine.picobits))


def _skill_frozen(sample: Sample, cohort: Cohort) -> Measure:
    manifest = sample.board.suite.manifest
    theirs = sample.entrant.baselines.get(manifest.scoring.reference)
    if theirs is None:
        return undefined(NOT_DECLARED, cohort.size)
    common = common_cohort(sample, cohort, theirs)
    return skill(common.brier(sample.entrant.slotted), common.brier(theirs))


def _brier_of_reference(sample: Sample, cohort: Cohort) -> Measure:
    manifest = sample.board.suite.manifest
    theirs = sample.entrant.baselines.get(manifest.scoring.reference)
    if theirs is None:
        return undefined(NOT_DECLARED, cohort.size)
    return mean(common_cohort(sample, cohort, theirs).brier(theirs))


def _skill_bits(sample: Sample, cohort: Cohort, role: str) -> Measure:
    """Return the mean gain in clipped log score over the baseline of a role."""
    manifest = sample.board.suite.manifest
    names = [each.name for each in manifest.competitors if each.role == role]
    theirs = sample.entrant.baselines.get(names[0]) if names else None
    if theirs is None:
        return undefined(NOT_DECLARED, cohort.size)
    common = common_cohort(sample, cohort, theirs)
    gain = sample.entrant.slotted.picobits_clipped - theirs.picobits_clipped
    return mean(common.loss(gain))


def _outcomes(sample: Sample, cohort: Cohort) -> list[int] | None:
    """Return how often the event happened and did not, or how often each answer did.

    None where neither is the same for all units.
    """
    units = sample.board.units
    outcome, positive = units.outcome[cohort.units], units.positive[cohort.units]
    if cohort.is_binary and (positive >= 0).all():
        happened = int(np.count_nonzero(outcome == positive))
        return [happened, cohort.size - happened]
    if len(np.unique(units.answers[cohort.units])) > 1:
        return None
    return [int(count) for count in np.bincount(outcome)]


def _skill_of_rates(
    cohort: Cohort, mine: Slotted, outcomes: list[int] | None
) -> Measure:
    if outcomes is None:
        return undefined(NOT_DECLARED, cohort.size)
    return skill_of_rates(cohort.brier(mine), outcomes, binary=cohort.is_binary)


def _brier_of_rates(cohort: Cohort, outcomes: list[int] | None) -> Measure:
    if outcomes is None or not cohort.size:
        return undefined(NOT_DECLARED, cohort.size)
    value = climatology(outcomes, binary=cohort.is_binary)
    return Measure(value=value, n=cohort.size)


def _event_rate(sample: Sample, cohort: Cohort) -> Measure:
    """Return how often the templates' positive answers happened."""
    units = sample.board.units
    positive = units.positive[cohort.units]
    if not cohort.size or (positive < 0).any():
        return undefined(NOT_DECLARED, cohort.size)
    happened = int(np.count_nonzero(units.outcome[cohort.units] == positive))
    return Measure(value=Fraction(happened, cohort.size), n=cohort.size)


def robust(sample: Sample, cohort: Cohort) -> dict[str, dict[str, Any]]:
    """Return the interquartile means over clusters, and the extremes of clusters."""
    mine, clusters = (
        sample.entrant.slotted,
        sample.board.units.cluster.code[cohort.units],
    )
    columns = {
        BRIER[cohort.is_binary]: mine.brier if cohort.is_binary else mine.brier_sum,
        "log_score_bits_clipped": mine.picobits_clipped,
        "log_loss": -mine.piconats_clipped,
    }
    return {
        name: _robust(column[cohort.units], clusters)
        for name, column in columns.items()
    }


def _robust(scores: Integers, clusters: Integers) -> dict[str, Any]:
    means = cluster_means(scores, clusters)
    middle = interquartile_mean(means)
    if middle is None:
        return undefined(NOT_DECLARED, 0).told()
    return {
        **Measure(value=middle, n=len(means)).told(),
        "min": dec12(min(means)),
        "max": dec12(max(means)),
    }
