"""How a loss went on as outcomes came in, and whether it drifted (METRICS §20).

Losses are unit scores in units of 1e-12, in the order in which the ledger recorded
their outcomes. All of it is diagnosis: no gate looks at it.

An exact running mean needs a denominator that each further outcome makes longer. So
running numbers are whole multiples of a fixed small part of 1: exact for the first
hundred outcomes (as far as the powers of the fading factor have at most 50 places),
and rounded half-even from there on, each step far below what any row shows.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm

import msgspec
import numpy as np

from ledger.projections.cohort import EMPTY, Measure
from ledger.projections.columns import INT64_MAX, Integers, integers
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


def steps(losses: Sequence[int], watch: Watch) -> Iterator[Step]:
    """Yield where the means stand after each loss (Dawid 1984; Gama et al. 2013)."""
    window: deque[int] = deque(maxlen=watch.window)
    total = 0
    running = zip(losses, _rises(losses, watch), _fadings(losses, watch), strict=True)
    for n, (loss, (rise, _), fading) in enumerate(running, 1):
        total += loss
        window.append(loss)
        yield Step(
            cumulative=Fraction(total, n * UNITS),
            fading=Fraction(*fading),
            sliding=Fraction(sum(window), len(window) * UNITS),
            rise=Fraction(rise, _PARTS),
        )


def drift(losses: Integers, watch: Watch) -> Drift:
    """Return where the means of losses ended, and the first alarm on the way there."""
    limit = int(watch.limit * _PARTS)
    alarm = onset = None
    rise = 0
    for place, (rise, began) in enumerate(_rises(losses.tolist(), watch)):
        if alarm is None and rise > limit:
            alarm, onset = place, began
    before = _mean(losses[:onset])
    recovery = None
    if alarm is not None and onset is not None and before.value is not None:
        enough = before.value + watch.margin
        recovery = _recovery(losses, watch, alarm, onset, enough)
    return Drift(
        n=len(losses),
        last=_last(losses, watch, Fraction(rise, _PARTS)),
        alarm=alarm,
        onset=onset,
        before=before,
        after=_mean(losses[len(losses) if onset is None else onset :]),
        recovery=recovery,
    )


def _last(losses: Integers, watch: Watch, rise: Fraction) -> Step | None:
    """Return where all losses have brought the means, without each step on the way."""
    cumulative, sliding = _mean(losses).value, _mean(losses[-watch.window :]).value
    if cumulative is None or sliding is None:
        return None
    remembered = losses[-_memory(watch, len(losses)) :].tolist()
    *_, fading = _fadings(remembered, watch)
    return Step(
        cumulative=cumulative, fading=Fraction(*fading), sliding=sliding, rise=rise
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
    sums = np.add.accumulate(losses[onset:])
    # Where a sum of them all has wrapped, its difference to an earlier one is right.
    slid = sums.copy()
    slid[watch.window :] -= sums[: -watch.window]
    longest = min(watch.window, len(slid))
    most = enough * UNITS
    limits = integers(
        [
            min(most.numerator * n // most.denominator, INT64_MAX)
            for n in range(1, longest + 1)
        ]
    )
    held = np.minimum(np.arange(len(slid)), longest - 1)
    is_low = slid <= limits[held]
    is_low[: alarm - onset + 1] = False
    back = np.flatnonzero(is_low)
    return int(back[0]) + onset - alarm if len(back) else None


def _rises(losses: Iterable[int], watch: Watch) -> Iterator[tuple[int, int]]:
    """Yield how far the loss has risen, in parts, and at which place that began."""
    tolerated = int(watch.tolerated * _PARTS)
    total = level = least = onset = 0
    for n, loss in enumerate(losses, 1):
        total += loss
        mean = _divided(total * _PARTS_OF_UNIT, n)
        level += loss * _PARTS_OF_UNIT - mean - tolerated
        if level < least:
            least, onset = level, n
        yield level - least, onset


def _fadings(losses: Iterable[int], watch: Watch) -> Iterator[tuple[int, int]]:
    """Yield the faded sum of losses and of their weights, both in parts."""
    share, whole = watch.fading.numerator, watch.fading.denominator
    faded = weight = 0
    for loss in losses:
        faded = _divided(faded * share, whole) + loss * _PARTS_OF_UNIT
        weight = _divided(weight * share, whole) + _PARTS
        yield faded, weight


def _memory(watch: Watch, size: int) -> int:
    """Return how many of the last losses count: older ones weigh less than a part."""
    weight = _PARTS
    for count in range(size):
        if not weight:
            return count
        weight = weight * watch.fading.numerator // watch.fading.denominator
    return size


def _divided(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a ratio, of two equally near the even one."""
    quotient, rest = divmod(numerator, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and quotient % 2)
    return quotient + bool(is_up)
