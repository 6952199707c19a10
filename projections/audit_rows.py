"""Published rows against recomputed ones: what differs, by row, field and value.

Whatever is published is read without being believed: it may be no JSON, hold rows
that were never computed, or lack some that were.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import zip_longest
from typing import Any

import msgspec

from ledger.canonical import canonical_text, encode
from ledger.projections.bundle import ROWS, ROWS_CSV, RowHashes
from ledger.projections.flat_rows import FlatRow, csv_bytes
from ledger.projections.rows import Row

# Which row it is: no two rows of a bundle agree in all of these.
IDENTITY = ("suite", "forecaster", "horizon", "slot", "slice")
ABSENT = "absent"

Identity = tuple[str, ...]


def named(row: Mapping[str, Any]) -> str:
    """Return how a report names a row.

    >>> named({"suite": "a@v1", "forecaster": "native", "slot": "initial"})
    'the row of native in a@v1, slot initial'
    """
    parts = [
        f"{name} {row[name]}"
        for name in ("horizon", "slot", "slice")
        if row.get(name) is not None
    ]
    who = f"the row of {row.get('forecaster')} in {row.get('suite')}"
    return ", ".join([who, *parts])


def compare_rows(published: bytes, recomputed: Sequence[Row]) -> Iterator[str]:
    """Yield what `rows.jsonl` says that the log does not, and what it leaves out."""
    lines = published.split(b"\n")
    if lines == [*map(encode, recomputed), b""]:
        return
    if lines.pop() != b"":
        yield f"{ROWS}: its last line has no end"
    yield from _differences(lines, {_identity(row): row for row in recomputed})


def _differences(
    lines: Sequence[bytes], recomputed: Mapping[Identity, Row]
) -> Iterator[str]:
    seen: dict[Identity, None] = {}
    for number, line in enumerate(lines, 1):
        row = _read(line)
        if row is None:
            yield f"{ROWS}: line {number} is no JSON object"
            continue
        identity = _identity(row)
        expected = recomputed.get(identity)
        if expected is None:
            yield f"{named(row)} is published, and the log gives no such row"
        elif identity in seen:
            yield f"{named(row)} is published twice"
        else:
            seen[identity] = None
            yield from _of_one(row, expected, line)
    for identity, expected in recomputed.items():
        if identity not in seen:
            yield f"{named(expected)} is missing"
    if list(seen) != [each for each in recomputed if each in seen]:
        yield f"{ROWS}: its rows stand in another order than they are computed in"


def _of_one(row: Mapping[str, Any], expected: Row, line: bytes) -> Iterator[str]:
    spelled = encode(expected)
    if line == spelled:
        return
    found, wanted = dict(_leaves("", row)), dict(_leaves("", expected))
    differing = [
        path
        for path in dict.fromkeys((*wanted, *found))
        if found.get(path) != wanted.get(path)
    ]
    for path in differing:
        yield (
            f"{named(expected)}: {path} is {found.get(path, ABSENT)}, and the log gives "
            f"{wanted.get(path, ABSENT)}"
        )
    if not differing:
        yield f"{named(expected)} is not spelled as canonical JSON"


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _identity(row: Mapping[str, Any]) -> Identity:
    return tuple(canonical_text(row.get(name)) for name in IDENTITY)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Yield each field of a row by its path, its value as JSON."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, inner)
    else:
        yield path, canonical_text(value)


def compare_hashes(stated: RowHashes, expected: Sequence[str]) -> Iterator[str]:
    """Yield how the manifest's hashes are not those of the recomputed rows."""
    if stated.count != len(expected) or len(stated.sha256) != len(expected):
        yield (
            f"it counts {stated.count} rows with {len(stated.sha256)} hashes, and the "
            f"log gives {len(expected)}"
        )
        return
    different = [
        place
        for place in range(len(expected))
        if stated.sha256[place] != expected[place]
    ]
    for place in different[:1]:
        more = f" ({len(different) - 1} more)" if len(different) > 1 else ""
        yield (
            f"the hash of row {place} is {stated.sha256[place]}, and the log gives "
            f"{expected[place]}{more}"
        )


def compare_csv(published: bytes, rows: Sequence[FlatRow]) -> Iterator[str]:
    """Yield the first thing that `rows.csv` says and the rows do not."""
    expected = csv_bytes(rows)
    if published == expected:
        return
    heads, *wanted = _cells(expected)
    try:
        found = _cells(published)
    except (csv.Error, UnicodeDecodeError) as error:
        yield f"{ROWS_CSV} cannot be read as CSV: {error}"
        return
    if found[:1] != [heads]:
        yield f"{ROWS_CSV} has other columns than the rows"
    elif len(found) != len(wanted) + 1:
        yield f"{ROWS_CSV} has {len(found) - 1} rows, and the log gives {len(wanted)}"
    else:
        different = (
            f"{ROWS_CSV}: {named(row)}: {head} is {cell!r}, and the log gives {value!r}"
            for row, cells, right in zip(rows, found[1:], wanted, strict=True)
            for head, cell, value in zip_longest(heads, cells, right)
            if cell != value
        )
        yield next(different, f"{ROWS_CSV} is spelled otherwise than it is written")


def _cells(content: bytes) -> list[list[str]]:
    return list(csv.reader(StringIO(content.decode(), newline="")))
