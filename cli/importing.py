"""Bring history in from elsewhere: files of others, turned into drafts for `append`."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from ledger.cli.forecastbench import convert
from ledger.cli.forecastbench_files import read_rows
from ledger.cli.forecastbench_history import read_changes, read_questions
from ledger.cli.forecastbench_plan import Plan, Report, forecasters_of, sentences
from ledger.cli.forecastbench_stream import convert_stream
from ledger.cli.forecastbench_suite import toml_of
from ledger.cli.import_options import (
    Issuer,
    Out,
    Owner,
    Resolver,
    SealedBy,
    Suite,
    SuiteToml,
)
from ledger.cli.import_output import Drafts, deliver, deliver_suite, watched
from ledger.cli.importing_tables import csv, jsonl
from ledger.cli.importing_targetspace import targetspace
from ledger.cli.options import Json
from ledger.cli.teaching import SETTINGS, TaughtCommand, group
from ledger.errors import UsageError

_CONSTANTS = ("always-0=0", "always-0.5=0.5", "always-1=1")

app = group()

Resolutions = Annotated[
    str | None,
    typer.Argument(
        metavar="RESOLUTIONS",
        help="A resolution file: .csv or .json, plain or gzipped; - is stdin.",
        show_default=False,
    ),
]
Forecasters = Annotated[
    list[str] | None,
    typer.Option(
        "--forecaster",
        metavar="NAME=P|FILE",
        help="A competitor: a constant probability, or a forecast set of a round. "
        f"Repeatable (default: {', '.join(_CONSTANTS)}).",
        show_default=False,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="The date of a board: rounds due less than 50 days before are skipped.",
        show_default=False,
    ),
]
Stream = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A resolution event stream, in place of RESOLUTIONS: every change, in order.",
        show_default=False,
    ),
]
Questions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The stream's question set.", show_default=False),
]


@app.callback()
def importing() -> None:
    """Turn files of other projects into drafts, which `ledger append` signs.

    For example:
      ledger import forecastbench --suite-toml > forecastbench.toml
      ledger suite freeze forecastbench.toml
      ledger import forecastbench resolutions.csv.gz | ledger append -

    What is imported was not witnessed by this ledger: its suite says
    `chronology = "claimed"` and can only be exploratory.
    """


app.command("csv", cls=TaughtCommand, context_settings=SETTINGS)(csv)
app.command("jsonl", cls=TaughtCommand, context_settings=SETTINGS)(jsonl)
app.command("targetspace", cls=TaughtCommand, context_settings=SETTINGS)(targetspace)


@app.command("forecastbench", cls=TaughtCommand, context_settings=SETTINGS)
def forecastbench(
    resolutions: Resolutions = None,
    *,
    stream: Stream = None,
    questions: Questions = None,
    forecaster: Forecasters = None,
    as_of: AsOf = None,
    suite: Suite = "forecastbench@v1",
    issuer: Issuer = "issuer",
    sealed_by: SealedBy = "forecaster",
    resolver: Resolver = "resolver",
    owner: Owner = "evaluator",
    out: Out = "-",
    suite_toml: SuiteToml = False,
    as_json: Json = False,
) -> None:
    """Turn ForecastBench's resolution files into questions, forecasts and outcomes.

    For example:
      ledger import forecastbench resolutions.csv.gz --as-of 2026-02-08 --out drafts.jsonl
      ledger import forecastbench set.json --forecaster ours=2025-12-07.ours.json
      ledger import forecastbench --stream events.csv.gz --questions 2025-12-07-llm.json

    Dataset questions are one unit a resolution date, market questions one a round.
    An open market's price is no outcome: its unit stays PENDING. An outcome between
    0 and 1 is VOID. Combinations are skipped. With --stream, amendments supersede,
    and what was withdrawn is VOID. A report on stderr accounts for every row; with
    --json it is one object, on stdout where the drafts go to a file.
    """
    # A history is about resolutions: it has no forecasts but those that are named.
    named = forecaster or (_CONSTANTS if stream is None else ())
    plan = Plan(
        suite=suite,
        issuer=issuer,
        forecaster=sealed_by,
        resolver=resolver,
        forecasters=forecasters_of(named),
        as_of=None if as_of is None else _date(as_of),
    )
    if suite_toml:
        deliver_suite(toml_of(plan, owner), out)
        return
    report = Report()
    drafts = _drafts(resolutions, stream, questions, plan, report)
    deliver(drafts, report, lambda: sentences(report), out=out, as_json=as_json)


def _drafts(
    resolutions: str | None,
    stream: str | None,
    questions: str | None,
    plan: Plan,
    report: Report,
) -> Drafts:
    if (stream is None) != (questions is None):
        msg = "--stream and --questions go together: changes, and what they are about"
        raise UsageError(msg)
    if stream is not None and questions is not None:
        if resolutions is not None or plan.as_of is not None:
            msg = "--stream stands alone: leave RESOLUTIONS and --as-of out"
            raise UsageError(msg)
        changes = watched(read_changes(Path(stream)))
        return convert_stream(changes, read_questions(Path(questions)), plan, report)
    if resolutions is None:
        msg = "which file? Name a resolution file, a --stream, or ask for the --suite-toml"
        raise UsageError(msg)
    return convert(watched(read_rows(Path(resolutions))), plan, report)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        msg = f"--as-of {text!r} is no date: write it like 2026-02-08"
        raise UsageError(msg) from None
