"""What the rules know about one unit: its question, its chains, its outcome.

A unit is (suite, template, id, horizon). This is the door's memory, kept small;
scores are computed elsewhere, from the log.
"""

from datetime import datetime

import msgspec

from ledger.canonical import canonical_text
from ledger.charters import Lost, is_void

# Which roles bring a question, by its template's owner. An evaluator's list brings its
# questions itself, whoever names them first.
OPENERS: dict[str | None, tuple[str, ...]] = {
    "evaluator": (),
    "issuer": ("issuer",),
    "forecaster": ("forecaster", "issuer"),
}


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
        begun = self.seals[0]
        if lost:
            sound = (
                each for each in self.seals if not is_void(lost, each.key, each.seq)
            )
            begun = next(sound, begun)
        update = self.update
        return begun if update is None or update.seq < begun.seq else update

    def seal(self, link: Link) -> None:
        """Take a further seal."""
        if all(each.key != link.key for each in self.seals):
            self.seals.append(link)


class Asked(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A question that was brought for a unit: by whose key, and where.

    What an evaluator's list asks was brought by no key that could be lost.
    """

    question_hash: str
    resolve_by: datetime
    answers: tuple[str, ...]
    acceptance_hash: str | None = None
    key: bytes = b""
    seq: int = 0


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What somebody said that became of a unit: whose key signed it, and where."""

    event_id: str
    author: str
    status: str
    # By its author's clock; None where nobody asks.
    created_at: datetime | None = None
    outcome: str | None = None
    key: bytes = b""
    seq: int = 0


class Unit(msgspec.Struct, array_like=True, gc=False):
    """The state of one unit; owned, and changed in place, by the fold.

    That a key was compromised may be said at any later time. So nothing is settled
    here: which question is asked, and which record stands, is asked with the keys
    that are known to be lost by then.
    """

    name: str
    suite: str
    template: str
    # The first question that each key brought that might, in log order.
    asked: list[Asked]
    chains: dict[str, Chain] = {}
    # In log order, without reviews.
    records: list[Record] = []

    @property
    def called(self) -> str:
        """What people call it within its suite: template/id/horizon."""
        _, *names = msgspec.json.decode(self.name, type=list[str])
        return "/".join(names)

    def question(self, lost: Lost) -> Asked:
        """Return the canonical question: the first that no compromised key brought.

        Where only such keys did, it is the first of theirs, until somebody else asks.
        """
        if lost and len(self.asked) > 1:
            for each in self.asked:
                if not is_void(lost, each.key, each.seq):
                    return each
        return self.asked[0]

    def is_asked(self, lost: Lost) -> bool:
        """Tell whether anybody asked it whose key was not compromised by then."""
        asked = self.question(lost)
        return not is_void(lost, asked.key, asked.seq)

    def known_as(self, question_hash: str, lost: Lost) -> Asked:
        """Return the question of that hash if it might ever be the canonical one.

        Otherwise the canonical one: it does not matter what other versions say.
        """
        if len(self.asked) == 1:
            return self.asked[0]
        for each in self.asked:
            if each.question_hash == question_hash:
                return each
        return self.question(lost)

    def ask(self, asked: Asked) -> None:
        """Take a question that somebody brought who may open the unit.

        Where a key's first is void, what it brought after that is void too.
        """
        if all(each.key != asked.key for each in self.asked):
            self.asked.append(asked)

    def standing(self, lost: Lost) -> Record | None:
        """Return the record that the next must supersede: the last that decides."""
        for each in reversed(self.records):
            if self._decides(each, lost):
                return each
        return None

    def record(self, event_id: str | None, lost: Lost) -> Record | None:
        """Return a record by its event id, if it decides anything."""
        named = (each for each in self.records if each.event_id == event_id)
        return next((each for each in named if self._decides(each, lost)), None)

    def _decides(self, record: Record, lost: Lost) -> bool:
        """Tell whether a record is no thief's, and of an answer of the question."""
        # While no key is lost, all that was let in decides.
        if not lost:
            return True
        if is_void(lost, record.key, record.seq):
            return False
        return record.outcome is None or record.outcome in self.question(lost).answers


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event belongs: its unit, and the hash of the question that it names.

    `is_new` says that the log has not seen this question before, so that the event
    opens the unit, or names another version of its question. `brought` is the
    question, where somebody brings it who may open the unit.
    """

    unit: Unit
    question_hash: str
    is_new: bool
    brought: Asked | None = None


def unit_name(suite: str, template: str, id: str, horizon: str) -> str:  # noqa: A002
    """Return the canonical JSON array that names a unit and orders units."""
    return canonical_text([suite, template, id, horizon])
