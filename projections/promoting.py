"""Whether a row's competitor should take over, and on which parts (METRICS §22).

The candidate is set against the strongest simple baseline that knows the past alone,
on the units of the row. Where a suite sets splits apart, a candidate is promoted on its
holdout and nowhere else.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections import resampling_sums
from ledger.projections.cohort import Measure, mean
from ledger.projections.columns import Integers
from ledger.projections.exact import dec12
from ledger.projections.gates import Parts, no_degradation, promotion
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.projections.parts import BUDGET, TIER, values_of
from ledger.projections.resampling import Interval
from ledger.projections.slotted import Slotted

Shown = dict[str, Any]
_LOG_LOSS = "log_loss"


class Standing(NamedTuple):
    """What is known of a row besides its losses: each part, None where unknown."""

    is_forward: bool
    no_leakage: bool | None
    has_utility: bool | None


class Gain(NamedTuple):
    """How much less a candidate lost than a baseline, with its interval."""

    measure: Measure
    interval: Interval


def promoting(ground: Ground, inference: Inference, known: Standing) -> Shown:
    """Return what becomes of the row's competitor, and each part of why."""
    manifest = ground.sample.board.suite.manifest
    baseline = _strongest(ground)
    gain: Gain | None = None
    increases: dict[str, Fraction | None] = {}
    if baseline is not None:
        gain = _gain(ground, inference, baseline)
        increases = dict(_increases(ground, inference, baseline))
    declared = manifest.gates.promotion
    lo = None if gain is None else gain.interval.lo
    trivial = Fraction(declared.trivial_gain)
    found = promotion(
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
        "decision": found.decision,
        "verdict": found.verdict,
        "against": baseline,
        "is_forward": known.is_forward,
        "brier_gain": None if gain is None else told(gain.measure, gain.interval),
        "trivial_gain": dec12(trivial),
        "loss_increase": {
            name: None if most is None else dec12(most)
            for name, most in increases.items()
        },
        "loss_margin": dec12(Fraction(declared.loss_margin)),
        "holds": found.parts.hold,
    }


def _strongest(ground: Ground) -> str | None:
    """Return which past-only baseline lost least on these very units; None of none.

    Of equals the first that the suite names.
    """
    sample, own = ground.sample, ground.sample.entrant.competitor.name
    simple = [
        each.name
        for each in sample.board.suite.manifest.competitors
        if each.method == "past_rate" and each.name != own
    ]
    losses = {
        name: ground.loss(ground.brier(theirs)).total
        for name in simple
        if (theirs := ground.theirs(name)) is not None and ground.beside(name) is ground
    }
    return min(losses, key=losses.__getitem__) if losses and ground.size else None


def _gain(ground: Ground, inference: Inference, baseline: str) -> Gain:
    theirs = ground.theirs(baseline)
    assert theirs is not None, "the strongest baseline is one"
    gains = ground.brier(theirs) - ground.brier(ground.mine)
    return Gain(mean(ground.loss(gains)), _interval(ground, inference, gains))


def _interval(ground: Ground, inference: Inference, column: Integers) -> Interval:
    statistic = resampling_sums.mean(column, *ground.resampled)
    return inference.intervals(ground, {"": statistic})[""]


def _increases(
    ground: Ground, inference: Inference, baseline: str
) -> Iterator[tuple[str, Fraction | None]]:
    """Yield the most that a loss may have grown: the log loss, then that of slices.

    Of the frozen slices it is the suite's primary loss.
    """
    theirs = ground.theirs(baseline)
    assert theirs is not None, "the strongest baseline is one"
    column = _log_loss(ground.mine) - _log_loss(theirs)
    yield _LOG_LOSS, _interval(ground, inference, ground.of(column)).hi
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
            yield f"{grouping}={value}", _interval(on, inference, worse).hi


def _log_loss(slotted: Slotted) -> Integers:
    return -slotted.piconats_clipped


def _sliced(ground: Ground, grouping: str) -> Iterator[tuple[str, Integers]]:
    """Yield the values of a grouping that units of the cohort have, and those units."""
    units = ground.cohort.units
    values = values_of(ground.sample.board, grouping)
    for code in np.unique(values.code[units]).tolist():
        if name := values.names[code]:
            yield name, units[values.code[units] == code]
