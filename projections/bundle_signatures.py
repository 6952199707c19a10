"""Who vouches for a bundle: DSSE signatures by evaluators, and whose of them count.

The private keys stay with whoever signs. Which key is an evaluator's is decided by
the charter in force at the bundle's head, as for every event.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Protocol

import msgspec

from ledger.canonical import encode
from ledger.charters import Charters, compromised_keys
from ledger.envelope import Envelope, Signature
from ledger.errors import CorruptLogError, RefusedError, UsageError
from ledger.keys.signing import (
    VerifierKey,
    decode_base64,
    pae_of,
    parse_verifier,
    require_no_secret,
    verifies,
)

BUNDLE_TYPE = "application/vnd.sealed-ledger.bundle.v1+json"
_ENVELOPE = msgspec.json.Decoder(Envelope)


class Signer(Protocol):
    """Somebody who signs; where the private key is stays its own affair."""

    @property
    def verifier(self) -> VerifierKey:
        """The public key."""

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature over `message`."""


def sign(manifest: bytes, signers: Sequence[Signer]) -> bytes:
    """Return `manifest.sig`: a DSSE envelope around the manifest's bytes."""
    return encode(
        Envelope(
            payload=b64encode(manifest).decode(),
            payloadType=BUNDLE_TYPE,
            signatures=tuple(_signature(manifest, signer) for signer in signers),
        )
    )


def _signature(manifest: bytes, signer: Signer) -> Signature:
    message = pae_of(BUNDLE_TYPE, manifest)
    signature = signer.sign(message)
    assert verifies(message, signature, signer.verifier.public)
    return Signature(keyid=str(signer.verifier), sig=b64encode(signature).decode())


def require_signers(signers: Sequence[Signer], charters: Charters, size: int) -> None:
    """Refuse signers who may not vouch for the rows at the log's first `size` entries.

    Raises `RefusedError`: `bundle-unsigned`, `wrong-role` or `compromised-key`.
    """
    if not signers:
        msg = "nobody signs the bundle: name an evaluator whose private key is at hand"
        raise RefusedError("bundle-unsigned", msg)
    for signer in signers:
        code, why = objection(signer.verifier.public, charters, size)
        if code:
            name = signer.verifier.name
            msg = f"the bundle cannot be signed by {name}: {why}"
            raise RefusedError(code, msg)


def objection(public: bytes, charters: Charters, size: int) -> tuple[str, str]:
    """Return why a key may not sign for the first `size` entries: a code, a sentence.

    Both are empty where it may. Roles are those of the charter in force at the last
    of these entries; that a key was compromised may be said later.
    """
    in_force = [charter for seq, charter in charters if seq < size]
    for principal in in_force[-1].principals if in_force else ():
        if parse_verifier(principal.key).public != public:
            continue
        if principal.role != "evaluator":
            return "wrong-role", (
                f"{principal.name} is {_a(principal.role)}, and bundles are signed by "
                "an evaluator"
            )
        since = compromised_keys(charters).get(public)
        if since is not None and since <= size:
            return "compromised-key", (
                f"the key of {principal.name} is compromised from entry {since} on"
            )
        return "", ""
    owner = _owner_ever(public, charters)
    if owner:
        return "wrong-role", (
            f"the charter in force at size {size} does not give {owner} this key"
        )
    return "wrong-role", "no charter of this ledger lists this key"


def _owner_ever(public: bytes, charters: Charters) -> str:
    for _, charter in charters:
        for principal in charter.principals:
            if parse_verifier(principal.key).public == public:
                return principal.name
    return ""


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def signature_problems(
    envelope: bytes, manifest: bytes, charters: Charters, size: int
) -> list[str]:
    """Return what is wrong with `manifest.sig`; nothing where an evaluator vouches.

    Signatures of others may stand beside that of an evaluator; a wrong one never.
    """
    try:
        found = _ENVELOPE.decode(envelope)
        payload = decode_base64(found.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [f"it is no DSSE envelope: {error}"]
    except CorruptLogError as error:
        return [f"its payload is unfit: {error.reason}"]
    if found.payloadType != BUNDLE_TYPE:
        return [f"its payloadType is {found.payloadType[:80]!r}, not {BUNDLE_TYPE}"]
    if payload != manifest:
        return ["it signs another manifest than the one beside it"]
    wrong, objections, count = [], [], 0
    for signature in found.signatures:
        name, public = _key(signature.keyid)
        code, why = objection(public, charters, size)
        if code:
            objections.append(f"signed by {name}: {why}")
        elif _verifies(signature.sig, manifest, public):
            count += 1
        else:
            wrong.append(f"the signature of {name} is wrong")
    if not found.signatures:
        return ["it has no signature: nobody vouches for the bundle"]
    return wrong if count else [*wrong, *objections]


def _key(keyid: str) -> tuple[str, bytes]:
    """Return whose key a signature names, and the key; empty where it names none."""
    try:
        require_no_secret(keyid)
    except UsageError:
        return "a private key, which should be in no bundle", b""
    try:
        key = parse_verifier(keyid)
    except UsageError:
        return f"{keyid[:80]!r}, which is no verifier key", b""
    return key.name, key.public


def _verifies(signature: str, manifest: bytes, public: bytes) -> bool:
    try:
        content = decode_base64(signature)
    except CorruptLogError:
        return False
    return verifies(pae_of(BUNDLE_TYPE, manifest), content, public)
