"""What one row says, by a map: its question, its probabilities, its outcome.

Each function raises `UnfitError` for a value that cannot be what it should be.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from ledger.cli.import_report import UnfitError
from ledger.cli.tabular_map import (
    QUESTION_TEXTS,
    QUESTION_TIMES,
    Forecasts,
    Meaning,
    TableMap,
    value_key,
)
from ledger.cli.tabular_source import BLANKS, Row
from ledger.cli.tabular_values import Note, instant, probability
from ledger.clock import instant_text
from ledger.ids import sha256_hex

Draft = dict[str, Any]
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NEEDED = ("template", "id", "horizon")


class Cells(msgspec.Struct, frozen=True):
    """One row, the map of its table, and who counts conversions."""

    row: Row
    table: TableMap
    note: Note

    def optional(self, name: str) -> Draft:
        """Return a text field, or nothing where it is blank."""
        source = self.table.fields.get(name)
        value = None if source is None else source.read_some(self.row)
        return {} if value is None else {name: value}

    def time(self, name: str) -> str | None:
        """Return an instant as payloads spell it; None where it is blank."""
        source = self.table.fields.get(name)
        text = None if source is None else source.read_value(self.row)
        if text is None:
            return None
        return instant_text(instant(text, name, self.table.reading, self.note))

    def needed_time(self, name: str) -> str:
        """Return an instant that has to be there."""
        time = self.time(name)
        if time is None:
            raise UnfitError("missing", name)
        return time


def question_of(cells: Cells) -> Draft:
    """Return the question that a row asks."""
    question: Draft = {}
    for name in QUESTION_TEXTS:
        source = cells.table.fields.get(name)
        value = None if source is None else source.read(cells.row)
        if value is None and name in _NEEDED:
            raise UnfitError("missing", name)
        if value is not None:
            question[name] = value
    times = {name: cells.needed_time(name) for name in QUESTION_TIMES}
    instants = [datetime.fromisoformat(time) for time in times.values()]
    if instants != sorted(instants):
        named = ", ".join(f"{name} {time}" for name, time in times.items())
        raise UnfitError("times-out-of-order", named)
    question |= {**times, **_text(cells)}
    tags = {name: source.read(cells.row) for name, source in cells.table.tags.items()}
    if any(tags.values()):
        question["tags"] = {name: value for name, value in tags.items() if value}
    return question


def _text(cells: Cells) -> Draft:
    stated = cells.optional("text")
    if not stated or not cells.table.reading.hash_text:
        return stated
    cells.note("text-hashed")
    return {"text_hash": sha256_hex(stated["text"].encode())}


def probabilities_of(
    cells: Cells, forecasts: Forecasts
) -> tuple[str | None, dict[str, Decimal]]:
    """Return who forecasts, and its probabilities: none of them where all are blank."""
    name = forecasts.forecaster.read(cells.row)
    texts = {
        answer: source.read_value(cells.row)
        for answer, source in forecasts.probabilities.items()
    }
    if not any(texts.values()):
        return name, {}
    given = {}
    for answer, text in texts.items():
        if text is None:
            raise UnfitError("missing", f"the probability of {answer}")
        given[answer] = probability(text, answer, cells.table.reading, cells.note)
    for answer in cells.table.answers:
        if answer not in given:  # the second of two
            given[answer] = 1 - sum(given.values(), Decimal(0))
    return name, given


def outcome_of(cells: Cells) -> Draft | None:
    """Return what a row says of its unit's outcome; None for nothing, or for not yet."""
    source = cells.table.fields.get("outcome")
    text = None if source is None else source.read(cells.row)
    if text is None or not _is_resolved(cells):
        return None
    # What people write for nothing may still be given a meaning.
    meaning = cells.table.outcomes.get(value_key(text))
    if meaning is None:
        if text.strip().lower() in BLANKS:
            return None
        raise UnfitError("outcome-unmapped", repr(text))
    return None if meaning.status == "PENDING" else _record(cells, meaning)


def _is_resolved(cells: Cells) -> bool:
    """Tell whether an outcome is one yet, where a column says so."""
    source = cells.table.fields.get("resolved")
    if source is None:
        return True
    text = source.read_value(cells.row)
    if text is None:
        return False
    truth = _TRUTH.get(text.lower())
    if truth is None:
        raise UnfitError("outcome-unmapped", f"resolved is {text!r}")
    return truth


def _record(cells: Cells, meaning: Meaning) -> Draft:
    published_at = cells.needed_time("published_at")
    stated = {
        "created_at": published_at,
        "status": meaning.status,
        "outcome": meaning.outcome,
        "reason_code": meaning.reason_code,
        "occurred_at": cells.time("occurred_at"),
        "published_at": published_at,
        **cells.optional("source"),
        **cells.optional("note"),
    }
    return {name: value for name, value in stated.items() if value}
