"""The times and probabilities of a table's cells, read exactly or not at all."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from functools import lru_cache

import msgspec

from ledger.cli.import_report import UnfitError
from ledger.clock import parse_draft_instant
from ledger.draft_vector import vector
from ledger.errors import RefusedError

_SHIFTED = re.compile(r"(.+?)([+-][0-9]{1,6}[smhd])")
_BEYOND_MICROSECONDS = re.compile(r"[.,][0-9]{7,}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_EXACT = Context(prec=60)
_SHOWN = 40

# Takes the name of a conversion, to be counted.
Note = Callable[[str], None]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What may be assumed about values that do not say it themselves."""

    assume_utc: bool = False
    percent: bool = False
    normalise: bool = False
    hash_text: bool = False


def instant(text: str, field: str, reading: Reading, note: Note) -> datetime:
    """Return the instant in UTC that a cell names, such as 2026-11-02T09:30:00+01:00.

    It may end in a distance from what stands before (`2026-11-02T09:30:00Z+45m`).
    Raises `UnfitError` for what is no instant, and for a missing zone that may not be
    taken as UTC.
    """
    read, unfit, conversions = _instant(text, reading.assume_utc)
    if read is None:
        raise UnfitError(unfit, f"{field} {text[:_SHOWN]!r}")
    for conversion in conversions:
        note(conversion)
    return read


@lru_cache(maxsize=4_096)
def _instant(
    text: str, assume_utc: bool
) -> tuple[datetime | None, str, tuple[str, ...]]:
    """Return an instant, or why there is none, and what was converted.

    Times recur in a table, a row for each forecast, so they are remembered.
    """
    shifted = _SHIFTED.fullmatch(text)
    try:
        if shifted is None:
            return _in_utc(text, assume_utc)
        start, unfit, conversions = _instant(shifted[1].strip(), assume_utc)
        if start is None:
            return None, unfit, ()
        return parse_draft_instant(shifted[2], start), "", (*conversions, "shifted")
    except (ValueError, OverflowError):
        return None, "not-a-time", ()


def _in_utc(
    text: str, assume_utc: bool
) -> tuple[datetime | None, str, tuple[str, ...]]:
    given, cut = datetime.fromisoformat(text), _BEYOND_MICROSECONDS.search(text)
    conversions = ("cut",) if cut else ()
    if given.tzinfo is not None:
        moved = ("to-utc",) if given.utcoffset() else ()
        return given.astimezone(UTC), "", conversions + moved
    if not assume_utc:
        return None, "time-without-zone", ()
    how = "date-only" if _is_day(text) else "assumed-utc"
    return given.replace(tzinfo=UTC), "", (*conversions, how)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def probability(text: str, field: str, reading: Reading, note: Note) -> Decimal:
    """Return the probability that a cell states; raise `UnfitError` for none.

    It is exact. A percentage, with or without its sign, is one only if that was said.
    """
    number = text.removesuffix("%").rstrip() if reading.percent else text
    if not _NUMBER.fullmatch(number):
        raise UnfitError("not-a-probability", f"{field} {text[:_SHOWN]!r}")
    value = Decimal(number)
    if reading.percent:
        value = value.scaleb(-2, _EXACT)
    if not 0 <= value <= 1:
        raise UnfitError("not-a-probability", f"{field} {text[:_SHOWN]!r}")
    if reading.percent:
        note("percent")
    # A zero below zero is a zero.
    return abs(value)


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities as drafts have them, and what it took to get there."""

    probabilities: dict[str, str]
    is_rounded: bool
    is_normalised: bool


def vector_of(
    given: Mapping[str, Decimal], answers: tuple[str, ...], reading: Reading
) -> Vector:
    """Return a vector in millionths; what misses 1 by more than rounding is scaled.

    Raises `UnfitError` where it may not be scaled, or cannot.
    """
    total = sum(given.values(), Decimal(0))
    try:
        return _rounded(given, answers, is_normalised=False)
    except RefusedError as error:
        if not (reading.normalise and total):
            shown = format(total.normalize(_EXACT), "f")[:_SHOWN]
            raise UnfitError("sum-not-one", f"they sum to {shown}") from error
    scaled = {name: _EXACT.divide(value, total) for name, value in given.items()}
    return _rounded(scaled, answers, is_normalised=True)


def _rounded(
    given: Mapping[str, Decimal], answers: tuple[str, ...], *, is_normalised: bool
) -> Vector:
    made = vector(given, answers)
    return Vector(
        probabilities=made,
        is_rounded=any(Decimal(made[name]) != given[name] for name in made),
        is_normalised=is_normalised,
    )
