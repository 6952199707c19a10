"""The judgement of columns, beside a plain reading of the same rules.

The plain one walks over decoded events, one at a time, as DESIGN states the rules;
it shares no code with the product but the events and the commitment's hash.
"""

from datetime import datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.clock import parse_instant
from ledger.events import (
    Forecast,
    ForecastSealed,
    ForecastUpdated,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.keys.signing import parse_verifier
from tests.simulator import History
from tests.story import STEPS, Step, tell

Entry = tuple[int, datetime, bytes, str, Any]
Judgement = dict[int, tuple[str, str | None]]


def entries(history: History) -> list[Entry]:
    return [
        (
            each.seq,
            parse_instant(each.received_at),
            each.author_key,
            each.event_id.hex(),
            codec.read(each.payload),
        )
        for each in history.entries
    ]


def compromised(log: list[Entry]) -> dict[bytes, int]:
    """Return since when each key is lost: the one that the name had at that place."""
    charters = [
        (seq, event.manifest)
        for seq, _, _, _, event in log
        if isinstance(event, SuiteFrozen) and event.suite.startswith("charter@")
    ]
    lost: dict[bytes, int] = {}
    for place, (_, charter) in enumerate(charters):
        for name, since in charter.compromised_since.items():
            earlier = [each for seq, each in charters[:place] if seq <= since]
            for principal in earlier[-1].principals if earlier else ():
                if principal.name == name:
                    key = parse_verifier(principal.key).public
                    lost[key] = min(since, lost.get(key, since))
    return lost


def plainly(history: History) -> Judgement:
    """Return (kind, first broken rule) of each forecast event, by position."""
    log = entries(history)
    lost = compromised(log)
    questions: dict[str, Any] = {}
    units: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in log:
        event = entry[4]
        if isinstance(event, SuiteFrozen):
            continue
        question = getattr(event, "question", None)
        if question is not None:
            questions[codec.question_hash(question)] = question
        asked = questions[event.question_hash or codec.question_hash(question)]
        units.setdefault((event.suite, asked.template, asked.id), []).append(entry)
    found: Judgement = {}
    for unit in units.values():
        found |= judged(history, unit, lost)
    return found


def judged(history: History, unit: list[Entry], lost: dict[bytes, int]) -> Judgement:
    claimed = history.manifest.chronology == "claimed"
    question = unit[0][4].question
    asked = codec.question_hash(question)
    sound = [e for e in unit if e[0] < lost.get(e[2], e[0] + 1)]
    records = [
        e
        for e in sound
        if isinstance(e[4], ResolutionRecorded) and e[4].confirms is None
    ]
    outcomes = [e for e in records if e[4].status != "PENDING"]
    published = [e[4].published_at for e in outcomes if e[4].published_at]
    started = [
        e[4].started_at
        for e in records
        if e[4].started_at
        and (
            e[4].status != "PENDING"
            or e is unit[0]
            or claimed
            or e[4].started_at >= unit[0][1]
        )
    ]
    reveals = [e[4] for e in sound if isinstance(e[4], ForecastUpdated) and e[4].opens]
    found: Judgement = {}
    roots: set[str] = set()
    void_roots: set[str] = set()
    for seq, received, key, event_id, event in unit:
        if isinstance(event, ResolutionRecorded):
            continue
        is_reveal = isinstance(event, ForecastUpdated) and event.opens is not None
        is_seal, is_void = (
            isinstance(event, ForecastSealed),
            seq >= lost.get(key, seq + 1),
        )
        is_first = event.forecaster not in roots
        begins_again = event.forecaster in void_roots and not is_void
        is_duplicate = is_seal and not is_first and not begins_again
        if is_seal and is_first and is_void:
            void_roots.add(event.forecaster)
        elif is_seal and begins_again:
            void_roots.discard(event.forecaster)
        roots.add(event.forecaster)
        at = event.created_at if claimed else received
        spoken = event.question_hash or codec.question_hash(event.question)
        if claimed:
            record = outcomes[0][4] if outcomes else None
            first = record and (record.published_at or record.created_at)
            after = first is not None and at >= first
        else:
            after = bool(outcomes) and seq >= outcomes[0][0]
        rules = {
            "compromised-key": is_void,
            "suite-hash-mismatch": event.suite_hash
            != codec.suite_hash(history.manifest),
            "question-hash-mismatch": spoken != asked,
            "duplicate-unit": is_duplicate,
            "late": not is_reveal and at > question.cutoff_at,
            "after-start": not is_reveal and bool(started) and at >= started[-1],
            "after-resolution": not is_reveal and after,
            "known-before-sealing": not is_reveal
            and bool(published)
            and at >= min(published),
            "hidden": event.commitment is not None
            and not any(
                shown(event, each) for each in reveals if each.opens == event_id
            ),
        }
        reason = next((rule for rule, broken in rules.items() if broken), None)
        kind = "initial"
        if isinstance(event, ForecastUpdated):
            kind = "reveal" if is_reveal else "update"
        found[seq] = ("duplicate" if is_duplicate else kind, reason)
    return found


def shown(event: Forecast, reveal: ForecastUpdated) -> bool:
    parent = event.parent if isinstance(event, ForecastUpdated) else None
    return event.commitment == codec.commitment(
        reveal, parent=parent, salt=reveal.salt or ""
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chronology=st.sampled_from(["received", "claimed"]), steps=STEPS)
def test_columns_are_judged_as_a_plain_reading_of_the_rules_judges_each_event(
    chronology: str, steps: list[Step]
) -> None:
    history = tell(chronology, steps)
    rows = history.folded().connection.execute(
        "SELECT seq, kind, reason, eligible FROM forecasts"
    )
    found = {seq: (kind, reason) for seq, kind, reason, _ in rows}
    assert found == plainly(history)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chronology=st.sampled_from(["received", "claimed"]), steps=STEPS)
def test_exactly_the_vectors_without_a_reason_count(
    chronology: str, steps: list[Step]
) -> None:
    tables = tell(chronology, steps).folded()
    wrong = tables.connection.execute(
        "SELECT seq FROM forecasts WHERE eligible <> "
        "(reason IS NULL AND kind IN ('initial', 'update'))"
    )
    assert wrong.fetchall() == []
