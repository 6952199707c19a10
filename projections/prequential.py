"""How a loss went on as outcomes came in, and whether it drifted (METRICS §20).

Losses are unit scores in units of 1e-12, in the order in which the ledger recorded
their outcomes. All of it is diagnosis: no gate looks at it.

An exact running mean needs a denominator that each further outcome makes longer. So
running numbers are whole multiples of a fixed small part of 1: exact for the first
hundred outcomes (as far as the powers of the fading factor have at most 50 places),
and rounded half-even from there on, each step far below what any row shows.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm

import msgspec

from ledger.projections.cohort import EMPTY, Measure
from ledger.projections.columns import Integers
from ledger.projections.exact import UNITS, exact_sum

_PARTS = lcm(*range(1, 101)) * 10**50


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """How losses are watched, as a suite's `[prequential]` declares it.

    `fading` is what a loss weighs one outcome later, `window` how many outcomes the
    sliding mean takes. `tolerated` and `limit` are delta and lambda of Page and
    Hinkley. Within `margin` of the mean before a change, a loss has recovered.
    """

    fading: Fraction
    window: int
    tolerated: Fraction
    limit: Fraction
    margin: Fraction


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Where the means of a loss stand after one more outcome.

    `rise` is the statistic of Page and Hinkley: how far the loss has kept above its
    own running mean since that was last least so, `tolerated` taken off each time.
    """

    cumulative: Fraction
    fading: Fraction
    sliding: Fraction
    rise: Fraction


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What watching showed; places count outcomes, the first is 0.

    `alarm` is where `rise` first passed the limit and `onset` where that rise began:
    None without an alarm. `before` and `after` are the mean losses on the two sides
    of the onset. `recovery` is how many outcomes after the alarm the mean of the last
    `window` ones, none from before the onset, came back; None while it has not.
    """

    n: int
    last: Step | None
    alarm: int | None
    onset: int | None
    before: Measure
    after: Measure
    recovery: int | None


def steps(losses: Iterable[int], watch: Watch) -> Iterator[Step]:
    """Yield where the means stand after each loss (Dawid 1984; Gama et al. 2013)."""
    running = _Running(watch)
    for loss in losses:
        running.take(loss)
        yield running.step()


def drift(losses: Integers, watch: Watch) -> Drift:
    """Return where the means of losses ended, and the first alarm on the way there."""
    running = _Running(watch)
    alarm = onset = None
    for place, loss in enumerate(losses.tolist()):
        running.take(loss)
        if alarm is None and running.is_alarmed:
            alarm, onset = place, running.onset
    before = _mean(losses[:onset] if onset is not None else losses)
    return Drift(
        n=len(losses),
        last=running.step() if len(losses) else None,
        alarm=alarm,
        onset=onset,
        before=before,
        after=_mean(losses[onset:] if onset is not None else losses[:0]),
        recovery=None
        if alarm is None or onset is None or before.value is None
        else _recovery(losses, watch, alarm, onset, before.value + watch.margin),
    )


def _mean(losses: Integers) -> Measure:
    n = len(losses)
    if not n:
        return Measure(value=None, n=0, reason=EMPTY)
    return Measure(value=Fraction(exact_sum(losses), n * UNITS), n=n)


def _recovery(
    losses: Integers, watch: Watch, alarm: int, onset: int, enough: Fraction
) -> int | None:
    """Return how many outcomes after the alarm the losses were low enough again."""
    window: deque[int] = deque(maxlen=watch.window)
    total = 0
    for place, loss in enumerate(losses[onset:].tolist(), onset):
        total += loss - (window[0] if len(window) == watch.window else 0)
        window.append(loss)
        if place > alarm and total <= enough * len(window) * UNITS:
            return place - alarm
    return None


class _Running:
    """The running numbers of a loss, in whole parts."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._tolerated = int(watch.tolerated * _PARTS)
        self._limit = int(watch.limit * _PARTS)
        self._n = self._total = 0
        self._faded = self._weight = 0
        self._window: deque[int] = deque(maxlen=watch.window)
        self._slid = 0
        self._level = self._least = 0
        self.onset = 0

    def take(self, loss: int) -> None:
        """Take one more loss into every running number."""
        parts = loss * (_PARTS // UNITS)
        self._n += 1
        self._total += parts
        self._fade(parts)
        if len(self._window) == self._watch.window:
            self._slid -= self._window[0]
        self._slid += parts
        self._window.append(parts)
        self._level += parts - _divided(self._total, self._n) - self._tolerated
        if self._level < self._least:
            self._least, self.onset = self._level, self._n

    def _fade(self, parts: int) -> None:
        share, whole = self._watch.fading.numerator, self._watch.fading.denominator
        self._faded = _divided(self._faded * share, whole) + parts
        self._weight = _divided(self._weight * share, whole) + _PARTS

    @property
    def is_alarmed(self) -> bool:
        """Tell whether the loss has risen by more than the limit."""
        return self._level - self._least > self._limit

    def step(self) -> Step:
        """Return the means of all losses so far, at least one."""
        return Step(
            cumulative=Fraction(self._total, self._n * _PARTS),
            fading=Fraction(self._faded, self._weight),
            sliding=Fraction(self._slid, len(self._window) * _PARTS),
            rise=Fraction(self._level - self._least, _PARTS),
        )


def _divided(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a ratio, of two equally near the even one."""
    quotient, rest = divmod(numerator, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and quotient % 2)
    return quotient + bool(is_up)
