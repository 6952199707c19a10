"""The reliability curve of a row, and how far it may stray by chance (METRICS §9).

It takes seconds, and so is drawn when it is asked for and stands in no row.
"""

from typing import Any

from ledger.projections.cohort import EMPTY, NOT_DECLARED
from ledger.projections.corp import Corp, corp
from ledger.projections.corp_bands import Place, confidence_band, consistency_band
from ledger.projections.counts import count
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference
from ledger.projections.labels import labels
from ledger.projections.rates import coverage
from ledger.projections.rng import WORDS_OF_A_STREAM_MAX, row_seed
from ledger.projections.subjects import Subject

Shown = dict[str, Any]
TOO_MANY_UNITS = "too_many_units"


def curve(subject: Subject, inference: Inference) -> Shown:
    """Return the curve of a subject by isotonic regression, and its two bands.

    `consistency` is where 90 % of curves would run if every probability were right,
    `confidence` where the curve would run for other clusters. With fewer than
    `statistics.min_curve` units of a class it is a sketch (`is_enough` is false).
    """
    about, part, slot = subject
    ground = Ground(about, about.cohort(about.scored))
    counted = count(about)
    shown: Shown = {
        "suite": about.board.suite.name,
        "forecaster": about.entrant.competitor.name,
        "horizon": part.horizon,
        "slot": slot,
        "slice": part.slice,
        "labels": labels(about, part, counted, coverage(about), slot),
        "n": ground.size,
        "clusters": ground.cluster.size,
        "cohort_hash": ground.cohort.hash,
    }
    counts = ground.counts
    found = None if counts is None else corp(counts)
    if counts is None or found is None:
        reason = NOT_DECLARED if ground.size else EMPTY
        return {**shown, "curve": None, "reason": reason}
    least = min(counts.events, counts.units - counts.events)
    return {
        **shown,
        "is_enough": least >= about.board.suite.manifest.statistics.min_curve,
        "curve": [each.told() for each in found.blocks],
        **_bands(ground, found, inference),
        "inference": inference.recorded(ground),
    }


def _bands(ground: Ground, found: Corp, inference: Inference) -> Shown:
    said = ground.said
    assert said is not None, "counts are of what was said"
    confidence = confidence_band(
        found.blocks,
        *said,
        ground.cluster.code,
        resamples=inference.drawn(ground),
        rule=inference.rule,
    )
    if ground.size * inference.resamples > WORDS_OF_A_STREAM_MAX:
        consistency: list[Place] | None = None
    else:
        seed = row_seed(inference.root, ground.cohort.hash)
        consistency = list(
            consistency_band(
                found.blocks, said.p_ppm, seed=seed, resamples=inference.resamples
            )
        )
    return {
        "confidence": _told(confidence),
        "confidence_reason": confidence[0].interval.reason,
        "consistency": None if consistency is None else _told(consistency),
        "consistency_reason": TOO_MANY_UNITS if consistency is None else None,
    }


def _told(band: tuple[Place, ...] | list[Place]) -> list[dict[str, str | None]]:
    return [each.told() for each in band]
