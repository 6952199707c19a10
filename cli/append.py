"""`ledger append`: many events, a line each, and an answer to every line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from ledger.cli import render
from ledger.cli.appending import Answer, Appender
from ledger.cli.context import KeyRing, clock, find_ledger, keys_folder, writing
from ledger.cli.failure import REFUSED, described, without_secrets
from ledger.cli.lines import groups
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.errors import UsageError

_STDIN = "-"


def append(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Drafts or signed events, or - for stdin.",
            show_default=False,
        ),
    ] = _STDIN,
    *,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="Append all lines, or none of them.")
    ] = False,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Append drafts or signed events, a line each.

    A draft is a JSON object: type, author, and the event's fields. What follows from the
    log is filled in (docs/cli.md): created_at, ledger, suite_hash, question_hash, parent.
    It is signed by the author's key. A signed event is a DSSE envelope, whose keyid is
    the author's public key. Each line is answered by a receipt, which comes once the
    event is durable, or by a refusal; exits with 2 if anything was refused.

    A draft, on one line:
      {"type":"ForecastSealed", "author":"forecaster", "suite":"piper-self@v1",
       "forecaster":"native", "template":"dispatch-pass", "id":"dispatch-1",
       "probabilities":{"pass":0.8, "fail":0.2}}

    For example:
      ledger append drafts.jsonl --ledger demo
      my-agent | ledger append - --ledger demo --json
    """
    folder = find_ledger(ledger)
    ring = KeyRing(keys_folder(folder, keys_at))
    refused = appended = 0
    with (
        opened(file) as (source, beside, size),
        writing(folder, alone=atomic) as writer,
        Appender(writer, folder, ring, beside, clock()) as appender,
    ):
        for answers in _answered(appender, source, size, atomic=atomic):
            for answer in answers:
                _print_answer(answer, as_json=as_json)
                refused += answer.receipt is None
                appended += answer.receipt is not None
            sys.stdout.flush()
    if not as_json:
        render.note(f"{appended:,} appended, {refused:,} refused.")
    if refused:
        raise typer.Exit(REFUSED)


def _answered(
    appender: Appender, source: BinaryIO, size: int | None, *, atomic: bool
) -> Iterator[list[Answer]]:
    """Yield the answers to the lines of `source`, each once it is true."""
    if atomic:
        yield appender.append_all_or_none(list(groups(source)))
        return
    progress = render.Progress("lines", size)
    try:
        for group in groups(source):
            yield appender.append(group)
            done = source.tell() if size is not None else None
            progress.step(group[-1].number, done)
    finally:
        progress.close()


@contextmanager
def opened(file: str) -> Iterator[tuple[BinaryIO, Path, int | None]]:
    """Give an input, the folder that its drafts name files in, and its size if known."""
    if file == _STDIN:
        if sys.stdin.isatty():
            render.note("Reading drafts from the terminal, a line each; Ctrl-D ends.")
        yield sys.stdin.buffer, Path(), None
        return
    with _file(file) as source:
        size = os.fstat(source.fileno()).st_size
        yield source, Path(file).parent, size or None


def _file(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


def _print_answer(answer: Answer, *, as_json: bool) -> None:
    receipt, refusal = answer.receipt, answer.refusal
    if receipt is not None:
        if as_json:
            render.json_line(
                {
                    "line": answer.line,
                    "seq": receipt.seq,
                    "event_id": receipt.event_id,
                    "received_at": receipt.received_at,
                }
            )
        else:
            render.line(
                f"line {answer.line}: entry {receipt.seq}, {receipt.event_id}, "
                f"received {receipt.received_at}"
            )
    elif refusal is not None:
        if as_json:
            render.json_line({"line": answer.line, "error": described(refusal)})
        else:
            word = render.styled("refused", "red", sys.stdout)
            said = without_secrets(str(refusal))
            render.line(f"line {answer.line}: {word}: {said}")
