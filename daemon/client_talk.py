"""What a client says to the daemon to seal or update, without the way that it goes.

Each function yields what is to be asked next and is sent the answer, so that threads
and event loops can hold the same conversation. Signed events stay the same objects:
whoever carries them may send them again until an answer comes.
"""

from collections.abc import Generator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from ledger import codec
from ledger.daemon import protocol
from ledger.daemon.calling_wire import Fault
from ledger.draft_alone import event_alone
from ledger.draft_vector import vector
from ledger.envelope import envelope
from ledger.errors import (
    LedgerError,
    RefusedError,
    UsageError,
    WriterStoppedError,
)
from ledger.keys.signing import SignerKey
from ledger.writer import Receipt, Submission

# A number is the probability of the first answer.
Stated = float | str | Mapping[str, float | str]


_TWO = 2
# What is said of a question that the daemon opens, and not of the forecast.
_OF_QUESTION = ("target", "cluster", "text_hash", "tags")


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    method: str
    params: Mapping[str, Any]


Talk = Generator[Ask, Any, Receipt]


class Forecasts(msgspec.Struct, frozen=True, kw_only=True):
    """Whose forecasts a client seals, in which ledger, and on which kind of unit."""

    ledger: str
    signer: SignerKey | None
    forecaster: str | None
    suite: str | None
    template: str | None
    horizon: str | None
    answers: tuple[str, ...]


class UnitName(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecast is about, within the log."""

    suite: str
    template: str
    id: str
    horizon: str


def unit_of(
    whose: Forecasts,
    id: str,  # noqa: A002 - a unit's own word
    names: Mapping[str, str | None],
) -> UnitName:
    """Return the unit of an id; what `names` leaves out was said when connecting."""
    found = {
        name: names.get(name) or getattr(whose, name)
        for name in ("suite", "template", "horizon")
    }
    missing = next((name for name, value in found.items() if value is None), None)
    if missing is not None:
        msg = f"{missing} is not known: give it here, or to connect({missing}=…)"
        raise UsageError(msg)
    return UnitName(id=id, **found)


def seal(
    whose: Forecasts,
    unit: UnitName,
    stated: Stated,
    fields: Mapping[str, Any],
    now: datetime,
) -> Talk:
    """Seal a forecast on a unit; the daemon opens one that is not open yet.

    `fields` are those of a ForecastSealed, and `target`, `cluster`, `text_hash`, `tags`
    of the question that is opened. With `question` it is brought, as the owner of its
    questions does. Raises `RefusedError`: `already-sealed` where the chain has begun.
    """
    asked = {name: fields[name] for name in _OF_QUESTION if fields.get(name)}
    said = {name: value for name, value in fields.items() if name not in _OF_QUESTION}
    names = msgspec.to_builtins(unit)
    while True:
        if "question" in said:
            return (yield from _seal_own(whose, unit, stated, said, now))
        found = yield Ask(method="unit", params=names)
        question = None
        if found is None:
            proposed = yield Ask(method="question", params={**names, **asked})
            question, found = proposed["question"], proposed["unit"] or proposed
        _require_new(whose, unit, found)
        event = {
            **said,
            "type": "ForecastSealed",
            "suite": unit.suite,
            "question_hash": found["question_hash"],
            "suite_hash": found["suite_hash"],
        }
        signed = _signed(whose, stated, event, now, found.get("answers"))
        if question is None:
            return _receipt((yield _append(signed)))
        params = {"suite": unit.suite, "question": question, "events": [signed]}
        try:
            return _receipt((yield Ask(method="open_seal", params=params)))
        except RefusedError as refusal:
            # Somebody else opened it between the two requests.
            if refusal.code != "already-open":
                raise


def _seal_own(
    whose: Forecasts,
    unit: UnitName,
    stated: Stated,
    said: Mapping[str, Any],
    now: datetime,
) -> Talk:
    """Seal on a question that is brought: in a suite whose forecasters ask."""
    known = yield Ask(method="unit", params=msgspec.to_builtins(unit))
    if known is not None:
        _require_new(whose, unit, known)
    suite_hash = said.get("suite_hash")
    if suite_hash is None and known is None:
        msg = f"the hash of {unit.suite} is not known: give suite_hash=…"
        raise UsageError(msg)
    names = {"template": unit.template, "id": unit.id, "horizon": unit.horizon}
    event = {
        **said,
        "type": "ForecastSealed",
        "suite": unit.suite,
        "question": {**said["question"], **names},
        "suite_hash": suite_hash or known["suite_hash"],
    }
    signed = _signed(whose, stated, event, now, None)
    return _receipt((yield _append(signed)))


def update(
    whose: Forecasts,
    unit: UnitName,
    stated: Stated,
    fields: Mapping[str, Any],
    now: datetime,
) -> Talk:
    """Add a later forecast to the forecaster's chain on a unit."""
    found = yield Ask(method="unit", params=msgspec.to_builtins(unit))
    parent = None if found is None else found["chains"].get(_forecaster(whose))
    if parent is None:
        msg = f"{whose.forecaster} has sealed nothing on {unit.id}: seal it first"
        raise RefusedError("unknown-parent", msg)
    event = {
        **fields,
        "type": "ForecastUpdated",
        "suite": unit.suite,
        "parent": parent,
        "question_hash": found["question_hash"],
        "suite_hash": found["suite_hash"],
    }
    signed = _signed(whose, stated, event, now, found["answers"])
    return _receipt((yield _append(signed)))


def error_of(fault: Fault) -> LedgerError:
    """Return the exception that a daemon's error stands for."""
    if fault.code == protocol.REFUSED:
        return RefusedError(fault.kind, fault.message)
    if fault.code == protocol.STOPPED:
        return WriterStoppedError(fault.message)
    if fault.kind == "no-opening":
        # The question is not open, and would not be opened.
        return RefusedError("unknown-question", fault.message)
    return UsageError(f"the daemon refused this: {fault.message}")


def _require_new(whose: Forecasts, unit: UnitName, found: Mapping[str, Any]) -> None:
    if _forecaster(whose) in found.get("chains", {}):
        msg = f"{whose.forecaster} has sealed a forecast on {unit.id} before: update it"
        raise RefusedError("already-sealed", msg)


def _forecaster(whose: Forecasts) -> str:
    if whose.forecaster is None:
        raise UsageError("who forecasts is not known: give it to connect(forecaster=…)")
    return whose.forecaster


def _signed(
    whose: Forecasts,
    stated: Stated,
    event: Mapping[str, Any],
    now: datetime,
    answers: tuple[str, ...] | None,
) -> Any:  # noqa: ANN401 - an envelope as JSON has it
    """Return a forecast under its forecaster's signature, as the daemon takes it."""
    if whose.signer is None:
        raise UsageError("nothing can be signed: give a key file to connect(key=…)")
    known = tuple(answers or whose.answers)
    draft = {
        **event,
        "author": whose.signer.name,
        "forecaster": _forecaster(whose),
    }
    if "commitment" not in draft:
        draft["probabilities"] = _vector(stated, known)
    made = event_alone(draft, ledger=whose.ledger, suite_hash=None, now=now)
    signed = Submission.signed_by(whose.signer, codec.encode(made))
    return msgspec.to_builtins(envelope(signed))


def _vector(stated: Stated, answers: tuple[str, ...]) -> dict[str, str]:
    if isinstance(stated, Mapping):
        return vector(stated, answers)
    if len(answers) != _TWO:
        msg = f"one probability is given for {len(answers)} answers: name each of them"
        raise UsageError(msg)
    try:
        share = Decimal(str(stated))
    except InvalidOperation:
        return vector({answers[0]: stated}, answers)  # The refusal names what is wrong.
    # Of two answers the other takes the rest.
    return vector({answers[0]: share, answers[1]: 1 - share}, answers)


def _append(signed: object) -> Ask:
    return Ask(method="append", params={"events": [signed]})


def _receipt(result: Mapping[str, Any]) -> Receipt:
    [answer] = result["receipts"]
    if "error" in answer:
        raise RefusedError(answer["error"]["code"], answer["error"]["message"])
    return Receipt(**answer, checkpoint=result["checkpoint"])
