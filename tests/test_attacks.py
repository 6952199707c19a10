"""What somebody may try, and where it shows: one row an attack, named by a sentence."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import pytest

from ledger import codec
from ledger.errors import RefusedError
from ledger.events import Question
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.report import Report
from ledger.suite import SuiteManifest
from tests.simulator import BAR, History, suite
from tests.test_rules_table import tables

EASIER = sha256(b"an easier bar").hexdigest()
SALT = sha256(b"salt").hexdigest()
Attack = Callable[[History], object]
Row = dict[str, Any]


def issued(name: str = "history@v1", **changes: Any) -> SuiteManifest:
    """Return a suite whose questions an issuer opens, with a bar fixed before."""
    made = suite(name, **changes)
    first, *others = made.templates
    strict = msgspec.structs.replace(
        first, question_owner="issuer", requires_acceptance=True
    )
    return msgspec.structs.replace(made, templates=(strict, *others))


class Shown(NamedTuple):
    """Where an attack shows: the door's code, or what stands in tables and rows."""

    refused: str | None = None
    findings: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    labels: tuple[str, ...] = ()


def row(history: History, forecaster: str = "native", slot: str | None = None) -> Row:
    """Return a forecaster's overall row, as of now."""
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    report = Report(tables, fold.frozen)
    found = report.rows(suite=history.manifest.suite, forecaster=forecaster, slot=slot)
    return next(each for each in found if not each["slice"] and not each["horizon"])


def findings(history: History) -> tuple[str, ...]:
    told = history.folded().connection.execute(
        "SELECT rule FROM findings ORDER BY seq, rule"
    )
    return tuple(rule for (rule,) in told)


def asked(history: History, id: str = "d-1") -> Question:  # noqa: A002
    """Open a question with its bar, as the issuer does."""
    question = history.question(id, acceptance_hash=BAR)
    history.open(question)
    return question


def judged(history: History, question: Question, outcome: str = "pass") -> None:
    """Let the cut-off pass and record the outcome, as an honest resolver does."""
    history.now = max(history.now, question.cutoff_at + timedelta(hours=1))
    history.resolve(question, outcome, acceptance_hash=question.acceptance_hash)


# --- As the forecaster ----------------------------------------------------------------


def seal_late_with_an_early_time(history: History) -> None:
    question = asked(history)
    history.now = question.cutoff_at + timedelta(hours=2)
    history.seal(question, created_at=question.opened_at)
    judged(history, question)


def replay_an_event_of_another_ledger(history: History) -> None:
    question = asked(history)
    elsewhere = sha256(b"the charter of another ledger").hexdigest()
    history.seal(question, ledger=elsewhere)


def seal_high_and_low(history: History) -> None:
    question = asked(history)
    history.seal(question, "0.9")
    history.seal(question, "0.1")
    judged(history, question, "fail")


def seal_spare_ids(history: History) -> None:
    question = asked(history)
    history.seal(question, "0.9")
    spare = msgspec.structs.replace(question, id="d-1-again")
    history.seal(spare, "0.1")


def seal_spare_ids_where_forecasters_ask(history: History) -> None:
    template = {"template": "weather"}
    vectors = (
        {"dry": "0.9", "rain": "0.1", "snow": "0"},
        {"dry": "0", "rain": "1", "snow": "0"},
    )
    questions = [history.question(name, **template) for name in ("w", "w-again")]
    for question, vector in zip(questions, vectors, strict=True):
        history.seal(question, vector)
    history.wait(hours=3)
    history.resolve(questions[1], "rain")
    history.wait(hours=30)
    history.seal(history.question("w-later", **template), vectors[0])


def bring_an_easier_bar(history: History) -> None:
    question = asked(history)
    history.seal(msgspec.structs.replace(question, acceptance_hash=EASIER))
    judged(history, question)


def skip_what_is_hard(history: History) -> None:
    easy, hard = asked(history, "easy"), asked(history, "hard")
    history.seal(easy, "0.9")
    judged(history, easy)
    judged(history, hard, "fail")


def update_at_the_last_minute(history: History) -> None:
    question = asked(history)
    first = history.seal(question, "0.9")
    history.now = question.cutoff_at
    history.update(question, first, "0")
    judged(history, question, "fail")


def update_when_it_is_known(history: History) -> None:
    question = asked(history)
    first = history.seal(question, "0.9")
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, "fail", published_at=history.now - timedelta(minutes=30))
    history.update(question, first, "0")


def hide(history: History, question: Question, forecaster: str) -> tuple[str, str]:
    """Seal a hidden vector; return the event's id and the commitment."""
    shown = history.vector(question, "0.8")
    draft = history.draft_seal(question, probabilities=shown, forecaster=forecaster)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    sealed = history.seal(question, "", commitment=committed, forecaster=forecaster)
    return sealed, committed


def copy_a_commitment(history: History) -> None:
    question = asked(history)
    honest, committed = hide(history, question, "rival")
    copied = history.seal(question, "", commitment=committed)
    judged(history, question)
    opening = {"opens": honest, "salt": SALT, "forecaster": "rival"}
    history.update(question, honest, "0.8", **opening)
    history.update(question, copied, "0.8", opens=copied, salt=SALT)


def hide_both_answers_and_open_one(history: History) -> None:
    question = asked(history)
    hide(history, question, "native")
    shown = history.vector(question, "0.2")
    draft = history.draft_seal(question, probabilities=shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    second = history.seal(question, "", commitment=committed)
    judged(history, question, "fail")
    parent = history.state.unit_of(
        history.manifest.suite, codec.question_hash(question)
    )
    assert parent is not None
    last = parent.chains["native"].end(history.state.lost).event_id
    history.update(question, last, "0.2", opens=second, salt=SALT)


def open_the_one_that_was_right(history: History) -> tuple[Question, str]:
    """Hide two vectors, open the first; return the question and the second's id."""
    question = asked(history)
    first, _ = hide(history, question, "native")
    shown = history.vector(question, "0.1")
    event = history.draft_seal(question, probabilities=shown)
    hashed = msgspec.structs.replace(
        event, question=None, question_hash=codec.question_hash(question)
    )
    committed = codec.commitment(hashed, parent=first, salt=SALT)
    second = history.update(question, first, "", commitment=committed)
    judged(history, question, "pass")
    history.update(question, second, "0.8", opens=first, salt=SALT)
    return question, second


def judge_oneself(history: History) -> None:
    question = asked(history)
    history.seal(question)
    history.resolve(question, author="forecaster")


# --- As the resolver ------------------------------------------------------------------


def judge_by_another_bar(history: History) -> None:
    question = asked(history)
    history.seal(question)
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, acceptance_hash=EASIER)


def void_what_failed(history: History) -> None:
    questions = [asked(history, f"d-{number}") for number in range(4)]
    for question in questions:
        history.seal(question, "0.9")
    history.wait(hours=3)
    for question in questions[:2]:
        judged(history, question)
    for question in questions[2:]:
        history.record(question, "VOID", reason_code="environment")


def resolve_twice(history: History) -> None:
    question = asked(history)
    judged(history, question, "fail")
    history.resolve(question, "pass", supersedes=None)


def amend_in_silence(history: History) -> None:
    question = asked(history)
    history.seal(question)
    judged(history, question, "fail")
    judged(history, question, "pass")


def withdraw_and_say_otherwise(history: History) -> None:
    question = asked(history)
    history.seal(question)
    judged(history, question, "fail")
    history.record(question, "PENDING", author="resolver")
    judged(history, question, "pass")


def publish_tomorrow(history: History) -> None:
    question = asked(history)
    history.now = question.cutoff_at
    history.resolve(question, published_at=history.now + timedelta(microseconds=1))


def tell_before_it_is_recorded(history: History) -> None:
    question = asked(history)
    told_at = history.now
    history.seal(question, "1")
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, acceptance_hash=BAR, published_at=told_at)


def move_the_start_of_work(history: History) -> None:
    question = history.question(acceptance_hash=BAR)
    history.open(question, started_at=history.now)
    history.seal(question)
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, acceptance_hash=BAR, started_at=question.cutoff_at)


def move_the_start_of_work_by_a_detour(history: History) -> None:
    question = history.question(acceptance_hash=BAR)
    history.open(question, started_at=history.now)
    history.seal(question)
    history.record(question, "PENDING")
    history.now = question.cutoff_at + timedelta(hours=1)
    history.resolve(question, acceptance_hash=BAR, started_at=question.cutoff_at)


def start_work_before_what_fared_badly(history: History) -> None:
    question = asked(history)
    history.seal(question, "0.9", forecaster="rival")
    began = history.now
    history.seal(question, "0.1")
    history.wait(minutes=30)
    history.record(question, "PENDING", started_at=began)
    judged(history, question)


def review_oneself(history: History) -> None:
    question = asked(history)
    history.wait(hours=3)
    first = history.resolve(question)
    history.resolve(question, supersedes=None, confirms=first)


# --- As an evaluator ------------------------------------------------------------------


def kinder(number: int = 2) -> SuiteManifest:
    """Return a next version that is kinder to extreme forecasts."""
    return issued(f"history@v{number}", scoring__clip="0.1")


def change_a_rule_in_mid_flight(history: History) -> None:
    question = asked(history)
    history.seal(question, "1")
    history.freeze(kinder())
    judged(history, question, "fail")


def change_a_rule_under_the_same_name(history: History) -> None:
    history.freeze(issued(scoring__clip="0.1"))


def open_under_the_old_rules(history: History) -> None:
    history.freeze(kinder())
    asked(history)


def seal_under_the_new_hash(history: History) -> None:
    question = asked(history)
    history.freeze(kinder())
    history.seal(question, suite_hash=codec.suite_hash(kinder()))
    judged(history, question)


def choose_the_outcomes_after_the_questions(history: History) -> None:
    history.freeze(kinder(3))


ATTACKS: dict[str, tuple[Attack, Shown]] = {
    "an early created_at does not make a late forecast early": (
        seal_late_with_an_early_time,
        Shown(
            findings=("backdated", "late"),
            counts={"late": 1, "eligible": 0, "missing": 1, "scored": 0},
            labels=("under_covered",),
        ),
    ),
    "another ledger's event is none of this one": (
        replay_an_event_of_another_ledger,
        Shown(refused="wrong-ledger"),
    ),
    "of two seals of one unit the first counts": (
        seal_high_and_low,
        Shown(
            findings=("duplicate-unit",),
            counts={"submitted": 2, "duplicate": 1, "forecasts": 1, "scored": 1},
        ),
    ),
    "a spare id cannot be opened by who forecasts": (
        seal_spare_ids,
        Shown(refused="not-the-question-owner"),
    ),
    "where forecasters ask, the spare id that was left is overdue, and nothing official": (
        seal_spare_ids_where_forecasters_ask,
        Shown(
            findings=(),
            counts={"units": 2, "scored": 1, "overdue": 1},
            labels=("forecaster_owned",),
        ),
    ),
    "an own easier bar is another question, and the unit is missing": (
        bring_an_easier_bar,
        Shown(
            findings=("question-hash-mismatch",),
            counts={"units": 1, "eligible": 0, "missing": 1},
        ),
    ),
    "a hard unit that is skipped is in the denominator": (
        skip_what_is_hard,
        Shown(
            findings=("unforecast",),
            counts={
                "units": 2,
                "scored": 1,
                "unscored": 1,
                "missing": 1,
                "unforecast": 1,
            },
            labels=("under_covered",),
        ),
    ),
    "a last-minute update leaves the first forecast where it stands": (
        update_at_the_last_minute,
        Shown(counts={"submitted": 2, "forecasts": 2, "scored": 1}),
    ),
    "an update that knows the outcome does not count": (
        update_when_it_is_known,
        Shown(
            findings=("after-resolution", "known-before-sealing", "late"),
            counts={"submitted": 2, "forecasts": 1, "late": 1},
        ),
    ),
    "another's commitment cannot be opened as one's own": (
        copy_a_commitment,
        Shown(
            findings=("commitment-mismatch",),
            counts={"hidden": 1, "eligible": 0, "missing": 1},
        ),
    ),
    "of two hidden answers the second is a duplicate, whichever is opened": (
        hide_both_answers_and_open_one,
        Shown(
            findings=("duplicate-unit",),
            counts={"duplicate": 1, "hidden": 1, "eligible": 0, "missing": 1},
        ),
    ),
    "of a chain with hidden vectors the right one is not opened alone": (
        open_the_one_that_was_right,
        Shown(counts={"hidden": 1, "eligible": 1, "missing": 0}),
    ),
    "who forecasts cannot judge": (judge_oneself, Shown(refused="wrong-role")),
    "an outcome by another bar than the sealed one is named": (
        judge_by_another_bar,
        Shown(findings=("acceptance-hash-mismatch",), counts={"scored": 1}),
    ),
    "failures that are voided are counted": (
        void_what_failed,
        Shown(counts={"units": 4, "void": 2, "scored": 2, "resolved": 2}),
    ),
    "a second outcome that names no first is refused": (
        resolve_twice,
        Shown(refused="supersedes-missing"),
    ),
    "an amendment is never silent": (
        amend_in_silence,
        Shown(findings=("amended",), counts={"scored": 1}),
    ),
    "nor is one by way of a withdrawal": (
        withdraw_and_say_otherwise,
        Shown(findings=("amended", "amended"), counts={"scored": 1}),
    ),
    "an outcome cannot be published after its receipt": (
        publish_tomorrow,
        Shown(refused="published-after-receipt"),
    ),
    "an outcome that was told before the seal makes it worthless": (
        tell_before_it_is_recorded,
        Shown(findings=("known-before-sealing",), counts={"eligible": 0, "missing": 1}),
    ),
    "a start of work that is moved to let a forecast in is named": (
        move_the_start_of_work,
        Shown(findings=("amended",), counts={"scored": 1}),
    ),
    "nor does it move unseen by way of a record that states none": (
        move_the_start_of_work_by_a_detour,
        Shown(findings=("amended",), counts={"scored": 1}),
    ),
    "a start that shuts a forecast out is named at the record that states it": (
        start_work_before_what_fared_badly,
        Shown(
            findings=("after-start", "backdated"), counts={"eligible": 0, "missing": 1}
        ),
    ),
    "nobody reviews itself": (review_oneself, Shown(refused="own-review")),
    "a rule that changes in mid-flight changes nothing that is in the air": (
        change_a_rule_in_mid_flight,
        Shown(counts={"scored": 1, "clipped_count": 1}),
    ),
    "a version cannot be frozen again with other rules": (
        change_a_rule_under_the_same_name,
        Shown(refused="frozen-before"),
    ),
    "the old version opens nothing more": (
        open_under_the_old_rules,
        Shown(refused="superseded-suite"),
    ),
    "a forecast under the new rules is none under the old": (
        seal_under_the_new_hash,
        Shown(findings=("suite-hash-mismatch",), counts={"eligible": 0, "missing": 1}),
    ),
    "no version is left out": (
        choose_the_outcomes_after_the_questions,
        Shown(refused="supersedes-wrong"),
    ),
}


def told(shown: Shown) -> str:
    """Return where an attack shows, in the words of the document."""
    parts = {
        "refused": [f"`{shown.refused}`"] if shown.refused else [],
        "found": [f"`{rule}`" for rule in shown.findings],
        "counted": [f"`{name}` {count}" for name, count in shown.counts.items()],
        "labelled": [f"`{label}`" for label in shown.labels],
    }
    return "; ".join(f"{how}: {', '.join(what)}" for how, what in parts.items() if what)


def test_the_document_says_where_each_attack_shows() -> None:
    documented = {row[0]: row[1] for row in tables()["it is no use"]}
    assert documented == {name: told(shown) for name, (_, shown) in ATTACKS.items()}


@pytest.mark.parametrize(("attack", "shown"), ATTACKS.values(), ids=ATTACKS)
def test_an_attack_shows(attack: Attack, shown: Shown) -> None:
    history = History(issued())
    if shown.refused is not None:
        with pytest.raises(RefusedError) as refused:
            attack(history)
        assert refused.value.code == shown.refused
        return
    attack(history)
    found = row(history)
    assert findings(history) == shown.findings
    assert {name: found["counts"][name] for name in shown.counts} == shown.counts
    assert set(shown.labels) <= set(found["labels"])


def brier(history: History, slot: str) -> str | None:
    found: Row = row(history, slot=slot)["scores"]["brier"]
    value: str | None = found["value"]
    return value


def test_a_last_minute_update_improves_the_final_score_and_no_other() -> None:
    history = History(issued())
    update_at_the_last_minute(history)
    assert brier(history, "initial") == "0.810000000000"
    assert brier(history, "final") == "0.000000000000"
    # In force for no time at all.
    assert brier(history, "time_weighted") == "0.810000000000"


def test_what_was_opened_alone_counts_as_the_first_and_in_no_other_slot() -> None:
    history = History(issued())
    open_the_one_that_was_right(history)
    assert brier(history, "initial") == "0.040000000000"
    for slot in ("final", "all", "time_weighted"):
        found = row(history, slot=slot)
        assert found["scores"]["brier"]["value"] is None
        assert found["counts"]["unslotted"] == 1


def test_once_all_of_a_chain_is_open_every_slot_has_its_vectors() -> None:
    history = History(issued())
    question, second = open_the_one_that_was_right(history)
    history.update(question, second, "0.1", opens=second, salt=SALT)
    assert brier(history, "final") == "0.810000000000"
    assert brier(history, "all") == "0.425000000000"


def test_two_contradictory_seals_score_as_the_first() -> None:
    history = History(issued())
    seal_high_and_low(history)
    assert brier(history, "final") == "0.810000000000"


def test_what_was_skipped_widens_the_bounds() -> None:
    history = History(issued())
    skip_what_is_hard(history)
    found = row(history)
    assert found["scores"]["brier"]["value"] == "0.010000000000"
    assert found["bounds"]["brier"]["hi"] == "0.505000000000"
    assert found["coverage"]["value"] == "0.500000000000"


def test_selective_voiding_shows_by_what_was_forecast() -> None:
    history = History(issued())
    void_what_failed(history)
    integrity = row(history)["integrity"]
    assert integrity["void_rate"]["value"] == "0.500000000000"
    assert integrity["void_by_probability"]["deciles"][9]["count"] == 2


def test_another_bar_is_counted_among_the_mismatches() -> None:
    history = History(issued())
    judge_by_another_bar(history)
    assert row(history)["integrity"]["hash_mismatch"]["count"] == 1


def test_an_amended_outcome_keeps_the_one_before_in_sight() -> None:
    history = History(issued())
    amend_in_silence(history)
    records = history.folded().connection.execute(
        "SELECT status, outcome FROM resolutions ORDER BY seq"
    )
    assert records.fetchall() == [
        ("PENDING", None),
        ("RESOLVED", "fail"),
        ("RESOLVED", "pass"),
    ]


def test_rows_of_a_superseded_version_keep_its_rules_and_say_so() -> None:
    history = History(issued())
    change_a_rule_in_mid_flight(history)
    found = row(history)
    assert found["suite_hash"] == codec.suite_hash(issued())
    assert found["superseded_at"] is not None
    # Clipped at a thousandth, as the first version says, and not at a tenth.
    assert found["scores"]["log_score_bits_clipped"]["value"].startswith("-9.96")


# --- A stolen key ---------------------------------------------------------------------

NEW_KEY = {"forecaster": "forecaster#2"}


def kinds(history: History) -> list[tuple[Any, ...]]:
    """Return kind, parent and reason of each forecast event."""
    rows = history.folded().connection.execute(
        "SELECT kind, parent, reason FROM forecasts ORDER BY seq"
    )
    return list(rows)


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (2, [("initial", None, "compromised-key"), ("initial", None, None)]),
        (3, [("initial", None, None), ("duplicate", None, "duplicate-unit")]),
    ],
    ids=["the thief's seal is void", "the key was lost after it"],
)
def test_who_steals_a_key_seals_no_unit_in_place_of_its_forecaster(
    since: int, told: list[tuple[Any, ...]]
) -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.01")
    lost = {"forecaster": since}
    history.add(history.charter(2, compromised_since=lost, keys=NEW_KEY))
    history.seal(question, "0.9", key="forecaster#2")
    assert kinds(history) == told


def test_a_chain_that_begins_again_goes_on_from_its_forecasters_own_seal() -> None:
    history = History()
    question = history.question()
    stolen = history.seal(question, "0.01")
    lost = {"forecaster": 2}
    history.add(history.charter(2, compromised_since=lost, keys=NEW_KEY))
    own = history.seal(question, "0.9", key="forecaster#2")
    with pytest.raises(RefusedError, match="the parent must be the chain's last"):
        history.update(question, stolen, key="forecaster#2")
    history.update(question, own, key="forecaster#2")
    history.seal(question, "0.5", key="forecaster#2")
    assert kinds(history) == [
        ("initial", None, "compromised-key"),
        ("initial", None, None),
        ("update", 4, None),
        ("duplicate", None, "duplicate-unit"),
    ]


@pytest.mark.parametrize(
    ("key", "is_late", "reviewed", "told"),
    [
        ("reviewer", False, 0, ("compromised-key",)),
        ("reviewer", True, 1, ()),
        ("reviewer#2", False, 1, ()),
    ],
    ids=["from then on", "before", "with the next key"],
)
def test_a_thief_s_review_is_flagged_and_not_counted(
    key: str, *, is_late: bool, reviewed: int, told: tuple[str, ...]
) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    recorded = history.resolve(question)
    lost = {"reviewer": history.size() + is_late}
    theft = history.charter(2, compromised_since=lost, keys={"reviewer": "reviewer#2"})
    review = {"author": "reviewer", "supersedes": None, "confirms": recorded}
    if key == "reviewer":
        history.resolve(question, **review)
        history.add(theft)
    else:
        history.add(theft)
        history.resolve(question, **review, key=key)
    assert row(history)["counts"]["reviewed"] == reviewed
    assert findings(history) == told


@pytest.mark.parametrize("stretch", [1, 2, 20])
@pytest.mark.parametrize(
    ("since", "is_stolen"), [(1, True), (2, False)], ids=["from then on", "after"]
)
def test_a_suite_that_a_thief_froze_is_flagged_and_its_rows_say_so(
    since: int, stretch: int, *, is_stolen: bool
) -> None:
    history = History()
    history.seal(history.question())
    assert "compromised_key" not in row(history)["labels"]
    lost, key = {"evaluator": since}, {"evaluator": "evaluator#2"}
    history.add(history.charter(2, compromised_since=lost, keys=key))
    history.wait(hours=3)
    history.seal(history.question("d-2"))
    assert ("compromised_key" in row(history)["labels"]) == is_stolen
    tables = Tables()
    Fold(tables, history, stretch=stretch).catch_up()
    told = tables.connection.execute("SELECT seq, rule, unit, subject FROM findings")
    expected = [(1, "compromised-key", None, "history@v1")] if is_stolen else []
    assert told.fetchall() == expected


def test_a_charter_that_a_thief_signed_is_flagged() -> None:
    history = History()
    history.add(history.charter(2))
    lost, key = {"root": 2}, {"root": "root#2"}
    history.add(history.charter(3, compromised_since=lost, keys=key))
    told = history.folded().connection.execute("SELECT seq, rule FROM findings")
    # The one that says so was signed with the same key: with no other could it be.
    assert told.fetchall() == [(2, "compromised-key"), (3, "compromised-key")]


def test_a_seal_counts_from_when_the_one_before_it_is_found_to_be_a_thiefs() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.01")
    history.add(history.charter(2, keys=NEW_KEY))
    history.seal(question, "0.9", key="forecaster#2")
    assert [kind for kind, _, _ in kinds(history)] == ["initial", "duplicate"]
    lost = {"forecaster": 2}
    history.add(history.charter(3, compromised_since=lost, keys=NEW_KEY))
    assert kinds(history)[1] == ("initial", None, None)
