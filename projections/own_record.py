"""What one forecaster's own past says to it before the next forecast.

Its reference class: how often the event came, what it said, and how both agree, over
its resolved units of a template or with certain tags. Computed from the tables alone,
without intervals from resampling, so that it can be asked for before each forecast.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ledger.clock import text_of_micros
from ledger.errors import UsageError
from ledger.projections.baselines import TAG
from ledger.projections.board import Board
from ledger.projections.board_units import RESOLVED
from ledger.projections.cohort import EMPTY, NOT_DECLARED, Measure, mean, undefined
from ledger.projections.columns import Integers
from ledger.projections.entrants import Field
from ledger.projections.exact import PPM, exact_sum
from ledger.projections.ground import Ground
from ledger.projections.parts import values_of
from ledger.projections.reliability import reliability
from ledger.projections.sample import sample
from ledger.suite import Competitor, SuiteManifest
from ledger.suite_table import listed, suggestion


def own_record(
    field: Field,
    forecaster: str,
    *,
    template: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a forecaster's record in the suite's headline slot, as rows show numbers.

    `event_rate` is that of its own scored units, `base_rate` that of every resolved
    unit of the class, whoever forecast it. Units whose cut-off is still ahead are not
    among them. Raises `UsageError` for a competitor, a template or a tag that there is
    not: none of its units would be no answer. What a tag says is free.
    """
    board, manifest = field.board, field.board.suite.manifest
    _require_declared(manifest, template, tags or {})
    entrant = field.enter(_competitor(field, forecaster), manifest.headline)
    chosen = {f"{TAG}{name}": value for name, value in (tags or {}).items()}
    if template is not None:
        chosen["template"] = template
    declared = _class(board, chosen)
    about = sample(board, entrant, declared)
    cohort = about.cohort(about.scored)
    ground = Ground(about, cohort)
    return {
        "suite": board.suite.name,
        "forecaster": forecaster,
        "slot": manifest.headline,
        "class": chosen,
        "units": len(declared),
        "scored": cohort.size,
        "base_rate": _rate(board, declared).told(),
        "event_rate": _rate(board, cohort.units).told(),
        "mean_probability": _mean_probability(ground).told(),
        "brier": mean(ground.loss(ground.brier(ground.mine))).told(),
        "log_score_bits_clipped": mean(
            ground.loss(ground.of(ground.mine.picobits_clipped))
        ).told(),
        "binning": manifest.scoring.ece,
        "bins": _bins(ground),
        "as_of": text_of_micros(board.as_of_us),
    }


def _bins(ground: Ground) -> list[dict[str, Any]]:
    """Return the bins that have units, as rows show them."""
    manifest = ground.sample.board.suite.manifest
    if ground.counts is None:
        return []
    found = reliability(
        ground.counts,
        binning=manifest.scoring.ece,
        level=Fraction(manifest.statistics.level),
        min_bin=manifest.scoring.min_bin,
    )
    return [each.told() for each in found.bins if each.n]


def _competitor(field: Field, name: str) -> Competitor:
    manifest = field.board.suite.manifest
    found = manifest.competitor(name)
    if found is None or not field.competes(found):
        names = [each.name for each in manifest.competitors if field.competes(each)]
        hint = suggestion(name, names) or f"those are {listed(names)}"
        msg = f"{name!r} has no vectors in {manifest.suite}: {hint}"
        raise UsageError(msg)
    return found


def _require_declared(
    manifest: SuiteManifest, template: str | None, tags: Iterable[str]
) -> None:
    """Refuse to choose units by what the suite's questions cannot have."""
    asked = [each for each in manifest.observable if template in {None, each.id}]
    if not asked:
        names = [each.id for each in manifest.observable]
        raise _unknown("template", str(template), names, manifest.suite)
    allowed = sorted({tag for each in asked for tag in each.allowed_tags})
    for tag in tags:
        if tag not in allowed:
            where = manifest.suite if template is None else template
            raise _unknown("tag", tag, allowed, where)


def _unknown(what: str, name: str, known: Sequence[str], where: str) -> UsageError:
    those = f"it has {listed(known, last='and')}" if known else "it has none"
    hint = suggestion(name, known) or those
    return UsageError(f"{where} has no {what} {name!r}: {hint}")


def _class(board: Board, chosen: Mapping[str, str]) -> Integers:
    """Return the declared units that have every one of some values."""
    is_in = board.units.are_declared(board.as_of_us)
    for grouping, value in chosen.items():
        texts = values_of(board, grouping)
        codes = [code for code, name in enumerate(texts.names) if name == value]
        is_in &= np.isin(texts.code, codes)
    return np.flatnonzero(is_in)


def _rate(board: Board, among: Integers) -> Measure:
    """Return how often the positive answer came among the resolved of some units."""
    units = board.units
    resolved = among[units.status[among] == RESOLVED]
    positive = units.positive[resolved]
    if resolved.size == 0:
        return undefined(EMPTY, 0)
    if (positive < 0).any():
        return undefined(NOT_DECLARED, len(resolved))
    came = int((units.outcome[resolved] == positive).sum())
    return Measure(value=Fraction(came, len(resolved)), n=len(resolved))


def _mean_probability(ground: Ground) -> Measure:
    if ground.said is None or not ground.size:
        return undefined(NOT_DECLARED, ground.size)
    total = exact_sum(ground.said.p_ppm)
    return Measure(value=Fraction(total, ground.size * PPM), n=ground.size)
