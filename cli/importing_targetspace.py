"""`ledger import targetspace`: the protocol's own forecasts and outcomes."""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated

import typer

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
from ledger.cli.import_report import Report, UnfitError, sentences
from ledger.cli.import_suite import Shape, toml_for
from ledger.cli.options import Json
from ledger.cli.tabular import Names
from ledger.cli.targetspace import Instances
from ledger.cli.targetspace_records import Forecast, Outcome, read_records

_SUITE = "targetspace-imported@v1"

Forecasts = Annotated[
    str,
    typer.Argument(
        metavar="FORECASTS",
        help="Forecast records, a line each; - is stdin.",
        show_default=False,
    ),
]
Outcomes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Outcome records, a line each.", show_default=False
    ),
]


def targetspace(
    forecasts: Forecasts,
    *,
    outcomes: Outcomes = None,
    suite: Suite = _SUITE,
    issuer: Issuer = "issuer",
    sealed_by: SealedBy = "forecaster",
    resolver: Resolver = "resolver",
    owner: Owner = "evaluator",
    out: Out = "-",
    suite_toml: SuiteToml = False,
    as_json: Json = False,
) -> None:
    """Turn TargetSpace's forecast and outcome records into drafts.

    For example:
      ledger import targetspace forecasts.jsonl --outcomes outcomes.jsonl --suite-toml > ts.toml
      ledger suite freeze ts.toml
      ledger import targetspace forecasts.jsonl --outcomes outcomes.jsonl | ledger append -

    Each record is held against the protocol's own schema (PWM-0.1). One that fails is
    skipped, and the report names it. Vectors are rounded to millionths.
    """
    names = Names(suite=suite, issuer=issuer, forecaster=sealed_by, resolver=resolver)
    report = Report()
    drafts = _drafts(forecasts, outcomes, names, report)
    if not suite_toml:
        deliver(drafts, report, lambda: sentences(report), out=out, as_json=as_json)
        return
    toml = toml_for(
        Shape(()).take(drafts),
        suite=suite,
        owner=owner,
        resolver=resolver,
        principal=sealed_by,
        track="target",
    )
    deliver_suite(toml, out)


def _drafts(
    forecasts: str, outcomes: str | None, names: Names, report: Report
) -> Drafts:
    records: Iterator[tuple[str, Forecast | Outcome | UnfitError]] = chain(
        read_records(forecasts, Forecast),
        () if outcomes is None else read_records(outcomes, Outcome),
    )
    return Instances(names, report).convert(watched(records))
