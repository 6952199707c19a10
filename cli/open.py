"""`ledger open`: what can still be forecast, and what waits for its outcome."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import render
from ledger.cli.context import clock, reading
from ledger.cli.lineage import Suite, lead
from ledger.cli.options import Json, LedgerDir
from ledger.cli.standing import Standing, standing
from ledger.clock import micros
from ledger.errors import UsageError
from ledger.suite_table import listed, suggestion

if TYPE_CHECKING:
    from ledger.projections.agenda import OpenUnit

_CELL_MAX = 80  # letters: one long name is not to widen every line
_HEADS = ("state", "unit", "suite", "left", "cut-off", "resolve by", "not forecast by")


def open_units(
    *,
    suite: Suite = None,
    forecaster: Annotated[
        str | None,
        typer.Option(
            "--forecaster", metavar="NAME", help="Only what this one has not forecast."
        ),
    ] = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """List what is due, overdue and pending, and who has not forecast it.

    Due: the cut-off is ahead. Pending: the outcome may still come in time. Overdue: it
    did not. This is the one list that reads the clock. With --json, a line each.

    For example:
      ledger open --ledger demo
      ledger open --forecaster native --json --ledger demo | jq -r .id
    """
    from ledger.projections import agenda
    from ledger.projections.stored import open_tables

    with reading(ledger) as (folder, reader):
        frozen_here = standing(reader)
        # Of a suite whose next version is frozen, what was asked before is open still.
        suites = list(frozen_here.suites)
        suites = suites if suite is None else frozen_here.versions(suite)
        concerned = set[str]()
        if forecaster is not None:
            concerned = _suites_of(forecaster, frozen_here, suites)
        folded = render.Progress("events folded", reader.events.size())
        with open_tables(
            folder, reader.store, lambda done: folded.step(done, done)
        ) as (tables, frozen):
            folded.close()
            now = micros(clock()())
            found = agenda.open_units(
                tables.connection, frozen, folder.blobs.get, now, suites
            )
    asked = found
    if forecaster is not None:
        asked = [each for each in found if each.suite in concerned]
        found = [each for each in asked if forecaster in each.unforecast_by]
    if as_json:
        for each in found:
            render.json_line(each)
    elif found:
        render.table(_HEADS, map(_cells, found))
    elif asked:
        count = (
            f"all {len(asked)} open units" if len(asked) > 1 else "the one open unit"
        )
        render.note(f"{forecaster} has forecast {count}")
    else:
        render.note("nothing is open: every question that was asked has its outcome")


def _suites_of(name: str, found: Standing, suites: Sequence[str]) -> set[str]:
    """Return the suites in which somebody forecasts; raise `UsageError` for nobody."""
    competitors = [
        (each, competitor)
        for each in suites
        for competitor in found.suites[each].manifest.competitors
    ]
    mine = [
        (each, competitor)
        for each, competitor in competitors
        if competitor.name == name
    ]
    sealing = sorted({each.name for _, each in competitors if each.principal})
    if not mine:
        known = ", ".join(sealing) or "none"
        hint = suggestion(name, sealing) or f"those who forecast are {known}"
        msg = f"{name!r} is no competitor of {listed(suites)}: {hint}"
        raise UsageError(msg)
    concerned = {each for each, competitor in mine if competitor.principal}
    if not concerned:
        msg = (
            f"{name} is computed ({mine[0][1].method}): it forecasts nothing by itself"
        )
        raise UsageError(msg)
    return concerned


def _cells(unit: "OpenUnit") -> tuple[object, ...]:
    return (
        unit.state,
        clipped(f"{unit.template}/{unit.id}/{unit.horizon}"),
        clipped(unit.suite),
        lead(unit.seconds_left),
        unit.cutoff_at,
        unit.resolve_by,
        clipped(", ".join(unit.unforecast_by)) or None,
    )


def clipped(text: str) -> str:
    """Return a cell of so many letters at most; --json has all of them.

    >>> clipped("x" * 81)[-3:], len(clipped("x" * 81)), len(clipped("x" * 80))
    ('xx…', 80, 80)
    """
    return text if len(text) <= _CELL_MAX else f"{text[: _CELL_MAX - 1]}…"
