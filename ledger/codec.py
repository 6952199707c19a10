"""Bytes to events and back: one spelling of each event, insisted on at the door.

`decode` is strict: unknown fields, floats, other time zones, empty or default
values and every other spelling of the same event are refused, by encoding what
was decoded and comparing bytes. After the door nothing is encoded again:
`read` trusts bytes whose hash is already in the log.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, get_args

import msgspec

from ledger import canonical
from ledger.errors import CorruptLogError, RefusedError, UncheckableError
from ledger.events import Forecast, ForecastSealed, LedgerEvent, Question
from ledger.ids import sha256_hex
from ledger.spelling import require_spelling
from ledger.suite import FORMATS, CharterManifest, SuiteManifest

PAYLOAD_BYTES_MAX = 65_330

_DECODER: msgspec.json.Decoder[LedgerEvent] = msgspec.json.Decoder(LedgerEvent)
# By what most events end with, their type, which the other decoder must look for first.
# No more than a hint: what it misleads about is decoded again, or spelt otherwise.
_HINT = slice(-len(b'SuiteFrozen"}'), None)  # of the shortest name
_DECODE_AS: dict[bytes, Callable[[bytes], LedgerEvent]] = {
    f'{kind.__name__}"}}'.encode()[_HINT]: msgspec.json.Decoder(kind).decode
    for kind in get_args(LedgerEvent)
}
_QUESTION = msgspec.json.Decoder(Question)
_VERSION = re.compile(rb'"(?:format|metrics)":"((?:suite|charter|metrics)/[0-9]+)"')


def encode(event: LedgerEvent) -> bytes:
    """Return the payload: the event's RFC 8785 bytes."""
    return canonical.encode(event)


def read(payload: bytes) -> LedgerEvent:
    """Return the event of a payload that the door has already let in.

    Raises `UncheckableError` for a manifest of a newer format, and
    `CorruptLogError` for bytes that are no event.
    """
    try:
        return _DECODER.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        for version in _VERSION.findall(payload):
            if version.decode() not in (*FORMATS, "metrics/1"):
                msg = f"a manifest is written in {version.decode()}, newer than this program"
                raise UncheckableError(msg) from None
        msg = f"the payload is no event: {error}"
        raise CorruptLogError(msg) from None


def decode(payload: bytes) -> LedgerEvent:
    """Return the event that these exact bytes spell, or refuse them.

    Raises `RefusedError` with `too-large`, `not-canonical`, `too-many-places` or
    `sum-not-one`: what the payload alone shows.
    """
    if len(payload) > PAYLOAD_BYTES_MAX:
        msg = (
            f"the payload has {len(payload)} bytes, and {PAYLOAD_BYTES_MAX} are allowed: "
            "move long text to a blob and name its hash"
        )
        raise RefusedError("too-large", msg)
    try:
        event = read(payload)
    except (CorruptLogError, UncheckableError) as error:
        raise RefusedError("not-canonical", str(error)) from None
    spelled = encode(event)
    if spelled != payload:
        raise RefusedError("not-canonical", _first_difference(payload, spelled))
    require_spelling(event)
    return event


def decode_all(payloads: Sequence[bytes]) -> list[LedgerEvent]:
    """Return the events that these exact bytes spell; raise if `decode` would for one.

    Of faults in several another may be named. Takes two thirds of the time that one by
    one takes.
    """
    decoder = _DECODE_AS.get
    try:
        events = [decoder(each[_HINT], _DECODER.decode)(each) for each in payloads]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        events = []
    # No event is encoded with a line feed in it, so each is equal where all are.
    is_spelled = canonical.encode_lines(events) == b"\n".join([*payloads, b""])
    if not is_spelled or max(map(len, payloads)) > PAYLOAD_BYTES_MAX:
        return list(map(decode, payloads))
    require_spelling(*events)
    return events


def read_questions(content: bytes) -> list[Question]:
    """Return the questions of a pinned list: one JSON object a line.

    Raises `CorruptLogError` that names the first line which is no question.
    """
    questions = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            questions.append(_QUESTION.decode(line))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            msg = f"line {number} of the question list is no question: {error}"
            raise CorruptLogError(msg) from None
    return questions


def _first_difference(payload: bytes, spelled: bytes) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(payload, spelled, strict=False)) if a != b),
        min(len(payload), len(spelled)),
    )
    around = slice(max(0, place - 12), place + 28)
    return (
        f"byte {place} is not RFC 8785 of the event: {payload[around]!r} "
        f"should be {spelled[around]!r}"
    )


def question_hash(question: Question) -> str:
    """Return the hash of a question's canonical bytes (a slice of the payload)."""
    return sha256_hex(canonical.encode(question))


def suite_hash(manifest: SuiteManifest | CharterManifest) -> str:
    """Return the hash of a manifest's canonical bytes (a slice of the payload)."""
    return sha256_hex(canonical.encode(manifest))


def commitment(forecast: Forecast, *, parent: str | None, salt: str) -> str:
    """Return what a hidden forecast commits to (DESIGN: ForecastUpdated).

    `forecast` has the vector; `parent` is the committing event's own parent,
    absent under a ForecastSealed; `salt` is 32 random bytes in hexadecimal.
    """
    committed: dict[str, Any] = {
        "forecaster": forecast.forecaster,
        "ledger": forecast.ledger,
        "parent": parent,
        "probabilities": forecast.probabilities,
        "quantities": forecast.quantities,
        "question_hash": forecast.question_hash
        or (
            question_hash(forecast.question)
            if isinstance(forecast, ForecastSealed) and forecast.question
            else None
        ),
        "salt": salt,
        "suite_hash": forecast.suite_hash,
    }
    stated = {name: value for name, value in committed.items() if value}
    return sha256_hex(canonical.encode(stated))
