"""Probabilities as people write them, made into the decimals that are signed.

A number is rounded to millionths by largest remainder, so that the vector sums
to exactly 1. A text is exact: it is never rounded, only spelled as payloads do.
"""

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal

from ledger.errors import RefusedError
from ledger.spelling import PPM, ppm
from ledger.suite_words import shown

# How far off a vector of numbers may be, for each answer: five millionths is what
# rounding each probability to five places can do to it.
SLACK_PPM = 5

_PLAIN = re.compile(r"([0-9]*)(?:\.([0-9]*))?")
# Digits beyond these are far below a millionth, and could only slow us down.
_EXACT = Context(prec=60)


def vector(
    given: Mapping[str, object],
    answers: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return the vector that somebody meant, in the one spelling of payloads.

    Ties of rounding go to the earlier of `answers`. Raises `RefusedError`:
    `draft-unfit` for what is no probability, `sum-not-one` for numbers that miss 1
    by more than rounding explains, and for texts that miss it at all.
    """
    texts = {name: exact(name, v) for name, v in given.items() if isinstance(v, str)}
    numbers = {
        name: _number(name, given[name])
        for name in _ordered(given, answers)
        if name not in texts
    }
    fixed = {name: ppm(text) for name, text in texts.items()}
    rounded = _rounded(numbers, fixed) if numbers else {}
    if not numbers and sum(fixed.values()) != PPM:
        raise _misses_one(given, Decimal(sum(fixed.values())))
    return {
        name: texts[name] if name in texts else probability_text(rounded[name])
        for name in given
    }


def probability_text(millionths: int) -> str:
    """Return a count of millionths as payloads spell a probability."""
    if millionths in (0, PPM):
        return str(millionths // PPM)
    return f"0.{millionths:06d}".rstrip("0")


def exact(name: str, text: str) -> str:
    """Return a decimal text without the zeros that change nothing: `.50` is `0.5`."""
    match = _PLAIN.fullmatch(text.strip())
    whole, places = (match[1].lstrip("0"), match[2] or "") if match else ("", "")
    places = places.rstrip("0")
    if match is None or not (match[1] or match[2]) or whole not in ("", "1"):
        raise _no_probability(name, f'"{text}"')
    if whole and places:
        raise _no_probability(name, f'"{text}"')
    return whole or (f"0.{places}" if places else "0")


def _ordered(given: Mapping[str, object], answers: tuple[str, ...]) -> list[str]:
    place = {answer: at for at, answer in enumerate(answers)}
    return sorted(given, key=lambda name: place.get(name, len(place)))


def _number(name: str, given: object) -> Decimal:
    """Return a probability in millionths, not yet whole ones."""
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
        raise _no_probability(name, shown(given))
    # A float is the number that its shortest text says: 0.1 is a tenth.
    number = Decimal(repr(given)) if isinstance(given, float) else Decimal(given)
    if not number.is_finite() or not 0 <= number <= 1:
        raise _no_probability(name, str(given))
    return number.scaleb(6, _EXACT)


def _rounded(numbers: dict[str, Decimal], fixed: dict[str, int]) -> dict[str, int]:
    total = sum(numbers.values(), Decimal(0)) + sum(fixed.values())
    if abs(total - PPM) > SLACK_PPM * (len(numbers) + len(fixed)):
        raise _misses_one({**numbers, **fixed}, total)
    whole = {
        name: int(number.to_integral_value(ROUND_HALF_EVEN))
        for name, number in numbers.items()
    }
    missing = PPM - sum(fixed.values()) - sum(whole.values())
    step = 1 if missing > 0 else -1
    if step < 0 and sum(whole.values()) < -missing:
        raise _misses_one({**numbers, **fixed}, total)
    # Who was rounded furthest the wrong way gives or takes first; a second round
    # is only needed where the numbers themselves were off.
    order = sorted(whole, key=lambda name: step * (whole[name] - numbers[name]))
    while missing:
        for name in order:
            if missing and whole[name] + step >= 0:
                whole[name] += step
                missing -= step
    return whole


def _no_probability(name: str, said: str) -> RefusedError:
    msg = (
        f"probabilities.{name} is {said[:60]}: write a number from 0 to 1, such as 0.25"
    )
    return RefusedError("draft-unfit", msg)


def _misses_one(given: Mapping[str, object], total: Decimal) -> RefusedError:
    summed = format(total.scaleb(-6, _EXACT).normalize(_EXACT), "f")
    msg = f"the probabilities of {', '.join(given)} sum to {summed}, not to 1"
    return RefusedError("sum-not-one", msg)
