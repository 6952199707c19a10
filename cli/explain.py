"""`ledger rows --explain SCORE`: how a score is made, and of what in each row."""

from collections.abc import Iterator
from typing import Any

from ledger.cli import render

_PART = ("horizon", "slot", "slice")


def print_explained(explained: dict[str, Any]) -> None:
    """Print a score's definition, then each row's value, interval and inputs."""
    better = explained["better"]
    render.facts(
        [
            ("score", explained["score"]),
            ("says", explained["meaning"]),
            ("formula", explained["formula"]),
            ("source", explained["source"]),
            ("better", better or "neither: it describes"),
        ]
    )
    for row in explained["rows"]:
        render.line("")
        render.line(_heading(row))
        render.facts(_facts(row))


def _heading(row: dict[str, Any]) -> str:
    parts = [row["forecaster"], *(row[name] for name in _PART if row[name])]
    return f"{row['suite']}: {', '.join(parts)}"


def _facts(row: dict[str, Any]) -> Iterator[tuple[str, object]]:
    exact = f" = {row['exact']}" if "exact" in row else ""
    value = row["value"] if row["value"] is not None else row.get("reason")
    yield "  value", f"{value}{exact}"
    if row.get("lo") is not None:
        yield "  interval", f"{row['lo']} to {row['hi']}"
    elif "ci_reason" in row:
        yield "  interval", f"none: {row['ci_reason']}"
    for name, found in row["inputs"].items():
        yield f"  {name}", _shown(found)
    inference = row["inference"] or {}
    for name, found in inference.items():
        yield f"  {name}", _shown(found)
    # A score over other units than its row has told their hash already.
    of_row = "  row's cohort_hash" if "cohort_hash" in inference else "  cohort_hash"
    yield of_row, row["cohort_hash"]


def _shown(found: object) -> str:
    if not isinstance(found, dict):
        return str(found)
    kept = {name: each for name, each in found.items() if each not in (None, {})}
    if "value" in kept:
        exact = f" = {kept['exact']}" if "exact" in kept else ""
        return f"{kept['value']}{exact}"
    return ", ".join(
        f"{name} {each}" for name, each in kept.items() if not isinstance(each, dict)
    )
