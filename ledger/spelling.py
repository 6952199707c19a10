"""What the types of an event leave open: alphabets, offsets, defaults, sums.

Called at the door and by the audit, for each event once. Names and numbers
recur, so they are remembered; hashes do not, so they are checked together.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ledger.errors import RefusedError
from ledger.events import (
    Evidence,
    Forecast,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Quantity,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.grammar import DECIMAL_PATTERN, KEY_PATTERN, PROBABILITY_PATTERN
from ledger.suite import SuiteManifest

PPM = 1_000_000
_PLACES_MAX = 6
# Answers of vectors that are remembered: thousands of long ones would fill a memory.
_RECURRING_MAX = 8
_HEX = re.compile(r"[0-9a-f]*")
_HEX_DIGITS = b"0123456789abcdef"
_KEY = re.compile(KEY_PATTERN)
_DECIMAL = re.compile(DECIMAL_PATTERN)
_PROBABILITY = re.compile(PROBABILITY_PATTERN)


def require_spelling(*events: LedgerEvent) -> None:
    """Raise `RefusedError` where one of the events, which decode, is still misspelt.

    The code is `not-canonical`, `too-many-places` or `sum-not-one`.
    """
    for event in events:
        if event.created_at.tzinfo is not UTC:
            _require_utc(event.created_at)
    _require_hashes("".join([_HASHES[type(each)](each) for each in events]))


def require_question(question: Question) -> None:
    """Raise `RefusedError` (`not-canonical`) where no event could bring a question."""
    _require_hashes(_hashes_of_question(question))


# What follows refuses all but hashes, and returns those, one after the other, so that
# the hashes of many events are looked at together.


def _hashes_of_seal(event: ForecastSealed) -> str:
    question = event.question
    own = "" if question is None else _hashes_of_question(question)
    return _hashes_of_forecast(event, own)


def _hashes_of_update(event: ForecastUpdated) -> str:
    own = f"{event.parent}{event.opens or ''}{event.salt or ''}"
    return _hashes_of_forecast(event, own)


def _hashes_of_forecast(event: Forecast, own: str) -> str:
    """Return the hashes of both kinds of forecast; `own` are those of its kind alone."""
    evidence = "" if event.evidence is None else _hashes_of_evidence(event.evidence)
    if event.quantities:
        _check_quantities(event.quantities)
    if event.extensions:
        _check_extensions(event.extensions)
    if len(event.probabilities) > _RECURRING_MAX:
        _require_names(tuple(event.probabilities))
        require_vector(event.probabilities)
    elif event.probabilities:
        _require_sound(tuple(event.probabilities.items()))
    return (
        f"{event.ledger or ''}{event.suite_hash}{event.question_hash or ''}"
        f"{event.commitment or ''}{own}{evidence}"
    )


def _hashes_of_resolution(event: ResolutionRecorded) -> str:
    for time in (event.started_at, event.occurred_at, event.published_at):
        if time is not None and time.tzinfo is not UTC:
            _require_utc(time)
    if event.values:
        _require_names(tuple(event.values))
        _require_decimals(event.values.values())
    if event.extensions:
        _check_extensions(event.extensions)
    asked = "" if event.question is None else _hashes_of_question(event.question)
    return (
        f"{event.ledger or ''}{event.question_hash}{event.evidence_hash or ''}"
        f"{event.acceptance_hash or ''}{event.supersedes or ''}{event.confirms or ''}{asked}"
    )


def _hashes_of_frozen(event: SuiteFrozen) -> str:
    if isinstance(event.manifest, SuiteManifest):
        for split in event.manifest.statistics.splits:
            _require_utc(split.from_)
            _require_utc(split.until)
    return event.ledger or ""


_HASHES: dict[type[LedgerEvent], Callable[[Any], str]] = {
    SuiteFrozen: _hashes_of_frozen,
    ForecastSealed: _hashes_of_seal,
    ForecastUpdated: _hashes_of_update,
    ResolutionRecorded: _hashes_of_resolution,
}


def _hashes_of_question(question: Question) -> str:
    for time in (question.opened_at, question.cutoff_at, question.resolve_by):
        if time.tzinfo is not UTC:
            _require_utc(time)
    if question.answers:
        _require_names(question.answers)
    if question.tags:
        _require_names(tuple(question.tags))
    if question.extensions:
        _check_extensions(question.extensions)
    if question.target == question.id:
        msg = "the question's target equals its id, which is the default: leave it out"
        raise RefusedError("not-canonical", msg)
    if question.cluster is not None and question.cluster == question.target_name:
        msg = "the question's cluster equals its target, the default: leave it out"
        raise RefusedError("not-canonical", msg)
    return (question.text_hash or "") + (question.acceptance_hash or "")


def _hashes_of_evidence(evidence: Evidence) -> str:
    for time in (evidence.cutoff_at, evidence.training_cutoff_at):
        if time is not None and time.tzinfo is not UTC:
            _require_utc(time)
    if evidence.features:
        _require_names(tuple(evidence.features))
    return (evidence.manifest_hash or "") + (evidence.feature_snapshot_hash or "")


def _check_quantities(quantities: dict[str, Quantity]) -> None:
    _require_names(tuple(quantities))
    for quantity in quantities.values():
        _require_names(tuple(quantity.quantiles))
        _require_decimals(quantity.quantiles.values())
        _require_decimals(quantity.samples)
        _require_decimals(() if quantity.point is None else (quantity.point,))


def _check_extensions(extensions: dict[str, dict[str, str]]) -> None:
    _require_names(tuple(extensions))
    for values in extensions.values():
        _require_names(tuple(values))


def _require_utc(time: datetime) -> None:
    if time.tzinfo is not UTC:
        msg = f"{time.isoformat()} has an offset: write the time in UTC, with Z"
        raise RefusedError("not-canonical", msg)


def _require_hashes(hashes: str) -> None:
    """Refuse a wrong digit in hashes written one after the other, 64 digits each."""
    # Deleting the digits is twice as fast as matching them.
    if hashes.encode().translate(None, _HEX_DIGITS):
        several = (hashes[at : at + 64] for at in range(0, len(hashes), 64))
        wrong = next(text for text in several if not _HEX.fullmatch(text))
        msg = f"{wrong!r} is no hash: write 64 lower-case hexadecimal digits"
        raise RefusedError("not-canonical", msg)


def _require_names(names: tuple[str, ...]) -> None:
    if not _are_keys(names):
        wrong = next(name for name in names if not _KEY.match(name))
        msg = (
            f"{wrong!r} cannot be a key: use up to 128 of A-Z a-z 0-9 _ . : / + - "
            "and spaces, starting with a letter, a digit or _"
        )
        raise RefusedError("not-canonical", msg)


def _require_decimals(numbers: Iterable[str]) -> None:
    for number in numbers:
        if not _is_decimal(number):
            msg = f"{number!r} is no decimal as payloads spell it: write -1.5, 0 or 12"
            raise RefusedError("not-canonical", msg)


@lru_cache(maxsize=4_096)
def _are_keys(names: tuple[str, ...]) -> bool:
    return all(map(_KEY.match, names))


@lru_cache(maxsize=4_096)
def _is_decimal(text: str) -> bool:
    return _DECIMAL.match(text) is not None


@lru_cache(maxsize=16_384)
def ppm(probability: str) -> int:
    """Return a probability as payloads spell it in parts per million, exactly.

    Raises `RefusedError`: `not-canonical` for another spelling, `too-many-places`
    for more than six places.
    """
    if not _PROBABILITY.match(probability):
        msg = f"{probability!r} is no probability: write 0, 1 or a decimal such as 0.25"
        raise RefusedError("not-canonical", msg)
    if len(probability) == 1:
        return PPM if probability == "1" else 0
    places = probability[2:]
    if len(places) > _PLACES_MAX:
        msg = (
            f"{probability} has {len(places)} places, and six are allowed: "
            "round the vector to millionths so that it sums to 1"
        )
        raise RefusedError("too-many-places", msg)
    return int(places.ljust(_PLACES_MAX, "0"))


@lru_cache(maxsize=16_384)
def _require_sound(vector: tuple[tuple[str, str], ...]) -> None:
    """Refuse a vector with a name that is none, or another sum; those let in recur."""
    probabilities = dict(vector)
    _require_names(tuple(probabilities))
    require_vector(probabilities)


def require_vector(probabilities: dict[str, str]) -> None:
    """Refuse a vector that does not sum to exactly 1."""
    total = sum(map(ppm, probabilities.values()))
    if total != PPM:
        said = ", ".join(f"{name}={text}" for name, text in probabilities.items())
        msg = f"the probabilities sum to {total} millionths, not to {PPM}: {said}"
        raise RefusedError("sum-not-one", msg)
