"""TargetSpace's forecasts and outcomes as drafts: the same vectors, a chain for a system.

An instance (`task_id`) is a question about the participant; its template is the task type,
and it brings its own answers. It is open from its first forecast until it resolves: the
protocol has no other cut-off, and what comes later is late. What the ledger has no field
for travels in the extension `targetspace`, so that a record can be given back whole.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from ledger.cli.import_memory import Memory
from ledger.cli.import_report import Report, UnfitError, count, leave_out
from ledger.cli.tabular import Names
from ledger.cli.tabular_values import Reading, vector_of
from ledger.cli.targetspace_records import Forecast, Outcome
from ledger.clock import instant_text
from ledger.ids import sha256_hex

Draft = dict[str, Any]
# Numbers stay as exact as they were read.
_JSON = msgspec.json.Encoder(decimal_format="number")
Records = Iterable[tuple[str, Forecast | Outcome | UnfitError]]


class Instances:
    """Turns records into drafts, and accounts for each of them."""

    def __init__(self, names: Names, report: Report) -> None:
        self._names = names
        self._report = report
        self._memory = Memory()

    def convert(self, records: Records) -> Iterator[Draft]:
        """Yield the drafts of all records; an outcome comes after its forecasts."""
        try:
            for place, record in records:
                self._report.rows += 1
                try:
                    drafts = self._drafts(record)
                except UnfitError as unfit:
                    leave_out(self._report.skipped, unfit, place)
                    continue
                self._report.used += 1
                for draft in drafts:
                    count(self._report.drafts, str(draft.get("status", draft["type"])))
                    yield draft
        finally:
            self._memory.close()

    def _drafts(self, record: Forecast | Outcome | UnfitError) -> list[Draft]:
        match record:
            case UnfitError():
                raise record
            case Outcome():
                return [self._resolution(record)]
            case Forecast():
                return self._forecast(record)

    def _forecast(self, record: Forecast) -> list[Draft]:
        made_at = self._utc(record.forecast_time)
        resolves_at = self._utc(record.resolution_time)
        if record.probabilities.keys() != set(record.answer_space):
            found = ", ".join(record.probabilities)
            raise UnfitError("answers-differ", f"{record.forecast_id}: {found}")
        vector = vector_of(record.probabilities, tuple(record.answer_space), Reading())
        asked = _question(record, resolves_at)
        unit, is_new = self._memory.ask(
            self._names.suite, asked, alias=_alias(record.task_id)
        )
        said = {
            "forecaster": record.system_id,
            "probabilities": vector.probabilities,
            "evidence": {
                "cutoff_at": instant_text(self._utc(record.evidence_cutoff_time)),
                "tiers": [record.evidence_tier],
            },
            "extensions": {
                "targetspace": _stated(
                    forecast_id=record.forecast_id,
                    protocol_version=record.protocol_version,
                    metadata=record.metadata,
                )
            },
        }
        if record.model_name:
            said["model_version"] = record.model_name
        kind = self._memory.forecast(unit, record.system_id, made_at, said)
        self._report.forecasts += 1
        if vector.is_rounded:
            count(self._report.rounded, record.system_id)
        draft = {
            "type": kind,
            "author": self._names.forecaster,
            "created_at": instant_text(made_at),
            **self._naming(unit.name),
            **said,
        }
        if not is_new:
            return [draft]
        opened_at = instant_text(min(made_at, resolves_at))
        return [self._opening({**asked, "opened_at": opened_at}), draft]

    def _opening(self, question: Draft) -> Draft:
        count(self._report.units, question["template"])
        self._report.pending += 1
        return {
            "type": "ResolutionRecorded",
            "author": self._names.issuer,
            "created_at": question["opened_at"],
            "suite": self._names.suite,
            "status": "PENDING",
            "question": question,
        }

    def _resolution(self, record: Outcome) -> Draft:
        unit = self._memory.called(self._names.suite, _alias(record.task_id))
        if unit is None:
            raise UnfitError("unknown-question", record.task_id)
        if record.task_type not in (None, unit.template):
            raise UnfitError(
                "question-differs", f"{record.task_id}: {record.task_type}"
            )
        answers = set(record.answer_space)
        if (
            answers != set(unit.question({}).answers)
            or record.observed_answer not in answers
        ):
            raise UnfitError(
                "answers-differ", f"{record.task_id}: {record.observed_answer}"
            )
        at = instant_text(self._utc(record.resolution_time))
        said: Draft = {
            "created_at": at,
            "status": "RESOLVED",
            "outcome": record.observed_answer,
            "published_at": at,
            "extensions": {
                "targetspace": _stated(
                    forecast_id=record.forecast_id,
                    confidence=record.confidence,
                    metadata=record.metadata,
                )
            },
        }
        said |= {} if not record.resolver else {"source": record.resolver}
        said |= (
            {} if not record.resolution_method else {"note": record.resolution_method}
        )
        if not self._memory.resolve(unit, said):
            raise UnfitError("repeated", record.task_id)
        self._report.pending -= 1
        naming = self._naming(unit.name)
        return {
            "type": "ResolutionRecorded",
            "author": self._names.resolver,
            **naming,
            **said,
        }

    def _naming(self, unit: str) -> Draft:
        suite, template, id_, horizon = msgspec.json.decode(unit)
        return {"suite": suite, "template": template, "id": id_, "horizon": horizon}

    def _utc(self, time: datetime) -> datetime:
        if time.utcoffset():
            count(self._report.converted, "to-utc")
        try:
            return time.astimezone(UTC)
        except OverflowError:
            raise UnfitError("not-a-time", time.isoformat()) from None


def _question(record: Forecast, resolves_at: datetime) -> Draft:
    """Return the question of an instance, but for when it was opened."""
    at = instant_text(resolves_at)
    question = {
        "template": record.task_type,
        "id": record.task_id,
        "target": record.participant_id,
        "cutoff_at": at,
        "resolve_by": at,
        "horizon": record.horizon,
        "answers": record.answer_space,
    }
    return question | ({"text": record.question} if record.question else {})


def _alias(task_id: str) -> str:
    """Return what an outcome knows an instance by: it does not name the horizon."""
    return sha256_hex(task_id.encode())


def _stated(**fields: object) -> dict[str, str]:
    """Return what is stated, as text: JSON where it is none."""
    return {
        name: value if isinstance(value, str) else _JSON.encode(value).decode()
        for name, value in fields.items()
        if value not in (None, {})
    }
