"""The four facts, frozen: what a log can say, and nothing else.

Each struct is one payload type of `application/vnd.sealed-ledger.event.v1+json`
and has every field that it will ever have: a new field is a new version. An
unset field is absent from the bytes. What a type does not state (alphabets, no
time-zone offset, probabilities of six places) is checked in `spelling`.
"""

from typing import Literal

from ledger.grammar import (
    EventDecimal,
    EventHex,
    EventKey,
    EventProbability,
    Fact,
    Instant,
    Text,
)
from ledger.suite import Manifest

Extensions = dict[EventKey, dict[EventKey, str]]
Probabilities = dict[EventKey, EventProbability]
Status = Literal["PENDING", "RESOLVED", "VOID", "CENSORED", "CANCELED", "INVALID"]
FailureCode = Literal[
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
]


class Question(Fact, frozen=True, kw_only=True):
    """What is asked: one instance of a suite's template, with its times.

    `target` is whose behaviour is forecast (absent: the id); `cluster` is the
    dependence group (absent: the target). `horizon` is a label and is never
    computed with. `text_hash` stands for a text that is kept apart, erasable.
    """

    template: Text
    id: Text
    target: Text | None = None
    cluster: Text | None = None
    slot: Text | None = None
    opened_at: Instant
    cutoff_at: Instant
    resolve_by: Instant
    horizon: Text
    text: Text | None = None
    text_hash: EventHex | None = None
    answers: tuple[EventKey, ...] = ()
    acceptance_hash: EventHex | None = None
    tags: dict[EventKey, str] = {}
    extensions: Extensions = {}

    @property
    def target_name(self) -> str:
        """Whose behaviour is forecast: the target, by default the id."""
        return self.target or self.id

    @property
    def cluster_name(self) -> str:
        """The dependence group: by default the target."""
        return self.cluster or self.target_name


class Evidence(Fact, frozen=True, kw_only=True):
    """What the forecaster had seen: its cut-off, and hashes of what was read."""

    cutoff_at: Instant | None = None
    manifest_hash: EventHex | None = None
    feature_snapshot_hash: EventHex | None = None
    training_cutoff_at: Instant | None = None
    tiers: tuple[Text, ...] = ()
    features: dict[EventKey, str] = {}


class Quantity(Fact, frozen=True, kw_only=True):
    """A forecast of a number: a point, quantiles by level, or samples."""

    point: EventDecimal | None = None
    quantiles: dict[EventKey, EventDecimal] = {}
    samples: tuple[EventDecimal, ...] = ()


class Run(Fact, frozen=True, kw_only=True):
    """Which work of an agent runtime a resolution is about."""

    runtime: Text | None = None
    session: Text | None = None
    key: Text | None = None
    inferred: Text | None = None


class FailureTag(Fact, frozen=True, kw_only=True):
    """One code of the failure taxonomy (Piper §6), with its evidence."""

    code: FailureCode
    evidence: Text | None = None


class Event(Fact, frozen=True, kw_only=True, tag_field="type"):
    """What all four have: who says it, and when by the author's own clock.

    `ledger` is the id of entry 0 (absent in entry 0 itself), so that no event
    can be replayed into another ledger.
    """

    author: Text
    created_at: Instant
    ledger: EventHex | None = None


class SuiteFrozen(Event, frozen=True, kw_only=True, tag="SuiteFrozen"):
    """These questions, rules, seeds and keys are fixed from here on."""

    suite: Text
    supersedes: Text | None = None
    manifest: Manifest


class Forecast(Event, frozen=True, kw_only=True):
    """The fields that a first vector and a later one share."""

    suite: Text
    suite_hash: EventHex
    question_hash: EventHex | None = None
    forecaster: Text
    probabilities: Probabilities = {}
    commitment: EventHex | None = None
    evidence: Evidence | None = None
    reference_class: Text | None = None
    model_version: Text | None = None
    code_revision: Text | None = None
    adaptation_budget: Text | None = None
    reason_codes: tuple[Text, ...] = ()
    failure_modes: tuple[Text, ...] = ()
    quantities: dict[EventKey, Quantity] = {}
    extensions: Extensions = {}


class ForecastSealed(Forecast, frozen=True, kw_only=True, tag="ForecastSealed"):
    """This vector over this question, committed now."""

    question: Question | None = None


class ForecastUpdated(Forecast, frozen=True, kw_only=True, tag="ForecastUpdated"):
    """A later vector of the same unit; the earlier one stands.

    With `opens` and `salt` it reveals a commitment and is no vector.
    """

    question_hash: EventHex
    parent: EventHex
    reason: Text | None = None
    opens: EventHex | None = None
    salt: EventHex | None = None


class ResolutionRecorded(Event, frozen=True, kw_only=True, tag="ResolutionRecorded"):
    """This question is open (PENDING), or this was observed."""

    suite: Text
    question_hash: EventHex
    question: Question | None = None
    status: Status
    outcome: Text | None = None
    values: dict[EventKey, EventDecimal] = {}
    started_at: Instant | None = None
    occurred_at: Instant | None = None
    published_at: Instant | None = None
    source: Text | None = None
    evidence_hash: EventHex | None = None
    acceptance_hash: EventHex | None = None
    reason_code: Text | None = None
    supersedes: EventHex | None = None
    confirms: EventHex | None = None
    run: Run | None = None
    note: Text | None = None
    failure_tags: tuple[FailureTag, ...] = ()
    extensions: Extensions = {}


LedgerEvent = SuiteFrozen | ForecastSealed | ForecastUpdated | ResolutionRecorded
