"""The whole story of single units: each chain, each record, and what was found of them.

Nothing is judged here: the tables say what counts and why, the log what was said.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from ledger.clock import text_of_micros
from ledger.events import (
    Evidence,
    FailureTag,
    Forecast,
    ForecastUpdated,
    ResolutionRecorded,
    Run,
)
from ledger.projections.payloads import Payload, PayloadSource, read_whole
from ledger.projections.schema import found
from ledger.projections.suites import SECOND_US, Frozen
from ledger.projections.tables import TABLES


class Wanted(NamedTuple):
    """Which units, and whose chains: None for any.

    `unit` is a question's id or hash, the first 8 digits of the hash or more, or the
    name by which findings call a unit.
    """

    unit: str | None = None
    suite: str | None = None
    template: str | None = None
    horizon: str | None = None
    forecaster: str | None = None


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """A vector or a reveal of a chain. `lead_seconds` is from the seal to `resolve_by`.

    `probabilities` is null while it is hidden; `why_not` names the first rule that
    keeps it from counting.
    """

    seq: int
    event_id: str
    kind: str
    parent: int | None
    created_at: str
    received_at: str
    lead_seconds: int
    probabilities: dict[str, str] | None
    is_hidden: bool
    opened_at_seq: int | None
    is_eligible: bool
    why_not: str | None
    findings: list[str]
    evidence: Evidence | None
    model_version: str | None
    update_reason: str | None
    reason_codes: tuple[str, ...]
    failure_modes: tuple[str, ...]


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """One forecaster's vectors on a unit, in the order of the log."""

    forecaster: str
    vectors: list[Vector]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said that happened; `stands` marks the record that decides."""

    seq: int
    event_id: str
    author: str
    status: str
    outcome: str | None
    reason_code: str | None
    created_at: str
    received_at: str
    started_at: str | None
    published_at: str | None
    source: str | None
    note: str | None
    supersedes: str | None
    confirms: str | None
    stands: bool
    findings: list[str]
    failure_tags: tuple[FailureTag, ...]
    run: Run | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A finding about a unit: `seq` is the event that shows it."""

    seq: int
    rule: str
    message: str


class Chronicle(msgspec.Struct, frozen=True, kw_only=True):
    """A unit: its question, its chains, its records, and every finding about it."""

    suite: str
    template: str
    id: str
    horizon: str
    target: str
    cluster: str
    question_hash: str
    opened_at: str
    cutoff_at: str
    resolve_by: str
    status: str
    outcome: str | None
    reviews: int
    chains: list[Chain]
    resolutions: list[Record]
    findings: list[Told]


def chronicles(
    connection: apsw.Connection,
    frozen: Frozen,
    source: PayloadSource,
    wanted: Wanted,
) -> Iterator[Chronicle]:
    """Yield the units that are wanted, in the order in which the log knew them."""
    for (number,) in found(connection, *_asked(wanted)):
        yield _chronicle(connection, frozen, source, number, wanted)


def _asked(wanted: Wanted) -> tuple[str, list[str]]:
    conditions, values = ["TRUE"], []
    if wanted.unit is not None:
        conditions.append(
            "(id = ?1 OR identity = ?1 OR (length(?1) >= 8 AND "
            "substr(question_hash, 1, length(?1)) = ?1) OR unit IN "
            "(SELECT unit FROM aliases WHERE question_hash = ?1))"
        )
        values.append(wanted.unit)
    for column in ("suite", "template", "horizon"):
        value = getattr(wanted, column)
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if wanted.forecaster is not None:
        conditions.append("unit IN (SELECT unit FROM forecasts WHERE forecaster = ?)")
        values.append(wanted.forecaster)
    where = " AND ".join(conditions)
    return f"SELECT unit FROM questions WHERE {where} ORDER BY unit", values  # noqa: S608 - columns of ours


def _chronicle(
    connection: apsw.Connection,
    frozen: Frozen,
    source: PayloadSource,
    number: int,
    wanted: Wanted,
) -> Chronicle:
    (question,) = _fetched(connection, "questions", number)
    vectors = _fetched(connection, "forecasts", number)
    records = _fetched(connection, "resolutions", number)
    findings = [
        Told(seq=row["seq"], rule=row["rule"], message=row["message"])
        for row in _fetched(connection, "findings", number)
    ]
    places = sorted(row["seq"] for row in (*vectors, *records))
    said = {each.seq: each for each in source.payloads_at(places)}
    suite = frozen.suites[question["suite"]]
    names = sorted({row["forecaster"] for row in vectors})
    if wanted.forecaster is not None:
        names = [wanted.forecaster]
    chains = [
        Chain(
            forecaster=name,
            vectors=[
                _vector(row, said, findings, question, is_claimed=suite.is_claimed)
                for row in vectors
                if row["forecaster"] == name
            ],
        )
        for name in names
    ]
    return Chronicle(
        **{
            name: question[name]
            for name in ("suite", "template", "id", "horizon", "target", "cluster")
        },
        question_hash=question["question_hash"],
        opened_at=text_of_micros(question["opened_us"]),
        cutoff_at=text_of_micros(question["cutoff_us"]),
        resolve_by=text_of_micros(question["resolve_by_us"]),
        status=question["status"],
        outcome=question["outcome"],
        reviews=question["reviews"],
        chains=chains,
        resolutions=[
            _record(row, said, findings, stands=row["seq"] == question["resolved_seq"])
            for row in records
        ],
        findings=findings,
    )


def _fetched(
    connection: apsw.Connection, table: str, unit: int
) -> list[dict[str, Any]]:
    rows = found(
        connection,
        f"SELECT * FROM {table} WHERE unit = ? ORDER BY 1",  # noqa: S608 - a table of ours
        (unit,),
    )
    [names] = [each.row.__struct_fields__ for each in TABLES if each.name == table]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _vector(
    row: dict[str, Any],
    said: dict[int, Payload],
    findings: Sequence[Told],
    question: dict[str, Any],
    *,
    is_claimed: bool,
) -> Vector:
    event = read_whole(said[row["seq"]].payload)
    assert isinstance(event, Forecast)
    shown = event
    if row["opened_seq"] is not None:
        opener = read_whole(said[row["opened_seq"]].payload)
        assert isinstance(opener, Forecast)
        shown = opener
    sealed_us = row["created_us" if is_claimed else "received_us"]
    # A reveal is no vector: nothing kept it from being one.
    is_vector = row["kind"] != "reveal"
    return Vector(
        seq=row["seq"],
        event_id=said[row["seq"]].event_id.hex(),
        kind=row["kind"],
        parent=row["parent"],
        created_at=text_of_micros(row["created_us"]),
        received_at=text_of_micros(row["received_us"]),
        lead_seconds=(question["resolve_by_us"] - sealed_us) // SECOND_US,
        probabilities=shown.probabilities or None,
        is_hidden=bool(row["is_hidden"]),
        opened_at_seq=row["opened_seq"],
        is_eligible=bool(row["eligible"]),
        why_not=row["reason"] if is_vector else row["reason"] or "reveal",
        findings=[each.rule for each in findings if each.seq == row["seq"]],
        evidence=event.evidence,
        model_version=event.model_version,
        update_reason=event.reason if isinstance(event, ForecastUpdated) else None,
        reason_codes=event.reason_codes,
        failure_modes=event.failure_modes,
    )


def _record(
    row: dict[str, Any],
    said: dict[int, Payload],
    findings: Sequence[Told],
    *,
    stands: bool,
) -> Record:
    event = read_whole(said[row["seq"]].payload)
    assert isinstance(event, ResolutionRecorded)
    return Record(
        seq=row["seq"],
        event_id=said[row["seq"]].event_id.hex(),
        author=event.author,
        status=event.status,
        outcome=event.outcome,
        reason_code=event.reason_code,
        created_at=text_of_micros(row["created_us"]),
        received_at=text_of_micros(row["received_us"]),
        started_at=_text_or_none(row["started_us"]),
        published_at=_text_or_none(row["published_us"]),
        source=event.source,
        note=event.note,
        supersedes=event.supersedes,
        confirms=event.confirms,
        stands=stands,
        findings=[each.rule for each in findings if each.seq == row["seq"]],
        failure_tags=event.failure_tags,
        run=event.run,
    )


def _text_or_none(instant_us: int | None) -> str | None:
    return None if instant_us is None else text_of_micros(instant_us)
