"""Whether a row's competitor should take over, and on which parts (METRICS §22).

The candidate is set against the strongest simple baseline that knows the past alone, or
the incumbent where that is stronger, on the units of the row. Where a suite sets splits
apart, a candidate is promoted on its holdout and nowhere else.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.entrants import Field
from ledger.projections.exact import dec12
from ledger.projections.gates import Parts, no_degradation, promotion
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.projections.measures import Score, mean_of
from ledger.projections.parts import BUDGET, TIER, values_of
from ledger.projections.resampling import Interval
from ledger.projections.slotted import Slotted

Shown = dict[str, Any]
_LOG_LOSS = "log_loss"
# What the gain is called among the intervals; no increase has this name.
GAIN = "brier_gain"


class Standing(NamedTuple):
    """What is known of a row besides its losses: each part, None where unknown."""

    is_forward: bool
    no_leakage: bool | None
    has_utility: bool | None


class Baseline(NamedTuple):
    """Whom a candidate is set against, and what that scored."""

    name: str
    slotted: Slotted


class Candidacy(NamedTuple):
    """Whom a candidate is set against; how much less it lost, and more where it did.

    `increases` are of the log loss, and of the suite's primary loss in frozen slices.
    """

    against: str | None
    gain: Score | None
    increases: dict[str, Score]

    @property
    def scores(self) -> dict[str, Score]:
        """Return all of it by name: what intervals are wanted of."""
        return self.increases | ({} if self.gain is None else {GAIN: self.gain})


def candidacy(ground: Ground, field: Field) -> Candidacy:
    """Return what a promotion of the row's competitor looks at."""
    found = _strongest(ground, field)
    if found is None:
        return Candidacy(None, None, {})
    gains = ground.brier(found.slotted) - ground.brier(ground.mine)
    increases = dict(_increases(ground, found.slotted))
    return Candidacy(found.name, mean_of(ground, gains), increases)


def promoting(
    ground: Ground,
    stood: Candidacy,
    intervals: Mapping[str, Interval],
    inference: Inference,
    known: Standing,
) -> Shown:
    """Return what becomes of the row's competitor, and each part of why.

    `intervals` are those of `stood`: of `GAIN`, and of each increase by its name.
    """
    manifest = ground.sample.board.suite.manifest
    gain = stood.gain
    increases = {
        name: intervals[name].hi if name in intervals else None
        for name in stood.increases
    }
    interval = intervals.get(GAIN)
    declared = manifest.gates.promotion
    lo = None if interval is None else interval.lo
    trivial = Fraction(declared.trivial_gain)
    decided = promotion(
        Parts(
            brier_gain=None if gain is None else gain.measure.value,
            lo_minus_trivial=None if lo is None else lo - trivial,
            no_degradation=no_degradation(increases, Fraction(declared.loss_margin))
            if increases
            else None,
            no_leakage=known.no_leakage,
            has_utility=known.has_utility,
            sample_suffices=known.is_forward and inference.has_clusters(ground),
        )
    )
    return {
        "decision": decided.decision,
        "verdict": decided.verdict,
        "against": stood.against,
        "is_forward": known.is_forward,
        "brier_gain": None if gain is None else told(gain.measure, interval),
        "trivial_gain": dec12(trivial),
        "loss_increase": {
            name: None if most is None else dec12(most)
            for name, most in increases.items()
        },
        "loss_margin": dec12(Fraction(declared.loss_margin)),
        "holds": decided.parts.hold,
    }


def _strongest(ground: Ground, field: Field) -> Baseline | None:
    """Return who of the past-only baselines and the incumbent lost least; None of none.

    On these very units: a baseline that has no score on one of them is left out. An
    incumbent is not: without it there is nobody to compare with, lest a candidate be
    promoted past whom it was to beat. Of equals it is the first that the suite names.
    """
    manifest, entrant = ground.sample.board.suite.manifest, ground.sample.entrant
    rivals = [
        Baseline(each.name, field.beside(entrant, each.name))
        for each in manifest.competitors
        if each.name != entrant.competitor.name
        and (each.method == "past_rate" or each.name == manifest.incumbent)
        and field.competes(each)
    ]
    whole = [each for each in rivals if ground.all_of(each.slotted.is_scored)]
    is_left_out = {each.name for each in rivals} - {each.name for each in whole}
    if not whole or not ground.size or manifest.incumbent in is_left_out:
        return None
    return min(whole, key=lambda each: ground.loss(ground.brier(each.slotted)).total)


def _increases(ground: Ground, theirs: Slotted) -> Iterator[tuple[str, Score]]:
    """Yield how much more was lost: the log loss, then the primary loss of slices."""
    column = _log_loss(ground.mine) - _log_loss(theirs)
    yield _LOG_LOSS, mean_of(ground, ground.of(column))
    manifest = ground.sample.board.suite.manifest
    for grouping in manifest.gates.promotion.slices:
        if grouping in {BUDGET, TIER}:
            continue  # These divide no units: a row of them is a row of its own.
        for value, units in _sliced(ground, grouping):
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
