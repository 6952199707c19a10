"""`ledger log`: the events in order, as they were signed."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from typing import Annotated, Any

import msgspec
import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir
from ledger.cli.summary import LookUp, Summaries
from ledger.errors import UsageError
from ledger.folder import Folder
from ledger.log import Reader
from ledger.replay import recorded
from ledger.store import Row

_CHUNK = 1_000


def log(
    *,
    since: Annotated[
        int, typer.Option(metavar="N", help="The first entry to list.")
    ] = 0,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many at most.", show_default=False),
    ] = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """List the events of the log in order.

    With --json each line has seq, event_id, received_at, author and the payload exactly
    as it was signed.

    For example:
      ledger log --ledger demo --since 10 --limit 5
      ledger log --ledger demo --json | jq -r '.payload.type'
    """
    if since < 0 or (limit is not None and limit < 0):
        msg = "--since and --limit count from 0: write a number that is not negative"
        raise UsageError(msg)
    with reading(ledger) as (folder, reader), ExitStack() as opened:
        size = reader.events.size()
        if since >= size and not as_json:
            render.note(f"The log has {size} entries, from 0 to {size - 1}.")
        summaries = Summaries(_looking_up(folder, reader, opened))
        for row in _rows(reader, since, limit):
            if as_json:
                render.json_line(_described(row))
            else:
                render.line(summaries.line(recorded(row)))


def _looking_up(folder: Folder, reader: Reader, opened: ExitStack) -> LookUp:
    """Return what finds a question's name in the tables, opened when first needed."""

    @cache
    def connection() -> Any:  # noqa: ANN401 - the tables' own
        from ledger.projections.stored import open_tables

        tables, _ = opened.enter_context(open_tables(folder, reader.store))
        return tables.connection

    def look_up(question_hash: str) -> str | None:
        from ledger.projections.agenda import called

        return called(connection(), question_hash)

    return look_up


def _rows(reader: Reader, since: int, limit: int | None) -> Iterator[Row]:
    """Yield entries in short reads, so that a slow pipe holds no old snapshot open."""
    size = reader.events.size()
    stop = size if limit is None else min(size, since + limit)
    for start in range(since, stop, _CHUNK):
        yield from list(reader.store.rows(start, min(start + _CHUNK, stop)))


def _described(row: Row) -> dict[str, object]:
    return {
        "seq": row.seq,
        "event_id": row.event_id.hex(),
        "received_at": row.received_at,
        "author": recorded(row).event.author,
        "payload": msgspec.Raw(row.payload),
    }
