"""`ledger verify`: a ledger judged from its bytes up, and what an auditor brought.

Everything is read, nothing is believed and nothing is written. The order is that
of the report; a check that fails does not keep those after it from being made,
as far as there is anything left to look at.

    audit_report      checks, anchors, exit code
    audit_storage     the file, and how it is read without believing it
    audit_entries     the pass: entries, tree, rules
    audit_signatures  the authors' signatures, on several cores
    audit_notes       checkpoints, stored and kept
    audit_tables      projections.db against the log
    audit_bundle      a published bundle against the log
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from ledger.anchor import mark_path
from ledger.errors import CorruptLogError, UncheckableError, UsageError
from ledger.folder import Folder, Settings
from ledger.index import Index
from ledger.keys.signing import VerifierKey
from ledger.projections import audit_notes as notes
from ledger.projections.audit_entries import EntryPass
from ledger.projections.audit_report import (
    CHECKS,
    Check,
    Report,
    holds,
    is_false,
    unasked,
    uncheckable,
)
from ledger.projections.audit_signatures import (
    WORTH_A_PROCESS,
    InlineSignatures,
    PooledSignatures,
    Signatures,
)
from ledger.projections.audit_storage import (
    Around,
    Entries,
    check_storage,
    has_tables,
    read_around,
)
from ledger.store import Store, open_store

# Enough to keep a worker busy, and few enough to be in memory at their longest.
_STRETCH = 1_000
# Called with what is being done, how far it is, and how far it will go.
Progress = Callable[[str, int, int], None]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an auditor brings and asks for; nothing of it is needed.

    `against` is the text of a kept checkpoint note, `genesis` the id of entry 0,
    `state_home` where this machine keeps its high-water marks.
    """

    against: str | None = None
    key: VerifierKey | None = None
    genesis: str | None = None
    witnesses: tuple[VerifierKey, ...] = ()
    state_home: Path | None = None
    jobs: int = 1


def verify_ledger(
    folder: Folder, options: Options | None = None, progress: Progress | None = None
) -> Report:
    """Return what is true of a ledger, check by check.

    Raises `UsageError` where there is no ledger at all; whatever else is wrong
    stands in the report.
    """
    asked = options or Options()
    settings = _settings(folder)
    try:
        store = open_store(folder.log, read_only=True)
    except UncheckableError as error:
        return _unreadable(uncheckable("storage", 0, str(error)))
    except CorruptLogError as error:
        return _unreadable(is_false("storage", 0, error.reason))
    with closing(store):
        storage = check_storage(store)
        try:
            around = read_around(store) if has_tables(store) else None
        except CorruptLogError:
            around = None
        if around is None:
            return _unreadable(storage)
        return _Audit(folder, store, around, asked, progress).report(storage, settings)


def _settings(folder: Folder) -> Settings | str:
    """Return what `ledger.toml` says, or why that cannot be known."""
    try:
        return folder.settings()
    except (UsageError, UncheckableError) as error:
        if not folder.log.exists():
            raise
        return str(error)


def _unreadable(storage: Check) -> Report:
    """Return the report on a log of which nothing but its file can be judged."""
    rest = [uncheckable(name, 0, "not reached") for name in CHECKS[1:]]
    return Report(entries=0, root="", checks=(storage, *rest))


class _Audit:
    """One audit of a log that can be read."""

    def __init__(
        self,
        folder: Folder,
        store: Store,
        around: Around,
        asked: Options,
        progress: Progress | None,
    ) -> None:
        self._folder = folder
        self._store = store
        self._around = around
        self._asked = asked
        self._progress = progress or (lambda _stage, _done, _total: None)
        self._size = 0 if around.last is None else around.last + 1
        self._notes = notes.stored_notes(around)

    def report(self, storage: Check, settings: Settings | str) -> Report:
        """Make every check and return the report."""
        mark = _mark(self._asked.state_home, settings)
        kept = [self._asked.against, mark if isinstance(mark, str) else None]
        with closing(Index()) as index:
            passed = EntryPass(index, self._folder.blobs.get, self._sizes(kept))
            entries = Entries(self._store, is_sound=storage.ok is True)
            signatures = self._pass(passed, entries)
        keys = notes.LogKeys(passed.charters)
        head, size = self._around.head, passed.tree.size
        checks = (
            _with_settings(storage, settings, passed, keys),
            passed.check_entries(),
            notes.check_tree(self._notes, head, passed.tree, passed.roots),
            notes.check_checkpoints(
                self._notes, self._around.cosignatures, keys, self._asked.witnesses
            ),
            signatures,
            passed.check_rules(),
            unasked("projections"),
            unasked("bundles"),
            notes.check_kept("against", kept[0], keys, passed.roots, size),
            notes.check_key(self._asked.key, head),
            notes.check_genesis(self._asked.genesis, passed.genesis),
            mark
            if isinstance(mark, Check)
            else notes.check_kept("local-mark", mark, keys, passed.roots, size),
        )
        return Report(
            entries=size,
            root=b64encode(passed.tree.root()).decode(),
            checks=checks,
        )

    def _sizes(self, kept: Sequence[str | None]) -> set[int]:
        """Return the sizes at which some checkpoint says what the root is."""
        stated = [notes.stated(note) for note in kept if note is not None]
        stated += [note.stated for note in self._notes]
        return {each.size for each in stated if each is not None}

    def _pass(self, passed: EntryPass, entries: Entries) -> Check:
        """Look at every entry once; return the check of their signatures."""
        signatures = self._signatures(entries)
        with closing(signatures):
            try:
                for batch in entries.batches(self._around.last, _STRETCH):
                    signatures.take(batch)
                    passed.take(batch)
                    self._progress("entries", passed.tree.size, self._size)
            except CorruptLogError as error:
                passed.stop(error)
            return signatures.check(
                lambda count: self._progress("signatures", count, passed.tree.size)
            )

    def _signatures(self, entries: Entries) -> Signatures:
        workers = self._asked.jobs - 1
        if workers > 0 and self._size >= WORTH_A_PROCESS:
            return PooledSignatures(self._folder.log, entries, workers)
        return InlineSignatures()


def _with_settings(
    storage: Check, settings: Settings | str, passed: EntryPass, keys: notes.LogKeys
) -> Check:
    """Return the check of the file, with that of `ledger.toml` where that one fails."""
    if storage.ok is not True:
        return storage
    if isinstance(settings, str):
        return is_false("storage", storage.covered, settings)
    if settings.ledger != passed.genesis:
        detail = f"ledger.toml names ledger {settings.ledger}, and entry 0 is {passed.genesis}"
        return is_false("storage", storage.covered, detail)
    if keys.origin is not None and settings.origin != keys.origin:
        detail = (
            f"ledger.toml names {settings.origin!r}, and the charter {keys.origin!r}"
        )
        return is_false("storage", storage.covered, detail)
    return holds("storage", storage.covered, storage.detail)


def _mark(state_home: Path | None, settings: Settings | str) -> str | Check | None:
    """Return this machine's high-water mark, or why it cannot be used."""
    if state_home is None or isinstance(settings, str):
        return unasked("local-mark", "this machine keeps no mark of this ledger")
    path = mark_path(state_home, settings.ledger)
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return unasked("local-mark", "this machine keeps no mark of this ledger")
    except (OSError, UnicodeDecodeError) as error:
        return uncheckable("local-mark", 0, f"{path} cannot be read: {error}")
