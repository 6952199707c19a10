"""Which column is what: a map of a table, from options and from a TOML file.

    [set]                            # as --set FIELD=SOURCE
    id = "question_id"
    opened_at = "=2024-05-01T00:00:00Z"
    tag.source = "data_source"

    [forecasters]                    # as --forecaster NAME=SOURCE
    model-1 = "p_model_1"
    model-2 = { win = "p2_win", lose = "p2_lose" }

    [outcomes]                       # as --outcome VALUE=ANSWER or STATUS:REASON
    "1" = "yes"
    "0.5" = "VOID:tie"

Beside them stand `answers` and what is assumed (`assume_utc = true`, `percent`, ...).
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from ledger.cli.context import read_input
from ledger.cli.tabular_source import Source, constant, parse_source
from ledger.cli.tabular_values import Reading
from ledger.errors import UsageError
from ledger.events import Status
from ledger.rules_resolution import REASONED
from ledger.suite_table import listed, suggestion

QUESTION_TEXTS = ("template", "id", "horizon", "target", "cluster", "slot")
QUESTION_TIMES = ("opened_at", "cutoff_at", "resolve_by")
FORECAST = ("forecaster", "probability", "created_at", "model_version")
OUTCOME = ("outcome", "resolved", "published_at", "occurred_at", "source", "note")
FIELDS = (*QUESTION_TEXTS, "text", *QUESTION_TIMES, *FORECAST, *OUTCOME)
# These may be followed by a dot and a name: a tag's, or an answer's.
NAMING = ("tag", "probability")
DEFAULTS = {"template": "question", "horizon": "open"}
ANSWERS = ("yes", "no")

_TABLES = ("set", "forecasters", "outcomes")
_FLAGS = ("assume_utc", "percent", "normalise", "hash_text")
_SETTINGS = (*_TABLES, *_FLAGS, "answers", "delimiter", "encoding")
_BINARY = 2


class Forecasts(msgspec.Struct, frozen=True):
    """One forecaster of a row, and where its probability of each answer stands.

    Of two answers, the second may be left to be what the first leaves over.
    """

    forecaster: Source
    probabilities: dict[str, Source]


class Meaning(msgspec.Struct, frozen=True):
    """What a value of the outcome's column says."""

    status: Status
    outcome: str | None = None
    reason_code: str | None = None


class TableMap(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything stands in a table, and how its values are read."""

    fields: dict[str, Source]
    tags: dict[str, Source]
    forecasts: tuple[Forecasts, ...]
    answers: tuple[str, ...]
    outcomes: dict[str, Meaning]
    reading: Reading
    delimiter: str = ","
    encoding: str = "utf-8-sig"

    def sources(self) -> Iterator[Source]:
        """Yield all that is read from a row."""
        yield from self.fields.values()
        yield from self.tags.values()
        for each in self.forecasts:
            yield each.forecaster
            yield from each.probabilities.values()


class Settings(msgspec.Struct, kw_only=True):
    """A map as it was written, before it is understood."""

    set: dict[str, str] = {}
    forecasters: dict[str, str | dict[str, str]] = {}
    outcomes: dict[str, str] = {}
    answers: list[str] = []
    assume_utc: bool = False
    percent: bool = False
    normalise: bool = False
    hash_text: bool = False
    delimiter: str = ","
    encoding: str = "utf-8-sig"


def read_settings(file: str) -> Settings:
    """Return the settings of a TOML file; raise `UsageError` for an unfit one."""
    try:
        written = tomllib.loads(read_input(file).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file} is no TOML: {error}"
        raise UsageError(msg) from None
    for key in written:
        _require_known(key, _SETTINGS, f"{file} has a key {key!r}")
    for table in ("set", "outcomes"):
        if isinstance(written.get(table), Mapping):
            written[table] = dict(_flat(written[table]))
    try:
        return msgspec.convert(written, Settings)
    except msgspec.ValidationError as error:
        msg = f"{file} is no map of a table: {error}"
        raise UsageError(msg) from None


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield `tag.source` for what TOML reads as a table in a table."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def pairs(stated: Sequence[str], form: str) -> dict[str, str]:
    """Return options of the form NAME=VALUE; raise `UsageError` for another one."""
    made = {}
    for text in stated:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            msg = f"{text!r} is not {form}: write a name, an equals sign and what it is"
            raise UsageError(msg)
        made[name] = value
    return made


def table_map(settings: Settings) -> TableMap:
    """Return what settings mean; raise `UsageError` for what is unknown or missing."""
    fields: dict[str, Source] = {
        name: constant(text) for name, text in DEFAULTS.items()
    }
    named: dict[str, dict[str, Source]] = {naming: {} for naming in NAMING}
    for field, text in settings.set.items():
        naming, dot, name = field.partition(".")
        if dot and name and naming in NAMING:
            named[naming][name] = parse_source(text)
            continue
        _require_known(field, FIELDS, f"there is no field {field!r}")
        fields[field] = parse_source(text)
    answers = tuple(named["probability"] or settings.answers or ANSWERS)
    forecasts = tuple(_forecasts(settings, fields, named["probability"], answers))
    _require_complete(fields, forecasts)
    return TableMap(
        fields=fields,
        tags=named["tag"],
        forecasts=forecasts,
        answers=answers,
        outcomes=_outcomes(settings.outcomes, answers),
        reading=Reading(**{flag: getattr(settings, flag) for flag in _FLAGS}),
        delimiter=settings.delimiter.replace("\\t", "\t"),
        encoding=settings.encoding,
    )


def _forecasts(
    settings: Settings,
    fields: dict[str, Source],
    by_answer: dict[str, Source],
    answers: tuple[str, ...],
) -> Iterator[Forecasts]:
    """Yield who forecasts in each row: those with columns, and the row's own."""
    for name, written in settings.forecasters.items():
        texts = {answers[0]: written} if isinstance(written, str) else written
        sources = {answer: parse_source(text) for answer, text in texts.items()}
        yield Forecasts(constant(name), _of_all(sources, answers, f"forecaster {name}"))
    one = fields.pop("probability", None)
    if one is not None and by_answer:
        msg = "probability and probability.ANSWER exclude each other: keep one"
        raise UsageError(msg)
    sources = by_answer if one is None else {answers[0]: one}
    forecaster = fields.pop("forecaster", None)
    if bool(sources) != (forecaster is not None):
        msg = (
            "a row's own forecast needs both: --set forecaster=COLUMN (or =NAME) and "
            "--set probability=COLUMN (or probability.ANSWER=COLUMN for each answer)"
        )
        raise UsageError(msg)
    if forecaster is not None:
        yield Forecasts(forecaster, _of_all(sources, answers, "probability"))


def _of_all(
    sources: dict[str, Source], answers: tuple[str, ...], whose: str
) -> dict[str, Source]:
    """Return the sources, if they say the probability of every answer."""
    strange = [name for name in sources if name not in answers]
    absent = [name for name in answers if name not in sources]
    if strange or (absent and (len(answers) != _BINARY or absent != [answers[1]])):
        msg = (
            f"{whose} is over {', '.join(sources)}, and the answers are "
            f"{', '.join(answers)}: give each of them a source"
        )
        raise UsageError(msg)
    return sources


def _require_complete(
    fields: Mapping[str, Source], forecasts: tuple[Forecasts, ...]
) -> None:
    absent = [name for name in ("id", *QUESTION_TIMES) if name not in fields]
    if "outcome" in fields and "published_at" not in fields:
        # An imported outcome counts as known from when it was published.
        absent.append("published_at")
    if absent:
        sets = " ".join(f"--set {name}=COLUMN" for name in absent)
        msg = f"the map does not say {listed(absent, last='and')}: add {sets}"
        raise UsageError(msg)
    idle = [name for name in OUTCOME[1:] if name in fields and "outcome" not in fields]
    idle += [name for name in FORECAST[2:] if name in fields and not forecasts]
    if idle:
        what = "an outcome" if idle[0] in OUTCOME else "a forecast"
        msg = f"{idle[0]} belongs to {what}, and the map has none: add it, or leave it out"
        raise UsageError(msg)


def _outcomes(
    written: Mapping[str, str], answers: tuple[str, ...]
) -> dict[str, Meaning]:
    """Return what values mean; without a word on it, each answer means itself."""
    stated = written or {answer: answer for answer in answers}
    return {value_key(value): _meaning(text, answers) for value, text in stated.items()}


def value_key(value: str) -> str:
    """Return what equal values have in common: 1 and 1.0, yes and Yes."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value.strip().casefold()
    return format(number.normalize(), "f") if number.is_finite() else value.casefold()


def _meaning(text: str, answers: tuple[str, ...]) -> Meaning:
    if text in answers:
        return Meaning("RESOLVED", outcome=text)
    status, _, reason = text.partition(":")
    if status == "PENDING" and not reason:
        return Meaning("PENDING")
    if status in REASONED and reason:
        return Meaning(msgspec.convert(status, Status), reason_code=reason)
    msg = (
        f"an outcome means {text!r}, which is no answer ({', '.join(answers)}): write "
        f"one of them, PENDING, or {listed(REASONED)} with a reason, such as VOID:tie"
    )
    raise UsageError(msg)


def _require_known(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        remedy = suggestion(name, known) or f"there are {listed(known, last='and')}"
        msg = f"{what}: {remedy}"
        raise UsageError(msg)
