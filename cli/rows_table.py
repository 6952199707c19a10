"""Rows for people: what a reader needs first, and what that stands on beside it."""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Any

from ledger.cli import render

_SHOWN = Decimal("0.0001")
_SUM = " sum"
# Skill before scores; forecasts and independent targets apart.
_HEADS = (
    "forecaster",
    "part",
    "slot",
    "vs R1",
    "vs R2",
    "skill",
    "Brier",
    "calibration",
    "permutation",
    "credit",
    "scored",
    "forecasts",
    "targets",
    "clusters",
    "coverage",
    "labels",
)


def print_rows(found: Sequence[dict[str, Any]]) -> None:
    """Print rows in a table for each suite, under a line that says what it is."""
    for at, (name, group) in enumerate(groupby(found, lambda row: row["suite"])):
        of_suite = list(group)
        if at:
            render.line("")
        render.line(_heading(name, of_suite[0]))
        render.table(_HEADS, map(_cells, of_suite))


def _heading(name: str, row: dict[str, Any]) -> str:
    ended = f", superseded at {row['superseded_at']}" if row["superseded_at"] else ""
    return (
        f"{name}: track {row['track']}, {row['run_class']}, {row['status']}, custody "
        f"{row['custody']}, as of {row['as_of']}{ended}"
    )


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    scores, counts, gates = row["scores"], row["counts"], row["gates"]
    # Over more than two answers Brier is a sum, twice as large as the binary one.
    brier, form = scores.get("brier"), ""
    if brier is None:
        brier, form = scores["brier_sum"], _SUM
    parts = [text for text in (row["horizon"], row["slice"]) if text]
    return (
        row["forecaster"] + (f" of {row['source']}" if row["source"] else ""),
        ", ".join(parts) or "all",
        row["slot"],
        shown(scores["skill_vs_r1_bits"], with_ends=True),
        shown(scores["skill_vs_r2_bits"], with_ends=True),
        shown(scores["bss_frozen"]),
        shown(brier) + (form if brier["value"] is not None else ""),
        gates["calibration"]["status"],
        gates["permutation"]["status"],
        gates["credit"],
        f"{counts['scored']} of {counts['units']}",
        counts["forecasts"],
        counts["targets"],
        counts["clusters"],
        shown(row["coverage"]),
        " ".join(row["labels"]),
    )


def shown(measure: dict[str, Any], *, with_ends: bool = False) -> str:
    """Return a number to four places, or why there is none; its interval if asked."""
    value = measure["value"]
    if value is None:
        return str(measure.get("reason", "-"))
    if value == "-inf":
        return "-inf"
    if with_ends and measure.get("lo") is not None:
        return f"{_short(value)} [{_short(measure['lo'])}, {_short(measure['hi'])}]"
    return _short(value)


def _short(text: str) -> str:
    return str(Decimal(text).quantize(_SHOWN, ROUND_HALF_EVEN))
