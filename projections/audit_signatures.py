"""The authors' signatures, the bulk of an audit's work, on as many cores as asked.

Entries are judged in stretches. With one process each stretch is judged where it
is read. With more, stretches are handed to workers that read the log themselves;
what no worker has begun when the pass over the log is done, the main process
takes back and judges itself.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec

from ledger.errors import LedgerError
from ledger.keys.signing import payloads_verify
from ledger.projections.audit_report import Check, holds, is_false
from ledger.projections.audit_storage import Entries, RawEntry
from ledger.shielding import shielded
from ledger.store_opening import open_store

# Below this many entries a second process costs more than it gives.
WORTH_A_PROCESS = 5_000
_worker_entries: Entries | None = None


class Stretch(msgspec.Struct, frozen=True):
    """Some entries that follow each other: the first and last position, how many."""

    first: int
    last: int
    count: int


class Verified(msgspec.Struct, frozen=True):
    """How many signatures of a stretch were checked, and which are bad."""

    count: int
    bad: tuple[int, ...]


def verify_stretch(batch: Sequence[RawEntry]) -> Verified:
    """Return what the signatures of these entries are worth under their own keys."""
    if not batch:  # Somebody took them out of the file since they were counted.
        return Verified(0, ())
    seqs, _, authors, sigs, payloads, _, _ = zip(*batch, strict=True)
    signed = payloads_verify(payloads, sigs, authors)
    bad = [seq for seq, is_signed in zip(seqs, signed, strict=True) if not is_signed]
    return Verified(len(batch), tuple(bad))


class InlineSignatures:
    """Judges each stretch where it is read: one process."""

    def __init__(self) -> None:
        self._results: list[Verified] = []

    def take(self, batch: Sequence[RawEntry]) -> None:
        """Judge the next entries."""
        self._results.append(verify_stretch(batch))

    def check(self, progress: Callable[[int], None]) -> Check:
        """Return whether every entry was signed by the key that it names."""
        del progress  # Nothing is left to do.
        return _check(self._results)

    def close(self) -> None:
        """Nothing is held open."""


class PooledSignatures:
    """Hands stretches to worker processes that read the log by themselves."""

    def __init__(self, log: Path, entries: Entries, workers: int) -> None:
        """Start the workers; `entries` is the caller's own way of reading `log`."""
        self._entries = entries
        self._pool = ProcessPoolExecutor(
            workers,
            multiprocessing.get_context("spawn"),
            initializer=_open_in_worker,
            initargs=(log,),
        )
        self._given: list[tuple[Stretch, Future[Verified] | None]] = []

    def take(self, batch: Sequence[RawEntry]) -> None:
        """Hand the next entries over, by their positions."""
        stretch = Stretch(batch[0][0], batch[-1][0], len(batch))
        self._given.append((stretch, self._submit(stretch)))

    def _submit(self, stretch: Stretch) -> Future[Verified] | None:
        try:
            with shielded():  # Who is given something may have to be started for it.
                return self._pool.submit(_verify_in_worker, stretch)
        except BrokenProcessPool:
            return None  # A worker died: what it was to do is done here.

    def check(self, progress: Callable[[int], None]) -> Check:
        """Return whether every entry was signed by the key that it names.

        Calls `progress` with the number of signatures checked so far.
        """
        results: list[Verified] = []
        left = []
        # From the end, where the workers come last.
        for stretch, future in reversed(self._given):
            if future is None or future.cancel():
                results.append(_verify(self._entries, stretch))
                progress(sum(each.count for each in results))
            else:
                left.append((stretch, future))
        for stretch, future in reversed(left):
            try:
                results.append(future.result())
            except (BrokenProcessPool, LedgerError, OSError):
                results.append(_verify(self._entries, stretch))
            progress(sum(each.count for each in results))
        return _check(results)

    def close(self) -> None:
        """Stop the workers; what they have begun is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


Signatures = InlineSignatures | PooledSignatures


def _open_in_worker(log: Path) -> None:
    global _worker_entries  # noqa: PLW0603 - a worker process has one log
    # Ctrl-C reaches the whole group: the main process answers for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker_entries = Entries(open_store(log, read_only=True), is_sound=False)


def _end_with_parent() -> None:
    """End this process with the one that gives it work, however that one ends.

    It would wait for more for ever: both ends of the queue are its own as well.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _verify_in_worker(stretch: Stretch) -> Verified:
    assert _worker_entries is not None
    return _verify(_worker_entries, stretch)


def _verify(entries: Entries, stretch: Stretch) -> Verified:
    return verify_stretch(entries.read(stretch.first, stretch.last, stretch.count))


def _check(results: Sequence[Verified]) -> Check:
    count = sum(each.count for each in results)
    bad = sorted(seq for each in results for seq in each.bad)
    if not bad:
        return holds("signatures", count, "each under the key that its entry names")
    more = f" ({len(bad) - 1} more signatures are bad)" if len(bad) > 1 else ""
    detail = f"entry {bad[0]}: the signature is not by its author's key{more}"
    return is_false("signatures", count, detail)
