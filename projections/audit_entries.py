"""One pass over the log, in order: each entry's bytes, the tree, the rules.

Each entry is read once, and each question about it is asked on the way. A bad
entry is noted and the pass goes on: the tree grows by what is stored, and the
rules stop at the first event that cannot be known or would be refused, since
what follows it may rest on it.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from hashlib import sha256

from ledger import codec
from ledger.charters import gaps
from ledger.clock import parse_instant
from ledger.entry import ENTRY_BYTES_MAX, Recorded, entry_bytes, leaf_hash
from ledger.errors import CorruptLogError, RefusedError, UncheckableError
from ledger.events import SuiteFrozen
from ledger.ids import sha256_hex
from ledger.index import Index
from ledger.merkle import Tree
from ledger.projections.audit_report import Check, holds, is_false, uncheckable
from ledger.projections.audit_storage import RawEntry
from ledger.replay import step
from ledger.state import Blobs, State
from ledger.suite import CharterManifest

_INSTANT_LENGTH = len("2026-11-02T09:30:00.000000Z")
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


class Faults:
    """The first thing found wrong of its kind, and how many entries have one."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def note(self, seq: int, reason: str) -> None:
        """Take one entry's fault; only the first one's words are kept."""
        if not self.count:
            self.first = f"entry {seq}: {reason}"
        self.count += 1

    def __str__(self) -> str:
        """Return the first fault and how many more there are."""
        more = f" ({self.count - 1} more entries are bad)" if self.count > 1 else ""
        return self.first + more


class EntryPass:
    """The fold over the entries; `take` all of them, then ask for the checks."""

    def __init__(self, index: Index, blobs: Blobs, sizes: Collection[int]) -> None:
        """Take a temporary index, and the sizes at which the root will be wanted."""
        self.tree = Tree()
        self.roots: dict[int, bytes] = {}
        self.charters: list[tuple[int, CharterManifest]] = []
        self.genesis: str | None = None
        self._wanted = frozenset(sizes)
        self._index = index
        self._state = State(index, blobs)
        self._expected = 0
        self._received_at = ""
        self._bad = Faults()
        self._unknown = Faults()
        self._lawful = 0
        self._rules_stopped: Check | None = None
        self._note_root()

    def take(self, batch: Sequence[RawEntry]) -> None:
        """Look at the next entries, in order."""
        if self.genesis is None and batch:
            self.genesis = sha256_hex(batch[0][4])
        tree, wanted = self.tree, self._wanted
        # Written out, not called: what stands in this loop is most of an audit's
        # work but for the signatures. Where anything is odd, `_examine` says what.
        for row in batch:
            seq, received, author, sig, payload, leaf, event_id = row
            # Latin-1 takes any byte: what is no instant is found out just below.
            text = received.decode("latin-1")
            digest = sha256(payload)
            content = entry_bytes(text, author, sig, payload)
            hashed = leaf_hash(content)
            tree.append(hashed)
            if tree.size in wanted:
                self._note_root()
            try:
                event = codec.decode(payload)
                received_at = parse_instant(text)
            except (RefusedError, ValueError):
                self._examine(row)
                continue
            if (
                seq != self._expected
                or text < self._received_at
                or len(text) != _INSTANT_LENGTH
                or digest.digest() != event_id
                or hashed != leaf
                or len(content) > ENTRY_BYTES_MAX
                or len(sig) != _SIGNATURE_BYTES
                or len(author) != _KEY_BYTES
            ):
                self._examine(row)
                continue
            self._expected = seq + 1
            self._received_at = text
            if self._rules_stopped is None:
                recorded = Recorded(
                    seq=seq,
                    received_at=received_at,
                    author_key=author,
                    event_id=event_id.hex(),
                    event=event,
                )
                self._replay(recorded)
        if self._index.is_full:
            self._index.flush(tree.size, b"")

    def stop(self, error: CorruptLogError) -> None:
        """Note that nothing more can be read of the log."""
        self._bad.note(-1 if error.seq is None else error.seq, error.reason)

    def _note_root(self) -> None:
        self.roots[self.tree.size] = self.tree.root()

    def _examine(self, row: RawEntry) -> None:
        """Note all that is wrong with an entry; replay its event if it has one."""
        seq, received, author, _, payload, _, _ = row
        text = received.decode("latin-1")
        reasons = _faults(row, self._expected, self._received_at)
        self._expected = seq + 1
        event, received_at = None, None
        try:
            event = codec.decode(payload)
        except RefusedError as refusal:
            newer = _newer_format(payload)
            if newer is None:
                reasons.append(f"its payload is no event: {refusal}")
            elif not reasons:
                self._unknown.note(seq, newer)
        with suppress(ValueError):
            received_at = parse_instant(text)
            self._received_at = max(self._received_at, text)
        if reasons:
            self._bad.note(seq, "; ".join(reasons))
        if self._rules_stopped is not None:
            return
        if event is None or received_at is None:
            detail = f"not reached from entry {seq} on: its event cannot be read"
            self._rules_stopped = uncheckable("rules", self._lawful, detail)
            return
        self._replay(
            Recorded(
                seq=seq,
                received_at=received_at,
                author_key=author,
                event_id=sha256_hex(payload),
                event=event,
            )
        )

    def _replay(self, recorded: Recorded) -> None:
        seq, event = recorded.seq, recorded.event
        try:
            step(self._state, recorded)
        except RefusedError as refusal:
            detail = f"entry {seq} would be refused today: {refusal}"
            # The log may well be honest: only a file is not here.
            lacks = refusal.code == "pin-missing"
            stop = uncheckable if lacks else is_false
            self._rules_stopped = stop("rules", self._lawful, detail)
            return
        except OverflowError as error:
            detail = f"entry {seq} has times that no calendar holds: {error}"
            self._rules_stopped = is_false("rules", self._lawful, detail)
            return
        self._lawful += 1
        if isinstance(event, SuiteFrozen) and isinstance(
            event.manifest, CharterManifest
        ):
            self.charters.append((seq, event.manifest))

    def check_entries(self) -> Check:
        """Return whether every entry is what its hashes and its form say."""
        if self._bad.count:
            return is_false("entries", self.tree.size, str(self._bad))
        if self._unknown.count:
            return uncheckable("entries", self.tree.size, str(self._unknown))
        detail = "positions, times, spelling, ids and leaf hashes"
        return holds("entries", self.tree.size, detail)

    def check_rules(self) -> Check:
        """Return whether the door would let every event in again, in this order."""
        if self._rules_stopped is not None:
            return self._rules_stopped
        admitted = [str(gap) for gap in gaps(self.charters)]
        detail = "; ".join(["each event may follow those before it", *admitted])
        return holds("rules", self._lawful, detail)


def _faults(row: RawEntry, expected: int, received_before: str) -> list[str]:
    """Return all that is wrong with an entry but its payload's spelling."""
    seq, received, author, sig, payload, leaf, event_id = row
    text = received.decode("latin-1")
    content = entry_bytes(text, author, sig, payload)
    reasons = []
    if seq > expected:
        reasons.append(f"entry {expected} should stand before it and is missing")
    elif seq != expected:
        reasons.append(f"it stands where entry {expected} should")
    if not _is_entry_instant(text):
        reasons.append(f"received_at is {text!r}, no instant with six decimals and Z")
    elif text < received_before:
        reasons.append(f"it was received {text}, before {received_before} of the last")
    if len(author) != _KEY_BYTES:
        reasons.append(f"the author's key has {len(author)} bytes, not {_KEY_BYTES}")
    if len(sig) != _SIGNATURE_BYTES:
        reasons.append(f"the signature has {len(sig)} bytes, not {_SIGNATURE_BYTES}")
    if len(content) > ENTRY_BYTES_MAX:
        reasons.append(f"it has {len(content)} bytes, more than {ENTRY_BYTES_MAX}")
    if sha256(payload).digest() != event_id:
        reasons.append(
            f"the payload's hash is {sha256_hex(payload)}, and event_id says "
            f"{event_id.hex()}"
        )
    if leaf_hash(content) != leaf:
        reasons.append(
            f"the entry's hash is {leaf_hash(content).hex()}, and leaf says {leaf.hex()}"
        )
    return reasons


def _is_entry_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return len(text) == _INSTANT_LENGTH


def _newer_format(payload: bytes) -> str | None:
    """Return what keeps a payload of a newer format from being read, if that is it."""
    try:
        codec.read(payload)
    except UncheckableError as error:
        return str(error)
    except CorruptLogError:
        return None
    return None
