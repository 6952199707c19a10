"""`ledger rows`: the scores, with what they stand on."""

from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir

_SHOWN = Decimal("0.0001")
# Skill before scores; forecasts and independent targets apart.
_HEADS = (
    "forecaster",
    "part",
    "slot",
    "skill",
    "Brier",
    "log score",
    "scored",
    "forecasts",
    "targets",
    "clusters",
    "coverage",
    "labels",
)


Suite = Annotated[
    str | None,
    typer.Option("--suite", metavar="NAME@vN", help="Only this suite version."),
]
Forecaster = Annotated[
    str | None, typer.Option("--forecaster", metavar="NAME", help="Only this one.")
]
Slot = Annotated[
    str | None,
    typer.Option(
        "--slot",
        metavar="SLOT",
        help="initial, final, at_lead:<hours>, time_weighted or all (default: each "
        "suite's headline).",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        help="Rows for each horizon, target, template, slot, evidence_tier, "
        "adaptation_budget or tag:<name>, beside those that the suite declares.",
    ),
]
Slice = Annotated[
    str | None,
    typer.Option("--slice", metavar="WHAT=VALUE", help="Only this slice: tag:repo=a."),
]


def rows(
    *,
    suite: Suite = None,
    forecaster: Forecaster = None,
    slot: Slot = None,
    by: By = None,
    part: Slice = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Print the scores, a row for each forecaster, horizon, slot and slice.

    Skill is relative to the suite's frozen baseline; the log score is clipped, in bits.
    With --json: one array of rows, as docs/rows.md describes them.

    For example:
      ledger rows --ledger demo
      ledger rows --ledger demo --suite piper-self@v1 --slot final --by tag:repo
    """
    from ledger.projections.stored import open_report

    groupings = [*(by or ()), *([part.partition("=")[0]] if part else ())]
    with reading(ledger) as (folder, reader):
        size = reader.events.size()
        counted = render.Progress("events folded", size)
        with open_report(
            folder, reader.store, lambda done: counted.step(done, done)
        ) as report:
            counted.close()
            found = report.rows(
                suite=suite, forecaster=forecaster, slot=slot, by=groupings
            )
    if part is not None:
        found = [row for row in found if row["slice"] == part]
    if as_json:
        render.json_line(found)
    elif not found:
        render.note("no rows: no suite is frozen here yet, or nothing is so called")
    else:
        _print(found)


def _print(found: list[dict[str, Any]]) -> None:
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
    scores, counts = row["scores"], row["counts"]
    brier = scores.get("brier", scores.get("brier_sum"))
    parts = [text for text in (row["horizon"], row["slice"]) if text]
    return (
        row["forecaster"],
        ", ".join(parts) or "all",
        row["slot"],
        _shown(scores["bss_frozen"]),
        _shown(brier),
        _shown(scores["log_score_bits_clipped"]),
        f"{counts['scored']} of {counts['units']}",
        counts["forecasts"],
        counts["targets"],
        counts["clusters"],
        _shown(row["coverage"]),
        " ".join(row["labels"]),
    )


def _shown(measure: dict[str, Any]) -> str:
    """Return a number to four places, or why there is none."""
    value = measure["value"]
    if value is None:
        return str(measure.get("reason", "-"))
    if value == "-inf":
        return "-inf"
    return str(Decimal(value).quantize(_SHOWN, ROUND_HALF_EVEN))
