"""The judgement of columns, beside a plain reading of the same rules.

The plain one walks over decoded events, one at a time, as DESIGN states the rules;
it shares no code with the product but the events and the commitment's hash.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
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
# The kind of each forecast event, and the rules that it breaks, by position.
Judgement = dict[int, tuple[str, list[str]]]
RESOLVERS = {"resolver", "reviewer"}


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
    """Judge every forecast event of a log."""
    log = entries(history)
    lost = compromised(log)
    found: Judgement = {}
    for unit in units_of(log):
        found |= judged(history, unit, lost)
    return found


def units_of(log: list[Entry]) -> list[list[Entry]]:
    """Return the events of each unit, in log order."""
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
    return list(units.values())


def judged(history: History, unit: list[Entry], lost: dict[bytes, int]) -> Judgement:
    claimed = history.manifest.chronology == "claimed"
    sound = [e for e in unit if e[0] < lost.get(e[2], e[0] + 1)]
    # Every template of these stories lets forecasters and the issuer ask.
    brought = [
        e[4].question
        for e in (*sound, unit[0])
        if getattr(e[4], "question", None) and e[4].author not in RESOLVERS
    ]
    question = brought[0] if brought else unit[0][4].question
    asked = codec.question_hash(question)
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
            or e is sound[0]
            or claimed
            or e[4].started_at >= sound[0][1]
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
        broken = [rule for rule, holds in rules.items() if holds]
        kind = "initial"
        if isinstance(event, ForecastUpdated):
            kind = "reveal" if is_reveal else "update"
        found[seq] = ("duplicate" if is_duplicate else kind, broken)
    return found


def plain_findings(history: History) -> set[tuple[int, str]]:
    """Return where a record amends or is backdated, and what thieves and liars did."""
    log = entries(history)
    lost = compromised(log)
    void = {e[0] for e in log if e[0] >= lost.get(e[2], e[0] + 1)}
    found = {(seq, "compromised-key") for seq in void}
    judgement = plainly(history)
    for unit in units_of(log):
        hidden = {e[3]: e[4] for e in unit if getattr(e[4], "commitment", None)}
        found |= {
            (seq, "commitment-mismatch")
            for seq, _, _, _, event in unit
            if isinstance(event, ForecastUpdated) and event.opens
            if not shown(hidden[event.opens], event)
        }
        records = [
            (seq, received, event)
            for seq, received, _, _, event in unit
            if isinstance(event, ResolutionRecorded)
            if event.confirms is None and seq not in void
        ]
        found |= {(seq, "amended") for seq in amendments(records)}
        if history.manifest.chronology == "received":
            found |= {
                (seq, "backdated") for seq in shutting_out(unit, records, judgement)
            }
    return found


Records = list[tuple[int, datetime, ResolutionRecorded]]


def amendments(records: Records) -> Iterator[int]:
    outcome: ResolutionRecorded | None = None
    started: datetime | None = None
    was_pending = True
    for seq, _, event in records:
        is_pending = event.status == "PENDING"
        is_moved = started and event.started_at and event.started_at != started
        if is_moved or (is_pending and not was_pending):
            yield seq
        elif not is_pending and outcome is not None:
            before, after = (
                (e.status, e.outcome, e.values, e.started_at, e.published_at)
                for e in (outcome, event)
            )
            if before != after:
                yield seq
        was_pending, started = is_pending, event.started_at or started
        outcome = outcome if is_pending else event


def shutting_out(
    unit: list[Entry], records: Records, judgement: Judgement
) -> Iterator[int]:
    first_seq, opened, *_ = unit[0]
    started: datetime | None = None
    for seq, _, event in records:
        start, is_pending = event.started_at, event.status == "PENDING"
        is_early = is_pending and seq != first_seq and start and start < opened
        if start is None or is_early:
            continue
        vectors = (
            received
            for at, received, *_ in unit
            if at < seq and would_count(judgement.get(at))
        )
        if is_pending and any(
            received >= start and (started is None or received < started)
            for received in vectors
        ):
            yield seq
        started = start


def would_count(judged: tuple[str, list[str]] | None) -> bool:
    """Tell whether nothing but a start of work keeps a vector from counting."""
    kind, broken = judged or ("", [])
    return kind in {"initial", "update"} and set(broken) <= {"after-start", "hidden"}


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
    assert found == {
        seq: (kind, broken[0] if broken else None)
        for seq, (kind, broken) in plainly(history).items()
    }


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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chronology=st.sampled_from(["received", "claimed"]), steps=STEPS)
def test_what_is_found_of_records_and_keys_is_what_a_plain_reading_finds(
    chronology: str, steps: list[Step]
) -> None:
    history = tell(chronology, steps)
    rules = {"amended", "compromised-key", "commitment-mismatch"}
    expected = {each for each in plain_findings(history) if each[1] in rules}
    told = history.folded().connection.execute("SELECT seq, rule FROM findings")
    assert {each for each in told if each[1] in rules} == expected


# Forecasts, and records that state a start so many seconds before, or none. All of it
# is within the hour in which nothing is backdated for being old.
STARTS = st.lists(
    st.one_of(
        st.sampled_from(["native", "rival", "mismatched"]),
        st.tuples(
            st.sampled_from(["PENDING", "PENDING", "RESOLVED", "VOID"]),
            st.one_of(st.none(), st.integers(0, 12)),
        ),
    ),
    max_size=14,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(is_opened=st.booleans(), steps=STARTS)
def test_a_start_that_shuts_out_is_found_where_a_plain_reading_finds_it(
    steps: list[str | tuple[str, int | None]], *, is_opened: bool
) -> None:
    history = History()
    question = history.question()
    last = {} if is_opened else {"native": history.seal(question)}
    if is_opened:
        history.open(question, started_at=history.now + timedelta(seconds=len(steps)))
    for step in steps:
        if isinstance(step, tuple):
            status, before = step
            history.record(
                question,
                status,
                author="resolver",
                outcome="pass" if status == "RESOLVED" else None,
                started_at=None
                if before is None
                else history.now - timedelta(seconds=before),
            )
        elif step == "mismatched":
            last.setdefault("native", history.seal(question, suite_hash="e" * 64))
        elif step in last:
            last[step] = history.update(question, last[step], forecaster=step)
        else:
            last[step] = history.seal(question, forecaster=step)
    told = history.folded().connection.execute("SELECT seq, rule FROM findings")
    rules = {"amended", "backdated"}
    assert {each for each in told if each[1] in rules} == plain_findings(history)
