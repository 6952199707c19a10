"""Whether probabilities mean what they say: fits, their errors, and the bar."""

import decimal
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.projections.calibration import (
    Calibration,
    Estimate,
    Gate,
    calibration,
    calibration_bar,
)
from ledger.projections.calibration_fit import (
    Logistic,
    fit_logistic,
    fit_shift,
    odds,
)
from ledger.projections.columns import Integers, integers
from ledger.projections.exact import PPM, dec9, dec12
from ledger.projections.resampling import Interval, Rule
from ledger.projections.tally import tally
from tests.tallies import LEVEL, UNHURRIED, UNITS_TOLD, case, medium, told

CLIP_PPM = 1_000
RULE = Rule(level=LEVEL, min_clusters=10, max_undefined=Fraction(1, 100))
WIDE = Context(prec=60)


def columns(units: Sequence[tuple[int, int]]) -> tuple[Integers, Integers]:
    return integers([p for p, _ in units]), integers([y for _, y in units])


def judged(
    p_ppm: Integers,
    y: Integers,
    cluster: Integers | None = None,
    *,
    min_class: int = 1,
    rule: Rule = RULE,
) -> Calibration:
    """Return the calibration of units that are clusters of their own."""
    if cluster is None:
        cluster = np.arange(len(y))
    return calibration(
        p_ppm, y, cluster, clip_ppm=CLIP_PPM, min_class=min_class, rule=rule
    )


def shown(estimate: Estimate) -> str:
    """Return a fitted number as rows print it."""
    assert estimate.value is not None
    return dec9(estimate.value)


def clusters_of_medium() -> Integers:
    names = [each["cluster"] for each in medium()]
    return integers([sorted(set(names)).index(name) for name in names])


# --- Oracles --------------------------------------------------------------------------


def test_the_oracle_of_two_hundred_units() -> None:
    inputs, expected = case("calibration-medium")
    assert inputs["eps_ppm"] == CLIP_PPM
    found = judged(*told(inputs))
    for estimate, name in [
        (found.slope, "slope"),
        (found.intercept, "citl"),
        (found.intercept_joint, "intercept_joint"),
    ]:
        assert estimate.value is not None
        assert estimate.standard_error is not None
        assert dec12(estimate.value) == expected[name]["dec"]
        assert dec12(estimate.standard_error) == expected[f"{name}_se"]["dec"]
        assert estimate.n == 200


@pytest.mark.parametrize("name", ["separation", "constant"])
def test_the_oracles_without_a_slope_have_an_intercept(name: str) -> None:
    inputs, expected = case(f"calibration-{name}")
    found = judged(*told(inputs))
    assert found.slope == Estimate(n=5, reason=expected["reason"])
    assert found.intercept_joint.reason == expected["reason"]
    assert found.intercept.value is not None
    assert dec12(found.intercept.value) == expected["citl"]["dec"]


# --- Where there is no number ---------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "slope", "intercept"),
    {
        "no units": ([], "empty", "empty"),
        "only events": ([(100_000, 1), (200_000, 1)], "single_class", "single_class"),
        "no event": ([(100_000, 0), (200_000, 0)], "single_class", "single_class"),
        "one probability": (
            [(200_000, 0), (200_000, 1)],
            "constant_forecast",
            None,
        ),
        "one probability once both are clipped": (
            [(0, 0), (CLIP_PPM, 1), (CLIP_PPM - 1, 0)],
            "constant_forecast",
            None,
        ),
        "every event above every other": (
            [(100_000, 0), (200_000, 1)],
            "separation",
            None,
        ),
        "every event below every other": (
            [(100_000, 1), (200_000, 0)],
            "separation",
            None,
        ),
        "a tie at the threshold is quasi-separation": (
            [(100_000, 0), (200_000, 0), (200_000, 1), (300_000, 1)],
            "separation",
            None,
        ),
        "a tie at a threshold from above": (
            [(100_000, 1), (200_000, 0), (200_000, 1), (300_000, 0)],
            "separation",
            None,
        ),
        "an overlap of a millionth": (
            [(100_000, 0), (200_000, 1), (200_001, 0), (300_000, 1)],
            None,
            None,
        ),
        "two ties": (
            [(100_000, 0), (100_000, 1), (200_000, 0), (200_000, 1)],
            None,
            None,
        ),
    }.values(),
)
def test_a_number_is_undefined_for_a_reason(
    units: list[tuple[int, int]], slope: str | None, intercept: str | None
) -> None:
    found = judged(*columns(units))
    assert found.slope.reason == slope
    assert found.intercept_joint.reason == slope
    assert found.intercept.reason == intercept
    assert (found.slope.value is None) == (slope is not None)
    assert (found.intercept.value is None) == (intercept is not None)


@pytest.mark.parametrize(("events", "reason"), [(9, "insufficient"), (10, None)])
def test_a_class_below_the_declared_minimum_prints_nothing(
    events: int, reason: str | None
) -> None:
    units = [(100_000 * (1 + n % 9), int(n < events)) for n in range(40)]
    found = judged(*columns(units), min_class=10)
    assert found.slope.reason == found.intercept.reason == reason
    mirrored = judged(*columns([(p, 1 - y) for p, y in units]), min_class=10)
    assert mirrored.slope.reason == mirrored.intercept.reason == reason


@pytest.mark.parametrize(
    ("clusters", "reason"), [(9, "clusters_lt_min"), (10, None), (11, None)]
)
def test_an_interval_needs_its_clusters(clusters: int, reason: str | None) -> None:
    p_ppm, y = told(case("calibration-medium")[0])
    found = judged(p_ppm, y, np.arange(200) % clusters)
    for estimate in (found.slope, found.intercept, found.intercept_joint):
        assert estimate.value is not None
        assert estimate.interval.reason == reason
        assert (estimate.interval.lo is None) == (reason is not None)


def test_one_cluster_has_no_interval_whatever_a_suite_declares() -> None:
    p_ppm, y = told(case("calibration-medium")[0])
    lax = Rule(level=LEVEL, min_clusters=1, max_undefined=Fraction(0))
    found = judged(p_ppm, y, np.zeros(200, dtype=np.int64), rule=lax)
    assert found.slope.interval.reason == "clusters_lt_min"


def test_clusters_that_are_all_alike_leave_no_interval_of_no_width() -> None:
    units = [(200_000, 0), (200_000, 1), (700_000, 0), (700_000, 1)] * 12
    found = judged(*columns(units), np.arange(48) // 4)
    assert found.slope.interval.reason == "degenerate_variance"
    assert found.slope.interval.lo is None


# --- The fit --------------------------------------------------------------------------


def fitted(units: Sequence[tuple[int, int]]) -> Logistic:
    found = fit_logistic(*columns(units), CLIP_PPM).logistic
    assert found is not None
    return found


def exact_odds(p_ppm: int) -> Decimal:
    clipped = min(max(p_ppm, CLIP_PPM), PPM - CLIP_PPM)
    return (Decimal(clipped) / (PPM - clipped)).ln(WIDE)


def residuals(
    units: Sequence[tuple[int, int]], intercept: Decimal, slope: Decimal
) -> list[tuple[Decimal, Decimal]]:
    """Return y - μ and x unit by unit, with more digits than the product keeps."""
    found = []
    for p, y in units:
        x = exact_odds(p)
        found.append((y - 1 / (1 + (-(intercept + slope * x)).exp(WIDE)), x))
    return found


def settled(residuals: Iterable[Decimal]) -> bool:
    """Tell whether residuals cancel out, to more digits than are published."""
    return abs(sum(residuals, Decimal(0))) < Decimal("1e-12")


@UNHURRIED
@given(UNITS_TOLD)
def test_the_line_solves_the_equations_of_the_likelihood(
    units: list[tuple[int, int]],
) -> None:
    line = fit_logistic(*columns(units), CLIP_PPM).logistic
    assume(line is not None)
    with localcontext(WIDE):
        found = residuals(units, line.intercept, line.slope)
        assert settled(residual for residual, _ in found)
        assert settled(residual * x for residual, x in found)


@UNHURRIED
@given(UNITS_TOLD)
def test_the_intercept_in_the_large_makes_expected_events_those_that_happened(
    units: list[tuple[int, int]],
) -> None:
    p_ppm, y = columns(units)
    counts = tally(np.clip(p_ppm, CLIP_PPM, PPM - CLIP_PPM), y)
    line = fit_shift(counts, CLIP_PPM).logistic
    assume(line is not None)
    assert line.slope == 1
    with localcontext(WIDE):
        found = residuals(units, line.intercept, Decimal(1))
        assert settled(residual for residual, _ in found)


@pytest.mark.parametrize(
    "units",
    {
        "a slope of millions": [
            *[(500_000, 0)] * 100_000,
            (500_000, 1),
            (500_001, 0),
            *[(500_001, 1)] * 100_000,
        ],
        "a slope of minus millions": [
            *[(500_000, 1)] * 100_000,
            (500_000, 0),
            (500_001, 1),
            *[(500_001, 0)] * 100_000,
        ],
        "one event in a hundred thousand": [
            (900_000, 1),
            *[(990_000, 0)] * 100_000,
            (100_000, 0),
        ],
        "from one end to the other": [(0, 1), (PPM, 0), (0, 0), (PPM, 1), (PPM, 0)],
    }.values(),
)
def test_the_climb_arrives_wherever_the_summit_is(units: list[tuple[int, int]]) -> None:
    line = fitted(units)
    with localcontext(WIDE):
        distinct = sorted(set(units))
        found = residuals(distinct, line.intercept, line.slope)
        p_ppm, y = columns(units)
        often = [int(np.sum((p_ppm == p) & (y == each))) for p, each in distinct]
        both = list(zip(often, found, strict=True))
        assert settled(n * residual for n, (residual, _) in both)
        assert settled(n * residual * x for n, (residual, x) in both)


def test_the_intercept_of_a_constant_is_the_difference_of_log_odds() -> None:
    found = judged(*columns([(300_000, 1)] * 2 + [(300_000, 0)] * 3))
    assert found.intercept.value is not None
    expected = odds(400_000).log - odds(300_000).log
    assert dec9(found.intercept.value) == dec9(expected)


def test_a_constant_at_the_events_rate_is_calibrated_and_has_no_slope() -> None:
    units = [(800_000, int(n % 5 != 0)) for n in range(1_000)]
    found = judged(*columns(units))
    assert shown(found.intercept) == "0.000000000"
    assert found.slope.reason == "constant_forecast"
    assert found.intercept.interval.lo is not None
    assert found.intercept.interval.lo < 0 < (found.intercept.interval.hi or 0)


def test_forecasts_that_keep_their_word_have_slope_one_and_no_intercept() -> None:
    units = [
        (p, int(n < p // 100_000))
        for p in range(100_000, PPM, 100_000)
        for n in range(10)
    ]
    found = judged(*columns(units))
    assert shown(found.slope) == "1.000000000"
    assert shown(found.intercept) == "0.000000000"
    assert shown(found.intercept_joint) == "0.000000000"


@pytest.mark.parametrize(
    ("said", "slope", "intercept"),
    {
        "too extreme": ((100_000, 900_000), "below", 0),
        "too timid": ((400_000, 600_000), "above", 0),
    }.values(),
)
def test_a_slope_tells_the_extreme_from_the_timid(
    said: tuple[int, int], slope: str, intercept: int
) -> None:
    """The event happens in a quarter and in three quarters of the units."""
    low, high = said
    units = [(low, int(n == 0)) for n in range(4)] + [
        (high, int(n > 0)) for n in range(4)
    ]
    found = judged(*columns(units))
    assert found.slope.value is not None
    assert ("below" if found.slope.value < 1 else "above") == slope
    assert shown(found.intercept) == dec9(Fraction(intercept))


@pytest.mark.parametrize(("said", "sign"), [(900_000, -1), (100_000, 1)])
def test_an_intercept_tells_who_forecasts_the_event_too_often(
    said: int, sign: int
) -> None:
    found = judged(*columns([(said, n % 2) for n in range(10)]))
    assert found.intercept.value is not None
    assert found.intercept.value * sign > 0


def test_nothing_depends_on_the_context_of_the_thread() -> None:
    inputs, _ = case("calibration-medium")
    before = judged(*told(inputs), clusters_of_medium())
    line = fit_logistic(*told(inputs), CLIP_PPM).logistic
    assert line is not None
    recalibrated = line.apply(123_456)
    odds.cache_clear()
    with localcontext(Context(prec=5, rounding=decimal.ROUND_UP)):
        assert judged(*told(inputs), clusters_of_medium()) == before
        assert line.apply(123_456) == recalibrated


@UNHURRIED
@given(UNITS_TOLD, st.randoms(use_true_random=False))
def test_the_order_of_units_does_not_matter(
    units: list[tuple[int, int]], chance: Any
) -> None:
    order = chance.sample(range(len(units)), len(units))
    shuffled = [units[place] for place in order]
    clusters = np.arange(len(units)) // 2
    p_ppm, y = columns(shuffled)
    assert judged(*columns(units), clusters) == judged(
        p_ppm, y, clusters[np.array(order, dtype=np.int64)]
    )


# --- Recalibration --------------------------------------------------------------------


def test_recalibration_moves_what_was_said_to_what_happened() -> None:
    """Two probabilities have two rates: the line goes through both."""
    line = fitted(
        [(100_000, int(n < 1)) for n in range(4)]
        + [(900_000, int(n < 5)) for n in range(8)]
    )
    assert line.apply(100_000) == 250_000
    assert line.apply(900_000) == 625_000


def test_recalibration_clips_what_it_is_told_as_the_fit_did() -> None:
    line = fitted(
        [(100_000, 0), (100_000, 1), (300_000, 1), (300_000, 1), (300_000, 0)]
    )
    assert line.apply(0) == line.apply(CLIP_PPM) != line.apply(CLIP_PPM + 1)
    assert line.apply(PPM) == line.apply(PPM - CLIP_PPM)


def test_a_fit_says_why_there_is_none() -> None:
    found = fit_logistic(*columns([(100_000, 0), (200_000, 1)]), CLIP_PPM)
    assert (found.logistic, found.n, found.reason) == (None, 2, "separation")


# --- The errors -----------------------------------------------------------------------


@UNHURRIED
@given(
    st.lists(
        st.tuples(st.integers(0, PPM), st.integers(0, 1), st.integers(0, 12)),
        min_size=12,
        max_size=40,
    )
)
def test_the_interval_is_the_sandwich_of_the_definition(
    units: list[tuple[int, int, int]],
) -> None:
    told_units = [(p, y) for p, y, _ in units]
    lax = Rule(level=LEVEL, min_clusters=2, max_undefined=Fraction(0))
    clusters = integers([cluster for _, _, cluster in units])
    found = judged(*columns(told_units), clusters, rule=lax)
    assume(found.slope.value is not None)
    assume(found.slope.interval.lo is not None)
    line = fitted(told_units)
    with localcontext(WIDE):
        information = np.zeros((2, 2), dtype=object)
        sums: dict[int, Any] = {}
        for (r, x), y, cluster in zip(
            residuals(told_units, line.intercept, line.slope),
            (y for _, y in told_units),
            clusters.tolist(),
            strict=True,
        ):
            row = np.array([Decimal(1), x], dtype=object)
            mean = y - r
            information = information + np.outer(row, row) * (mean * (1 - mean))
            sums[cluster] = sums.get(cluster, 0) + row * r
        (a, b), (_, d) = information
        inverse = np.array([[d, -b], [-b, a]], dtype=object) / (a * d - b * b)
        middle = sum(np.outer(each, each) for each in sums.values())
        variance = inverse.dot(middle).dot(inverse)[1][1]
        reach = Decimal("1.959963984540054235524594") * variance.sqrt()
        assert found.slope.interval.hi is not None
        assert found.slope.value is not None
        width = found.slope.interval.hi - found.slope.value
        error = abs(Fraction(reach) - width)
        assert error <= Fraction(1, 10**9) * (1 + width)


def test_the_fits_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    p_ppm, y = told(case("calibration-medium")[0])
    clusters = clusters_of_medium()
    found = judged(p_ppm, y, clusters)
    x = np.array([float(exact_odds(p)) for p in p_ppm.tolist()])
    grouped = {"groups": clusters, "use_correction": False}
    line = api.GLM(y, api.add_constant(x), family=api.families.Binomial())
    shift = api.GLM(y, np.ones_like(x), offset=x, family=api.families.Binomial())
    theirs = line.fit(tol=1e-14, cov_type="cluster", cov_kwds=grouped).conf_int()
    large = shift.fit(tol=1e-14, cov_type="cluster", cov_kwds=grouped).conf_int()
    for estimate, (low, high) in [
        (found.intercept_joint, theirs[0]),
        (found.slope, theirs[1]),
        (found.intercept, large[0]),
    ]:
        assert float(estimate.interval.lo or 0) == pytest.approx(low, abs=1e-9)
        assert float(estimate.interval.hi or 0) == pytest.approx(high, abs=1e-9)


def test_the_line_is_that_of_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    p_ppm, y = told(case("calibration-medium")[0])
    x = np.array([[float(exact_odds(p))] for p in p_ppm.tolist()])
    theirs = linear.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(x, y)
    found = judged(p_ppm, y)
    assert float(found.slope.value or 0) == pytest.approx(theirs.coef_[0][0], abs=1e-5)


# --- The bar --------------------------------------------------------------------------

GATE = Gate(
    slope=(Fraction("0.7"), Fraction("1.4")),
    intercept=(Fraction("-0.4"), Fraction("0.4")),
    min_class=100,
)


def estimate(value: str, lo: str | None, hi: str | None) -> Estimate:
    interval = (
        Interval(reason="clusters_lt_min")
        if lo is None or hi is None
        else Interval(lo=Fraction(lo), hi=Fraction(hi))
    )
    return Estimate(n=200, value=Fraction(value), interval=interval)


NO_SLOPE = Estimate(n=200, reason="constant_forecast")
GOOD_SLOPE, GOOD_INTERCEPT = estimate("1", "0.9", "1.1"), estimate("0", "-0.1", "0.1")


@pytest.mark.parametrize(
    ("slope", "intercept", "status", "reason"),
    {
        "both inside": (GOOD_SLOPE, GOOD_INTERCEPT, "pass", None),
        "both at an end": (
            estimate("0.7", "0.1", "1.9"),
            estimate("0.4", "-1", "2"),
            "pass",
            None,
        ),
        "a slope just below, its interval reaching in": (
            estimate("0.699999999", "0.1", "0.7"),
            GOOD_INTERCEPT,
            "warn",
            None,
        ),
        "an intercept just above, its interval reaching in": (
            GOOD_SLOPE,
            estimate("0.400000001", "0.4", "0.9"),
            "warn",
            None,
        ),
        "a slope wholly below": (
            estimate("0.5", "0.1", "0.699999999"),
            GOOD_INTERCEPT,
            "fail",
            None,
        ),
        "a slope wholly above": (
            estimate("2", "1.400000001", "3"),
            GOOD_INTERCEPT,
            "fail",
            None,
        ),
        "an intercept wholly below": (
            GOOD_SLOPE,
            estimate("-1", "-2", "-0.400000001"),
            "fail",
            None,
        ),
        "an intercept wholly above": (
            GOOD_SLOPE,
            estimate("1", "0.400000001", "2"),
            "fail",
            None,
        ),
        "no slope": (NO_SLOPE, GOOD_INTERCEPT, "insufficient", "constant_forecast"),
        "no slope, and an intercept wholly outside": (
            NO_SLOPE,
            estimate("1", "0.5", "2"),
            "fail",
            None,
        ),
        "no interval": (
            estimate("1", None, None),
            GOOD_INTERCEPT,
            "insufficient",
            "clusters_lt_min",
        ),
    }.values(),
)
def test_the_bar_has_three_answers_and_one_for_too_little(
    slope: Estimate, intercept: Estimate, status: str, reason: str | None
) -> None:
    found = Calibration(
        slope=slope,
        intercept=intercept,
        intercept_joint=GOOD_INTERCEPT,
        events=100,
        others=100,
    )
    bar = calibration_bar(found, GATE)
    assert (bar.status, bar.reason) == (status, reason)


@pytest.mark.parametrize(
    ("events", "others", "status"),
    [
        (100, 100, "pass"),
        (99, 100, "insufficient"),
        (100, 99, "insufficient"),
        (0, 100_000, "insufficient"),
    ],
)
def test_the_bar_needs_enough_units_of_either_outcome(
    events: int, others: int, status: str
) -> None:
    found = Calibration(
        slope=GOOD_SLOPE,
        intercept=GOOD_INTERCEPT,
        intercept_joint=GOOD_INTERCEPT,
        events=events,
        others=others,
    )
    assert calibration_bar(found, GATE).status == status


def test_two_hundred_units_of_the_oracle_are_too_few_for_the_bar() -> None:
    found = judged(*told(case("calibration-medium")[0]), clusters_of_medium())
    assert calibration_bar(found, GATE).status == "insufficient"
    lax = Gate(slope=GATE.slope, intercept=GATE.intercept, min_class=10)
    # The slope .605 lies outside, its interval from .452 to .759 reaches in.
    assert calibration_bar(found, lax).status == "warn"
