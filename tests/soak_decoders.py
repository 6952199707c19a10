"""Feeds whatever decodes strangers' bytes, led by coverage; needs atheris.

`make soak` starts it. Anything but a refusal ends it with the bytes that did it.
"""

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["ledger"]):
    from ledger import codec
    from ledger.checkpoint import parse_checkpoint, split_note
    from ledger.daemon.protocol import FaultError, read_request
    from ledger.envelope import open_envelope
    from ledger.errors import LedgerError, RefusedError
    from ledger.keys.roster import Roster

ROSTER = Roster()


def feed(raw: bytes) -> None:
    """Give the same bytes to each."""
    with suppress(RefusedError):
        codec.decode(raw)
    with suppress(FaultError):
        read_request(raw)
    with suppress(RefusedError):
        open_envelope(raw, ROSTER)
    with suppress(LedgerError):
        text, _ = split_note(raw.decode("utf-8", "replace"))
        parse_checkpoint(text)


if __name__ == "__main__":
    atheris.Setup(sys.argv, feed)
    atheris.Fuzz()
