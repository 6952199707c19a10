"""`ledger rows`: the scores, with what they stand on."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.explain import print_explained
from ledger.cli.fronts import print_fronts
from ledger.cli.options import At, AtLook, Json, LedgerDir, several
from ledger.cli.past import moment, report_at
from ledger.cli.rows_table import FIGURE_OF, print_rows
from ledger.cli.standing import Standing
from ledger.errors import UsageError
from ledger.suite_table import suggestion

if TYPE_CHECKING:
    from ledger.projections.report import Report
    from ledger.suite import SuiteManifest

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
    at: At = None,
    look: AtLook = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Print the scores, a row for each forecaster, horizon, slot and slice.

    Skill over R1 and R2 is in bits, with its interval where there is one; the other is
    relative to the suite's frozen baseline. Credit is what the four bars allow.
    Between two looks of a suite they are off_look, good for no claim: --look N has those
    of look N. With --json: one array of rows, as docs/rows.md describes them.

    For example:
      ledger rows --ledger demo
      ledger rows --ledger demo --suite piper-self@v1 --slot final --by tag:repo
      ledger rows --ledger demo --explain bss_frozen --forecaster piper-native
      ledger rows --ledger demo --front brier --front auroc
      ledger rows --ledger demo --suite piper-self@v1 --look 10
    """
    from ledger.projections.explaining import explained
    from ledger.projections.fronts import columns_of, fronts

    explain = _figure(explain, front)
    columns = columns_of([FIGURE_OF.get(each, each) for each in several(front)])
    groups = [*several(by), *([_grouping(part)] if part else ())]
    with reading(ledger) as (folder, reader):
        then = moment(reader, at, look, [suite] if suite else ())
        suite = then.suite or (suite and then.standing.meant(suite))
        _require_tags(groups, then.standing, suite)
        with report_at(folder, reader, then.size) as report:
            found = report.rows(
                suite=suite, forecaster=forecaster, slot=slot, by=groups
            )
            uncounted, manifests = _uncounted(report, found), _manifests(report, found)
    found = found if part is None else _of_slice(found, part)
    if explain is not None:
        said = explained(explain, found, manifests)
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
        for each in uncounted:
            render.note(each)


def _figure(explain: str | None, front: list[str] | None) -> str | None:
    """Return the figure that is to be explained, by its own name; refuse what is none."""
    from ledger.projections.explaining import entry_of

    if explain is None:
        return None
    if front:
        msg = "--front and --explain print different things: give one of the two"
        raise UsageError(msg)
    figure = FIGURE_OF.get(explain, explain)
    entry_of(figure)
    return figure


def _manifests(
    report: "Report", found: list[dict[str, Any]]
) -> "dict[str, SuiteManifest]":
    """Return the suites that rows are of, by name."""
    names = dict.fromkeys(row["suite"] for row in found)
    return {name: report.suite(name).manifest for name in names}


def _of_slice(found: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    chosen = [row for row in found if row["slice"] == part]
    if not chosen:
        render.note(f"no unit that is counted has {part}")
    return chosen


def _uncounted(report: "Report", found: list[dict[str, Any]]) -> list[str]:
    """Return how many units the rows of each suite do not count, a sentence each.

    First those that are not counted yet, then those that only thieves opened.
    """
    from ledger.projections.agenda import stolen, undeclared

    connection = report.tables.connection
    as_of = {
        name: of_suite["as_of"]
        for name, (of_suite, *_) in groupby(found, lambda row: row["suite"])
    }
    waiting = {name: undeclared(connection, name, when) for name, when in as_of.items()}
    never = {name: stolen(connection, name) for name in as_of}
    return [
        *(_waiting(name, count) for name, count in waiting.items() if count),
        *(_stolen(name, count) for name, count in never.items() if count),
    ]


def _waiting(name: str, count: int) -> str:
    units = "1 unit is" if count == 1 else f"{count:,} units are"
    cutoff = "its cut-off is" if count == 1 else "their cut-offs are"
    return f"{name}: {units} not counted yet: {cutoff} after as_of, when the log last heard of it"


def _stolen(name: str, count: int) -> str:
    units = "1 unit is" if count == 1 else f"{count:,} units are"
    return f"{name}: {units} not counted: opened by compromised keys only"


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
            known = ", ".join(sorted(allowed)) or "none"
            hint = suggestion(tag, allowed) or f"allowed are: {known}"
            msg = f"no template of {suite or 'any suite'} allows a tag {tag!r}: {hint}"
            raise UsageError(msg)
