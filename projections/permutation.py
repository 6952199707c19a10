"""Forecasts that are exchanged between targets: who may stand in for whom.

A target's forecasts are exchanged as a whole, within a stratum, position by position
(METRICS §12; Pitman 1937; Good 2005). What each target would have scored with another
one's forecasts is laid out here once; `permutation_gate` asks what that says.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ledger.projections.columns import Integers
from ledger.projections.rng import draws

# Scores: 64-bit integers, or Python's own where 64 bits do not hold their sums.
Scores = npt.NDArray[Any]

LABEL = "perm"
_LARGEST = 2**63 - 1
_PLACES_AT_ONCE = 2**20


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """One row a forecast unit: where it stands, and what its forecast says.

    `stratum`, `target` and `slot` are codes; units of a stratum have the same answers.
    `scores` has the shape (rows, answers): what the row's forecast scores if that
    answer happens, in picobits, clipped. `outcome` is the answer that did happen, or
    -1: the forecast of a unit that is not scored can still stand in for another one.
    """

    stratum: Integers
    target: Integers
    slot: Integers
    scores: Integers
    outcome: Integers


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """Targets that may stand in for one another, at positions that all of them have.

    `scores` has the shape (positions, targets, answers), and a last answer that scores
    nothing, which is the outcome -1; `outcomes` has the shape (positions, targets).
    """

    name: str
    scores: Scores
    outcomes: Integers

    @property
    def targets(self) -> int:
        """Return how many targets there are: two or more."""
        return len(self.outcomes[0])

    def totals(self, orders: Integers) -> Scores:
        """Return the sum of scores where target i has the forecasts of `order[i]`.

        `orders` has the shape (permutations, targets); there is a sum for each.
        """
        total = np.zeros(len(orders), dtype=self.scores.dtype)
        for scores, outcomes in zip(self.scores, self.outcomes, strict=True):
            total += scores[orders, outcomes].sum(axis=1)
        return total

    def gathered(self) -> "Stratum":
        """Return the same stratum with one position, if that makes it smaller.

        There a target's outcomes at all positions are one answer, which scores what
        they do together.
        """
        positions, targets, answers = self.scores.shape
        if targets > positions * answers:
            return self
        pairs = np.zeros((targets, targets), dtype=self.scores.dtype)
        for scores, outcomes in zip(self.scores, self.outcomes, strict=True):
            pairs += scores[:, outcomes]
        own = np.arange(targets)
        return Stratum(name=self.name, scores=pairs[None], outcomes=own[None])

    def all_orders(self) -> Integers:
        """Return every permutation of the targets, first the one that moves none."""
        return np.array(list(permutations(range(self.targets))), dtype=np.int64)

    def drawn_orders(self, seed: bytes, label: str, size: int) -> Iterator[Integers]:
        """Yield `size` permutations, some at a time: targets in the order of words."""
        for words in draws(
            seed,
            label,
            replicates=size,
            words=self.targets,
            at_once=max(1, _PLACES_AT_ONCE // self.targets),
        ):
            # Equal words keep the order of their targets.
            yield np.argsort(words, axis=1, kind="stable")


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """What can be permuted, and what had to be left out.

    `kept` are the scored rows at positions where forecasts are exchanged, those of so
    many targets. Scored rows that lacked a partner at their position are `unpartnered`,
    those of strata with a single target are `alone`.
    """

    strata: list[Stratum]
    kept: Integers
    targets: int
    unpartnered: int
    alone: int
    strata_alone: int


def matched(rows: Rows, names: Sequence[str]) -> Matched:
    """Return the strata in which forecasts can be exchanged; `names` are the strata's.

    A position is a slot; where a target has several rows in a slot, the first of them
    by the order of units is matched with the first ones of other targets, and so on.
    A row is dropped unless every target of its stratum has a forecast there.
    """
    largest = max(int(rows.scores.max(initial=0)), -int(rows.scores.min(initial=0)))
    fits = largest * len(rows.scores) <= _LARGEST
    scores: Scores = np.pad(rows.scores, ((0, 0), (0, 1)))
    if not fits:
        scores = scores.astype(np.object_)
    is_scored = rows.outcome >= 0
    nth = _nth_of_equals(rows)
    strata, used, alone, strata_alone = [], [np.arange(0)], 0, 0
    codes, starts = np.unique(np.sort(rows.stratum), return_index=True)
    by_stratum = np.split(np.argsort(rows.stratum, kind="stable"), starts[1:])
    for code, inside in zip(codes.tolist(), by_stratum, strict=False):
        targets = len(np.unique(rows.target[inside]))
        if targets == 1:
            rows_alone = int(np.count_nonzero(is_scored[inside]))
            alone, strata_alone = alone + rows_alone, strata_alone + (rows_alone > 0)
            continue
        # By position, and there by target.
        keys = (rows.target[inside], nth[inside], rows.slot[inside])
        ordered = inside[np.lexsort(keys)]
        whole = _of_whole_positions(rows.slot[ordered], nth[ordered], targets)
        table = ordered[whole].reshape(-1, targets)
        if is_scored[table].any():
            used.append(table.ravel())
            strata.append(
                Stratum(
                    name=names[code],
                    scores=scores[table],
                    outcomes=rows.outcome[table],
                ).gathered()
            )
    exchanged = np.sort(np.concatenate(used))
    kept = exchanged[is_scored[exchanged]]
    return Matched(
        strata=strata,
        kept=kept,
        targets=len(np.unique(rows.target[exchanged])),
        unpartnered=int(np.count_nonzero(is_scored)) - alone - len(kept),
        alone=alone,
        strata_alone=strata_alone,
    )


def _nth_of_equals(rows: Rows) -> Integers:
    """Return for each row how many of its target precede it in stratum and slot."""
    keys = (rows.slot, rows.target, rows.stratum)
    order = np.lexsort(keys)
    places = np.arange(len(order))
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = False
    for key in keys:
        starts[1:] |= key[order][1:] != key[order][:-1]
    nth = np.empty(len(order), dtype=np.int64)
    nth[order] = places - np.maximum.accumulate(np.where(starts, places, 0))
    return nth


def _of_whole_positions(
    slot: Integers, nth: Integers, targets: int
) -> npt.NDArray[np.bool_]:
    """Tell which rows stand at a position that as many rows have as there are targets."""
    _, position, counts = np.unique(
        np.stack([slot, nth]), axis=1, return_inverse=True, return_counts=True
    )
    whole: npt.NDArray[np.bool_] = counts[position] == targets
    return whole
