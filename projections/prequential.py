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
_PARTS_OF_UNIT = _PARTS // UNITS


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
    rising, fading = _Rising(watch), _Fading(watch)
    window: deque[int] = deque(maxlen=watch.window)
    for loss in losses:
        rising.take(loss)
        fading.take(loss)
        window.append(loss)
        yield Step(
            cumulative=rising.mean,
            fading=fading.mean,
            sliding=Fraction(sum(window), len(window) * UNITS),
            rise=rising.rise,
        )


def drift(losses: Integers, watch: Watch) -> Drift:
    """Return where the means of losses ended, and the first alarm on the way there."""
    rising = _Rising(watch)
    alarm = onset = None
    for place, loss in enumerate(losses.tolist()):
        rising.take(loss)
        if alarm is None and rising.is_alarmed:
            alarm, onset = place, rising.onset
    before = _mean(losses[:onset])
    recovery = None
    if alarm is not None and onset is not None and before.value is not None:
        enough = before.value + watch.margin
        recovery = _recovery(losses, watch, alarm, onset, enough)
    return Drift(
        n=len(losses),
        last=_last(losses, watch, rising) if len(losses) else None,
        alarm=alarm,
        onset=onset,
        before=before,
        after=_mean(losses[len(losses) if onset is None else onset :]),
        recovery=recovery,
    )


def _last(losses: Integers, watch: Watch, rising: "_Rising") -> Step:
    """Return where all losses have brought the means, without each step on the way."""
    fading = _Fading(watch)
    for loss in losses[-fading.memory(len(losses)) :].tolist():
        fading.take(loss)
    recent = losses[-watch.window :]
    return Step(
        cumulative=rising.mean,
        fading=fading.mean,
        sliding=Fraction(exact_sum(recent), len(recent) * UNITS),
        rise=rising.rise,
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


class _Rising:
    """The running mean of a loss, and how far the loss has risen above it, in parts."""

    def __init__(self, watch: Watch) -> None:
        self._tolerated = int(watch.tolerated * _PARTS)
        self._limit = int(watch.limit * _PARTS)
        self._n = self._total = self._level = self._least = 0
        self.onset = 0

    def take(self, loss: int) -> None:
        """Take one more loss in."""
        parts = loss * _PARTS_OF_UNIT
        self._n += 1
        self._total += parts
        self._level += parts - _divided(self._total, self._n) - self._tolerated
        if self._level < self._least:
            self._least, self.onset = self._level, self._n

    @property
    def mean(self) -> Fraction:
        """The mean of all losses so far, at least one."""
        return Fraction(self._total, self._n * _PARTS)

    @property
    def rise(self) -> Fraction:
        """The statistic of Page and Hinkley."""
        return Fraction(self._level - self._least, _PARTS)

    @property
    def is_alarmed(self) -> bool:
        """Whether the loss has risen by more than the limit."""
        return self._level - self._least > self._limit


class _Fading:
    """The fading mean of a loss: its weighted sum and the sum of weights, in parts."""

    def __init__(self, watch: Watch) -> None:
        self._share, self._whole = watch.fading.numerator, watch.fading.denominator
        self._faded = self._weight = 0

    def memory(self, size: int) -> int:
        """Return how many of `size` losses count: older ones weigh less than a part."""
        weight = _PARTS
        for count in range(size):
            if not weight:
                return count
            weight = weight * self._share // self._whole
        return size

    def take(self, loss: int) -> None:
        """Take one more loss in, and let the older ones fade."""
        self._faded = _divided(self._faded * self._share, self._whole)
        self._faded += loss * _PARTS_OF_UNIT
        self._weight = _divided(self._weight * self._share, self._whole) + _PARTS

    @property
    def mean(self) -> Fraction:
        """The fading mean of all losses so far, at least one."""
        return Fraction(self._faded, self._weight)


def _divided(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a ratio, of two equally near the even one."""
    quotient, rest = divmod(numerator, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and quotient % 2)
    return quotient + bool(is_up)
