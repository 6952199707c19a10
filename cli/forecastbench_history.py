"""ForecastBench's questions and the history of their resolutions, read as published.

A question set is the JSON of one round. A resolution event stream is the CSV of every
change that a round's resolution set went through, in the order of the commits.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Literal

import msgspec

from ledger.cli.forecastbench_files import published
from ledger.cli.import_file import opened
from ledger.errors import UsageError

_NOTHING = "N/A"
_COLUMNS = (
    "round",
    "commit_time",
    "commit",
    "event",
    "source",
    "id",
    "horizon_key",
    "resolution_date",
    "old",
    "new",
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a round. `id` is a list for a combination of several."""

    id: str | list[str]
    source: str
    question: str = ""
    resolution_criteria: str = ""
    background: str = ""
    market_info_resolution_criteria: str = ""
    resolution_dates: list[date] | Literal["N/A"] = "N/A"

    @property
    def dates(self) -> list[date]:
        """The dates on which a data set's question resolves; a market's has none."""
        return [] if isinstance(self.resolution_dates, str) else self.resolution_dates

    def text(self, due: date, resolution_date: date | None) -> str:
        """Return what forecasters are shown, for one resolution date."""
        parts = (
            self.question,
            self.resolution_criteria,
            self.market_info_resolution_criteria,
            self.background,
        )
        shown = "\n\n".join(part for part in parts if part not in ("", _NOTHING))
        shown = shown.replace("{forecast_due_date}", due.isoformat())
        if resolution_date is not None:
            shown = shown.replace("{resolution_date}", resolution_date.isoformat())
        return shown


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of the round that is due on a date."""

    forecast_due_date: date
    questions: list[Asked]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a resolution set: which unit, when it was committed, from what to what.

    `horizon` is None for a market. `old` and `new` are None where there was nothing.
    """

    place: str
    due: date
    made_at: datetime
    commit: str
    event: str
    source: str
    id: str
    horizon: date | None
    resolution_date: date
    old: Decimal | None
    new: Decimal | None


def read_questions(path: Path) -> QuestionSet:
    """Return a question set; raise `UsageError` for another kind of file."""
    with opened(str(path)) as stream, published(path):
        return msgspec.json.decode(stream.read(), type=QuestionSet)


def read_changes(path: Path) -> Iterator[Change]:
    """Yield the changes of a resolution event stream, one at a time.

    Raises `UsageError` that names the first line which is none.
    """
    with opened(str(path)) as stream, published(path):
        lines = csv.DictReader((line.decode() for line in stream), restval="")
        absent = [name for name in _COLUMNS if name not in (lines.fieldnames or ())]
        if absent:
            found = ", ".join(lines.fieldnames or ["none"])
            msg = (
                f"the file has no column {', '.join(absent)}: an event stream has "
                f"{', '.join(_COLUMNS)}, and this has {found}"
            )
            raise UsageError(msg)
        for line in lines:
            try:
                yield _change(f"line {lines.line_num}", line)
            except (ValueError, InvalidOperation) as error:
                msg = f"line {lines.line_num} is no change ({error}): {line}"
                raise UsageError(msg) from None


def _change(place: str, line: dict[str, str]) -> Change:
    made_at = datetime.fromisoformat(line["commit_time"])
    if made_at.tzinfo is None:
        msg = f"commit_time {line['commit_time']} names no zone"
        raise ValueError(msg)
    return Change(
        place=place,
        due=date.fromisoformat(line["round"]),
        made_at=made_at.astimezone(UTC),
        commit=line["commit"],
        event=line["event"],
        source=line["source"],
        id=line["id"],
        horizon=date.fromisoformat(line["horizon_key"])
        if line["horizon_key"]
        else None,
        resolution_date=date.fromisoformat(line["resolution_date"]),
        old=_value(line["old"]),
        new=_value(line["new"]),
    )


def _value(text: str) -> Decimal | None:
    return Decimal(text) if text else None
