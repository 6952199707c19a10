"""What a row is about: some units of a suite, and one competitor on them."""

import msgspec
import numpy as np

from ledger.projections.board import Board
from ledger.projections.cohort import Loss, hash_of_sorted
from ledger.projections.columns import Integers
from ledger.projections.entrants import Entrant
from ledger.projections.exact import exact_sum
from ledger.projections.slotted import BINARY, Slotted


class Cohort(msgspec.Struct, frozen=True, kw_only=True):
    """Scored units, in the order of their names, and their hash."""

    units: Integers
    hash: str
    is_binary: bool

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.units)

    def loss(self, column: Integers) -> Loss:
        """Return the sum of a column over exactly these units."""
        total = exact_sum(column[self.units])
        return Loss(cohort=self.hash, total=total, units=self.size)

    def brier(self, slotted: Slotted) -> Loss:
        """Return the Brier loss in the binary form, or in the only form there is."""
        return self.loss(slotted.brier if self.is_binary else slotted.brier_sum)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor on declared units: those whose cut-off is past (METRICS §24)."""

    board: Board
    entrant: Entrant
    declared: Integers
    is_binary: bool

    @property
    def untrained(self) -> Integers:
        """The declared units that are there for more than to train on."""
        return self.declared[~self.board.is_training[self.declared]]

    @property
    def scored(self) -> Integers:
        """The units that are resolved and have a vector in the slot."""
        return self.declared[self.entrant.slotted.is_scored[self.declared]]

    def cohort(self, units: Integers) -> Cohort:
        """Return some of the units as a cohort."""
        lines = self.board.units.lines
        return Cohort(
            units=units,
            hash=hash_of_sorted(lines[row] for row in units.tolist()),
            is_binary=self.is_binary,
        )


def sample(board: Board, entrant: Entrant, declared: Integers) -> Sample:
    """Return a competitor on some declared units.

    The Brier score has its binary form where all questions have two answers; without
    a unit, where those of all templates have.
    """
    lists = board.units.answer_lists
    codes = np.unique(board.units.answers[declared]).tolist()
    answers = [lists[code] for code in codes] or [
        template.answers for template in board.suite.manifest.observable
    ]
    return Sample(
        board=board,
        entrant=entrant,
        declared=declared,
        is_binary=all(len(each) == BINARY for each in answers),
    )


def common_cohort(sample: Sample, cohort: Cohort, theirs: Slotted) -> Cohort:
    """Return the units of a cohort on which a baseline has a score too."""
    both = theirs.is_scored[cohort.units]
    return cohort if both.all() else sample.cohort(cohort.units[both])
