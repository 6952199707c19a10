"""The rules alone: a state in memory, five roles, no disk and no signature.

`Court.hear(event)` lets an event in or raises what the door would raise.
"""

import tomllib
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec

from ledger import codec
from ledger.entry import Recorded
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.ids import event_id
from ledger.index import Index
from ledger.keys.roster import Principal
from ledger.keys.signing import SignerKey, new_signer
from ledger.replay import step
from ledger.state import State
from ledger.suite import CharterManifest, SuiteManifest
from ledger.suite_check import freeze_manifest
from ledger.suite_template import new_suite

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
ORIGIN = "example.org/court"
SUITE = "court@v1"
BAR = sha256(b"bar").hexdigest()
PEOPLE = {
    "root": "root",
    "evaluator": "evaluator",
    "examiner": "evaluator",
    "issuer": "issuer",
    "resolver": "resolver",
    "reviewer": "resolver",
    "stranger": "resolver",
    "forecaster": "forecaster",
    "rival": "forecaster",
}
LISTED = {
    "template": "listed",
    "id": "listed-1",
    "opened_at": "2026-11-02T09:00:00Z",
    "cutoff_at": "2026-11-03T09:00:00Z",
    "resolve_by": "2026-11-04T09:00:00Z",
    "horizon": "24h",
}
QUESTIONS = codec.encode(msgspec.convert(LISTED, Question)) + b"\n"


def key_of(name: str) -> SignerKey:
    return new_signer(name, sha256(name.encode()).digest())


def hours(count: float) -> datetime:
    """Return the instant so many hours after the court opened."""
    return NOW + timedelta(hours=count)


def manifest(number: int = 1, **changes: Any) -> SuiteManifest:
    """Return a suite with one template of each owner, and two rivals."""
    raw = tomllib.loads(new_suite("court", "self"))
    raw["suite"] = f"court@v{number}"
    raw["resolvers"] = ["resolver", "reviewer"]
    raw["adaptation_budgets"] = ["zero-shot"]
    raw["pins"] = {"questions.jsonl": sha256(QUESTIONS).hexdigest()}
    raw["quantities"] = {
        "minutes": {
            "unit": "min",
            "levels": ["0.1", "0.9"],
            "interpolate": False,
            "scale": "1",
            "underage": "1",
            "overage": "1",
        }
    }
    first = raw["templates"][0]
    free = {**first, "id": "free", "question_owner": "forecaster"}
    free["requires_acceptance"] = False
    listed = {**free, "id": "listed", "question_owner": "evaluator"}
    listed["questions"] = "questions.jsonl"
    open_answers = {**free, "id": "open-answers"}
    del open_answers["answers"], open_answers["positive"]
    mood = {"id": "mood", "kind": "affect", "question": "Is the agent anxious?"}
    raw["templates"] = [first, free, listed, open_answers, mood]
    raw["baseline_pool"] = {
        "suites": [raw["suite"]],
        "templates": [each["id"] for each in raw["templates"][:-1]],
    }
    rival = {"name": "rival", "layer": "native", "principal": "rival"}
    raw["competitors"].append(rival)
    raw.update(changes)
    return freeze_manifest(raw)


class Court:
    """A state with a charter and a suite in force at 09:00, and a growing log."""

    def __init__(self) -> None:
        # The files that suites may pin, by their hashes.
        self.blobs = {sha256(QUESTIONS).hexdigest(): QUESTIONS}
        self.state = State(Index(None), self.blobs.get)
        self.size = 0
        self.now = NOW
        self.ledger: str | None = None
        self.ledger = self.hear(self.charter())
        self.hear(self.frozen(manifest()))

    def hear(
        self, event: LedgerEvent, *, at: datetime | None = None, key: str | None = None
    ) -> str:
        """Let an event in, as received `at`, and return its id; or raise."""
        payload = codec.encode(event)
        recorded = Recorded(
            seq=self.size,
            received_at=at or self.now,
            author_key=key_of(key or event.author).verifier.public,
            event_id=event_id(payload),
            event=codec.decode(payload),
        )
        step(self.state, recorded)
        self.size += 1
        return recorded.event_id

    def charter(self, number: int = 1, **changes: Any) -> SuiteFrozen:
        people = changes.pop("people", PEOPLE)
        author = changes.pop("author", "root")
        made = CharterManifest(
            **{
                "origin": ORIGIN,
                "log_keys": (str(key_of(ORIGIN).verifier),),
                "custody": "shared",
                "created_ahead_seconds": 300,
                "backdated_seconds": 3600,
                "clock_jump_seconds": 60,
                "principals": tuple(
                    Principal(key=str(key_of(name).verifier), name=name, role=role)
                    for name, role in people.items()
                ),
                **changes,
            }
        )
        return SuiteFrozen(
            author=author,
            created_at=NOW,
            ledger=self.ledger,
            suite=f"charter@v{number}",
            supersedes=f"charter@v{number - 1}" if number > 1 else None,
            manifest=made,
        )

    def frozen(self, made: SuiteManifest, **changes: Any) -> SuiteFrozen:
        event = SuiteFrozen(
            author="evaluator",
            created_at=NOW,
            ledger=self.ledger,
            suite=made.suite,
            manifest=made,
        )
        return msgspec.structs.replace(event, **changes)

    def standing(self, question: Question) -> str:
        """Return the id of the record that the next one must supersede."""
        unit = self.state.unit_of(SUITE, codec.question_hash(question))
        assert unit is not None
        standing = unit.standing(self.state.lost)
        assert standing is not None
        return standing.event_id

    def question(self, template: str = "dispatch-pass", **changes: Any) -> Question:
        made = Question(
            template=template,
            id="d-1",
            opened_at=hours(0),
            cutoff_at=hours(2),
            resolve_by=hours(24),
            horizon="24h",
            acceptance_hash=BAR if template == "dispatch-pass" else None,
        )
        return msgspec.structs.replace(made, **changes)

    def pending(self, question: Question, /, **changes: Any) -> ResolutionRecorded:
        event = ResolutionRecorded(
            author="issuer",
            created_at=NOW,
            ledger=self.ledger,
            suite=SUITE,
            question=question,
            question_hash=codec.question_hash(question),
            status="PENDING",
        )
        return msgspec.structs.replace(event, **changes)

    def seal(self, question: Question, /, **changes: Any) -> ForecastSealed:
        event = ForecastSealed(
            author="forecaster",
            created_at=NOW,
            ledger=self.ledger,
            suite=SUITE,
            suite_hash=codec.suite_hash(manifest()),
            question_hash=codec.question_hash(question),
            forecaster="native",
            probabilities={"pass": "0.8", "fail": "0.2"},
        )
        return msgspec.structs.replace(event, **changes)

    def bring(self, question: Question, /, **changes: Any) -> ForecastSealed:
        """Seal a forecast that brings its own question."""
        changes = {"question": question, "question_hash": None, **changes}
        return self.seal(question, **changes)

    def update(
        self, question: Question, parent: str, /, **changes: Any
    ) -> ForecastUpdated:
        event = ForecastUpdated(
            author="forecaster",
            created_at=NOW,
            ledger=self.ledger,
            suite=SUITE,
            suite_hash=codec.suite_hash(manifest()),
            question_hash=codec.question_hash(question),
            forecaster="native",
            parent=parent,
            probabilities={"pass": "0.7", "fail": "0.3"},
        )
        return msgspec.structs.replace(event, **changes)

    def resolve(self, question: Question, /, **changes: Any) -> ResolutionRecorded:
        event = ResolutionRecorded(
            author="resolver",
            created_at=NOW,
            ledger=self.ledger,
            suite=SUITE,
            question_hash=codec.question_hash(question),
            status="RESOLVED",
            outcome="pass",
        )
        return msgspec.structs.replace(event, **changes)
