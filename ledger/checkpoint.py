"""Checkpoints: signed statements of how long the log is and what its root is.

A checkpoint is a C2SP signed note: three lines of text, an empty line, and
signature lines. Lines of unknown keys are ignored; a line under a known key's
name and id that does not verify makes the whole note worthless.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence

import msgspec

from ledger.errors import CorruptLogError
from ledger.keys.signing import (
    COSIGNATURE,
    SignerKey,
    VerifierKey,
    decode_base64,
    verifies,
)
from ledger.merkle import EMPTY_ROOT

_DASH = "\N{EM DASH}"
_LINE = re.compile(rf"{_DASH} ([^\s+]+) ([A-Za-z0-9+/=]+)")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_PROOF_MAGIC = "c2sp.org/tlog-proof@v1"
_SIGNATURES_MAX = 100
_TEXT_LINES = 3
_KEY_ID_BYTES = 4


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The log called `origin` has `size` entries under `root`."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def sign_checkpoint(checkpoint: Checkpoint, log_key: SignerKey) -> str:
    """Return the signed note of a checkpoint by the log's own key."""
    text = checkpoint.text()
    return f"{text}\n{signature_line(log_key, log_key.sign(text.encode()))}"


def signature_line(key: SignerKey, signature: bytes) -> str:
    """Return a note's signature line, its newline included."""
    packed = b64encode(key.verifier.key_id + signature).decode()
    return f"{_DASH} {key.name} {packed}\n"


def cosign(note: str, witness: SignerKey, unix_seconds: int) -> str:
    """Return a witness's cosignature/v1 line over a note's checkpoint."""
    text = split_note(note)[0]
    signature = witness.sign(_cosigned(text, unix_seconds))
    return signature_line(witness, unix_seconds.to_bytes(8, "big") + signature)


def _cosigned(text: str, unix_seconds: int) -> bytes:
    return f"cosignature/v1\ntime {unix_seconds}\n{text}".encode()


def split_note(note: str) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """Return a note's text and its lines as (name, key id, signature).

    Raises `CorruptLogError` unless the note is well formed.
    """
    text, gap, signatures = note.rpartition("\n\n")
    if not gap or not signatures.endswith("\n") or _CONTROL.search(note):
        msg = "this is no signed note: expected text, an empty line and signatures"
        raise CorruptLogError(msg)
    lines = signatures[:-1].split("\n")
    if len(lines) > _SIGNATURES_MAX:
        msg = f"the note has {len(lines)} signatures, more than {_SIGNATURES_MAX}"
        raise CorruptLogError(msg)
    found = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            msg = f"{line[:80]!r} is no signature line"
            raise CorruptLogError(msg)
        packed = decode_base64(match[2])
        found.append((match[1], packed[:4], packed[4:]))
    return text + "\n", found


def split_line(line: str) -> tuple[str, bytes, bytes]:
    """Return the name, key id and signature of one signature line with its newline.

    Raises `CorruptLogError` for anything else, also for several lines.
    """
    match = _LINE.fullmatch(line.removesuffix("\n"))
    if match is None or not line.endswith("\n"):
        msg = f"{line[:80]!r} is not exactly one signature line"
        raise CorruptLogError(msg)
    packed = decode_base64(match[2])
    if len(packed) <= _KEY_ID_BYTES:
        msg = f"the signature line of {match[1]} has no signature"
        raise CorruptLogError(msg)
    return match[1], packed[:_KEY_ID_BYTES], packed[_KEY_ID_BYTES:]


def parse_checkpoint(text: str) -> Checkpoint:
    """Read a checkpoint's text; raise `CorruptLogError` for any other spelling."""
    lines = text.split("\n")
    if len(lines) != _TEXT_LINES + 1 or lines[-1]:
        msg = "a checkpoint has three lines: origin, size and root"
        raise CorruptLogError(msg)
    origin, size, root = lines[:_TEXT_LINES]
    if not origin or not _SIZE.fullmatch(size):
        msg = f"a checkpoint's size is a plain decimal number, not {size!r}"
        raise CorruptLogError(msg)
    digest = decode_base64(root)
    if len(digest) != len(EMPTY_ROOT):
        msg = f"a root has 32 bytes, not {len(digest)}"
        raise CorruptLogError(msg)
    return Checkpoint(origin=origin, size=int(size), root=digest)


def open_checkpoint(
    note: str,
    log_keys: Iterable[VerifierKey],
    origin: str,
    witnesses: Sequence[VerifierKey] = (),
) -> Checkpoint:
    """Return what a note states, once a log key's signature on it has verified.

    Raises `CorruptLogError` when the text is malformed, is about another log, has
    no signature of the log, or has a wrong one of the log or a known witness.
    """
    text, lines = split_note(note)
    checkpoint = parse_checkpoint(text)
    if checkpoint.origin != origin:
        msg = f"the checkpoint is of {checkpoint.origin!r}, not of {origin!r}"
        raise CorruptLogError(msg)
    known = {(key.name, key.key_id): key for key in (*log_keys, *witnesses)}
    signed = False
    for name, key_id, signature in lines:
        key = known.get((name, key_id))
        if key is None:
            continue
        if not _line_verifies(text, key, signature):
            msg = f"the signature of {name} on the checkpoint of size {checkpoint.size} is wrong"
            raise CorruptLogError(msg)
        signed = signed or (name == origin and key.kind != COSIGNATURE)
    if not signed:
        msg = f"no key of {origin!r} signed the checkpoint of size {checkpoint.size}"
        raise CorruptLogError(msg)
    return checkpoint


def _line_verifies(text: str, key: VerifierKey, signature: bytes) -> bool:
    if key.kind != COSIGNATURE:
        return verifies(text.encode(), signature, key.public)
    seconds = int.from_bytes(signature[:8], "big")
    return verifies(_cosigned(text, seconds), signature[8:], key.public)


class InclusionProof(msgspec.Struct, frozen=True, kw_only=True):
    """That one entry stands at `index` of the log that `note` is about."""

    index: int
    hashes: tuple[bytes, ...]
    note: str

    def text(self) -> str:
        """Return the proof as `c2sp.org/tlog-proof@v1`."""
        hashes = "".join(f"{b64encode(item).decode()}\n" for item in self.hashes)
        return f"{_PROOF_MAGIC}\nindex {self.index}\n{hashes}\n{self.note}"


def parse_proof(text: str) -> InclusionProof:
    """Read a `c2sp.org/tlog-proof@v1`; raise `CorruptLogError` otherwise."""
    head, gap, note = text.partition("\n\n")
    lines = head.split("\n")
    index = lines[1].removeprefix("index ") if len(lines) > 1 else ""
    if not gap or lines[0] != _PROOF_MAGIC or not _SIZE.fullmatch(index):
        msg = f"this is no {_PROOF_MAGIC}"
        raise CorruptLogError(msg)
    return InclusionProof(
        index=int(index),
        hashes=tuple(map(decode_base64, lines[2:])),
        note=note,
    )
