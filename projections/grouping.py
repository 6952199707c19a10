"""Read a stretch of the log once: the facts of each event, sorted by unit.

Nothing is judged here. A fact is a tuple, because a million events are read: what
stands where in it is said by `FORECAST_FACTS` and `RECORD_FACTS`, and `docket`
turns the tuples of many events into columns.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from ledger.errors import CorruptLogError
from ledger.ids import sha256_hex
from ledger.projections.payloads import (
    ForecastSealed,
    ForecastUpdated,
    Payload,
    Question,
    Read,
    ResolutionRecorded,
    SuiteFrozen,
    question_in,
    read_all,
    read_question,
)
from ledger.unit import unit_name

Facts = tuple[Any, ...]
# Events that are decoded before they are sorted: they stay near while they are few.
_AT_ONCE = 500


class Group(msgspec.Struct, eq=False, gc=False):
    """Events of one unit, as far as they were read, in log order.

    `question` is the first that an event of the group brought; without one, only
    its hash is known, and some earlier stretch has it. `others` are the hashes of
    further questions that were brought for the unit.
    """

    suite: str
    question_hash: str
    question: Question | None
    identity: str | None
    first_seq: int
    forecasts: list[Facts]
    records: list[Facts]
    others: list[str]

    def extend(self, later: "Group") -> None:
        """Take the events of a later stretch."""
        # A fact starts with its position, and no two have the same.
        self.forecasts = sorted(self.forecasts + later.forecasts)
        self.records = sorted(self.records + later.records)
        brought = [] if later.question is None else [later.question_hash]
        self.others += [
            other
            for other in (*brought, *later.others)
            if other != self.question_hash and other not in self.others
        ]


class Stretch(msgspec.Struct, eq=False):
    """What some consecutive events say: of units, and of suites.

    Two groups may turn out to be one unit: one named by its question, the other by
    the hash of a question that an earlier stretch brought.
    """

    entries: list[Payload]
    groups: list[Group]
    frozen: list[Payload]
    last_of_suite: dict[str, Payload]


def read_stretch(entries: Iterable[Payload]) -> Stretch:
    """Return the facts of consecutive events; groups stand as they first appear.

    Raises `CorruptLogError` for bytes that are no event.
    """
    stretch = Stretch([], [], [], {})
    last_of_suite = stretch.last_of_suite
    by_question: dict[str, dict[str, Group]] = defaultdict(dict)
    by_identity: dict[str, Group] = {}
    for entry, event in _read_in_turns(entries, stretch.entries):
        suite = event.suite
        last_of_suite[suite] = entry
        if isinstance(event, SuiteFrozen):
            stretch.frozen.append(entry)
            continue
        asked = event.question_hash or _hash_of_brought(entry, event)
        group = by_question[suite].get(asked)
        if group is None:
            group = _group(entry, event, asked, by_identity)
            by_question[suite][asked] = group
            if not (group.forecasts or group.records):
                stretch.groups.append(group)
        if isinstance(event, ResolutionRecorded):
            group.records.append(_record_facts(entry, event, asked))
        else:
            group.forecasts.append(_forecast_facts(entry, event, asked))
    return stretch


def _read_in_turns(
    entries: Iterable[Payload], taken: list[Payload]
) -> Iterator[tuple[Payload, Read]]:
    """Yield each entry with its event; some are `taken` before the first is yielded."""
    coming = iter(entries)
    while some := list(islice(coming, _AT_ONCE)):
        taken += some
        yield from zip(some, read_all(some), strict=True)


Asking = ForecastSealed | ForecastUpdated | ResolutionRecorded


def _hash_of_brought(entry: Payload, event: Asking) -> str:
    brought = question_in(event)
    if not brought:
        raise CorruptLogError("the event names no question", seq=entry.seq)
    return sha256_hex(brought)


def _group(entry: Payload, event: Asking, asked: str, known: dict[str, Group]) -> Group:
    brought = question_in(event)
    if not brought:
        return Group(event.suite, asked, None, None, entry.seq, [], [], [])
    question = read_question(brought)
    name = unit_name(event.suite, question.template, question.id, question.horizon)
    group = known.get(name)
    if group is None:
        group = Group(event.suite, asked, question, name, entry.seq, [], [], [])
        known[name] = group
    else:
        group.others.append(asked)
    return group


FORECAST_FACTS = (
    "seq",
    "name",
    "question_hash",
    "suite_hash",
    "probabilities",
    "budget",
    "evidence",
    "cost",
    "is_update",
    "is_reveal",
    "is_hidden",
    "created_at",
    "received_at",
    "entry",
)


def _forecast_facts(
    entry: Payload, event: ForecastSealed | ForecastUpdated, asked: str
) -> Facts:
    extensions = event.extensions
    return (
        entry.seq,
        event.forecaster,
        asked,
        event.suite_hash,
        event.probabilities,
        event.adaptation_budget,
        event.evidence,
        None if extensions is None else extensions.cost,
        isinstance(event, ForecastUpdated),
        event.opens is not None,
        event.commitment is not None,
        event.created_at,
        entry.received_at,
        entry,
    )


RECORD_FACTS = (
    "seq",
    "author",
    "status",
    "outcome",
    "reason",
    "question_hash",
    "bar",
    "is_review",
    "created_at",
    "received_at",
    "started_at",
    "published_at",
    "entry",
)


def _record_facts(entry: Payload, event: ResolutionRecorded, asked: str) -> Facts:
    return (
        entry.seq,
        event.author,
        event.status,
        event.outcome,
        event.reason_code,
        asked,
        event.acceptance_hash,
        event.confirms is not None,
        event.created_at,
        entry.received_at,
        event.started_at,
        event.published_at,
        entry,
    )
