"""What an import of ForecastBench is asked for, and what it reports."""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec

from ledger.cli.forecastbench_files import round_of_forecasts
from ledger.cli.import_report import Skipped, counted
from ledger.cli.render import some
from ledger.errors import UsageError

# A board takes a round in once it is this old.
BOARD_AGE = timedelta(days=50)


class Forecaster(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor: one probability for everything, or forecast sets by round."""

    name: str
    constant: Decimal | None = None
    files: dict[date, Path] = {}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Into which suite, under whose names, and what is imported."""

    suite: str
    issuer: str
    forecaster: str
    resolver: str
    forecasters: tuple[Forecaster, ...]
    as_of: date | None = None


class Report(msgspec.Struct, kw_only=True):
    """What became of every row that was read; of an event stream, of every change."""

    questions: int = 0
    rows: int = 0
    changes: dict[str, int] = {}
    units: dict[str, int] = {}
    drafts: dict[str, int] = {}
    rounds: dict[str, int] = {}
    rounded: dict[str, int] = {}
    pending: int = 0
    without_forecast: dict[str, int] = {}
    skipped: dict[str, Skipped] = {}

    def skip(self, reason: str, place: str) -> None:
        """Note what becomes no draft."""
        self.skipped.setdefault(reason, Skipped()).note(place)


# Why a row can be skipped, as the report says it.
REASONS = {
    "combination": "a combination of several questions",
    "round-too-young": f"of a round that is not {BOARD_AGE.days} days old as of that date",
    "unknown-source": "of a source that ForecastBench does not document",
    "unknown-horizon": "at none of the documented horizons",
    "repeated": "of a unit that an earlier row is about",
}
# Why a change of an event stream can be skipped as well.
STREAM_REASONS = {
    "other-round": "of another round than the question set's",
    "unknown-event": "of an event that no event stream is known to have",
    "unknown-question": "of what the question set does not ask",
}


def sentences(report: Report) -> Iterator[str]:
    """Yield a report in words, a line each."""
    units = f"{some(sum(report.units.values()), 'unit')} ({counted(report.units)})"
    rounds = some(len(report.rounds), "round")
    if report.questions:
        yield f"{some(report.questions, 'question')} read: {units} in {rounds}"
        yield f"{some(report.rows, 'change')} read: {counted(report.changes)}"
    else:
        yield f"{some(report.rows, 'row')} read: {units} in {rounds}"
    yield f"{some(sum(report.drafts.values()), 'draft')}: {counted(report.drafts)}"
    if report.pending:
        yield f"PENDING: {some(report.pending, 'unit')} without an outcome in this file"
    for name, skipped in report.skipped.items():
        more = ", …" if skipped.count > len(skipped.places) else ""
        where = ", ".join(skipped.places) + more
        why = (REASONS | STREAM_REASONS)[name]
        yield f"skipped: {some(skipped.count, 'row')}, {why} ({where})"
    for name, number in report.rounded.items():
        yield f"rounded: {some(number, 'forecast')} of {name}, to millionths"
    for name, number in report.without_forecast.items():
        yield f"missing: {some(number, 'unit')} without a forecast of {name}"


def forecasters_of(settings: Iterable[str]) -> tuple[Forecaster, ...]:
    """Return the competitors that `NAME=PROBABILITY` and `NAME=FILE` settings name.

    Raises `UsageError` for a setting that is neither, and for a round given twice.
    """
    found: dict[str, Forecaster] = {}
    for setting in settings:
        name, is_set, value = setting.partition("=")
        if not (name and is_set and value):
            msg = (
                f"{setting!r} is no forecaster: write NAME=0.5, or NAME=forecasts.json"
            )
            raise UsageError(msg)
        found[name] = _with(found.get(name), name, value)
    return tuple(found.values())


def _with(known: Forecaster | None, name: str, value: str) -> Forecaster:
    """Return a forecaster, or one that is known, with one more setting."""
    if value[0].isdigit() and set(value) <= set("0123456789."):
        if known is not None:
            msg = f"{name} is given a second time: a constant stands alone"
            raise UsageError(msg)
        return Forecaster(name=name, constant=probability(Decimal(value), name))
    path = Path(value)
    due = round_of_forecasts(path)
    files = {} if known is None else known.files
    if due in files or (known is not None and known.constant is not None):
        msg = f"{path} is a second word of {name} on round {due}: keep one"
        raise UsageError(msg)
    return Forecaster(name=name, files={**files, due: path})


def probability(value: Decimal, whose: str) -> Decimal:
    """Return `value`, or raise `UsageError` if it lies outside 0 and 1."""
    if not (value.is_finite() and 0 <= value <= 1):
        msg = f"{whose}: {value} is no probability, which lies between 0 and 1"
        raise UsageError(msg)
    return value
