"""Signed events as people and programs pass them around: DSSE envelopes in JSON.

An envelope is a way in and out, never what is stored: the log keeps the payload's
bytes, the author's key and the signature (`entry`).
"""

import re
from base64 import b64encode

import msgspec

from ledger import codec
from ledger.errors import CorruptLogError, RefusedError, UncheckableError, UsageError
from ledger.grammar import HEX_PATTERN
from ledger.keys.roster import Roster
from ledger.keys.signing import (
    EVENT_TYPE,
    decode_base64,
    parse_verifier,
    require_no_secret,
)
from ledger.writer import Submission

_HEX = re.compile(HEX_PATTERN)


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signature; `keyid` names the key that it is by."""

    sig: str
    keyid: str = ""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A payload with its type and its signatures, each in base64."""

    payload: str
    payloadType: str  # noqa: N815 - the key's name in DSSE
    signatures: tuple[Signature, ...]


_DECODER = msgspec.json.Decoder(Envelope)


def envelope(submission: Submission) -> Envelope:
    """Return a signed event as an envelope; the key's id is the key itself, in hex."""
    return Envelope(
        payload=b64encode(submission.payload).decode(),
        payloadType=EVENT_TYPE,
        signatures=(
            Signature(
                keyid=submission.author_key.hex(),
                sig=b64encode(submission.signature).decode(),
            ),
        ),
    )


def open_envelope(text: bytes, roster: Roster) -> Submission:
    """Return the signed event of an envelope's JSON, nothing of it verified yet.

    `keyid` is the author's public key in hexadecimal or a verifier key; without one
    the key is that of the payload's author in `roster`. Raises `RefusedError`
    (`envelope-unfit`).
    """
    try:
        found = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unfit(f"this is no DSSE envelope: {error}") from None
    if found.payloadType != EVENT_TYPE:
        raise _unfit(f"payloadType is {found.payloadType[:80]!r}: write {EVENT_TYPE}")
    if len(found.signatures) != 1:
        count = len(found.signatures)
        raise _unfit(f"the envelope has {count} signatures: give the author's alone")
    payload = _bytes("payload", found.payload)
    [signature] = found.signatures
    return Submission(
        payload=payload,
        author_key=_key(signature.keyid, payload, roster),
        signature=_bytes("sig", signature.sig),
    )


def _bytes(where: str, text: str) -> bytes:
    try:
        return decode_base64(text)
    except CorruptLogError as error:
        raise _unfit(f"{where} is unfit: {error.reason}") from None


def _key(keyid: str, payload: bytes, roster: Roster) -> bytes:
    if not keyid:
        return _author_key(payload, roster)
    if _HEX.match(keyid):
        return bytes.fromhex(keyid)
    try:
        require_no_secret(keyid)
    except UsageError as error:
        raise _unfit(f"keyid is unfit: {error}") from None
    try:
        return parse_verifier(keyid).public
    except UsageError:
        remedy = "write the author's public key as 64 hex digits, or a verifier key"
        raise _unfit(f"keyid is {keyid[:80]!r}: {remedy}") from None


def _author_key(payload: bytes, roster: Roster) -> bytes:
    try:
        author = codec.read(payload).author
    except (CorruptLogError, UncheckableError) as error:
        raise RefusedError("not-canonical", str(error)) from None
    member = roster.members.get(author)
    if member is None:
        raise _unfit(f"there is no keyid, and the charter lists no {author!r}")
    return member.public


def _unfit(message: str) -> RefusedError:
    return RefusedError("envelope-unfit", message)
