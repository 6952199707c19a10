"""A row's forecasts as the permutation gate takes them (METRICS §12).

Strata are what the suite declares, and units with the very same answers. The slots of
questions are the positions at which targets are matched, where the suite declares
`slot`; otherwise a target's units are matched in the order of their names. Only scored
units take part: a forecast that costs nothing, as that of a void, open or training
unit, could be made to look wrong for others. Places are counted over all declared
units, so that one that is not scored leaves a gap and moves no other.
"""

from fractions import Fraction
from typing import NamedTuple

import msgspec
import numpy as np

from ledger.canonical import canonical_text
from ledger.projections.baselines import TAG, tag_of
from ledger.projections.columns import Integers, rows_among
from ledger.projections.exact import UNITS, dec12, exact_sum, picobits
from ledger.projections.fetching import Texts
from ledger.projections.ground import Ground, grouped
from ledger.projections.permutation import Rows, matched
from ledger.projections.permutation_gate import (
    Gate,
    Specificity,
    label_of,
    share_retained,
    specificity,
)
from ledger.projections.rng import RNG_ID, row_seed
from ledger.projections.scores import clip
from ledger.projections.slots import weighted_means

SLOT = "slot"
# Stands in the label that a row shows for the name of each of several strata.
_STRATUM = "<stratum>"
# Targets times permutations, 6,700 of them at 9,999: of more, a row would take a
# minute and gigabytes, and is not decided. A suite may declare fewer permutations.
WORDS_MAX = 2**26
TOO_MANY_TARGETS = "too_many_targets"


class Permuted(NamedTuple):
    """The gate's decision against one baseline, and why there is none."""

    found: Specificity | None
    reason: str | None = None
    inference: dict[str, str | int] | None = None


def permuted(on: Ground, baseline: str, root_seed: bytes) -> Permuted:
    """Return whether skill over a baseline is about its targets.

    `on` are the units that have the baseline beside them, whose cohort gives the seed.
    `inference` is what a reader needs in order to draw the permutations again.
    """
    theirs = on.theirs(baseline)
    assert theirs is not None, "the ground is that of the baseline"
    draws = on.sample.board.suite.manifest.statistics.permutations
    if on.target.size * draws > WORDS_MAX:
        return Permuted(None, TOO_MANY_TARGETS)
    rows, names = _rows(on)
    own = on.of(theirs.picobits_clipped)
    seed, gate = row_seed(root_seed, on.cohort.hash), _gate(on)
    found = specificity(rows, own, names, seed, gate)
    inference: dict[str, str | int] = {
        "rng_id": RNG_ID,
        "root_seed": root_seed.hex(),
        "cohort_hash": on.cohort.hash,
        "row_seed": seed.hex(),
        "label": label_of(_STRATUM, found.strata),
        "strata": found.strata,
        "B": gate.permutations,
        "alpha": dec12(gate.alpha),
        "rho": dec12(gate.retained),
    }
    return Permuted(found, inference=inference)


def against(on: Ground, found: Specificity, baselines: tuple[str, str]) -> Specificity:
    """Return the same permutations against another baseline, on the same units.

    A baseline stays with its outcome, so that another one moves every permutation by
    the same amount: neither the p-value nor the difference changes.
    """
    of_first, of_second = (on.theirs(name) for name in baselines)
    assert of_first is not None
    assert of_second is not None
    if found.observed is None:
        return found
    kept = matched(*_rows(on)).kept
    moved = on.of(of_first.picobits_clipped - of_second.picobits_clipped)[kept]
    shift = Fraction(exact_sum(moved), len(kept) * UNITS)
    observed = found.observed + shift
    wrong = None if found.wrong is None else found.wrong + shift
    retained = share_retained(observed, wrong)
    return msgspec.structs.replace(
        found, observed=observed, wrong=wrong, retained=retained
    )


def _gate(on: Ground) -> Gate:
    manifest = on.sample.board.suite.manifest
    return Gate(
        alpha=Fraction(manifest.gates.permutation.alpha),
        retained=Fraction(manifest.gates.permutation.retained),
        permutations=manifest.statistics.permutations,
    )


def _rows(on: Ground) -> tuple[Rows, list[str]]:
    """Return the units of the ground as rows, and the names of their strata."""
    units = on.sample.board.units
    strata = on.sample.board.suite.manifest.gates.permutation.strata
    declared = on.sample.declared
    of_declared, names = _strata(
        on, declared, [each for each in strata if each != SLOT]
    )
    target = grouped(units.target, declared)
    pairs = np.unique(of_declared * target.size + target.code)
    is_slotted = SLOT in strata
    slot = grouped(units.slot, declared).code if is_slotted else np.zeros_like(declared)
    nth = _nth_of_equals(of_declared, target.code, slot)
    position = slot * (int(nth.max(initial=0)) + 1) + nth
    is_row = np.isin(declared, on.cohort.units)
    rows = Rows(
        stratum=of_declared[is_row],
        targets_of=np.bincount(pairs // max(1, target.size), minlength=len(names)),
        target=target.code[is_row],
        position=position[is_row],
        scores=_scores(on, on.cohort.units),
        outcome=on.of(units.outcome),
    )
    return rows, names


def _nth_of_equals(*keys: Integers) -> Integers:
    """Return of each unit how many before it have the same keys."""
    order = np.lexsort(keys)
    places = np.arange(len(order))
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = False
    for key in keys:
        starts[1:] |= key[order][1:] != key[order][:-1]
    nth = np.empty(len(order), dtype=np.int64)
    nth[order] = places - np.maximum.accumulate(np.where(starts, places, 0))
    return nth


def _strata(
    on: Ground, at: Integers, declared: list[str]
) -> tuple[Integers, list[str]]:
    """Return the stratum of each unit, and the strata's names in order.

    A name is the canonical JSON of the values, the answers last.
    """
    units = on.sample.board.units
    columns = [_values(on, each) for each in declared]
    lists = [canonical_text(each) for each in units.answer_lists]
    columns.append(Texts(lists, units.answers))
    keys = np.stack([column.code[at] for column in columns], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    named = [
        canonical_text(
            [column.names[code] for column, code in zip(columns, row, strict=True)]
        )
        for row in distinct.tolist()
    ]
    order = sorted(range(len(named)), key=lambda at: named[at].encode())
    rank = np.empty(len(named), dtype=np.int64)
    rank[order] = np.arange(len(named))
    return rank[which.reshape(-1)], [named[at] for at in order]


def _values(on: Ground, stratum: str) -> Texts:
    units = on.sample.board.units
    if stratum.startswith(TAG):
        return tag_of(units.tags, stratum.removeprefix(TAG))
    return {"template": units.template, "horizon": units.horizon}[stratum]


def _scores(on: Ground, at: Integers) -> Integers:
    """Return what each unit's vectors score if an answer happens: (units, answers).

    In picobits, clipped; weighted as the slot weighs the vectors of a unit. Where
    lists of answers differ in length, the rest of a row is never looked at.
    """
    chosen = on.sample.entrant.chosen
    rows = rows_among(chosen.unit, at)
    codes, which = np.unique(chosen.code[rows], return_inverse=True)
    vectors = [chosen.distinct[code] for code in codes.tolist()]
    width = max(map(len, vectors), default=1)
    clip_ppm = on.sample.board.suite.clip_ppm
    table = [
        [picobits(clip(p, clip_ppm)) or 0 for p in vector] + [0] * (width - len(vector))
        for vector in vectors
    ]
    scores = np.array(table, dtype=np.int64).reshape(-1, width)[which]
    if len(rows) == len(at):  # one vector a unit: no weight matters
        return scores
    weight, starts = (
        chosen.weight[rows],
        np.flatnonzero(np.diff(chosen.unit[rows], prepend=-1)),
    )
    means = [weighted_means(column, weight, starts) for column in scores.T]
    return np.stack(means, axis=1)
