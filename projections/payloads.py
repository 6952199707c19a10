"""What judging reads of a payload: a few fields, the rest is skipped unparsed.

The names and meanings are those of `ledger.events`, which has every field. The
door let these bytes in and the log has their hash, so their spelling is not judged
again; decoding only what is needed takes half the time. Instants stay text until a
whole column of them is read.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from ledger import codec
from ledger.errors import CorruptLogError
from ledger.events import LedgerEvent


class Payload(msgspec.Struct, frozen=True, gc=False):
    """An event as the log has it: where, when (RFC 3339), by whom, and its bytes."""

    seq: int
    received_at: str
    author_key: bytes
    event_id: bytes
    payload: bytes


class PayloadSource(Protocol):
    """A log to be folded, from a store or from memory."""

    def size(self) -> int:
        """Return how many events there are."""

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        """Yield the events of positions from `start` until before `stop`."""

    def payloads_at(self, seqs: Sequence[int]) -> Iterator[Payload]:
        """Yield the events at these positions, in the order given."""


class Question(msgspec.Struct, gc=False):
    """Of a question, what tables and rules need."""

    template: str
    id: str
    opened_at: str
    cutoff_at: str
    resolve_by: str
    horizon: str
    target: str | None = None
    cluster: str | None = None
    slot: str | None = None
    answers: tuple[str, ...] = ()
    acceptance_hash: str | None = None
    tags: msgspec.Raw = msgspec.Raw(b"")

    @property
    def target_name(self) -> str:
        """Whose behaviour is forecast: the target, by default the id."""
        return self.target or self.id

    @property
    def cluster_name(self) -> str:
        """The dependence group: by default the target."""
        return self.cluster or self.target_name


class Evidence(msgspec.Struct, gc=False):
    """Of the evidence, its times."""

    cutoff_at: str | None = None
    training_cutoff_at: str | None = None


class Extensions(msgspec.Struct, gc=False):
    """Of the extensions, what the vector cost to make, a text by name."""

    cost: dict[str, str] = {}


class SuiteFrozen(msgspec.Struct, tag=True, tag_field="type", gc=False):
    """Of a frozen suite, its name: the few there are, are decoded whole."""

    suite: str


class _Forecast(msgspec.Struct, gc=False, kw_only=True):
    created_at: str
    suite: str
    suite_hash: str
    forecaster: str
    question_hash: str | None = None
    probabilities: dict[str, str] = {}
    commitment: str | None = None
    evidence: Evidence | None = None
    adaptation_budget: str | None = None
    extensions: Extensions | None = None
    opens: str | None = None  # of reveals alone


class ForecastSealed(_Forecast, tag=True, tag_field="type", gc=False, kw_only=True):
    """Of a first vector, what its judgement depends on."""

    question: msgspec.Raw = msgspec.Raw(b"")


class ForecastUpdated(_Forecast, tag=True, tag_field="type", gc=False, kw_only=True):
    """Of a later vector or a reveal, what its judgement depends on."""


class ResolutionRecorded(
    msgspec.Struct, tag=True, tag_field="type", gc=False, kw_only=True
):
    """Of a record, what its judgement depends on."""

    created_at: str
    author: str
    suite: str
    status: str
    question_hash: str
    question: msgspec.Raw = msgspec.Raw(b"")
    outcome: str | None = None
    started_at: str | None = None
    published_at: str | None = None
    acceptance_hash: str | None = None
    reason_code: str | None = None
    confirms: str | None = None


Read = SuiteFrozen | ForecastSealed | ForecastUpdated | ResolutionRecorded
_DECODER: msgspec.json.Decoder[Read] = msgspec.json.Decoder(Read)
_QUESTION = msgspec.json.Decoder(Question)


def read(entry: Payload) -> Read:
    """Return the fields that judging needs; raise `CorruptLogError` for no event."""
    try:
        return _DECODER.decode(entry.payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise CorruptLogError(f"no event: {error}", seq=entry.seq) from None


def read_all(entries: Sequence[Payload]) -> list[Read]:
    """Return of each event the fields that judging needs; raise as `read` does."""
    try:
        return list(map(_DECODER.decode, [entry.payload for entry in entries]))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return list(map(read, entries))


def read_whole(payload: bytes) -> LedgerEvent:
    """Return an event with all its fields, for the rules that few events meet."""
    return codec.read(payload)


def question_in(event: ForecastSealed | ForecastUpdated | ResolutionRecorded) -> bytes:
    """Return the bytes of the question that an event brings; empty for none."""
    return b"" if isinstance(event, ForecastUpdated) else bytes(event.question)


def read_question(content: bytes) -> Question:
    """Return the question that these bytes of a payload spell."""
    return _QUESTION.decode(content)
