"""Numbers that are the same on every machine: integers, fractions, decimal text.

Probabilities are parts per million; scores are integers of 1e-12; ratios are
`Fraction`. Logarithms come from `decimal`, whose `ln` is correctly rounded, under
a context of our own (METRICS §0).
"""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from ledger import spelling
from ledger.projections.columns import INT64_MAX, Integers

PPM = spelling.PPM
# Scores are counted in units of 1e-12: (1e-6)^2, so that a squared error is exact.
UNITS = PPM * PPM
# A larger denominator tells a reader nothing that twelve places do not.
EXACT_DENOMINATOR_MAX = 10**18
_PLACES = 12
# What an iteration stops at is known to fewer places than a ratio of integers.
_PLACES_FITTED = 9
# Of every published decimal: 50 digits, then half-even.
CONTEXT = Context(prec=50, rounding=ROUND_HALF_EVEN)
LN_2 = CONTEXT.ln(Decimal(2))
# Probabilities recur; those of a million digits' variety must not fill the memory.
_REMEMBERED = 65_536


@lru_cache(_REMEMBERED)
def ppm_vector(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return probabilities, spelled as payloads spell them, in parts per million."""
    return tuple(map(spelling.ppm, texts))


def largest_remainder(shares: Sequence[Fraction]) -> tuple[int, ...]:
    """Return shares of 1 in parts per million that sum to exactly one million.

    Each is rounded down; what is left goes, one by one, to the largest remainders,
    of equal ones to the first (METRICS §7).

    >>> largest_remainder([Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)])
    (333334, 333333, 333333)
    """
    scaled = [share * PPM for share in shares]
    floors = [int(share) for share in scaled]
    order = sorted(range(len(shares)), key=lambda i: (floors[i] - scaled[i], i))
    for i in order[: PPM - sum(floors)]:
        floors[i] += 1
    return tuple(floors)


def picobits(p_ppm: int) -> int | None:
    """Return log2 of a probability in units of 1e-12 bits; None for minus infinity."""
    return None if p_ppm == 0 else _logarithms(p_ppm)[0]


def piconats(p_ppm: int) -> int | None:
    """Return ln of a probability in units of 1e-12 nats; None for minus infinity."""
    return None if p_ppm == 0 else _logarithms(p_ppm)[1]


@lru_cache(_REMEMBERED)
def _logarithms(p_ppm: int) -> tuple[int, int]:
    """Return log2 and ln; a logarithm takes longer than everything else of a score."""
    natural = CONTEXT.ln(Decimal(p_ppm).scaleb(-6, CONTEXT))
    return _scaled(CONTEXT.divide(natural, LN_2)), _scaled(natural)


def _scaled(value: Decimal) -> int:
    scaled = value.scaleb(_PLACES, CONTEXT)
    return int(scaled.to_integral_value(ROUND_HALF_EVEN, CONTEXT))


def divide_half_even(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a ratio, of two equally near the even one.

    >>> [divide_half_even(n, 2) for n in (-3, -1, 1, 3)]
    [-2, 0, 0, 2]
    """
    return round(Fraction(numerator, denominator))


def weighted_mean(scores: Iterable[int], weights: Sequence[int]) -> int:
    """Return the mean of integer scores, rounded half-even to an integer."""
    total = sum(s * w for s, w in zip(scores, weights, strict=True))
    return divide_half_even(total, sum(weights))


def dec12(value: Fraction) -> str:
    """Return a number with twelve places, rounded half-even; never `-0`.

    >>> dec12(Fraction(-1, 4)), dec12(Fraction(-1, 10**13))
    ('-0.250000000000', '0.000000000000')
    """
    return _decimal_text(value, _PLACES)


def dec9(value: Fraction | Decimal) -> str:
    """Return a number of an iterative fit with nine places, else like `dec12`.

    >>> dec9(Decimal("0.6052875865431")), dec9(Fraction(-1, 10**10))
    ('0.605287587', '0.000000000')
    """
    return _decimal_text(Fraction(value), _PLACES_FITTED)


def _decimal_text(value: Fraction, digits: int) -> str:
    # A row has hundreds of these: a product of fractions would be reduced each time.
    below = value.denominator
    scaled, rest = divmod(abs(value.numerator) * 10**digits, below)
    scaled += 2 * rest > below or (2 * rest == below and scaled % 2)
    whole, places = divmod(scaled, 10**digits)
    return f"{'-' if value < 0 and scaled else ''}{whole}.{places:0{digits}}"


def exact_text(value: Fraction) -> str | None:
    """Return `5/16`, or None where the denominator is too long to tell anything."""
    if value.denominator >= EXACT_DENOMINATOR_MAX:
        return None
    return f"{value.numerator}/{value.denominator}"


def exact_sum(column: Integers) -> int:
    """Return the sum of a column, whatever its size: numpy's would wrap silently."""
    largest = max(abs(int(column.max(initial=0))), abs(int(column.min(initial=0))), 1)
    safe = INT64_MAX // largest
    return sum(
        int(column[start : start + safe].sum()) for start in range(0, len(column), safe)
    )


def sum_of_ratios(ratios: Iterable[tuple[int, int]]) -> Fraction:
    """Return the sum of numerators over their positive denominators, exactly.

    Fractions that are added one by one are reduced each time, which takes most of
    the time where there are thousands of denominators; here it happens once.

    >>> sum_of_ratios([(1, 2), (1, 3), (1, 2)])
    Fraction(4, 3)
    """
    totals: dict[int, int] = {}
    for numerator, denominator in ratios:
        totals[denominator] = totals.get(denominator, 0) + numerator
    terms = [(numerator, denominator) for denominator, numerator in totals.items()]
    while len(terms) > 1:
        # Of an odd number, the last term waits for the next round.
        paired = [
            (a * d + c * b, b * d)
            for (a, b), (c, d) in zip(terms[::2], terms[1::2], strict=False)
        ]
        terms = paired + terms[2 * len(paired) :]
    return Fraction(*terms[0]) if terms else Fraction(0)
