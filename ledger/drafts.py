"""Drafts made into events: what people leave out is filled in from the log's state.

Pure: the instant, the state, the pinned files and the files that a draft names are
all handed in. What is filled in is never a choice: the present instant, the hashes
of what is named, the end of a chain, the record that a PENDING unit stands at.
Whether the event may follow is for the door to say.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

import msgspec

from ledger import codec
from ledger.clock import instant_text
from ledger.draft_fields import (
    require_known,
    spelled_fields,
    struct_type,
    unfit,
    words_for,
)
from ledger.draft_suite import frozen_fields
from ledger.draft_vector import vector
from ledger.errors import RefusedError
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.rules_question import require_observable, require_suite
from ledger.state import FrozenSuite, State
from ledger.suite import Template
from ledger.suite_table import listed, suggestion
from ledger.suite_words import shown
from ledger.unit import Link, Unit, unit_name

# Returns the bytes of a file that a draft names.
ReadFile = Callable[[str], bytes]
# Returns an event that the log has by its id, with its position, or None.
ReadEvent = Callable[[str], tuple[int, LedgerEvent] | None]
# Returns the bytes of a pinned file by its SHA-256, or None where it is absent.
Blobs = Callable[[str], bytes | None]

Fields = dict[str, object]
Asking = type[ForecastSealed] | type[ForecastUpdated] | type[ResolutionRecorded]

TYPES: dict[str, type[LedgerEvent]] = {
    cls.__name__: cls
    for cls in (SuiteFrozen, ForecastSealed, ForecastUpdated, ResolutionRecorded)
}
# A unit may be named by these instead of its question's hash.
NAMING = ("template", "id", "horizon")
# A record may name the one that it supersedes by this instead of its event id.
STANDING = "standing"


class Drafts:
    """Completes drafts of one ledger; remembers the question lists that it read."""

    def __init__(
        self,
        blobs: Blobs,
        read_file: ReadFile,
        read_event: ReadEvent = lambda _: None,
        since: int = 0,
    ) -> None:
        """Take what reads files, and what finds updates that were appended before.

        Before means at positions below `since`: what follows is of these drafts.
        """
        self._blobs = blobs
        self._read_file = read_file
        self._read_event = read_event
        self._since = since
        # Of chains with several updates at one instant, those that are still to come.
        self._past: dict[tuple[object, ...], list[ForecastUpdated]] = {}
        self._lists: dict[str, dict[tuple[str, str, str], Question]] = {}

    def event(
        self, draft: Mapping[str, object], state: State, now: datetime
    ) -> LedgerEvent:
        """Return the event that `draft` means after all that `state` holds.

        Raises `RefusedError` for a draft that is unfit, and for one that names a
        suite, a question or a chain that is not there.
        """
        cls = type_of(draft)
        given = {name: value for name, value in draft.items() if name != "type"}
        fields: Fields = {"created_at": now}
        if state.ledger is not None:
            fields["ledger"] = state.ledger
        if issubclass(cls, SuiteFrozen):
            fields |= frozen_fields(given, state, now, self._read_file)
        else:
            fields |= self._asking(given, cls, state, now)
        return event_of(cls, fields)

    def _asking(
        self, given: Mapping[str, object], cls: Asking, state: State, now: datetime
    ) -> Fields:
        naming = {name: given[name] for name in NAMING if given.get(name)}
        naming = spelled_fields(naming, Question, now)
        said = {name: given[name] for name in given if name not in NAMING}
        probabilities = said.pop("probabilities", None) or {}
        require_known(given, _known(cls), f"a {cls.__name__}")
        amends = cls is ResolutionRecorded and said.get("supersedes") == STANDING
        if amends:
            del said["supersedes"]
        fields = spelled_fields(said, cls, now)
        suite = fields.get("suite")
        if not isinstance(suite, str):
            raise unfit(
                "suite", "is missing", "name the version, such as piper-self@v1"
            )
        frozen = require_suite(state, suite)
        self._ask(fields, naming, cls, frozen, state)
        unit = _unit(fields, suite, state)
        if cls is ResolutionRecorded:
            if amends:
                made_at = fields.get("created_at", now)
                fields["supersedes"] = _standing(unit, state, made_at)
            _supersede_pending(fields, unit, state)
            return fields
        fields.setdefault("suite_hash", frozen.suite_hash)
        if probabilities:
            asked = str(fields.get("question_hash"))
            answers = (
                unit.known_as(asked, state.lost).answers
                if unit
                else _answers(fields, frozen)
            )
            fields["probabilities"] = _vector(probabilities, answers)
        if cls is ForecastUpdated and "parent" not in fields:
            fields["parent"] = self._parent(
                {"ledger": state.ledger, **fields}, _end_of_chain(fields, unit, state)
            )
        return fields

    def _parent(self, fields: Fields, end: Link) -> str:
        """Return what an update attaches to: the chain's end, or what its like did.

        So a history that is appended a second time gets the receipts that it got first,
        each update that of the next one that says the same at that instant.
        """
        made_at = fields.get("created_at")
        if end.created_at != made_at:
            return end.event_id
        key = (*map(fields.get, ("suite", "question_hash", "forecaster")), made_at)
        if key not in self._past:
            self._past[key] = self._updates_before(end.event_id, made_at)
        past = self._past[key]
        for at, event in enumerate(past):
            if event == event_of(ForecastUpdated, {**fields, "parent": event.parent}):
                del past[: at + 1]
                return event.parent
        return end.event_id

    def _updates_before(self, event_id: str, made_at: object) -> list[ForecastUpdated]:
        """Return the updates of an instant that were appended before, first to last."""
        found: list[ForecastUpdated] = []
        while (known := self._read_event(event_id)) is not None:
            seq, event = known
            if not isinstance(event, ForecastUpdated) or event.created_at != made_at:
                break
            found += [event] if seq < self._since else []
            event_id = event.parent
        return found[::-1]

    def _ask(
        self,
        fields: Fields,
        naming: Fields,
        cls: Asking,
        frozen: FrozenSuite,
        state: State,
    ) -> None:
        """Put the question that a draft gives or names into `fields`."""
        if "question" in fields or "question_hash" in fields:
            if naming:
                what = "stands beside the question, or beside its hash"
                raise unfit(next(iter(naming)), what, "name the unit in one way")
            if "question" not in fields:
                return
            asked: Unit | Question = msgspec.convert(fields["question"], Question)
        else:
            asked = self._named(naming, cls, frozen, state)
        if isinstance(asked, Unit):
            fields["question_hash"] = asked.question(state.lost).question_hash
            return
        fields["question"] = asked
        if cls is not ForecastSealed:
            fields.setdefault("question_hash", codec.question_hash(asked))

    def _named(
        self, naming: Fields, cls: Asking, frozen: FrozenSuite, state: State
    ) -> Unit | Question:
        """Return the unit of that name, or the pinned question that will open it."""
        suite, name = frozen.manifest.suite, _name(naming, frozen)
        unit = state.units.named(unit_name(suite, *name))
        if unit is not None:
            return unit
        template = frozen.templates[name[0]]
        question = self._listed(frozen, template).get(name)
        if question is not None and cls is not ForecastUpdated:
            return question
        msg = f"{'/'.join(name)} is not open in {suite}: {_way_to_open(template)}"
        raise RefusedError("unknown-question", msg)

    def _listed(
        self, frozen: FrozenSuite, template: Template
    ) -> dict[tuple[str, str, str], Question]:
        digest = frozen.manifest.pins.get(template.questions or "")
        if digest is None:
            return {}
        if digest not in self._lists:
            # It was there when the suite was frozen, and may have been erased since.
            questions = codec.read_questions(self._blobs(digest) or b"")
            self._lists[digest] = {
                (each.template, each.id, each.horizon): each for each in questions
            }
        return self._lists[digest]


def type_of(draft: Mapping[str, object]) -> type[LedgerEvent]:
    """Return which event a draft means; refuse one that does not say."""
    given = draft.get("type")
    if given is None:
        raise unfit("type", "is missing", f"write {listed(TYPES)}")
    cls = TYPES.get(given) if isinstance(given, str) else None
    if cls is None:
        remedy = suggestion(str(given), TYPES) or f"write {listed(TYPES)}"
        raise unfit("type", f"is {shown(given)}", remedy)
    return cls


@cache
def _known(cls: Asking) -> list[str]:
    return [*(field.name for field in struct_type(cls).fields), *NAMING]


def _name(naming: Fields, frozen: FrozenSuite) -> tuple[str, str, str]:
    """Return the template, id and horizon that a draft names a unit by."""
    suite = frozen.manifest.suite
    for key in ("template", "id"):
        if key not in naming:
            remedy = "give `question`, `question_hash`, or template, id and horizon"
            raise unfit(key, "is missing", remedy)
    template = frozen.templates.get(str(naming["template"]))
    if template is None:
        known = ", ".join(frozen.templates)
        msg = f"{suite} has no template {shown(naming['template'])}; it has {known}"
        raise RefusedError("unknown-template", msg)
    require_observable(template)
    # A template with one horizon leaves nothing to say.
    if "horizon" not in naming and len(template.horizons) != 1:
        raise unfit("horizon", "is missing", f"write {listed(template.horizons)}")
    horizon = naming.get("horizon", *template.horizons[:1])
    if horizon not in template.horizons:
        known = ", ".join(template.horizons)
        msg = f"{template.id} has no horizon {shown(horizon)}; it has {known}"
        raise RefusedError("unknown-question", msg)
    return template.id, str(naming["id"]), str(horizon)


def _way_to_open(template: Template) -> str:
    match template.question_owner:
        case "evaluator":
            return f"its questions are those of the pinned list {template.questions!r}"
        case "issuer":
            return "an issuer opens it by a PENDING record that brings the question"
        case _:
            return "bring the whole question, as `question`"


def _unit(fields: Fields, suite: str, state: State) -> Unit | None:
    """Return the known unit that an event is about, as the door will find it."""
    asked = fields.get("question_hash")
    question = fields.get("question")
    if isinstance(question, Question):
        asked = asked or codec.question_hash(question)
    unit = state.unit_of(suite, str(asked))
    if unit is None and isinstance(question, Question):
        name = unit_name(suite, question.template, question.id, question.horizon)
        unit = state.units.named(name)
    return unit


def _answers(fields: Fields, frozen: FrozenSuite) -> tuple[str, ...]:
    question = fields.get("question")
    if not isinstance(question, Question):
        return ()
    template = frozen.templates.get(question.template)
    return (template.answers if template else ()) or question.answers


def _vector(given: object, answers: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(given, Mapping):
        remedy = "write an object of answers, each with its probability"
        raise unfit("probabilities", f"is {shown(given)}", remedy)
    strange = [name for name in given if answers and name not in answers]
    if strange:
        msg = (
            f"{shown(strange[0])} is no answer of the question, whose answers are "
            f"{listed(answers, last='and')}"
        )
        raise RefusedError("answers-mismatch", msg)
    return vector(given, answers)


def _supersede_pending(fields: Fields, unit: Unit | None, state: State) -> None:
    """Name the PENDING record that a first outcome follows; amendments name theirs.

    One that opens a unit follows nothing: written a second time it is the same event.
    """
    standing = None if unit is None else unit.standing(state.lost)
    is_outcome = fields.get("status") != "PENDING"
    if standing is None or standing.status != "PENDING" or not is_outcome:
        return
    if "supersedes" not in fields and "confirms" not in fields:
        fields["supersedes"] = standing.event_id


def _standing(unit: Unit | None, state: State, made_at: object) -> str:
    """Return the id of the record that stands, which an amendment was made after.

    So a history that is appended a second time does not amend its own end.
    """
    standing = None if unit is None else unit.standing(state.lost)
    if standing is None:
        what = f"is {STANDING}, and nothing is recorded of the unit yet"
        raise unfit("supersedes", what, "leave it out")
    assert isinstance(made_at, datetime)
    known = standing.created_at
    if known is None or known >= made_at:
        when = "at an unknown time" if known is None else f"at {instant_text(known)}"
        what = (
            f"is {STANDING}, and what stands was made {when}, not before this record's "
            f"created_at, {instant_text(made_at)}"
        )
        remedy = f"if this amends it, name it: {standing.event_id}"
        raise unfit("supersedes", what, remedy)
    return standing.event_id


def _end_of_chain(fields: Fields, unit: Unit | None, state: State) -> Link:
    if unit is None:
        msg = f"no question with hash {fields.get('question_hash')} is open: seal first"
        raise RefusedError("unknown-question", msg)
    forecaster = fields.get("forecaster")
    if forecaster is None:
        raise unfit("forecaster", "is missing", "name the competitor that updates")
    chain = unit.chains.get(str(forecaster))
    if chain is None:
        msg = f"{forecaster} has sealed nothing on {unit.called}: seal a forecast first"
        raise RefusedError("unknown-parent", msg)
    return chain.end(state.lost)


def event_of(cls: type[LedgerEvent], fields: Fields) -> LedgerEvent:
    """Return the event of these fields; refuse what is missing or unfit by its name."""
    for field in struct_type(cls).fields:
        if field.required and field.name not in fields:
            raise unfit(field.name, "is missing", f"write {words_for(field.type)}")
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        msg = f"the draft is no {cls.__name__}: {error}"
        raise RefusedError("draft-unfit", msg) from None
