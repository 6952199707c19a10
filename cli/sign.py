"""`ledger sign`: drafts signed where the ledger is not, for somebody else to append."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import render
from ledger.cli.append import opened
from ledger.cli.context import (
    KeyRing,
    clock,
    find_ledger_if_any,
    keys_folder,
    read_input,
)
from ledger.cli.draft_text import read_draft
from ledger.cli.drafting import option
from ledger.cli.failure import REFUSED, described, without_secrets
from ledger.cli.lines import LINE_BYTES_MAX, Line, groups
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.submitting import author_key, signed
from ledger.draft_alone import event_alone
from ledger.drafts import Drafts
from ledger.entry import Recorded
from ledger.envelope import Envelope, envelope
from ledger.errors import LedgerError, RefusedError, UncheckableError, UsageError
from ledger.folder import Folder
from ledger.grammar import HEX_PATTERN
from ledger.ids import event_id
from ledger.index import Index
from ledger.log import load_state, open_reader
from ledger.replay import step
from ledger.state import State
from ledger.unseen import json_text
from ledger.writer import Submission

_STDIN = "-"
# Signs one draft.
Signer = Callable[[Mapping[str, object]], Submission]

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Drafts, or - for stdin.", show_default=False),
]
LedgerId = Annotated[
    str | None,
    option("--ledger-id", "ID", "For the ledger of that id, whose folder is not read."),
]
SuiteHash = Annotated[
    str | None, option("--suite-hash", "HASH", "Of the suite that the drafts are for.")
]


def sign(
    file: File = _STDIN,
    *,
    ledger_id: LedgerId = None,
    suite_hash: SuiteHash = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Sign drafts for somebody else to append: one DSSE envelope a line.

    Nothing is written to the ledger. Where its folder can be read, drafts are completed
    from it as `ledger append` would. Where it cannot, give --ledger-id, --suite-hash and
    --keys; the drafts then state `question` or `question_hash`, and updates `parent`.
    A draft that is refused is told on stderr, as JSON with --json; then exits with 2.

    For example:
      ledger sign drafts.jsonl --keys ~/.piper --ledger-id ID --suite-hash HASH > signed.jsonl
      ledger append signed.jsonl --ledger real
    """
    refused = 0
    with (
        opened(file) as (source, beside, _),
        _signer(ledger, ledger_id, suite_hash, keys_at, beside) as signer,
    ):
        for group in groups(source):
            for line in group:
                try:
                    render.json_line(_signed(line, signer))
                except (RefusedError, UsageError, UncheckableError) as refusal:
                    refused += 1
                    _tell(line.number, refusal, as_json=as_json)
            sys.stdout.flush()
    if refused:
        raise typer.Exit(REFUSED)


def _tell(line: int, refusal: LedgerError, *, as_json: bool) -> None:
    if as_json:
        told = {"line": line, "error": described(refusal)}
        render.note(json_text(told))
    else:
        word = render.styled("refused", "red", sys.stderr)
        render.note(f"line {line}: {word}: {without_secrets(str(refusal))}")


def _signed(line: Line, signer: Signer) -> Envelope:
    if line.content is None:
        msg = f"the line is longer than {LINE_BYTES_MAX} bytes, which no event is"
        raise RefusedError("too-large", msg)
    return envelope(signer(read_draft(line.content)))


@contextmanager
def _signer(
    ledger: str | None,
    ledger_id: str | None,
    suite_hash: str | None,
    keys_at: str | None,
    beside: Path,
) -> Iterator[Signer]:
    """Give what signs a draft: from the ledger's folder, or without it."""
    if ledger_id is not None:
        yield _alone(ledger_id, suite_hash, keys_at)
        return
    folder = find_ledger_if_any(ledger)
    if folder is None:
        msg = (
            "say for which ledger: --ledger-id ID, or --ledger DIR where its folder can "
            "be read"
        )
        raise UsageError(msg)
    if suite_hash is not None:
        msg = "--suite-hash goes with --ledger-id: a folder that is read says it itself"
        raise UsageError(msg)
    with open_reader(folder) as reader:
        state = load_state(folder, reader.store, Index())
        yield _beside(folder, state, reader.events.size(), keys_at, beside)


def _alone(ledger_id: str, suite_hash: str | None, keys_at: str | None) -> Signer:
    for option_name, value, prints in (
        ("--ledger-id", ledger_id, "status"),
        ("--suite-hash", suite_hash, "suite show"),
    ):
        if value is not None and not re.match(HEX_PATTERN, value):
            msg = f"{option_name} {value} is not 64 hex digits: `ledger {prints}` prints it"
            raise UsageError(msg)
    if keys_at is None:
        msg = "say where the private keys are: --keys FOLDER"
        raise UsageError(msg)
    ring = KeyRing(keys_folder(Folder(Path()), keys_at))

    def signer(draft: Mapping[str, object]) -> Submission:
        now = clock()()
        event = event_alone(draft, ledger=ledger_id, suite_hash=suite_hash, now=now)
        return signed(event, ring.require(event.author))

    return signer


def _beside(
    folder: Folder, state: State, size: int, keys_at: str | None, beside: Path
) -> Signer:
    ring = KeyRing(keys_folder(folder, keys_at))
    drafts = Drafts(folder.blobs.get, lambda name: read_input(str(beside / name)))
    entries = count(size)

    def signer(draft: Mapping[str, object]) -> Submission:
        now = clock()()
        event = drafts.event(draft, state, now)
        submission = signed(event, author_key(event, ring, state.roster))
        # As if it were appended now: a later draft may follow from it.
        recorded = Recorded(
            seq=next(entries),
            received_at=now,
            author_key=submission.author_key,
            event_id=event_id(submission.payload),
            event=event,
        )
        step(state, recorded)
        return submission

    return signer
