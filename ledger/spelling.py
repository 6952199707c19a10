"""What the types of an event leave open: alphabets, offsets, defaults, sums.

Called at the door and by the audit, for each event once. Names and numbers
recur, so they are looked up; hashes do not, so they are checked all together.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from ledger.errors import RefusedError
from ledger.events import (
    Forecast,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.grammar import DECIMAL_PATTERN, KEY_PATTERN, PROBABILITY_PATTERN

PPM = 1_000_000
_PLACES_MAX = 6
_HEX = re.compile(r"[0-9a-f]*")
_KEY = re.compile(KEY_PATTERN)
_DECIMAL = re.compile(DECIMAL_PATTERN)
_PROBABILITY = re.compile(PROBABILITY_PATTERN)


def require_spelling(event: LedgerEvent) -> None:
    """Raise `RefusedError` where an event that decodes is still misspelt.

    The code is `not-canonical`, `too-many-places` or `sum-not-one`.
    """
    hashes: list[str | None] = [event.ledger]
    names: list[str] = []
    numbers: list[str] = []
    times: list[datetime | None] = [event.created_at]
    match event:
        case ForecastSealed() | ForecastUpdated():
            _of_forecast(event, hashes, names, numbers, times)
        case ResolutionRecorded():
            _of_resolution(event, hashes, names, numbers, times)
        case SuiteFrozen():
            pass
    question = getattr(event, "question", None)
    if question is not None:
        _of_question(question, hashes, names, times)
    _require(_HEX.fullmatch("".join(filter(None, hashes))), "hash", hashes)
    _require(all(map(_is_key, names)), "name", names)
    _require(all(map(_is_decimal, numbers)), "number", numbers)
    if any(time is not None and time.tzinfo is not UTC for time in times):
        msg = "a time has an offset: write it in UTC, with Z"
        raise RefusedError("not-canonical", msg)
    if isinstance(event, Forecast) and event.probabilities:
        require_vector(event.probabilities)


def _of_question(
    question: Question,
    hashes: list[str | None],
    names: list[str],
    times: list[datetime | None],
) -> None:
    hashes += (question.text_hash, question.acceptance_hash)
    names += question.answers
    names += question.tags
    _of_extensions(question.extensions, names)
    times += (question.opened_at, question.cutoff_at, question.resolve_by)
    if question.target == question.id:
        msg = "the question's target equals its id, which is the default: leave it out"
        raise RefusedError("not-canonical", msg)
    if question.cluster is not None and question.cluster == question.target_name:
        msg = "the question's cluster equals its target, the default: leave it out"
        raise RefusedError("not-canonical", msg)


def _of_forecast(
    event: ForecastSealed | ForecastUpdated,
    hashes: list[str | None],
    names: list[str],
    numbers: list[str],
    times: list[datetime | None],
) -> None:
    hashes += (event.suite_hash, event.question_hash, event.commitment)
    if isinstance(event, ForecastUpdated):
        hashes += (event.parent, event.opens, event.salt)
    names += event.probabilities
    _of_extensions(event.extensions, names)
    seen = event.evidence
    if seen is not None:
        hashes += (seen.manifest_hash, seen.feature_snapshot_hash)
        names += seen.features
        times += (seen.cutoff_at, seen.training_cutoff_at)
    for name, quantity in event.quantities.items():
        names.append(name)
        names += quantity.quantiles
        numbers += quantity.quantiles.values()
        numbers += quantity.samples
        if quantity.point is not None:
            numbers.append(quantity.point)


def _of_resolution(
    event: ResolutionRecorded,
    hashes: list[str | None],
    names: list[str],
    numbers: list[str],
    times: list[datetime | None],
) -> None:
    hashes += (
        event.question_hash,
        event.evidence_hash,
        event.acceptance_hash,
        event.supersedes,
        event.confirms,
    )
    names += event.values
    numbers += event.values.values()
    _of_extensions(event.extensions, names)
    times += (event.started_at, event.occurred_at, event.published_at)


def _of_extensions(extensions: dict[str, dict[str, str]], names: list[str]) -> None:
    for name, values in extensions.items():
        names.append(name)
        names += values


def _require(is_well_spelt: object, what: str, found: Iterable[str | None]) -> None:
    if not is_well_spelt:
        wrong = [text for text in found if text is not None and not _fits(what, text)]
        msg = f"{wrong[0]!r} is no {what} as payloads spell it (docs/wire-format.md)"
        raise RefusedError("not-canonical", msg)


def _fits(what: str, text: str) -> bool:
    if what == "hash":
        return _HEX.fullmatch(text) is not None
    return _is_key(text) if what == "name" else _is_decimal(text)


@lru_cache(maxsize=4_096)
def _is_key(text: str) -> bool:
    return _KEY.match(text) is not None


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


def require_vector(probabilities: dict[str, str]) -> None:
    """Refuse a vector that does not sum to exactly 1."""
    total = sum(map(ppm, probabilities.values()))
    if total != PPM:
        msg = f"the probabilities sum to {total} millionths, not to {PPM}: {probabilities}"
        raise RefusedError("sum-not-one", msg)
