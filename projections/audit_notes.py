"""Checkpoints: those that the log stores, and those that an auditor brings.

A stored checkpoint must bear the signature of a key that the charter gave the
log at that position, and the root that the log has at that size. One that was
kept elsewhere ties the log to a moment outside it: the log must still begin with
exactly what it signed.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ledger.charters import Charters, Gap, gaps, log_keys_ever
from ledger.checkpoint import (
    Checkpoint,
    open_checkpoint,
    parse_checkpoint,
    split_line,
    split_note,
)
from ledger.errors import CorruptLogError
from ledger.keys.signing import VerifierKey, parse_verifier
from ledger.merkle import Tree
from ledger.projections.audit_report import (
    Check,
    holds,
    is_false,
    unasked,
    uncheckable,
)
from ledger.projections.audit_storage import Around, StoredHead
from ledger.store import CHECKPOINT_EVERY


class LogKeys:
    """Which keys the log had when, as its charters say."""

    def __init__(self, charters: Charters) -> None:
        """Take the charters by the positions that they stand at, ascending."""
        self._charters = charters

    @property
    def origin(self) -> str | None:
        """The log's name, which no charter can change; None without a charter."""
        return self._charters[0][1].origin if self._charters else None

    @property
    def gaps(self) -> list[Gap]:
        """Where an older copy was restored, and a charter says so."""
        return gaps(self._charters)

    def at(self, size: int) -> tuple[VerifierKey, ...]:
        """Return the keys that may sign the log's checkpoint of this size."""
        in_force = [charter for seq, charter in self._charters if seq < size]
        # The empty log is signed by the first charter's keys, as the first entry is.
        charter = in_force[-1] if in_force else self._charters[0][1]
        return tuple(map(parse_verifier, charter.log_keys))

    def ever(self) -> tuple[VerifierKey, ...]:
        """Return every key that the log ever had."""
        return log_keys_ever(self._charters)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A stored note: under which size, its text, what it states if that is legible."""

    size: int
    text: str
    stated: Checkpoint | None

    def __str__(self) -> str:
        """Return how a report names it."""
        return f"the checkpoint of size {self.size}"


def stored_notes(around: Around) -> list[Note]:
    """Return the stored checkpoints and the head's, smallest first, unverified."""
    stored = list(around.checkpoints)
    if around.head is not None:
        stored.append((around.head.size, around.head.note))
    return [
        Note(size=size, text=_text(content), stated=stated(_text(content)))
        for size, content in sorted(stored)
    ]


def _text(content: bytes) -> str:
    # What is no UTF-8 is no note either: it is refused where it is opened.
    return content.decode("utf-8", "replace")


def stated(note: str) -> Checkpoint | None:
    """Return what a note states, nothing verified; None where it is no checkpoint."""
    try:
        return parse_checkpoint(split_note(note)[0])
    except CorruptLogError:
        return None


def check_tree(
    notes: Sequence[Note],
    head: StoredHead | None,
    tree: Tree,
    roots: Mapping[int, bytes],
) -> Check:
    """Return whether the entries have the root of every checkpoint, and the head's edge.

    `roots` has the root at each of the notes' sizes that the log reaches.
    """
    agreed, compared = 0, 0
    for note in notes:
        if note.stated is None or note.stated.size != note.size:
            continue  # `checkpoints` says so.
        compared += 1
        problem = _divergence(note.stated, agreed, tree.size, roots)
        if problem is not None:
            return is_false("tree", compared, problem)
        agreed = note.size
    problem = _wrong_head(head, tree)
    if problem is not None:
        return is_false("tree", compared, problem)
    return holds("tree", compared, "the root at every checkpoint, and the head's edge")


def _divergence(
    stated: Checkpoint, agreed: int, size: int, roots: Mapping[int, bytes]
) -> str | None:
    if stated.size > size:
        return f"a checkpoint of size {stated.size} is stored, and the log has {size} entries"
    if roots[stated.size] == stated.root:
        return None
    return (
        f"diverges between size {agreed} and size {stated.size}: the root there is "
        f"{_base64(roots[stated.size])}, the checkpoint says {_base64(stated.root)}"
    )


def _wrong_head(head: StoredHead | None, tree: Tree) -> str | None:
    if head is None:
        return "the log has no head: nothing says how long it is"
    if head.size != tree.size:
        return f"the head says {head.size} entries, and the log has {tree.size}"
    if head.edge != b"".join(tree.edge):
        return "the head's edge is not that of the tree over the entries"
    return None


def check_checkpoints(
    notes: Sequence[Note],
    cosignatures: Sequence[tuple[int, bytes]],
    keys: LogKeys,
    witnesses: Sequence[VerifierKey],
    size: int,
) -> Check:
    """Return whether the log signed every stored checkpoint, and who witnessed it.

    `size` is how many entries the log has: one checkpoint is stored at least for each
    1,024 of them, and one for the first entry.
    """
    if keys.origin is None:
        detail = "no charter could be read, so no key of the log is known"
        return uncheckable("checkpoints", 0, detail)
    problems = [
        *_bad_notes(notes, keys),
        *_bad_lines(notes, cosignatures, keys, witnesses),
        *_missing_notes(notes, size),
    ]
    covered = len(notes) + len(cosignatures)
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        return is_false("checkpoints", covered, problems[0] + more)
    return holds("checkpoints", covered, _witnessed(cosignatures, witnesses))


def _missing_notes(notes: Sequence[Note], size: int) -> Iterator[str]:
    stored = {note.size for note in notes}
    kept = range(CHECKPOINT_EVERY, size + 1, CHECKPOINT_EVERY)
    for each in (*range(1, min(size, 1) + 1), *kept):
        if each not in stored:
            yield f"no checkpoint of size {each} is stored, and the writer kept one"


def _bad_notes(notes: Sequence[Note], keys: LogKeys) -> Iterator[str]:
    assert keys.origin is not None
    for note in notes:
        try:
            checkpoint = open_checkpoint(note.text, keys.at(note.size), keys.origin)
        except CorruptLogError as error:
            yield f"{note}: {error.reason}"
            continue
        if checkpoint.size != note.size:
            yield f"{note} speaks of size {checkpoint.size}"


def _bad_lines(
    notes: Sequence[Note],
    cosignatures: Sequence[tuple[int, bytes]],
    keys: LogKeys,
    witnesses: Sequence[VerifierKey],
) -> Iterator[str]:
    """Yield what is wrong with the witnesses' lines; unknown witnesses are let pass."""
    assert keys.origin is not None
    texts = {note.size: note.text for note in notes}
    for size, content in cosignatures:
        if size not in texts:
            yield f"a witness's line is about size {size}, where no checkpoint is stored"
            continue
        try:
            line = _text(content)
            _require_one_line(line, content)
            note = texts[size] + line
            open_checkpoint(note, keys.at(size), keys.origin, witnesses)
        except CorruptLogError as error:
            yield f"a witness's line on the checkpoint of size {size}: {error.reason}"


def _require_one_line(line: str, content: bytes) -> None:
    # Anything else could hide among the lines of the note.
    split_line(line)
    if line.encode() != content:
        msg = "it is no UTF-8"
        raise CorruptLogError(msg)


def _witnessed(
    cosignatures: Sequence[tuple[int, bytes]], witnesses: Sequence[VerifierKey]
) -> str:
    if not cosignatures:
        return "signed by the log's keys of their time; no witness's line is stored"
    known = {(key.name, key.key_id) for key in witnesses}
    lines = [split_line(_text(line)) for _, line in cosignatures]
    checked = sum((name, key_id) in known for name, key_id, _ in lines)
    return (
        f"signed by the log's keys of their time; {checked} of {len(lines)} witness "
        "lines are of a witness whose key was brought"
    )


def check_kept(
    name: str, note: str | None, keys: LogKeys, roots: Mapping[int, bytes], size: int
) -> Check:
    """Return whether the log still begins with what a kept checkpoint signed.

    `size` is how many entries the log has; `roots` has the root at the note's size
    if the log reaches it.
    """
    if note is None:
        return unasked(name)
    kept = stated(note)
    if kept is None:
        return uncheckable(name, 0, "what was kept is no checkpoint note")
    if keys.origin is None:
        return uncheckable(name, 0, "no charter could be read to compare it with")
    problem = _contradiction(kept, keys, roots, size)
    if problem is None:
        try:
            open_checkpoint(note, keys.ever(), keys.origin)
        except CorruptLogError as error:
            problem = error.reason
    covered = min(kept.size, size)
    if problem is not None:
        admitted = [str(gap) for gap in keys.gaps if gap.seq < kept.size <= gap.size]
        return is_false(name, covered, "; ".join([problem, *admitted]))
    return holds(name, covered, f"the log extends the checkpoint of size {kept.size}")


def _contradiction(
    kept: Checkpoint, keys: LogKeys, roots: Mapping[int, bytes], size: int
) -> str | None:
    """Return how a kept checkpoint and the log contradict each other, if they do."""
    if kept.origin != keys.origin:
        return f"the checkpoint is of {kept.origin!r}, and this log is {keys.origin!r}"
    if kept.size > size:
        return (
            f"the checkpoint has {kept.size} entries, and the log has {size}: it was "
            "shortened or replaced"
        )
    if roots[kept.size] != kept.root:
        return (
            f"the first {kept.size} entries are not those that the checkpoint signed: "
            "the log was rewritten"
        )
    return None


def check_key(key: VerifierKey | None, head: StoredHead | None) -> Check:
    """Return whether the auditor's key is the one that signed the log's head."""
    if key is None:
        return unasked("key")
    if head is None:
        return uncheckable("key", 0, "the log has no head that could be signed")
    try:
        open_checkpoint(_text(head.note), [key], key.name)
    except CorruptLogError as error:
        return is_false("key", 1, f"{key.name}: {error.reason}")
    return holds("key", 1, f"signed the head of size {head.size}")


def check_genesis(wanted: str | None, found: str | None) -> Check:
    """Return whether entry 0 is the event that the auditor names."""
    if wanted is None:
        return unasked("genesis")
    if found is None:
        return uncheckable("genesis", 0, "the log has no entry 0")
    if found != wanted:
        return is_false("genesis", 1, f"entry 0 is event {found}, not {wanted}")
    return holds("genesis", 1, "entry 0 is the event that was named")


def _base64(root: bytes) -> str:
    return b64encode(root).decode()
