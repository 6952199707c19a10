"""Read a stretch of the log once: its events, sorted by unit.

Nothing is judged here; `docket` turns the events of many units into columns.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

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

Asking = ForecastSealed | ForecastUpdated | ResolutionRecorded
Forecast = ForecastSealed | ForecastUpdated
E = TypeVar("E", bound=Asking)
# An event of a unit: its position, the hash of the question that it names, what it
# says, and the entry. A tuple, because a million of them are sorted.
Said = tuple[int, str, E, Payload]
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
    forecasts: list[Said[Forecast]]
    records: list[Said[ResolutionRecorded]]
    others: list[str]

    def extend(self, later: "Group") -> None:
        """Take the events of a later stretch."""
        # Each starts with its position, and no two have the same.
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
    """Return consecutive events by unit; groups stand as they first appear.

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
            group.records.append((entry.seq, asked, event, entry))
        else:
            group.forecasts.append((entry.seq, asked, event, entry))
    return stretch


def _read_in_turns(
    entries: Iterable[Payload], taken: list[Payload]
) -> Iterator[tuple[Payload, Read]]:
    """Yield each entry with its event; some are `taken` before the first is yielded."""
    coming = iter(entries)
    while some := list(islice(coming, _AT_ONCE)):
        taken += some
        yield from zip(some, read_all(some), strict=True)


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
