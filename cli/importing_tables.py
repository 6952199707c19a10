"""`ledger import csv` and `ledger import jsonl`: any table, by a map of its columns."""

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
from ledger.cli.import_output import deliver, deliver_suite, watched
from ledger.cli.import_report import Report, sentences
from ledger.cli.import_suite import Shape, toml_for
from ledger.cli.options import Json
from ledger.cli.tabular import Names, Table
from ledger.cli.tabular_map import Settings, TableMap, pairs, read_settings, table_map
from ledger.cli.tabular_rows import Reader, csv_rows, jsonl_rows

_SUITE = "imported@v1"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The table, plain or gzipped; - is stdin.",
        show_default=False,
    ),
]
MapFile = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="A TOML file of all that follows; options overrule it.",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=SOURCE",
        help="Where a field comes from: a column, =TEXT, or text with {column}. Repeatable.",
        show_default=False,
    ),
]
Forecaster = Annotated[
    list[str] | None,
    typer.Option(
        "--forecaster",
        metavar="NAME=SOURCE",
        help="Who forecasts in every row: the probability of the first answer. Repeatable.",
        show_default=False,
    ),
]
Outcome = Annotated[
    list[str] | None,
    typer.Option(
        "--outcome",
        metavar="VALUE=MEANING",
        help="What an outcome says: an answer, PENDING, or VOID:REASON. Repeatable.",
        show_default=False,
    ),
]
Answers = Annotated[
    str | None,
    typer.Option(
        "--answers",
        metavar="A,B",
        help="The answers, the positive one first (default: yes,no).",
        show_default=False,
    ),
]
AssumeUtc = Annotated[
    bool, typer.Option("--assume-utc", help="Times without a zone are UTC.")
]
Percent = Annotated[bool, typer.Option("--percent", help="Probabilities are percent.")]
Normalise = Annotated[
    bool, typer.Option("--normalise", help="Scale vectors that do not sum to 1.")
]
HashText = Annotated[
    bool, typer.Option("--hash-text", help="Keep only the SHA-256 of texts.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR", help="What parts values (default: ,).", show_default=False
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Of the text (default: utf-8).", show_default=False
    ),
]


def csv(
    file: File,
    *,
    map_file: MapFile = None,
    set_: Set = None,
    forecaster: Forecaster = None,
    outcome: Outcome = None,
    answers: Answers = None,
    assume_utc: AssumeUtc = False,
    percent: Percent = False,
    normalise: Normalise = False,
    hash_text: HashText = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    suite: Suite = _SUITE,
    issuer: Issuer = "issuer",
    sealed_by: SealedBy = "forecaster",
    resolver: Resolver = "resolver",
    owner: Owner = "evaluator",
    out: Out = "-",
    suite_toml: SuiteToml = False,
    as_json: Json = False,
) -> None:
    """Turn a CSV file into drafts, by a map of its columns (docs/importing.md).

    For example:
      ledger import csv forecasts.csv --map map.toml --suite-toml > imported.toml
      ledger suite freeze imported.toml
      ledger import csv forecasts.csv --map map.toml | ledger append -

    A report on stderr accounts for every row: what was converted, rounded or changed,
    what was skipped, why, and where. With --json it is one object.
    """
    settings = _settings(map_file, set_, forecaster, outcome, answers)
    settings.delimiter = delimiter or settings.delimiter
    settings.encoding = encoding or settings.encoding
    table = table_map(_assuming(settings, assume_utc, percent, normalise, hash_text))
    names = Names(suite=suite, issuer=issuer, forecaster=sealed_by, resolver=resolver)
    if suite_toml:
        deliver_suite(_suite_of(file, csv_rows, table, names, owner), out)
    else:
        _import(file, csv_rows, table, names, out, as_json=as_json)


def jsonl(
    file: File,
    *,
    map_file: MapFile = None,
    set_: Set = None,
    forecaster: Forecaster = None,
    outcome: Outcome = None,
    answers: Answers = None,
    assume_utc: AssumeUtc = False,
    percent: Percent = False,
    normalise: Normalise = False,
    hash_text: HashText = False,
    suite: Suite = _SUITE,
    issuer: Issuer = "issuer",
    sealed_by: SealedBy = "forecaster",
    resolver: Resolver = "resolver",
    owner: Owner = "evaluator",
    out: Out = "-",
    suite_toml: SuiteToml = False,
    as_json: Json = False,
) -> None:
    r"""Turn JSON lines into drafts, by a map of their dotted paths (docs/importing.md).

    For example:
      ledger import jsonl questions.jsonl.gz --set id=id --set text=title \
        --set opened_at=created --set cutoff_at=closes --set resolve_by=meta.resolves

    It is `ledger import csv` for objects, one a line: a source names a path such as
    meta.close_time or topics.0. Null is nothing; a list is no id.
    """
    settings = _settings(map_file, set_, forecaster, outcome, answers)
    table = table_map(_assuming(settings, assume_utc, percent, normalise, hash_text))
    names = Names(suite=suite, issuer=issuer, forecaster=sealed_by, resolver=resolver)
    if suite_toml:
        deliver_suite(_suite_of(file, jsonl_rows, table, names, owner), out)
    else:
        _import(file, jsonl_rows, table, names, out, as_json=as_json)


def _settings(
    map_file: str | None,
    set_: list[str] | None,
    forecaster: list[str] | None,
    outcome: list[str] | None,
    answers: str | None,
) -> Settings:
    settings = Settings() if map_file is None else read_settings(map_file)
    settings.set |= pairs(set_ or (), "--set FIELD=SOURCE")
    settings.forecasters |= pairs(forecaster or (), "--forecaster NAME=SOURCE")
    settings.outcomes |= pairs(outcome or (), "--outcome VALUE=MEANING")
    if answers is not None:
        settings.answers = [answer.strip() for answer in answers.split(",")]
    return settings


def _assuming(
    settings: Settings,
    assume_utc: bool,
    percent: bool,
    normalise: bool,
    hash_text: bool,
) -> Settings:
    settings.assume_utc |= assume_utc
    settings.percent |= percent
    settings.normalise |= normalise
    settings.hash_text |= hash_text
    return settings


def _import(
    file: str, read: Reader, table: TableMap, names: Names, out: str, *, as_json: bool
) -> None:
    report = Report()
    drafts = Table(table, names, report).convert(watched(read(file, table)))
    deliver(drafts, report, lambda: sentences(report), out=out, as_json=as_json)


def _suite_of(
    file: str, read: Reader, table: TableMap, names: Names, owner: str
) -> str:
    drafts = Table(table, names, Report()).convert(watched(read(file, table)))
    shape = Shape(table.answers).take(drafts)
    return toml_for(
        shape,
        suite=names.suite,
        owner=owner,
        resolver=names.resolver,
        principal=names.forecaster,
        track="world",
    )
