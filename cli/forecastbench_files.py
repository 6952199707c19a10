"""ForecastBench's published files, read row by row: resolutions and forecast sets.

Resolutions come as CSV (the rows of many rounds) or as JSON (the resolution set of
one round), forecasts as JSON (one forecaster in one round); each may be gzipped.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from ledger.cli.import_file import opened
from ledger.errors import UsageError

_COLUMNS = (
    "forecast_due_date",
    "source",
    "id",
    "resolution_date",
    "resolved_to",
    "resolved",
)
_TRUTH = {"true": True, "false": False}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a resolution file. `place` says where it stands, for messages.

    `id` is None for a combination of several questions.
    """

    place: str
    due: date
    source: str
    id: str | None
    resolution_date: date
    resolved_to: Decimal | None
    resolved: bool


class _Resolution(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    id: str | list[str]
    resolution_date: date
    resolved_to: Decimal | None
    resolved: bool


class _ResolutionSet(msgspec.Struct, frozen=True, kw_only=True):
    forecast_due_date: date
    resolutions: list[_Resolution]


class _Forecast(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    id: str | list[str]
    forecast: Decimal | None = None
    resolution_date: date | None = None


class _ForecastSet(msgspec.Struct, frozen=True, kw_only=True):
    forecast_due_date: date
    forecasts: list[_Forecast]


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    forecast_due_date: date


# A forecast by source, id and, for a data set, resolution date.
Forecasts = dict[tuple[str, str, date | None], Decimal]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a resolution file (`-` is stdin), one at a time.

    Raises `UsageError` that names the first row that cannot be read.
    """
    with opened(str(path)) as stream, published(path):
        if stream.peek(1)[:1] == b"{":
            yield from _json_rows(stream.read())
        else:
            yield from _csv_rows(line.decode() for line in stream)


def round_of_forecasts(path: Path) -> date:
    """Return the round (its forecast due date) that a forecast set belongs to."""
    with opened(str(path)) as stream, published(path):
        return msgspec.json.decode(stream.read(), type=_Head).forecast_due_date


def read_forecasts(path: Path) -> Forecasts:
    """Return the forecasts of a forecast set; combinations and blanks are left out."""
    with opened(str(path)) as stream, published(path):
        given = msgspec.json.decode(stream.read(), type=_ForecastSet)
    return {
        (each.source, each.id, each.resolution_date): each.forecast
        for each in given.forecasts
        if isinstance(each.id, str) and each.forecast is not None
    }


@contextmanager
def published(path: Path) -> Iterator[None]:
    """Say which file it was, where a block finds something else in it."""
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError, csv.Error) as error:
        msg = f"{path} is not what ForecastBench publishes: {error}"
        raise UsageError(msg) from error


def _json_rows(content: bytes) -> Iterator[Row]:
    given = msgspec.json.decode(content, type=_ResolutionSet)
    for number, each in enumerate(given.resolutions, 1):
        yield Row(
            place=f"resolution {number}",
            due=given.forecast_due_date,
            source=each.source,
            id=each.id if isinstance(each.id, str) else None,
            resolution_date=each.resolution_date,
            resolved_to=each.resolved_to,
            resolved=each.resolved,
        )


def _csv_rows(text: Iterator[str]) -> Iterator[Row]:
    lines = csv.DictReader(text, restval="")
    absent = [name for name in _COLUMNS if name not in (lines.fieldnames or ())]
    if absent:
        found = ", ".join(lines.fieldnames or ["none"])
        msg = (
            f"the file has no column {', '.join(absent)}: resolutions have "
            f"{', '.join(_COLUMNS)}, and this has {found}"
        )
        raise UsageError(msg)
    for line in lines:
        try:
            yield _csv_row(f"line {lines.line_num}", line)
        except (ValueError, KeyError, InvalidOperation) as error:
            msg = f"line {lines.line_num} is no resolution ({error}): {line}"
            raise UsageError(msg) from None


def _csv_row(place: str, line: dict[str, str]) -> Row:
    identifier, value = line["id"], line["resolved_to"]
    return Row(
        place=place,
        due=date.fromisoformat(line["forecast_due_date"]),
        source=line["source"],
        # A combination is a tuple of ids, as Python or JSON prints it.
        id=None if identifier.startswith(("(", "[")) else identifier,
        resolution_date=date.fromisoformat(line["resolution_date"][:10]),
        resolved_to=Decimal(value) if value else None,
        resolved=_TRUTH[line["resolved"].lower()],
    )
