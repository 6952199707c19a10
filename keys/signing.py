"""Ed25519 over DSSE, and verifier and signer keys in the C2SP note format.

libsodium is the judge of signatures: S must be reduced and keys of small order
are refused. Other libraries take such keys, so a charter may not list one.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec
from nacl import _sodium, bindings

from ledger.errors import CorruptLogError, RefusedError, UsageError

EVENT_TYPE = "application/vnd.sealed-ledger.event.v1+json"
PUBLIC_BYTES, SIGNATURE_BYTES = 32, 64
ED25519, COSIGNATURE = 1, 4  # the type byte of a note key

# Printable ASCII: no two names may look alike, and none can steer a terminal.
_NAME = re.compile(r"[!-*,-~]{1,128}")
PRIVATE = "PRIVATE+KEY+"
# Deriving a key pair costs as much as signing: it is done once a key.
_pair = lru_cache(maxsize=64)(bindings.crypto_sign_seed_keypair)
# The raw binding: nacl's own function copies the message out, which nobody here wants.
_OPEN, _NULL = _sodium.lib.crypto_sign_open, _sodium.ffi.NULL
_DSSE_HEAD = f"DSSEv1 {len(EVENT_TYPE)} {EVENT_TYPE} ".encode()


class VerifierKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key under a name: `name+hex8(key id)+base64(type byte, key)`."""

    name: str
    public: bytes
    kind: int = ED25519

    @property
    def key_id(self) -> bytes:
        """Four bytes that a signature line carries to name its key."""
        return key_id(self.name, self.kind, self.public)

    def __str__(self) -> str:
        """Return the one-line form that people exchange."""
        packed = base64.b64encode(bytes([self.kind]) + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{packed}"


class SignerKey(msgspec.Struct, frozen=True, kw_only=True):
    """A private key under a name; `repr` never shows the seed."""

    name: str
    seed: bytes
    kind: int = ED25519

    @property
    def verifier(self) -> VerifierKey:
        """The public half, which others need."""
        public, _ = _pair(self.seed)
        return VerifierKey(name=self.name, public=public, kind=self.kind)

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the Ed25519 signature over `message`."""
        _, secret = _pair(self.seed)
        return bindings.crypto_sign(message, secret)[:64]

    def line(self) -> str:
        """Return the secret one-line form that a key file holds."""
        packed = base64.b64encode(bytes([self.kind]) + self.seed).decode()
        return f"{PRIVATE}{self.name}+{self.verifier.key_id.hex()}+{packed}"

    def __repr__(self) -> str:
        """Return the name alone: a traceback must not leak a secret."""
        return f"SignerKey(name={self.name!r})"


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """Return the first four bytes of SHA-256(name, newline, type byte, key)."""
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


def pae(payload: bytes) -> bytes:
    """Return the DSSE pre-authentication encoding of an event's payload."""
    return _DSSE_HEAD + b"%d " % len(payload) + payload


def pae_of(payload_type: str, payload: bytes) -> bytes:
    """Return the DSSE pre-authentication encoding of any typed payload."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d " % (len(kind), kind, len(payload)) + payload


def sign_payload(payload: bytes, signer: SignerKey) -> bytes:
    """Return the signature that goes into an entry: 64 bytes over the PAE.

    Raises `RefusedError` (`secret-in-event`) for a payload that holds a private key.
    """
    if PRIVATE.encode() in payload:
        msg = "the event would hold a private key, for everybody to read: take it out"
        raise RefusedError("secret-in-event", msg)
    return signer.sign(pae(payload))


def verifies(message: bytes, signature: bytes, public: bytes) -> bool:
    """Tell whether `signature` over `message` is by `public`, as libsodium judges."""
    if len(signature) != SIGNATURE_BYTES or len(public) != PUBLIC_BYTES:
        return False
    signed = signature + message
    return bool(_OPEN(_NULL, _NULL, signed, len(signed), public) == 0)


def payload_verifies(payload: bytes, signature: bytes, public: bytes) -> bool:
    """Tell whether an entry's signature covers exactly these payload bytes."""
    return payloads_verify((payload,), (signature,), (public,))[0]


def payloads_verify(
    payloads: Sequence[bytes], signatures: Sequence[bytes], publics: Sequence[bytes]
) -> list[bool]:
    """Tell of each of many entries whether its signature covers exactly its payload."""
    # Without a call for each: that takes less time.
    return [
        len(signature) == SIGNATURE_BYTES
        and len(public) == PUBLIC_BYTES
        and _OPEN(
            _NULL,
            _NULL,
            signed := b"%b%b%d %b" % (signature, _DSSE_HEAD, len(payload), payload),
            len(signed),
            public,
        )
        == 0
        for payload, signature, public in zip(
            payloads, signatures, publics, strict=True
        )
    ]


@lru_cache(maxsize=256)
def is_sound_key(public: bytes) -> bool:
    """Tell whether `public` is a canonical point of the main subgroup.

    Refuses the small-order keys under which anything would verify somewhere.
    """
    return len(public) == PUBLIC_BYTES and bindings.crypto_core_ed25519_is_valid_point(
        public
    )


def new_signer(name: str, seed: bytes, kind: int = ED25519) -> SignerKey:
    """Return a signer for 32 bytes of randomness that the caller drew."""
    require_name(name)
    if len(seed) != bindings.crypto_sign_SEEDBYTES:
        msg = f"a seed has 32 bytes, not {len(seed)}"
        raise UsageError(msg)
    return SignerKey(name=name, seed=seed, kind=kind)


def require_name(name: str) -> None:
    """Raise `UsageError` unless `name` can stand in a key and a signature line."""
    if not _NAME.fullmatch(name):
        msg = (
            f"{name[:128]!a} cannot name a key: use up to 128 printable ASCII "
            "characters without white space and without '+'"
        )
        raise UsageError(msg)


def parse_verifier(text: str) -> VerifierKey:
    """Read `name+hex8+base64`; raise `UsageError` when it is not exactly that.

    Whoever gives a private key by mistake is told so, and nothing of it is shown.
    """
    require_no_secret(text)
    name, kind, public = _parse(text, "verifier key", text.split("+", 2))
    key = VerifierKey(name=name, public=public, kind=kind)
    if str(key) != text:
        # Its base64 stays unsaid: it may be a seed whose marking was cut off.
        msg = (
            f"what is under the name {name!r} is not a verifier key: its key id or "
            "its base64 is not canonical"
        )
        raise UsageError(msg)
    return key


def require_no_secret(text: str) -> None:
    """Raise `UsageError` where `text` holds a private key, without showing it."""
    if PRIVATE in text:
        msg = "this is a private key; give the public one (`ledger keys show FILE`)"
        raise UsageError(msg)


def parse_signer(line: str) -> SignerKey:
    """Read `PRIVATE+KEY+name+hex8+base64`; the message never shows the secret."""
    if not line.startswith(PRIVATE):
        msg = "this is no signer key: it does not start with PRIVATE+KEY+"
        raise UsageError(msg)
    parts = line.removeprefix(PRIVATE).split("+", 2)
    name, kind, seed = _parse("PRIVATE+KEY+…", "signer key", parts)
    key = SignerKey(name=name, seed=seed, kind=kind)
    if key.line() != line:
        msg = f"the signer key of {name!r} is damaged: its key id does not match"
        raise UsageError(msg)
    return key


def _parse(shown: str, what: str, parts: list[str]) -> tuple[str, int, bytes]:
    try:
        name, _, packed = parts
        content = decode_base64(packed)
    except (ValueError, CorruptLogError):
        msg = f"{shown!r} is not a {what}: expected name+hex8+base64"
        if what == "verifier key":
            msg += ", as `ledger keys show FILE` prints it"
        raise UsageError(msg) from None
    require_name(name)
    if len(content) != 1 + PUBLIC_BYTES or content[0] not in (ED25519, COSIGNATURE):
        msg = f"{shown!r} is not an Ed25519 {what}"
        raise UsageError(msg)
    return name, content[0], content[1:]


def decode_base64(text: str) -> bytes:
    """Return the bytes of canonical base64: standard, padded, trailing bits zero.

    Raises `CorruptLogError` for every other spelling, which Python's own
    decoder would let through.
    """
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        msg = f"{text[:80]!r} is not base64"
        raise CorruptLogError(msg) from None
    if base64.b64encode(content).decode() != text:
        msg = f"{text[:80]!r} is not canonical base64"
        raise CorruptLogError(msg)
    return content
