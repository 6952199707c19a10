"""Logistic recalibration: the line through log-odds that makes outcomes likeliest.

Maximum likelihood by Newton's method in `decimal`, grouped by distinct probability,
so that the digits are the same on every machine (METRICS §9; Cox 1958).
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from ledger.projections.cohort import CONSTANT, EMPTY, SEPARATION, SINGLE_CLASS
from ledger.projections.columns import Integers
from ledger.projections.exact import PPM
from ledger.projections.scores import clip
from ledger.projections.tally import Tally, tally

CONTEXT = Context(prec=34, rounding=ROUND_HALF_EVEN)
# After a step this short, what is left to go is about its square: far below the nine
# places that are published.
_SETTLED = Decimal("1e-12")
# The full step always climbs while it changes no log-odds by more than 1.79.
_FULL_STEP_MAX = 1
_STEPS_MAX = 1_000
_REMEMBERED = 65_536


class Information(NamedTuple):
    """Minus the second derivatives of the log-likelihood: sums of w, w x and w x²."""

    ones: Decimal
    mixed: Decimal
    squares: Decimal

    @property
    def determinant(self) -> Decimal:
        """Return what divides the inverse; computed in the context in force."""
        return self.ones * self.squares - self.mixed * self.mixed


class Logistic(msgspec.Struct, frozen=True, kw_only=True):
    """Log-odds of the event as `intercept` + `slope` · log-odds that were said.

    What was said is first kept `clip_ppm` away from 0 and from 1.
    """

    intercept: Decimal
    slope: Decimal
    clip_ppm: int
    information: Information

    def apply(self, p_ppm: int) -> int:
        """Return the recalibrated probability, rounded half-even to a millionth."""
        with localcontext(CONTEXT):
            said = [odds(clip(p_ppm, self.clip_ppm))]
            (against,) = odds_against(said, self.intercept, self.slope)
            share = PPM / (1 + against)
            return int(share.to_integral_value(ROUND_HALF_EVEN))


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """A fit over `n` units, or the reason why there is none."""

    logistic: Logistic | None
    n: int
    reason: str | None = None


class Odds(NamedTuple):
    """A probability as log-odds for the event, and as odds against it."""

    log: Decimal
    against: Decimal


@lru_cache(_REMEMBERED)
def odds(p_ppm: int) -> Odds:
    """Return the odds of a probability other than 0 and 1, to 34 digits."""
    with localcontext(CONTEXT):
        against = Decimal(PPM - p_ppm) / p_ppm
        return Odds(-CONTEXT.ln(against), against)


def odds_against(
    said: Sequence[Odds], intercept: Decimal, slope: Decimal
) -> list[Decimal]:
    """Return the odds against the event by a line; in the context in force.

    A line of slope 1 multiplies the odds that were said: one exponential for all of
    them. Exponentials are what a fit waits for.
    """
    if slope == 1:
        factor = CONTEXT.exp(-intercept)
        return [factor * each.against for each in said]
    return [CONTEXT.exp(-(intercept + slope * each.log)) for each in said]


def fit_logistic(p_ppm: Integers, y: Integers, clip_ppm: int) -> Fitted:
    """Return the line with free intercept and slope: Platt's recalibration.

    Undefined without units (`empty`), where the event always or never happened
    (`single_class`), where one probability was said (`constant_forecast`), and
    where a threshold divides the outcomes (`separation`): no line is likeliest.
    """
    return fit_line(clipped_tally(p_ppm, y, clip_ppm), clip_ppm)


def clipped_tally(p_ppm: Integers, y: Integers, clip_ppm: int) -> Tally:
    """Return the counts of probabilities that are kept away from 0 and from 1."""
    return tally(np.clip(p_ppm, clip_ppm, PPM - clip_ppm), y)


def fit_line(counts: Tally, clip_ppm: int) -> Fitted:
    """Return `fit_logistic` of counts whose probabilities are clipped already."""
    reason = no_shift(counts) or _no_line(counts)
    return _fitted(counts, clip_ppm, reason, slope_is_free=True)


def fit_shift(counts: Tally, clip_ppm: int) -> Fitted:
    """Return the line of slope 1: calibration in the large.

    Undefined without units (`empty`) and where the event always or never happened.
    """
    return _fitted(counts, clip_ppm, no_shift(counts), slope_is_free=False)


def no_shift(counts: Tally) -> str | None:
    """Return why no intercept is likeliest, or None."""
    if not counts.units:
        return EMPTY
    return SINGLE_CLASS if counts.events in {0, counts.units} else None


def _no_line(counts: Tally) -> str | None:
    """Return why no slope is likeliest, of counts with both outcomes, or None.

    In one dimension separation is exact: no event below any other outcome, or none
    above (METRICS §9). Software for general linear models returns huge numbers.
    """
    if len(counts.p_ppm) == 1:
        return CONSTANT
    events = counts.p_ppm[counts.happened > 0]
    others = counts.p_ppm[counts.happened < counts.said]
    if events.min() >= others.max() or events.max() <= others.min():
        return SEPARATION
    return None


def _fitted(
    counts: Tally, clip_ppm: int, reason: str | None, *, slope_is_free: bool
) -> Fitted:
    if reason:
        return Fitted(logistic=None, n=counts.units, reason=reason)
    with localcontext(CONTEXT):
        intercept, slope, information = _climb(counts, slope_is_free=slope_is_free)
    logistic = Logistic(
        intercept=intercept, slope=slope, clip_ppm=clip_ppm, information=information
    )
    return Fitted(logistic=logistic, n=counts.units)


def _climb(
    counts: Tally, *, slope_is_free: bool
) -> tuple[Decimal, Decimal, Information]:
    """Return the likeliest line, from the one that leaves what was said as it is.

    A step that would change log-odds by `change` > 1 is shortened to
    ln(1 + change) of it. With that the likelihood grows at every step, and the
    method arrives from everywhere: the third derivative along the step is at most
    `change` times the second (Bach 2010, EJS 4:384; Sun & Tran-Dinh 2019).
    """
    said = [odds(p) for p in counts.p_ppm.tolist()]
    units = list(zip(counts.said.tolist(), counts.happened.tolist(), strict=True))
    intercept, slope = Decimal(0), Decimal(1)
    for _ in range(_STEPS_MAX):
        level, tilt, information = _derivatives(said, units, intercept, slope)
        if slope_is_free:
            whole = information.determinant
            up = (information.squares * level - information.mixed * tilt) / whole
            turn = (information.ones * tilt - information.mixed * level) / whole
        else:
            up, turn = level / information.ones, Decimal(0)
        change = max(abs(up + turn * each.log) for each in (said[0], said[-1]))
        share = (
            Decimal(1) if change <= _FULL_STEP_MAX else CONTEXT.ln(1 + change) / change
        )
        intercept, slope = intercept + share * up, slope + share * turn
        if change <= _SETTLED:
            return intercept, slope, information
    raise AssertionError(f"a concave climb did not end in {_STEPS_MAX} steps")


def _derivatives(
    said: Sequence[Odds],
    units: Sequence[tuple[int, int]],
    intercept: Decimal,
    slope: Decimal,
) -> tuple[Decimal, Decimal, Information]:
    """Return the likelihood's derivatives by intercept and by slope, and the second.

    `units` are how many were told each of the odds, and in how many the event was.
    """
    level = tilt = ones = mixed = squares = Decimal(0)
    odds_now = odds_against(said, intercept, slope)
    for (x, _), (n, happened), against in zip(said, units, odds_now, strict=True):
        share = 1 / (1 + against)
        residual = happened - n * share
        level += residual
        tilt += residual * x
        weight = n * against * share * share
        ones += weight
        mixed += weight * x
        squares += weight * x * x
    return level, tilt, Information(ones, mixed, squares)
