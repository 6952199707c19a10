"""`ledger verify`: a ledger judged from its bytes up, and what an auditor brought.

Everything is read, nothing is believed and nothing is written. The order is that
of the report; a check that fails does not keep those after it from being made,
as far as there is anything left to look at.

    audit_report      checks, anchors, exit code
    audit_storage     the file, and how it is read without believing it
    audit_log         a log, wherever its entries come from
    audit_entries     the pass over them: entries, tree, rules
    audit_signatures  the authors' signatures, on several cores
    audit_notes       checkpoints, stored and kept
    audit_tables      projections.db against the log
    audit_bundle      a published bundle against the log
"""

import re
from contextlib import closing
from pathlib import Path

from ledger.anchor import mark_path
from ledger.collecting import uncollected
from ledger.durable import read_regular
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    UncheckableError,
    UsageError,
)
from ledger.folder import Folder, Settings
from ledger.grammar import HEX_PATTERN
from ledger.projections.audit_log import (
    READ,
    JudgedLog,
    Options,
    Progress,
    judge_log,
    silent,
)
from ledger.projections.audit_report import (
    CHECKS,
    Check,
    Report,
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
from ledger.projections.audit_tables import Folded, fold_again
from ledger.projections.stored import StoredPayloads
from ledger.store import Store
from ledger.store_opening import open_store

__all__ = ["Options", "Progress", "Report", "verify_ledger"]

_EVENT_ID = re.compile(HEX_PATTERN)


def verify_ledger(
    folder: Folder, options: Options | None = None, progress: Progress = silent
) -> Report:
    """Return what is true of a ledger, check by check.

    Raises `UsageError` where there is no ledger at all; whatever else is wrong
    stands in the report.
    """
    settings = _settings(folder)
    try:
        store = open_store(folder.log, read_only=True)
    except UncheckableError as error:
        return _unreadable(uncheckable("storage", 0, str(error)))
    except CorruptLogError as error:
        return _unreadable(is_false("storage", 0, error.reason))
    with closing(store):
        storage = check_storage(store)
        around = _around(store)
        if around is None:
            return _unreadable(storage)
        asked = options or Options()
        mark = _mark(asked.state_home, settings)
        entries = Entries(store, is_sound=storage.ok is True)
        # Until all units are forgotten: a collector that comes back walks over them.
        with uncollected():
            judged = judge_log(
                entries,
                around,
                folder.blobs.get,
                asked=asked,
                mark=mark if isinstance(mark, str) else None,
                index_file=folder.index,
                signatures=_signatures(folder.log, entries, around, asked.jobs),
                progress=progress,
            )
            storage = entries.check_ids(storage, around.last)
        folded = _folded(folder, store, judged, asked, progress)
    *anchors, marked = judged.anchors
    return Report(
        entries=judged.size,
        root=judged.root,
        checks=(
            _with_settings(storage, settings, judged),
            *judged.checks,
            folded.check,
            unasked("bundles"),
            *anchors,
            mark if isinstance(mark, Check) else marked,
        ),
        findings=folded.findings,
    )


def _folded(
    folder: Folder,
    store: Store,
    judged: JudgedLog,
    asked: Options,
    progress: Progress,
) -> Folded:
    if judged.rules.ok is not True:
        missing = unasked("projections", "nothing stored")
        detail = "not reached: the log's own rules do not hold"
        stored = uncheckable("projections", 0, detail)
        check = stored if folder.projections.exists() else missing
        return Folded(check=check, findings=())
    try:
        return fold_again(
            StoredPayloads(store, judged.size),
            folder.projections,
            folder.blobs.get,
            wants_findings=asked.findings,
            progress=lambda done: progress("events folded", done, judged.size),
        )
    except LedgerError as error:
        detail = f"the log could not be folded: {error}"
        return Folded(check=uncheckable("projections", 0, detail), findings=())


def _settings(folder: Folder) -> Settings | Check:
    """Return what `ledger.toml` says, or a failed check that says why it cannot."""
    try:
        return folder.settings()
    except (UsageError, UncheckableError) as error:
        if not folder.log.exists():
            raise
        kind = uncheckable if isinstance(error, UncheckableError) else is_false
        return kind("storage", 0, str(error))


def _unreadable(storage: Check) -> Report:
    """Return the report on a log of which nothing but its file can be judged."""
    rest = [uncheckable(name, 0, "not reached") for name in CHECKS[1:]]
    return Report(entries=0, root="", checks=(storage, *rest))


def _around(store: Store) -> Around | None:
    """Return what is stored beside the entries; None where the tables are no log's."""
    try:
        return read_around(store) if has_tables(store) else None
    except CorruptLogError:
        return None  # The storage check says why.


def _signatures(log: Path, entries: Entries, around: Around, jobs: int) -> Signatures:
    """Return who checks the signatures: other processes too, where that is worth it."""
    last = around.last or 0
    workers = min(jobs - 1, last // READ)
    if workers > 0 and last >= WORTH_A_PROCESS:
        return PooledSignatures(log, entries, workers)
    return InlineSignatures()


def _with_settings(
    storage: Check, settings: Settings | Check, judged: JudgedLog
) -> Check:
    """Return the check of the file, with that of `ledger.toml` where that one fails."""
    if storage.ok is not True:
        return storage
    if isinstance(settings, Check):
        return settings
    said, found = settings.ledger, judged.genesis
    if said != found:
        detail = f"ledger.toml names ledger {said}, and entry 0 is {found}"
        return is_false("storage", storage.covered, detail)
    said, found = settings.origin, judged.origin
    if found is not None and said != found:
        detail = f"ledger.toml names the origin {said!r}, and the charter {found!r}"
        return is_false("storage", storage.covered, detail)
    return storage


def _mark(state_home: Path | None, settings: Settings | Check) -> str | Check:
    """Return this machine's high-water mark, or why there is none to use."""
    absent = unasked("local-mark", "this machine keeps no mark of this ledger")
    if state_home is None or isinstance(settings, Check):
        return absent
    if not _EVENT_ID.match(settings.ledger):
        return absent
    path = mark_path(state_home, settings.ledger)
    try:
        return read_regular(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return absent
    except (OSError, UnicodeDecodeError) as error:
        return uncheckable("local-mark", 0, f"{path} cannot be read: {error}")
