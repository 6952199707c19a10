"""Columns: how many events are judged at once, each fact an array of its own.

Judging one event at a time costs ten times as much in the interpreter. Absent
integers are `NEVER`, which is later and larger than anything that is known.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Key = TypeVar("Key", bound=Hashable)

INT64_MAX = 2**63 - 1
NEVER = INT64_MAX


def integers(values: Sequence[int]) -> Integers:
    """Return whole numbers as a column; raises where one has more than 63 bits."""
    return np.array(values, dtype=np.int64)


def instants_us(instants: Sequence[str | None]) -> Integers:
    """Return microseconds since 1970 began, `NEVER` for None.

    The instants are spelled as payloads spell them, in UTC with a final `Z`.
    """
    texts = ["NaT" if text is None else text[:-1] for text in instants]
    read = np.array(texts, dtype="datetime64[us]")
    return np.where(np.isnat(read), NEVER, read.view(np.int64))


def instant_texts(instants_us: Integers) -> list[str]:
    """Return instants as payloads spell them, and `never` where there is none."""
    texts = np.datetime_as_string(instants_us.view("datetime64[us]")).tolist()
    whole = (instants_us % 1_000_000 == 0).tolist()
    return [
        "never" if us == NEVER else f"{text[:19] if is_whole else text}Z"
        for us, text, is_whole in zip(instants_us.tolist(), texts, whole, strict=True)
    ]


def flags(values: Sequence[bool]) -> Flags:
    """Return claims as a column."""
    return np.array(values, dtype=np.bool_)


def coded(values: Sequence[Key]) -> tuple[list[Key], Integers]:
    """Return the distinct values as they first appear, and for each value its place."""
    distinct = list(dict.fromkeys(values))
    places = {value: place for place, value in enumerate(distinct)}
    return distinct, integers([places[value] for value in values])


def rows_among(group: Integers, wanted: Integers) -> Integers:
    """Return the rows of the wanted groups; rows stand by ascending group."""
    first = np.searchsorted(group, wanted, side="left")
    sizes = np.searchsorted(group, wanted, side="right") - first
    before = np.cumsum(sizes) - sizes
    return np.repeat(first - before, sizes) + np.arange(int(sizes.sum()))


def last_of_each(size: int, group: Integers, chosen: Integers) -> Integers:
    """Return the last of the `chosen` rows of each group, -1 where there is none.

    `chosen` are row numbers, ascending; `group` says which group a row is of.
    """
    # Where a place is assigned to repeatedly, numpy keeps the last assignment.
    last = np.full(size, -1, dtype=np.int64)
    last[group[chosen]] = chosen
    return last


def first_of_each(size: int, group: Integers, chosen: Integers) -> Integers:
    """Return the first of the `chosen` rows of each group, -1 where there is none."""
    return last_of_each(size, group, chosen[::-1])


def taken(column: Integers, rows: Integers) -> Integers:
    """Return the values of a column at some rows, `NEVER` where the row is -1."""
    if not len(column):
        return np.full(len(rows), NEVER, dtype=np.int64)
    return np.where(rows < 0, NEVER, column[rows])


def least_of_each(size: int, group: Integers, values: Integers) -> Integers:
    """Return the least value of each group, `NEVER` where there is none."""
    least = np.full(size, NEVER, dtype=np.int64)
    np.minimum.at(least, group, values)
    return least


def following_in_group(group: Integers, values: Integers) -> Integers:
    """Return for each row the value of the next row of its group, else `NEVER`.

    Rows of a group stand together.
    """
    following = np.full(len(values), NEVER, dtype=np.int64)
    same = group[:-1] == group[1:]
    following[:-1][same] = values[1:][same]
    return following


def counted_earlier(
    key: Integers, place: Integers, asked_key: Integers, asked_place: Integers
) -> Integers:
    """Return how many rows with the same key have a lower place than each asked one."""
    if not len(key):
        return np.zeros(len(asked_key), dtype=np.int64)
    # Places become ranks, so that key and rank fit into one integer.
    moments = np.unique(place)
    span = len(moments) + 1
    ordered = np.sort(key * span + np.searchsorted(moments, place))
    asked = asked_key * span
    found = np.searchsorted(ordered, asked + np.searchsorted(moments, asked_place))
    return found - np.searchsorted(ordered, asked)
