"""One pass over the log, in order: each entry's bytes, the tree, the rules.

Each entry is read once, and each question about it is asked on the way. A bad
entry is noted and the pass goes on: the tree grows by what is stored, and the
rules stop at the first event that cannot be known or would be refused, since
what follows it may rest on it.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from ledger import codec
from ledger.charters import Charters, gaps
from ledger.clock import parse_instant
from ledger.entry import ENTRY_BYTES_MAX, Recorded, entry_bytes, leaf_hash, leaves_of
from ledger.errors import CorruptLogError, RefusedError, UncheckableError
from ledger.ids import sha256_hex
from ledger.index import Index
from ledger.merkle import Tree
from ledger.projections.audit_report import Check, holds, is_false, uncheckable
from ledger.projections.audit_storage import RawEntry
from ledger.replay import step
from ledger.state import Blobs, State

# What an instant looks like, and what makes it look so.
_INSTANT = b"0000-00-00T00:00:00.000000Z"
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


@lru_cache(maxsize=256)
def _shared(key: bytes) -> bytes:
    """Return one object for equal keys: units keep them, and new memory costs time."""
    return key


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

    @property
    def charters(self) -> Charters:
        """The charters that the rules let in, by their positions."""
        return self._state.charters

    def take(self, batch: Sequence[RawEntry]) -> None:
        """Look at the next entries, in order; there is one at least."""
        if self.genesis is None:
            self.genesis = sha256_hex(batch[0][4])
        sound = self._sound(batch)
        if sound is None:
            for row in batch:
                self._grow([leaf_hash(_content(row))])
                self._examine(row)
        else:
            self._grow([row[5] for row in batch])
            self._expected = sound[-1].seq + 1
            self._received_at = batch[-1][1].decode()
            self._replay(sound)
        if self._index.is_full:
            self._index.flush(self.tree.size, b"")

    def _sound(self, batch: Sequence[RawEntry]) -> list[Recorded] | None:
        """Return the events of entries with which nothing is wrong, or None.

        Each question is asked of all of them before the next one is: that takes two
        thirds of the time of asking one entry after the other. `_examine` asks the
        same of one entry, and says what is wrong with it.
        """
        seqs, received, authors, sigs, payloads, leaves, ids = zip(*batch, strict=True)
        try:
            texts = [each.decode("ascii") for each in received]
            times = list(map(datetime.fromisoformat, texts))
            events = codec.decode_all(payloads)
        except (RefusedError, ValueError):
            return None
        is_sound = (
            seqs == tuple(range(self._expected, self._expected + len(batch)))
            and texts[0] >= self._received_at
            and texts == sorted(texts)
            and set(map(len, texts)) == {len(_INSTANT)}
            and b"".join(received).translate(_ZEROS) == _INSTANT * len(batch)
            and set(map(len, authors)) == {_KEY_BYTES}
            and set(map(len, sigs)) == {_SIGNATURE_BYTES}
            and [sha256(each).digest() for each in payloads] == list(ids)
            and leaves_of(received, authors, sigs, payloads) == list(leaves)
        )
        if not is_sound:
            return None
        keys = map(_shared, authors)
        return list(map(Recorded, seqs, times, keys, map(bytes.hex, ids), events))

    def stop(self, error: CorruptLogError) -> None:
        """Note that nothing more can be read of the log."""
        self._bad.note(-1 if error.seq is None else error.seq, error.reason)

    def _grow(self, leaves: Sequence[bytes]) -> None:
        """Let the tree grow, and note its root where it will be asked for."""
        size = self.tree.size
        wanted = self._wanted.intersection(range(size + 1, size + len(leaves) + 1))
        for each in sorted(wanted):
            self.tree.extend(leaves[self.tree.size - size : each - size])
            self._note_root()
        self.tree.extend(leaves[self.tree.size - size :])

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
        recorded = Recorded(seq, received_at, author, sha256_hex(payload), event)
        self._replay([recorded])

    def _replay(self, events: Iterable[Recorded]) -> None:
        """Let events in as the door would, up to the first that it would refuse."""
        if self._rules_stopped is not None:
            return
        try:
            for each in events:
                step(self._state, each)
                self._lawful += 1
        except RefusedError as refusal:
            detail = f"entry {each.seq} would be refused today: {refusal}"
            # The log may well be honest: only a file is not here.
            lacks = refusal.code == "pin-missing"
            stop = uncheckable if lacks else is_false
            self._rules_stopped = stop("rules", self._lawful, detail)
        except OverflowError as error:
            detail = f"entry {each.seq} has times that no calendar holds: {error}"
            self._rules_stopped = is_false("rules", self._lawful, detail)

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


def _content(row: RawEntry) -> bytes:
    """Return an entry's bytes from what is stored, whatever that is."""
    _, received, author, sig, payload, _, _ = row
    # Latin-1 takes any byte: what is no instant is found out elsewhere.
    return entry_bytes(received.decode("latin-1"), author, sig, payload)


def _faults(row: RawEntry, expected: int, received_before: str) -> list[str]:
    """Return all that is wrong with an entry but its payload's spelling."""
    seq, received, author, sig, payload, leaf, event_id = row
    text = received.decode("latin-1")
    content = _content(row)
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
    return len(text) == len(_INSTANT)


def _newer_format(payload: bytes) -> str | None:
    """Return what keeps a payload of a newer format from being read, if that is it."""
    try:
        codec.read(payload)
    except UncheckableError as error:
        return str(error)
    except CorruptLogError:
        return None
    return None
