"""What the rules know about one unit: its question, its chains, its outcome.

A unit is (suite, template, id, horizon). This is the door's memory, kept small;
scores are computed elsewhere, from the log.
"""

from datetime import datetime

import msgspec

from ledger.canonical import canonical_text
from ledger.charters import Lost, is_void
from ledger.events import Question


class Link(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A vector of a chain: where it stands, and whose key signed it."""

    event_id: str
    created_at: datetime
    key: bytes = b""
    seq: int = 0


class Hidden(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A hidden vector: its commitment, the parent that this covers, who opened it.

    `opened` is the key and the position of the last reveal that showed it. Another
    is let in only where that one is void, and what is void stays so.
    """

    commitment: str
    parent: str | None
    opened: tuple[bytes, int] | None = None

    def is_closed(self, lost: Lost) -> bool:
        """Tell whether it may still be opened: a thief's reveal opens nothing."""
        return self.opened is None or is_void(lost, *self.opened)


class Chain(msgspec.Struct, array_like=True, gc=False):
    """One forecaster's vectors on one unit, as far as the next one depends on them.

    That a key was compromised may be said at any later time, and may then concern
    another seal than the first: so each key's first seal is kept, in log order.
    Those that the same key signed after it are void wherever it is.
    """

    seals: list[Link]
    update: Link | None = None
    # By event id.
    hidden: dict[str, Hidden] = {}

    def end(self, lost: Lost) -> Link:
        """Return the vector that the next update must attach to.

        The chain begins with the first seal that no compromised key signed; what was
        sealed after it are duplicates, and every update is a vector of the chain.
        """
        sound = (each for each in self.seals if not is_void(lost, each.key, each.seq))
        begun = next(sound, self.seals[0])
        update = self.update
        return begun if update is None or update.seq < begun.seq else update

    def seal(self, link: Link) -> None:
        """Take a further seal."""
        if all(each.key != link.key for each in self.seals):
            self.seals.append(link)


class Standing(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A unit's current record: the one that the next must supersede."""

    event_id: str
    author: str
    status: str
    # By its author's clock; None in an index that an older program wrote.
    created_at: datetime | None = None


class Unit(msgspec.Struct, array_like=True, gc=False):
    """The state of one unit; owned, and changed in place, by the fold."""

    name: str
    suite: str
    template: str
    question_hash: str
    resolve_by: datetime
    answers: tuple[str, ...]
    acceptance_hash: str | None = None
    chains: dict[str, Chain] = {}
    standing: Standing | None = None
    # The records of an outcome, which a second resolver may confirm: id to author.
    records: dict[str, str] = {}

    @property
    def called(self) -> str:
        """What people call it within its suite: template/id/horizon."""
        _, *names = msgspec.json.decode(self.name, type=list[str])
        return "/".join(names)


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event belongs: its unit, and the hash of the question that it names.

    `is_new` says that the log has not seen this question before, so that the event
    opens the unit, or names another version of its question.
    """

    unit: Unit
    question_hash: str
    is_new: bool


def unit_name(suite: str, template: str, id: str, horizon: str) -> str:  # noqa: A002
    """Return the canonical JSON array that names a unit and orders units."""
    return canonical_text([suite, template, id, horizon])


def new_unit(
    suite: str,
    question: Question,
    question_hash: str,
    answers: tuple[str, ...],
) -> Unit:
    """Return the unit that a question opens."""
    return Unit(
        name=unit_name(suite, question.template, question.id, question.horizon),
        suite=suite,
        template=question.template,
        question_hash=question_hash,
        resolve_by=question.resolve_by,
        answers=answers,
        acceptance_hash=question.acceptance_hash,
    )
