"""Where an import's drafts go, and how its report is said."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from ledger.cli import render
from ledger.cli.import_file import STANDARD
from ledger.errors import UsageError

Drafts = Iterator[dict[str, Any]]
Item = TypeVar("Item")


def deliver(
    drafts: Drafts,
    report: msgspec.Struct,
    sentences: Callable[[], Iterator[str]],
    *,
    out: str,
    as_json: bool,
) -> None:
    """Write drafts, a line each, and then say what became of every row.

    The report goes to stderr; as JSON to stdout, where the drafts go to a file. Raises
    `UsageError`, and leaves no file, where there is no draft at all.
    """
    beside_drafts, is_empty = out == STANDARD, True
    with _sink(out) as sink:
        for draft in drafts:
            sink.write(msgspec.json.encode(draft) + b"\n")
            is_empty = False
        sink.flush()
        if is_empty:
            _say(report, sentences, as_json=as_json, beside_drafts=beside_drafts)
            msg = "nothing was imported: no row of the file became a draft"
            raise UsageError(msg)
    _say(report, sentences, as_json=as_json, beside_drafts=beside_drafts)


def deliver_suite(toml: str, out: str) -> None:
    """Write a suite where the drafts would go."""
    if out == STANDARD:
        render.document(toml.rstrip("\n"))
        return
    with _sink(out) as sink:
        sink.write(toml.rstrip("\n").encode() + b"\n")


def watched(rows: Iterable[Item]) -> Iterator[Item]:
    """Yield rows, and say on a terminal how many there were."""
    progress = render.Progress("rows")
    try:
        for count, row in enumerate(rows, 1):
            yield row
            progress.step(count)
    finally:
        progress.close()


@contextmanager
def _sink(out: str) -> Iterator[BinaryIO]:
    """Give stdout, or a file that appears under its name once it is complete.

    What is there and is no file, such as a pipe, is written to as it is.
    """
    if out == STANDARD:
        yield sys.stdout.buffer
        return
    path = Path(out)
    is_file = path.is_file() or not path.exists()
    written = path.with_name(f".{path.name}.partial") if is_file else path
    try:
        with written.open("wb") as sink:
            yield sink
        if is_file:
            written.replace(path)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror or error}"
        raise UsageError(msg) from error
    finally:
        if is_file:
            written.unlink(missing_ok=True)


def _say(
    report: msgspec.Struct,
    sentences: Callable[[], Iterator[str]],
    *,
    as_json: bool,
    beside_drafts: bool,
) -> None:
    if not as_json:
        for text in sentences():
            render.note(text)
    elif beside_drafts:
        render.json_note(report)
    else:
        render.json_line(report)
