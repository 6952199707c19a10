"""`ledger rows --front SCORE`: who is beaten by nobody in any of some scores."""

from typing import Any

from ledger.cli import render
from ledger.cli.rows_table import shown


def print_fronts(found: list[dict[str, Any]]) -> None:
    """Print a table for each part: each competitor's scores, and who is in front."""
    for at, part in enumerate(found):
        if at:
            render.line("")
        parts = [text for text in (part["horizon"], part["slice"]) if text]
        render.line(
            f"{part['suite']}, {part['slot']}, {', '.join(parts) or 'all'}: "
            f"{render.some(part['n'], 'unit')}"
        )
        scores = [each["score"] for each in part["columns"]]
        heads = [f"{each['score']} ({each['better']})" for each in part["columns"]]
        render.table(
            ("forecaster", "layer", *heads, "front", "labels"),
            [
                (
                    name,
                    part["layers"][name],
                    *(_cell(cells[score], part["n"]) for score in scores),
                    part["beside"].get(name) or name in part["front"],
                    " ".join(part["labels"][name]),
                )
                for name, cells in part["cells"].items()
            ],
        )


def _cell(measure: dict[str, Any] | None, units: int) -> str:
    """Return a score with its interval, and its units where they are not the part's."""
    return shown(measure or {"value": None}, with_ends=True, of=units)
