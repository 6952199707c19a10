"""Instants: how they are read, written and compared. Time is an argument.

`system_clock` and `monotonic_seconds` are the only places in the product that ask
what time it is; all other code is handed a clock.
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z",
)
_RELATIVE = re.compile(r"(?:now|([+-])([0-9]{1,6})([smhd]))")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
HOUR_SECONDS = 3_600
SECONDS_MAX = 10_000 * 366 * 86_400  # more than from year 1 to year 9999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def system_clock() -> datetime:
    """Return the present instant in UTC, to the microsecond."""
    return datetime.now(UTC)  # noqa: TID251 - the one home of the wall clock


def steady_seconds() -> float:
    """Return seconds since the machine started, its sleep included."""
    kind = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(kind)


def monotonic_seconds() -> float:
    """Return seconds that never step back, to measure spans with."""
    return time.monotonic()


def instant_text(instant: datetime) -> str:
    """Return RFC 3339 with `Z`: no fraction, or six digits where it is not zero."""
    return instant.replace(tzinfo=None).isoformat() + "Z"


def instant_text_micros(instant: datetime) -> str:
    """Return RFC 3339 with `Z` and exactly six fraction digits, as entries have."""
    # Less than half the time of `isoformat`, which asks the zone for its offset.
    return "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ" % (  # noqa: UP031 - twice as fast
        instant.year,
        instant.month,
        instant.day,
        instant.hour,
        instant.minute,
        instant.second,
        instant.microsecond,
    )


def parse_instant(text: str) -> datetime:
    """Return the instant that `text` spells as payloads do.

    Raises `ValueError` for a missing or other zone, another number of fraction
    digits, and days or seconds that do not exist.
    """
    if not _INSTANT.fullmatch(text):
        msg = f"{text!r} is not an instant like 2026-11-02T09:30:00Z"
        raise ValueError(msg)
    return datetime.fromisoformat(text)


def parse_draft_instant(text: str, now: datetime) -> datetime:
    """Return the instant of a draft: absolute, `now`, or relative (`+90m`, `-2h`)."""
    match = _RELATIVE.fullmatch(text)
    if match is None:
        return parse_instant(text)
    if text == "now":
        return now
    sign, count, unit = match.groups()
    delta = timedelta(**{_UNITS[unit]: int(count)})
    return now + delta if sign == "+" else now - delta


def span(seconds: int) -> timedelta:
    """Return a span of time, at most one that no two instants are apart.

    Limits in charters and suites are counts with no upper bound of their own.
    """
    return timedelta(seconds=min(seconds, SECONDS_MAX))


def micros(instant: datetime) -> int:
    """Return whole microseconds since 1970-01-01T00:00:00Z, exactly."""
    since = instant - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_micros(count: int) -> datetime:
    """Return the instant that lies `count` microseconds after 1970 began."""
    return _EPOCH + timedelta(microseconds=count)


def text_of_micros(count: int) -> str:
    """Return the same instant as `instant_text` has it."""
    return instant_text(from_micros(count))
