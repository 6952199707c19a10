"""`ledger curve`: how often the event followed what was said, and by how much by chance."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import At, AtLook, Json, LedgerDir, OneSuite, several
from ledger.cli.past import moment, report_at
from ledger.cli.rows_table import shown
from ledger.cli.standing import standing

_HEADS = ("said", "units", "happened", "rate", "if right", "of other clusters")

Forecaster = Annotated[str, typer.Argument(metavar="NAME", help="A competitor.")]
Slot = Annotated[
    str | None,
    typer.Option(
        "--slot",
        metavar="SLOT",
        help="initial, final or at_lead:<hours> (default: the suite's headline).",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        help="Also for each horizon, target, template, slot or tag:<name> (repeatable, "
        "or separated by commas).",
    ),
]


def curve(
    forecaster: Forecaster,
    *,
    suite: OneSuite = None,
    slot: Slot = None,
    by: By = None,
    at: At = None,
    look: AtLook = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Draw a forecaster's reliability curve, with bands for chance.

    The curve is isotonic regression (CORP), which needs no bins. A rate outside the
    band of column `if right` is one that calibrated forecasts would hardly have.
    With --json: one array, as docs/rows.md describes it.

    For example:
      ledger curve piper-native --ledger demo
      ledger curve piper-native --by tag:repo --json
      ledger curve piper-native --ledger demo --look 10
    """
    from ledger.projections.curving import curve as drawn
    from ledger.projections.inferred import Inference
    from ledger.projections.subjects import subjects

    with reading(ledger) as (folder, reader):
        named = standing(reader).having(suite, forecaster) if at is None else None
        then = moment(reader, at, look, [named] if named else ())
        name = named or then.standing.having(suite, forecaster)
        with report_at(folder, reader, then.size) as report:
            field = report.field(name)
            inference = Inference(field.board.suite.manifest)
            found = [
                drawn(each, inference)
                for each in subjects(field, slot=slot, by=several(by))
                if each.about.entrant.competitor.name == forecaster
            ]
    if as_json:
        render.json_line(found)
        return
    for place, each in enumerate(found):
        if place:
            render.line("")
        _print(each)


def _print(found: dict[str, Any]) -> None:
    parts = [text for text in (found["horizon"], found["slice"]) if text]
    heading = f"{found['suite']}, {found['slot']}, {', '.join(parts) or 'all'}"
    render.line(
        f"{heading}: {found['forecaster']}, {render.some(found['n'], 'unit')} in "
        f"{render.some(found['clusters'], 'cluster')}"
    )
    if found["curve"] is None:
        render.line(f"no curve: {found['reason']}")
    else:
        render.table(_HEADS, _lines(found))
    render.facts([("labels", " ".join(found["labels"]) or None)])
    if found["curve"] is None:
        return
    if not found["is_enough"]:
        render.note(
            f"{heading} is a sketch: fewer units of a class than statistics.min_curve"
        )


def _lines(found: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    bands = [
        {each["p"]: each for each in found[name] or ()}
        for name in ("consistency", "confidence")
    ]
    for block in found["curve"]:
        ends = (shown({"value": block[end]}) for end in ("p_min", "p_max"))
        yield (
            " to ".join(dict.fromkeys(ends)),
            block["n"],
            block["ones"],
            shown({"value": block["rate"]}),
            *(
                _span(band.get(block["p_min"]), band.get(block["p_max"]))
                for band in bands
            ),
        )


def _span(first: dict[str, Any] | None, last: dict[str, Any] | None) -> str | None:
    """Return a band over a block: from its lower end on the left to the upper right."""
    if first is None or last is None or first["lo"] is None:
        return None
    return f"{shown({'value': first['lo']})} to {shown({'value': last['hi']})}"
