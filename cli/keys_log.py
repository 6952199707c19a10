"""`ledger keys continue` and `rotate-log`: the log itself, by the next charter."""

import secrets
from typing import Annotated

import msgspec
import typer

from ledger.charters import gaps
from ledger.cli import consequences
from ledger.cli.amending import (
    Change,
    RootKey,
    amending,
    print_amended,
    succession,
)
from ledger.cli.context import read_input
from ledger.cli.options import Json, LedgerDir
from ledger.errors import UsageError
from ledger.keys.signing import new_signer


def continue_log(
    *,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The checkpoint to go on from, or - for stdin (default: the one that "
            "this machine remembers).",
            show_default=False,
        ),
    ] = None,
    root_key: RootKey = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Go on after an older copy was restored, with the gap in sight.

    The charter names the checkpoint that was lost, so that anyone can see where the
    log was and what is not there any more. Restore the newer copy instead if there is
    one.

    For example:
      ledger keys continue --ledger demo
    """
    with amending(ledger, root_key) as amendment:
        note = amendment.writer.behind
        if checkpoint is not None:
            note = read_input(checkpoint).decode("utf-8", "replace")
        if note is None:
            msg = "this machine remembers no checkpoint that is ahead of the log: nothing was lost here, or say --checkpoint FILE"
            raise UsageError(msg)
        amended = amendment.freeze(continues=note)
        gap = gaps(amendment.writer.state.charters)[-1]
    print_amended(amended, consequences.continued(gap), as_json=as_json)


def rotate_log(
    *,
    root_key: RootKey = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Give the log itself another key.

    That takes two charters: one lists the new key beside the old, the next the new
    key alone. The old file is kept under another name.

    For example:
      ledger keys rotate-log --ledger demo
    """
    with amending(ledger, root_key) as amendment:
        file, charter = amendment.folder.log_key, amendment.charter
        made = new_signer(charter.origin, secrets.token_bytes(32))
        changes: list[Change] = []
        with succession(amendment, file, made) as fresh:
            key = str(fresh.verifier)
            if key not in charter.log_keys:
                first = amendment.freeze(log_keys=(*charter.log_keys, key))
                changes += first.changes
    # The lock was taken with the old key, and what follows is signed with the new.
    with amending(ledger, root_key) as amendment:
        second = amendment.freeze(log_keys=(key,))
    amended = msgspec.structs.replace(second, changes=(*changes, *second.changes))
    print_amended(amended, consequences.rotated_log(key), as_json=as_json)
