"""How decided forecasts are."""

from fractions import Fraction

import pytest
from hypothesis import given

from ledger.projections.exact import PPM
from ledger.projections.sharpness import sharpness
from tests.tallies import UNHURRIED, UNITS_TOLD, case, counted, exactly, tally_of

DECISIVE = (Fraction(1, 10), Fraction(9, 10))


def test_the_oracle() -> None:
    inputs, expected = case("sharpness")
    found = sharpness(counted(inputs), DECISIVE)
    assert found.distinct_values == expected.pop("distinct_values")
    for name, each in expected.items():
        assert exactly(getattr(found, name).value, each), name
    assert found.mean_p.n == 200
    assert found.decisive_hit_rate.n == 99


@pytest.mark.parametrize(
    ("p_ppm", "decided"),
    [(100_000, 1), (100_001, 0), (899_999, 0), (900_000, 1), (0, 1), (PPM, 1)],
)
def test_the_thresholds_themselves_are_decisive(p_ppm: int, decided: int) -> None:
    found = sharpness(tally_of([(p_ppm, 1)]), DECISIVE)
    assert found.decisive_fraction.value == decided


@pytest.mark.parametrize(
    ("p_ppm", "decided"), [(333_333, 1), (333_334, 0), (666_666, 0), (666_667, 1)]
)
def test_thresholds_between_two_millionths_cut_there(p_ppm: int, decided: int) -> None:
    found = sharpness(tally_of([(p_ppm, 1)]), (Fraction(1, 3), Fraction(2, 3)))
    assert found.decisive_fraction.value == decided


@pytest.mark.parametrize(
    ("p_ppm", "y", "hits"), [(PPM, 1, 1), (PPM, 0, 0), (0, 0, 1), (0, 1, 0)]
)
def test_a_decisive_forecast_hits_what_it_pointed_at(
    p_ppm: int, y: int, hits: int
) -> None:
    found = sharpness(tally_of([(p_ppm, y), (500_000, 1 - y)]), DECISIVE)
    assert found.decisive_hit_rate.value == hits
    assert found.decisive_hit_rate.n == 1


def test_where_nothing_is_decisive_the_rate_of_hits_is_null_and_not_zero() -> None:
    found = sharpness(tally_of([(500_000, 1)]), DECISIVE)
    assert found.decisive_fraction.value == 0
    assert found.told()["decisive_hit_rate"] == {
        "value": None,
        "n": 0,
        "reason": "empty",
    }


def test_of_no_units_everything_is_null() -> None:
    found = sharpness(tally_of([]), DECISIVE).told()
    assert found.pop("distinct_values") == 0
    assert {(each["value"], each["reason"]) for each in found.values()} == {
        (None, "empty")
    }


@UNHURRIED
@given(UNITS_TOLD.filter(bool))
def test_the_distribution_is_that_of_the_definition(
    units: list[tuple[int, int]],
) -> None:
    found = sharpness(tally_of(units), DECISIVE)
    said = [Fraction(p, PPM) for p, _ in units]
    mean = sum(said) / len(said)
    assert found.mean_p.value == mean
    assert found.variance_p.value == sum((p - mean) ** 2 for p in said) / len(said)
    half = Fraction(1, 2)
    assert found.mean_abs_from_half.value == sum(abs(p - half) for p in said) / len(
        said
    )
    assert found.distinct_values == len(set(said))
