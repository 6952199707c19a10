"""`ledger log`: the events in order, as they were signed."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir
from ledger.cli.summary import Summaries
from ledger.errors import UsageError
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
    with reading(ledger) as (_, reader):
        summaries = Summaries()
        for row in _rows(reader, since, limit):
            if as_json:
                render.json_line(_described(row))
            else:
                render.line(summaries.line(recorded(row)))


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
