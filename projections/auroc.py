"""AUROC, exactly: how often a unit where the event came was given the higher chance.

Of all pairs of a unit where it came and one where it did not, those that are ranked
right count one, ties one half (Hanley & McNeil 1982; METRICS §8). It tells ranking and
not calibration: any rising function of the probabilities has the same.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ledger.projections.cohort import SINGLE_CLASS, Measure, undefined
from ledger.projections.columns import Integers
from ledger.projections.tally import Tally, tally


def auroc(counts: Tally) -> Measure:
    """Return the AUROC; undefined (`single_class`) unless both outcomes occurred.

    Takes what the units were told, and how often the event came, by probability. A
    constant probability has one half.
    """
    came, not_come = counts.events, counts.units - counts.events
    if not came or not not_come:
        return undefined(SINGLE_CLASS, counts.units)
    missed = counts.said - counts.happened
    # A tied unit without the event counts once in the two, a lower one twice. Sums of
    # these stay below twice the pairs, which 63 bits hold for 2^32 units.
    lower_or_tied = 2 * np.add.accumulate(missed) - missed
    won = int((counts.happened * lower_or_tied).sum())
    return Measure(value=Fraction(won, 2 * came * not_come), n=counts.units)


def one_vs_rest(vectors_ppm: Integers, outcome: Integers) -> list[Measure]:
    """Return for each answer the AUROC of that answer against all others.

    `vectors_ppm` has the shape (units, answers), `outcome` the index of the answer
    that happened. An answer that always or never happened has none.
    """
    return [
        auroc(tally(said, (outcome == answer).astype(np.int64)))
        for answer, said in enumerate(vectors_ppm.T)
    ]


def averaged(measures: Sequence[Measure]) -> Measure:
    """Return the plain mean over answers, for suites that declare that they want it.

    Undefined where one of them is, for its reason: the mean over the others would be
    another quantity (Hand & Till 2001 discuss what an average means).
    """
    for measure in measures:
        if measure.value is None:
            return measure
    values = [measure.value for measure in measures if measure.value is not None]
    return Measure(value=sum(values, Fraction(0)) / len(values), n=measures[0].n)
