"""Tests for leaked knowledge: what a vector may have known of its own outcome."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from ledger.events import Forecast
from ledger.ids import sha256_hex
from ledger.projections.columns import NEVER, Flags, Integers, flags, instants_us
from ledger.projections.docket import Docket
from ledger.projections.eligibility import KNOWN
from ledger.projections.payloads import Evidence
from ledger.projections.resolutions import Standings

EVIDENCE, TRAINING, CANARY = (
    "evidence-after-sealing",
    "training-after-label",
    "canary-leak",
)
# No test of the label: it says that a holdout is none any more.
IN_HOLDOUT = "trained-in-holdout"
# Each test is a bit of `leaks_tested` and `leaks_found`.
LEAK_TESTS = {EVIDENCE: 1, TRAINING: 2, KNOWN: 4, CANARY: 8}


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    """One row a forecast event: which leak tests apply to it, and which fail."""

    tested: Integers
    found: Integers


def leaks(docket: Docket, standings: Standings, sealed: Integers) -> Leaks:
    """Return what the leak tests say of each vector; none applies to a reveal.

    A test applies where both sides are known: a vector that states no cut-off of
    its evidence has not passed.
    """
    forecasts = docket.forecasts
    published = standings.published_us[forecasts.unit]
    evidence, training = _stated_times(forecasts.evidence)
    is_out = published != NEVER
    searched, holding = _canaries(docket)
    claims = {
        EVIDENCE: (evidence != NEVER, evidence > sealed),
        TRAINING: (is_out & (training != NEVER), training >= published),
        KNOWN: (is_out, sealed >= published),
        CANARY: (searched, holding),
    }
    tested, found = np.zeros((2, len(sealed)), dtype=np.int64)
    for test, (applies, fails) in claims.items():
        is_tested = applies & ~forecasts.is_reveal
        tested |= np.where(is_tested, LEAK_TESTS[test], 0)
        found |= np.where(is_tested & fails, LEAK_TESTS[test], 0)
    return Leaks(tested=tested, found=found)


def trained_in_holdout(docket: Docket) -> Flags:
    """Mark vectors of a holdout's units whose maker was trained until after it began."""
    forecasts, units = docket.forecasts, docket.units
    marked = np.zeros(len(forecasts.unit), dtype=np.bool_)
    holding = [row for row, suite in enumerate(units.suites) if suite.holdouts]
    if not holding:
        return marked
    begins = np.full(len(units.number), NEVER, dtype=np.int64)
    for row in holding:
        cutoff_us = int(units.cutoff_us[row])
        for since, until in units.suites[row].holdouts:
            if since <= cutoff_us < until:
                begins[row] = min(begins[row], since)
    _, training = _stated_times(forecasts.evidence)
    marked = (training != NEVER) & (training > begins[forecasts.unit])
    shown: Flags = marked & ~forecasts.is_reveal
    return shown


def _stated_times(
    evidence: Sequence[Evidence | None],
) -> tuple[Integers, Integers]:
    return (
        instants_us([None if each is None else each.cutoff_at for each in evidence]),
        instants_us(
            [None if each is None else each.training_cutoff_at for each in evidence]
        ),
    )


def _canaries(docket: Docket) -> tuple[Flags, Flags]:
    suites, unit = docket.units.suites, docket.forecasts.unit
    searched = flags([bool(suite.canaries) for suite in suites])[unit]
    holding = np.zeros(len(unit), dtype=np.bool_)
    for row in np.flatnonzero(searched).tolist():
        canaries = suites[unit[row]].canaries
        holding[row] = holds_canary(docket.forecasts.event(row), canaries)
    return searched, holding


def holds_canary(event: Forecast, canaries: frozenset[str]) -> bool:
    """Tell whether a string of an event, or a word of it, hashes to a canary."""
    return any(
        sha256_hex(piece.encode()) in canaries
        for leaf in _strings(msgspec.to_builtins(event))
        for piece in (leaf, *leaf.split())
    )


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield key
                yield from _strings(inner)
        case list() | tuple():
            for inner in value:
                yield from _strings(inner)
