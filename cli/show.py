"""`ledger show`: one event, whose it is, and that the log commits to it."""

import re
import sys
from base64 import b64encode
from typing import Annotated

import msgspec
import typer

from ledger.checkpoint import Checkpoint, open_checkpoint
from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.failure import FALSE
from ledger.cli.options import Json, LedgerDir
from ledger.cli.standing import standing
from ledger.entry import entry_bytes, leaf_hash
from ledger.errors import CorruptLogError, UsageError
from ledger.grammar import HEX_PATTERN
from ledger.ids import event_id
from ledger.keys.signing import payload_verifies
from ledger.log import Reader, log_verifiers
from ledger.merkle import inclusion_proof, root_from_inclusion
from ledger.replay import recorded
from ledger.store import Row

# The beginning of an event id that is long enough to mean one.
_PREFIX = r"[0-9a-f]{8,63}\Z"


class Soundness(msgspec.Struct, frozen=True, kw_only=True):
    """What holds of an entry: its signature, its hashes, its place under the head."""

    signature_verifies: bool
    hashes_match: bool
    size: int
    root: str
    is_included: bool

    @property
    def is_sound(self) -> bool:
        """Whether all of it holds."""
        return self.signature_verifies and self.hashes_match and self.is_included


def show(
    which: Annotated[
        str,
        typer.Argument(
            metavar="SEQ|EVENT_ID",
            help="An entry's position, or its id or the first 8 digits of it or more.",
            show_default=False,
        ),
    ],
    *,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the payload's exact bytes, no more.")
    ] = False,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Show one event, its key and its place in the tree.

    The signature, the hashes and the inclusion under the newest checkpoint are checked;
    exits with 1 if one of them does not hold. The whole log is checked by `ledger verify`.

    For example:
      ledger show 3 --ledger demo
      ledger show 3 --ledger demo --raw | sha256sum   # the event id
    """
    with reading(ledger) as (_, reader):
        row = _find(reader, which)
        if raw:
            sys.stdout.buffer.write(row.payload)
            return
        judged = _judge(reader, row)
    if as_json:
        render.json_line(_described(row, judged))
    else:
        _print(row, judged)
    if not judged.is_sound:
        raise typer.Exit(FALSE)


def _find(reader: Reader, which: str) -> Row:
    row = None
    if re.match(HEX_PATTERN, which):
        row = reader.store.find(bytes.fromhex(which))
    elif which.isascii() and which.isdigit() and len(which) < len("9" * 19):
        row = next(reader.store.rows(int(which), int(which) + 1), None)
    elif not re.match(_PREFIX, which):
        msg = (
            f"{which} is no position and no event id: write a number, or 8 to 64 hex "
            "digits"
        )
        raise UsageError(msg)
    if row is None and re.match(_PREFIX, which):
        row = _begun(reader, which)
    if row is None:
        size = reader.events.size()
        msg = f"there is no entry {which}: the log has {size}, from 0 to {size - 1}"
        if not which.isdigit():
            msg = (
                f"no event's id is {which} or begins so: `ledger log --json` has "
                f"those of all {size} entries"
            )
        raise UsageError(msg)
    return row


def _begun(reader: Reader, digits: str) -> Row | None:
    """Return the only event whose id begins so; refuse digits that several have."""
    found = reader.store.beginning(digits)
    if len(found) > 1:
        ids = " and ".join(each.event_id.hex() for each in found)
        msg = f"{digits} is the beginning of {ids}: write more digits"
        raise UsageError(msg)
    return next(iter(found), None)


def _judge(reader: Reader, row: Row) -> Soundness:
    content = entry_bytes(row.received_at, row.author, row.sig, row.payload)
    leaf = leaf_hash(content)
    hashes_match = leaf == row.leaf and event_id(row.payload) == row.event_id.hex()
    head = reader.store.head()
    charter = standing(reader).charter
    checkpoint = open_checkpoint(head.note, log_verifiers(charter), charter.origin)
    return Soundness(
        signature_verifies=payload_verifies(row.payload, row.sig, row.author),
        hashes_match=hashes_match,
        size=checkpoint.size,
        root=b64encode(checkpoint.root).decode(),
        is_included=_is_included(reader, checkpoint, row.seq, leaf),
    )


def _is_included(reader: Reader, checkpoint: Checkpoint, seq: int, leaf: bytes) -> bool:
    leaves = reader.store.leaves(0, checkpoint.size)
    try:
        proof = inclusion_proof(leaves, seq)
        return root_from_inclusion(leaf, seq, checkpoint.size, proof) == checkpoint.root
    except CorruptLogError:
        return False


def _described(row: Row, judged: Soundness) -> dict[str, object]:
    return {
        "seq": row.seq,
        "event_id": row.event_id.hex(),
        "received_at": row.received_at,
        "author": recorded(row).event.author,
        "author_key": row.author.hex(),
        "signature": b64encode(row.sig).decode(),
        "leaf": b64encode(row.leaf).decode(),
        **msgspec.to_builtins(judged),
        "payload": msgspec.Raw(row.payload),
    }


def _print(row: Row, judged: Soundness) -> None:
    event = recorded(row).event
    answer = "yes" if judged.is_included else "no"
    render.facts(
        [
            ("entry", row.seq),
            ("event id", row.event_id.hex()),
            ("type", type(event).__name__),
            ("author", event.author),
            ("author key", row.author.hex()),
            ("received at", row.received_at),
            ("leaf", b64encode(row.leaf).decode()),
            ("signature verifies", judged.signature_verifies),
            ("hashes match", judged.hashes_match),
            ("included", f"{answer}, under the checkpoint of size {judged.size}"),
        ]
    )
    render.line("")
    render.document(msgspec.json.format(row.payload, indent=2).decode())
