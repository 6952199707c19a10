"""Quantiles of the normal distribution."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

import pytest

from ledger.projections.normal import normal_quantile


@pytest.mark.parametrize(
    ("level", "digits"),
    {
        "nine tenths": ("0.9", "1.644853626951472714863848907991632136083"),
        "95 of a hundred": ("0.95", "1.959963984540054235524594430520551527955"),
        "nothing": ("0", "0"),
    }.values(),
)
def test_known_quantiles_to_the_digits_that_tables_give(
    level: str, digits: str
) -> None:
    found = normal_quantile(Fraction(level))
    assert abs(found - Decimal(digits)) < Decimal(10) ** -(len(digits) - 3)


@pytest.mark.parametrize("thousandths", range(1, 1_000, 37))
def test_quantiles_are_those_of_the_standard_library(thousandths: int) -> None:
    level = Fraction(thousandths, 1_000)
    theirs = NormalDist().inv_cdf(float((1 + level) / 2))
    assert float(normal_quantile(level)) == pytest.approx(theirs, abs=1e-12)


def test_the_tail_of_a_millionth_has_a_quantile() -> None:
    found = normal_quantile(1 - Fraction(1, 10**6))
    assert round(found, 12) == Decimal("4.891638475699")


@pytest.mark.parametrize("level", [Fraction(-1, 100), Fraction(1), Fraction(95)])
def test_a_level_that_is_no_probability_below_one_is_refused(level: Fraction) -> None:
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        normal_quantile(level)


def test_the_digits_do_not_depend_on_the_context_of_the_thread() -> None:
    level = Fraction(4_321, 10_000)
    with localcontext(Context(prec=6)):
        found = normal_quantile(level)
    normal_quantile.cache_clear()
    assert normal_quantile(level) == found
    assert len(found.as_tuple().digits) > 40
