"""`ledger rows`: the scores, with what they stand on."""

from itertools import groupby
from typing import Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.explain import print_explained
from ledger.cli.fronts import print_fronts
from ledger.cli.options import Json, LedgerDir, several
from ledger.cli.rows_table import print_rows
from ledger.cli.standing import Standing, standing
from ledger.errors import UsageError
from ledger.suite_table import nearest

_TAG = "tag:"


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
        help="Rows for each horizon, target, template, slot, split, evidence_tier, "
        "adaptation_budget or tag:<name>, beside those that the suite declares "
        "(repeatable, or separated by commas).",
    ),
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="FIGURE",
        help="Say how a figure is made, and of what in each row: auroc, credit, regret, ...",
    ),
]
Front = Annotated[
    list[str] | None,
    typer.Option(
        "--front",
        metavar="SCORE",
        help="Say who is beaten by nobody in any of these scores (repeatable).",
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
    explain: Explain = None,
    front: Front = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Print the scores, a row for each forecaster, horizon, slot and slice.

    Skill over R1 and R2 is in bits, with its interval where there is one; the other is
    relative to the suite's frozen baseline. Credit is what the four bars allow.
    With --json: one array of rows, as docs/rows.md describes them.

    For example:
      ledger rows --ledger demo
      ledger rows --ledger demo --suite piper-self@v1 --slot final --by tag:repo
      ledger rows --ledger demo --explain bss_frozen --forecaster piper-native
      ledger rows --ledger demo --front brier --front auroc
    """
    from ledger.projections.explaining import entry_of, explained
    from ledger.projections.fronts import columns_of, fronts

    if explain is not None:
        entry_of(explain)
    columns = columns_of(several(front))
    groupings = [*several(by), *([_grouping(part)] if part else ())]
    found, waiting, stolen = _read(ledger, suite, forecaster, slot, groupings)
    if part is not None:
        found = [row for row in found if row["slice"] == part]
        if not found:
            render.note(f"no unit that is counted has {part}")
    if explain is not None:
        said = explained(explain, found)
        render.json_line(said) if as_json else print_explained(said)
    elif columns:
        said_of = list(fronts(found, columns))
        render.json_line(said_of) if as_json else print_fronts(said_of)
    elif as_json:
        render.json_line(found)
    elif not found and part is None:
        render.note("no rows: no suite is frozen here yet, or nothing is so called")
    else:
        print_rows(found)
        _tell_waiting(waiting)
        _tell_stolen(stolen)


def _read(
    ledger: str | None,
    suite: str | None,
    forecaster: str | None,
    slot: str | None,
    groupings: list[str],
) -> tuple[list[dict[str, Any]], dict[str, int], dict[str, int]]:
    """Return the rows, and how many units of each suite they do not count.

    First those that are not counted yet, then those that only thieves opened.
    """
    from ledger.projections.agenda import stolen, undeclared
    from ledger.projections.stored import open_report

    with reading(ledger) as (folder, reader):
        frozen = standing(reader)
        suite = None if suite is None else frozen.meant(suite)
        _require_tags(groupings, frozen, suite)
        size = reader.events.size()
        counted = render.Progress("events folded", size)
        with open_report(
            folder, reader.store, lambda done: counted.step(done, done)
        ) as report:
            counted.close()
            found = report.rows(
                suite=suite, forecaster=forecaster, slot=slot, by=groupings
            )
            waiting = {
                name: undeclared(report.tables.connection, name, of_suite["as_of"])
                for name, (of_suite, *_) in groupby(found, lambda row: row["suite"])
            }
            never = {name: stolen(report.tables.connection, name) for name in waiting}
    return found, waiting, never


def _tell_waiting(waiting: dict[str, int]) -> None:
    for name, count in waiting.items():
        if not count:
            continue
        units = "1 unit is" if count == 1 else f"{count:,} units are"
        cutoff = "its cut-off is" if count == 1 else "their cut-offs are"
        render.note(f"{name}: {units} not counted yet: {cutoff} after as_of")


def _tell_stolen(stolen: dict[str, int]) -> None:
    for name, count in stolen.items():
        if count:
            units = "1 unit is" if count == 1 else f"{count:,} units are"
            render.note(f"{name}: {units} not counted: opened by compromised keys only")


def _grouping(part: str) -> str:
    grouping, sign, _ = part.partition("=")
    if not sign:
        msg = f"--slice {part} has no value: write WHAT=VALUE, such as tag:repo=a"
        raise UsageError(msg)
    return grouping


def _require_tags(groupings: list[str], found: Standing, suite: str | None) -> None:
    """Refuse a tag that no template allows: its rows would be those without it."""
    allowed = {
        tag
        for name, frozen in found.suites.items()
        if suite in {None, name}
        for template in frozen.manifest.observable
        for tag in template.allowed_tags
    }
    for grouping in groupings:
        tag = grouping.removeprefix(_TAG)
        if grouping.startswith(_TAG) and tag not in allowed:
            near, known = nearest(tag, allowed), ", ".join(sorted(allowed)) or "none"
            hint = f"did you mean {near}?" if near else f"allowed are: {known}"
            msg = f"no template of {suite or 'any suite'} allows a tag {tag!r}: {hint}"
            raise UsageError(msg)
