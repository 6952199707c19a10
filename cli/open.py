"""`ledger open`: what can still be forecast, and what waits for its outcome."""

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import render
from ledger.cli.context import clock, reading
from ledger.cli.lineage import Suite, lead
from ledger.cli.options import Json, LedgerDir
from ledger.clock import micros
from ledger.errors import UsageError

if TYPE_CHECKING:
    from ledger.projections.agenda import OpenUnit

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
        folded = render.Progress("events folded", reader.events.size())
        with open_tables(
            folder, reader.store, lambda done: folded.step(done, done)
        ) as (tables, frozen):
            folded.close()
            if suite is not None and suite not in frozen.suites:
                known = ", ".join(frozen.suites) or "none"
                msg = f"{suite!r} was never frozen here; frozen are: {known}"
                raise UsageError(msg)
            found = agenda.open_units(
                tables.connection, frozen, folder.blobs.get, micros(clock()()), suite
            )
    if forecaster is not None:
        found = [each for each in found if forecaster in each.unforecast_by]
    if as_json:
        for each in found:
            render.json_line(each)
    elif found:
        render.table(_HEADS, map(_cells, found))
    else:
        render.note("nothing is open: every question that was asked has its outcome")


def _cells(unit: "OpenUnit") -> tuple[object, ...]:
    return (
        unit.state,
        f"{unit.template}/{unit.id}/{unit.horizon}",
        unit.suite,
        lead(unit.seconds_left),
        unit.cutoff_at,
        unit.resolve_by,
        ", ".join(unit.unforecast_by) or None,
    )
