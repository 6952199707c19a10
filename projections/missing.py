"""What a row's scores could be, whatever its missing outcomes and vectors are.

Missing outcomes are CENSORED, CANCELED and overdue units. A unit without a vector in
the slot is missing for the forecaster, who could have said anything. VOID and INVALID
are not missing, and what may still come in time is not yet (METRICS §18).
"""

from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ledger.projections.board_units import CANCELED, CENSORED
from ledger.projections.bounds import (
    Bound,
    Losses,
    mean_bound,
    own_rate_skill_bound,
    skill_bound,
)
from ledger.projections.cohort import BASELINE_ZERO, EMPTY, NOT_DECLARED
from ledger.projections.columns import Flags, Integers, rows_among
from ledger.projections.counts import overdue
from ledger.projections.exact import PPM, UNITS, dec12, picobits, weighted_mean
from ledger.projections.measures import BRIER
from ledger.projections.sample import Cohort, Sample, common_cohort
from ledger.projections.scores import Score, score
from ledger.projections.slotted import Chosen

Shown = dict[str, Any]


class Choice(NamedTuple):
    """What a unit would score if one of its answers happened."""

    brier: int
    is_infinite: bool
    picobits: int
    picobits_clipped: int


# What a unit would score with each of its answers.
Choices = tuple[Choice, ...]


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What is missing of a sample: units that a vector was on, and how many without.

    `said` are units with a vector in the slot, `choices` what each would score.
    """

    said: Integers
    choices: list[Choices]
    unsaid: int


def bounds(sample: Sample, cohort: Cohort) -> dict[str, Shown]:
    """Return the bounds of a row's scores over its cohort and what is missing."""
    slotted, missing = sample.entrant.slotted, _missing(sample)
    every = Counter(missing.choices)
    if missing.unsaid:
        every[_anything(sample)] += missing.unsaid
    return {
        BRIER[sample.is_binary]: _mean(
            cohort, cohort.brier(slotted).total, every, attrgetter("brier")
        ),
        "log_score_bits": _raw_log_score(sample, cohort, every),
        "log_score_bits_clipped": _mean(
            cohort,
            cohort.loss(slotted.picobits_clipped).total,
            every,
            attrgetter("picobits_clipped"),
        ),
        **_against_reference(sample, cohort, missing),
        **_of_event(sample, cohort, missing),
    }


def _missing(sample: Sample) -> Missing:
    units, rows = sample.board.units, sample.declared
    has_vector = sample.entrant.slotted.has_vector[rows]
    is_open = np.isin(units.status[rows], (CENSORED, CANCELED)) | overdue(sample)
    is_unsaid: Flags = ~has_vector & (is_open | (units.outcome[rows] >= 0))
    said = rows[is_open & has_vector]
    return Missing(
        said=said,
        choices=_choices(sample, sample.entrant.chosen, said),
        unsaid=int(np.count_nonzero(is_unsaid)),
    )


def _anything(sample: Sample) -> Choices:
    """Return the best and the worst that a vector nobody sealed could have scored."""
    clip_ppm = sample.board.suite.clip_ppm
    best, worst = picobits(PPM - clip_ppm), picobits(clip_ppm)
    assert best is not None
    assert worst is not None, "a clip above zero keeps every logarithm finite"
    most = UNITS if sample.is_binary else 2 * UNITS
    return (
        Choice(brier=0, is_infinite=False, picobits=0, picobits_clipped=best),
        Choice(brier=most, is_infinite=True, picobits=0, picobits_clipped=worst),
    )


def _choices(sample: Sample, chosen: Chosen, said: Integers) -> list[Choices]:
    """Return what units would score with each of their answers, weighted by the slot."""
    units = sample.board.units
    remembered: dict[tuple[Any, ...], Choices] = {}
    found = []
    for unit in said.tolist():
        rows = rows_among(chosen.unit, np.array([unit]))
        of = int(units.answers[unit])
        codes, weight = tuple(chosen.code[rows].tolist()), chosen.weight[rows].tolist()
        key = (of, codes, *(weight if len(weight) > 1 else ()))
        if key not in remembered:
            vectors = [chosen.distinct[code] for code in codes]
            remembered[key] = tuple(
                _weighed(sample, vectors, answer, weight)
                for answer in range(len(units.answer_lists[of]))
            )
        found.append(remembered[key])
    return found


def _weighed(
    sample: Sample, vectors: list[tuple[int, ...]], answer: int, weight: list[int]
) -> Choice:
    clip_ppm, half = sample.board.suite.clip_ppm, 2 if sample.is_binary else 1
    scores = [score(vector, answer, clip_ppm) for vector in vectors]

    def mean(number: Callable[[Score], int]) -> int:
        return weighted_mean(map(number, scores), weight)

    return Choice(
        brier=mean(lambda each: each.brier_sum // half),
        is_infinite=any(each.picobits is None for each in scores),
        picobits=mean(lambda each: each.picobits or 0),
        picobits_clipped=mean(lambda each: each.picobits_clipped),
    )


def _mean(
    cohort: Cohort,
    total: int,
    every: Counter[Choices],
    number: Callable[[Choice], int],
) -> Shown:
    choices = Counter[tuple[int, ...]]()
    for unit, count in every.items():
        choices[tuple(map(number, unit))] += count
    bound = mean_bound(total, cohort.size, choices)
    return _shown(bound, cohort.size + every.total())


def _shown(bound: Bound | None, n: int, reason: str = EMPTY) -> Shown:
    if bound is None:
        return {"lo": None, "hi": None, "n": n, "reason": reason if n else EMPTY}
    return {"lo": dec12(bound.lo), "hi": dec12(bound.hi), "n": n}


def _raw_log_score(sample: Sample, cohort: Cohort, every: Counter[Choices]) -> Shown:
    """Return the bounds of the raw log score, which may be minus infinity."""
    slotted = sample.entrant.slotted
    finite = Counter[Choices]()
    for unit, count in every.items():
        finite[tuple(each for each in unit if not each.is_infinite) or unit] += count
    total = cohort.loss(slotted.picobits).total
    shown = _mean(cohort, total, finite, attrgetter("picobits"))
    is_infinite = bool(slotted.is_infinite[cohort.units].any())
    if is_infinite or any(each.is_infinite for unit in every for each in unit):
        shown["lo"] = "-inf"
    if is_infinite or any(all(each.is_infinite for each in unit) for unit in every):
        shown["hi"] = "-inf"
    return shown


def _against_reference(
    sample: Sample, cohort: Cohort, missing: Missing
) -> dict[str, Shown]:
    """Return the bounds of the loss beyond the frozen reference's, and of the skill.

    Over the units on which both have a vector: where a vector is missing, nobody
    knows at which place the reference would stand beside it.
    """
    reference = sample.board.suite.manifest.scoring.reference
    theirs = sample.entrant.baselines.get(reference)
    beyond = f"{BRIER[sample.is_binary]}_beyond_reference"
    if theirs is None:
        undefined = _shown(None, cohort.size, NOT_DECLARED)
        return {beyond: undefined, "bss_frozen": undefined}
    common = common_cohort(sample, cohort, theirs)
    mine = common.brier(sample.entrant.slotted).total
    known = Losses(mine, common.brier(theirs).total)
    has_both = theirs.has_vector[missing.said]
    others = _choices(sample, sample.entrant.spoken[reference], missing.said[has_both])
    spoken = [missing.choices[at] for at in np.flatnonzero(has_both).tolist()]
    choices = Counter(
        tuple(
            Losses(each.brier, other.brier)
            for each, other in zip(unit, against, strict=True)
        )
        for unit, against in zip(spoken, others, strict=True)
    )
    n, gaps = common.size + choices.total(), Counter[tuple[int, ...]]()
    for unit, count in choices.items():
        gaps[tuple(each.model - each.baseline for each in unit)] += count
    bound = mean_bound(known.model - known.baseline, common.size, gaps)
    return {
        beyond: _shown(bound, n),
        "bss_frozen": _shown(skill_bound(known, choices), n, BASELINE_ZERO),
    }


def _of_event(sample: Sample, cohort: Cohort, missing: Missing) -> dict[str, Shown]:
    """Return the bounds of the event's rate, and of the skill against that rate."""
    units, n = sample.board.units, cohort.size + len(missing.said)
    event = units.positive[cohort.units]
    positive = units.positive[missing.said]
    if not sample.is_binary or (event < 0).any() or (positive < 0).any():
        undefined = _shown(None, n, NOT_DECLARED)
        return {"event_rate": undefined, "bss_same_cohort": undefined}
    events = int(np.count_nonzero(units.outcome[cohort.units] == event))
    losses = [
        (unit[at].brier, unit[1 - at].brier)
        for unit, at in zip(missing.choices, positive.tolist(), strict=True)
    ]
    rate = mean_bound(events * UNITS, cohort.size, {(0, UNITS): len(losses)})
    lost = cohort.brier(sample.entrant.slotted).total
    skill = own_rate_skill_bound(lost, events, cohort.size, losses)
    return {
        "event_rate": _shown(rate, n),
        "bss_same_cohort": _shown(skill, n, BASELINE_ZERO),
    }
