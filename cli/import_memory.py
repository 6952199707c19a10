"""What an import has said of each unit so far: the door's memory, of drafts.

A draft has no event id yet, so the digest of what it says stands in its place. Most of
it lies on disk: memory does not grow with the file.
"""

import tempfile
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from ledger.cli.import_report import UnfitError
from ledger.clock import instant_text
from ledger.index import Index
from ledger.unit import Asked, Chain, Link, Record, Unit, unit_name

Draft = dict[str, Any]
DEFERRED_BYTES_IN_MEMORY = 1 << 20


class Memory:
    """Units, who forecast them last, how they were resolved, and drafts put off."""

    def __init__(self) -> None:
        self._index = Index(None)
        # Removed when it is closed, at the latest with this object.
        self._deferred = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            max_size=DEFERRED_BYTES_IN_MEMORY
        )

    def ask(self, suite: str, question: Draft, *, alias: str = "") -> tuple[Unit, bool]:
        """Return the unit of a question, and whether the question opens it.

        `alias` is another name of the unit, for `called`. Raises `UnfitError` for a unit
        that was asked in other words.
        """
        parts = (question["template"], question["id"], question["horizon"])
        name, identity = unit_name(suite, *parts), digest(question)
        other = self.called(suite, alias) if alias else None
        unit = other or self._index.named(name)
        if unit is not None:
            if (unit.name, unit.question({}).question_hash) != (name, identity):
                raise UnfitError("question-differs", question["id"])
            return unit, False
        asked = Asked(
            question_hash=identity,
            resolve_by=datetime.fromisoformat(question["resolve_by"]),
            answers=tuple(question.get("answers", ())),
        )
        template = question["template"]
        unit = Unit(name=name, suite=suite, template=template, asked=[asked])
        self._put(unit)
        if alias:
            self._index.put_question(unit, alias)
        return unit, True

    def called(self, suite: str, alias: str) -> Unit | None:
        """Return the unit that was asked under another name."""
        return self._index.asked(suite, alias)

    def forecast(
        self, unit: Unit, forecaster: str, made_at: datetime, said: Draft
    ) -> str:
        """Return the type of the event that a forecast is.

        Raises `UnfitError` for what was said before at the same instant, and for what
        was made before the forecaster's last one.
        """
        identity, chain = digest(said), unit.chains.get(forecaster)
        if chain is not None:
            where = f"{forecaster} at {instant_text(made_at)}"
            last = chain.end({})
            if made_at < last.created_at:
                raise UnfitError("made-earlier", where)
            if (made_at, identity) == (last.created_at, last.event_id):
                raise UnfitError("repeated", where)
        unit.chains[forecaster] = Chain([Link(identity, made_at)])
        self._put(unit)
        return "ForecastSealed" if chain is None else "ForecastUpdated"

    def resolve(self, unit: Unit, said: Draft) -> bool:
        """Take a unit's outcome; tell whether it is the first word on it.

        Raises `UnfitError` for another outcome than the one that was taken.
        """
        identity = digest(said)
        if not unit.records:
            unit.records.append(Record(identity, "", said["status"]))
            self._put(unit)
            return True
        if unit.records[0].event_id != identity:
            what = said.get("outcome", said["status"])
            raise UnfitError("outcome-differs", f"{what} for {unit.name}")
        return False

    def defer(self, draft: Draft) -> None:
        """Put a draft off until all others are made."""
        self._deferred.write(msgspec.json.encode(draft) + b"\n")

    def deferred(self) -> Iterator[Draft]:
        """Yield what was put off, in its order."""
        self._deferred.seek(0)
        for line in self._deferred:
            yield msgspec.json.decode(line)

    def close(self) -> None:
        """Forget everything."""
        self._index.close()
        self._deferred.close()

    def _put(self, unit: Unit) -> None:
        self._index.put(unit)
        if self._index.is_full:
            self._index.flush(0, b"")


def digest(said: Draft) -> str:
    """Return what equal drafts have in common."""
    return sha256(msgspec.json.encode(said, order="sorted")).hexdigest()
