"""What the rules know about one unit: its question, its chains, its outcome.

A unit is (suite, template, id, horizon). This is the door's memory, kept small;
scores are computed elsewhere, from the log.
"""

from datetime import datetime

import msgspec

from ledger.canonical import canonical_text
from ledger.events import Question


class Chain(msgspec.Struct, array_like=True, gc=False):
    """One forecaster's vectors on one unit: where the next update must attach."""

    last: str
    created_at: datetime
    # Hidden vectors by event id: the commitment and then the parent that it covers;
    # empty once it was opened.
    hidden: dict[str, str] = {}
    # Whose key sealed it first, and at which position: what was begun with a
    # compromised key begins again with the next seal.
    root_key: bytes = b""
    root_seq: int = 0


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
