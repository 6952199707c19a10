"""The entry: the exact bytes that the log commits to, one an event."""

import re
from binascii import b2a_base64
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from itertools import repeat

import msgspec

from ledger.clock import instant_text_micros, parse_instant
from ledger.errors import CorruptLogError
from ledger.events import LedgerEvent
from ledger.keys.signing import decode_base64

ENTRY_BYTES_MAX = 65_535
_HEAD = re.compile(
    rb"sealed-ledger/entry/v1\n"
    rb"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)\n"
    rb"([0-9a-f]{64})\n([A-Za-z0-9+/]{86}==)\n",
)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A signed payload and when the ledger received it, before anything parses it."""

    received_at: datetime
    author_key: bytes
    signature: bytes
    payload: bytes

    def to_bytes(self) -> bytes:
        """Return the five lines that are hashed into the tree."""
        return entry_bytes(
            instant_text_micros(self.received_at),
            self.author_key,
            self.signature,
            self.payload,
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> "Entry":
        """Read an entry; raise `CorruptLogError` for any other spelling of it.

        The signature is not checked here, nor that the payload is an event.
        """
        match = _HEAD.match(content)
        if match is None:
            msg = "these bytes do not start like an entry of version 1"
            raise CorruptLogError(msg)
        if len(content) > ENTRY_BYTES_MAX:
            msg = (
                f"an entry has at most {ENTRY_BYTES_MAX} bytes, this has {len(content)}"
            )
            raise CorruptLogError(msg)
        try:
            received_at = parse_instant(match[1].decode())
        except ValueError as error:
            raise CorruptLogError(str(error)) from None
        return cls(
            received_at=received_at,
            author_key=bytes.fromhex(match[2].decode()),
            signature=decode_base64(match[3].decode()),
            payload=content[match.end() :],
        )


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """An event where it stands in the log. `author_key` is the bare 32-byte key."""

    seq: int
    received_at: datetime
    author_key: bytes
    event_id: str
    event: LedgerEvent


_FIRST = b"sealed-ledger/entry/v1\n"
_LEAF = b"\x00"


def entry_bytes(
    received_at: str,
    author_key: bytes,
    signature: bytes,
    payload: bytes,
) -> bytes:
    """Return an entry's bytes from its stored columns."""
    at, key = received_at.encode(), _key_line(author_key)
    return b"".join((_FIRST, at, key, b2a_base64(signature), payload))


@lru_cache(maxsize=256)
def _key_line(key: bytes) -> bytes:
    """Return a key's line, and the end of the one before it."""
    return f"\n{key.hex()}\n".encode()


def leaves_of(
    received_at: Sequence[bytes],
    author_keys: Sequence[bytes],
    signatures: Sequence[bytes],
    payloads: Sequence[bytes],
) -> list[bytes]:
    """Return the leaves of many entries: without calls for each, in less time."""
    contents = zip(
        repeat(_LEAF + _FIRST, len(payloads)),
        received_at,
        map(_key_line, author_keys),
        map(b2a_base64, signatures),
        payloads,
        strict=True,
    )
    return [sha256(content).digest() for content in map(b"".join, contents)]


def leaf_hash(content: bytes) -> bytes:
    """Return the RFC 6962 leaf: SHA-256 of a zero byte and the entry."""
    return sha256(_LEAF + content).digest()
