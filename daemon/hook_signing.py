"""Hashes and signatures through libsodium's raw binding, for a hook that starts quickly.

`ledger.keys.signing` says and does the same and is the one to read; tests compare the
two. On the hook's start-up path.
"""

import os
from binascii import a2b_base64, b2a_base64

from nacl import _sodium

from ledger.daemon.hook_text import TroubleError

EVENT_TYPE = "application/vnd.sealed-ledger.event.v1+json"
_PRIVATE = b"PRIVATE+KEY+"
_ED25519 = 1
_PARTS, _ID_DIGITS = 3, 8  # of a key: name, key id, base64
_SEED_BYTES, _HASH_BYTES, _SIGNATURE_BYTES, _SECRET_BYTES = 32, 32, 64, 64
_OTHERS = 0o077
_FILE_BYTES_MAX = 1_000

_ffi, _lib = _sodium.ffi, _sodium.lib


class Signer:
    """A private key, unpacked for use; nothing prints it."""

    __slots__ = ("_secret", "name", "public")

    def __init__(self, name: str, seed: bytes) -> None:
        public, secret = _ffi.new("unsigned char[32]"), _ffi.new("unsigned char[64]")
        _lib.crypto_sign_seed_keypair(public, secret, seed)
        self.name = name
        self.public = bytes(_ffi.buffer(public, _SEED_BYTES))
        self._secret = bytes(_ffi.buffer(secret, _SECRET_BYTES))

    def envelope(self, payload: bytes) -> dict[str, object]:
        """Return a payload under its signature, as the daemon takes it.

        Raises `TroubleError` for one that holds a private key.
        """
        if _PRIVATE in payload:
            raise TroubleError("the payload holds a private key: take it out")
        kind = EVENT_TYPE.encode()
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        made = _ffi.new("unsigned char[]", _SIGNATURE_BYTES + len(signed))
        length = _ffi.new("unsigned long long *")
        _lib.crypto_sign(made, length, signed, len(signed), self._secret)
        signature = bytes(_ffi.buffer(made, _SIGNATURE_BYTES))
        return {
            "payload": _base64(payload),
            "payloadType": EVENT_TYPE,
            "signatures": [{"keyid": self.public.hex(), "sig": _base64(signature)}],
        }


def sha256_hex(content: bytes) -> str:
    """Return the SHA-256 of some bytes in lower-case hexadecimal.

    >>> sha256_hex(b"")[:16]
    'e3b0c44298fc1c14'
    """
    made = _ffi.new("unsigned char[32]")
    _lib.crypto_hash_sha256(made, content, len(content))
    return bytes(_ffi.buffer(made, _HASH_BYTES)).hex()


def read_signer(path: str) -> Signer:
    """Return the key of a key file; raise `TroubleError` for one that is unfit.

    As everywhere, one that others can read is refused. No message shows the key.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            mode = os.fstat(handle).st_mode
            content = os.read(handle, _FILE_BYTES_MAX)
        finally:
            os.close(handle)
    except OSError as error:
        raise _unfit(path, f"cannot be read ({error.strerror})") from None
    if mode & _OTHERS:
        raise _unfit(path, f"can be read by others (mode {mode & 0o777:04o})")
    if not content.startswith(_PRIVATE) or content[-1:] != b"\n":
        raise _unfit(path, "is no key file")
    parts = content[len(_PRIVATE) : -1].split(b"+", 2)
    try:
        key = a2b_base64(parts[-1])
    except ValueError:
        key = b""
    # Before it is used: libsodium would read on after a seed that is too short.
    if len(parts) != _PARTS or len(key) != 1 + _SEED_BYTES or key[0] != _ED25519:
        raise _unfit(path, "is no key file")
    name, key_id, _ = parts
    signer = Signer(name.decode("ascii", "replace"), key[1:])
    said = name + b"\n" + key[:1] + signer.public
    if sha256_hex(said)[: len(key_id)].encode() != key_id or len(key_id) != _ID_DIGITS:
        raise _unfit(path, "is damaged")
    return signer


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()


def _unfit(path: str, what: str) -> TroubleError:
    return TroubleError(f"the key file {path} {what}: `ledger doctor` says what to do")
