"""Forecasts that are exchanged between targets: who may stand in for whom.

A target's forecasts are exchanged as a whole, within a stratum, position by position
(METRICS §12; Pitman 1937; Good 2005). What each target would have scored with another
one's forecasts is laid out here once; `permutation_gate` asks what that says.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ledger.projections.columns import INT64_MAX, Flags, Integers
from ledger.projections.rng import draws

# Scores: 64-bit integers, or Python's own where 64 bits do not hold their sums.
Scores = npt.NDArray[Any]

LABEL = "perm"
_PLACES_AT_ONCE = 2**20
# So many can exchange forecasts, and fewer cannot.
_PARTNERS = 2
_DROPPED = -1


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """One row a scored unit: where it stands, and what its forecast says.

    `stratum`, `target` and `position` are codes; units of a stratum have the same
    answers, no two of its target the same position. `scores` has the shape (rows,
    answers): what the row's forecast scores if that answer happens, in picobits,
    clipped. `outcome` is the answer that did happen. A unit that is not scored is no
    row: what was said of it costs nobody anything, and so stands in for no other.
    `targets_of` has a number for each code of a stratum: how many targets it has, those
    of which nothing is scored included.
    """

    stratum: Integers
    targets_of: Integers
    target: Integers
    position: Integers
    scores: Integers
    outcome: Integers


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """Targets that may stand in for one another, at positions that all of them have.

    `scores` has the shape (positions, targets, answers), `outcomes` that of (positions,
    targets).
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

    `kept` are the rows at positions where forecasts are exchanged, those of so many
    targets. Rows that were dropped, as no full panel has them, are `unpartnered`, those
    of strata that have a single target are `alone`.
    """

    strata: list[Stratum]
    kept: Integers
    targets: int
    unpartnered: int
    alone: int
    strata_alone: int


def matched(rows: Rows, names: Sequence[str]) -> Matched:
    """Return the strata in which forecasts can be exchanged; `names` are the strata's.

    Of each stratum the rows of a full panel are kept, in which every target that is
    left has a row at every position that is left.
    """
    largest = max(int(rows.scores.max(initial=0)), -int(rows.scores.min(initial=0)))
    fits = largest * len(rows.scores) <= INT64_MAX
    scores: Scores = rows.scores if fits else rows.scores.astype(np.object_)
    strata, used, alone, strata_alone = [], [np.arange(0)], 0, 0
    codes, starts = np.unique(np.sort(rows.stratum), return_index=True)
    by_stratum = np.split(np.argsort(rows.stratum, kind="stable"), starts[1:])
    for code, inside in zip(codes.tolist(), by_stratum, strict=False):
        if rows.targets_of[code] < _PARTNERS:
            alone, strata_alone = alone + len(inside), strata_alone + 1
            continue
        target = np.unique(rows.target[inside], return_inverse=True)[1]
        position = np.unique(rows.position[inside], return_inverse=True)[1]
        whole, targets = full_panel(target, position)
        # By position, and there by target.
        ordered = inside[whole][np.lexsort((target[whole], position[whole]))]
        if targets >= _PARTNERS and len(ordered):
            table = ordered.reshape(-1, targets)
            used.append(ordered)
            strata.append(
                Stratum(
                    name=names[code],
                    scores=scores[table],
                    outcomes=rows.outcome[table],
                ).gathered()
            )
    kept = np.sort(np.concatenate(used))
    return Matched(
        strata=strata,
        kept=kept,
        targets=len(np.unique(rows.target[kept])),
        unpartnered=len(rows.outcome) - alone - len(kept),
        alone=alone,
        strata_alone=strata_alone,
    )


def full_panel(target: Integers, position: Integers) -> tuple[Flags, int]:
    """Tell which rows stand in a full panel, and how many targets are left there.

    Each row is of one of the targets 0, 1, ... at one of the positions 0, 1, ..., no
    two are alike. Until every target that is left has a row at every position that is
    left, one is dropped: a position at which fewer than two of these targets have a
    row, or else the target or position of which the greatest share is missing; of
    equals a position before a target, and of these the last. No outcome is looked at.
    """
    lines = (_Lines(position, target), _Lines(target, position))
    rows = len(target)
    while rows < lines[0].left * lines[1].left:
        fewest = [each.fewest() for each in lines]
        # The share of a position that is there, against that of a target.
        shares = (fewest[0] * lines[0].left, fewest[1] * lines[1].left)
        is_target = fewest[0] >= _PARTNERS and shares[1] < shares[0]
        dropped, crossing = lines[is_target], lines[not is_target]
        rows -= fewest[is_target]
        crossing.shorten(dropped.drop())
    is_kept: Flags = lines[0].is_left()[position] & lines[1].is_left()[target]
    return is_kept, lines[1].left


class _Lines:
    """The targets of a panel or its positions: the rows of each, and which are left."""

    def __init__(self, own: Integers, other: Integers) -> None:
        counts = np.bincount(own)
        self.left = len(counts)
        self._rows: list[int] = counts.tolist()
        self._others: list[int] = other[np.argsort(own, kind="stable")].tolist()
        self._ends: list[int] = np.cumsum(counts).tolist()
        # The last of the shortest comes first; what is out of date is skipped.
        self._heap = [(count, -at) for at, count in enumerate(self._rows)]
        heapify(self._heap)

    def fewest(self) -> int:
        """Return how many rows the line has that would be dropped next."""
        while self._rows[-self._heap[0][1]] != self._heap[0][0]:
            heappop(self._heap)
        return self._rows[-self._heap[0][1]]

    def drop(self) -> list[int]:
        """Drop that line, and return the lines of the other kind that crossed it."""
        at = -heappop(self._heap)[1]
        self._rows[at] = _DROPPED
        self.left -= 1
        return self._others[self._ends[at - 1] if at else 0 : self._ends[at]]

    def shorten(self, crossed: Iterable[int]) -> None:
        """Take a row from each of some lines, if they are left."""
        for at in crossed:
            if self._rows[at] != _DROPPED:
                self._rows[at] -= 1
                heappush(self._heap, (self._rows[at], -at))

    def is_left(self) -> Flags:
        """Tell of each line whether it is left."""
        left: Flags = np.array(self._rows, dtype=np.int64) != _DROPPED
        return left
