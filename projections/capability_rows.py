"""A table of capabilities from reporting rows: columns that somebody names, no sum.

A column is `max:` or `min:`, whichever is better, and the path of a number in a row:
`max:scores.bss_frozen`, `min:utility.regret`. The rows are of the same part of one
suite. Competitors are compared where they cover the same units: who skipped hard ones
would else look able. An oracle knows what nobody could, and is shown as a ceiling.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ledger.errors import UsageError
from ledger.projections.capability import Column, capability
from ledger.projections.cohort import MISMATCH, NOT_DECLARED, Measure

Row = Mapping[str, Any]
Shown = dict[str, Any]
_BETTER = {"max:": True, "min:": False}
_PREFIX = 4


def capability_table(rows: Sequence[Row], columns: Sequence[str]) -> Shown:
    """Return the table of some rows, one a competitor, as a row would show it.

    `front` are the competitors that nobody beats in every column. `incomparable` have
    an undefined number, or did not score every unit that has an outcome. Raises
    `UsageError` for a column that is none.
    """
    wanted = [_column(text) for text in columns]
    scores = {
        row["forecaster"]: {each.name: _measure(row, each.name) for each in wanted}
        for row in rows
    }
    found = capability(
        wanted,
        {
            row["forecaster"]: scores[row["forecaster"]]
            for row in rows
            if row["layer"] != "oracle" and not row["counts"]["unscored"]
        },
    )
    uncovered = [row["forecaster"] for row in rows if row["counts"]["unscored"]]
    return {
        "columns": list(columns),
        "competitors": {
            name: {each: measure.told() for each, measure in cells.items()}
            for name, cells in scores.items()
        },
        "front": list(found.front),
        "incomparable": {
            **dict.fromkeys(found.incomparable, NOT_DECLARED),
            **dict.fromkeys(uncovered, MISMATCH),
        },
        "ceilings": [row["forecaster"] for row in rows if row["layer"] == "oracle"],
    }


def _column(text: str) -> Column:
    better, path = text[:_PREFIX], text[_PREFIX:]
    if better not in _BETTER or not path:
        msg = (
            f"{text!r} is no column: write max: or min:, whichever is better, and a "
            "number's path in a row, such as max:scores.bss_frozen"
        )
        raise UsageError(msg)
    return Column(name=path, higher_is_better=_BETTER[better])


def _measure(row: Row, path: str) -> Measure:
    """Return the number at a path of a row; undefined where the row says so."""
    place: Any = row
    for key in path.split("."):
        place = place.get(key) if isinstance(place, Mapping) else None
    if not isinstance(place, Mapping) or "value" not in place:
        msg = f"a row has no number at {path!r}: take one such as scores.brier"
        raise UsageError(msg)
    value = place["value"]
    if value is None or value == "-inf":
        reason = place.get("reason", NOT_DECLARED)
        return Measure(value=None, n=place.get("n", 0), reason=reason)
    told = Fraction(place.get("exact", value))
    return Measure(value=told, n=place.get("n", place.get("of", 0)))
