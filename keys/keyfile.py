"""Key files: one signer key and a newline, readable by their owner only."""

import stat
from pathlib import Path

from ledger.durable import write_new
from ledger.errors import UsageError
from ledger.keys.signing import PRIVATE, SignerKey, parse_signer

_OTHERS = 0o077
_NEW = "`ledger keys new NAME` makes one"
_ELSEWHERE = "move it out of this folder, where each NAME.key is read"


def write_key(path: Path, signer: SignerKey) -> None:
    """Write `signer` to a new file (mode 0600), all or nothing; refuse one there is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        write_new(path, f"{signer.line()}\n".encode(), 0o600)
    except FileExistsError:
        msg = f"{path} exists: a key is never overwritten, choose another name"
        raise UsageError(msg) from None


def read_key(path: Path, remedy: str = _NEW) -> SignerKey:
    """Return the signer key of a file; refuse one that others can read.

    `remedy` is what the refusal of a missing file, or of another file, says to do.
    """
    try:
        mode = path.stat().st_mode
        # A pipe would wait for ever.
        text = path.read_text("utf-8") if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        msg = f"no key file at {path}: {remedy}"
        raise UsageError(msg) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = f"the key file {path} cannot be read: {reason}"
        raise UsageError(msg) from error
    if text is None:
        msg = f"{path} is no file: {remedy}"
        raise UsageError(msg)
    if PRIVATE in text and mode & _OTHERS:
        msg = (
            f"{path} can be read by others (mode {mode & 0o777:04o}): chmod 600 {path}"
        )
        raise UsageError(msg)
    return key_of(text, str(path), remedy)


def key_of(text: str, place: str, remedy: str = _NEW) -> SignerKey:
    """Return the signer key that a text is; a refusal shows nothing of the text.

    `place` says where it stands, and `remedy` what to do where it is something else.
    """
    if PRIVATE not in text:
        msg = f"{place} holds no private key: {remedy}"
        raise UsageError(msg)
    if not text.endswith("\n") or "\n" in text[:-1]:
        msg = f"{place} is not a key file: expected one line and a newline"
        raise UsageError(msg)
    return parse_signer(text[:-1])


def read_keys(folder: Path) -> dict[str, SignerKey]:
    """Return the signer keys of a folder's `*.key` files by their names."""
    keys = {}
    for path in sorted(folder.glob("*.key")):
        signer = read_key(path, _ELSEWHERE)
        keys[signer.name] = signer
    return keys
