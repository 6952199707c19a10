"""Findings: what the record shows about single events (DESIGN §7).

A finding is a fact for the reader of a report. Which of them keep a vector from
counting is decided in `eligibility`; here each gets its sentence.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ledger.events import ResolutionRecorded
from ledger.projections import eligibility
from ledger.projections.columns import (
    NEVER,
    Flags,
    Integers,
    flags,
    instant_texts,
    integers,
    least_of_each,
)
from ledger.projections.docket import Docket, Forecasts, Records
from ledger.projections.leakage import (
    CANARY,
    EVIDENCE,
    IN_HOLDOUT,
    LEAK_TESTS,
    TRAINING,
    Leaks,
    trained_in_holdout,
)
from ledger.projections.lineage import INITIAL, UPDATE, Lineage
from ledger.projections.resolutions import Standings
from ledger.projections.starts import shuts_out
from ledger.projections.tables import FindingRow

OTHER_BAR = "acceptance-hash-mismatch"
MISMATCHES = (eligibility.OTHER_QUESTION, eligibility.OTHER_SUITE, OTHER_BAR)
_AMENDABLE = ("status", "outcome", "values", "started_at", "published_at")

_SENTENCES = {
    eligibility.COMPROMISED: "{who} signed with a key that was compromised by then",
    eligibility.OTHER_SUITE: "{who} names another suite_hash than the frozen suite's",
    eligibility.OTHER_QUESTION: "{who} speaks of another question than the unit's",
    eligibility.DUPLICATE: "{who} had sealed this unit before: the first counts",
    eligibility.LATE: "{who} sealed at {moment}, after the cut-off {cutoff}",
    eligibility.AFTER_START: "{who} sealed at {moment}, and work started at {started}",
    eligibility.AFTER_RESOLUTION: "{who} sealed at {moment}, after the resolution",
    eligibility.KNOWN: "{who} sealed at {moment}; the outcome was out at {published}",
    EVIDENCE: "{who} used evidence from after it sealed at {moment}",
    TRAINING: "{who} was trained until after the outcome was out at {published}",
    IN_HOLDOUT: "{who} was trained until after the holdout began that the unit is of",
    CANARY: "a text of {who} holds a canary of the suite",
    "commitment-mismatch": "{who} reveals another vector than it committed to",
    "unmatched-timing": "{who} sealed at {moment}, long after another had",
    "backdated": "{who} says it was made, or work started, before receipt: long before, "
    "or before a vector that counted until then",
    "resolved-early": "{who} resolved at {moment}, before the cut-off {cutoff}",
    "amended": "{who} changed what had been said before",
    OTHER_BAR: "{who} applied another acceptance_hash than the question's",
}


class Hearing(msgspec.Struct, frozen=True, kw_only=True):
    """A docket, and what was found out about its events so far, row by row."""

    docket: Docket
    standings: Standings
    lineage: Lineage
    sealed_us: Integers
    broken: Integers
    leaks: Leaks


def findings(hearing: Hearing) -> list[FindingRow]:
    """Return what the events show, in log order and then by rule."""
    found = [*_of_forecasts(hearing), *_of_records(hearing)]
    return sorted(found, key=lambda row: (row.seq, row.rule))


def _of_forecasts(hearing: Hearing) -> Iterator[FindingRow]:
    broken, leaked = hearing.broken, hearing.leaks.found
    claims = {
        **{rule: broken & bit > 0 for rule, bit in eligibility.BIT.items()},
        **{test: leaked & bit > 0 for test, bit in LEAK_TESTS.items()},
        IN_HOLDOUT: trained_in_holdout(hearing.docket),
        "commitment-mismatch": hearing.lineage.is_unfaithful,
        "unmatched-timing": _is_apart(hearing),
        "backdated": _is_backdated(hearing.docket, hearing.docket.forecasts),
    }
    # That a vector is still hidden says nothing against it.
    del claims[eligibility.HIDDEN]
    forecasts = hearing.docket.forecasts
    return _told(hearing, claims, forecasts, forecasts.names, hearing.sealed_us)


def _is_apart(hearing: Hearing) -> Flags:
    """Mark first vectors that were sealed long after another's on the same unit."""
    units, unit = hearing.docket.units, hearing.docket.forecasts.unit
    # What a thief sealed is nobody's forecast.
    first = (hearing.lineage.kind == INITIAL) & ~hearing.docket.forecasts.is_compromised
    sealed = hearing.sealed_us
    earliest = least_of_each(len(units.number), unit[first], sealed[first])
    allowed = integers([suite.max_spread_us for suite in units.suites])
    apart: Flags = first & (sealed - earliest[unit] > allowed[unit])
    return apart


def _is_backdated(docket: Docket, events: Forecasts | Records) -> Flags:
    """Mark what was made long before it was received; imported history always is."""
    return _is_older(docket, events, events.created_us)


def _starts_backdated(docket: Docket) -> Flags:
    """Mark PENDING records by which work had started long before they were received."""
    records = docket.records
    is_stated = records.is_pending & (records.started_us != NEVER)
    backdated: Flags = is_stated & _is_older(docket, records, records.started_us)
    return backdated


def _is_older(
    docket: Docket, events: Forecasts | Records, stated_us: Integers
) -> Flags:
    age_us = events.received_us - stated_us
    allowed = docket.frozen.charters.backdated_us_max(events.seq)
    older: Flags = ~docket.units.is_claimed[events.unit] & (age_us > allowed)
    return older


def _of_records(hearing: Hearing) -> Iterator[FindingRow]:
    records, units = hearing.docket.records, hearing.docket.units
    moment = np.where(
        units.is_claimed[records.unit], records.published_us, records.received_us
    )
    is_resolved = flags([status == "RESOLVED" for status in records.statuses])
    is_early = moment < units.cutoff_us[records.unit]
    claims = {
        eligibility.COMPROMISED: records.is_compromised,
        eligibility.OTHER_QUESTION: records.is_of_other_question,
        OTHER_BAR: records.is_of_other_bar,
        "resolved-early": records.counts & is_resolved & is_early,
        "backdated": _is_backdated(hearing.docket, records)
        | _starts_backdated(hearing.docket)
        | _shuts_out(hearing),
        "amended": _is_amended(records),
    }
    return _told(hearing, claims, records, records.authors, moment)


def _shuts_out(hearing: Hearing) -> Flags:
    """Mark PENDING records by which work had started before vectors that counted."""
    is_sound = eligibility.breaks_none_but(
        # A hidden vector may still be opened.
        hearing.broken,
        eligibility.AFTER_START,
        eligibility.HIDDEN,
    )
    is_vector = hearing.lineage.kind <= UPDATE
    return shuts_out(hearing.docket, hearing.sealed_us, is_sound & is_vector)


def _is_amended(records: Records) -> Flags:
    """Mark records that change what had been said before, however long before.

    An outcome is compared with the last outcome, also with one that was withdrawn. A
    start of work, which bounds the forecasts, is compared with the last record that
    stated one: a record without lifts none.
    """
    counting = np.flatnonzero(records.counts)
    amended = np.zeros(len(records.seq), dtype=np.bool_)
    before, after = _neighbours(records, counting)
    amended[after] = ~records.is_pending[before] & records.is_pending[after]
    before, after = _neighbours(
        records, counting[records.started_us[counting] != NEVER]
    )
    amended[after] |= records.started_us[before] != records.started_us[after]
    before, after = _neighbours(records, counting[~records.is_pending[counting]])
    for was, now in zip(before.tolist(), after.tolist(), strict=True):
        amended[now] |= _differ(records.event(was), records.event(now))
    return amended


def _neighbours(records: Records, rows: Integers) -> tuple[Integers, Integers]:
    """Return those of the rows that another of the same unit follows, and that one."""
    before, after = rows[:-1], rows[1:]
    follows = records.unit[before] == records.unit[after]
    return before[follows], after[follows]


def _differ(old: ResolutionRecorded, new: ResolutionRecorded) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in _AMENDABLE)


def _told(
    hearing: Hearing,
    claims: dict[str, Flags],
    events: Forecasts | Records,
    names: Sequence[str],
    moment: Integers,
) -> Iterator[FindingRow]:
    """Yield a finding for each event that a claim holds of."""
    for rule, holds in claims.items():
        rows = np.flatnonzero(holds)
        if not len(rows):
            continue
        unit = events.unit[rows]
        sentences = _sentences(
            hearing, rule, [names[row] for row in rows.tolist()], unit, moment[rows]
        )
        for seq, of, sentence in zip(
            events.seq[rows].tolist(), unit.tolist(), sentences, strict=True
        ):
            yield FindingRow(
                seq=seq,
                rule=rule,
                unit=int(hearing.docket.units.number[of]),
                subject=hearing.docket.units.identities[of],
                message=sentence,
            )


def _sentences(
    hearing: Hearing, rule: str, names: list[str], unit: Integers, moment: Integers
) -> Iterator[str]:
    """Yield what is found of each event; only instants that are told become text."""
    now, sentence = hearing.standings, _SENTENCES[rule]
    instants = {
        "moment": moment,
        "cutoff": hearing.docket.units.cutoff_us[unit],
        "started": now.started_us[unit],
        "published": now.published_us[unit],
    }
    told = {
        name: instant_texts(column)
        for name, column in instants.items()
        if f"{{{name}}}" in sentence
    }
    for row, who in enumerate(names):
        facts = {name: texts[row] for name, texts in told.items()}
        yield sentence.format(who=who, **facts)
