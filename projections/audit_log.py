"""A log judged: its entries, its tree, its notes and its signatures, together.

Works on entries wherever they come from, so that one and the same function judges
a ledger's file and a copy of its rows in memory.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

import msgspec

from ledger.errors import CorruptLogError
from ledger.index import Index
from ledger.keys.signing import VerifierKey
from ledger.projections import audit_notes as notes
from ledger.projections.audit_entries import EntryPass
from ledger.projections.audit_index import check_index
from ledger.projections.audit_report import Check
from ledger.projections.audit_signatures import InlineSignatures, Signatures
from ledger.projections.audit_storage import Around, RawEntry
from ledger.state import Blobs

# Read at once, or checked for signatures by one worker.
READ = 1_000
# Held, so that what is done with them is done for long: first they are read, then their
# signatures are checked, then all else, and each finds its own things cold when it
# begins. And looked at at once, so that the last finds hot what it has just made.
HELD, HELD_BYTES, NEAR = 8_000, 16 * 1024 * 1024, 64
# Called with what is being done, how far it is, and how far it will go.
Progress = Callable[[str, int, int], None]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an auditor brings and asks for; nothing of it is needed.

    `against` is the text of a kept checkpoint note, `genesis` the id of entry 0,
    `state_home` where this machine keeps its high-water marks. `findings` asks what
    the log shows about its forecasts, for which it is folded once more.
    """

    against: str | None = None
    key: VerifierKey | None = None
    genesis: str | None = None
    witnesses: tuple[VerifierKey, ...] = ()
    state_home: Path | None = None
    jobs: int = 1
    findings: bool = False


def silent(stage: str, done: int, whole: int) -> None:
    """Take progress that nobody wants to see."""
    del stage, done, whole


class EntrySource(Protocol):
    """Entries in order, as `Entries` reads them from a file."""

    def batches(self, last: int | None, limit: int) -> Iterator[list[RawEntry]]:
        """Yield all entries up to the position `last`, `limit` at a time."""


class JudgedLog(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a log, and the checks of it in the report's order."""

    size: int
    root: str
    genesis: str | None
    origin: str | None
    checks: tuple[Check, ...]
    anchors: tuple[Check, ...]

    @property
    def rules(self) -> Check:
        """The check of the rules: without them nothing can be folded."""
        return next(check for check in self.checks if check.name == "rules")


def judge_log(
    entries: EntrySource,
    around: Around,
    blobs: Blobs,
    *,
    asked: Options | None = None,
    mark: str | None = None,
    signatures: Signatures | None = None,
    index_file: Path | None = None,
    progress: Progress = silent,
) -> JudgedLog:
    """Return what is true of a log whose every entry is looked at once.

    `mark` is this machine's high-water mark; `signatures` says who checks them,
    by default this process; `index_file` is what writers remember beside the log.
    `blobs` returns pinned files.
    """
    asked = asked or Options()
    stored = notes.stored_notes(around)
    wanted = [note.stated for note in stored]
    wanted += [notes.stated(note) for note in (asked.against, mark) if note is not None]
    with closing(Index()) as index, closing(signatures or InlineSignatures()) as signed:
        passed = EntryPass(index, blobs, {each.size for each in wanted if each})
        _look_at_all(entries, around, passed, signed, progress)
        rules = passed.check_rules()
        indexed = check_index(index_file if rules.ok else None, index, passed.tree)
        signed_by_authors = signed.check(
            lambda count: progress("signatures", count, passed.tree.size)
        )
    keys = notes.LogKeys(passed.charters)
    head, tree, roots = around.head, passed.tree, passed.roots
    return JudgedLog(
        size=tree.size,
        root=b64encode(tree.root()).decode(),
        genesis=passed.genesis,
        origin=keys.origin,
        checks=(
            passed.check_entries(),
            notes.check_tree(stored, head, tree, roots),
            notes.check_checkpoints(
                stored, around.cosignatures, keys, asked.witnesses, tree.size
            ),
            signed_by_authors,
            rules,
            indexed,
        ),
        anchors=(
            notes.check_kept("against", asked.against, keys, roots, tree.size),
            notes.check_key(asked.key, head),
            notes.check_genesis(asked.genesis, passed.genesis),
            notes.check_kept("local-mark", mark, keys, roots, tree.size),
        ),
    )


def _look_at_all(
    entries: EntrySource,
    around: Around,
    passed: EntryPass,
    signatures: Signatures,
    progress: Progress,
) -> None:
    whole = 0 if around.last is None else around.last + 1
    try:
        for held in _held(entries, around):
            for start in range(0, len(held), READ):
                signatures.take(held[start : start + READ])
            for some in _near(held):
                passed.take(some)
            progress("entries", passed.tree.size, whole)
    except CorruptLogError as error:
        passed.stop(error)


def _held(entries: EntrySource, around: Around) -> Iterator[list[RawEntry]]:
    """Yield many entries at a time; what stands before damage, before that is raised."""
    held: list[RawEntry] = []
    size = 0
    try:
        for batch in entries.batches(around.last, READ):
            held += batch
            size += sum([len(row[4]) for row in batch])
            if len(held) >= HELD or size > HELD_BYTES:
                yield held
                held, size = [], 0
    except CorruptLogError:
        if held:
            yield held
        raise
    if held:
        yield held


def _near(held: list[RawEntry]) -> Iterator[list[RawEntry]]:
    """Yield few entries at a time, and let go of them: later, their memory is cold."""
    held.reverse()
    while held:
        some = held[-NEAR:]
        del held[-NEAR:]
        some.reverse()
        yield some
