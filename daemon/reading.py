"""What is read from the log beside the writer: entries, proofs and rows.

Each side has one thread for each kind, so that a long answer holds up no commit and no
short one; what waits for a thread is bounded. Each request opens the log anew.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ledger.checkpoint import InclusionProof, parse_checkpoint, split_note
from ledger.daemon.protocol import (
    BAD_PARAMS,
    BUSY,
    STOPPED,
    UNAVAILABLE,
    EntryAt,
    FaultError,
    ProofOf,
    RecordOf,
    RowsOf,
)
from ledger.errors import LedgerError, UsageError
from ledger.folder import Folder
from ledger.log import Reader, open_reader
from ledger.merkle import inclusion_proof

_RETRY_MS = 200


class ReadingRoom:
    """A thread with a bounded queue before it."""

    def __init__(self, name: str, waiting_max: int) -> None:
        """Name the thread; at most so many requests wait for it."""
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._waiting_max = waiting_max
        self._is_over = False
        self.waiting = 0
        self.is_at_work = False  # also on what nobody waits for any more

    async def ask(self, answer: Callable[[], Any]) -> Any:  # noqa: ANN401 - any result
        """Return what `answer` returns, called in the thread.

        Raises `FaultError`: `busy` where too much waits, `stopped` where it was not
        begun in time, and what the log's own errors say.
        """
        if self.waiting >= self._waiting_max:
            msg = f"{self.waiting} reads wait already: try again in {_RETRY_MS} ms"
            raise FaultError(BUSY, msg, "busy", retry_after_ms=_RETRY_MS)
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, self._begun, answer
            )
        except UsageError as error:
            raise FaultError(BAD_PARAMS, str(error), "bad-params") from None
        except FaultError:
            raise
        except LedgerError as error:
            raise FaultError(UNAVAILABLE, str(error), "unavailable") from None
        finally:
            self.waiting -= 1

    def _begun(self, answer: Callable[[], Any]) -> Any:  # noqa: ANN401 - any result
        self.is_at_work = True
        try:
            if self._is_over:
                raise stopping()
            return answer()
        finally:
            self.is_at_work = False

    def finish(self) -> None:
        """Begin nothing more: who waits is told so."""
        self._is_over = True

    def close(self) -> None:
        """Begin nothing more; nobody waits for what is begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def stopping() -> FaultError:
    """Return what is said of a request that a daemon will not come to any more."""
    msg = "the daemon stops, and did nothing of this: send it to the next one"
    return FaultError(STOPPED, msg, "stopped")


def entry(folder: Folder, asked: EntryAt) -> dict[str, object]:
    """Return an entry with all that it takes to check it; raise `FaultError` for none."""
    with open_reader(folder) as reader:
        row = next(reader.store.rows(asked.seq, asked.seq + 1), None)
    if row is None:
        msg = f"the log has no entry {asked.seq}"
        raise FaultError(BAD_PARAMS, msg, "no-entry")
    return {
        "seq": row.seq,
        "event_id": row.event_id.hex(),
        "received_at": row.received_at,
        "author_key": row.author.hex(),
        "signature": b64encode(row.sig).decode(),
        "leaf": b64encode(row.leaf).decode(),
        "payload": b64encode(row.payload).decode(),
    }


def proof(folder: Folder, asked: ProofOf) -> dict[str, object]:
    """Return a `c2sp.org/tlog-proof@v1` that an entry is in the log.

    Raises `FaultError` for an entry that is not under the checkpoint, and for a size of
    which no checkpoint is stored.
    """
    with open_reader(folder) as reader:
        note = _note(reader, asked.size)
        size = parse_checkpoint(split_note(note)[0]).size
        if not 0 <= asked.seq < size:
            msg = f"entry {asked.seq} is not under the checkpoint of {size} entries"
            raise FaultError(BAD_PARAMS, msg, "no-entry")
        hashes = inclusion_proof(reader.store.leaves(0, size), asked.seq)
    proved = InclusionProof(index=asked.seq, hashes=tuple(hashes), note=note)
    return {"proof": proved.text()}


def _note(reader: Reader, size: int | None) -> str:
    head = reader.store.head()
    if size in {None, head.size}:
        return head.note
    for stored, note in reader.store.checkpoints():
        if stored == size:
            return note
    msg = f"no checkpoint of {size} entries is stored: leave `size` out for the newest"
    raise FaultError(BAD_PARAMS, msg, "no-checkpoint")


def rows(folder: Folder, asked: RowsOf) -> list[dict[str, Any]]:
    """Return reporting rows, the tables caught up with the log first.

    Those of the past are of tables in memory: the log is folded anew for them.
    """
    # Only who asks for rows pays for what computes them.
    from ledger.projections.stored import open_report

    with open_reader(folder) as reader:
        size = _past_size(folder, reader, asked)
        with open_report(folder, reader.store, size=size) as report:
            return report.rows(
                suite=asked.suite,
                forecaster=asked.forecaster,
                slot=asked.slot,
                by=asked.by,
            )


def _past_size(folder: Folder, reader: Reader, asked: RowsOf) -> int | None:
    """Return of how many entries the rows are to be; None for all that there are now."""
    from ledger.projections.looks_due import due_at
    from ledger.projections.stored import StoredPayloads, open_report

    now, at = reader.events.size(), asked.at
    if at is not None and asked.look is not None:
        msg = "`at` and `look` are two ways to name one size of the log: leave one out"
        raise UsageError(msg)
    if at is not None and not 1 <= at <= now:
        raise UsageError(f"the log has {now} entries: `at` is a size from 1 to {now}")
    if asked.look is None:
        return at
    if asked.suite is None:
        raise UsageError("a look is about one suite version: name it in `suite`")
    with open_report(folder, reader.store) as report:
        manifest = report.suite(asked.suite).manifest
    return due_at(
        lambda size: StoredPayloads(reader.store, size), now, manifest, asked.look
    )


def record(folder: Folder, asked: RecordOf) -> dict[str, Any]:
    """Return a forecaster's own past, the tables caught up with the log first."""
    from ledger.projections.own_record import own_record
    from ledger.projections.stored import open_report

    with (
        open_reader(folder) as reader,
        open_report(folder, reader.store) as report,
    ):
        return own_record(
            report.field(asked.suite),
            asked.forecaster,
            template=asked.template,
            tags=asked.tags,
        )
