"""What a row's statistics stand on: columns over the scored units of one cohort.

All metrics of a row share them, so that each is computed once, and only if a metric
asks for it. Units stand in the order of their names, clusters and targets have codes
in the order of their names' bytes (METRICS §0.6).
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ledger.projections.cohort import Loss
from ledger.projections.columns import Flags, Integers, integers, rows_among
from ledger.projections.exact import exact_sum
from ledger.projections.fetching import Texts
from ledger.projections.sample import Cohort, Sample, common_cohort
from ledger.projections.slotted import Chosen, Slotted
from ledger.projections.tally import Tally, tally


class Said(NamedTuple):
    """What was said of each unit's event, in parts per million, and whether it came."""

    p_ppm: Integers
    y: Integers


class Groups(NamedTuple):
    """Which group each unit is of: codes from 0 on, and the groups' names by code."""

    code: Integers
    names: list[str]

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.names)


class Ground:
    """A competitor's cohort, and whatever of it a statistic takes, one row a unit."""

    def __init__(self, sample: Sample, cohort: Cohort) -> None:
        self.sample = sample
        self.cohort = cohort
        self._beside: dict[str, Ground] = {}

    @property
    def size(self) -> int:
        """How many units there are."""
        return self.cohort.size

    @property
    def mine(self) -> Slotted:
        """What the competitor scored, on all units of its suite."""
        return self.sample.entrant.slotted

    def of(self, column: Integers) -> Integers:
        """Return what a column over all units of the suite has on these."""
        picked: Integers = column[self.cohort.units]
        return picked

    def all_of(self, marks: Flags) -> bool:
        """Tell whether a mark is on each of these units."""
        return bool(marks[self.cohort.units].all())

    def any_of(self, marks: Flags) -> bool:
        """Tell whether a mark is on any of these units."""
        return bool(marks[self.cohort.units].any())

    def brier(self, slotted: Slotted) -> Integers:
        """Return Brier losses in the form that the row shows, in units of 1e-12."""
        return self.of(slotted.brier if self.cohort.is_binary else slotted.brier_sum)

    def loss(self, scores: Integers) -> Loss:
        """Return the sum of scores, one a unit, in units of 1e-12."""
        total = exact_sum(scores)
        return Loss(cohort=self.cohort.hash, total=total, units=self.size)

    @property
    def reference(self) -> str:
        """Which competitor is the frozen reference."""
        return self.sample.board.suite.manifest.scoring.reference

    def serving(self, role: str) -> str | None:
        """Return which competitor serves as the baseline of a role; None for none."""
        competitors = self.sample.board.suite.manifest.competitors
        return next((each.name for each in competitors if each.role == role), None)

    def theirs(self, baseline: str | None) -> Slotted | None:
        """Return what a baseline scored beside the competitor; None if it is none."""
        return self.sample.entrant.baselines.get(baseline or "")

    def beside(self, baseline: str | None) -> "Ground | None":
        """Return the units on which a baseline has a score too; None if it is none.

        Where that is all of them it is this very ground, resampled alike.
        """
        theirs = self.theirs(baseline)
        if baseline is None or theirs is None:
            return None
        if baseline not in self._beside:
            common = common_cohort(self.sample, self.cohort, theirs)
            is_whole = common is self.cohort
            self._beside[baseline] = self if is_whole else Ground(self.sample, common)
        return self._beside[baseline]

    @cached_property
    def cluster(self) -> Groups:
        """What hangs together, and is resampled together."""
        return grouped(self.sample.board.units.cluster, self.cohort.units)

    @property
    def resampled(self) -> tuple[Integers, int]:
        """What a statistic resamples: the cluster of each unit, and how many."""
        return self.cluster.code, self.cluster.size

    @cached_property
    def target(self) -> Groups:
        """Whose behaviour is forecast."""
        return grouped(self.sample.board.units.target, self.cohort.units)

    @cached_property
    def is_single(self) -> bool:
        """Whether the slot takes one vector a unit, not an average over several."""
        return self._is_single(self.sample.entrant.chosen)

    def has_past(self, baseline: str | None) -> Flags | None:
        """Mark the units of which a baseline knew an outcome within its own keys.

        By the slot's last vector, where it has one; None where it is no past rate.
        """
        spoken = self.sample.entrant.spoken.get(baseline or "")
        theirs = self.theirs(baseline)
        if spoken is None or theirs is None or spoken.has_past is None:
            return None
        last = self.of(theirs.last)
        marked: Flags = np.zeros(self.size, dtype=np.bool_)
        marked[last >= 0] = spoken.has_past[last[last >= 0]]
        return marked

    def covers(self, baseline: str) -> bool:
        """Tell whether a baseline has one vector on each of the units, and a score."""
        if self.beside(baseline) is not self:
            return False
        return self._is_single(self.sample.entrant.spoken[baseline])

    def _is_single(self, chosen: Chosen) -> bool:
        return len(rows_among(chosen.unit, self.cohort.units)) == self.size

    @cached_property
    def said(self) -> Said | None:
        """What was said of each unit's event, and whether it happened.

        None where questions have no event in common (a template declares no positive
        answer, or there are more than two answers), and where the slot averages over
        several vectors of a unit: those are no independent forecasts.
        """
        units = self.sample.board.units
        positive = self.of(units.positive)
        if not self.cohort.is_binary or not self.is_single or (positive < 0).any():
            return None
        happened = self.of(units.outcome) == positive
        return Said(self.p_of(positive), happened.astype(np.int64))

    @cached_property
    def counts(self) -> Tally | None:
        """How often each probability of the event was said, and the event followed."""
        return None if self.said is None else tally(*self.said)

    @cached_property
    def vectors_ppm(self) -> Integers | None:
        """The whole vector of each unit; shape (units, answers).

        None where units have not the very same answers, and where the slot averages.
        """
        units = self.sample.board.units
        if not self.is_single or len(np.unique(self.of(units.answers))) != 1:
            return None
        chosen = self.sample.entrant.chosen
        codes, which = np.unique(
            chosen.code[self.of(self.mine.last)], return_inverse=True
        )
        stated = [chosen.distinct[code] for code in codes.tolist()]
        return np.array(stated, dtype=np.int64)[which]

    def p_of(self, answer: Integers, baseline: str | None = None) -> Integers:
        """Return what the slot's last vector said of an answer of each unit.

        Of a baseline's vector, where one is named that has a score on all the units.
        """
        entrant = self.sample.entrant
        theirs = self.theirs(baseline)
        if baseline is None or theirs is None:
            chosen, last = entrant.chosen, self.mine.last
        else:
            chosen, last = entrant.spoken[baseline], theirs.last
        code = chosen.code[self.of(last)]
        # Few vectors are distinct: each is looked into once.
        widest = max((len(each) for each in chosen.distinct), default=1)
        pairs, which = np.unique(code * widest + answer, return_inverse=True)
        stated = [
            chosen.distinct[pair // widest][pair % widest] for pair in pairs.tolist()
        ]
        return integers(stated)[which]


def grouped(texts: Texts, units: Integers) -> Groups:
    """Return the groups that some units are of, by the bytes of their names."""
    codes, which = np.unique(texts.code[units], return_inverse=True)
    names = [texts.names[code] for code in codes.tolist()]
    order = sorted(range(len(names)), key=lambda at: names[at].encode())
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return Groups(rank[which], [names[at] for at in order])
