"""`ledger inbox`: take the signed events that were dropped as files, once."""

import os
import sys
from collections.abc import Sequence

import msgspec
import typer

from ledger.cli import render
from ledger.cli.context import find_ledger, writing
from ledger.cli.failure import REFUSED
from ledger.cli.options import Json, LedgerDir
from ledger.daemon.admission import admit
from ledger.daemon.calling import answering, sockets_of
from ledger.daemon.calling_wire import BusyError, SilentError
from ledger.daemon.commits import Outcome
from ledger.daemon.inbox import Inbox, Taken
from ledger.daemon.sockets import EVALUATOR
from ledger.errors import RefusedError, UncheckableError
from ledger.folder import Folder
from ledger.writer import Writer

_ANSWER_SECONDS = 5


def inbox(*, ledger: LedgerDir = None, as_json: Json = False) -> None:
    """Take the signed events that were dropped into inbox/ as files, once.

    A daemon does so by itself, and this command leaves it to it. Each file goes to
    inbox/done/, or to inbox/refused/ with the reasons beside it; exits with 2 if
    anything was refused. With --json, a line for each file.

    For example:
      ledger sign drafts.jsonl > demo/inbox/.new && mv demo/inbox/.new demo/inbox/new.jsonl
      ledger inbox --ledger demo
    """
    folder = find_ledger(ledger)
    found = Inbox(folder)
    if _is_served(folder):
        count = len(found.waiting())
        wait = "1 file waits" if count == 1 else f"{count} files wait"
        render.note(f"The daemon takes what is dropped here; {wait}.")
        return
    refused = 0
    with writing(folder) as writer:
        found.make()
        waiting = found.waiting()
        for name in waiting:
            taken = _take(found, name, writer, folder)
            refused += taken.refused
            _print(taken, as_json=as_json)
            sys.stdout.flush()
    if not waiting:
        render.note(f"No file waits in {found.path}.")
    if refused:
        raise typer.Exit(REFUSED)


def _is_served(folder: Folder) -> bool:
    try:
        sockets = sockets_of(folder, None, os.environ)
        answering(folder, sockets, seconds=_ANSWER_SECONDS)
    except (BusyError, SilentError):
        return True  # It takes what is dropped all the same.
    except UncheckableError:
        return False
    return True


def _take(found: Inbox, name: str, writer: Writer, folder: Folder) -> Taken:
    taking = found.take(name)
    try:
        events = next(taking)
        while True:
            events = taking.send(_append(events, writer, folder))
    except StopIteration as done:
        taken: Taken = done.value
        return taken
    finally:
        taking.close()


def _append(
    events: Sequence[msgspec.Raw], writer: Writer, folder: Folder
) -> list[Outcome]:
    """Make events durable, and return what became of each."""
    outcomes: list[RefusedError | None] = []
    for event in events:
        # Each in its turn: an earlier one may bring the charter that lists its author.
        admitted = admit(event, EVALUATOR, writer.state.roster, folder)
        if not isinstance(admitted, RefusedError):
            try:
                writer.stage(admitted)
            except RefusedError as refusal:
                admitted = refusal
        outcomes.append(admitted if isinstance(admitted, RefusedError) else None)
    receipts = iter(writer.commit())
    return [next(receipts) if outcome is None else outcome for outcome in outcomes]


def _print(taken: Taken, *, as_json: bool) -> None:
    if as_json:
        render.json_line(taken)
        return
    render.line(
        f"{taken.name}: {taken.accepted:,} in the log, {taken.refused:,} refused, "
        f"now inbox/{taken.kept_as}"
    )
    for each in taken.told:
        where = "the file" if each.line is None else f"line {each.line}"
        render.line(f"  {where}: {each.code}: {each.message}")
