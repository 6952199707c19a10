"""What became of every row of a table, in counts and in sentences."""

from collections.abc import Iterator

import msgspec

from ledger.cli.render import some
from ledger.errors import LedgerError

_PLACES_SHOWN = 3

# Why a row, a forecast or an outcome can be left out, as the report says it.
REASONS = {
    "unreadable": "that cannot be read",
    "columns": "with more or fewer values than the header has names",
    "not-unicode": "with bytes that are no text (another --encoding?)",
    "not-one-value": "with a list or an object where one value is needed",
    "schema": "against the schema of its format",
    "missing": "without a value that is needed",
    "not-a-time": "with a time that is none",
    "time-without-zone": "with a time that names no zone: if it is UTC, say --assume-utc",
    "times-out-of-order": "whose opened_at, cutoff_at and resolve_by do not follow in this order",
    "question-differs": "that describes a unit otherwise than an earlier row: "
    "put what tells them apart into the id",
    "repeated": "that says what an earlier row said",
    "not-a-probability": "with a probability that is no number from 0 to 1 (in percent? "
    "say --percent), or with --percent none from 0 to 100 (a decimal comma? write a point)",
    "answers-differ": "over other answers than the question has",
    "sum-not-one": "whose probabilities do not sum to 1 (--normalise scales them)",
    "made-earlier": "made before the forecaster's last one: sort the rows by time",
    "outcome-unmapped": "that stands for no answer: say which with --outcome VALUE=ANSWER",
    "outcome-differs": "other than an earlier row's for the same unit",
    "unknown-question": "of a question that no forecast is about",
}
# What was read in another form than it was written; the first word is a plural.
CONVERSIONS = {
    "to-utc": "times moved to UTC from the zone that each names",
    "assumed-utc": "times without a zone taken as UTC",
    "date-only": "dates taken as 00:00:00 UTC",
    "cut": "times cut to microseconds",
    "shifted": "times computed from an instant and a distance",
    "percent": "percentages divided by 100",
    "text-hashed": "texts replaced by the SHA-256 of each",
}


class UnfitError(LedgerError):
    """What keeps a row, or a part of it, from becoming a draft.

    `reason` is a key of `REASONS`; `detail` names the value.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


class Skipped(msgspec.Struct, kw_only=True):
    """What was left out for one reason; `places` are the first of them."""

    count: int = 0
    places: list[str] = []

    def note(self, place: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.places) < _PLACES_SHOWN:
            self.places.append(place)


class Report(msgspec.Struct, kw_only=True):
    """What became of every row that was read.

    A row is skipped or used. Each used row has as many forecasts as there are
    forecasters in a row: each is a draft, blank, or skipped. `pending` counts units
    without an outcome.
    """

    rows: int = 0
    used: int = 0
    units: dict[str, int] = {}
    drafts: dict[str, int] = {}
    pending: int = 0
    forecasts: int = 0
    without_forecast: dict[str, int] = {}
    repeated_outcomes: int = 0
    converted: dict[str, int] = {}
    rounded: dict[str, int] = {}
    normalised: dict[str, int] = {}
    skipped: dict[str, Skipped] = {}
    skipped_forecasts: dict[str, Skipped] = {}
    skipped_outcomes: dict[str, Skipped] = {}


def leave_out(skipped: dict[str, Skipped], unfit: UnfitError, place: str) -> None:
    """Note what is left out, where it stands and which value is in the way."""
    where = f"{place}: {unfit.detail}" if unfit.detail else place
    skipped.setdefault(unfit.reason, Skipped()).note(where)


def count(counts: dict[str, int], name: str) -> None:
    """Count one more of that name."""
    counts[name] = counts.get(name, 0) + 1


def sentences(report: Report) -> Iterator[str]:
    """Yield a report in words, a line each."""
    yield (
        f"{some(report.rows, 'row')} read: {some(report.used, 'row')} used, for "
        f"{some(sum(report.units.values()), 'unit')} ({counted(report.units)})"
    )
    yield f"{some(sum(report.drafts.values()), 'draft')}: {counted(report.drafts)}"
    if report.pending:
        yield f"PENDING: {some(report.pending, 'unit')} without an outcome in this file"
    for name, number in report.converted.items():
        things, _, how = CONVERSIONS[name].partition(" ")
        yield f"converted: {some(number, things.removesuffix('s'))} {how}"
    for name, number in report.rounded.items():
        yield f"rounded: {some(number, 'forecast')} of {name}, to millionths"
    for name, number in report.normalised.items():
        yield f"changed: {some(number, 'forecast')} of {name}, scaled to sum to 1"
    for name, number in report.without_forecast.items():
        yield f"missing: {some(number, 'row')} without a forecast of {name}"
    if report.repeated_outcomes:
        yield f"repeated: {some(report.repeated_outcomes, 'outcome')} known from earlier rows"
    for noun, skipped in (
        ("row", report.skipped),
        ("forecast", report.skipped_forecasts),
        ("outcome", report.skipped_outcomes),
    ):
        yield from skipped_sentences(noun, skipped, REASONS)


def skipped_sentences(
    noun: str, skipped: dict[str, Skipped], reasons: dict[str, str]
) -> Iterator[str]:
    """Yield a line for each reason to leave something out: how many, why and where."""
    for name, each in skipped.items():
        more = "; …" if each.count > len(each.places) else ""
        where = "; ".join(each.places) + more
        yield f"skipped: {some(each.count, noun)} {reasons[name]} ({where})"


def counted(counts: dict[str, int]) -> str:
    """Return counts by name in words."""
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or "none"
