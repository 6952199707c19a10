"""Numbers that every machine computes alike."""

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.errors import RefusedError
from ledger.projections.exact import (
    PPM,
    dec9,
    dec12,
    divide_half_even,
    exact_sum,
    exact_text,
    largest_remainder,
    picobits,
    piconats,
    ppm_vector,
    sum_of_ratios,
    weighted_mean,
)

# A busy machine is slow, and that says nothing about a number.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("texts", "ppm"),
    [
        (("0", "1"), (0, 1_000_000)),
        (("0.5", "0.5"), (500_000, 500_000)),
        (("0.000001", "0.999999"), (1, 999_999)),
    ],
)
def test_a_vector_is_read_in_parts_per_million(
    texts: tuple[str, ...], ppm: tuple[int, ...]
) -> None:
    assert ppm_vector(texts) == ppm


def test_a_seventh_decimal_is_refused_and_never_rounded() -> None:
    with pytest.raises(RefusedError, match="too-many-places"):
        ppm_vector(("0.0000001",))


@pytest.mark.parametrize(
    ("shares", "ppm"),
    {
        "thirds: the one that is missing goes to the first": (
            ["1/3", "1/3", "1/3"],
            (333_334, 333_333, 333_333),
        ),
        "the largest remainder gets it, wherever it stands": (
            ["5/12", "7/12"],
            (416_667, 583_333),
        ),
        "of two halves of a millionth, the first gets it": (
            ["1/128", "127/128"],
            (7_813, 992_187),
        ),
        "nothing is missing": (["1/4", "3/4"], (250_000, 750_000)),
        "zero stays zero": (["0", "1"], (0, 1_000_000)),
    }.values(),
)
def test_shares_become_parts_per_million_by_the_largest_remainder(
    shares: list[str], ppm: tuple[int, ...]
) -> None:
    assert largest_remainder([Fraction(share) for share in shares]) == ppm


@UNHURRIED
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8).filter(any))
def test_quantised_shares_sum_to_one_and_are_off_by_less_than_a_millionth(
    counts: list[int],
) -> None:
    shares = [Fraction(count, sum(counts)) for count in counts]
    found = largest_remainder(shares)
    assert sum(found) == PPM
    assert all(
        abs(ppm - share * PPM) < 1 for ppm, share in zip(found, shares, strict=True)
    )


@pytest.mark.parametrize(
    ("p_ppm", "bits", "nats"),
    [
        (1_000_000, 0, 0),
        (500_000, -1_000_000_000_000, -693_147_180_560),
        (250_000, -2_000_000_000_000, -1_386_294_361_120),
        (1_000, -9_965_784_284_662, -6_907_755_278_982),
        (1, -19_931_568_569_324, -13_815_510_557_964),
        (999_999, -1_442_696, -1_000_001),
    ],
)
def test_logarithms_are_counted_in_units_of_a_millionth_of_a_millionth(
    p_ppm: int, bits: int, nats: int
) -> None:
    assert (picobits(p_ppm), piconats(p_ppm)) == (bits, nats)


def test_the_logarithm_of_nothing_is_no_number() -> None:
    assert picobits(0) is None
    assert piconats(0) is None


def test_the_thread_s_own_decimal_context_changes_no_logarithm() -> None:
    getcontext().prec, before = 5, getcontext().prec
    try:
        assert picobits(300_000) == -1_736_965_594_166
    finally:
        getcontext().prec = before


@UNHURRIED
@given(st.integers(1, PPM))
def test_a_logarithm_agrees_with_twice_as_many_digits(p_ppm: int) -> None:
    exact = (Decimal(p_ppm) / PPM).ln() / Decimal(2).ln()
    found = picobits(p_ppm)
    assert found is not None
    assert abs(found - exact * 10**12) < Decimal("0.51")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("5/16", "0.312500000000"),
        ("-1/4", "-0.250000000000"),
        ("1/3", "0.333333333333"),
        ("2/3", "0.666666666667"),
        ("0", "0.000000000000"),
        ("100", "100.000000000000"),
        # A half of the last place goes to the even side, in both directions.
        ("1/2000000000000", "0.000000000000"),
        ("3/2000000000000", "0.000000000002"),
        ("-1/2000000000000", "0.000000000000"),
        ("-3/2000000000000", "-0.000000000002"),
    ],
)
def test_numbers_are_shown_with_twelve_places_and_never_as_minus_zero(
    value: str, shown: str
) -> None:
    assert dec12(Fraction(value)) == shown


@pytest.mark.parametrize(
    ("denominator", "is_shown"), [(10**18 - 1, True), (10**18, False)]
)
def test_a_fraction_is_shown_while_its_denominator_is_below_ten_to_the_eighteenth(
    denominator: int, *, is_shown: bool
) -> None:
    assert (exact_text(Fraction(1, denominator)) is not None) is is_shown


def test_a_whole_number_is_shown_as_a_fraction_too() -> None:
    assert exact_text(Fraction(0)) == "0/1"


@pytest.mark.parametrize(
    ("numerator", "denominator", "quotient"),
    [(1, 2, 0), (3, 2, 2), (5, 2, 2), (-1, 2, 0), (-3, 2, -2), (7, 3, 2), (8, 3, 3)],
)
def test_a_half_is_rounded_to_the_even_side(
    numerator: int, denominator: int, quotient: int
) -> None:
    assert divide_half_even(numerator, denominator) == quotient


def test_a_mean_of_scores_weighs_each_as_stated() -> None:
    assert weighted_mean([490, 250, 40], [24, 36, 12]) == 295


def test_a_sum_that_leaves_64_bits_is_still_exact() -> None:
    column = np.full(5, 2**62, dtype=np.int64)
    assert exact_sum(column) == 5 * 2**62
    assert exact_sum(-column) == -5 * 2**62
    assert exact_sum(column[:0]) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("0.0000000005"), "0.000000000"),
        (Decimal("0.0000000015"), "0.000000002"),
        (Decimal("-0.0000000015"), "-0.000000002"),
        (Decimal("-0.0000000004"), "0.000000000"),
        (Fraction(-1, 3), "-0.333333333"),
        (Decimal("12345678901234567890.5"), "12345678901234567890.500000000"),
    ],
)
def test_a_fitted_number_has_nine_places(value: Fraction | Decimal, text: str) -> None:
    assert dec9(value) == text


@UNHURRIED
@given(st.lists(st.tuples(st.integers(), st.integers(1, 10**6)), max_size=30))
def test_a_sum_of_ratios_is_the_sum_of_fractions(ratios: list[tuple[int, int]]) -> None:
    assert sum_of_ratios(ratios) == sum(
        (Fraction(*each) for each in ratios), Fraction(0)
    )
