"""Quantiles and tails of the normal distribution, the same digits on every machine."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from ledger.projections.exact import CONTEXT

_TWO_PI = Decimal("6.2831853071795864769252867665590057683943387987502")
# A step this short leaves an error of its square: fewer digits than are kept.
_SETTLED = Decimal("1e-24")
_NEGLIGIBLE = Decimal("1e-48")
# Beyond this there is less than the places that are kept.
_FARTHEST = Decimal(14)


@lru_cache(64)
def normal_quantile(level: Fraction) -> Decimal:
    """Return z such that a standard normal variable lies within ±z at this level.

    Correct to 40 places for every level of at least 0 and below 1 that people
    declare; `ValueError` for others. P(0 < Z < z) is the series z + z³/3 + z⁵/(3·5)
    + … times the density (Abramowitz & Stegun 26.2.11), solved by Newton's method
    from zero, which overshoots nowhere since the probability is concave there.

    >>> round(normal_quantile(Fraction(95, 100)), 15)
    Decimal('1.959963984540054')
    """
    if not 0 <= level < 1:
        raise ValueError(f"a level is at least 0 and below 1, not {level}")
    with localcontext(CONTEXT):
        wanted = Decimal(level.numerator) / level.denominator / 2
        z, step = Decimal(0), Decimal(1)
        while step > _SETTLED:
            density = CONTEXT.exp(-z * z / 2) / CONTEXT.sqrt(_TWO_PI)
            step = (wanted - density * _series(z)) / density
            z += step
        return z


def normal_tails(z: Decimal) -> Decimal:
    """Return the probability that a standard normal variable is beyond ±z, to 40 places.

    >>> round(normal_tails(Decimal("-1.959963984540054")), 12)
    Decimal('0.050000000000')
    """
    with localcontext(CONTEXT):
        beyond = min(abs(z), _FARTHEST)
        density = CONTEXT.exp(-beyond * beyond / 2) / CONTEXT.sqrt(_TWO_PI)
        return max(Decimal(0), 1 - 2 * density * _series(beyond))


def _series(z: Decimal) -> Decimal:
    term = total = z
    odd = 1
    while term > _NEGLIGIBLE:
        odd += 2
        term *= z * z / odd
        total += term
    return total
