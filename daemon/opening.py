"""Questions that the daemon opens for agents, by its issuer's key, as it is set up to.

An agent asks which question would be opened for its unit, signs a forecast on that
question's hash, and sends both back. The question is then built once more and must be
the same, so that an agent chooses nothing but what the settings leave to it; opening
and forecast go into the log together or not at all.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from ledger import canonical, codec
from ledger.clock import Clock, instant_text
from ledger.daemon.protocol import BAD_PARAMS, Asked, FaultError, UnitStored
from ledger.daemon.settings import Opening
from ledger.errors import RefusedError
from ledger.events import ForecastSealed, Question, ResolutionRecorded
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.keys.signing import SignerKey
from ledger.rules_question import require_suite
from ledger.state import State
from ledger.suite_table import listed
from ledger.unit import Unit, unit_name
from ledger.writer import Submission, Writer

# An answer may wait in a queue; a question from long ago would move its own cut-off.
OPENED_AGO_SECONDS_MAX = 60
# Of each id, target, cluster and tag: they stand in tables that people read.
LETTERS_MAX = 200


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the log knows of a unit; `chains` has the last event id of each forecaster."""

    question_hash: str
    suite_hash: str
    status: str | None  # of the record that stands, PENDING included
    record: str | None  # that record's event id, which the next one supersedes
    acceptance_hash: str | None  # the bar that the question fixed
    text_hash: str | None  # of the work's text, where the question says it
    answers: tuple[str, ...]
    chains: dict[str, str]
    positions: dict[str, int]  # where the log has these events


class _On(msgspec.Struct, frozen=True):
    """What an event is, and which question it is about; empty where it names none."""

    type: str
    suite: str = ""
    question_hash: str = ""


_ON = msgspec.json.Decoder(_On)


class Openings:
    """What the settings open, with the keys that open it."""

    def __init__(
        self,
        openings: Sequence[Opening],
        keys: Mapping[str, SignerKey],
        clock: Clock,
    ) -> None:
        """Take the issuers' keys by their names; `read_issuers` reads them."""
        self._openings = openings
        self._keys = keys
        self._clock = clock

    def described(self) -> list[dict[str, Any]]:
        """Return what is opened, for clients that build forecasts on it."""
        return [
            {
                "suite": each.suite,
                "template": each.template,
                "horizon": each.horizon,
                "agent_tags": list(each.agent_tags),
            }
            for each in self._openings
        ]

    def named(
        self, suite: str | None, template: str | None, horizon: str | None
    ) -> Opening:
        """Return the one opening of these names; raise `FaultError` for none or several."""
        found = [
            each
            for each in self._openings
            if suite in {None, each.suite}
            and template in {None, each.template}
            and horizon in {None, each.horizon}
        ]
        if len(found) == 1:
            return found[0]
        known = [f"{one.suite}/{one.template}/{one.horizon}" for one in self._openings]
        if found:
            msg = f"{len(found)} of the openings in daemon.toml may be meant: name suite, template and horizon of {listed(known)}"
        elif known:
            msg = f"the question is not open, and daemon.toml opens only {listed(known, last='and')}: name one of those, or open it with `ledger resolve --status PENDING`"
        else:
            msg = "the question is not open, and daemon.toml opens none: open it with `ledger resolve --status PENDING`, or set an opening up"
        raise FaultError(BAD_PARAMS, msg, "no-opening")

    def question(self, asked: Asked) -> Question:
        """Return the question that would be opened at this moment.

        Raises `FaultError` for what an agent may not say.
        """
        opening = self.named(asked.suite, asked.template, asked.horizon)
        for name in ("target", "cluster"):
            if getattr(asked, name) and getattr(opening, name):
                raise _not_yours(name, f"{name} of {opening.template} is set up")
        strange = sorted(set(asked.tags) - set(opening.agent_tags))
        if strange:
            raise _not_yours(f"the tag {strange[0]!r}", "agent_tags does not list it")
        if not asked.id:
            raise _not_yours("an empty id", "every unit has one")
        _require_short(asked)
        opened_at = self._clock().replace(microsecond=0)
        return Question(
            template=opening.template,
            id=asked.id,
            target=opening.target or asked.target or None,
            cluster=opening.cluster or asked.cluster or None,
            opened_at=opened_at,
            cutoff_at=opened_at + timedelta(seconds=opening.cutoff_seconds),
            resolve_by=opened_at + timedelta(seconds=opening.resolve_seconds),
            horizon=opening.horizon,
            text_hash=asked.text_hash or None,
            acceptance_hash=opening.acceptance_hash,
            tags={**opening.tags, **asked.tags},
        )

    def require_ours(self, suite: str, question: Question) -> Opening:
        """Return the opening of a question that came back; refuse one that was changed."""
        opening = self.named(suite, question.template, question.horizon)
        own = {
            name: text
            for name, text in question.tags.items()
            if name in opening.agent_tags
        }
        again = self.question(
            Asked(
                id=question.id,
                suite=suite,
                template=question.template,
                horizon=question.horizon,
                target=None if opening.target else question.target,
                cluster=None if opening.cluster else question.cluster,
                text_hash=question.text_hash,
                tags=own,
            )
        )
        waited = again.opened_at - question.opened_at
        shifted = {
            name: getattr(again, name) - waited
            for name in ("opened_at", "cutoff_at", "resolve_by")
        }
        if question != msgspec.structs.replace(again, **shifted):
            msg = (
                "the question is not the one that `question` returns: send it unchanged"
            )
            raise FaultError(BAD_PARAMS, msg, "question-changed")
        if not 0 <= waited.total_seconds() <= OPENED_AGO_SECONDS_MAX:
            opened_at = instant_text(question.opened_at)
            msg = (
                f"the question was made at {opened_at}, not within the last "
                f"{OPENED_AGO_SECONDS_MAX} s: ask for a new one and sign on that"
            )
            raise FaultError(BAD_PARAMS, msg, "question-old")
        return opening

    def opened(self, opening: Opening, question: Question, ledger: str) -> Submission:
        """Return the signed PENDING record that opens a question."""
        signer = self._keys[opening.issuer]
        payload = codec.encode(
            ResolutionRecorded(
                author=opening.issuer,
                created_at=self._clock(),
                ledger=ledger,
                suite=opening.suite,
                question_hash=codec.question_hash(question),
                question=question,
                status="PENDING",
                source=opening.source,
            )
        )
        return Submission.signed_by(signer, payload)


def read_issuers(openings: Sequence[Opening], folder: Folder) -> dict[str, SignerKey]:
    """Return the keys that openings are signed with, by the names of their issuers.

    Raises `UsageError` for a key that is missing or open to others.
    """
    return {
        each.issuer: read_key(
            folder.path / (each.key or f"keys/{each.issuer}.key"),
            f"daemon.toml has the daemon open {each.template} with the key of {each.issuer}",
        )
        for each in openings
    }


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the writer, in its turn with the events before it."""

    ask: Callable[[Writer], object]
    events: int = 1
    bytes: int = 1_024
    is_written: bool = False
    is_atomic: bool = False

    def submissions(self, writer: Writer) -> Sequence[Submission]:
        """Return nothing to append."""
        del writer
        return ()

    def found(self, writer: Writer) -> object:
        """Return the answer."""
        return self.ask(writer)


class Sealing(msgspec.Struct, frozen=True, kw_only=True):
    """A unit to open together with its forecasts; only these where it is open already."""

    openings: Openings
    suite: str
    question: Question
    seals: tuple[Submission, ...]
    bytes: int
    is_written: bool = True
    is_atomic: bool = True

    @property
    def events(self) -> int:
        """How many events this appends at most."""
        return 1 + len(self.seals)

    def submissions(self, writer: Writer) -> Sequence[Submission]:
        """Return the opening, where there is none yet, and the forecasts.

        Raises `RefusedError`: `already-open` where the unit has another question,
        `seal-not-on-question` where a unit would be opened that nobody forecasts.
        """
        asked = codec.question_hash(self.question)
        known = unit_of(writer.state, self.suite, self.question)
        if known is not None:
            question_hash = known.question(writer.state.lost).question_hash
            if question_hash != asked:
                msg = (
                    f"{known.called} is open already, with the question "
                    f"{question_hash}: seal on that one"
                )
                raise RefusedError("already-open", msg)
            return self.seals
        opening = self.openings.require_ours(self.suite, self.question)
        self._require_forecast(asked, writer)
        assert writer.state.ledger is not None
        pending = self.openings.opened(opening, self.question, writer.state.ledger)
        return (pending, *self.seals)

    def _require_forecast(self, question_hash: str, writer: Writer) -> None:
        """Refuse to open for events that are no new forecast on this very question.

        Whoever has no key could send what is in the log already.
        """
        for seal in self.seals:
            on = _named(seal.payload)
            if on != _On("ForecastSealed", self.suite, question_hash):
                msg = (
                    f"a {on.type} on question {on.question_hash} of {on.suite} came "
                    f"with the question {question_hash} of {self.suite}: sign a "
                    "ForecastSealed on the question that is to be opened"
                )
                raise RefusedError("seal-not-on-question", msg)
        if all(writer.holds(seal.payload) for seal in self.seals):
            msg = (
                f"no forecast on the question {question_hash} is new: sign one, and "
                "send it with the question"
            )
            raise RefusedError("seal-not-on-question", msg)

    def found(self, writer: Writer) -> int:
        """Return how many events are the caller's: an opening comes before them."""
        del writer
        return len(self.seals)


def unit_of(state: State, suite: str, question: Question) -> Unit | None:
    """Return the unit of a question's name, if it is open: not by thieves alone."""
    name = unit_name(suite, question.template, question.id, question.horizon)
    unit = state.units.named(name)
    return unit if unit is not None and unit.is_asked(state.lost) else None


def found_unit(writer: Writer, suite: str, name: str) -> Found | None:
    """Return what the log knows of a unit, or None; refuse a suite that there is not."""
    state = writer.state
    frozen = require_suite(state, suite)
    unit = state.units.named(name)
    if unit is None:
        return None
    question, standing = unit.question(state.lost), unit.standing(state.lost)
    ends = {name: chain.end(state.lost) for name, chain in unit.chains.items()}
    # The rules need no text, and keep none in memory.
    brought = writer.event_at(question.seq)
    stated = (
        brought.question
        if isinstance(brought, ForecastSealed | ResolutionRecorded)
        else None
    )
    return Found(
        question_hash=question.question_hash,
        suite_hash=frozen.suite_hash,
        status=None if standing is None else standing.status,
        record=None if standing is None else standing.event_id,
        acceptance_hash=question.acceptance_hash,
        text_hash=None if stated is None else stated.text_hash,
        answers=question.answers,
        chains={name: end.event_id for name, end in ends.items()},
        positions={name: end.seq for name, end in ends.items()},
    )


def stored_unit(writer: Writer, asked: UnitStored) -> Unit | None:
    """Return a unit as the rules keep it, for a program that drafts what comes next."""
    state = writer.state
    if asked.name is not None:
        return state.units.named(asked.name)
    return state.unit_of(asked.suite, asked.question_hash or "")


def proposed(writer: Writer, openings: Openings, asked: Asked) -> dict[str, object]:
    """Return the question to seal on: the one that would be opened, or is open."""
    state = writer.state
    opening = openings.named(asked.suite, asked.template, asked.horizon)
    question = openings.question(asked)
    frozen = require_suite(state, opening.suite)
    unit = unit_of(state, opening.suite, question)
    known = None if unit is None else unit.question(state.lost).question_hash
    opens = msgspec.Raw(canonical.encode(question)) if unit is None else None
    return {
        "ledger": state.ledger,
        "suite": opening.suite,
        "suite_hash": frozen.suite_hash,
        "question": opens,
        "question_hash": known or codec.question_hash(question),
        "unit": None if unit is None else found_unit(writer, opening.suite, unit.name),
    }


def require_seals(
    admitted: Sequence[Submission | RefusedError],
) -> tuple[Submission, ...]:
    """Return forecasts to append together; refuse the first that is unfit or none."""
    for each in admitted:
        if isinstance(each, RefusedError):
            raise each
    return tuple(each for each in admitted if isinstance(each, Submission))


def _named(payload: bytes) -> _On:
    try:
        return _ON.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the payload is no event: {error}"
        raise RefusedError("not-canonical", msg) from None


def _require_short(asked: Asked) -> None:
    said = {
        "id": asked.id,
        "target": asked.target,
        "cluster": asked.cluster,
        "text_hash": asked.text_hash,
        **{f"tag {name!r}": text for name, text in asked.tags.items()},
    }
    for name, text in said.items():
        if text is not None and len(text) > LETTERS_MAX:
            why = f"at most {LETTERS_MAX} are taken: send a shorter one, or its hash"
            raise _not_yours(f"the {name} of {len(text):,} letters", why)


def _not_yours(what: str, why: str) -> FaultError:
    msg = f"{what} is not for agents to say here: {why}"
    return FaultError(BAD_PARAMS, msg, "bad-params")
