"""The docket: units to be judged, and all their events, as columns.

Nothing is decided here that a rule decides; it is only said which events state the
same. Events of a unit stand together, in log order.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from ledger.errors import CorruptLogError
from ledger.events import Forecast, ResolutionRecorded
from ledger.projections.columns import (
    Flags,
    Integers,
    flags,
    instants_us,
    integers,
)
from ledger.projections.grouping import E, Group, Said
from ledger.projections.openings import canonical
from ledger.projections.payloads import (
    Evidence,
    ForecastUpdated,
    Payload,
    Question,
    read_whole,
)
from ledger.projections.suites import Frozen, SuiteVersion


class Units(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row a unit. `number` is the position of its first event.

    `is_spoken` is false where only compromised keys ever opened it, and nobody else
    said what became of it: such a unit is none of the suite's.
    """

    number: Integers
    suites: list[SuiteVersion]
    questions: list[Question]
    question_hashes: list[str]
    other_questions: list[list[str]]
    identities: list[str]
    answers: list[tuple[str, ...]]
    is_claimed: Flags
    is_spoken: Flags
    opened_us: Integers
    cutoff_us: Integers
    resolve_by_us: Integers


class Forecasts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row a ForecastSealed or ForecastUpdated; `unit` is a row of `Units`."""

    unit: Integers
    seq: Integers
    names: Sequence[str]
    # Equal numbers, equal names.
    forecaster: Integers
    probabilities: Sequence[dict[str, str]]
    budgets: Sequence[str | None]
    evidence: Sequence[Evidence | None]
    # What each vector says that it cost, a text by name; None or empty for nothing.
    costs: Sequence[dict[str, str] | None]
    is_update: Flags
    is_reveal: Flags
    is_hidden: Flags
    is_compromised: Flags
    is_of_other_suite: Flags
    is_of_other_question: Flags
    created_us: Integers
    received_us: Integers
    entries: Sequence[Payload]

    def event(self, row: int) -> Forecast:
        """Return the whole event of a row."""
        event = read_whole(self.entries[row].payload)
        assert isinstance(event, Forecast)
        return event


class Records(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row a ResolutionRecorded. Those that do not count change nothing.

    `counts` is of neither a review nor what a compromised key signed.
    """

    unit: Integers
    seq: Integers
    authors: Sequence[str]
    statuses: Sequence[str]
    outcomes: Sequence[str | None]
    reasons: Sequence[str | None]
    counts: Flags
    is_review: Flags
    is_heard: Flags
    is_compromised: Flags
    is_pending: Flags
    is_of_other_question: Flags
    is_of_other_bar: Flags
    created_us: Integers
    received_us: Integers
    started_us: Integers
    published_us: Integers
    entries: Sequence[Payload]

    def event(self, row: int) -> ResolutionRecorded:
        """Return the whole event of a row."""
        event = read_whole(self.entries[row].payload)
        assert isinstance(event, ResolutionRecorded)
        return event


class Docket(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything that some units are judged by."""

    frozen: Frozen
    units: Units
    forecasts: Forecasts
    records: Records


def gather(groups: Sequence[Group], frozen: Frozen) -> Docket:
    """Return the docket of some units; a group has all events of its unit.

    Raises `CorruptLogError` where a first event does not bring the question, or
    its suite was never frozen.
    """
    units = _units(groups, frozen)
    return Docket(
        frozen=frozen,
        units=units,
        forecasts=_forecasts(groups, units, frozen),
        records=_records(groups, units, frozen),
    )


def _units(groups: Sequence[Group], frozen: Frozen) -> Units:
    suites = [_suite(group, frozen) for group in groups]
    asked = [
        canonical(group, suite, frozen.charters)
        for group, suite in zip(groups, suites, strict=True)
    ]
    questions = [each.question for each in asked]
    return Units(
        number=integers([group.first_seq for group in groups]),
        suites=suites,
        questions=questions,
        question_hashes=[each.question_hash for each in asked],
        other_questions=[each.others for each in asked],
        identities=[group.identity or "" for group in groups],
        answers=[
            suite.templates[question.template].answers or question.answers
            for suite, question in zip(suites, questions, strict=True)
        ],
        is_claimed=flags([suite.is_claimed for suite in suites]),
        is_spoken=flags([each.is_spoken for each in asked]),
        opened_us=instants_us([question.opened_at for question in questions]),
        cutoff_us=instants_us([question.cutoff_at for question in questions]),
        resolve_by_us=instants_us([question.resolve_by for question in questions]),
    )


def _suite(group: Group, frozen: Frozen) -> SuiteVersion:
    suite = frozen.suites.get(group.suite)
    if suite is None:
        raise CorruptLogError(f"{group.suite} was never frozen", seq=group.first_seq)
    return suite


def _forecasts(groups: Sequence[Group], units: Units, frozen: Frozen) -> Forecasts:
    said = [group.forecasts for group in groups]
    unit = _unit_of_each(said)
    seqs, hashes, events, entries = _columns(said)
    suite_hashes = [suite.suite_hash for suite in units.suites]
    names = [each.forecaster for each in events]
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return Forecasts(
        unit=unit,
        seq=integers(seqs),
        names=names,
        forecaster=integers([codes[name] for name in names]),
        probabilities=[each.probabilities for each in events],
        budgets=[each.adaptation_budget for each in events],
        evidence=[each.evidence for each in events],
        costs=[each.extensions.cost if each.extensions else None for each in events],
        is_update=flags([isinstance(each, ForecastUpdated) for each in events]),
        is_reveal=flags([each.opens is not None for each in events]),
        is_hidden=flags([each.commitment is not None for each in events]),
        is_compromised=_compromised(entries, frozen),
        is_of_other_suite=_differ(
            [each.suite_hash for each in events], suite_hashes, unit
        ),
        is_of_other_question=_differ(hashes, units.question_hashes, unit),
        created_us=instants_us([each.created_at for each in events]),
        received_us=instants_us([each.received_at for each in entries]),
        entries=entries,
    )


def _records(groups: Sequence[Group], units: Units, frozen: Frozen) -> Records:
    said = [group.records for group in groups]
    unit = _unit_of_each(said)
    seqs, hashes, events, entries = _columns(said)
    outcomes = [each.outcome for each in events]
    is_review = flags([each.confirms is not None for each in events])
    is_compromised = _compromised(entries, frozen)
    counts = ~(is_review | is_compromised)
    is_heard = is_review & ~is_compromised
    if frozen.charters.compromised:
        counts &= _answered(outcomes, units, unit)
        is_heard &= _of_what_counts(entries, is_review, counts)
    bars = [question.acceptance_hash for question in units.questions]
    stated = [each.acceptance_hash for each in events]
    return Records(
        unit=unit,
        seq=integers(seqs),
        authors=[each.author for each in events],
        statuses=[each.status for each in events],
        outcomes=outcomes,
        reasons=[each.reason_code for each in events],
        counts=counts,
        is_review=is_review,
        is_heard=is_heard,
        is_compromised=is_compromised,
        is_pending=flags([each.status == "PENDING" for each in events]),
        is_of_other_question=_differ(hashes, units.question_hashes, unit),
        is_of_other_bar=flags([bar is not None for bar in stated])
        & _differ(stated, bars, unit),
        created_us=instants_us([each.created_at for each in events]),
        received_us=instants_us([each.received_at for each in entries]),
        started_us=instants_us([each.started_at for each in events]),
        published_us=instants_us([each.published_at for each in events]),
        entries=entries,
    )


def _unit_of_each(said: Sequence[list[Any]]) -> Integers:
    return np.repeat(np.arange(len(said)), list(map(len, said)))


def _columns(
    said: Sequence[list[Said[E]]],
) -> tuple[Sequence[int], Sequence[str], Sequence[E], Sequence[Payload]]:
    """Return positions, hashes of questions, events and entries of some units."""
    columns = list(zip(*chain.from_iterable(said), strict=True))
    seqs, hashes, events, entries = columns or [()] * 4
    return seqs, hashes, events, entries


def _differ(
    stated: Sequence[str | None], of_unit: Sequence[str | None], unit: Integers
) -> Flags:
    """Mark the events that state something else than what is true of their unit."""
    return flags(
        [text != of_unit[row] for text, row in zip(stated, unit.tolist(), strict=True)]
    )


def _answered(outcomes: Sequence[str | None], units: Units, unit: Integers) -> Flags:
    """Mark the records whose outcome the canonical question has as an answer.

    The door let no others in; but what was canonical then may have been a thief's.
    """
    return flags(
        [
            outcome is None or outcome in units.answers[row]
            for outcome, row in zip(outcomes, unit.tolist(), strict=True)
        ]
    )


def _of_what_counts(
    entries: Sequence[Payload], is_review: Flags, counts: Flags
) -> Flags:
    """Mark the reviews of records that count."""
    heard = np.zeros(len(entries), dtype=np.bool_)
    rows = np.flatnonzero(is_review).tolist()
    if rows:
        counting = {
            entries[row].event_id.hex() for row in np.flatnonzero(counts).tolist()
        }
        for row in rows:
            review = read_whole(entries[row].payload)
            assert isinstance(review, ResolutionRecorded)
            heard[row] = review.confirms in counting
    return heard


def _compromised(entries: Sequence[Payload], frozen: Frozen) -> Flags:
    if not frozen.charters.compromised:
        return np.zeros(len(entries), dtype=np.bool_)
    return flags([frozen.charters.is_void(each) for each in entries])
