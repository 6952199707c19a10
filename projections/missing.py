"""What a row's scores could be, whatever its missing outcomes and vectors are.

Missing outcomes are CENSORED, CANCELED and overdue units. A unit without a vector in
the slot is missing for the forecaster, who could have said anything. VOID and INVALID
are not missing, and what may still come in time is not yet (METRICS §18).
"""

from collections import Counter
from collections.abc import Callable
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ledger.projections.board_units import CANCELED, CENSORED
from ledger.projections.bounds import (
    Bound,
    Losses,
    Unsaid,
    any_vector_skill_bound,
    mean_bound,
    own_rate_skill_bound,
    skill_bound,
)
from ledger.projections.cohort import BASELINE_ZERO, EMPTY, NOT_DECLARED
from ledger.projections.columns import Flags, Integers, rows_among
from ledger.projections.counts import overdue
from ledger.projections.exact import PPM, UNITS, dec12, picobits, weighted_mean
from ledger.projections.measures import BRIER
from ledger.projections.recalibrated import origin_of
from ledger.projections.sample import Cohort, Sample, common_cohort
from ledger.projections.scores import Score, score
from ledger.projections.slotted import Chosen, Slotted

Shown = dict[str, Any]


class Choice(NamedTuple):
    """What a unit would score if one of its answers happened."""

    brier: int
    is_infinite: bool
    picobits: int
    picobits_clipped: int


# What a unit would score with each of its answers.
Choices = tuple[Choice, ...]
# What a competitor and a baseline could score on a unit together.
Pairs = tuple[tuple[Choice, Choice], ...]
# Ends the name of a bound that is over the units without a vector too.
ANY_VECTOR = "_with_missing_vectors"


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What is missing of a sample: units that a vector was on, and units without.

    `said` are units with a vector in the slot, `choices` what each would score;
    `unsaid` are those without one, whether their outcome is known or missing too.
    """

    said: Integers
    choices: list[Choices]
    unsaid: Integers


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A baseline beside a competitor: units where both are scored, and what is missing.

    Of each unit the pairs that they could have scored there, over how many units:
    those where an outcome is missing, and those where the competitor's vector is.
    """

    common: Cohort
    theirs: Slotted
    outcomes: Counter[Pairs]
    vectors: Counter[Pairs]

    def each(self) -> dict[str, Counter[Pairs]]:
        """Return what is missing without the missing vectors and with them."""
        return {"": self.outcomes, ANY_VECTOR: self.outcomes + self.vectors}

    def difference(
        self, known: int, pairs: Counter[Pairs], number: Callable[[Choice], int]
    ) -> Shown:
        """Return the bounds of a mean difference, of which the known sum is given."""
        gaps = Counter[tuple[int, ...]]()
        for unit, count in pairs.items():
            gaps[tuple(number(own) - number(other) for own, other in unit)] += count
        bound = mean_bound(known, self.common.size, gaps)
        return _shown(bound, self.common.size + pairs.total())


def bounds(sample: Sample, cohort: Cohort) -> dict[str, Shown]:
    """Return the bounds of a row's scores over its cohort and what is missing."""
    slotted, missing = sample.entrant.slotted, _missing(sample)
    manifest = sample.board.suite.manifest
    reference = manifest.scoring.reference
    serving = {each.role: each.name for each in manifest.competitors}
    r1, r2 = serving.get("r1"), serving.get("r2")
    beside = {
        name: _beside(sample, cohort, missing, name)
        for name in dict.fromkeys((reference, r1, r2))
    }
    every = Counter(missing.choices)
    if len(missing.unsaid):
        every[_anything(sample)] += len(missing.unsaid)
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
        **_against_reference(sample, cohort, beside[reference]),
        **_in_bits(sample, cohort, "skill_vs_r1_bits", beside[r1]),
        **_in_bits(sample, cohort, "skill_vs_r2_bits", beside[r2]),
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
        unsaid=rows[is_unsaid],
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
    rows = rows_among(chosen.unit, said)
    every_code, every_weight = chosen.code[rows].tolist(), chosen.weight[rows].tolist()
    sizes = np.bincount(chosen.unit[rows], minlength=len(units.answers))[said]
    ends = np.cumsum(sizes)
    for of, start, end in zip(
        units.answers[said].tolist(),
        (ends - sizes).tolist(),
        ends.tolist(),
        strict=True,
    ):
        codes, weight = tuple(every_code[start:end]), every_weight[start:end]
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
    sample: Sample, cohort: Cohort, beside: Beside | None
) -> dict[str, Shown]:
    """Return the bounds of the loss beyond the frozen reference's, and of the skill."""
    beyond = f"{BRIER[sample.is_binary]}_beyond_reference"
    if beside is None:
        undefined = _shown(None, cohort.size, NOT_DECLARED)
        return _twice(beyond, undefined) | _twice("bss_frozen", undefined)
    mine, theirs = sample.entrant.slotted, beside.theirs
    known = Losses(beside.common.brier(mine).total, beside.common.brier(theirs).total)
    found: dict[str, Shown] = {}
    for suffix, pairs in beside.each().items():
        found[beyond + suffix] = beside.difference(
            known.model - known.baseline, pairs, attrgetter("brier")
        )
        losses = Counter[tuple[Losses, ...]]()
        for unit, count in pairs.items():
            losses[tuple(Losses(own.brier, other.brier) for own, other in unit)] += (
                count
            )
        n = beside.common.size + pairs.total()
        bound = skill_bound(known, losses)
        found["bss_frozen" + suffix] = _shown(bound, n, BASELINE_ZERO)
    return found


def _in_bits(
    sample: Sample, cohort: Cohort, name: str, beside: Beside | None
) -> dict[str, Shown]:
    """Return the bounds of a skill over population or routine, in bits."""
    if beside is None:
        return _twice(name, _shown(None, cohort.size, NOT_DECLARED))
    mine, theirs = (
        beside.common.loss(each.picobits_clipped).total
        for each in (sample.entrant.slotted, beside.theirs)
    )
    return {
        name + suffix: beside.difference(
            mine - theirs, pairs, attrgetter("picobits_clipped")
        )
        for suffix, pairs in beside.each().items()
    }


def _twice(name: str, shown: Shown) -> dict[str, Shown]:
    return {name: shown, name + ANY_VECTOR: shown}


def _beside(
    sample: Sample, cohort: Cohort, missing: Missing, baseline: str | None
) -> Beside | None:
    """Return what is missing of a competitor and a baseline; None if it is none.

    A missing outcome counts where both have a vector. Where the competitor has none, a
    baseline that has one of its own stays what it is; one that would have been computed
    at the place of the missing vector could have said anything as well, since nobody
    knows that place.
    """
    theirs = sample.entrant.baselines.get(baseline or "")
    if baseline is None or theirs is None:
        return None
    spoken = sample.entrant.spoken[baseline]
    has_both = theirs.has_vector[missing.said]
    outcomes = Counter(
        tuple(zip(unit, others, strict=True))
        for unit, others in zip(
            [missing.choices[at] for at in np.flatnonzero(has_both).tolist()],
            _choices(sample, spoken, missing.said[has_both]),
            strict=True,
        )
    )
    anything = _anything(sample)
    if _follows(sample, baseline):
        vectors = Counter({tuple(product(anything, anything)): len(missing.unsaid)})
    else:
        heard = missing.unsaid[theirs.has_vector[missing.unsaid]]
        happened = sample.board.units.outcome[heard].tolist()
        vectors = Counter(
            tuple(
                product(
                    anything, others[answer : answer + 1] if answer >= 0 else others
                )
            )
            for others, answer in zip(
                _choices(sample, spoken, heard), happened, strict=True
            )
        )
    return Beside(
        common=common_cohort(sample, cohort, theirs),
        theirs=theirs,
        outcomes=outcomes,
        vectors=+vectors,
    )


def _follows(sample: Sample, baseline: str) -> bool:
    """Tell whether a baseline has its vectors only where the competitor has its own."""
    manifest = sample.board.suite.manifest
    competitor = manifest.competitor(baseline)
    assert competitor is not None, "a baseline of the suite is one of its competitors"
    origin = origin_of(competitor, manifest)
    return origin.principal is None or origin.name == sample.entrant.origin.name


def _of_event(sample: Sample, cohort: Cohort, missing: Missing) -> dict[str, Shown]:
    """Return the bounds of the event's rate, and of the skill against that rate."""
    units, n = sample.board.units, cohort.size + len(missing.said)
    known = np.concatenate([cohort.units, missing.said])
    undefined = _shown(None, n, NOT_DECLARED)
    if not sample.is_binary or (units.positive[known] < 0).any():
        return {"event_rate": undefined, **_twice("bss_same_cohort", undefined)}

    def events_among(some: Integers) -> int:
        return int(np.count_nonzero(units.outcome[some] == units.positive[some]))

    events, positive = events_among(cohort.units), units.positive[missing.said]
    losses = [
        (unit[at].brier, unit[1 - at].brier)
        for unit, at in zip(missing.choices, positive.tolist(), strict=True)
    ]
    rate = mean_bound(events * UNITS, cohort.size, {(0, UNITS): len(losses)})
    lost = cohort.brier(sample.entrant.slotted).total
    skill = own_rate_skill_bound(lost, events, cohort.size, losses)
    found = {
        "event_rate": _shown(rate, n),
        "bss_same_cohort": _shown(skill, n, BASELINE_ZERO),
        "bss_same_cohort" + ANY_VECTOR: undefined,
    }
    if (units.positive[missing.unsaid] >= 0).all():
        settled = int(np.count_nonzero(units.outcome[missing.unsaid] >= 0))
        unsaid = Unsaid(
            units=settled,
            events=events_among(missing.unsaid),
            open=len(missing.unsaid) - settled,
        )
        whole = any_vector_skill_bound(lost, events, cohort.size, losses, unsaid)
        found["bss_same_cohort" + ANY_VECTOR] = _shown(
            whole, n + len(missing.unsaid), BASELINE_ZERO
        )
    return found
