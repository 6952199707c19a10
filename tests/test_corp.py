"""The curve that never falls, what it takes apart, and recalibration along it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.corp import Corp, corp, fit_isotonic, pooled
from ledger.projections.exact import PPM
from ledger.projections.tally import Tally
from tests.tallies import (
    UNHURRIED,
    UNITS_TOLD,
    case,
    counted,
    exactly,
    plain_brier,
    tally_of,
)


def found_of(counts: Tally) -> Corp:
    found = corp(counts)
    assert found is not None
    return found


def plain_curve(units: list[tuple[int, int]]) -> dict[int, Fraction]:
    """Return the isotonic regression by its minimax formula (Barlow et al. 1972)."""
    values = sorted({p for p, _ in units})

    def rate(start: int, end: int) -> Fraction:
        among = [y for p, y in units if start <= p <= end]
        return Fraction(sum(among), len(among))

    return {
        at: max(
            min(rate(start, end) for end in values if end >= at)
            for start in values
            if start <= at
        )
        for at in values
    }


@pytest.mark.parametrize("name", ["corp-tiny", "corp-medium"])
def test_the_oracles_have_these_blocks_and_parts(name: str) -> None:
    inputs, expected = case(name)
    found = found_of(counted(inputs))
    assert [
        {"n": b.n, "ones": b.ones, "p_max": b.p_max_ppm, "p_min": b.p_min_ppm}
        for b in found.blocks
    ] == expected["blocks"]
    assert exactly(found.brier, expected["brier"])
    assert exactly(found.miscalibration, expected["mcb"])
    assert exactly(found.discrimination, expected["dsc"])
    assert exactly(found.uncertainty, expected["unc"])


def test_there_is_no_curve_without_units() -> None:
    assert corp(tally_of([])) is None
    assert fit_isotonic(tally_of([])) is None


def test_equal_rates_side_by_side_are_one_block() -> None:
    blocks = pooled(tally_of([(100_000, 0), (100_000, 1), (200_000, 0), (200_000, 1)]))
    assert [(each.n, each.ones) for each in blocks] == [(4, 2)]


def test_equal_probabilities_are_pooled_before_anything_is_compared() -> None:
    """Sorted by outcome within a tie, they would be two blocks."""
    blocks = pooled(tally_of([(300_000, 0), (300_000, 1)]))
    assert [(each.n, each.ones) for each in blocks] == [(2, 1)]


def test_a_constant_at_the_events_rate_is_calibrated_and_discriminates_nothing() -> (
    None
):
    found = found_of(tally_of([(800_000, 1)] * 4 + [(800_000, 0)]))
    assert found.miscalibration == found.discrimination == 0


def test_who_is_always_wrong_discriminates_nothing_by_a_curve_that_rises() -> None:
    found = found_of(tally_of([(0, 1), (PPM, 0)]))
    assert found.brier == 1
    assert found.discrimination == 0
    assert found.miscalibration == Fraction(3, 4)


def test_a_block_is_told_in_decimals() -> None:
    (block,) = pooled(tally_of([(300_000, 0), (300_000, 1), (300_000, 1)]))
    assert block.told() == {
        "p_min": "0.300000000000",
        "p_max": "0.300000000000",
        "n": 3,
        "ones": 2,
        "rate": "0.666666666667",
    }


@UNHURRIED
@given(UNITS_TOLD.filter(bool))
def test_the_curve_is_the_isotonic_regression(units: list[tuple[int, int]]) -> None:
    found, plain = found_of(tally_of(units)), plain_curve(units)
    for block in found.blocks:
        for p in plain:
            if block.p_min_ppm <= p <= block.p_max_ppm:
                assert block.rate == plain[p]
    recalibrated = sum((plain[p] - y) ** 2 for p, y in units) / len(units)
    whole = Fraction(sum(y for _, y in units), len(units))
    assert found.brier == plain_brier(units)
    assert found.miscalibration == plain_brier(units) - recalibrated
    assert found.discrimination == whole * (1 - whole) - recalibrated


@UNHURRIED
@given(UNITS_TOLD.filter(bool))
def test_blocks_hold_all_units_and_their_rates_rise(
    units: list[tuple[int, int]],
) -> None:
    blocks = pooled(tally_of(units))
    rates = [each.rate for each in blocks]
    assert rates == sorted(set(rates))
    assert sum(each.n for each in blocks) == len(units)
    assert sum(each.p_sum_ppm for each in blocks) == sum(p for p, _ in units)


# Two blocks, with means .2 and .6 and rates ¼ and ¾.
TWO_BLOCKS = [
    *[(100_000, y) for y in (0, 1)],
    *[(300_000, y) for y in (0, 0)],
    *[(600_000, y) for y in (1, 1, 1, 0)],
]


@pytest.mark.parametrize(
    ("said", "recalibrated"),
    {
        "below the first mean": (0, 250_000),
        "just below it": (199_999, 250_000),
        "at it": (200_000, 250_000),
        # (¾ - ¼) / (.6 - .2) = 5/4 a millionth, and ties go to the even one.
        "just above it": (200_001, 250_001),
        "two above it, at a tie": (200_002, 250_002),
        "six above it, at a tie": (200_006, 250_008),
        "half-way": (400_000, 500_000),
        "just below the last mean": (599_999, 749_999),
        "at the last mean": (600_000, 750_000),
        "above it": (PPM, 750_000),
    }.values(),
)
def test_recalibration_is_straight_between_the_means_of_blocks(
    said: int, recalibrated: int
) -> None:
    isotonic = fit_isotonic(tally_of(TWO_BLOCKS))
    assert isotonic is not None
    assert isotonic.apply(said) == recalibrated


def test_a_past_of_one_outcome_is_a_constant() -> None:
    isotonic = fit_isotonic(tally_of([(200_000, 1), (700_000, 1)]))
    assert isotonic is not None
    assert {isotonic.apply(p) for p in (0, 450_000, PPM)} == {PPM}


@UNHURRIED
@given(UNITS_TOLD.filter(bool), st.lists(st.integers(0, PPM), min_size=2))
def test_recalibration_never_changes_an_order(
    units: list[tuple[int, int]], said: list[int]
) -> None:
    isotonic = fit_isotonic(tally_of(units))
    assert isotonic is not None
    recalibrated = [isotonic.apply(p) for p in sorted(said)]
    assert recalibrated == sorted(recalibrated)
    assert all(0 <= p <= PPM for p in recalibrated)


def test_the_curve_is_that_of_scikit_learn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    inputs, _ = case("corp-medium")
    counts = counted(inputs)
    rates = counts.happened / counts.said
    theirs = isotonic.IsotonicRegression().fit_transform(
        counts.p_ppm / PPM, rates, sample_weight=counts.said
    )
    ours = [
        float(block.rate)
        for block in found_of(counts).blocks
        for p in counts.p_ppm.tolist()
        if block.p_min_ppm <= p <= block.p_max_ppm
    ]
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
