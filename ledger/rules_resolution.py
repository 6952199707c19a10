"""What may be said to have happened, by whom, and after which record."""

from datetime import datetime

from ledger.clock import instant_text
from ledger.entry import Recorded
from ledger.errors import RefusedError
from ledger.events import ResolutionRecorded
from ledger.keys.roster import Role
from ledger.rules_question import place_by_hash, place_of, require_suite
from ledger.state import State
from ledger.unit import Place, Record

REASONED = ("VOID", "INVALID", "CANCELED", "CENSORED")


def check_resolution(
    state: State, recorded: Recorded, event: ResolutionRecorded, role: Role
) -> Place:
    """Refuse a record without authority, predecessor, reason or valid outcome."""
    frozen = state.suites.get(event.suite) or require_suite(state, event.suite)
    if role == "resolver" and event.author not in frozen.manifest.resolvers:
        allowed = ", ".join(frozen.manifest.resolvers)
        msg = f"{event.author} is no resolver of {event.suite}; its resolvers are {allowed}"
        raise RefusedError("not-a-resolver", msg)
    question = event.question
    if question is None:
        place = place_by_hash(state, event.suite, event.question_hash)
    else:
        place = place_of(state, frozen, recorded, event, question, role=role)
    answers = place.unit.question(state.lost).answers
    _check_content(event, answers, recorded.received_at)
    for name in event.values:
        if name not in frozen.manifest.quantities:
            known = ", ".join(frozen.manifest.quantities) or "it declares none"
            msg = f"{event.suite} declares no quantity {name!r}: {known}"
            raise RefusedError("unknown-quantity", msg)
    if event.confirms is not None:
        _check_confirmation(place.unit.record(event.confirms, state.lost), event)
    else:
        _check_predecessor(place.unit.standing(state.lost), event, role)
    return place


def _check_content(
    event: ResolutionRecorded,
    answers: tuple[str, ...],
    received_at: datetime,
) -> None:
    if (event.outcome is not None) != (event.status == "RESOLVED"):
        msg = f"status is {event.status}: an outcome stands with RESOLVED alone, so leave it out"
        if event.outcome is None:
            msg = f"RESOLVED lacks its outcome: name one of {', '.join(answers)}"
        raise RefusedError("outcome-misplaced", msg)
    if event.outcome is not None and event.outcome not in answers:
        msg = f"outcome {event.outcome!r} is none of the answers: {', '.join(answers)}"
        raise RefusedError("outcome-outside-answers", msg)
    if event.status in REASONED and event.reason_code is None:
        msg = f"{event.status} needs a reason_code, so that it can be counted by reason"
        raise RefusedError("reason-missing", msg)
    if event.published_at is not None and event.published_at > received_at:
        msg = (
            f"published_at {instant_text(event.published_at)} is after the ledger's clock, "
            f"{instant_text(received_at)}: record an outcome once it is published"
        )
        raise RefusedError("published-after-receipt", msg)


def _check_predecessor(
    standing: Record | None,
    event: ResolutionRecorded,
    role: Role,
) -> None:
    if standing is None:
        if event.supersedes is not None:
            msg = f"no record stands that {event.supersedes} could be: leave it out"
            raise RefusedError("supersedes-wrong", msg)
        return
    if event.supersedes != standing.event_id:
        msg = (
            f"the unit stands at {standing.status} by {standing.event_id}: a further "
            f"record must say that it supersedes it, not {event.supersedes or 'nothing'}"
        )
        raise RefusedError("supersedes-missing", msg)
    if role == "issuer" and standing.status != "PENDING":
        msg = f"the unit is {standing.status}: only a resolver may open it again"
        raise RefusedError("wrong-role", msg)


def _check_confirmation(confirmed: Record | None, event: ResolutionRecorded) -> None:
    if confirmed is None or confirmed.status == "PENDING":
        msg = (
            f"{event.confirms} is no record of an outcome of this unit that decides "
            "anything: name one, and no PENDING record, no other review, nothing that a "
            "compromised key signed"
        )
        raise RefusedError("nothing-to-confirm", msg)
    if confirmed.author == event.author:
        msg = (
            f"{event.author} recorded {event.confirms} and cannot review its own record"
        )
        raise RefusedError("own-review", msg)
    if event.supersedes is not None or event.status == "PENDING":
        msg = "a review supersedes nothing and is not PENDING: it changes nothing"
        raise RefusedError("review-unfit", msg)
