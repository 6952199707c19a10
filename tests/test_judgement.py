"""Which vectors count, what stands, and what is flagged: both sides of each edge."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from ledger import codec
from ledger.events import Evidence, Question
from ledger.projections import schema
from ledger.projections.materialize import Tables
from tests.simulator import BAR, History, suite

SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)


def vectors(tables: Tables) -> list[tuple[str, str, int, str | None]]:
    """Return (forecaster, kind, eligible, reason) in log order."""
    sql = "SELECT forecaster, kind, eligible, reason FROM forecasts ORDER BY seq"
    return schema.found(tables.connection, sql)


def reason(history: History) -> str | None:
    """Return why the last vector does not count; None if it does."""
    _, _, eligible, found = vectors(history.folded())[-1]
    assert eligible == (found is None)
    return found


def rules(history: History, *, of: int | None = None) -> list[str]:
    """Return the rules of all findings, or of those about one event."""
    found = history.folded().connection.execute(
        "SELECT seq, rule FROM findings ORDER BY seq, rule"
    )
    return [rule for seq, rule in found if of is None or seq == of]


def unit(tables: Tables) -> dict[str, Any]:
    """Return the only unit's row."""
    cursor = tables.connection.execute("SELECT * FROM questions")
    names = [column[0] for column in cursor.description]
    ((*row,),) = cursor.fetchall()
    return dict(zip(names, row, strict=True))


# --- Time, by the ledger's clock ------------------------------------------------------


def sealed_at_the_cutoff(history: History, late: timedelta) -> None:
    question = history.question(cutoff_at=history.now)
    history.now += late
    history.seal(question)


def sealed_at_the_start(history: History, late: timedelta) -> None:
    question = history.question()
    history.seal(question)
    history.resolve(question, started_at=history.now - SECOND - late)


def sealed_at_publication(history: History, late: timedelta) -> None:
    question = history.question()
    history.seal(question)
    history.resolve(question, published_at=history.now - SECOND - late)


EDGES: dict[str, tuple[Callable[[History, timedelta], None], timedelta, str | None]] = {
    "on the cut-off": (sealed_at_the_cutoff, 0 * SECOND, None),
    "just after the cut-off": (sealed_at_the_cutoff, MICROSECOND, "late"),
    "just before work starts": (sealed_at_the_start, -MICROSECOND, None),
    "when work starts": (sealed_at_the_start, 0 * SECOND, "after-start"),
    "just before the outcome is out": (sealed_at_publication, -MICROSECOND, None),
    "when the outcome is out": (
        sealed_at_publication,
        0 * SECOND,
        "known-before-sealing",
    ),
}


@pytest.mark.parametrize(("seal", "late", "found"), EDGES.values(), ids=EDGES)
def test_a_vector_counts_up_to_the_edge(
    seal: Callable[[History, timedelta], None], late: timedelta, found: str | None
) -> None:
    history = History()
    seal(history, late)
    assert reason(history) == found


def test_a_vector_after_the_first_outcome_does_not_count_whatever_it_was() -> None:
    history = History()
    question = history.question()
    history.open(question)
    history.record(question, "CENSORED")
    history.record(question, "PENDING", author="resolver")
    history.seal(question)
    assert reason(history) == "after-resolution"


def test_a_vector_after_the_opening_counts() -> None:
    history = History()
    question = history.question()
    history.open(question)
    history.seal(question)
    assert reason(history) is None


def test_the_latest_stated_start_of_work_is_the_one_that_bounds() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.resolve(question, started_at=history.now - 60 * SECOND)
    assert reason(history) == "after-start"
    history.resolve(question, started_at=history.now)
    assert reason(history) is None


def test_the_earliest_stated_publication_is_the_one_that_bounds() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.resolve(question, published_at=history.now - 60 * SECOND)
    history.resolve(question, published_at=history.now)
    assert reason(history) == "known-before-sealing"


# --- Time, by claims ------------------------------------------------------------------


@pytest.fixture
def imported() -> History:
    return History(chronology="claimed", run_class="exploratory", statistics__looks=[])


@pytest.mark.parametrize(("late", "found"), [(0 * SECOND, None), (MICROSECOND, "late")])
def test_by_claims_lateness_goes_by_when_a_vector_was_made(
    imported: History, late: timedelta, found: str | None
) -> None:
    cutoff = imported.now - timedelta(days=300)
    asked = imported.question(opened_at=cutoff, cutoff_at=cutoff, resolve_by=cutoff)
    imported.seal(asked, created_at=cutoff + late)
    assert reason(imported) == found


@pytest.mark.parametrize(
    ("after", "found"),
    [(SECOND, None), (0 * SECOND, "after-resolution"), (-SECOND, "after-resolution")],
)
def test_by_claims_publication_stands_for_the_place_in_the_log(
    imported: History, after: timedelta, found: str | None
) -> None:
    made = imported.now - timedelta(days=300)
    times = {"opened_at": made, "cutoff_at": made + 60 * SECOND}
    question = imported.question(**times, resolve_by=made + 60 * SECOND)
    imported.seal(question, created_at=made)
    imported.resolve(question, published_at=made + after)
    assert reason(imported) == found


def test_imported_history_is_not_flagged_for_being_old(imported: History) -> None:
    imported.seal(imported.question(), created_at=imported.now - timedelta(days=300))
    assert rules(imported) == []


# --- Hashes, keys, duplicates ---------------------------------------------------------


def test_a_vector_under_another_suite_hash_does_not_count() -> None:
    history = History()
    history.seal(history.question(), suite_hash=sha256(b"another").hexdigest())
    assert reason(history) == "suite-hash-mismatch"


def test_a_vector_on_an_own_easier_question_does_not_count() -> None:
    history = History()
    history.seal(history.question(acceptance_hash=BAR), forecaster="rival")
    easier = sha256(b"an easier bar").hexdigest()
    history.seal(history.question(acceptance_hash=easier))
    assert reason(history) == "question-hash-mismatch"
    assert unit(history.folded())["vectors"] == 2


def test_an_update_under_the_other_question_belongs_to_the_same_unit() -> None:
    history = History()
    history.seal(history.question(acceptance_hash=BAR), forecaster="rival")
    other = history.question(acceptance_hash=sha256(b"other").hexdigest())
    first = history.seal(other)
    history.update(other, first)
    assert vectors(history.folded())[1:] == [
        ("native", "initial", 0, "question-hash-mismatch"),
        ("native", "update", 0, "question-hash-mismatch"),
    ]


def test_of_two_seals_of_one_unit_the_first_counts() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.9")
    history.seal(question, "0.1")
    assert vectors(history.folded()) == [
        ("native", "initial", 1, None),
        ("native", "duplicate", 0, "duplicate-unit"),
    ]


def test_two_forecasters_seal_one_unit_each_in_its_own_chain() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.seal(question, forecaster="rival")
    assert [kind for _, kind, _, _ in vectors(history.folded())] == ["initial"] * 2


@pytest.mark.parametrize(("since", "found"), [(2, "compromised-key"), (3, None)])
def test_from_the_stated_position_on_a_compromised_key_s_vectors_do_not_count(
    since: int, found: str | None
) -> None:
    history = History()
    history.seal(history.question())
    stolen = {"forecaster": since}
    new_key = {"forecaster": "forecaster#2"}
    history.add(history.charter(2, compromised_since=stolen, keys=new_key))
    assert reason(history) == found


def test_the_new_key_of_the_same_name_counts() -> None:
    history = History()
    stolen, new_key = {"forecaster": 2}, {"forecaster": "forecaster#2"}
    history.add(history.charter(2, compromised_since=stolen, keys=new_key))
    history.seal(history.question(), key="forecaster#2")
    assert reason(history) is None


def test_an_outcome_under_a_compromised_key_is_flagged_and_decides_nothing() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.resolve(question)
    assert unit(history.folded())["status"] == "RESOLVED"
    stolen, new_key = {"resolver": 3}, {"resolver": "resolver#2"}
    history.add(history.charter(2, compromised_since=stolen, keys=new_key))
    assert unit(history.folded())["status"] == "PENDING"
    assert rules(history) == ["compromised-key"]


# --- Chains ---------------------------------------------------------------------------


def test_each_update_names_the_vector_before_it() -> None:
    history = History()
    question = history.question()
    first = history.seal(question, "0.5")
    history.seal(question, "0.1")
    second = history.update(question, first, "0.6")
    history.update(question, second, "0.7")
    rows = history.folded().connection.execute(
        "SELECT seq, parent, kind FROM lineage ORDER BY seq"
    )
    assert rows.fetchall() == [
        (2, None, "initial"),
        (3, None, "duplicate"),
        (4, 2, "update"),
        (5, 4, "update"),
    ]


def test_an_update_counts_even_where_its_root_does_not() -> None:
    history = History()
    question = history.question()
    first = history.seal(question, suite_hash=sha256(b"another").hexdigest())
    history.update(question, first)
    assert [eligible for _, _, eligible, _ in vectors(history.folded())] == [0, 1]


# --- Hidden vectors -------------------------------------------------------------------


SALT = sha256(b"salt").hexdigest()


def hidden(history: History, question: Question, p: str = "0.8") -> str:
    """Seal a commitment to a vector, and return its event id."""
    shown = history.vector(question, p)
    draft = history.draft_seal(question, probabilities=shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    return history.seal(question, "", commitment=committed)


def test_a_hidden_vector_counts_once_it_is_opened() -> None:
    history = History()
    question = history.question()
    sealed = hidden(history, question)
    assert reason(history) == "hidden"
    history.wait(hours=3)
    history.resolve(question)
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)
    tables = history.folded()
    assert vectors(tables) == [
        ("native", "initial", 1, None),
        ("native", "reveal", 0, None),
    ]
    scored = tables.connection.execute("SELECT brier FROM scores").fetchall()
    assert scored == [(40_000_000_000,)]


def test_a_reveal_of_another_vector_is_flagged_and_opens_nothing() -> None:
    history = History()
    question = history.question()
    sealed = hidden(history, question, "0.8")
    history.update(question, sealed, "0.9", opens=sealed, salt=SALT)
    assert vectors(history.folded())[0][3] == "hidden"
    assert rules(history) == ["commitment-mismatch"]


# --- What stands ----------------------------------------------------------------------


def test_the_last_record_stands_and_a_review_changes_nothing() -> None:
    history = History()
    question = history.question()
    history.open(question)
    first = history.resolve(question, "pass")
    history.record(question, "VOID", author="reviewer", supersedes=None, confirms=first)
    found = unit(history.folded())
    assert (found["status"], found["outcome"], found["reviews"]) == (
        "RESOLVED",
        "pass",
        1,
    )
    history.resolve(question, "fail")
    found = unit(history.folded())
    assert (found["status"], found["outcome"]) == ("RESOLVED", "fail")


def test_a_unit_that_nobody_resolved_is_pending() -> None:
    history = History()
    history.seal(history.question())
    assert unit(history.folded())["status"] == "PENDING"


def test_a_computed_competitor_forecasts_at_the_opening_else_at_the_first_vector() -> (
    None
):
    history = History()
    question = history.question()
    history.seal(question)
    history.seal(question, forecaster="rival")
    assert unit(history.folded())["own_seq"] == 2
    history.open(question)
    assert unit(history.folded())["own_seq"] == 4


# --- Findings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "found"),
    [(3600 * SECOND, []), (3600 * SECOND + MICROSECOND, ["backdated"])],
)
def test_what_was_made_too_long_before_it_was_received_is_flagged(
    age: timedelta, found: list[str]
) -> None:
    history = History()
    question = history.question()
    history.seal(question, created_at=history.now - age)
    assert rules(history) == found


def test_a_backdated_vector_still_counts() -> None:
    history = History()
    question = history.question()
    history.seal(question, created_at=history.now - timedelta(days=1))
    assert reason(history) is None


@pytest.mark.parametrize(
    ("after", "found"), [(0 * SECOND, []), (MICROSECOND, ["evidence-after-sealing"])]
)
def test_evidence_from_after_the_seal_is_flagged(
    after: timedelta, found: list[str]
) -> None:
    history = History()
    seen = Evidence(cutoff_at=history.now + after)
    history.seal(history.question(), evidence=seen)
    assert rules(history) == found


@pytest.mark.parametrize(
    ("before", "found"), [(MICROSECOND, []), (0 * SECOND, ["training-after-label"])]
)
def test_training_on_the_label_is_flagged(before: timedelta, found: list[str]) -> None:
    history = History()
    question = history.question()
    out = history.now + 60 * SECOND
    history.seal(question, evidence=Evidence(training_cutoff_at=out - before))
    history.wait(hours=3)
    history.resolve(question, published_at=out)
    assert rules(history) == found


def test_a_canary_in_a_forecast_s_text_is_flagged() -> None:
    marker = "canary-6d0c2f4e9b8a41f7a3e5c0d9b7a61e24"
    history = History(canaries=[sha256(marker.encode()).hexdigest()])
    question = history.question()
    history.seal(question, failure_modes=("flaky test",))
    assert rules(history) == []
    history.seal(question, forecaster="rival", reason_codes=(f"seen {marker} there",))
    assert rules(history) == ["canary-leak"]


@pytest.mark.parametrize(
    ("apart", "found"), [(3600, []), (3600.000001, ["unmatched-timing"])]
)
def test_compared_seals_that_lie_far_apart_are_flagged(
    apart: float, found: list[str]
) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(seconds=apart - 1)
    history.seal(question, forecaster="rival")
    assert rules(history) == found


def test_an_outcome_by_another_bar_than_the_question_s_is_flagged() -> None:
    history = History()
    question = history.question(acceptance_hash=BAR)
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, acceptance_hash=BAR)
    assert rules(history) == []
    history.resolve(question, acceptance_hash=sha256(b"another bar").hexdigest())
    assert rules(history) == ["acceptance-hash-mismatch"]


AMENDMENTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing but a note": ({"note": "checked twice"}, []),
    "another source": ({"source": "second run"}, []),
    "the outcome": ({"outcome": "fail"}, ["amended"]),
    "the status": (
        {"status": "VOID", "outcome": None, "reason_code": "flaky"},
        ["amended"],
    ),
    "the publication": ({"published_at": None}, ["amended"]),
}


@pytest.mark.parametrize(("changes", "found"), AMENDMENTS.values(), ids=AMENDMENTS)
def test_an_amendment_is_flagged_where_it_changes_what_counts(
    changes: dict[str, Any], found: list[str]
) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    stated = {"published_at": history.now}
    history.resolve(question, **stated)
    history.resolve(question, **{**stated, **changes})
    assert rules(history) == found


@pytest.mark.parametrize(("waited", "found"), [(7199, ["resolved-early"]), (7200, [])])
def test_a_resolution_before_the_cut_off_is_flagged(
    waited: int, found: list[str]
) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(seconds=waited - 1)
    history.resolve(question)
    assert rules(history) == found


def test_a_finding_names_the_unit_and_says_what_happened_when() -> None:
    history = History()
    question = history.question(cutoff_at=history.now)
    history.wait(minutes=1)
    history.seal(question)
    ((seq, subject, message),) = history.folded().connection.execute(
        "SELECT seq, subject, message FROM findings"
    )
    assert seq == 2
    assert subject == '["history@v1","dispatch-pass","d-1","24h"]'
    assert message == (
        "native sealed at 2026-11-02T09:01:02Z, after the cut-off 2026-11-02T09:00:02Z"
    )


def test_suites_with_the_same_question_have_units_of_their_own() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.freeze(suite("other@v1"))
    other = codec.suite_hash(suite("other@v1"))
    history.seal(question, suite="other@v1", suite_hash=other)
    names = history.folded().connection.execute("SELECT suite FROM questions")
    assert names.fetchall() == [("history@v1",), ("other@v1",)]
