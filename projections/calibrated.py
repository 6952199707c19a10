"""What a row says of probabilities as such: ranking, calibration, reliability, sharpness.

All of it is about one event per unit, said once: over more than two answers, and in
slots that average several vectors of a unit, it is `not_declared`.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.projections.auroc import auroc, averaged, one_vs_rest
from ledger.projections.calibration import Calibration, Estimate, calibration
from ledger.projections.cohort import (
    EMPTY,
    INSUFFICIENT,
    NOT_DECLARED,
    Measure,
    undefined,
)
from ledger.projections.corp import Corp, corp
from ledger.projections.delong import applies, delong
from ledger.projections.exact import dec9, dec12
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference
from ledger.projections.measures import Score
from ledger.projections.murphy import Murphy, by_distinct_values, by_groups
from ledger.projections.reliability import Reliability, bins_of, reliability
from ledger.projections.resampling_auroc import Auroc
from ledger.projections.sharpness import sharpness
from ledger.projections.tally import Tally

Shown = dict[str, Any]
# A longer curve is in no row: it would be most of it.
_BLOCKS_MAX = 100
_FITTED = ("calibration_slope", "calibration_intercept", "intercept_joint")
_BINNED = ("ece", "mce")


class Calibrated(NamedTuple):
    """Scores by name as rows show them, blocks of the row, and the fits."""

    scores: dict[str, Shown]
    blocks: dict[str, Shown]
    fits: Calibration | None


def ranking(ground: Ground) -> dict[str, Score]:
    """Return the AUROC; over more than two answers their average, if declared."""
    if ground.counts is None or ground.said is None:
        return {"auroc": Score(_average(ground))}
    said = ground.said
    measure = auroc(ground.counts)
    return {"auroc": Score(measure, ground, lambda: Auroc(*said, *ground.resampled))}


def beside_auroc(ground: Ground, inference: Inference) -> Shown:
    """Return whether an AUROC is official, and the interval of DeLong where it applies.

    Official takes `statistics.min_class` units of each class. DeLong's is secondary,
    and absent where a cluster has several units, which are not independent.
    """
    counts = ground.counts
    if counts is None:
        return {}
    least = min(counts.events, counts.units - counts.events)
    declared = ground.sample.board.suite.manifest.statistics.min_class
    return {"is_official": least >= declared, **_delong(ground, inference)}


def _delong(ground: Ground, inference: Inference) -> Shown:
    if ground.said is None or not ground.size or not applies(ground.cluster.code):
        return {}
    found = delong(*ground.said, inference.rule.level)
    if found.lo is None or found.hi is None:
        return {"delong": {"lo": None, "hi": None, "reason": found.reason}}
    lo, hi = dec12(Fraction(found.lo)), dec12(Fraction(found.hi))
    return {"delong": {"lo": lo, "hi": hi}}


def _average(ground: Ground) -> Measure:
    scoring = ground.sample.board.suite.manifest.scoring
    each = _one_vs_rest(ground)
    if each is None or not scoring.average_ovr:
        return undefined(NOT_DECLARED, ground.size)
    return averaged(each)


def _one_vs_rest(ground: Ground) -> list[Measure] | None:
    vectors = ground.vectors_ppm
    if vectors is None or ground.cohort.is_binary:
        return None
    return one_vs_rest(vectors, ground.of(ground.sample.board.units.outcome))


def calibrated(ground: Ground, inference: Inference) -> Calibrated:
    """Return all that a row says of calibration."""
    blocks: dict[str, Shown] = {}
    each = _one_vs_rest(ground)
    if each is not None:
        (code,) = np.unique(ground.of(ground.sample.board.units.answers)).tolist()
        answers = ground.sample.board.units.answer_lists[code]
        told = (measure.told() for measure in each)
        blocks["auroc_by_answer"] = dict(zip(answers, told, strict=True))
    counts = ground.counts
    if counts is None:
        return _undeclared(ground, blocks)
    scoring = ground.sample.board.suite.manifest.scoring
    low, high = map(Fraction, scoring.decisive)
    found = reliability(
        counts,
        binning=scoring.ece,
        level=inference.rule.level,
        min_bin=scoring.min_bin,
    )
    fits = _fitted(ground, inference)
    blocks["reliability"] = _bins(ground, found)
    blocks["decomposition"] = _decomposition(ground, counts)
    blocks["sharpness"] = sharpness(counts, (low, high)).told()
    scores = {
        "calibration_slope": _estimate(fits.slope),
        "calibration_intercept": _estimate(fits.intercept),
        "intercept_joint": _estimate(fits.intercept_joint),
        "ece": found.ece.told(),
        "mce": found.mce.told(),
    }
    return Calibrated(scores, blocks, fits)


def _undeclared(ground: Ground, blocks: dict[str, Shown]) -> Calibrated:
    """Return what there is to say where units have no event in common."""
    none = undefined(NOT_DECLARED, ground.size)
    blocks["reliability"] = {**_binning(ground), "bins": None, "reason": none.reason}
    blocks["decomposition"] = dict.fromkeys(("murphy", "binned", "corp"))
    blocks["decomposition"]["reason"] = none.reason
    blocks["sharpness"] = {"distinct_values": None, "reason": none.reason}
    return Calibrated(
        {name: none.told() for name in (*_FITTED, *_BINNED)}, blocks, None
    )


def _fitted(ground: Ground, inference: Inference) -> Calibration:
    said, suite = ground.said, ground.sample.board.suite
    assert said is not None, "counts are of what was said"
    return calibration(
        *said,
        ground.cluster.code,
        clip_ppm=suite.clip_ppm,
        min_class=suite.manifest.statistics.min_class,
        rule=inference.rule,
    )


def _estimate(estimate: Estimate) -> Shown:
    """Return a fitted number as rows show it: nine places, and its interval."""
    if estimate.value is None:
        return {"value": None, "n": estimate.n, "reason": estimate.reason}
    lo, hi = estimate.interval.lo, estimate.interval.hi
    shown: Shown = {
        "value": dec9(estimate.value),
        "lo": None if lo is None else dec9(lo),
        "hi": None if hi is None else dec9(hi),
        "n": estimate.n,
    }
    if estimate.interval.reason is not None:
        shown["ci_reason"] = estimate.interval.reason
    if estimate.standard_error is not None:
        shown["standard_error"] = dec9(estimate.standard_error)
    return shown


def _binning(ground: Ground) -> Shown:
    scoring = ground.sample.board.suite.manifest.scoring
    return {"binning": scoring.ece, "min_bin": scoring.min_bin}


def _bins(ground: Ground, found: Reliability) -> Shown:
    """Return the table of bins; Wilson's bounds take units as independent."""
    return {
        **_binning(ground),
        "bins": [each.told() for each in found.bins],
        "is_clustered": ground.cluster.size < ground.size,
    }


def _decomposition(ground: Ground, counts: Tally) -> Shown:
    scoring = ground.sample.board.suite.manifest.scoring
    whole, curve = by_distinct_values(counts), corp(counts)
    if whole is None or curve is None:
        return {"murphy": None, "binned": None, "corp": None, "reason": EMPTY}
    binned = by_groups(counts, bins_of(counts, scoring.ece))
    assert binned is not None, "a cohort with units has groups"
    return {
        "murphy": _murphy(whole, counts.units),
        "binned": {
            **_murphy(binned, counts.units),
            "within_variance": _part(binned.within_variance, counts.units),
            "within_covariance": _part(binned.within_covariance, counts.units),
        },
        "corp": _corp(ground, curve, counts),
    }


def _murphy(found: Murphy, n: int) -> Shown:
    return {
        "reliability": _part(found.reliability, n),
        "resolution": _part(found.resolution, n),
        "uncertainty": _part(found.uncertainty, n),
    }


def _part(value: Fraction, n: int) -> Shown:
    return Measure(value=value, n=n).told()


def _corp(ground: Ground, found: Corp, counts: Tally) -> Shown:
    """Return the parts and, where there are units enough for one, the curve."""
    least = min(counts.events, counts.units - counts.events)
    suffices = least >= ground.sample.board.suite.manifest.statistics.min_curve
    is_shown = suffices and len(found.blocks) <= _BLOCKS_MAX
    curve: Shown = {
        "curve": [each.told() for each in found.blocks] if is_shown else None
    }
    if not suffices:
        curve["reason"] = INSUFFICIENT
    return {
        "miscalibration": _part(found.miscalibration, counts.units),
        "discrimination": _part(found.discrimination, counts.units),
        "uncertainty": _part(found.uncertainty, counts.units),
        "blocks": len(found.blocks),
        **curve,
    }
