"""Rows for people: what a reader needs first, and what that stands on below it."""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Any

from ledger.cli import render

_SHOWN = Decimal("0.0001")
_SUM = " sum"
# What needs no word: intervals are at this level unless a suite says otherwise.
_USUAL_ALPHA = Decimal("0.05")
# Skill before scores. A terminal of 120 columns takes each of the tables.
_SCORED = ("forecaster", "layer", "part", "vs R1", "vs R2", "skill", "Brier")
# By what name a row has what these columns show.
FIGURE_OF = {
    "vs R1": "skill_vs_r1_bits",
    "vs R2": "skill_vs_r2_bits",
    "skill": "bss_frozen",
    "Brier": "brier",
}
_JUDGED = ("forecaster", "part", "calibration", "permutation", "credit", "labels")
# Forecasts and independent targets apart.
_STANDING = ("forecaster", "part", "scored", "forecasts", "targets", "clusters")
_COVERED = "coverage"
# Shown where any row of the suite has some, since few have.
_LOST = {"void": "void_rate", "unresolved": "unresolved_rate"}
_SKILLS = (FIGURE_OF["vs R1"], FIGURE_OF["vs R2"])
_ELSEWHERE = (
    "skill without an interval: `ledger rows --explain skill_vs_r2_bits` says why; with "
    "bss_frozen or brier it has the intervals of these"
)


def print_rows(found: Sequence[dict[str, Any]]) -> None:
    """Print tables for each suite and slot, under a line that says what they are."""
    groups = groupby(found, lambda row: (row["suite"], row["slot"]))
    for at, (_, group) in enumerate(groups):
        of_suite = list(group)
        if at:
            render.line("")
        render.line(_heading(of_suite[0]))
        render.table(_SCORED, map(_scored, of_suite))
        render.line("")
        render.table(_JUDGED, map(_judged, of_suite))
        render.line("")
        lost = [head for head in _LOST if any(_is_lost(row, head) for row in of_suite)]
        render.table(
            (*_STANDING, _COVERED, *lost), (_standing(row, lost) for row in of_suite)
        )
    if any(_lacks_interval(row) for row in found):
        render.note(_ELSEWHERE)


def _heading(row: dict[str, Any]) -> str:
    alpha = Decimal(row["inference"]["alpha"])
    level = (
        f", intervals at {(1 - alpha).normalize():f}" if alpha != _USUAL_ALPHA else ""
    )
    ended = f", superseded at {row['superseded_at']}" if row["superseded_at"] else ""
    return (
        f"{row['suite']}, {row['slot']}: track {row['track']}, {row['run_class']}, "
        f"{row['status']}, custody {row['custody']}, as of {row['as_of']}{level}{ended}"
    )


def _part(row: dict[str, Any]) -> str:
    return ", ".join(text for text in (row["horizon"], row["slice"]) if text) or "all"


def _scored(row: dict[str, Any]) -> tuple[object, ...]:
    scores, scored = row["scores"], row["counts"]["scored"]
    # Over more than two answers Brier is a sum, twice as large as the binary one.
    brier, form = scores.get("brier"), ""
    if brier is None:
        brier, form = scores["brier_sum"], _SUM
    return (
        row["forecaster"] + (f" of {row['source']}" if row["source"] else ""),
        row["layer"],
        _part(row),
        *(shown(scores[skill], with_ends=True, of=scored) for skill in _SKILLS),
        shown(scores["bss_frozen"], of=scored),
        shown(brier) + (form if brier["value"] is not None else ""),
    )


def _judged(row: dict[str, Any]) -> tuple[object, ...]:
    gates = row["gates"]
    return (
        row["forecaster"],
        _part(row),
        gates["calibration"]["status"],
        gates["permutation"]["status"],
        gates["credit"],
        " ".join(row["labels"]),
    )


def _standing(row: dict[str, Any], lost: Sequence[str]) -> tuple[object, ...]:
    counts = row["counts"]
    return (
        row["forecaster"],
        _part(row),
        f"{counts['scored']} of {counts['units']}",
        counts["forecasts"],
        counts["targets"],
        counts["clusters"],
        shown(row["coverage"]),
        *(shown(row["integrity"][_LOST[head]]) for head in lost),
    )


def _is_lost(row: dict[str, Any], head: str) -> bool:
    return bool(row["integrity"][_LOST[head]]["count"])


def _lacks_interval(row: dict[str, Any]) -> bool:
    """Tell whether a skill of a row is shown as a bare number."""
    skills = (row["scores"][skill] for skill in _SKILLS)
    return any(each["value"] is not None and each.get("lo") is None for each in skills)


def shown(
    measure: dict[str, Any], *, with_ends: bool = False, of: int | None = None
) -> str:
    """Return a number to four places, or why there is none; its interval if asked.

    `of` is how many units whoever reads it takes it to be over: its own number of
    them follows where that is another.
    """
    value = measure["value"]
    if value is None:
        return str(measure.get("reason", "-"))
    n = f" n={measure['n']}" if of is not None and measure["n"] != of else ""
    if value == "-inf":
        return f"-inf{n}"
    if with_ends and measure.get("lo") is not None:
        lo, hi = _short(measure["lo"]), _short(measure["hi"])
        return f"{_short(value)} [{lo}, {hi}]{n}"
    return f"{_short(value)}{n}"


def _short(text: str) -> str:
    return str(Decimal(text).quantize(_SHOWN, ROUND_HALF_EVEN))
