"""Drafts made into events without the ledger: by whoever may not read its folder.

What the ledger would look up has to stand in the draft, and is refused by its name
where it does not. Nothing is looked up, so nothing is judged but the spelling.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from ledger import codec
from ledger.draft_fields import require_known, spelled_fields, struct_type, unfit
from ledger.draft_vector import vector
from ledger.drafts import NAMING, STANDING, event_of, type_of
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)

_NEEDS_LEDGER = "sign it where the ledger's folder can be read"
_HASH_SAYS = "give it in the draft or by --suite-hash: `ledger suite show` prints it"


def event_alone(
    draft: Mapping[str, object],
    *,
    ledger: str,
    suite_hash: str | None,
    now: datetime,
) -> LedgerEvent:
    """Return the event that a draft for the ledger of that id means.

    `suite_hash` is that of every draft that states none. Raises `RefusedError`
    (`draft-unfit`) for a draft that leaves to the ledger what follows from it.
    """
    cls = type_of(draft)
    if issubclass(cls, SuiteFrozen):
        raise unfit("type", "is SuiteFrozen", _NEEDS_LEDGER)
    said = {name: value for name, value in draft.items() if name != "type"}
    named = next((name for name in NAMING if said.get(name)), None)
    if named is not None:
        remedy = "give `question`, or `question_hash`"
        if said.get("question_hash") or said.get("question"):
            remedy = "leave it out, for the question says it"
        raise unfit(named, "is for the ledger to look up", remedy)
    require_known(said, [each.name for each in struct_type(cls).fields], cls.__name__)
    if said.get("supersedes") == STANDING:
        raise unfit("supersedes", f"is {STANDING}", "give the id of that record")
    probabilities = said.pop("probabilities", None)
    fields = {"created_at": now, "ledger": ledger} | spelled_fields(said, cls, now)
    question = _ask(fields, cls)
    if cls is not ResolutionRecorded:
        _require_hash(fields, suite_hash)
    if cls is ForecastUpdated and "parent" not in fields:
        remedy = "give the event_id of the chain's last forecast, which its receipt has"
        raise unfit("parent", "is missing", remedy)
    if isinstance(probabilities, Mapping) and probabilities:
        answers = question.answers if question else ()
        fields["probabilities"] = vector(probabilities, answers)
    elif probabilities:
        raise unfit("probabilities", "is no object", "write each answer's probability")
    return event_of(cls, fields)


def _ask(fields: dict[str, object], cls: type[LedgerEvent]) -> Question | None:
    """Make a draft's question one, and return it."""
    if "question" not in fields:
        if "question_hash" not in fields:
            remedy = "give `question`, or `question_hash`"
            raise unfit("the question", "is missing", remedy)
        return None
    question = msgspec.convert(fields["question"], Question)
    fields["question"] = question
    if cls is not ForecastSealed:
        fields.setdefault("question_hash", codec.question_hash(question))
    return question


def _require_hash(fields: dict[str, object], suite_hash: str | None) -> None:
    if suite_hash is not None:
        fields.setdefault("suite_hash", suite_hash)
    if "suite_hash" not in fields:
        raise unfit("suite_hash", "is missing", _HASH_SAYS)
