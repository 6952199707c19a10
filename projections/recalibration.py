"""Recalibration from the past: when it is fitted anew, on what, and what it then says.

The past of a place are the outcomes that were known just before it, each beside the
vector of the `initial` slot of the competitor that is recalibrated; a hidden one from
when it was opened. There is a fit at each moment when the past first comes to have
`min_past` outcomes, twice, four times as many and so on, of what was known then; it
holds for the places after that moment, whatever is withdrawn later. Before the first
fit, and where a fit has no solution, the probability is passed on as it is
(METRICS §7).
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from ledger.projections.calibration_fit import fit_logistic
from ledger.projections.cohort import (
    CONSTANT,
    INSUFFICIENT,
    NOT_DECLARED,
    SEPARATION,
    SINGLE_CLASS,
)
from ledger.projections.columns import NEVER, Integers, integers
from ledger.projections.corp import fit_isotonic
from ledger.projections.tally import tally
from ledger.suite import Competitor

# Returns a recalibrated probability of the event, both in parts per million.
Mapping = Callable[[int], int]
# Why a probability is passed on as it is: the past is too little for a first fit, the
# fit that would hold has no solution, or nothing says what a high probability means.
PASSED_ON = (INSUFFICIENT, SINGLE_CLASS, CONSTANT, SEPARATION, NOT_DECLARED)


def passed_on(reason: str) -> int:
    """Return how a column of fits says that a probability was passed on: below 0.

    >>> passed_on("insufficient"), passed_on("single_class")
    (-1, -2)
    """
    return -1 - PASSED_ON.index(reason)


class Recalibrated(NamedTuple):
    """What is said in place of each probability, and which fit says it, from 0 on.

    Where `fit` is below 0 the probability was passed on: see `passed_on`.
    """

    p_ppm: Integers
    fit: Integers


class Lessons(msgspec.Struct, frozen=True, kw_only=True):
    """What a past teaches: one row for each outcome of a unit while it was known.

    `p_ppm` is the probability of the event that was said, `y` is 1 if it happened.
    Both were known from after `known` until `until`, two places.
    """

    p_ppm: Integers
    y: Integers
    known: Integers
    until: Integers

    def known_after(self, moment: int) -> Integers:
        """Return the rows of what was known right after a place."""
        return np.flatnonzero((self.known <= moment) & (moment < self.until))


def refits(lessons: Lessons, min_past: int) -> Integers:
    """Return the places after which a new fit holds, ascending."""
    known = np.sort(lessons.known)
    until = np.sort(lessons.until[lessons.until != NEVER])
    moments = np.unique(np.concatenate([known, until]))
    count = np.searchsorted(known, moments, side="right")
    most = np.maximum.accumulate(count - np.searchsorted(until, moments, side="right"))
    wanted, least = [], min_past
    while len(most) and least <= most[-1]:
        wanted.append(int(moments[np.searchsorted(most, least)]))
        least *= 2
    return integers(list(dict.fromkeys(wanted)))


def recalibrated(
    competitor: Competitor,
    lessons: Lessons,
    clip_ppm: int,
    asked: tuple[Integers, Integers],
) -> Recalibrated:
    """Return what a competitor makes of each probability that is `asked` at a place.

    `asked` are probabilities of the event in parts per million, and their places.
    """
    p_ppm, place = asked
    moments = refits(lessons, competitor.min_past or 1)
    fits = [
        _fitted(competitor.method, lessons, lessons.known_after(moment), clip_ppm)
        for moment in moments.tolist()
    ]
    # What became known at the very place was not known just before it.
    fit = np.searchsorted(moments, place, side="left") - 1
    found, by = p_ppm.copy(), np.where(fit < 0, passed_on(INSUFFICIENT), fit)
    for number, mapping in enumerate(fits):
        rows = np.flatnonzero(fit == number)
        if isinstance(mapping, str):
            by[rows] = passed_on(mapping)
            continue
        distinct, which = np.unique(p_ppm[rows], return_inverse=True)
        mapped = integers([mapping(each) for each in distinct.tolist()])
        found[rows] = mapped[which.reshape(-1)]
    return Recalibrated(found, by)


def _fitted(
    method: str | None, lessons: Lessons, rows: Integers, clip_ppm: int
) -> Mapping | str:
    """Return the fit on some lessons, or the reason for which there is no solution."""
    p_ppm, y = lessons.p_ppm[rows], lessons.y[rows]
    if method == "isotonic":
        curve = fit_isotonic(tally(p_ppm, y))
        assert curve is not None, "nothing is fitted on no lessons"
        return curve.apply
    found = fit_logistic(p_ppm, y, clip_ppm)
    if found.logistic is not None:
        return found.logistic.apply
    assert found.reason is not None, "what is undefined has a reason"
    return found.reason
