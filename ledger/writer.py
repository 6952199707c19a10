"""The one writer: an event is staged, then committed with others, then receipted.

`stage` runs every rule and touches no disk; `commit` makes all that was staged
durable in one transaction and only then hands out receipts. When the outcome of
a commit is unknown the writer is dead: a new one reads what is true.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Self

import msgspec

from ledger import codec
from ledger.anchor import HighWaterMark
from ledger.checkpoint import Checkpoint, parse_checkpoint, sign_checkpoint, split_note
from ledger.clock import instant_text_micros, parse_instant
from ledger.clock_watch import ClockWatch
from ledger.collecting import uncollected
from ledger.entry import Recorded, entry_bytes, leaf_hash
from ledger.errors import RefusedError, WriterStoppedError
from ledger.events import LedgerEvent, SuiteFrozen
from ledger.index import Index
from ledger.keys.signing import SignerKey, payload_verifies, sign_payload
from ledger.merkle import Tree
from ledger.replay import step
from ledger.state import State
from ledger.stopping import file_failed, lock_lost, log_lost
from ledger.store import CHECKPOINT_EVERY, Head, Row, Store
from ledger.suite import CharterManifest

_JUMP_SECONDS = 60  # before a charter says how far clocks may drift apart


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A signed payload at the door, and the key that is said to have signed it."""

    payload: bytes
    author_key: bytes
    signature: bytes

    @classmethod
    def signed_by(cls, signer: SignerKey, payload: bytes) -> "Submission":
        """Return a payload under a signature; raise as `sign_payload` does."""
        return Submission(
            payload=payload,
            author_key=signer.verifier.public,
            signature=sign_payload(payload, signer),
        )

    def is_signed(self) -> bool:
        """Tell whether the signature is by that key over exactly these bytes."""
        return payload_verifies(self.payload, self.signature, self.author_key)


class Checked(Submission, frozen=True, kw_only=True):
    """A submission whose signature was found to verify; only who found it makes one."""

    @classmethod
    def of(cls, submission: Submission) -> "Checked":
        """Return a submission as one that is known to be signed."""
        return cls(
            payload=submission.payload,
            author_key=submission.author_key,
            signature=submission.signature,
        )

    def is_signed(self) -> bool:
        """Tell that it is."""
        return True


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """An event is durably in the log at `seq`; `checkpoint` is a note that covers it."""

    seq: int
    event_id: str
    received_at: str
    leaf: str
    checkpoint: str


class Writer:
    """Owns a store, the rules' state, the tree and the log's key."""

    def __init__(
        self,
        *,
        store: Store,
        index: Index,
        reload: Callable[[], State],
        tree: Tree,
        log_key: SignerKey,
        clock: ClockWatch,
        still_locked: Callable[[], bool],
        on_close: Callable[[], None],
    ) -> None:
        """Take the parts that `ledger.log` opened.

        `reload` returns the rules' state as the store and the index have it;
        `still_locked` tells whether other writers are still kept out.
        """
        self.state = reload()
        self._reload = reload
        self._store, (self._log_file, self._wal_file) = store, store.files()
        self._index = index
        self._tree = tree
        self._log_key = log_key
        self._clock = clock
        # Outside the folder; None until entry 0 gives the ledger a name.
        self.mark: HighWaterMark | None = None
        self._still_locked = still_locked
        self._on_close = on_close
        self._pid = os.getpid()
        self._stopped: WriterStoppedError | None = None
        self._rows: list[Row] = []
        self._kept: list[tuple[int, str]] = []
        self._answers: list[Row] = []
        self._staged: dict[bytes, Row] = {}
        self._received_at = self._last_received()
        # Where an old backup was restored: the note that a new charter must continue.
        self.behind: str | None = None

    @property
    def size(self) -> int:
        """How many entries the log has, staged ones included."""
        return self._tree.size

    @property
    def unmoved_bytes(self) -> int:
        """How much log.db may still grow by what was committed; for any thread."""
        return self._store.unmoved_bytes

    def now(self) -> datetime:
        """Return what the ledger's clock says, as drafts need it."""
        return self._now()

    def event_at(self, seq: int) -> LedgerEvent:
        """Return the event of an entry that is in the log, or staged."""
        first = self._rows[0].seq if self._rows else self._tree.size
        if seq >= first:
            row = self._rows[seq - first]
        else:
            [row] = self._store.rows(seq, seq + 1)
        return codec.read(row.payload)

    def event(self, event_id: str) -> tuple[int, LedgerEvent] | None:
        """Return an event that is in the log, or staged, and where; None for no such."""
        digest = bytes.fromhex(event_id)
        row = self._staged.get(digest) or self._store.find(digest)
        return None if row is None else (row.seq, codec.read(row.payload))

    def stage(self, submission: Submission) -> int:
        """Let one event in, not yet durably, and return its position.

        An event that is in the log already keeps its position, whatever the rules
        say today. Raises `RefusedError`, and then nothing has changed; `WriterStoppedError`
        where the log cannot be read.
        """
        self._require_alive()
        event = codec.decode(submission.payload)
        if not submission.is_signed():
            msg = f"the signature of {event.author} does not verify over these bytes"
            raise RefusedError("bad-signature", msg)
        digest = sha256(submission.payload).digest()
        try:
            known = self._known(digest, submission, event)
        except WriterStoppedError as error:
            self._stopped = error
            raise
        if known is None:
            known = self._admit(submission, event, digest)
        self._answers.append(known)
        return known.seq

    def holds(self, payload: bytes) -> bool:
        """Tell whether an event is in the log, or staged."""
        digest = sha256(payload).digest()
        return digest in self._staged or self._store.find(digest) is not None

    def _known(
        self,
        digest: bytes,
        submission: Submission,
        event: LedgerEvent,
    ) -> Row | None:
        row = self._staged.get(digest) or self._store.known(digest)
        if row is None or row.author == submission.author_key:
            return row
        member = self.state.roster.members.get(event.author)
        if member is None or member.public != submission.author_key:
            msg = f"entry {row.seq} is this event, and this key is not its author's"
            raise RefusedError("bad-signature", msg)
        return row

    def _admit(self, submission: Submission, event: LedgerEvent, digest: bytes) -> Row:
        # Never earlier than the previous entry: order is the index, and a small
        # step back of the clock shows as a finding, not as a disorder.
        received_at = self._now()
        recorded = Recorded(
            seq=self._tree.size,
            received_at=received_at,
            author_key=submission.author_key,
            event_id=digest.hex(),
            event=event,
        )
        self._require_not_behind(event)
        self._require_own_key(event)
        step(self.state, recorded)
        self._received_at = received_at
        row = _row(recorded, submission, digest)
        self._tree.append(row.leaf)
        self._rows.append(row)
        self._staged[row.event_id] = row
        # Kept at fixed sizes, however the entries are grouped into commits.
        if row.seq == 0 or self._tree.size % CHECKPOINT_EVERY == 0:
            self._kept.append((self._tree.size, self._note()))
        return row

    def commit(self) -> list[Receipt]:
        """Make everything staged durable; return a receipt for each `stage`.

        Raises `WriterStoppedError` when it is not known whether that succeeded;
        the writer then refuses everything.
        """
        self._require_alive()
        note = self._note()
        if self._rows:
            self._write(note)
        else:
            self._require_place()
            self._store.roll_back()
        receipts = [_receipt(row, note) for row in self._answers]
        self._forget_staged()
        return receipts

    def _write(self, note: str) -> None:
        head = Head(size=self._tree.size, edge=tuple(self._tree.edge), note=note)
        try:
            self._require_place()
            self._store.append(self._rows, head, self._kept)
            self._store.trim_wal()
            if self._index.is_due:
                self._index.flush(head.size, self._tree.root())
            # With entries after a restore, their charter has said so.
            self.behind = None
            if self.mark is not None:
                self.mark.raise_to(note)
        except WriterStoppedError as error:
            self._stopped = error
            raise
        except OSError as error:
            self._stopped = file_failed(error)
            raise self._stopped from error

    def append(self, submissions: Iterable[Submission]) -> list[Receipt | RefusedError]:
        """Stage and commit; one answer for each submission, in order."""
        answers: list[RefusedError | None] = []
        with uncollected():
            for submission in submissions:
                try:
                    self.stage(submission)
                    answers.append(None)
                except RefusedError as refusal:
                    answers.append(refusal)
        receipts = iter(self.commit())
        return [next(receipts) if answer is None else answer for answer in answers]

    def abandon(self) -> None:
        """Forget what is staged, because an atomic batch was refused."""
        self._store.roll_back()
        head = self._store.head()
        self._index.discard()
        self._tree = Tree(head.size, head.edge)
        self.state = self._reload()
        self._received_at = self._last_received()
        self._forget_staged()

    def checkpoint(self) -> Checkpoint:
        """Return what the log would sign now, staged entries included."""
        charter = self.state.charter
        origin = self._log_key.name if charter is None else charter.origin
        return Checkpoint(origin=origin, size=self._tree.size, root=self._tree.root())

    def _now(self) -> datetime:
        charter = self.state.charter
        jump_seconds = _JUMP_SECONDS if charter is None else charter.clock_jump_seconds
        return self._clock.now(self._received_at, jump_seconds)

    def _note(self) -> str:
        return sign_checkpoint(self.checkpoint(), self._log_key)

    def close(self) -> None:
        """Let the lock go. What was staged and not committed is gone."""
        try:
            if self._stopped is None and os.getpid() == self._pid:
                self._clock.save()
                self._store.roll_back()
                if self._is_held():
                    if not self._rows:
                        self._index.flush(self._tree.size, self._tree.root())
                    self._store.checkpoint_wal()
                    if self.mark is not None:
                        self.mark.flush()
        finally:
            self._index.close()
            # What a removed write-ahead log holds is saved by that, if nothing more.
            self._store.close(is_lost=not self._is_held())
            self._on_close()

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the writer."""
        self.close()

    def _is_held(self) -> bool:
        """Tell whether lock and log are this writer's still: else others have them."""
        with suppress(OSError):
            return self._still_locked() and self._log_file.is_in_place()
        return False

    def _last_received(self) -> datetime | None:
        size = self._tree.size
        last = next(self._store.rows(size - 1, size), None)
        return parse_instant(last.received_at) if last else None

    def _forget_staged(self) -> None:
        self._rows, self._answers, self._kept, self._staged = [], [], [], {}

    def _require_alive(self) -> None:
        if self._stopped is not None:
            raise self._stopped
        if os.getpid() != self._pid:
            msg = "this writer was opened before a fork: open the ledger again"
            raise RuntimeError(msg)

    def _require_place(self) -> None:
        if not self._still_locked():
            self._stopped = lock_lost()
        elif not (self._log_file.is_in_place() and self._wal_file.is_in_place()):
            self._stopped = log_lost()
        if self._stopped is not None:
            raise self._stopped

    def _require_not_behind(self, event: LedgerEvent) -> None:
        charter = self.state.charter  # staged ones included
        if self.behind is None or (charter and charter.continues == self.behind):
            return
        manifest = event.manifest if isinstance(event, SuiteFrozen) else None
        if isinstance(manifest, CharterManifest) and manifest.continues == self.behind:
            return
        ahead = parse_checkpoint(split_note(self.behind)[0])
        msg = (
            f"the log has {self._tree.size} entries, and this machine remembers "
            f"{ahead.size}: an old copy was restored. Restore the newer one, or go on "
            "from here, the gap in sight, with `ledger keys continue`"
        )
        raise RefusedError("behind-mark", msg)

    def _require_own_key(self, event: LedgerEvent) -> None:
        # What follows such a charter could be signed by nobody who is here.
        manifest = event.manifest if isinstance(event, SuiteFrozen) else None
        if not isinstance(manifest, CharterManifest):
            return
        own = str(self._log_key.verifier)
        if own not in manifest.log_keys:
            msg = f"the log is written with {own}, which {event.suite} does not list among its log_keys"
            raise RefusedError("log-key-dropped", msg)


def _row(recorded: Recorded, submission: Submission, digest: bytes) -> Row:
    received_at = instant_text_micros(recorded.received_at)
    author, signature = submission.author_key, submission.signature
    content = entry_bytes(received_at, author, signature, submission.payload)
    return Row(
        seq=recorded.seq,
        received_at=received_at,
        author=author,
        sig=signature,
        payload=submission.payload,
        leaf=leaf_hash(content),
        event_id=digest,
    )


def _receipt(row: Row, note: str) -> Receipt:
    return Receipt(
        seq=row.seq,
        event_id=row.event_id.hex(),
        received_at=row.received_at,
        leaf=b64encode(row.leaf).decode(),
        checkpoint=note,
    )
