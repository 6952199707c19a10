"""A history that the real writer writes: signed, through the door, into a folder."""

from datetime import datetime
from pathlib import Path

import msgspec

from ledger import codec
from ledger.events import LedgerEvent, Question
from ledger.folder import Folder
from ledger.ids import sha256_hex
from ledger.keys.signing import sign_payload
from ledger.log import create, open_writer
from ledger.suite import SuiteManifest
from ledger.writer import Receipt, Submission, Writer
from tests.simulator import BEGAN, History, key_of, suite

LOG_KEY = key_of("example.org/history")
PINNED = tuple(
    Question(
        template="listed",
        id=name,
        opened_at=BEGAN,
        cutoff_at=BEGAN.replace(hour=11),
        resolve_by=BEGAN.replace(hour=15),
        horizon="2h",
    )
    for name in ("listed-1", "listed-2")
)
LIST = b"".join(codec.encode(question) + b"\n" for question in PINNED)


def everybodys(number: int = 1) -> SuiteManifest:
    """Return a suite with a template of each owner, and one with open answers."""
    change = msgspec.structs.replace
    made = suite(f"history@v{number}")
    first, weather = made.templates
    templates = (
        change(first, question_owner="issuer"),
        weather,
        change(first, id="listed", question_owner="evaluator", questions="list"),
        change(first, id="choice", answers=(), positive=None),
    )
    pooled = tuple(each.id for each in templates)
    return change(
        made,
        templates=templates,
        baseline_pool=change(made.baseline_pool, templates=pooled),
        pins={"list": sha256_hex(LIST)},
    )


def signed(event: LedgerEvent, key: str | None = None) -> Submission:
    """Return an event under its author's signature, or another's."""
    signer, payload = key_of(key or event.author), codec.encode(event)
    return Submission(
        payload=payload,
        author_key=signer.verifier.public,
        signature=sign_payload(payload, signer),
    )


class OnDisk(History):
    """The same words as `History`; an event is in the log once it has its receipt."""

    writer: Writer

    def __init__(self, home: Path) -> None:
        self.folder = Folder(home / "ledger")
        self.state_home = home / "state"
        self.now = BEGAN
        self.ledger: str | None = None
        self.receipts: list[tuple[Submission, Receipt]] = []
        charter = signed(self.charter())
        receipt = create(
            self.folder, charter, LOG_KEY, clock=self.clock, state_home=self.state_home
        )
        self.receipts.append((charter, receipt))
        self.ledger = receipt.event_id
        self.folder.blobs.keep(LIST)
        self.writer = self._open()
        self.state = self.writer.state
        self.manifest = everybodys()
        self.freeze(self.manifest)

    def clock(self) -> datetime:
        return self.now

    def _open(self) -> Writer:
        return open_writer(
            self.folder, LOG_KEY, clock=self.clock, state_home=self.state_home
        )

    def reopen(self) -> None:
        """Let the lock go and take it again."""
        self.writer.close()
        self.writer = self._open()
        self.state = self.writer.state

    def size(self) -> int:
        return self.writer.size

    def add(
        self, event: LedgerEvent, *, key: str | None = None, lawful: bool = True
    ) -> str:
        """Append an event and return its id; the door refuses what is not lawful."""
        assert lawful, "nothing unlawful passes a door"
        submission = signed(event, key)
        self.writer.stage(submission)
        (receipt,) = self.writer.commit()
        self.receipts.append((submission, receipt))
        self.wait(seconds=1)
        return receipt.event_id

    def abandon(self, *events: LedgerEvent) -> None:
        """Stage some events, and then forget them."""
        try:
            for event in events:
                self.writer.stage(signed(event))
        finally:
            self.writer.abandon()
            self.state = self.writer.state
