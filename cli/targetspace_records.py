"""TargetSpace's forecasts and outcomes, read as the protocol's own schemas have them.

The structs are `forecast.schema.json` and `outcome.schema.json` of protocol PWM-0.1:
the same fields, nothing else, and the same bounds.
"""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from ledger.cli.draft_text import read_draft
from ledger.cli.import_file import opened
from ledger.cli.import_report import UnfitError
from ledger.errors import RefusedError

Named = Annotated[str, Meta(min_length=1)]
Answers = Annotated[list[str], Meta(min_length=2)]
TaskType = Literal[
    "T1_next_contact",
    "T2_event_realization",
    "T3_response_behavior",
    "T4_attention_allocation",
    "T5_routine_deviation",
    "T6_commitment_follow_through",
]
Tier = Literal["L0", "L1", "L2", "L3", "L4", "L5"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What both kinds of record have."""

    forecast_id: Named
    participant_id: Named
    task_id: Named
    resolution_time: datetime
    answer_space: Answers
    metadata: dict[str, Any] = {}


class Forecast(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sealed probabilistic forecast over a discrete answer space."""

    task_type: TaskType
    forecast_time: datetime
    horizon: str
    evidence_cutoff_time: datetime
    evidence_tier: Tier
    protocol_version: Named
    system_id: Named
    model_name: str | None = None
    question: str | None = None
    probabilities: Annotated[dict[str, Decimal], Meta(min_length=2)]


class Outcome(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The label that one instance resolved to."""

    task_type: TaskType | None = None
    observed_answer: str
    resolver: str
    resolution_method: str
    confidence: Decimal | None = None


Kind = TypeVar("Kind", Forecast, Outcome)


def read_records(
    file: str, kind: type[Kind]
) -> Iterator[tuple[str, Kind | UnfitError]]:
    """Yield the records of a file of JSON lines with their places.

    A record against its schema comes as the reason why. Raises `UsageError` for a file
    that cannot be read.
    """
    with opened(file) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    yield f"line {number}", _record(line, kind)
                except UnfitError as unfit:
                    yield f"line {number}", unfit


def _record(line: bytes, kind: type[Kind]) -> Kind:
    try:
        written = read_draft(line)
    except RefusedError as error:
        raise UnfitError("unreadable", error.message) from None
    name = written.get("forecast_id", "a record without a forecast_id")
    try:
        record = msgspec.convert(written, kind)
    except msgspec.ValidationError as error:
        raise UnfitError("schema", f"{name}: {error}") from None
    fault = _fault(record, written)
    if fault is not None:
        raise UnfitError("schema", f"{name}: {fault}")
    return record


def _fault(record: Forecast | Outcome, written: dict[str, Any]) -> str | None:
    """Return what a schema forbids that the types let through, or None."""
    if len(set(record.answer_space)) != len(record.answer_space):
        return "answer_space names an answer twice"
    for name in ("forecast_time", "resolution_time", "evidence_cutoff_time"):
        time = getattr(record, name, None)
        if time is not None and time.tzinfo is None:
            return f"{name} names no zone"
    numbers: dict[str, Any] = written.get("probabilities", {})
    if "confidence" in written:
        numbers = {"confidence": written["confidence"]}
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | Decimal):
            return f"{name} is {number!r}, which is no number"
        if not 0 <= number <= 1:
            return f"{name} is {number}, outside 0 and 1"
    return None
