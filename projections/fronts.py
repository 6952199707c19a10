"""Who is beaten by nobody: rows of the same units side by side, and no composite.

Columns are scores of the rows, each with the direction that its definition says. Only
rows over the very same units are compared; whoever left some out, and whoever knows what
no forecaster can know, stands beside and not in front (METRICS §21).
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from ledger.errors import UsageError
from ledger.projections.capability import Column, capability
from ledger.projections.cohort import Measure
from ledger.projections.glossary import GLOSSARY, HIGHER
from ledger.projections.rows import Row
from ledger.suite_table import suggestion

Shown = dict[str, Any]
_PART = ("suite", "slot", "horizon", "slice")
_ORACLE = "oracle"


def columns_of(scores: Sequence[str]) -> list[Column]:
    """Return scores as columns.

    Raises `UsageError` for one that there is not, and for one that only describes.
    """
    found = []
    for score in scores:
        entry = GLOSSARY.get(score)
        if entry is None:
            hint = suggestion(score, GLOSSARY) or "docs/rows.md lists what there is"
            raise UsageError(f"no row has a score {score!r}: {hint}")
        if not entry.better:
            msg = f"{score} has no better or worse: it describes, and ranks nobody"
            raise UsageError(msg)
        found.append(Column(name=score, higher_is_better=entry.better == HIGHER))
    return found


def fronts(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[Shown]:
    """Yield for each part of a suite who has what in each column, and the front."""
    parts: dict[tuple[str | None, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row[name] for name in _PART), []).append(row)
    for part, of_part in parts.items():
        yield {**dict(zip(_PART, part, strict=True)), **_front(of_part, columns)}


def _front(rows: list[Row], columns: Sequence[Column]) -> Shown:
    widest = max(rows, key=lambda row: row["counts"]["scored"])
    units = widest["cohort_hash"]
    beside = {row["forecaster"]: _why_beside(row, widest, columns) for row in rows}
    found = capability(
        columns,
        {
            row["forecaster"]: {each.name: _measure(row, each.name) for each in columns}
            for row in rows
            if beside[row["forecaster"]] is None
        },
    )
    undefined = dict.fromkeys(found.incomparable, "undefined")
    return {
        "cohort_hash": units,
        "n": widest["counts"]["scored"],
        "columns": [
            {
                "score": each.name,
                "better": "higher" if each.higher_is_better else "lower",
            }
            for each in columns
        ],
        "cells": {
            row["forecaster"]: {
                each.name: row["scores"].get(each.name) for each in columns
            }
            for row in rows
        },
        "layers": {row["forecaster"]: row["layer"] for row in rows},
        "labels": {row["forecaster"]: row["labels"] for row in rows},
        "front": list(found.front),
        "beside": {name: why for name, why in beside.items() if why} | undefined,
    }


def _why_beside(row: Row, widest: Row, columns: Sequence[Column]) -> str | None:
    """Return why a row cannot be in the front: it is an oracle's, or of other units.

    So is a score that is over some of the row's units, where a baseline lacks the rest.
    """
    if row["layer"] == _ORACLE:
        return _ORACLE
    told = (row["scores"].get(each.name) for each in columns)
    is_whole = all(
        each is None or each["value"] is None or each["n"] == row["counts"]["scored"]
        for each in told
    )
    is_same = row["cohort_hash"] == widest["cohort_hash"]
    return None if is_same and is_whole else "other_units"


def _measure(row: Row, score: str) -> Measure:
    told = row["scores"].get(score, {"value": None, "n": 0, "reason": "not_declared"})
    value = told.get("exact") or told["value"]
    is_number = value is not None and value != "-inf"
    return Measure(
        value=Fraction(value) if is_number else None,
        n=told["n"],
        reason=None if is_number else told.get("reason"),
    )
