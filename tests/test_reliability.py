"""Calibration error by declared bins, and the table that it comes from."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.exact import PPM, dec12
from ledger.projections.reliability import Reliability, bins_of, reliability, wilson
from ledger.projections.tally import Tally
from tests.tallies import LEVEL, UNHURRIED, UNITS_TOLD, case, counted, exactly, tally_of

WIDTH, MASS = "equal_width_left_closed/10", "equal_mass/10"


def table(counts: Tally, binning: str = WIDTH, min_bin: int = 20) -> Reliability:
    return reliability(counts, binning=binning, level=LEVEL, min_bin=min_bin)


def agrees(told: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Tell whether a bin is told as the oracle lists it."""
    names = {"wilson_lo": "lo", "wilson_hi": "hi"}
    return all(
        told[names.get(name, name)] == (each["dec"] if isinstance(each, dict) else each)
        for name, each in expected.items()
    )


def test_bins_are_closed_on_the_left() -> None:
    inputs, expected = case("ece-edges")
    counts = counted(inputs)
    places = dict(
        zip(counts.p_ppm.tolist(), bins_of(counts, WIDTH).tolist(), strict=True)
    )
    assert [places[p] for p in inputs["p_ppm"]] == expected["bin_index"]
    found = table(counts)
    assert exactly(found.ece.value, expected["ece"])
    assert exactly(found.mce.value, expected["mce"])
    for each, line in zip(found.bins, expected["table"], strict=True):
        assert agrees(each.told(), line)


def test_the_oracle_of_two_hundred_units_in_both_binnings() -> None:
    inputs, expected = case("ece-medium")
    counts = counted(inputs)
    width, mass = table(counts, WIDTH), table(counts, MASS)
    assert exactly(width.ece.value, expected["ece_width"])
    assert exactly(width.mce.value, expected["mce_width"])
    assert exactly(mass.ece.value, expected["ece_mass"])
    assert exactly(mass.mce.value, expected["mce_mass"])
    for each, line in zip(width.bins, expected["reliability_width"], strict=True):
        assert agrees(each.told(), line)
    assert (width.ece.n, width.mce.n) == (200, 200)


def test_an_empty_bin_is_listed_and_adds_nothing() -> None:
    found = table(tally_of([(50_000, 0)]))
    assert [each.told() for each in found.bins[1:]] == [
        {"bin": place, "n": 0} for place in range(1, 10)
    ]
    assert found.ece.value == Fraction(1, 20)


def test_of_no_units_the_errors_are_null() -> None:
    found = table(tally_of([]), MASS)
    assert found.ece.told() == {"value": None, "n": 0, "reason": "empty"}
    assert found.mce.told() == found.ece.told()
    assert len(found.bins) == 10


@pytest.mark.parametrize(("n", "is_small"), [(19, True), (20, False)])
def test_a_bin_below_the_declared_size_is_small(n: int, *, is_small: bool) -> None:
    found = table(tally_of([(50_000, 0)] * n), min_bin=20)
    assert found.bins[0].told()["is_small"] is is_small


def test_a_binning_that_nobody_defined_is_refused() -> None:
    with pytest.raises(ValueError, match="no binning is called quantile/10"):
        bins_of(tally_of([]), "quantile/10")


def test_one_bin_takes_everything() -> None:
    found = table(tally_of([(0, 0), (PPM, 1)]), "equal_width_left_closed/1")
    assert [each.n for each in found.bins] == [2]
    assert found.ece.value == 0


@UNHURRIED
@given(UNITS_TOLD.filter(bool), st.integers(1, 30))
def test_bins_of_equal_mass_are_cut_by_how_many_were_told_less(
    units: list[tuple[int, int]], bins: int
) -> None:
    counts = tally_of(units)
    found = bins_of(counts, f"equal_mass/{bins}").tolist()
    said = [p for p, _ in units]
    assert found == [
        bins * sum(other < p for other in said) // len(said) for p in sorted(set(said))
    ]


@UNHURRIED
@given(UNITS_TOLD.filter(bool), st.integers(1, 30))
def test_the_errors_are_those_of_the_definition(
    units: list[tuple[int, int]], bins: int
) -> None:
    groups: dict[int, list[tuple[Fraction, int]]] = {}
    for p, y in units:
        place = min(p * bins // PPM, bins - 1)
        groups.setdefault(place, []).append((Fraction(p, PPM), y))
    errors = {
        place: abs(sum((p - y for p, y in members), Fraction(0))) / len(members)
        for place, members in groups.items()
    }
    weighted = sum(len(groups[place]) * error for place, error in errors.items())
    found = table(tally_of(units), f"equal_width_left_closed/{bins}")
    assert found.ece.value == weighted / len(units)
    assert found.mce.value == max(errors.values())
    assert sum(each.n for each in found.bins) == len(units)


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_the_bounds_of_a_rate_reach_its_ends_and_no_further(n: int) -> None:
    assert dec12(wilson(0, n, LEVEL).lo) == "0.000000000000"
    assert dec12(wilson(n, n, LEVEL).hi) == "1.000000000000"


@UNHURRIED
@given(st.integers(1, 500), st.data())
def test_the_bounds_solve_the_score_equation(n: int, data: st.DataObject) -> None:
    """Both are the rates π with (k/n - π)² n = z² π (1 - π)."""
    ones = data.draw(st.integers(0, n))
    z = Fraction(Decimal("1.95996398454005423552459443052"))
    for bound in wilson(ones, n, LEVEL):
        gap = (Fraction(ones, n) - bound) ** 2 * n - z * z * bound * (1 - bound)
        assert abs(gap) < Fraction(1, 10**24)


def test_the_bounds_are_those_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for ones, n in [(0, 5), (3, 21), (10, 61), (33, 33)]:
        low, high = proportion.proportion_confint(ones, n, alpha=0.05, method="wilson")
        ours = wilson(ones, n, LEVEL)
        assert abs(float(ours.lo) - low) < 1e-12
        assert abs(float(ours.hi) - high) < 1e-12
