"""Drafts and signed events, staged one by one and answered once they are durable."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from ledger import codec
from ledger.cli.context import KeyRing
from ledger.cli.draft_text import read_draft, refusing, require_no_mark
from ledger.cli.lines import LINE_BYTES_MAX, Line
from ledger.cli.pins import PinKeeper
from ledger.cli.submitting import author_key, signed
from ledger.clock import Clock
from ledger.drafts import Drafts
from ledger.envelope import open_envelope
from ledger.errors import (
    LedgerError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.events import LedgerEvent, SuiteFrozen
from ledger.folder import Folder
from ledger.keys.roster import Roster
from ledger.replay import may_freeze
from ledger.signatures import WORTH_A_PROCESS, SignaturesAhead
from ledger.suite import SuiteManifest
from ledger.writer import Receipt, Submission, Writer


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one line: it is in the log, or it was refused."""

    line: int
    receipt: Receipt | None = None
    refusal: LedgerError | None = None


class Appender:
    """Signs, stages and commits the lines of one input; `close` it afterwards."""

    def __init__(
        self, writer: Writer, folder: Folder, ring: KeyRing, beside: Path, clock: Clock
    ) -> None:
        """Take the writer; files that drafts name are looked for in `beside`."""
        self._writer = writer
        self._ring = ring
        self._beside = beside
        self._clock = clock
        self._pins = PinKeeper(folder)
        self._drafts = Drafts(
            folder.blobs.get, self._read_file, writer.event, writer.size
        )
        # Once there is enough to do for it.
        self._ahead: SignaturesAhead | None = None

    def close(self) -> None:
        """End what was started to check signatures."""
        if self._ahead is not None:
            self._ahead.close()

    def __enter__(self) -> Self:
        """Return the appender itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the appender."""
        self.close()

    def append(self, lines: list[Line]) -> list[Answer]:
        """Make the sound ones of `lines` durable together, and answer each."""
        refusals = self.stage(lines)
        return self.commit(lines, refusals)

    def append_all_or_none(self, groups: list[list[Line]]) -> list[Answer]:
        """Append every line, or nothing at all if one of them is refused."""
        lines = [line for group in groups for line in group]
        refusals = self.stage(lines)
        if not refusals:
            return self.commit(lines, refusals)
        self._writer.abandon()
        self._pins.undo()
        first = next(iter(refusals))
        msg = f"nothing was appended, since line {first} was refused: correct it first"
        otherwise = RefusedError("batch-refused", msg)
        return [
            Answer(line=line.number, refusal=refusals.get(line.number, otherwise))
            for line in lines
        ]

    def stage(self, lines: list[Line]) -> dict[int, LedgerError]:
        """Let the sound ones in, not yet durably; return why others were refused."""
        refusals: dict[int, LedgerError] = {}
        opened = self._opened(lines)
        checked = self._checked(opened)
        for line in lines:
            try:
                known = next(checked) if line.number in opened else None
                self._stage(line, known)
            except (RefusedError, UsageError, UncheckableError) as refusal:
                refusals[line.number] = refusal
        return refusals

    def commit(
        self, lines: list[Line], refusals: dict[int, LedgerError]
    ) -> list[Answer]:
        """Make what was staged durable, and answer each line in its order."""
        try:
            receipts = iter(self._writer.commit())
        except WriterStoppedError as error:
            where = f"lines {lines[0].number} to {lines[-1].number}"
            msg = f"{where} may or may not be in the log: {error}"
            raise WriterStoppedError(msg) from error
        self._pins.settle()
        return [
            Answer(line=line.number, refusal=refusals[line.number])
            if line.number in refusals
            else Answer(line=line.number, receipt=next(receipts))
            for line in lines
        ]

    def _opened(self, lines: list[Line]) -> dict[int, Submission]:
        """Return the signed events of these lines that say by which key they are.

        What is wrong with a line is said when its turn comes; and whose key it is
        where none is named, since an earlier line may bring another charter.
        """
        opened = {}
        for line in lines:
            if line.content and _is_envelope(line.content):
                with suppress(RefusedError):
                    opened[line.number] = open_envelope(line.content, Roster())
        return opened

    def _checked(self, opened: dict[int, Submission]) -> Iterator[Submission]:
        """Yield signed events, their signatures checked ahead where there are many."""
        if self._ahead is None and len(opened) >= WORTH_A_PROCESS:
            self._ahead = SignaturesAhead()
        if self._ahead is None:
            return iter(opened.values())
        return self._ahead.checked(opened.values())

    def _stage(self, line: Line, known: Submission | None) -> None:
        if line.content is None:
            msg = f"the line is longer than {LINE_BYTES_MAX} bytes, which no event is"
            raise RefusedError("too-large", msg)
        require_no_mark(line.content)
        with refusing():
            if _is_envelope(line.content):
                submission, event, file = self._signed(line.content, known)
            else:
                submission, event, file = self._drafted(line.content)
        if isinstance(event, SuiteFrozen) and isinstance(event.manifest, SuiteManifest):
            self._stage_with_pins(submission, event.manifest, file)
        else:
            self._writer.stage(submission)

    def _signed(
        self, content: bytes, known: Submission | None
    ) -> tuple[Submission, LedgerEvent | None, object]:
        """Return a signed event, decoded only where it may pin files."""
        submission = known or open_envelope(content, self._writer.state.roster)
        is_suite = may_freeze(submission.payload)
        return submission, codec.decode(submission.payload) if is_suite else None, None

    def _drafted(self, content: bytes) -> tuple[Submission, LedgerEvent, object]:
        """Return a draft as an event, signed, and the file that it names."""
        draft = read_draft(content)
        event = self._drafts.event(draft, self._writer.state, self._clock())
        roster = self._writer.state.roster
        submission = signed(event, author_key(event, self._ring, roster))
        return submission, event, draft.get("file")

    def _stage_with_pins(
        self, submission: Submission, manifest: SuiteManifest, file: object
    ) -> None:
        # What a suite pins lies beside its TOML, wherever the draft is.
        named = (self._beside / file).parent if isinstance(file, str) else self._beside
        mark = self._pins.keep(manifest, named)
        try:
            self._writer.stage(submission)
        except RefusedError:
            self._pins.undo(mark)
            raise

    def _read_file(self, name: str) -> bytes:
        path = self._beside / name
        try:
            return path.read_bytes()
        except OSError as error:
            msg = f"the file {name} cannot be read at {path}: {error.strerror}"
            raise RefusedError("file-missing", msg) from None


def _is_envelope(content: bytes) -> bool:
    return b'"payloadType"' in content
