"""The options by which people describe one event, and the fields that they stand for."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from ledger.cli.context import read_input
from ledger.errors import RefusedError, UsageError
from ledger.grammar import HEX_PATTERN
from ledger.ids import sha256_hex
from ledger.suite_table import listed

Fields = dict[str, object]
_BINARY = 2


def option(name: str, metavar: str, help_text: str, *more: str) -> Any:  # noqa: ANN401
    """Return typer's description of an option; its default, None, goes unsaid."""
    return typer.Option(
        name, *more, metavar=metavar, help=help_text, show_default=False
    )


# The options that `seal`, `update` and `resolve` share. In the commands each one bears
# the name of the field that it fills.
Draft = Annotated[
    str | None,
    typer.Argument(
        metavar="-",
        help="- reads a draft (a JSON object) from stdin; options overrule it.",
        show_default=False,
    ),
]
Suite = Annotated[str | None, option("--suite", "SUITE", "Such as piper-self@v1.")]
Template = Annotated[str | None, option("--template", "ID", "One of the suite's.")]
Id = Annotated[str | None, option("--id", "ID", "The question's id.")]
Horizon = Annotated[str | None, option("--horizon", "LABEL", "One of the template's.")]
Author = Annotated[str | None, option("--author", "NAME", "The principal who signs.")]
Forecaster = Annotated[str | None, option("--as", "COMPETITOR", "Who forecasts.")]
Model = Annotated[str | None, option("--model", "NAME", "The forecaster's version.")]
Probabilities = Annotated[
    list[str] | None,
    option(
        "--probability",
        "[ANSWER=]P",
        "A probability, once an answer. Of two answers one is enough; without ANSWER "
        "it is the positive one's.",
        "-p",
    ),
]
# What a question has besides its names, where a command brings a new one.
Target = Annotated[
    str | None, option("--target", "NAME", "Whose behaviour it is about.")
]
Cluster = Annotated[str | None, option("--cluster", "NAME", "What it depends on.")]
Opened = Annotated[str | None, option("--opened", "WHEN", "Opened at (default: now).")]
Cutoff = Annotated[
    str | None, option("--cutoff", "WHEN", "Forecasts count until then.")
]
ResolveBy = Annotated[str | None, option("--resolve-by", "WHEN", "The deadline.")]
Text = Annotated[str | None, option("--text", "TEXT", "The question in words.")]
Tags = Annotated[list[str] | None, option("--tag", "NAME=VALUE", "A tag; repeatable.")]
Answers = Annotated[
    list[str] | None,
    option("--answer", "NAME", "An answer, where the template leaves them open."),
]
Acceptance = Annotated[
    str | None,
    option("--acceptance", "FILE|SHA256", "The frozen bar: its file, or its hash."),
]
QUESTION = (
    "target", "cluster", "opened_at", "cutoff_at", "resolve_by", "text", "tags", "answers",
)  # fmt: skip


def fields_of(options: Mapping[str, object]) -> tuple[Fields, Fields]:
    """Return the fields that options fill, and those of a question that they bring.

    The bar belongs to the question where there is one: of a resolution it says by
    which bar was judged.
    """
    fields = {name: value for name, value in options.items() if value}
    for name in ("tags", "values"):
        if name in fields:
            fields[name] = pairs(fields[name])
    if "acceptance_hash" in fields:
        fields["acceptance_hash"] = bar(str(fields["acceptance_hash"]))
    question = {name: fields.pop(name) for name in QUESTION if name in fields}
    if question:
        question.setdefault("opened_at", "now")
        question["acceptance_hash"] = fields.pop("acceptance_hash", None)
    return fields, question


def pairs(stated: object) -> dict[str, str]:
    """Return NAME=VALUE options as a mapping."""
    assert isinstance(stated, list)
    made = {}
    for text in stated:
        name, sign, value = text.partition("=")
        if not sign or not name:
            msg = (
                f"{text} is not NAME=VALUE: write a name, an equals sign and its value"
            )
            raise UsageError(msg)
        made[name] = value
    return made


def bar(acceptance: str) -> str:
    """Return the hash of a bar that was named by its hash or by its file."""
    if re.match(HEX_PATTERN, acceptance):
        return acceptance
    return sha256_hex(read_input(acceptance))


def spread(
    stated: Sequence[str], answers: tuple[str, ...], positive: str | None
) -> Fields:
    """Return the vector that -p options describe over `answers`.

    A bare number is the positive answer's; of two answers the other takes the rest.
    Raises `UsageError` where it is not clear whose a number is, and `RefusedError` for
    what is no answer.
    """
    named: dict[str, Decimal | str] = {}
    for text in stated:
        name, sign, value = text.rpartition("=")
        answer = name if sign else _only_positive(text, stated, answers, positive)
        if answers and answer not in answers:
            known = listed(answers, last="and")
            msg = f"-p {text}: {answer} is no answer of the question, whose answers are {known}"
            raise RefusedError("answers-mismatch", msg)
        if answer in named:
            msg = f"-p names {answer} twice: give each answer one probability"
            raise UsageError(msg)
        named[answer] = _number(value)
    if len(answers) == _BINARY and len(named) == 1 and set(named) <= set(answers):
        [(answer, probability)] = named.items()
        other = answers[answer == answers[0]]
        if isinstance(probability, Decimal):
            named[other] = 1 - probability
    return dict(named)


def _only_positive(
    text: str, stated: Sequence[str], answers: tuple[str, ...], positive: str | None
) -> str:
    if positive is None or len(answers) != _BINARY or len(stated) != 1:
        known = listed(answers) if answers else "the question's"
        msg = f"-p {text} names no answer: write -p ANSWER={text}, one of {known}"
        raise UsageError(msg)
    return positive


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text  # The refusal names the answer that it was for.
