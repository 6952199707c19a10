"""`ledger rows --explain FIGURE`: how a figure is made, and of what in each row."""

from collections.abc import Iterator
from typing import Any

from ledger.canonical import canonical_text
from ledger.cli import render

_PART = ("horizon", "slot", "slice")
# What the lines about a figure's value, its interval and its row already say.
_SAID = frozenset(
    {
        *(
            "suite",
            "forecaster",
            *_PART,
            "cohort_hash",
            "window",
            "path",
            "inputs",
            "n",
        ),
        *(
            "inference",
            "drawn",
            "value",
            "exact",
            "reason",
            "lo",
            "hi",
            "ci_reason",
            "n",
        ),
    }
)


def print_explained(explained: dict[str, Any]) -> None:
    """Print a figure's definition, then each row's value, interval and inputs."""
    better, elsewhere = explained["better"], explained["elsewhere"]
    render.facts(
        [
            ("figure", explained["figure"]),
            ("says", explained["meaning"]),
            ("formula", explained["formula"]),
            ("source", explained["source"]),
            *([("elsewhere", elsewhere)] if elsewhere else []),
            ("better", better or "neither: it describes"),
        ]
    )
    if not explained["rows"]:
        render.note("no row that was asked for has it; --json has why, in its block")
    for row in explained["rows"]:
        render.line("")
        render.line(_heading(row))
        render.facts(_facts(row))


def _heading(row: dict[str, Any]) -> str:
    parts = [row["forecaster"], *(row[name] for name in _PART if row[name])]
    return f"{row['suite']}: {', '.join(parts)}"


def _facts(row: dict[str, Any]) -> Iterator[tuple[str, object]]:
    yield "  path", row["path"]
    if "value" in row:
        yield "  value", _shown(row if isinstance(row["value"], str) else _value(row))
    if row.get("lo") is not None:
        yield "  interval", f"{row['lo']} to {row['hi']}"
    elif "lo" in row or "ci_reason" in row:
        yield "  interval", f"none: {row.get('ci_reason', row.get('reason'))}"
    for name, found in row.items():
        if name not in _SAID:
            yield f"  {name}", _shown(found)
    for name, found in row["inputs"].items():
        yield f"  {name}", _shown(found)
    inference = row["inference"] or {}
    for name, found in inference.items():
        yield f"  {name}", _shown(found)
    # A score over other units than its row has told their hash already.
    of_row = "  row's cohort_hash" if "cohort_hash" in inference else "  cohort_hash"
    yield of_row, row["cohort_hash"]


def _value(row: dict[str, Any]) -> object:
    """Return what a figure is, or why it is nothing."""
    return row["value"] if row["value"] is not None else row.get("reason")


def _shown(found: object) -> str:
    """Return a number with its fraction, or what else stands in a row as JSON."""
    if isinstance(found, dict) and isinstance(found.get("value"), str):
        exact = f" = {found['exact']}" if "exact" in found else ""
        return f"{found['value']}{exact}"
    if isinstance(found, dict | list):
        return canonical_text(found)
    return str(found)
