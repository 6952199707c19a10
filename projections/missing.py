"""What a row's scores could be, whatever its missing outcomes and vectors are.

Missing outcomes are CENSORED, CANCELED and overdue units. A unit without a vector in
the slot is missing for the forecaster, who could have said anything. VOID and INVALID
are not missing, and what may still come in time is not yet (METRICS §18).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from ledger.projections.columns import Integers, rows_among
from ledger.projections.counts import overdue
from ledger.projections.entrants import Chosen
from ledger.projections.exact import (
    PPM,
    UNITS,
    dec12,
    picobits,
    weighted_mean,
)
from ledger.projections.measures import BRIER
from ledger.projections.sample import Cohort, Sample
from ledger.projections.scores import Score, score

Shown = dict[str, Any]


class Choice(NamedTuple):
    """What a unit would score if one of its answers happened."""

    brier: int
    is_infinite: bool
    picobits: int
    picobits_clipped: int


def bounds(sample: Sample, cohort: Cohort) -> dict[str, Shown]:
    """Return the bounds of a row's scores over its cohort and what is missing."""
    slotted, rows = sample.entrant.slotted, sample.declared
    is_missing = _is_missing(sample)
    said = rows[is_missing & slotted.has_vector[rows]]
    mine = [_choices(sample, sample.entrant.chosen, unit) for unit in said.tolist()]
    unsaid = int(np.count_nonzero(is_missing & ~slotted.has_vector[rows]))
    unsaid += int(np.count_nonzero(~slotted.is_scored[rows] & _is_resolved(sample)))
    every = [*mine, *([_anything(sample)] * unsaid)]
    return {
        BRIER[sample.is_binary]: _mean(cohort.brier(slotted).total, cohort, every, 0),
        "log_score_bits": _raw_log_score(sample, cohort, every),
        "log_score_bits_clipped": _mean(
            cohort.loss(slotted.picobits_clipped).total, cohort, every, 3
        ),
        **_against_reference(sample, cohort, said, mine),
        **_of_event(sample, cohort, said, mine),
    }


def _is_resolved(sample: Sample) -> np.ndarray:
    return sample.board.units.outcome[sample.declared] >= 0


def _is_missing(sample: Sample) -> np.ndarray:
    status = sample.board.units.status[sample.declared]
    return np.isin(status, (CENSORED, CANCELED)) | overdue(sample)


def _anything(sample: Sample) -> list[Choice]:
    """Return the best and the worst that a vector nobody sealed could have scored."""
    clip_ppm = sample.board.suite.clip_ppm
    best, worst = picobits(PPM - clip_ppm), picobits(clip_ppm)
    assert best is not None
    assert worst is not None, "a clip above zero keeps every logarithm finite"
    most = UNITS if sample.is_binary else 2 * UNITS
    return [
        Choice(brier=0, is_infinite=False, picobits=0, picobits_clipped=best),
        Choice(brier=most, is_infinite=True, picobits=0, picobits_clipped=worst),
    ]


def _choices(sample: Sample, chosen: Chosen, unit: int) -> list[Choice]:
    """Return what a unit would score with each of its answers, weighted by the slot."""
    board = sample.board
    rows = rows_among(chosen.unit, np.array([unit])).tolist()
    weight = chosen.weight[rows].tolist()
    vectors = [chosen.distinct[code] for code in chosen.code[rows].tolist()]
    answers = board.units.answer_lists[board.units.answers[unit]]
    return [
        _weighed(
            [score(vector, answer, board.suite.clip_ppm) for vector in vectors],
            weight,
            is_binary=sample.is_binary,
        )
        for answer in range(len(answers))
    ]


def _weighed(scores: list[Score], weight: list[int], *, is_binary: bool) -> Choice:
    half = 2 if is_binary else 1
    return Choice(
        brier=weighted_mean([each.brier_sum // half for each in scores], weight),
        is_infinite=any(each.picobits is None for each in scores),
        picobits=weighted_mean([each.picobits or 0 for each in scores], weight),
        picobits_clipped=weighted_mean(
            [each.picobits_clipped for each in scores], weight
        ),
    )


def _mean(
    total: int, cohort: Cohort, every: Sequence[Sequence[Choice]], field: int
) -> Shown:
    choices = [[each[field] for each in unit] for unit in every]
    return _shown(mean_bound(total, cohort.size, choices), cohort.size + len(every))


def _shown(bound: Bound | None, n: int, reason: str = EMPTY) -> Shown:
    if bound is None:
        return {"lo": None, "hi": None, "n": n, "reason": reason if n else EMPTY}
    return {"lo": dec12(bound.lo), "hi": dec12(bound.hi), "n": n}


def _raw_log_score(
    sample: Sample, cohort: Cohort, every: Sequence[Sequence[Choice]]
) -> Shown:
    """Return the bounds of the raw log score, which may be minus infinity."""
    slotted = sample.entrant.slotted
    total, n = cohort.loss(slotted.picobits).total, cohort.size + len(every)
    is_infinite = bool(slotted.is_infinite[cohort.units].any())
    finite = [
        [each.picobits for each in unit if not each.is_infinite] for unit in every
    ]
    shown = _shown(mean_bound(total, cohort.size, [unit or [0] for unit in finite]), n)
    if is_infinite or any(
        len(f) < len(unit) for f, unit in zip(finite, every, strict=True)
    ):
        shown["lo"] = "-inf"
    if is_infinite or not all(finite):
        shown["hi"] = "-inf"
    return shown


def _against_reference(
    sample: Sample, cohort: Cohort, said: Integers, mine: list[list[Choice]]
) -> dict[str, Shown]:
    """Return the bounds of the loss beyond the frozen reference's, and of the skill.

    Over the units on which both have a vector: where a vector is missing, nobody
    knows at which place the reference would stand beside it.
    """
    reference = sample.board.suite.manifest.scoring.reference
    theirs = sample.entrant.baselines.get(reference)
    difference = f"{BRIER[sample.is_binary]}_beyond_reference"
    if theirs is None:
        undefined = _shown(None, cohort.size, NOT_DECLARED)
        return {difference: undefined, "bss_frozen": undefined}
    spoken = sample.entrant.spoken[reference]
    common = sample.cohort(cohort.units[theirs.is_scored[cohort.units]])
    known = Losses(
        common.brier(sample.entrant.slotted).total, common.brier(theirs).total
    )
    choices = [
        [
            Losses(each.brier, other.brier)
            for each, other in zip(unit, _choices(sample, spoken, row), strict=True)
        ]
        for row, unit in zip(said.tolist(), mine, strict=True)
        if theirs.has_vector[row]
    ]
    n = common.size + len(choices)
    beyond = [[each.model - each.baseline for each in unit] for unit in choices]
    bound = mean_bound(known.model - known.baseline, common.size, beyond)
    return {
        difference: _shown(bound, n),
        "bss_frozen": _shown(skill_bound(known, choices), n, BASELINE_ZERO),
    }


def _of_event(
    sample: Sample, cohort: Cohort, said: Integers, mine: list[list[Choice]]
) -> dict[str, Shown]:
    """Return the bounds of the event's rate, and of the skill against that rate."""
    units, n = sample.board.units, cohort.size + len(mine)
    positive = units.positive[np.concatenate([cohort.units, said])]
    if not sample.is_binary or (positive < 0).any():
        undefined = _shown(None, n, NOT_DECLARED)
        return {"event_rate": undefined, "bss_same_cohort": undefined}
    events = int(
        np.count_nonzero(units.outcome[cohort.units] == units.positive[cohort.units])
    )
    missing = [
        (unit[at].brier, unit[1 - at].brier)
        for unit, at in zip(mine, units.positive[said].tolist(), strict=True)
    ]
    rate = mean_bound(events * UNITS, cohort.size, [[0, UNITS]] * len(mine))
    lost = cohort.brier(sample.entrant.slotted).total
    skill = own_rate_skill_bound(lost, events, cohort.size, missing)
    return {
        "event_rate": _shown(rate, n),
        "bss_same_cohort": _shown(skill, n, BASELINE_ZERO),
    }
