"""Names and hashes: how a thing is called, and how its bytes are summed up."""

import re
from functools import lru_cache
from hashlib import sha256

_VERSIONED = re.compile(r"([a-z0-9][a-z0-9-]*)@v([1-9][0-9]{0,8})")
CHARTER = "charter"


def sha256_hex(content: bytes) -> str:
    """Return the lower-case hexadecimal SHA-256 of `content`."""
    return sha256(content).hexdigest()


def event_id(payload: bytes) -> str:
    """Return the id of an event: the hash of the payload's exact bytes."""
    return sha256(payload).hexdigest()


@lru_cache(maxsize=256)
def parse_version(suite: str) -> tuple[str, int]:
    """Return the name and the number of `name@vN`; raise `ValueError` otherwise."""
    match = _VERSIONED.fullmatch(suite)
    if match is None:
        msg = f"{suite!r} is not a suite version like piper-self@v1"
        raise ValueError(msg)
    return match[1], int(match[2])
