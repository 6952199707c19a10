"""Whether a row's competitor should take over, and on which parts (METRICS §22).

The candidate is set against the strongest of the simple baselines that know the past
alone, the suite's reference, the holders of its roles and the incumbent, on the units of
the row. Where a suite sets splits apart, a candidate is promoted on its holdout and
nowhere else.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections.cohort import NOT_DECLARED, undefined
from ledger.projections.columns import Integers
from ledger.projections.entrants import Field
from ledger.projections.exact import dec12
from ledger.projections.gates import (
    Parts,
    gains,
    native_skill,
    no_degradation,
    promotion,
)
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.projections.leak_tests import LeakTests, leak_tests
from ledger.projections.measures import Score, mean_of
from ledger.projections.parts import values_of
from ledger.projections.resampling import Interval
from ledger.projections.slotted import Slotted
from ledger.suite import Competitor, SuiteManifest

Shown = dict[str, Any]
_LOG_LOSS = "log_loss"
# What the gains are called among the intervals; no increase has these names.
GAIN, NATIVE_GAIN = "brier_gain", "native_gain"


class Standing(NamedTuple):
    """What is known of a row besides its losses: each part, None where unknown."""

    is_forward: bool
    may_be_claimed: bool
    has_utility: bool | None


class Baseline(NamedTuple):
    """Whom a candidate is set against, and what that scored."""

    name: str
    slotted: Slotted


class Native(NamedTuple):
    """The native forecaster that a candidate is, or was made from, and what it gained.

    `gain` is None where it has no score on all the units, or nobody to be set against.
    `leaks` is what the leak tests say of its own vectors there.
    """

    name: str
    against: str | None
    gain: Score | None
    leaks: LeakTests


class Candidacy(NamedTuple):
    """Whom a candidate is set against; how much less it lost, and more where it did.

    `increases` are of the log loss, and of the suite's primary loss in frozen slices.
    `native` is None where no native forecaster is named.
    """

    against: str | None
    gain: Score | None
    increases: dict[str, Score]
    native: Native | None

    @property
    def scores(self) -> dict[str, Score]:
        """Return all of it by name: what intervals are wanted of."""
        native = None if self.native is None else self.native.gain
        named = {GAIN: self.gain, NATIVE_GAIN: native}
        gained = {name: gain for name, gain in named.items() if gain is not None}
        return self.increases | gained


def candidacy(ground: Ground, field: Field) -> Candidacy:
    """Return what a promotion of the row's competitor looks at."""
    rivals = _rivals(ground, field)
    native = _native(ground, field, rivals)
    found = _strongest(ground, rivals)
    if found is None:
        return Candidacy(None, None, {}, native)
    increases = dict(_increases(ground, found.slotted))
    gain = _gain(ground, ground.mine, found.slotted)
    return Candidacy(found.name, gain, increases, native)


def promoting(
    ground: Ground,
    stood: Candidacy,
    intervals: Mapping[str, Interval],
    inference: Inference,
    known: Standing,
) -> Shown:
    """Return what becomes of the row's competitor, and each part of why.

    `intervals` are those of `stood`, by the names of its scores.
    """
    declared = ground.sample.board.suite.manifest.gates.promotion
    trivial = Fraction(declared.trivial_gain)
    gain, interval = stood.gain, intervals.get(GAIN)
    tested = leak_tests(ground, ground.sample.entrant.chosen)
    increases = {
        name: intervals[name].hi if name in intervals else None
        for name in stood.increases
    }
    decided = promotion(
        Parts(
            brier_gain=None if gain is None else gain.measure.value,
            lo_minus_trivial=_beyond(interval, trivial),
            no_degradation=no_degradation(increases, Fraction(declared.loss_margin))
            if increases
            else None,
            no_leakage=tested.no_leakage,
            has_utility=known.has_utility,
            sample_suffices=known.is_forward and inference.has_clusters(ground),
            may_be_claimed=known.may_be_claimed,
        )
    )
    return {
        "decision": decided.decision,
        "verdict": decided.verdict,
        **_native_skill(stood.native, intervals.get(NATIVE_GAIN), trivial, known),
        "against": stood.against,
        "is_forward": known.is_forward,
        "brier_gain": None if gain is None else told(gain.measure, interval),
        "trivial_gain": dec12(trivial),
        "loss_increase": {
            name: told(each.measure, intervals.get(name))
            for name, each in stood.increases.items()
        },
        "loss_margin": dec12(Fraction(declared.loss_margin)),
        "leak_tests": tested.told(),
        "holds": decided.parts.hold,
    }


def _beyond(interval: Interval | None, trivial: Fraction) -> Fraction | None:
    """Return the lower end of a gain's interval less what is trivial."""
    return None if interval is None or interval.lo is None else interval.lo - trivial


def _native_skill(
    native: Native | None, interval: Interval | None, trivial: Fraction, known: Standing
) -> Shown:
    """Return whether a claim about native skill would hold, and what it is decided on.

    Where nothing may be claimed it would not, nor is it refuted.
    """
    if native is None:
        return {"native_skill": None, "native": None}
    gain, leaks = native.gain, native.leaks
    value = None if gain is None else gain.measure.value
    may_be_claimed = known.is_forward and known.may_be_claimed
    return {
        "native_skill": native_skill(
            gains=gains(value, _beyond(interval, trivial)),
            no_leakage=leaks.no_leakage,
        )
        if may_be_claimed
        else None,
        "native": {
            "forecaster": native.name,
            "against": native.against,
            "brier_gain": None if gain is None else told(gain.measure, interval),
            "leak_tests": leaks.told(),
        },
    }


def _native(ground: Ground, field: Field, rivals: list[Baseline]) -> Native | None:
    """Return the native forecaster that a candidate goes back to, on the same units.

    It is set against whom its own row would be: never against itself.
    """
    manifest, entrant = ground.sample.board.suite.manifest, ground.sample.entrant
    source = _source(entrant.competitor, manifest)
    if source.layer != "native":
        return None
    is_own = source.name == entrant.competitor.name
    theirs = ground.mine if is_own else field.beside(entrant, source.name)
    chosen = entrant.chosen if is_own else field.vectors_beside(entrant, source.name)
    leaks = leak_tests(ground, chosen)
    others = [each for each in rivals if each.name != source.name]
    found = _strongest(ground, others)
    if found is None or not ground.all_of(theirs.is_scored):
        return Native(source.name, None, None, leaks)
    gain = _gain(ground, theirs, found.slotted)
    return Native(source.name, found.name, gain, leaks)


def _source(competitor: Competitor, manifest: SuiteManifest) -> Competitor:
    """Return what a competitor was calibrated from in the end; mostly itself."""
    while competitor.of is not None:
        source = manifest.competitor(competitor.of)
        assert source is not None, "no suite is frozen without the sources it names"
        competitor = source
    return competitor


def _gain(ground: Ground, mine: Slotted, theirs: Slotted) -> Score:
    """Return how much less one lost than another, on the units of the row."""
    return mean_of(ground, ground.brier(theirs) - ground.brier(mine))


def _rivals(ground: Ground, field: Field) -> list[Baseline]:
    """Return whom a candidate is set against, on these very units.

    A past rate that is nothing else and has no score on one of them is left out. Whom
    the suite names as its reference, in a role or as the incumbent is not: without it
    there is nobody to compare with, lest a candidate be promoted past whom it was to
    beat.
    """
    manifest, mine = ground.sample.board.suite.manifest, ground.sample.entrant
    named = {manifest.scoring.reference, manifest.incumbent}
    rivals = [
        each
        for each in manifest.competitors
        if each.name != mine.competitor.name
        and (each.method == "past_rate" or each.role or each.name in named)
    ]
    whole = [
        Baseline(each.name, theirs)
        for each in rivals
        if field.competes(each)
        for theirs in [field.beside(mine, each.name)]
        if ground.all_of(theirs.is_scored)
    ]
    needed = {each.name for each in rivals if each.role or each.name in named}
    is_lacking = not needed <= {each.name for each in whole}
    return [] if is_lacking or not ground.size else whole


def _strongest(ground: Ground, rivals: list[Baseline]) -> Baseline | None:
    """Return who lost least; of equals the first that the suite names, None of none."""
    return min(
        rivals,
        key=lambda each: ground.loss(ground.brier(each.slotted)).total,
        default=None,
    )


def _increases(ground: Ground, theirs: Slotted) -> Iterator[tuple[str, Score]]:
    """Yield how much more was lost: the log loss, then the primary loss of slices.

    A grouping that no unit is in has nothing to show, and so is unknown.
    """
    column = _log_loss(ground.mine) - _log_loss(theirs)
    yield _LOG_LOSS, mean_of(ground, ground.of(column))
    manifest = ground.sample.board.suite.manifest
    for grouping in manifest.gates.promotion.slices:
        slices = list(_sliced(ground, grouping))
        if not slices:
            yield grouping, Score(undefined(NOT_DECLARED, ground.size))
        for value, units in slices:
            on = Ground(ground.sample, ground.sample.cohort(units))
            if manifest.scoring.primary == "brier":
                worse = on.brier(on.mine) - on.brier(theirs)
            else:
                worse = on.of(column)
            yield f"{grouping}={value}", mean_of(on, worse)


def _log_loss(slotted: Slotted) -> Integers:
    return -slotted.piconats_clipped


def _sliced(ground: Ground, grouping: str) -> Iterator[tuple[str, Integers]]:
    """Yield the values of a grouping that units of the cohort have, and those units."""
    units = ground.cohort.units
    values = values_of(ground.sample.board, grouping)
    for code in np.unique(values.code[units]).tolist():
        if name := values.names[code]:
            yield name, units[values.code[units] == code]
