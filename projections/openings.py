"""Which question of a unit is the canonical one, and whether it was opened at all.

It is the first that no compromised key brought, of those who may open the unit: the
same function of who brought what where as at the door (`ledger.unit`).
"""

from collections.abc import Iterator

import msgspec

from ledger.errors import CorruptLogError
from ledger.ids import sha256_hex
from ledger.projections.grouping import Group
from ledger.projections.payloads import (
    ForecastSealed,
    Payload,
    Question,
    ResolutionRecorded,
    question_in,
    read,
    read_question,
)
from ledger.projections.suites import Charters, SuiteVersion
from ledger.unit import OPENERS


class Opening(msgspec.Struct, frozen=True):
    """A unit's canonical question, the hashes of others, and if it is the suite's.

    `is_spoken` is false where only compromised keys ever opened it, and nobody else
    said what became of it.
    """

    question: Question
    question_hash: str
    others: list[str]
    is_spoken: bool = True


def canonical(group: Group, suite: SuiteVersion, charters: Charters) -> Opening:
    """Return how a unit was opened; a group has all events of its unit.

    Raises `CorruptLogError` where its first event does not bring the question.
    """
    if group.question is None:
        msg = f"nothing before it brought question {group.question_hash}"
        raise CorruptLogError(msg, seq=group.first_seq)
    first = Opening(group.question, group.question_hash, group.others)
    openers = OPENERS[suite.templates[group.question.template].question_owner]
    # What an evaluator's list asks is open whoever names it first.
    if not charters.compromised or not openers:
        return first
    events = sorted([*group.forecasts, *group.records])
    sound = [entry for *_, entry in events if not charters.is_void(entry)]
    if sound and sound[0] is events[0][-1]:
        return first
    return _opened_again(first, sound, openers, charters.roles)


def _opened_again(
    first: Opening,
    sound: list[Payload],
    openers: tuple[str, ...],
    roles: dict[str, str],
) -> Opening:
    """Return how a unit was opened that a thief had opened first."""
    for brought in _brought(sound, openers, roles):
        question_hash = sha256_hex(brought)
        known = (first.question_hash, *first.others)
        others = [each for each in known if each != question_hash]
        return Opening(read_question(brought), question_hash, others)
    return msgspec.structs.replace(first, is_spoken=_is_spoken(sound, openers))


def _brought(
    sound: list[Payload], openers: tuple[str, ...], roles: dict[str, str]
) -> Iterator[bytes]:
    """Yield the questions that somebody brought who may open the unit."""
    for entry in sound:
        event = read(entry)
        if isinstance(event, ForecastSealed):
            role = "forecaster"
        elif isinstance(event, ResolutionRecorded):
            role = roles[event.author]
        else:
            continue
        brought = question_in(event)
        if brought and role in openers:
            yield brought


def _is_spoken(sound: list[Payload], openers: tuple[str, ...]) -> bool:
    """Tell whether somebody who may open a unit, or resolve it, spoke of it."""
    for entry in sound:
        event = read(entry)
        if isinstance(event, ResolutionRecorded):
            if event.confirms is None:
                return True
        elif "forecaster" in openers:
            return True
    return False
