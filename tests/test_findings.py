"""Every finding: a history that shows it, and the same one just beside the edge."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

import pytest

from ledger import codec
from ledger.clock import instant_text
from ledger.events import Evidence
from ledger.projections import schema
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from tests.simulator import BAR, BEGAN, History
from tests.test_rules_table import findings_documented

SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)
NOTHING = timedelta(0)
OTHER = sha256(b"another").hexdigest()
SALT = sha256(b"salt").hexdigest()
# A holdout of all units of the histories, which began before them.
HOLDOUT_BEGINS = BEGAN - timedelta(days=1)
HOLDOUT = {
    "name": "forward",
    "from": instant_text(HOLDOUT_BEGINS),
    "until": "2027-11-02T09:00:00Z",
    "purpose": "holdout",
}
CANARY = "canary-6d0c2f4e9b8a41f7a3e5c0d9b7a61e24"


class Edge(NamedTuple):
    """A history that a value makes, the value that shows a finding, and its neighbour.

    `stops` is which forecast event, by number, does not count because of it; None
    where all do.
    """

    tell: Callable[[History, Any], None]
    shows: Any
    beside: Any
    stops: int | None = None


def sealed_after_the_cutoff(history: History, after: timedelta) -> None:
    question = history.question(cutoff_at=history.now)
    history.now += after
    history.seal(question)


def sealed_after_a_record(history: History, status: str) -> None:
    question = history.question()
    history.open(question)
    history.record(question, status, author="resolver")
    history.seal(question)


def started_before_the_seal(history: History, before: timedelta) -> None:
    question = history.question()
    sealed_at = history.now
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, started_at=sealed_at - before)


def published_before_the_seal(history: History, before: timedelta) -> None:
    question = history.question()
    sealed_at = history.now
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, published_at=sealed_at - before)


def made_before_it_came(history: History, before: timedelta) -> None:
    history.seal(history.question(), created_at=history.now - before)


def sealed_on_a_question(history: History, bar: str) -> None:
    history.seal(history.question(acceptance_hash=BAR), forecaster="rival")
    history.now -= SECOND
    history.seal(history.question(acceptance_hash=bar))
    history.wait(seconds=1)


def sealed_under_a_suite(history: History, suite_hash: str | None) -> None:
    sound = codec.suite_hash(history.manifest)
    history.seal(history.question(), suite_hash=suite_hash or sound)


def judged_by_a_bar(history: History, bar: str | None) -> None:
    question = history.question(acceptance_hash=BAR)
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, acceptance_hash=bar)


def sealed_twice(history: History, forecaster: str) -> None:
    question = history.question()
    history.seal(question)
    history.seal(question, "0.1", forecaster=forecaster)


def resolved_before_the_cutoff(history: History, before: timedelta) -> None:
    question = history.question()
    history.seal(question)
    history.now = question.cutoff_at - before
    history.resolve(question)


def amended_in(history: History, changes: dict[str, Any]) -> None:
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question)
    history.resolve(question, **changes)


def evidence_from_after(history: History, after: timedelta) -> None:
    seen = Evidence(cutoff_at=history.now + after)
    history.seal(history.question(), evidence=seen)


def trained_until(history: History, before: timedelta) -> None:
    question = history.question()
    out = history.now + 60 * SECOND
    history.seal(question, evidence=Evidence(training_cutoff_at=out - before))
    history.wait(hours=3)
    history.resolve(question, published_at=out)


def trained_past_the_holdout_s_begin(history: History, after: timedelta) -> None:
    trained = HOLDOUT_BEGINS + after
    history.seal(history.question(), evidence=Evidence(training_cutoff_at=trained))


def failing_by(history: History, mode: str) -> None:
    history.seal(history.question(), failure_modes=(f"as in {mode} twice",))


def hidden(history: History) -> tuple[Any, str]:
    """Seal a vector hidden; return its question and the event's id."""
    question = history.question()
    draft = history.draft_seal(question, probabilities=history.vector(question, "0.8"))
    committed = codec.commitment(draft, parent=None, salt=SALT)
    return question, history.seal(question, "", commitment=committed)


def revealed_as(history: History, p: str) -> None:
    question, sealed = hidden(history)
    history.update(question, sealed, p, opens=sealed, salt=SALT)


def hidden_until(history: History, after: timedelta) -> None:
    question, _ = hidden(history)
    history.now = question.resolve_by + timedelta(hours=168) + after
    history.resolve(question)


def sealed_apart(history: History, apart: timedelta) -> None:
    question = history.question()
    first_at = history.now
    history.seal(question)
    history.now = first_at + timedelta(seconds=3600) + apart
    history.seal(question, forecaster="rival")


def stolen_since(history: History, since: int) -> None:
    history.seal(history.question())
    stolen = {"forecaster": since}
    new_key = {"forecaster": "forecaster#2"}
    history.add(history.charter(2, compromised_since=stolen, keys=new_key))


def received_after(history: History, gone: timedelta) -> None:
    history.seal(history.question())
    history.now += gone - SECOND
    history.seal(history.question("d-2"))


def asked_and_left(history: History, after: timedelta) -> None:
    question = history.question()
    history.open(question)
    history.now = question.cutoff_at + after
    # The suite's time has come as far as its last event.
    history.seal(history.question("d-2"))


VOIDED = {"status": "VOID", "outcome": None, "reason_code": "flaky"}
EDGES: dict[str, Edge] = {
    "late": Edge(sealed_after_the_cutoff, MICROSECOND, NOTHING, 0),
    "after-resolution": Edge(sealed_after_a_record, "CENSORED", "PENDING", 0),
    "after-start": Edge(started_before_the_seal, NOTHING, -MICROSECOND, 0),
    "known-before-sealing": Edge(published_before_the_seal, NOTHING, -MICROSECOND, 0),
    "backdated": Edge(made_before_it_came, 3600 * SECOND + MICROSECOND, 3600 * SECOND),
    "question-hash-mismatch": Edge(sealed_on_a_question, OTHER, BAR, 1),
    "suite-hash-mismatch": Edge(sealed_under_a_suite, OTHER, None, 0),
    "acceptance-hash-mismatch": Edge(judged_by_a_bar, OTHER, BAR),
    "duplicate-unit": Edge(sealed_twice, "native", "rival", 1),
    "resolved-early": Edge(resolved_before_the_cutoff, MICROSECOND, NOTHING),
    "amended": Edge(amended_in, VOIDED, {"note": "checked twice"}),
    "evidence-after-sealing": Edge(evidence_from_after, MICROSECOND, NOTHING),
    "training-after-label": Edge(trained_until, NOTHING, MICROSECOND),
    "trained-in-holdout": Edge(trained_past_the_holdout_s_begin, MICROSECOND, NOTHING),
    "canary-leak": Edge(failing_by, CANARY, CANARY[:-1]),
    "commitment-mismatch": Edge(revealed_as, "0.9", "0.8", 0),
    "commitment-unopened": Edge(hidden_until, MICROSECOND, NOTHING, 0),
    "unmatched-timing": Edge(sealed_apart, MICROSECOND, NOTHING),
    "compromised-key": Edge(stolen_since, 2, 3, 0),
    "clock-skew": Edge(received_after, NOTHING, MICROSECOND),
    "unforecast": Edge(asked_and_left, NOTHING, -MICROSECOND),
}


def told(edge: Edge, value: object) -> History:
    history = History(
        canaries=[sha256(CANARY.encode()).hexdigest()], statistics__splits=[HOLDOUT]
    )
    edge.tell(history, value)
    return history


def rules(tables: Tables) -> set[str]:
    found = tables.connection.execute("SELECT rule FROM findings")
    return {rule for (rule,) in found}


def eligible(tables: Tables) -> list[int]:
    found = tables.connection.execute("SELECT eligible FROM forecasts ORDER BY seq")
    return [flag for (flag,) in found]


def test_every_finding_that_is_documented_is_shown_here() -> None:
    assert list(EDGES) == list(findings_documented())


@pytest.mark.parametrize("rule", EDGES)
def test_a_history_shows_a_finding_and_its_neighbour_does_not(rule: str) -> None:
    edge = EDGES[rule]
    assert rule in rules(told(edge, edge.shows).folded())
    assert rule not in rules(told(edge, edge.beside).folded())


@pytest.mark.parametrize("rule", EDGES)
def test_the_document_says_which_findings_keep_a_vector_from_counting(
    rule: str,
) -> None:
    edge = EDGES[rule]
    says_so = findings_documented()[rule].startswith("no")
    assert says_so == (edge.stops is not None)
    if edge.stops is not None:
        assert eligible(told(edge, edge.shows).folded())[edge.stops] == 0


@pytest.mark.parametrize("rule", [name for name in EDGES if EDGES[name].stops is None])
def test_a_finding_that_only_tells_lets_the_vector_count(rule: str) -> None:
    edge = EDGES[rule]
    assert 0 not in eligible(told(edge, edge.shows).folded())


@pytest.mark.parametrize("stretch", [1, 2, 3])
@pytest.mark.parametrize("rule", EDGES)
def test_findings_are_the_same_however_the_log_is_read(rule: str, stretch: int) -> None:
    history = told(EDGES[rule], EDGES[rule].shows)
    tables = Tables()
    for size in range(1, history.size() + 1):
        Fold(tables, history.until(size), stretch=stretch).catch_up()
    assert tables.digests() == history.folded().digests()


# --- What time brings, more closely -----------------------------------------------------


def found(history: History) -> list[tuple[int, str]]:
    connection = history.folded().connection
    return schema.found(connection, "SELECT seq, rule FROM findings ORDER BY seq, rule")


def test_a_unit_that_was_not_forecast_in_time_and_then_late_is_late_and_no_more() -> (
    None
):
    history = History()
    question = history.question()
    history.open(question)
    history.wait(hours=3)
    history.open(history.question("d-2"))
    assert found(history) == [(2, "unforecast")]
    history.seal(question)
    assert found(history) == [(4, "late")]


def test_another_suite_s_time_brings_nothing_to_light_here() -> None:
    history = History()
    question = history.question()
    history.open(question)
    history.wait(hours=3)
    history.add(history.charter(2))
    assert found(history) == []


def test_a_hidden_vector_that_was_opened_in_time_is_not_unopened() -> None:
    history = History()
    question, sealed = hidden(history)
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)
    history.now = question.resolve_by + timedelta(hours=169)
    history.resolve(question)
    assert found(history) == []


def test_one_wrong_reveal_is_flagged_and_the_right_one_still_opens() -> None:
    history = History()
    question, sealed = hidden(history)
    history.update(question, sealed, "0.9", opens=sealed, salt=SALT)
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)
    assert found(history) == [(3, "commitment-mismatch")]
    assert eligible(history.folded())[0] == 1


def test_every_entry_that_borrows_its_time_is_named() -> None:
    history = History()
    for number in range(3):
        history.seal(history.question(f"d-{number}"))
        history.now -= SECOND
    assert found(history) == [(3, "clock-skew"), (4, "clock-skew")]


# --- What may move without being an amendment, and what may not --------------------------

STARTS: dict[str, tuple[dict[str, timedelta], list[tuple[int, str]]]] = {
    "the same start": ({"started_at": NOTHING}, []),
    "a start that is moved": ({"started_at": SECOND}, [(4, "amended")]),
    "no start": ({}, []),
}


@pytest.mark.parametrize(("changes", "flagged"), STARTS.values(), ids=STARTS)
def test_a_start_of_work_that_was_said_while_pending_may_not_move_unseen(
    changes: dict[str, timedelta], flagged: list[tuple[int, str]]
) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    began = history.now
    history.open(question, started_at=began)
    history.wait(hours=3)
    history.resolve(question, **{name: began + by for name, by in changes.items()})
    assert found(history) == flagged


# Each record is a status and what it states; a start of work, or a publication, by how
# much it is after that of the story. What is flagged is told by the number of the record.
COST = {
    "unit": "USD",
    "levels": ["0.25", "0.5", "0.75"],
    "interpolate": False,
    "scale": "1",
    "underage": "3",
    "overage": "1",
}
Said = tuple[str, dict[str, Any]]
BLANK: Said = ("PENDING", {})
STARTED: Said = ("PENDING", {"started_at": NOTHING})
PASSED: Said = ("RESOLVED", {"outcome": "pass"})
FAILED: Said = ("RESOLVED", {"outcome": "fail"})


def also(said: Said, **stated: Any) -> Said:
    """Return a record that states more."""
    return said[0], {**said[1], **stated}


DETOURS: dict[str, tuple[list[Said], list[int]]] = {
    "a start, a blank, and another start": (
        [STARTED, BLANK, also(PASSED, started_at=SECOND)],
        [2],
    ),
    "a start, blanks, and another start while it is pending": (
        [STARTED, BLANK, BLANK, also(BLANK, started_at=-MICROSECOND), PASSED],
        [3],
    ),
    "a start, a blank, and the same start": (
        [STARTED, BLANK, also(PASSED, started_at=NOTHING)],
        [],
    ),
    "a start that is moved to and fro": (
        [STARTED, also(BLANK, started_at=SECOND), BLANK, STARTED, PASSED],
        [1, 3],
    ),
    "a first start after blanks": ([BLANK, BLANK, STARTED, PASSED], []),
    "another outcome after a withdrawal": ([FAILED, BLANK, PASSED], [1, 2]),
    "the same outcome after a withdrawal": ([PASSED, BLANK, PASSED], [1]),
    "a withdrawal that is said twice": ([PASSED, BLANK, BLANK, PASSED], [1]),
    "another outcome after a withdrawal that is said twice": (
        [PASSED, BLANK, BLANK, FAILED],
        [1, 3],
    ),
    "a start that a withdrawal drops": (
        [also(PASSED, started_at=NOTHING), BLANK, PASSED],
        [1, 2],
    ),
    "a start that a withdrawal moves": (
        [
            also(PASSED, started_at=NOTHING),
            also(BLANK, started_at=SECOND),
            also(PASSED, started_at=SECOND),
        ],
        [1, 2],
    ),
    "a publication that a withdrawal drops": (
        [also(PASSED, published_at=NOTHING), BLANK, PASSED],
        [1, 2],
    ),
    "another publication after a withdrawal": (
        [
            also(PASSED, published_at=NOTHING),
            BLANK,
            also(PASSED, published_at=-MICROSECOND),
        ],
        [1, 2],
    ),
    "another number after a withdrawal": (
        [also(PASSED, values={"cost": "1"}), BLANK, also(PASSED, values={"cost": "2"})],
        [1, 2],
    ),
    "the same number after a withdrawal": (
        [also(PASSED, values={"cost": "1"}), BLANK, also(PASSED, values={"cost": "1"})],
        [1],
    ),
}


@pytest.mark.parametrize(("said", "flagged"), DETOURS.values(), ids=DETOURS)
def test_no_detour_hides_that_what_had_been_said_was_changed(
    said: list[Said], flagged: list[int]
) -> None:
    history = History(quantities={"cost": COST})
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    at, first = history.now - SECOND, history.size()
    for status, stated in said:
        moments = {
            name: at + by if isinstance(by, timedelta) else by
            for name, by in stated.items()
        }
        history.record(question, status, author="resolver", **moments)
    assert found(history) == [(first + number, "amended") for number in flagged]


def test_a_thief_s_record_is_none_that_could_be_amended() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    stolen = history.size()
    history.resolve(question, "fail")
    lost = {"resolver": stolen}
    history.add(
        history.charter(2, keys={"resolver": "resolver#2"}, compromised_since=lost)
    )
    history.resolve(question, "pass", key="resolver#2")
    assert found(history) == [(stolen, "compromised-key")]


@pytest.mark.parametrize(
    ("by", "counts"), [(NOTHING, 0), (-MICROSECOND, 1)], ids=["at", "before"]
)
def test_no_later_pending_record_says_that_work_started_before_the_unit_was_opened(
    by: timedelta, counts: int
) -> None:
    history = History()
    question = history.question()
    opened_at = history.now
    history.open(question)
    history.seal(question)
    history.open(question, started_at=opened_at + by)
    assert eligible(history.folded()) == [counts]
    history.resolve(question)
    assert eligible(history.folded()) == [counts]


def test_a_forecaster_can_know_what_start_the_first_record_states() -> None:
    history = History()
    question = history.question()
    history.open(question, started_at=history.now - SECOND)
    history.seal(question)
    assert eligible(history.folded()) == [0]


def test_a_resolver_may_find_that_work_started_before_the_unit_was_opened() -> None:
    history = History()
    question = history.question()
    began = history.now - SECOND
    history.open(question)
    history.seal(question)
    history.resolve(question, started_at=began)
    assert eligible(history.folded()) == [0]


@pytest.mark.parametrize(
    ("age", "flagged"),
    [(3600 * SECOND, []), (3600 * SECOND + MICROSECOND, [(4, "backdated")])],
    ids=["an hour", "longer"],
)
def test_a_start_that_is_stated_long_after_it_is_flagged(
    age: timedelta, flagged: list[tuple[int, str]]
) -> None:
    history = History()
    question = history.question()
    history.open(question)
    history.seal(question)
    history.wait(hours=1)
    history.wait(minutes=30)
    history.open(question, started_at=history.now - age)
    assert found(history) == flagged


# --- A start of work that shuts out what counted ------------------------------------------


class Shutting(NamedTuple):
    """What was sealed, and a later record that states a start of work."""

    seal: Callable[[History, Any], object]
    status: str = "PENDING"
    starts: timedelta = NOTHING
    before: timedelta | None = None
    claimed: bool = False


def sealed(history: History, question: Any) -> None:
    history.seal(question)


def sealed_hidden(history: History, question: Any) -> None:
    history.seal(question, "", commitment=OTHER)


def sealed_late(history: History, question: Any) -> None:
    history.now = question.cutoff_at + SECOND
    history.seal(question)


def sealed_under_another_hash(history: History, question: Any) -> None:
    history.seal(question, suite_hash=OTHER)


SHUT_OUT: dict[str, tuple[Shutting, bool]] = {
    "it began when the vector was sealed": (Shutting(sealed), True),
    "it began just after": (Shutting(sealed, starts=MICROSECOND), False),
    "the vector is hidden, and may be opened": (Shutting(sealed_hidden), True),
    "the vector was late": (Shutting(sealed_late), False),
    "the vector is of another suite": (Shutting(sealed_under_another_hash), False),
    "the same start was stated before": (Shutting(sealed, before=NOTHING), False),
    "a later start was stated before": (Shutting(sealed, before=MICROSECOND), True),
    "a resolver says it with the outcome": (Shutting(sealed, status="RESOLVED"), False),
    "by claims nothing tells what was said later": (
        Shutting(sealed, claimed=True),
        False,
    ),
}


@pytest.mark.parametrize(("case", "flagged"), SHUT_OUT.values(), ids=SHUT_OUT)
def test_who_states_a_start_that_shuts_out_a_vector_is_named(
    case: Shutting, *, flagged: bool
) -> None:
    claimed = {"run_class": "exploratory", "statistics__looks": []}
    history = History(chronology="claimed", **claimed) if case.claimed else History()
    question = history.question()
    if case.before is None:
        history.open(question)
    else:
        history.open(question, started_at=history.now + SECOND + case.before)
    case.seal(history, question)
    at, seq = history.now - SECOND, history.size()
    outcome = "pass" if case.status == "RESOLVED" else None
    history.record(
        question,
        case.status,
        author="resolver",
        outcome=outcome,
        started_at=at + case.starts,
    )
    assert ((seq, "backdated") in found(history)) == flagged


def test_a_start_between_two_vectors_is_in_force_and_named_at_its_record() -> None:
    history = History()
    question = history.question()
    history.open(question)
    history.seal(question)
    began = history.now
    history.seal(question, forecaster="rival")
    history.open(question, started_at=began)
    assert eligible(history.folded()) == [1, 0]
    assert found(history) == [(4, "after-start"), (5, "backdated")]


@pytest.mark.parametrize(("after", "counts"), [(NOTHING, 0), (-MICROSECOND, 1)])
def test_by_claims_an_outcome_without_a_publication_was_known_when_it_was_recorded(
    after: timedelta, counts: int
) -> None:
    history = History(
        chronology="claimed", run_class="exploratory", statistics__looks=[]
    )
    question = history.question()
    recorded_at = history.now - timedelta(days=1)
    history.seal(question, created_at=recorded_at + after)
    history.resolve(question, created_at=recorded_at)
    assert eligible(history.folded()) == [counts]


def test_who_only_opens_questions_cannot_say_that_an_outcome_was_published() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.open(question, published_at=history.now - timedelta(days=1))
    assert eligible(history.folded()) == [1]
