"""The scores of a row: each a fraction of integers, or undefined for a reason."""

from collections import Counter
from fractions import Fraction

import msgspec

from ledger.projections.board import Board
from ledger.projections.cohort import (
    EMPTY,
    NOT_DECLARED,
    ZERO_ON_OUTCOME,
    Loss,
    Measure,
    climatology,
    hash_of_sorted,
    mean,
    skill,
    skill_of_rates,
)
from ledger.projections.columns import Integers
from ledger.projections.entrants import Entrant, Slotted
from ledger.projections.exact import exact_sum

BINARY = 2


class Cohort(msgspec.Struct, frozen=True, kw_only=True):
    """The scored units of a row, in the order of their names, and their hash."""

    units: Integers
    hash: str
    is_binary: bool

    def loss(self, column: Integers) -> Loss:
        """Return the sum of a column over exactly these units."""
        total = exact_sum(column[self.units])
        return Loss(cohort=self.hash, total=total, units=len(self.units))

    def mean(self, column: Integers) -> Measure:
        """Return the mean of a column over exactly these units."""
        return mean(self.loss(column))

    def brier(self, slotted: Slotted) -> Loss:
        """Return the Brier loss in the binary form, or in the only form there is."""
        return self.loss(slotted.brier if self.is_binary else slotted.brier_sum)


def cohort_of(board: Board, units: Integers) -> Cohort:
    """Return a cohort; `units` are rows of the board, ascending."""
    rows, answers = units.tolist(), board.units.answers
    return Cohort(
        units=units,
        hash=hash_of_sorted(board.units.lines[row] for row in rows),
        is_binary=all(len(answers[row]) == BINARY for row in rows),
    )


def measures(board: Board, entrant: Entrant, cohort: Cohort) -> dict[str, Measure]:
    """Return every score of a competitor over a cohort."""
    mine = entrant.slotted
    compared = cohort_of(board, cohort.units[entrant.reference.is_scored[cohort.units]])
    outcomes = _outcomes(board, cohort)
    brier = cohort.mean(mine.brier)
    if not cohort.is_binary:
        brier = Measure(value=None, n=len(cohort.units), reason=NOT_DECLARED)
    return {
        "brier": brier,
        "brier_sum": cohort.mean(mine.brier_sum),
        "log_score_bits": _raw_log_score(cohort, mine),
        "log_score_bits_clipped": cohort.mean(mine.picobits_clipped),
        "log_loss": _negated(cohort.mean(mine.piconats_clipped)),
        "bss_frozen": skill(compared.brier(mine), compared.brier(entrant.reference)),
        "bss_same_cohort": _skill_of_rates(cohort, mine, outcomes),
        "reference_brier": mean(compared.brier(entrant.reference)),
        "base_rate_brier": _brier_of_rates(cohort, outcomes),
        "event_rate": _event_rate(board, cohort),
    }


def _raw_log_score(cohort: Cohort, mine: Slotted) -> Measure:
    if mine.is_infinite[cohort.units].any():
        count = len(cohort.units)
        return Measure(value=None, n=count, reason=ZERO_ON_OUTCOME, is_infinite=True)
    return cohort.mean(mine.picobits)


def _negated(measure: Measure) -> Measure:
    if measure.value is None:
        return measure
    return Measure(value=-measure.value, n=measure.n)


def _outcomes(board: Board, cohort: Cohort) -> list[int] | None:
    """Return how often each answer happened; None where answers are not the same."""
    rows = cohort.units.tolist()
    if len({board.units.answers[row] for row in rows}) > 1:
        return None
    return list(Counter(board.units.outcome[cohort.units].tolist()).values())


def _skill_of_rates(
    cohort: Cohort, mine: Slotted, outcomes: list[int] | None
) -> Measure:
    if outcomes is None:
        return Measure(value=None, n=len(cohort.units), reason=NOT_DECLARED)
    return skill_of_rates(cohort.brier(mine), outcomes, binary=cohort.is_binary)


def _brier_of_rates(cohort: Cohort, outcomes: list[int] | None) -> Measure:
    count = len(cohort.units)
    if not count or outcomes is None:
        reason = NOT_DECLARED if count else EMPTY
        return Measure(value=None, n=count, reason=reason)
    return Measure(value=climatology(outcomes, binary=cohort.is_binary), n=count)


def _event_rate(board: Board, cohort: Cohort) -> Measure:
    """Return how often the templates' positive answers happened."""
    units, templates, count = board.units, board.suite.templates, len(cohort.units)
    happened = 0
    for row in cohort.units.tolist():
        positive = templates[units.templates[row]].positive
        if positive is None:
            return Measure(value=None, n=count, reason=NOT_DECLARED)
        happened += units.answers[row][units.outcome[row]] == positive
    if not count:
        return Measure(value=None, n=0, reason=EMPTY)
    return Measure(value=Fraction(happened, count), n=count)
