"""Which question may be asked in a suite, and by whom."""

from functools import lru_cache

from ledger.clock import HOUR_SECONDS, instant_text, span
from ledger.codec import question_hash
from ledger.entry import Recorded
from ledger.errors import RefusedError
from ledger.events import ForecastSealed, Question, ResolutionRecorded
from ledger.keys.roster import Role
from ledger.state import FrozenSuite, State
from ledger.suite import Template
from ledger.unit import OPENERS, Asked, Place, Unit, unit_name


def require_suite(state: State, suite: str) -> FrozenSuite:
    """Return a frozen suite, or refuse its name."""
    frozen = state.suites.get(suite)
    if frozen is None:
        known = ", ".join(sorted(state.suites)) or "none"
        msg = f"{suite!r} was never frozen here; frozen are: {known}"
        raise RefusedError("unknown-suite", msg)
    return frozen


def place_of(
    state: State,
    frozen: FrozenSuite,
    recorded: Recorded,
    event: ForecastSealed | ResolutionRecorded,
    question: Question,
    *,
    role: Role,
) -> Place:
    """Return the unit of a question that an event brings, a new one where it opens it.

    Refuses a question that is outside its template's bounds, or brought by someone
    who may not bring it.
    """
    suite, actual = event.suite, question_hash(question)
    if event.question_hash not in {None, actual}:
        msg = f"question_hash is {event.question_hash}, and the question's hash is {actual}"
        raise RefusedError("question-hash-wrong", msg)
    template = _require_template(frozen, question)
    asked = _asked(question, actual, template, recorded)
    brought = asked if role in OPENERS[template.question_owner] else None
    unit = state.units.asked(suite, actual)
    if unit is not None:
        return Place(unit, actual, is_new=False, brought=brought)
    check_bounds(question, template)
    name = unit_name(suite, question.template, question.id, question.horizon)
    unit = state.units.named(name)
    # What only thieves asked is not open: whoever asks it now, opens it.
    if unit is None or not unit.is_asked(state.lost):
        _require_may_open(state, frozen, question, actual_hash=actual, role=role)
    if unit is None:
        # The suite's own words, which are in memory once, and not each event's.
        own = frozen.manifest.suite
        fresh = Unit(name=name, suite=own, template=template.id, asked=[asked])
        return Place(fresh, actual, is_new=True)
    return Place(unit, actual, is_new=True, brought=brought)


def _asked(
    question: Question, actual: str, template: Template, recorded: Recorded
) -> Asked:
    is_listed = template.question_owner == "evaluator"
    return Asked(
        question_hash=actual,
        resolve_by=question.resolve_by,
        answers=template.answers or question.answers,
        acceptance_hash=question.acceptance_hash,
        key=b"" if is_listed else recorded.author_key,
        seq=recorded.seq,
    )


def place_by_hash(state: State, suite: str, stated_hash: str | None) -> Place:
    """Return the unit of a question that is known; refuse any other hash."""
    if stated_hash is None:
        msg = "the event names no question: give `question`, or `question_hash`"
        raise RefusedError("question-missing", msg)
    unit = state.units.asked(suite, stated_hash)
    if unit is None:
        msg = (
            f"no question with hash {stated_hash} is open in {suite}: "
            "give the whole question, or have it opened first"
        )
        raise RefusedError("unknown-question", msg)
    return Place(unit, stated_hash, is_new=False)


def _require_template(frozen: FrozenSuite, question: Question) -> Template:
    template = frozen.templates.get(question.template)
    if template is None:
        known = ", ".join(frozen.templates)
        msg = f"{frozen.manifest.suite} has no template {question.template!r}; it has {known}"
        raise RefusedError("unknown-template", msg)
    require_observable(template)
    return template


def require_observable(template: Template) -> None:
    """Refuse a template of which nothing is forecast."""
    if not template.is_observable:
        msg = f"{template.id} is {template.kind}: it is evidence, never forecast or resolved"
        raise RefusedError("not-observable", msg)


def check_bounds(question: Question, template: Template) -> None:
    """Refuse a question that its template does not allow, whoever brings it."""
    if not question.opened_at <= question.cutoff_at <= question.resolve_by:
        msg = (
            f"opened_at {instant_text(question.opened_at)}, cutoff_at "
            f"{instant_text(question.cutoff_at)} and resolve_by "
            f"{instant_text(question.resolve_by)} must follow in this order"
        )
        raise RefusedError("times-out-of-order", msg)
    if template.requires_acceptance and question.acceptance_hash is None:
        msg = (
            f"{template.id} requires an acceptance_hash: the bar, fixed before the work"
        )
        raise RefusedError("acceptance-hash-missing", msg)
    reason = _outside(question, template)
    if reason is not None:
        raise RefusedError("question-outside-template", f"{question.id}: {reason}")


def _outside(question: Question, template: Template) -> str | None:
    """Return how a question leaves its template's bounds, or None."""
    if question.horizon not in template.horizons:
        return f"horizon {question.horizon!r} is none of {', '.join(template.horizons)}"
    strange = [tag for tag in question.tags if tag not in template.allowed_tags]
    if strange:
        return f"tag {min(strange)!r} is none of {', '.join(template.allowed_tags) or 'none'}"
    if template.answers and question.answers:
        return f"answers are fixed by {template.id}: leave them out"
    if not template.answers and len(set(question.answers)) < max(
        2,
        len(question.answers),
    ):
        return (
            f"{template.id} leaves the answers open: give at least two, all different"
        )
    if question.text is not None and question.text_hash is not None:
        return "give text or text_hash, not both"
    return _outside_times(question, template)


def _outside_times(question: Question, template: Template) -> str | None:
    if template.max_open_hours is not None:
        longest = _hours(template.max_open_hours)
        if question.resolve_by - question.opened_at > longest:
            return (
                f"resolve_by is more than {template.max_open_hours} h after opened_at"
            )
    if template.min_lead_hours is not None:
        shortest = _hours(template.min_lead_hours)
        if question.resolve_by - question.cutoff_at < shortest:
            return (
                f"cutoff_at is less than {template.min_lead_hours} h before resolve_by"
            )
    return None


_hours = lru_cache(maxsize=64)(lambda hours: span(hours * HOUR_SECONDS))


def _require_may_open(
    state: State,
    frozen: FrozenSuite,
    question: Question,
    *,
    actual_hash: str,
    role: Role,
) -> None:
    suite = frozen.manifest.suite
    template = frozen.templates[question.template]
    is_listed = actual_hash in frozen.listed.get(template.id, frozenset())
    # A pinned question has been open since its suite was frozen: though nobody
    # forecast it, it is counted, and what became of it may be said.
    is_outcome = is_listed and role == "resolver"
    if state.is_superseded(suite) and not is_outcome:
        msg = (
            f"{suite} is superseded and opens no new questions: use the latest version"
        )
        raise RefusedError("superseded-suite", msg)
    owner = template.question_owner
    allowed = is_listed if owner == "evaluator" else role in OPENERS[owner]
    if not allowed:
        remedies: dict[str | None, str] = {
            "evaluator": f"its questions are the pinned list {template.questions!r}",
            "issuer": "an issuer opens its questions with a PENDING record",
            "forecaster": "a forecaster or an issuer brings its questions",
        }
        msg = f"{question.id} ({actual_hash}) is not open in {suite}/{template.id}: {remedies[owner]}"
        raise RefusedError("not-the-question-owner", msg)
