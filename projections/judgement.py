"""Judge units: a pure function of their events, their suites and the charters.

This is the only place where a vector is found to count or not. What is found of a
unit depends on its own events alone, whichever units are judged beside it; so
reading a log event by event and reading it at once cannot differ: when an event
arrives, its unit is read again, judged again, and its rows are replaced.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from ledger.canonical import canonical_text
from ledger.projections import eligibility
from ledger.projections.columns import (
    NEVER,
    Flags,
    Integers,
    first_of_each,
    integers,
    taken,
)
from ledger.projections.costs_stated import cost_rows
from ledger.projections.docket import Docket, gather
from ledger.projections.grouping import Group
from ledger.projections.integrity import Hearing, findings
from ledger.projections.leakage import leaks
from ledger.projections.lineage import DUPLICATE, KINDS, UPDATE, lineage
from ledger.projections.quantities_stated import observation_rows, quantity_rows
from ledger.projections.resolutions import Standings, standings
from ledger.projections.suites import Frozen
from ledger.projections.tables import (
    AliasRow,
    CostRow,
    FindingRow,
    ObservationRow,
    QuantityRow,
)
from ledger.projections.vectors import Scores, Vectors, read_vectors, score_vectors

Columns = dict[str, list[Any]]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Every table row of some units; the large tables as columns by name.

    In columns `NEVER` and "" stand for null.
    """

    questions: Columns
    forecasts: Columns
    resolutions: Columns
    quantities: list[QuantityRow]
    observations: list[ObservationRow]
    costs: list[CostRow]
    findings: list[FindingRow]
    aliases: list[AliasRow]


def judge(groups: Sequence[Group], frozen: Frozen) -> Judged:
    """Return the rows of units; a group has all events of its unit, in log order.

    Raises `CorruptLogError` where the events cannot follow from a lawful log.
    """
    docket = gather(groups, frozen)
    now, chains = standings(docket), lineage(docket)
    sealed = eligibility.sealed_us(docket)
    broken = eligibility.broken_rules(
        docket,
        now,
        is_duplicate=chains.kind == DUPLICATE,
        is_closed=docket.forecasts.is_hidden & (chains.revealed < 0),
    )
    hearing = Hearing(
        docket=docket,
        standings=now,
        lineage=chains,
        sealed_us=sealed,
        broken=broken,
        leaks=leaks(docket, now, sealed),
    )
    return Judged(
        questions=_questions(hearing),
        forecasts=_forecasts(hearing),
        resolutions=_resolutions(docket),
        quantities=quantity_rows(docket, chains),
        observations=observation_rows(docket),
        costs=cost_rows(docket, chains),
        findings=findings(hearing),
        aliases=_aliases(docket),
    )


def _questions(hearing: Hearing) -> Columns:
    docket, now = hearing.docket, hearing.standings
    units, questions = docket.units, docket.units.questions
    own_seq, own_us, own_eligible = _own_places(docket, now, hearing.sealed_us)
    statuses, outcomes = docket.records.statuses, docket.records.outcomes
    standing = now.record.tolist()
    vectors = docket.forecasts.unit[~docket.forecasts.is_reveal]
    return {
        "unit": units.number.tolist(),
        "identity": units.identities,
        "suite": [suite.name for suite in units.suites],
        "template": [question.template for question in questions],
        "id": [question.id for question in questions],
        "horizon": [question.horizon for question in questions],
        "target": [question.target_name for question in questions],
        "cluster": [question.cluster_name for question in questions],
        "slot": [question.slot or "" for question in questions],
        "tags": [bytes(question.tags).decode() for question in questions],
        "answers": [_list_text(answers) for answers in units.answers],
        "question_hash": units.question_hashes,
        "opened_us": units.opened_us.tolist(),
        "cutoff_us": units.cutoff_us.tolist(),
        "resolve_by_us": units.resolve_by_us.tolist(),
        "is_spoken": units.is_spoken.astype(np.int64).tolist(),
        "status": ["PENDING" if row < 0 else statuses[row] for row in standing],
        "outcome": ["" if row < 0 else outcomes[row] or "" for row in standing],
        "resolved_seq": taken(docket.records.seq, now.record).tolist(),
        "started_us": now.started_us.tolist(),
        "published_us": now.published_us.tolist(),
        "reviews": now.reviews.tolist(),
        "vectors": np.bincount(vectors, minlength=len(questions)).tolist(),
        "own_seq": own_seq.tolist(),
        "own_us": own_us.tolist(),
        "own_eligible": own_eligible.tolist(),
    }


@lru_cache(1_024)
def _list_text(answers: tuple[str, ...]) -> str:
    return canonical_text(answers)


def _own_places(
    docket: Docket, now: Standings, sealed: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return where a computed competitor forecasts each unit, when, and if in time.

    That is the first PENDING record or, without one, the first vector; what a
    compromised key signed is neither.
    """
    records, forecasts, size = docket.records, docket.forecasts, len(now.record)
    vectors = np.flatnonzero(~(forecasts.is_compromised | forecasts.is_reveal))
    first = first_of_each(size, forecasts.unit, vectors)
    moment = np.where(
        docket.units.is_claimed[records.unit], records.created_us, records.received_us
    )
    is_opened = now.pending >= 0
    seq = np.where(
        is_opened, taken(records.seq, now.pending), taken(forecasts.seq, first)
    )
    at_us = np.where(is_opened, taken(moment, now.pending), taken(sealed, first))
    broken = eligibility.broken_bounds(docket, now, np.arange(size), seq, at_us)
    in_time = (seq != NEVER) & ~np.logical_or.reduce(broken)
    return seq, at_us, in_time.astype(np.int64)


def _forecasts(hearing: Hearing) -> Columns:
    docket, chains = hearing.docket, hearing.lineage
    forecasts, unit = docket.forecasts, docket.forecasts.unit
    counts = (chains.kind <= UPDATE) & (hearing.broken == 0)
    vectors = read_vectors(docket, chains)
    scores = _scores(docket, hearing.standings, vectors, counts)
    return {
        "seq": forecasts.seq.tolist(),
        "unit": docket.units.number[unit].tolist(),
        "forecaster": list(forecasts.names),
        "kind": [KINDS[kind] for kind in chains.kind.tolist()],
        "parent": chains.parent.tolist(),
        "created_us": forecasts.created_us.tolist(),
        "received_us": forecasts.received_us.tolist(),
        "eligible": counts.astype(np.int64).tolist(),
        "reason": eligibility.reasons(hearing.broken),
        "is_hidden": forecasts.is_hidden.astype(np.int64).tolist(),
        "opened_seq": taken(forecasts.seq, chains.revealed).tolist(),
        "probabilities_ppm": vectors.texts(),
        "adaptation_budget": [budget or "" for budget in forecasts.budgets],
        "leaks_tested": hearing.leaks.tested.tolist(),
        "leaks_found": hearing.leaks.found.tolist(),
        "brier_sum": scores.brier_sum.tolist(),
        "picobits": scores.picobits.tolist(),
        "picobits_clipped": scores.picobits_clipped.tolist(),
        "piconats_clipped": scores.piconats_clipped.tolist(),
    }


def _scores(docket: Docket, now: Standings, vectors: Vectors, counts: Flags) -> Scores:
    units, outcomes = docket.units, docket.records.outcomes
    happened = [
        -1 if row < 0 or outcomes[row] is None else answers.index(outcomes[row])
        for row, answers in zip(now.record.tolist(), units.answers, strict=True)
    ]
    clips = [suite.clip_ppm for suite in units.suites]
    unit = docket.forecasts.unit
    return score_vectors(
        vectors, integers(happened)[unit], integers(clips)[unit], counts
    )


def _resolutions(docket: Docket) -> Columns:
    records = docket.records
    return {
        "seq": records.seq.tolist(),
        "unit": docket.units.number[records.unit].tolist(),
        "status": list(records.statuses),
        "outcome": [outcome or "" for outcome in records.outcomes],
        "reason_code": [reason or "" for reason in records.reasons],
        "counts": records.counts.astype(np.int64).tolist(),
        "is_review": records.is_review.astype(np.int64).tolist(),
        "created_us": records.created_us.tolist(),
        "received_us": records.received_us.tolist(),
        "started_us": records.started_us.tolist(),
        "published_us": records.published_us.tolist(),
    }


def _aliases(docket: Docket) -> list[AliasRow]:
    units = docket.units
    return [
        AliasRow(question_hash=other, suite=units.suites[row].name, unit=number)
        for row, number in enumerate(units.number.tolist())
        for other in units.other_questions[row]
    ]
