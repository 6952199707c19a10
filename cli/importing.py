"""Bring history in from elsewhere: files of others, turned into drafts for `append`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from ledger.cli import render
from ledger.cli.forecastbench import convert
from ledger.cli.forecastbench_files import Row, read_rows
from ledger.cli.forecastbench_plan import REASONS, Plan, Report, forecasters_of
from ledger.cli.forecastbench_suite import toml_of
from ledger.cli.options import Json
from ledger.cli.teaching import SETTINGS, TaughtCommand, group
from ledger.errors import UsageError

_STANDARD = "-"
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
Out = Annotated[
    str, typer.Option(metavar="FILE", help="Where the drafts go; - is stdout.")
]
SuiteToml = Annotated[
    bool, typer.Option("--suite-toml", help="Print a suite that takes such drafts.")
]
Suite = Annotated[str, typer.Option(metavar="NAME@vN", help="Into which suite.")]
Issuer = Annotated[str, typer.Option(metavar="NAME", help="Who opens questions.")]
SealedBy = Annotated[str, typer.Option(metavar="NAME", help="Who forecasts.")]
Resolver = Annotated[str, typer.Option(metavar="NAME", help="Who resolves.")]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Who freezes the suite.")]


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


@app.command("forecastbench", cls=TaughtCommand, context_settings=SETTINGS)
def forecastbench(
    resolutions: Resolutions = None,
    *,
    forecaster: Forecasters = None,
    as_of: AsOf = None,
    suite: Suite = "forecastbench@v1",
    issuer: Issuer = "issuer",
    sealed_by: SealedBy = "forecaster",
    resolver: Resolver = "resolver",
    owner: Owner = "evaluator",
    out: Out = _STANDARD,
    suite_toml: SuiteToml = False,
    as_json: Json = False,
) -> None:
    """Turn ForecastBench's resolution files into questions, forecasts and outcomes.

    For example:
      ledger import forecastbench resolutions.csv.gz --as-of 2026-02-08 --out drafts.jsonl
      ledger import forecastbench set.json --forecaster ours=2025-12-07.ours.json

    Dataset questions are one unit a resolution date, market questions one a round.
    An open market's price is no outcome: its unit stays PENDING. An outcome between
    0 and 1 is VOID. Combinations are skipped. A report on stderr accounts for every
    row; with --json it is one object, on stdout where the drafts go to a file.
    """
    plan = Plan(
        suite=suite,
        issuer=issuer,
        forecaster=sealed_by,
        resolver=resolver,
        forecasters=forecasters_of(forecaster or _CONSTANTS),
        as_of=None if as_of is None else _date(as_of),
    )
    if suite_toml:
        render.line(toml_of(plan, owner).rstrip("\n"))
        return
    if resolutions is None:
        msg = "which file? Name a resolution file, or ask for the --suite-toml"
        raise UsageError(msg)
    report = Report()
    with _sink(out) as sink:
        for draft in convert(_watched(read_rows(Path(resolutions))), plan, report):
            sink.write(msgspec.json.encode(draft) + b"\n")
    _say(report, as_json=as_json, beside_drafts=out == _STANDARD)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        msg = f"--as-of {text!r} is no date: write it like 2026-02-08"
        raise UsageError(msg) from None


def _watched(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows, and say on a terminal how many there were."""
    progress = render.Progress("rows")
    try:
        for count, row in enumerate(rows, 1):
            yield row
            progress.step(count)
    finally:
        progress.close()


@contextmanager
def _sink(out: str) -> Iterator[BinaryIO]:
    """Give stdout, or a file that appears under its name once it is complete."""
    if out == _STANDARD:
        yield sys.stdout.buffer
        return
    path = Path(out)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as sink:
            yield sink
        partial.replace(path)
    except OSError as error:
        msg = f"{path} cannot be written: {error}"
        raise UsageError(msg) from error
    finally:
        partial.unlink(missing_ok=True)


def _say(report: Report, *, as_json: bool, beside_drafts: bool) -> None:
    if not as_json:
        for text in _sentences(report):
            render.note(text)
    elif beside_drafts:
        render.note(msgspec.json.encode(report).decode())
    else:
        render.json_line(report)


def _sentences(report: Report) -> Iterator[str]:
    yield (
        f"{_some(report.rows, 'row')} read: {_some(sum(report.units.values()), 'unit')} "
        f"({_counted(report.units)}) in {_some(len(report.rounds), 'round')}"
    )
    yield f"{_some(sum(report.drafts.values()), 'draft')}: {_counted(report.drafts)}"
    if report.pending:
        yield f"PENDING: {_some(report.pending, 'unit')} without an outcome in this file"
    for name, skipped in report.skipped.items():
        more = ", …" if skipped.count > len(skipped.places) else ""
        where = ", ".join(skipped.places) + more
        yield f"skipped: {_some(skipped.count, 'row')}, {REASONS[name]} ({where})"
    for name, count in report.rounded.items():
        yield f"rounded: {_some(count, 'forecast')} of {name}, to millionths"
    for name, count in report.without_forecast.items():
        yield f"missing: {_some(count, 'unit')} without a forecast of {name}"


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
