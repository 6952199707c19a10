"""Makes whole ledgers, small and large, from seeded keys and a clock of its own.

The same calls make the same bytes on every machine: keys come from their names,
the clock ticks a millisecond a reading, probabilities lie on a grid of 0.01.
"""

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from ledger import codec
from ledger.events import (
    Evidence,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.folder import Folder
from ledger.ids import event_id
from ledger.keys.roster import Principal, Role
from ledger.keys.signing import SignerKey, new_signer, sign_payload
from ledger.log import create, open_writer
from ledger.suite import CharterManifest, SuiteManifest
from ledger.suite_check import freeze_manifest
from ledger.suite_template import new_suite
from ledger.writer import Receipt, Submission, Writer

T = TypeVar("T")
ORIGIN = "example.org/workshop"
SUITE = "workshop@v1"
BAR = sha256(b"the acceptance tests").hexdigest()
BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
ROLES: dict[str, Role] = {
    "root": "root",
    "evaluator": "evaluator",
    "dispatcher": "issuer",
    "resolver": "resolver",
    "forecaster": "forecaster",
}
EVENTS_A_COMMIT = 1_000
# Units that are open at the same time: as many as a commit has events, so that the
# clock never goes on between an event's making and its commit.
ROUND = EVENTS_A_COMMIT


def signed_bytes(payload: bytes, signer: SignerKey) -> Submission:
    """Return any bytes under a signature, events or not."""
    return Submission(
        payload=payload,
        author_key=signer.verifier.public,
        signature=sign_payload(payload, signer),
    )


def key_of(name: str) -> SignerKey:
    """Return the key that always goes by this name here."""
    return new_signer(name, sha256(name.encode()).digest())


class Workshop:
    """One ledger in `home`, and everybody's keys."""

    def __init__(self, home: Path, *, log_key: SignerKey | None = None) -> None:
        self.folder = Folder(home / "ledger")
        self.state_home = home / "state"
        self.log_key = log_key or key_of(ORIGIN)
        self.keys = {name: key_of(name) for name in ROLES}
        self.manifest = suite_manifest()
        self.suite_hash = codec.suite_hash(self.manifest)
        self.ledger: str | None = None
        self.receipts: list[Receipt] = []
        self._now = BEGAN

    def clock(self) -> datetime:
        """Tick: each reading is a millisecond after the last."""
        self._now += timedelta(milliseconds=1)
        return self._now

    def wait(self, **delta: int) -> None:
        """Let time pass."""
        self._now += timedelta(**delta)

    def found(self) -> "Workshop":
        """Make the ledger: entry 0 is the charter, entry 1 the suite."""
        charter = SuiteFrozen(
            author="root",
            created_at=self._now,
            suite="charter@v1",
            manifest=self.charter(),
        )
        receipt = create(
            self.folder,
            self.signed(charter),
            self.log_key,
            clock=self.clock,
            state_home=self.state_home,
        )
        self.ledger = receipt.event_id
        self.receipts.append(receipt)
        self.append(self.frozen())
        return self

    def append(self, *events: LedgerEvent) -> str:
        """Append events, a commit for each; return the id of the last one."""
        with self.writer() as writer:
            for event in events:
                writer.stage(self.signed(event))
                self.receipts += writer.commit()
        return self.receipts[-1].event_id

    def tell(self) -> "Workshop":
        """Append a short story of three units: ten entries after the suite."""
        asked = [self.question(number) for number in range(2)]
        hashes = [codec.question_hash(question) for question in asked]
        opened = [self.append(self.opened(question)) for question in asked]
        first = self.append(self.sealed(hashes[0], 80))
        self.append(self.updated(hashes[0], first, 65))
        self.append(self.sealed(hashes[1], 30))
        self.wait(hours=2)
        self.append(self.resolved(hashes[0], opened[0], "fail"))
        wrong = self.append(self.resolved(hashes[1], opened[1], "pass"))
        last = self.question(2)
        self.append(self.opened(last))
        self.append(self.sealed(codec.question_hash(last), 50))
        self.append(self.resolved(hashes[1], wrong, "fail"))
        return self

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Give the writer of the ledger."""
        with open_writer(
            self.folder, self.log_key, clock=self.clock, state_home=self.state_home
        ) as writer:
            yield writer

    def charter(self) -> CharterManifest:
        """Return the charter that lists everybody."""
        return CharterManifest(
            origin=ORIGIN,
            log_keys=(str(self.log_key.verifier),),
            custody="shared",
            created_ahead_seconds=300,
            backdated_seconds=3600,
            clock_jump_seconds=60,
            principals=tuple(
                Principal(key=str(self.keys[name].verifier), name=name, role=role)
                for name, role in ROLES.items()
            ),
        )

    def frozen(self, manifest: SuiteManifest | None = None) -> SuiteFrozen:
        """Return the event that freezes the suite."""
        manifest = manifest or self.manifest
        return SuiteFrozen(
            author="evaluator",
            created_at=self._now,
            ledger=self.ledger,
            suite=manifest.suite,
            manifest=manifest,
        )

    def signed(self, event: LedgerEvent, signer: SignerKey | None = None) -> Submission:
        """Return an event under its author's signature, or another's."""
        return signed_bytes(codec.encode(event), signer or self.keys[event.author])

    def question(self, number: int) -> Question:
        """Return the question of the unit that has this number."""
        return Question(
            template="dispatch-pass",
            id=f"dispatch-{number:07d}",
            target=f"repository-{number % 97}",
            cluster=f"ticket-{number // 3}",
            opened_at=self._now,
            cutoff_at=self._now + timedelta(hours=1),
            resolve_by=self._now + timedelta(hours=24),
            horizon="24h",
            acceptance_hash=BAR,
            tags={"domain": "bugfix" if number % 2 else "feature"},
        )

    def opened(self, question: Question) -> ResolutionRecorded:
        """Return the PENDING record by which the issuer opens a question."""
        return ResolutionRecorded(
            author="dispatcher",
            created_at=self._now,
            ledger=self.ledger,
            suite=SUITE,
            question_hash=codec.question_hash(question),
            question=question,
            status="PENDING",
            source="dispatcher",
        )

    def sealed(self, question_hash: str, hundredths: int) -> ForecastSealed:
        """Return a first vector over an open question."""
        return ForecastSealed(
            author="forecaster",
            created_at=self._now,
            ledger=self.ledger,
            suite=SUITE,
            suite_hash=self.suite_hash,
            question_hash=question_hash,
            forecaster="native",
            probabilities=vector(hundredths),
            evidence=Evidence(
                cutoff_at=self._now, tiers=("L0", "L1"), features={"files_touched": "3"}
            ),
            model_version="native-2026-10",
            reason_codes=("small-diff", "tests-present"),
            failure_modes=("a test of the touched module is flaky",),
        )

    def updated(
        self, question_hash: str, parent: str, hundredths: int
    ) -> ForecastUpdated:
        """Return a later vector of the same chain."""
        return ForecastUpdated(
            author="forecaster",
            created_at=self._now,
            ledger=self.ledger,
            suite=SUITE,
            suite_hash=self.suite_hash,
            question_hash=question_hash,
            parent=parent,
            forecaster="native",
            probabilities=vector(hundredths),
            model_version="native-2026-10",
            reason="a test in the touched module is quarantined",
        )

    def resolved(
        self, question_hash: str, supersedes: str, outcome: str = "pass"
    ) -> ResolutionRecorded:
        """Return what the resolver says that happened."""
        return ResolutionRecorded(
            author="resolver",
            created_at=self._now,
            ledger=self.ledger,
            suite=SUITE,
            question_hash=question_hash,
            status="RESOLVED",
            outcome=outcome,
            started_at=self._now,
            occurred_at=self._now,
            published_at=self._now,
            source="acceptance log",
            acceptance_hash=BAR,
            supersedes=supersedes,
        )

    def history(self, units: int, first: int = 0) -> Iterator[Submission]:
        """Yield four signed events for each unit, a round of units after the other.

        Taken one by one by whoever stages them, so that the clock is in step.
        """
        for numbers in batched(range(first, first + units), ROUND):
            asked: list[str] = []
            pending: list[str] = []
            parents: list[str] = []
            for number in numbers:
                opening = self.opened(self.question(number))
                opened = self.signed(opening)
                yield opened
                asked.append(opening.question_hash)
                pending.append(event_id(opened.payload))
            for number, question_hash in zip(numbers, asked, strict=True):
                sealed = self.signed(self.sealed(question_hash, 1 + number * 37 % 99))
                yield sealed
                parents.append(event_id(sealed.payload))
            for number, question_hash, parent in zip(
                numbers, asked, parents, strict=True
            ):
                later = 1 + number * 53 % 99
                yield self.signed(self.updated(question_hash, parent, later))
            self.wait(hours=2)
            for number, question_hash, opened_by in zip(
                numbers, asked, pending, strict=True
            ):
                outcome = "pass" if number * 29 % 99 < 60 else "fail"
                yield self.signed(self.resolved(question_hash, opened_by, outcome))

    def fill(self, units: int, first: int = 0) -> "Workshop":
        """Append the history of so many units, a thousand events a commit."""
        with self.writer() as writer:
            for count, submission in enumerate(self.history(units, first), 1):
                writer.stage(submission)
                if count % EVENTS_A_COMMIT == 0:
                    writer.commit()
            writer.commit()
        return self


def vector(hundredths: int) -> dict[str, str]:
    """Return a vector over pass and fail on the grid of 0.01."""
    return {"fail": _decimal(100 - hundredths), "pass": _decimal(hundredths)}


def batched(items: Iterable[T], count: int) -> Iterator[list[T]]:
    """Yield lists of so many items, taken when they are asked for."""
    source = iter(items)
    while batch := list(islice(source, count)):
        yield batch


def _decimal(hundredths: int) -> str:
    return f"0.{hundredths:02d}".rstrip("0").rstrip(".") if hundredths < 100 else "1"


def suite_manifest(name: str = "workshop") -> SuiteManifest:
    """Return a sound suite: the template that people start from, with our names."""
    text = new_suite(name, "self")
    return freeze_manifest(tomllib.loads(text))


def renamed(manifest: SuiteManifest, suite: str) -> SuiteManifest:
    """Return the same rules under another name, whose past is its own."""
    pool = msgspec.structs.replace(manifest.baseline_pool, suites=(suite,))
    return msgspec.structs.replace(manifest, suite=suite, baseline_pool=pool)
