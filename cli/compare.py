"""`ledger compare`: two competitors on the units that both forecast."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import At, AtLook, Json, LedgerDir, OneSuite, several
from ledger.cli.past import moment, report_at
from ledger.cli.rows_table import shown
from ledger.cli.standing import standing

_HEADS = ("score", "first", "second", "difference", "p", "better", "favours")
_ORACLE = "oracle"

One = Annotated[str, typer.Argument(metavar="FIRST", help="A competitor.")]
Other = Annotated[
    str | None,
    typer.Argument(
        metavar="SECOND",
        help="Another competitor (default: the first's predecessor and sham).",
        show_default=False,
    ),
]
Slot = Annotated[
    str | None,
    typer.Option(
        "--slot",
        metavar="SLOT",
        help="initial, final, at_lead:<hours>, time_weighted or all (default: the "
        "suite's headline).",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        help="Also for each horizon, target, template, slot, split or tag:<name> "
        "(repeatable, or separated by commas).",
    ),
]


def compare(
    one: One,
    other: Other = None,
    *,
    suite: OneSuite = None,
    slot: Slot = None,
    by: By = None,
    at: At = None,
    look: AtLook = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Compare two competitors on the units that both forecast.

    A difference is the first's score less the second's, with the interval of whole
    clusters and the share of sign flips that differ as much. Units that only one of
    them forecast are counted and left out. A p-value alone is no reason for anything.
    Without a second one, the first is compared with its predecessor and with its sham,
    as the suite names them. With --json: one array, as docs/rows.md describes it.

    For example:
      ledger compare piper-native past-pass-rate --ledger demo
      ledger compare piper-native piper-calibrated --by tag:repo --json
      ledger compare fitted-features-native --ledger demo
      ledger compare piper-native past-pass-rate --ledger demo --look 10
    """
    from ledger.projections.comparison import compared, controls

    known = [one] if other is None else [one, other]
    with reading(ledger) as (folder, reader):
        named = standing(reader).having(suite, *known) if at is None else None
        then = moment(reader, at, look, [named] if named else ())
        name = named or then.standing.having(suite, *known)
        manifest = then.standing.suites[name].manifest
        others = controls(manifest, one) if other is None else [other]
        with report_at(folder, reader, then.size) as report:
            field = report.field(name)
            found = [
                each
                for beside in others
                for each in compared(field, one, beside, slot=slot, by=several(by))
            ]
    if as_json:
        render.json_line(found)
        return
    for place, each in enumerate(found):
        if place:
            render.line("")
        _print(each)


def _print(found: dict[str, Any]) -> None:
    one, other = found["one"], found["other"]
    parts = [text for text in (found["horizon"], found["slice"]) if text]
    render.line(
        f"{found['suite']}, {found['slot']}, {', '.join(parts) or 'all'}: "
        f"{one['forecaster']} ({one['layer']}) beside {other['forecaster']} "
        f"({', '.join((other['layer'], *found['relation']))})"
    )
    render.table(_HEADS, _lines(found))
    render.facts(_facts(found))


def _lines(found: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    names = (str(found["one"]["forecaster"]), str(found["other"]["forecaster"]))
    for score, each in found["differences"].items():
        flip = each.get("sign_flip") or each.get("delong") or {}
        yield (
            score,
            shown({"value": each.get("one")}),
            shown({"value": each.get("other")}),
            shown(each, with_ends=True),
            shown({"value": flip.get("p_two_sided")}),
            each["better"],
            None if _ORACLE in found["labels"] else _favours(each, names),
        )


def _favours(each: dict[str, Any], names: tuple[str, str]) -> str | None:
    """Return whom an interval favours that does not hold zero; None for neither."""
    if each.get("lo") is None:
        return None
    is_above, is_below = Decimal(each["lo"]) > 0, Decimal(each["hi"]) < 0
    if not is_above and not is_below:
        return None
    is_second: bool = is_above == (each["better"] == "lower")
    return names[is_second]


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    one, other, wins = found["one"], found["other"], found["wins"]
    clusters = render.some(found["clusters"], "cluster")
    yield "units", f"{found['units']} that both forecast, in {clusters}"
    for side in (one, other):
        yield (
            side["forecaster"],
            f"{side['alone']} alone; coverage {shown(side['coverage'])}",
        )
    yield (
        "wins by Brier",
        f"{wins['one']} to {wins['other']}, {wins['equal']} equal",
    )
    if found["unmatched_timing"]:
        yield "sealed too far apart", found["unmatched_timing"]
    if _ORACLE in found["labels"]:
        yield "no claim", "an oracle knows what no forecaster can know"
    yield "labels", " ".join(found["labels"]) or None
