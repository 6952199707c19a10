"""The vectors of a bundle: what the tables have of each, and what its event states.

Free text stays in the log: reasons, notes, questions, and what a runtime appended.
"""

# ruff: noqa: S608 - the statement is put together from our own names and marks

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from ledger.canonical import canonical_text
from ledger.errors import CorruptLogError
from ledger.projections.export_tables import (
    FORECAST_COLUMNS,
    TAG,
    Frame,
    forecasts_frame,
)
from ledger.projections.lineage import KINDS, REVEAL
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload, PayloadSource

_FETCHED = 20_000


class _Evidence(msgspec.Struct, frozen=True, gc=False):
    tiers: tuple[str, ...] = ()


class _Stated(msgspec.Struct, gc=False):
    """Of a forecast event, what the tables do not have."""

    evidence: _Evidence = _Evidence()
    quantities: dict[str, Any] = {}
    reference_class: str | None = None
    model_version: str | None = None
    code_revision: str | None = None
    reason_codes: list[str] = []
    extensions: dict[str, dict[str, str]] = {}


_STATED = msgspec.json.Decoder(_Stated)
_ANSWERS = msgspec.json.Decoder(list[str])
_TAGS = msgspec.json.Decoder(dict[str, str])
_FROM_TABLES = {
    "seq": "f.seq",
    "suite": "q.suite",
    "template": "q.template",
    "id": "q.id",
    "horizon": "q.horizon",
    "target": "q.target",
    "cluster": "q.cluster",
    "slot": "q.slot",
    "question_hash": "q.question_hash",
    "opened_at": "q.opened_us",
    "cutoff_at": "q.cutoff_us",
    "resolve_by": "q.resolve_by_us",
    "forecaster": "f.forecaster",
    "kind": "f.kind",
    "parent": "f.parent",
    "created_at": "f.created_us",
    "received_at": "f.received_us",
    "lead_seconds": "(q.resolve_by_us - f.received_us) / 1000000",
    "eligible": "f.eligible",
    "reason": "f.reason",
    "is_hidden": "f.is_hidden",
    "opened_seq": "f.opened_seq",
    "adaptation_budget": "f.adaptation_budget",
    "status": "q.status",
    "outcome": "q.outcome",
    "brier_sum_e12": "f.brier_sum",
    "picobits": "f.picobits",
    "picobits_clipped": "f.picobits_clipped",
    "piconats_clipped": "f.piconats_clipped",
    "probabilities": "f.probabilities_ppm",
    "answers": "q.answers",
    "tags": "q.tags",
}


def read_forecasts(
    tables: Tables, source: PayloadSource, suites: Sequence[str]
) -> Frame:
    """Return all vectors and reveals on the units of some suites, in log order."""
    marks = ",".join("?" * len(suites))
    tagged = tables.connection.execute(
        "SELECT DISTINCT tags FROM questions WHERE tags IS NOT NULL "
        f"AND suite IN ({marks})",
        suites,
    )
    tags = sorted({name for (text,) in tagged for name in _TAGS.decode(text)})
    cursor = tables.connection.execute(
        f"SELECT {','.join(_FROM_TABLES.values())} FROM forecasts f "
        f"JOIN questions q USING (unit) WHERE q.suite IN ({marks}) ORDER BY f.seq",
        suites,
    )

    def batches() -> Iterator[dict[str, list[Any]]]:
        while found := list(islice(cursor, _FETCHED)):
            yield _batch(found, source, tags)

    return forecasts_frame(batches(), tags)


def _batch(
    found: list[tuple[Any, ...]], source: PayloadSource, tags: Sequence[str]
) -> dict[str, list[Any]]:
    """Return some vectors as columns: what the tables have, and what the events say."""
    columns = dict(zip(_FROM_TABLES, map(list, zip(*found, strict=True)), strict=True))
    answers = [_ANSWERS.decode(text) for text in columns.pop("answers")]
    tagged = [_TAGS.decode(text or "{}") for text in columns.pop("tags")]
    for name in ("eligible", "is_hidden"):
        columns[name] = [bool(value) for value in columns[name]]
    columns["probabilities"] = [
        _vector(names, ppm)
        for names, ppm in zip(answers, columns["probabilities"], strict=True)
    ]
    columns.update({f"{TAG}{tag}": [each.get(tag) for each in tagged] for tag in tags})
    columns.update(_of_events(list(source.payloads_at(columns["seq"]))))
    # A reveal is no vector: what it states to have cost is in no sum of a row either.
    columns["cost"] = [
        None if kind == KINDS[REVEAL] else cost
        for kind, cost in zip(columns["kind"], columns["cost"], strict=True)
    ]
    order = (*FORECAST_COLUMNS, *(f"{TAG}{tag}" for tag in tags))
    return {name: columns[name] for name in order}


def _vector(answers: list[str], ppm: str | None) -> list[dict[str, str | int]] | None:
    if ppm is None:
        return None
    return [
        {"answer": answer, "ppm": int(each)}
        for answer, each in zip(answers, ppm.split(), strict=True)
    ]


def _of_events(entries: Sequence[Payload]) -> dict[str, list[Any]]:
    stated = [_stated(entry) for entry in entries]
    return {
        "event_id": [entry.event_id.hex() for entry in entries],
        "quantities": [_spelled(each.quantities) for each in stated],
        "cost": [_spelled(each.extensions.get("cost")) for each in stated],
        "reference_class": [each.reference_class for each in stated],
        "model_version": [each.model_version for each in stated],
        "code_revision": [each.code_revision for each in stated],
        "evidence_tiers": [each.evidence.tiers for each in stated],
        "reason_codes": [each.reason_codes for each in stated],
    }


def _spelled(stated: dict[str, Any] | None) -> str | None:
    """Return what an event states by name as canonical JSON; None of nothing."""
    return canonical_text(stated) if stated else None


def _stated(entry: Payload) -> _Stated:
    try:
        return _STATED.decode(entry.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptLogError(f"no forecast: {error}", seq=entry.seq) from None
