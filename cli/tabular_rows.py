"""The rows of a table as they stand in its file, one at a time: CSV, or JSON lines.

What is no row is yielded too, as the reason why, so that somebody counts it.
"""

import codecs
import csv
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ledger.cli.draft_text import read_draft
from ledger.cli.import_file import opened
from ledger.cli.import_report import UnfitError
from ledger.cli.tabular_map import TableMap
from ledger.cli.tabular_source import Row
from ledger.errors import RefusedError, UsageError
from ledger.suite_table import suggestion

# A row that is no row: where it stands, and why.
Unread = tuple[str, UnfitError]
Reader = Callable[[str, TableMap], Iterator[Row | Unread]]

LINE_BYTES_MAX = 1 << 20
_SHOWN = 40  # columns of a file that lacks one, and characters of each


def csv_rows(file: str, table: TableMap) -> Iterator[Row | Unread]:
    """Yield the rows of a CSV file whose first row names the columns.

    Raises `UsageError` for a file that cannot be read, and for one that lacks a column
    of the map or has two of one name.
    """
    decode = _decoder(table.encoding)
    with opened(file) as stream:
        lines = csv.reader(
            (decode(line) for line in stream), delimiter=_character(table.delimiter)
        )
        header = _header(file, lines, table)
        while True:
            place = f"line {lines.line_num + 1}"
            try:
                values = next(lines)
            except StopIteration:
                return
            except csv.Error as error:
                yield place, UnfitError("unreadable", str(error))
                continue
            if not values:
                continue
            if len(values) != len(header):
                found = f"{len(values)} values, not {len(header)}"
                yield place, UnfitError("columns", found)
                continue
            yield Row(place, dict(zip(header, values, strict=True)))


def jsonl_rows(file: str, table: TableMap) -> Iterator[Row | Unread]:
    """Yield the objects of a file of JSON lines; numbers are exact, blank lines no rows.

    Raises `UsageError` for a file that cannot be read.
    """
    del table  # JSON says itself how it is read.
    with opened(file) as stream:
        number = 0
        while line := stream.readline(LINE_BYTES_MAX + 1):
            number += 1
            place = f"line {number}"
            if len(line.removesuffix(b"\n")) > LINE_BYTES_MAX:
                _pass_by(stream)
                detail = f"longer than {LINE_BYTES_MAX} bytes"
                yield place, UnfitError("unreadable", detail)
            elif line.strip():
                try:
                    yield Row(place, read_draft(line))
                except RefusedError as error:
                    yield place, UnfitError("unreadable", error.message)


def _decoder(encoding: str) -> Callable[[bytes], str]:
    """Return what decodes a line; bytes that are no text become lone surrogates."""
    try:
        # A file in UTF-8 may start with a mark that belongs to no column's name.
        if codecs.lookup(encoding).name == "utf-8":
            encoding = "utf-8-sig"
        decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    except LookupError:
        msg = f"there is no encoding {encoding!r}: write utf-8, latin-1 or cp1252, say"
        raise UsageError(msg) from None
    return decoder.decode


def _character(delimiter: str) -> str:
    if len(delimiter) != 1:
        msg = f"--delimiter {delimiter!r} is not one character, such as ; or \\t"
        raise UsageError(msg)
    return delimiter


def _header(file: str, lines: Iterator[list[str]], table: TableMap) -> list[str]:
    header = next(lines, [])
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        msg = f"{file} has two columns {twice!r}: rename one, so that a name means one"
        raise UsageError(msg)
    for source in table.sources():
        for column in source.columns:
            if column not in header:
                hint = suggestion(column, map(_quoted, header))
                said = f": {hint} It" if hint else "; it"
                msg = (
                    f"{file} has no column {column!r}{said} has {_some_of(header)}. A "
                    f"constant is written ={column}, another separator as --delimiter"
                )
                raise UsageError(msg)
    return header


def _some_of(header: list[str]) -> str:
    """Return the columns in words; of what is no table, not all of it."""
    said = [each if len(each) <= _SHOWN else f"{each[:_SHOWN]}…" for each in header]
    said = list(map(_quoted, said))
    more = ["…"] if len(said) > _SHOWN else []
    return ", ".join(said[:_SHOWN] + more) or "none"


def _quoted(name: str) -> str:
    """Return a name so that blanks around it, which are part of it, can be seen."""
    return name if name == name.strip() else repr(name)


def _pass_by(stream: BinaryIO) -> None:
    """Read on to the end of a line that is too long to be kept."""
    while (rest := stream.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
        pass
