"""Rows without nesting, a path for each field: what tables and spreadsheets take."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ledger.canonical import canonical_text

# What says which row this is comes first; all other columns follow by their names.
LEADING = (
    "suite",
    "forecaster",
    "layer",
    "horizon",
    "slot",
    "slice",
    "track",
)
Cell = str | int | bool | None
FlatRow = dict[str, Cell]


def flat(row: Mapping[str, Any]) -> FlatRow:
    """Return a row without nesting: `scores.brier.value`; lists as canonical JSON.

    >>> flat({"slot": "initial", "counts": {"units": 3}, "exploratory": []})
    {'slot': 'initial', 'counts.units': 3, 'exploratory': '[]'}
    """
    return dict(_leaves("", row))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Cell]]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, inner)
    elif isinstance(value, list | tuple):
        yield path, canonical_text(value)
    else:
        assert value is None or isinstance(value, str | int), (
            f"{path} is no exact value"
        )
        yield path, value


def columns_of(rows: Iterable[FlatRow]) -> list[str]:
    """Return all columns that some row has, in an order that depends on names alone."""
    names = {name for row in rows for name in row}
    return [*LEADING, *sorted(names.difference(LEADING), key=str.encode)]


def csv_bytes(rows: Sequence[FlatRow]) -> bytes:
    """Return rows as CSV (RFC 4180, UTF-8, lines end in a newline); null is empty."""
    text = io.StringIO()
    columns = columns_of(rows)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(row.get(name)) for name in columns])
    return text.getvalue().encode()


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
