"""A whole log in memory, as the projections read it: no disk, no signatures.

`History` says what happens in the fewest words that make an event; each event has
to pass the rules, unless a test says that it is about a log that broke them.
"""

import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec

from ledger import codec, spelling
from ledger.clock import instant_text_micros
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
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload
from ledger.replay import step
from ledger.state import State
from ledger.suite import CharterManifest, SuiteManifest
from ledger.suite_check import freeze_manifest
from ledger.suite_template import new_suite

BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
SUITE = "history@v1"
BAR = sha256(b"bar").hexdigest()
PEOPLE = {
    "root": "root",
    "evaluator": "evaluator",
    "issuer": "issuer",
    "resolver": "resolver",
    "reviewer": "resolver",
    "forecaster": "forecaster",
    "rival": "forecaster",
}


def key_of(name: str) -> SignerKey:
    """Return the key that always goes by this name; `piper#2` is piper's second."""
    return new_signer(name.partition("#")[0], sha256(name.encode()).digest())


def suite(
    name: str = SUITE, *, asks: str = "forecaster", **changes: Any
) -> SuiteManifest:
    """Return a suite of two forecasters, a global rate and a target's own rate.

    `asks` is who brings the questions; nothing is official where a forecaster does.
    """
    raw = tomllib.loads(new_suite(name.partition("@")[0], "self"))
    raw["suite"] = name
    raw["baseline_pool"]["suites"] = [name]
    raw["resolvers"] = ["resolver", "reviewer"]
    # What acting is worth, and where nothing may be lost, is for each test to declare.
    del raw["utility"]
    raw["gates"]["promotion"]["slices"] = []
    template = raw["templates"][0]
    template.update(requires_acceptance=False, horizons=["24h", "2h"])
    template["question_owner"] = asks
    template["allowed_tags"] = ["domain", "repo"]
    weather = {**template, "id": "weather", "answers": ["dry", "rain", "snow"]}
    raw["templates"] += [{**weather, "positive": "rain"}]
    raw["baseline_pool"]["templates"] = [each["id"] for each in raw["templates"]]
    raw["competitors"].append(
        {"name": "rival", "layer": _rival_layer(changes), "principal": "rival"}
    )
    for path, value in changes.items():
        *folders, key = path.split("__")
        place = raw
        for folder in folders:
            place = place[folder]
        place[key] = value
    return freeze_manifest(raw)


def _rival_layer(changes: dict[str, Any]) -> str:
    """Return what the rival is: others are measured against a baseline alone."""
    is_reference = changes.get("scoring__reference") == "rival"
    return "baseline" if is_reference else "market"


class History:
    """A log that grows by one event a second from 09:00 on."""

    def __init__(
        self,
        manifest: SuiteManifest | None = None,
        blobs: dict[str, bytes] | None = None,
        **changes: Any,
    ) -> None:
        self.entries: list[Payload] = []
        self.state = State(Index(None), (blobs or {}).get)
        self.now = BEGAN
        self.ledger: str | None = None
        self.ledger = self.add(self.charter())
        self.manifest = manifest or suite(**changes)
        self.freeze(self.manifest)

    # What the fold reads.

    def size(self) -> int:
        return len(self.entries)

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        return iter(self.entries[start:stop])

    def payloads_at(self, seqs: Sequence[int]) -> Iterator[Payload]:
        return (self.entries[seq] for seq in seqs)

    def until(self, size: int) -> "History":
        """Return the log as it was when it had so many events."""
        earlier = object.__new__(History)
        earlier.entries = self.entries[:size]
        return earlier

    def folded(self) -> Tables:
        """Return tables in memory that have the whole log."""
        tables = Tables()
        Fold(tables, self).catch_up()
        return tables

    # What happens.

    def add(
        self, event: LedgerEvent, *, key: str | None = None, lawful: bool = True
    ) -> str:
        """Append an event and return its id; refuse it if a rule does."""
        payload = codec.encode(event)
        recorded = Recorded(
            seq=len(self.entries),
            received_at=self.now,
            author_key=key_of(key or event.author).verifier.public,
            event_id=event_id(payload),
            event=codec.decode(payload),
        )
        if lawful:
            step(self.state, recorded)
        self.entries.append(
            Payload(
                seq=recorded.seq,
                received_at=instant_text_micros(recorded.received_at),
                author_key=recorded.author_key,
                event_id=bytes.fromhex(recorded.event_id),
                payload=payload,
            )
        )
        self.now += timedelta(seconds=1)
        return recorded.event_id

    def wait(self, **delta: float) -> None:
        self.now += timedelta(**delta)

    def charter(self, number: int = 1, **changes: Any) -> SuiteFrozen:
        """Return the event of a charter; `people` maps names to roles or keys."""
        keys = changes.pop("keys", {})
        manifest = CharterManifest(
            **{
                "origin": "example.org/history",
                "log_keys": (str(key_of("example.org/history").verifier),),
                "custody": "shared",
                "created_ahead_seconds": 300,
                "backdated_seconds": 3600,
                "clock_jump_seconds": 60,
                "principals": tuple(
                    Principal(
                        key=str(key_of(keys.get(name, name)).verifier),
                        name=name,
                        role=role,
                    )
                    for name, role in PEOPLE.items()
                ),
                **changes,
            }
        )
        return self._event(
            SuiteFrozen,
            author="root",
            suite=f"charter@v{number}",
            supersedes=f"charter@v{number - 1}" if number > 1 else None,
            manifest=manifest,
        )

    def freeze(self, manifest: SuiteManifest) -> None:
        name, _, number = manifest.suite.partition("@v")
        before = f"{name}@v{int(number) - 1}" if int(number) > 1 else None
        self.add(
            self._event(
                SuiteFrozen,
                author="evaluator",
                suite=manifest.suite,
                supersedes=before,
                manifest=manifest,
            )
        )

    def question(self, id: str = "d-1", **changes: Any) -> Question:  # noqa: A002
        """Return a question that is open for two hours and resolves in a day."""
        made = Question(
            template="dispatch-pass",
            id=id,
            opened_at=self.now,
            cutoff_at=self.now + timedelta(hours=2),
            resolve_by=self.now + timedelta(hours=24),
            horizon="24h",
        )
        return msgspec.structs.replace(made, **changes)

    def asked(self, id: str = "d-1", **changes: Any) -> Question:  # noqa: A002
        """Return a question that the issuer has opened."""
        made = self.question(id, **changes)
        self.open(made)
        return made

    def open(self, question: Question, /, **changes: Any) -> str:
        return self.record(question, "PENDING", question=question, **changes)

    def seal(
        self, question: Question, p: str | dict[str, str] = "0.8", /, **changes: Any
    ) -> str:
        """Seal a vector, bringing the question along; `p` is of the first answer."""
        key, lawful = changes.pop("key", None), changes.pop("lawful", True)
        stated = {"probabilities": self.vector(question, p), **changes}
        return self.add(self.draft_seal(question, **stated), key=key, lawful=lawful)

    def draft_seal(self, question: Question, /, **changes: Any) -> ForecastSealed:
        """Return the event of a seal without appending it."""
        event = self._event(
            ForecastSealed,
            author="rival" if changes.get("forecaster") == "rival" else "forecaster",
            suite=self.manifest.suite,
            suite_hash=codec.suite_hash(self.manifest),
            question=question,
            forecaster="native",
        )
        return msgspec.structs.replace(event, **changes)

    def update(
        self,
        question: Question,
        parent: str,
        p: str | dict[str, str] = "0.7",
        /,
        **changes: Any,
    ) -> str:
        key = changes.pop("key", None)
        event = self._event(
            ForecastUpdated,
            author="rival" if changes.get("forecaster") == "rival" else "forecaster",
            suite=self.manifest.suite,
            suite_hash=codec.suite_hash(self.manifest),
            question_hash=codec.question_hash(question),
            forecaster="native",
            parent=parent,
            probabilities=self.vector(question, p),
        )
        return self.add(msgspec.structs.replace(event, **changes), key=key)

    def resolve(self, question: Question, outcome: str = "pass", **changes: Any) -> str:
        return self.record(question, "RESOLVED", outcome=outcome, **changes)

    def record(self, question: Question, status: str, /, **changes: Any) -> str:
        """Record what happened; the record that stands is superseded by itself."""
        key = changes.pop("key", None)
        asked = codec.question_hash(question)
        suite_name = changes.get("suite", self.manifest.suite)
        unit = self.state.unit_of(suite_name, asked)
        standing = None if unit is None else unit.standing(self.state.lost)
        reasoned = status in ("VOID", "INVALID", "CANCELED", "CENSORED")
        event = self._event(
            ResolutionRecorded,
            author="issuer" if status == "PENDING" else "resolver",
            suite=suite_name,
            question_hash=asked,
            status=status,
            reason_code="a-reason" if reasoned else None,
            supersedes=standing.event_id if standing else None,
        )
        return self.add(msgspec.structs.replace(event, **changes), key=key)

    def vector(self, question: Question, p: str | dict[str, str]) -> dict[str, str]:
        if isinstance(p, dict) or not p:
            return p or {}
        template = self.manifest.template(question.template)
        assert template is not None
        first, *others = template.answers or question.answers
        rest = 1_000_000 - spelling.ppm(p)
        return {first: p, others[0]: ppm_text(rest), **dict.fromkeys(others[1:], "0")}

    def _event(self, kind: Any, **fields: Any) -> Any:
        return kind(created_at=self.now, ledger=self.ledger, **fields)


def ppm_text(ppm: int) -> str:
    """Return parts per million as payloads spell a probability."""
    if ppm in (0, 1_000_000):
        return str(ppm // 1_000_000)
    return f"0.{ppm:06d}".rstrip("0")
