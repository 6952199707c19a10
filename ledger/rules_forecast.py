"""Vectors, chains and reveals: what a forecaster may commit."""

from datetime import datetime
from decimal import Decimal

from ledger.clock import HOUR_SECONDS, instant_text, span
from ledger.entry import Recorded
from ledger.errors import RefusedError
from ledger.events import Forecast, ForecastSealed, ForecastUpdated, Quantity
from ledger.rules_question import place_by_hash, place_of, require_suite
from ledger.state import FrozenSuite, State
from ledger.unit import Asked, Chain, Link, Place, Unit


def check_seal(state: State, recorded: Recorded, event: ForecastSealed) -> Place:
    """Refuse a first vector that its suite, question or answers do not allow."""
    frozen = state.suites.get(event.suite) or require_suite(state, event.suite)
    _check_competitor(frozen, event)
    question = event.question
    if question is None:
        place = place_by_hash(state, event.suite, event.question_hash)
        answers = place.unit.known_as(place.question_hash, state.lost).answers
    else:
        place = place_of(state, frozen, recorded, event, question, role="forecaster")
        answers = frozen.templates[question.template].answers or question.answers
    _check_vector(frozen, event, answers)
    return place


def check_update(state: State, recorded: Recorded, event: ForecastUpdated) -> Place:
    """Refuse an update that does not attach to the end of its own chain."""
    frozen = state.suites.get(event.suite) or require_suite(state, event.suite)
    _check_competitor(frozen, event)
    place = place_by_hash(state, event.suite, event.question_hash)
    unit = place.unit
    asked = unit.known_as(place.question_hash, state.lost)
    chain, parent = _require_chain(state, unit, event)
    if event.created_at < parent.created_at:
        msg = (
            f"the update was created {instant_text(event.created_at)}, before its parent "
            f"({instant_text(parent.created_at)})"
        )
        raise RefusedError("created-before-parent", msg)
    if event.opens is not None or event.salt is not None:
        opens = chain.hidden.get(event.opens or "")
        is_closed = opens is not None and opens.is_closed(state.lost)
        _check_reveal(event, is_closed=is_closed)
        _check_in_time(frozen, unit.question(state.lost), recorded.received_at)
    _check_vector(frozen, event, asked.answers)
    return place


def _require_chain(
    state: State, unit: Unit, event: ForecastUpdated
) -> tuple[Chain, Link]:
    """Return the forecaster's own chain and its end, to which the update attaches."""
    own = unit.chains.get(event.forecaster)
    last = None if own is None else own.end(state.lost)
    if own is not None and last is not None and last.event_id == event.parent:
        return own, last
    for name, chain in unit.chains.items():
        if chain is not own and chain.end(state.lost).event_id == event.parent:
            msg = f"the parent {event.parent} is {name}'s forecast, not {event.forecaster}'s"
            raise RefusedError("foreign-parent", msg)
    if last is None:
        msg = f"{event.forecaster} has sealed nothing on {unit.called}: seal a forecast first"
        raise RefusedError("unknown-parent", msg)
    msg = f"the parent must be the chain's last, {last.event_id}, not {event.parent}"
    raise RefusedError("parent-not-last", msg)


def _check_reveal(event: ForecastUpdated, *, is_closed: bool) -> None:
    if event.opens is None or event.salt is None or event.commitment is not None:
        msg = "a reveal has opens, salt and probabilities, and no commitment of its own"
        raise RefusedError("reveal-incomplete", msg)
    if not is_closed:
        msg = f"{event.opens} is no hidden forecast of {event.forecaster} that is still closed"
        raise RefusedError("nothing-to-open", msg)


def _check_in_time(frozen: FrozenSuite, asked: Asked, received_at: datetime) -> None:
    hours = frozen.manifest.reveal_by_hours
    if received_at - asked.resolve_by > span(hours * HOUR_SECONDS):
        msg = f"a hidden forecast may be opened until {hours} h after resolve_by: it is later"
        raise RefusedError("reveal-too-late", msg)


def _check_competitor(frozen: FrozenSuite, event: Forecast) -> None:
    competitor = frozen.competitors.get(event.forecaster)
    if competitor is None:
        known = ", ".join(frozen.competitors)
        msg = f"{event.suite} has no competitor {event.forecaster!r}; it has {known}"
        raise RefusedError("unknown-competitor", msg)
    if competitor.principal != event.author:
        who = competitor.principal or f"the method {competitor.method}"
        msg = f"{event.forecaster} is sealed by {who}, not by {event.author}"
        raise RefusedError("not-your-competitor", msg)
    budgets = frozen.manifest.adaptation_budgets
    if event.adaptation_budget is not None and event.adaptation_budget not in budgets:
        msg = (
            f"adaptation_budget {event.adaptation_budget!r} is none that {event.suite} "
            f"declares: {', '.join(budgets) or 'it declares none'}"
        )
        raise RefusedError("unknown-budget", msg)
    evidence = event.evidence
    if frozen.manifest.tier == "blind_archive" and (
        evidence is None or evidence.training_cutoff_at is None
    ):
        msg = f"{event.suite} is a blind archive: state evidence.training_cutoff_at"
        raise RefusedError("training-cutoff-missing", msg)


def _check_vector(
    frozen: FrozenSuite,
    event: Forecast,
    answers: tuple[str, ...],
) -> None:
    if bool(event.probabilities) == (event.commitment is not None):
        msg = "give probabilities, or a commitment to hidden ones: one of the two"
        raise RefusedError("vector-missing", msg)
    if event.probabilities and event.probabilities.keys() != set(answers):
        msg = (
            f"the vector is over {', '.join(event.probabilities)}, and the question's "
            f"answers are {', '.join(answers)}"
        )
        raise RefusedError("answers-mismatch", msg)
    for name, quantity in event.quantities.items():
        _check_quantity(frozen, event.suite, name, quantity)


def _check_quantity(
    frozen: FrozenSuite,
    suite: str,
    name: str,
    quantity: Quantity,
) -> None:
    if name not in frozen.manifest.quantities:
        known = ", ".join(frozen.manifest.quantities) or "it declares none"
        msg = f"{suite} declares no quantity {name!r}: {known}"
        raise RefusedError("unknown-quantity", msg)
    levels = []
    for text, value in quantity.quantiles.items():
        level = _level(text)
        if level is None:
            msg = f'{name}: {text!r} is no quantile level between 0 and 1, as "0.25" is'
            raise RefusedError("quantile-level-invalid", msg)
        levels.append((level, Decimal(value)))
    ordered = [value for _, value in sorted(levels)]
    if ordered != sorted(ordered):
        msg = f"{name}: a higher quantile is below a lower one: quantiles may not cross"
        raise RefusedError("quantiles-cross", msg)


def _level(text: str) -> Decimal | None:
    """Return a canonical decimal strictly between 0 and 1, or None."""
    digits = text.removeprefix("0.")
    canonical = digits != text and digits.isascii() and digits.isdigit()
    return Decimal(text) if canonical and not digits.endswith("0") else None
