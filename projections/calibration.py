"""Whether probabilities mean what they say: slope, intercept, and the bar (METRICS §9).

A slope below 1 is too extreme, above 1 too timid; an intercept below 0, with the
slope held at 1, says that the event was forecast too often (Cox 1958; Miller, Hui &
Tierney 1991; Van Calster et al. 2019).
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

import msgspec
import numpy as np

from ledger.projections.calibration_fit import (
    CONTEXT,
    Fitted,
    fit_line,
    fit_shift,
)
from ledger.projections.calibration_spread import (
    Clusters,
    cluster_variances,
    clusters_of,
    information_variances,
)
from ledger.projections.cohort import CLUSTERS_LT_MIN, DEGENERATE, INSUFFICIENT
from ledger.projections.columns import Integers
from ledger.projections.exact import PPM
from ledger.projections.normal import normal_quantile
from ledger.projections.resampling import Interval, Rule
from ledger.projections.tally import tally

Status = Literal["pass", "warn", "fail", "insufficient"]
Range = tuple[Fraction, Fraction]
# One cluster is one observation, whatever a suite declares.
_CLUSTERS_MIN = 2
# What is shown as 0.000000000: the noise of residuals that cancel out.
_NO_ERROR = Decimal("5e-10")


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted number over `n` units, or the reason why there is none.

    `standard_error` takes units as independent; `interval` is the cluster sandwich's
    at the declared level.
    """

    n: int
    value: Fraction | None = None
    reason: str | None = None
    standard_error: Fraction | None = None
    interval: Interval = Interval()


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The slope; the intercept in the large, with slope 1; and that beside the slope.

    `events` and `others` are the units in which the event happened, and did not.
    """

    slope: Estimate
    intercept: Estimate
    intercept_joint: Estimate
    events: int
    others: int


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite declares of its bar: where estimates may lie, and the least class."""

    slope: Range
    intercept: Range
    min_class: int


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """How the calibration bar was met; where it is `insufficient`, why."""

    status: Status
    reason: str | None = None


def calibration(
    p_ppm: Integers,
    y: Integers,
    cluster: Integers,
    *,
    clip_ppm: int,
    min_class: int,
    rule: Rule,
) -> Calibration:
    """Return how the outcomes of a cohort follow the log-odds that were said.

    With fewer than `min_class` units of either outcome all three are `insufficient`.
    Intervals need the clusters that the rule asks for, and are undefined where no
    cluster differs from what the line expects of it (`degenerate_variance`).
    """
    clipped = np.clip(p_ppm, clip_ppm, PPM - clip_ppm)
    counts = tally(clipped, y)
    events, others = counts.events, counts.units - counts.events
    line, shift = fit_line(counts, clip_ppm), fit_shift(counts, clip_ppm)
    if min(events, others) < min_class:
        line, shift = _withheld(line), _withheld(shift)
    clusters = clusters_of(clipped, y, cluster)
    joint, slope = _estimates(line, clusters, rule, slope_is_free=True)
    intercept, _ = _estimates(shift, clusters, rule, slope_is_free=False)
    return Calibration(
        slope=slope,
        intercept=intercept,
        intercept_joint=joint,
        events=events,
        others=others,
    )


def _withheld(fitted: Fitted) -> Fitted:
    """Return no fit; what could not be fitted at all keeps the reason for that."""
    return Fitted(logistic=None, n=fitted.n, reason=fitted.reason or INSUFFICIENT)


def _estimates(
    fitted: Fitted, clusters: Clusters, rule: Rule, *, slope_is_free: bool
) -> tuple[Estimate, Estimate]:
    """Return the intercept and the slope of a fit, each with how far it may be off."""
    line = fitted.logistic
    if line is None:
        undefined = Estimate(n=fitted.n, reason=fitted.reason)
        return undefined, undefined
    alone = information_variances(line, slope_is_free=slope_is_free)
    together = cluster_variances(line, clusters, slope_is_free=slope_is_free)
    is_enough = len(clusters.starts) >= max(_CLUSTERS_MIN, rule.min_clusters)
    intercept, slope = (
        Estimate(
            n=fitted.n,
            value=Fraction(value),
            standard_error=Fraction(CONTEXT.sqrt(variance)),
            interval=_interval(value, variance_clustered, rule.level)
            if is_enough
            else Interval(reason=CLUSTERS_LT_MIN),
        )
        for value, variance, variance_clustered in zip(
            (line.intercept, line.slope), alone, together, strict=True
        )
    )
    return intercept, slope


def _interval(value: Decimal, variance: Decimal, level: Fraction) -> Interval:
    """Return the normal interval around an estimate; none around a certain one."""
    with localcontext(CONTEXT):
        error = CONTEXT.sqrt(variance)
        if error < _NO_ERROR:
            return Interval(reason=DEGENERATE)
        reach = normal_quantile(level) * error
        return Interval(lo=Fraction(value - reach), hi=Fraction(value + reach))


def calibration_bar(found: Calibration, gate: Gate) -> Bar:
    """Return how a cohort meets the declared ranges of slope and intercept.

    `insufficient` if either outcome has fewer units than declared; `fail` if an
    interval lies wholly outside its range; `insufficient` if an estimate or an
    interval is undefined; `pass` if both estimates lie within, ends included; else
    `warn`. A constant forecast has no slope: it can fail the bar, and not pass it.
    """
    if min(found.events, found.others) < gate.min_class:
        return Bar(status="insufficient", reason=INSUFFICIENT)
    judged = ((found.slope, gate.slope), (found.intercept, gate.intercept))
    if any(_is_outside(estimate.interval, within) for estimate, within in judged):
        return Bar(status="fail")
    for estimate, _ in judged:
        if reason := estimate.reason or estimate.interval.reason:
            return Bar(status="insufficient", reason=reason)
    is_within = all(_lies_in(estimate.value, within) for estimate, within in judged)
    return Bar(status="pass" if is_within else "warn")


def _is_outside(interval: Interval, within: Range) -> bool:
    if interval.lo is None or interval.hi is None:
        return False
    return interval.hi < within[0] or interval.lo > within[1]


def _lies_in(value: Fraction | None, within: Range) -> bool:
    return value is not None and within[0] <= value <= within[1]
