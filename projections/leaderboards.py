"""Leaderboards: rows that somebody listed one by one, and that may stand on one.

Whoever publishes says beforehand which rows, so that no good one is picked from many.
A row that is good for no claim is refused, and all of the list with it.
"""

import tomllib
from collections.abc import Callable, Sequence

import msgspec

from ledger.errors import UsageError
from ledger.projections.labels import in_the_way
from ledger.projections.rows import Row


class Listed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a list; without `slot` that of the suite's headline."""

    suite: str
    forecaster: str
    slot: str | None = None
    horizon: str | None = None
    slice: str | None = None

    def __str__(self) -> str:
        """Return which row it is, as a sentence has it."""
        parts = (self.suite, self.forecaster, self.slot, self.horizon, self.slice)
        return " ".join(each for each in parts if each is not None)


class _List(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rows: list[Listed]


# Returns the rows of a suite in a slot, by groupings beyond its own.
RowsOf = Callable[[str, str | None, Sequence[str]], list[Row]]


def read_list(text: str, called: str) -> list[Listed]:
    """Return the rows that a list in TOML names, a table `[[rows]]` each.

    Raises `UsageError` for what is no such list.
    """
    try:
        found = msgspec.convert(tomllib.loads(text), _List).rows
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        msg = (
            f"{called} is no list of rows ({error}): write [[rows]] with suite and "
            "forecaster and, where they are wanted, slot, horizon and slice"
        )
        raise UsageError(msg) from error
    if len(set(found)) < len(found):
        raise UsageError(f"{called} names a row twice: each stands on a board once")
    return found


def listed_rows(listed: Sequence[Listed], rows_of: RowsOf) -> list[Row]:
    """Return the rows of a list, in its order.

    Raises `UsageError` for a row that there is not, and for one that no leaderboard
    takes, with its labels.
    """
    return [_row(each, rows_of) for each in listed]


def _row(listed: Listed, rows_of: RowsOf) -> Row:
    grouping = [] if listed.slice is None else [listed.slice.partition("=")[0]]
    wanted = (listed.forecaster, listed.horizon, listed.slice)
    found = next(
        (
            row
            for row in rows_of(listed.suite, listed.slot, grouping)
            if (row["forecaster"], row["horizon"], row["slice"]) == wanted
        ),
        None,
    )
    if found is None:
        raise UsageError(f"there is no row of {listed}: see `ledger rows`")
    reasons = in_the_way(found["labels"])
    if reasons:
        msg = f"no leaderboard takes the row of {listed}: it is {', '.join(reasons)}"
        if "off_look" in reasons:
            msg = f"{msg}; --look N takes the rows of a look that was reached"
        raise UsageError(msg)
    return found
