"""The public face of the log: make it, write to it, read it."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ledger.anchor import HighWaterMark, mark_path
from ledger.charters import log_keys_ever
from ledger.checkpoint import open_checkpoint
from ledger.clock import Clock, monotonic_seconds
from ledger.clock_watch import ClockWatch, Steady
from ledger.durable import is_locked, lock, remove_database, require_local
from ledger.entry import Recorded
from ledger.errors import CorruptLogError, RefusedError, UsageError, WriterStoppedError
from ledger.events import SuiteFrozen
from ledger.folder import Folder, Settings
from ledger.ids import sha256_hex
from ledger.index import Index, new_index, open_index
from ledger.keys.signing import SignerKey, VerifierKey, parse_verifier
from ledger.merkle import Tree, root_of
from ledger.replay import StoredEvents, replay
from ledger.state import State
from ledger.store import Head, Store, legible
from ledger.store_opening import create_store, open_store
from ledger.suite import CharterManifest
from ledger.writer import Receipt, Submission, Writer

_NOTES = logging.getLogger(__name__)
_CONTRADICTS = "the index %s says what the log does not (%s): it is made again"
_REPLAY_CHUNK = 10_000
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def create(
    folder: Folder,
    charter: Submission,
    log_key: SignerKey,
    *,
    clock: Clock,
    state_home: Path,
    steady: Steady | None = None,
) -> Receipt:
    """Make a ledger whose entry 0 is `charter`; return the receipt.

    The folder may hold keys and nothing else. Raises `UsageError` where a log
    exists or none can be written, `RefusedError` where the charter is unfit.
    """
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_local(folder.path)
    handle = lock(folder.lock)
    with _undone_by(partial(os.close, handle)):
        if folder.log.exists():
            msg = f"{folder.path} holds a ledger already: choose another folder"
            raise UsageError(msg)
        watch = clock_watch(folder, clock, steady)
    try:
        with _undone_by(partial(os.close, handle)):
            store = create_store(folder.log)
        with _writer(folder, store, log_key, handle, watch) as writer:
            writer.stage(charter)
            # Before the commit: a log without its name could not be opened again.
            folder.write_settings(log_key.name, sha256_hex(charter.payload))
            receipt = writer.commit()[0]
    except BaseException as error:
        # A log without entry 0 is no log: what was refused leaves nothing behind.
        remove_database(folder.index)
        remove_database(folder.log)
        folder.settings_file.unlink(missing_ok=True)
        if isinstance(error, WriterStoppedError):
            # Whatever reached the disk is gone by now: nothing is unknown of it.
            raise UsageError(f"no ledger was made: {error}") from error
        raise
    path = mark_path(state_home, receipt.event_id)
    HighWaterMark(path, monotonic_seconds).raise_to(receipt.checkpoint)
    return receipt


@contextmanager
def _undone_by(undo: Callable[[], object]) -> Iterator[None]:
    """Let go of something where the block fails: nobody has taken it over yet."""
    try:
        yield
    except BaseException:
        undo()
        raise


def open_writer(
    folder: Folder,
    log_key: SignerKey,
    *,
    clock: Clock,
    state_home: Path,
    steady: Steady | None = None,
) -> Writer:
    """Take the lock and return the writer, its state at the log's head.

    With `steady`, the wall clock is held against it. Raises `UsageError` when
    another process writes or there is no ledger, and `CorruptLogError` when the log
    contradicts itself or the high-water mark.
    """
    settings = folder.settings()
    require_local(folder.path)
    handle = lock(folder.lock)
    with _undone_by(partial(os.close, handle)):
        watch = clock_watch(folder, clock, steady)
        store = open_store(folder.log, read_only=False)
        with _undone_by(store.close):
            # After a failed sync the system may hold what the disk does not, and no later
            # sync of the same file would tell: whatever was left there is written anew.
            store.checkpoint_wal()
    with legible():
        writer = _writer(folder, store, log_key, handle, watch)
    try:
        if watch.is_new:
            # Not only on close: who is killed leaves it to the next all the same.
            watch.save()
        _require_founded(writer.state, settings)
        _require_log_key(writer.state, log_key)
        with legible():
            _remember(writer, mark_path(state_home, settings.ledger), store)
    except BaseException:
        writer.close()
        raise
    return writer


def clock_watch(folder: Folder, clock: Clock, steady: Steady | None) -> ClockWatch:
    """Return the watch over a ledger's clock, as its last writer left it."""
    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    return ClockWatch(clock, steady, boot=boot, file=folder.clock)


def _writer(
    folder: Folder, store: Store, log_key: SignerKey, handle: int, watch: ClockWatch
) -> Writer:
    """Return a writer that owns `store` and `handle`; on failure close both.

    Each event of the log was let in after those before it. Where one would be refused,
    it is the index that says what the log does not, and it is made again.
    """
    with _undone_by(partial(os.close, handle)), _undone_by(store.close):
        head = store.head()
        tree = Tree(head.size, head.edge)

        def opened(index: Index) -> Writer:
            with _undone_by(index.close):
                return Writer(
                    store=store,
                    index=index,
                    reload=lambda: load_state(folder, store, index),
                    tree=tree,
                    log_key=log_key,
                    clock=watch,
                    still_locked=lambda: is_locked(folder.lock, handle),
                    on_close=lambda: os.close(handle),
                )

        index = open_index(
            folder.index, tree, lambda size: root_of(store.leaves(0, size))
        )
        is_new = index.position() is None
        try:
            return opened(index)
        except RefusedError as error:
            if is_new:
                raise
            # As text, which holds no reading of the log open.
            _NOTES.warning(_CONTRADICTS, folder.index, str(error))
        return opened(new_index(folder.index))


def _require_founded(state: State, settings: Settings) -> None:
    """Refuse a log without entry 0, and a `ledger.toml` that names another log."""
    if state.ledger is None:
        msg = "log.db has no entry 0, `ledger init` was interrupted: remove the folder and run it again"
        raise CorruptLogError(msg)
    if settings.ledger != state.ledger:
        msg = (
            f"ledger.toml names ledger {settings.ledger}, and entry 0 is {state.ledger}"
        )
        raise CorruptLogError(msg)


def load_state(folder: Folder, store: Store, index: Index) -> State:
    """Return the rules' state at the log's head, replaying what the index lacks."""
    state = State(index, folder.blobs.get)
    events = StoredEvents(store)
    known = index.frozen()
    frozen = [each for each in events.read_at(known) if _is_frozen(each)]
    if len(frozen) < len(known):
        msg = f"{folder.index} is damaged: delete it, it is made again"
        raise CorruptLogError(msg)
    for each in frozen:
        assert isinstance(each.event, SuiteFrozen)
        state.apply_frozen(each.seq, each.event_id, each.event)
    position = index.position()
    start, size = (position[0] if position else 0), events.size()
    if start == size:
        return state
    head, tree = store.head(), Tree()
    while start < size:
        stop = min(start + _REPLAY_CHUNK, size)
        replay(state, events.read(start, stop))
        if stop == size:
            index.flush(stop, Tree(size, head.edge).root())
        elif index.is_full:
            for leaf in store.leaves(tree.size, stop):
                tree.append(leaf)
            index.flush(stop, tree.root())
        start = stop
    return state


def _is_frozen(recorded: Recorded) -> bool:
    return isinstance(recorded.event, SuiteFrozen)


def _require_log_key(state: State, log_key: SignerKey) -> None:
    assert state.charter is not None
    if str(log_key.verifier) not in state.charter.log_keys:
        msg = f"the charter does not list {log_key.verifier} among its log_keys"
        raise UsageError(msg)


def log_verifiers(charter: CharterManifest) -> tuple[VerifierKey, ...]:
    """Return the keys that may sign a charter's checkpoints."""
    return tuple(parse_verifier(key) for key in charter.log_keys)


def _remember(writer: Writer, path: Path, store: Store) -> None:
    """Give the writer its high-water mark, and compare the log with it."""
    writer.mark, head = HighWaterMark(path, monotonic_seconds), store.head()
    note, charter = writer.mark.note(), writer.state.charter
    if note is None or charter is None:
        return
    # Any key that the log ever had: it may have been rotated just after this.
    keys = log_keys_ever(writer.state.charters)
    remembered = open_checkpoint(note, keys, charter.origin)
    if remembered.size > head.size:
        writer.behind = note
    elif remembered.root != root_at(store, head, remembered.size):
        msg = (
            f"the first {remembered.size} of {head.size} entries are not those that this "
            "machine remembers: the log was rewritten. Restore the right one"
        )
        raise CorruptLogError(msg)


def root_at(store: Store, head: Head, size: int) -> bytes:
    """Return the root over the first `size` entries; that of the head is at hand."""
    if size == head.size:
        return Tree(size, head.edge).root()
    return root_of(store.leaves(0, size))


class Reader:
    """A reader beside the writer: entries, checkpoints and events, never the lock."""

    def __init__(self, folder: Folder) -> None:
        """Open `log.db` read-only; raise `UsageError` where there is no ledger."""
        self.settings = folder.settings()
        self.store = open_store(folder.log, read_only=True)
        self.events = StoredEvents(self.store)

    def close(self) -> None:
        """Close the connection."""
        self.store.close()


@contextmanager
def open_reader(folder: Folder) -> Iterator[Reader]:
    """Give a reader of the ledger and close it afterwards."""
    reader = Reader(folder)
    try:
        yield reader
    finally:
        reader.close()
