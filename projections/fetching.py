"""Query results as columns: numbers as integers, texts by which of a few they are.

A million rows of Python's objects would take gigabytes; so each few thousand become
arrays before the next are read.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import apsw
import msgspec
import numpy as np

from ledger.projections.columns import Integers, integers

_ROWS_AT_ONCE = 20_000


class Texts(msgspec.Struct, frozen=True):
    """A column of texts: the distinct ones, and for each row which of them it is."""

    names: list[str]
    code: Integers

    def ordered(self, order: Integers) -> "Texts":
        """Return the column with its rows in another order."""
        return Texts(self.names, self.code[order])

    def __getitem__(self, row: int) -> str:
        """Return the text of a row."""
        return self.names[int(self.code[row])]


def joined(first: Texts, second: Texts) -> Texts:
    """Return one column above another."""
    places = {name: place for place, name in enumerate(first.names)}
    codes = [places.setdefault(name, len(places)) for name in second.names]
    return Texts(
        list(places), np.concatenate([first.code, integers(codes)[second.code]])
    )


class Numbers:
    """A column of integers as it comes."""

    def __init__(self) -> None:
        self._pieces: list[Integers] = [integers([])]

    def take(self, cells: Sequence[int]) -> None:
        """Take the cells of some more rows."""
        self._pieces.append(integers(cells))

    def whole(self) -> Integers:
        """Return the column."""
        return np.concatenate(self._pieces)


class Coding:
    """A column of texts as it comes."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes = Numbers()

    def take(self, cells: Sequence[str]) -> None:
        """Take the cells of some more rows."""
        places = self._places
        for text in dict.fromkeys(cells):
            places.setdefault(text, len(places))
        self._codes.take([places[text] for text in cells])

    def whole(self) -> Texts:
        """Return the column."""
        return Texts(list(self._places), self._codes.whole())


Columns = dict[str, Any]


def batches(
    connection: apsw.Connection, sql: str, values: Sequence[object]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query, some thousand at a time."""
    cursor = connection.execute(sql, tuple(values))
    while rows := list(islice(cursor, _ROWS_AT_ONCE)):
        yield rows


def gather(
    rows: Iterable[list[tuple[Any, ...]]], numbers: str, texts: str = ""
) -> Columns:
    """Return rows as columns by name; a row has the `numbers` first, then the `texts`."""
    gathering: dict[str, Numbers | Coding] = {
        **{name: Numbers() for name in numbers.split()},
        **{name: Coding() for name in texts.split()},
    }
    for some in rows:
        for column, cells in zip(
            gathering.values(), zip(*some, strict=True), strict=True
        ):
            column.take(cells)
    return {name: column.whole() for name, column in gathering.items()}
