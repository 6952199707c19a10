"""What forecasts of numbers cost: the oracles, and definitions written out plainly."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.quantities import (
    Quantile,
    critical_fractile,
    crps_ensemble,
    crps_fair,
    mean_pinball,
    newsvendor_cost,
    pinball,
    quantile_at,
    weighted_interval_score,
)
from tests.oracle_cases import case, exactly

HALF = Fraction(1, 2)
NUMBERS = st.integers(-400, 400).map(lambda each: Fraction(each, 8))
COSTS = st.integers(1, 12).map(Fraction)


def quantiles(levels: Sequence[str], values: Sequence[str]) -> list[Quantile]:
    return [
        (Fraction(level), Fraction(value))
        for level, value in zip(levels, values, strict=True)
    ]


# --- Newsvendor -----------------------------------------------------------------------


def test_a_newsvendors_costs_are_those_of_the_oracle() -> None:
    inputs, expected = case("newsvendor")
    under, over = Fraction(inputs["p"]), Fraction(inputs["h"])
    pairs = [
        (Fraction(q), Fraction(y))
        for q, y in zip(inputs["q"], inputs["y"], strict=True)
    ]
    level = critical_fractile(under, over)
    losses = [pinball(level, q, y) for q, y in pairs]
    costs = [newsvendor_cost(q, y, underage=under, overage=over) for q, y in pairs]
    assert level == exactly(expected["critical_fractile"])
    assert losses == [exactly(each) for each in expected["pinball"]]
    assert sum(losses) / len(losses) == exactly(expected["mean_pinball"])
    assert sum(costs) / len(costs) == exactly(expected["mean_cost"])


@given(order=NUMBERS, demand=NUMBERS, under=COSTS, over=COSTS)
def test_a_newsvendor_pays_for_each_unit_too_few_or_too_many(
    order: Fraction, demand: Fraction, under: Fraction, over: Fraction
) -> None:
    cost = newsvendor_cost(order, demand, underage=under, overage=over)
    assert cost == (
        under * (demand - order) if demand > order else over * (order - demand)
    )


@given(demands=st.lists(NUMBERS, min_size=1, max_size=9), under=COSTS, over=COSTS)
def test_the_critical_fractile_of_the_demands_is_the_cheapest_order(
    demands: list[Fraction], under: Fraction, over: Fraction
) -> None:
    def total(order: Fraction) -> Fraction:
        return sum(
            (newsvendor_cost(order, d, underage=under, overage=over) for d in demands),
            Fraction(0),
        )

    level = critical_fractile(under, over)
    ordered = sorted(demands)
    fractile = next(
        each
        for place, each in enumerate(ordered, 1)
        if Fraction(place, len(ordered)) >= level
    )
    assert total(fractile) == min(map(total, demands))


LADDER = quantiles(["0.25", "0.5", "0.75"], ["10", "20", "40"])


@pytest.mark.parametrize(
    ("level", "interpolates", "value"),
    {
        "stated": ("0.5", False, "20"),
        "stated, and it may be interpolated": ("0.75", True, "40"),
        "between two, which is not declared": ("0.6", False, None),
        "between two": ("0.6", True, "28"),
        "below the lowest": ("0.24", True, None),
        "the lowest": ("0.25", True, "10"),
        "above the highest": ("0.76", True, None),
    }.values(),
)
def test_a_level_is_read_between_its_neighbours_only_where_that_is_declared(
    level: str, *, interpolates: bool, value: str | None
) -> None:
    found = quantile_at(LADDER, Fraction(level), interpolates=interpolates)
    assert found == (None if value is None else Fraction(value))


def test_of_no_quantiles_there_is_no_value_at_any_level() -> None:
    assert quantile_at([], HALF, interpolates=True) is None


# --- Weighted interval score ----------------------------------------------------------


def test_the_weighted_interval_score_is_the_oracles() -> None:
    inputs, expected = case("wis")
    observed = Fraction(inputs["y"])
    stated = quantiles(inputs["levels"], inputs["q"])
    score = weighted_interval_score(stated, observed)
    assert score is not None
    assert score.score == exactly(expected["wis"])
    assert 2 * mean_pinball(stated, observed) == exactly(
        expected["crps_quantile_mean2pinball"]
    )


@st.composite
def central(draw: st.DrawFn) -> list[Quantile]:
    """Return quantiles at the median and some central intervals."""
    lower = draw(st.sets(st.integers(1, 49), max_size=5))
    levels = sorted({*lower, 50, *(100 - each for each in lower)})
    values = draw(st.lists(NUMBERS, min_size=len(levels), max_size=len(levels)))
    return [
        (Fraction(level, 100), value)
        for level, value in zip(levels, sorted(values), strict=True)
    ]


def by_definition(stated: list[Quantile], y: Fraction) -> Fraction:
    """Return the score as Bracher et al. (2021) write it, equation (2)."""
    at = dict(stated)
    total = abs(y - at[HALF]) / 2
    intervals = [level for level in at if level < HALF]
    for level in intervals:
        alpha, lower, upper = 2 * level, at[level], at[1 - level]
        interval = upper - lower
        if y < lower:
            interval += 2 / alpha * (lower - y)
        if y > upper:
            interval += 2 / alpha * (y - upper)
        total += alpha / 2 * interval
    return total / (len(intervals) + HALF)


@given(stated=central(), observed=NUMBERS)
def test_the_score_is_the_definitions_and_its_parts_sum_to_it(
    stated: list[Quantile], observed: Fraction
) -> None:
    score = weighted_interval_score(stated, observed)
    assert score is not None
    assert score.score == by_definition(stated, observed)
    parts = (score.dispersion, score.overprediction, score.underprediction)
    assert sum(parts) == score.score
    assert min(parts) >= 0


@given(stated=central(), observed=NUMBERS)
def test_nobody_over_and_underpredicts_one_number(
    stated: list[Quantile], observed: Fraction
) -> None:
    score = weighted_interval_score(stated, observed)
    assert score is not None
    assert 0 in {score.overprediction, score.underprediction}


def test_within_the_innermost_interval_only_its_width_and_the_median_cost() -> None:
    stated = quantiles(["0.25", "0.5", "0.75"], ["1", "2", "5"])
    at_edge = weighted_interval_score(stated, Fraction(5))
    beyond = weighted_interval_score(stated, Fraction(6))
    assert at_edge is not None
    assert beyond is not None
    # (5 - 2) / 2 for the median; at 6 one more for the interval that was left.
    assert at_edge.underprediction == Fraction(3, 2) / Fraction(3, 2)
    assert beyond.underprediction == (Fraction(4, 2) + 1) / Fraction(3, 2)


@pytest.mark.parametrize(
    "levels",
    {
        "no median": ["0.25", "0.75"],
        "an interval without its other end": ["0.25", "0.5"],
        "ends that mirror nothing": ["0.2", "0.5", "0.75"],
        "nothing": [],
    }.values(),
)
def test_levels_that_are_no_central_intervals_have_no_interval_score(
    levels: list[str],
) -> None:
    stated = quantiles(levels, ["1", "2", "3"][: len(levels)])
    assert weighted_interval_score(stated, Fraction(1)) is None


@given(level=st.integers(1, 99), observed=NUMBERS)
def test_a_quantile_that_is_met_costs_nothing(level: int, observed: Fraction) -> None:
    assert pinball(Fraction(level, 100), observed, observed) == 0


# --- CRPS -----------------------------------------------------------------------------


def test_the_crps_of_an_ensemble_is_the_oracles() -> None:
    inputs, expected = case("crps-ensemble")
    members = [Fraction(each) for each in inputs["members"]]
    observed = Fraction(inputs["y"])
    assert crps_ensemble(members, observed) == exactly(expected["crps_ecdf"])
    assert crps_fair(members, observed) == exactly(expected["crps_fair"])


@given(members=st.lists(NUMBERS, min_size=2, max_size=9), observed=NUMBERS)
def test_the_crps_is_the_distance_less_half_of_the_spread(
    members: list[Fraction], observed: Fraction
) -> None:
    size = len(members)
    distance = sum(abs(x - observed) for x in members) / Fraction(size)
    pairs = sum(abs(x - other) for x, other in product(members, members)) / Fraction(2)
    assert crps_ensemble(members, observed) == distance - pairs / size**2
    assert crps_fair(members, observed) == distance - pairs / (size * (size - 1))


@given(member=NUMBERS, observed=NUMBERS)
def test_one_sample_is_as_far_off_as_it_is_and_never_fairly_judged(
    member: Fraction, observed: Fraction
) -> None:
    assert crps_ensemble([member], observed) == abs(member - observed)
    assert crps_fair([member], observed) is None
