"""What is asked, and what became of it: door and tables say the same, whatever a thief did.

A thief has the first keys of the issuer, the resolver and a forecaster. Whenever it
becomes known that one was lost, another question may turn out to be the canonical one,
and another record the one that stands; then the door that takes the next event and the
tables that show the unit have to mean those.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.canonical import canonical_text
from ledger.errors import RefusedError
from ledger.events import Question
from ledger.projections.agenda import open_units, stolen
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.schema import found
from tests.reporting import board_of, report
from tests.simulator import History, suite
from tests.test_compare import compare

NAMES = ("issuer", "resolver", "forecaster")
OWNERS = ("issuer", "forecaster")


def asked_by(owner: str) -> History:
    """Return a history whose questions somebody asks, with answers of their own."""
    made = suite()
    first, *others = made.templates
    template = msgspec.structs.replace(
        first, question_owner=owner, answers=(), positive=None
    )
    return History(msgspec.structs.replace(made, templates=(template, *others)))


class Theft:
    """A unit of which a thief and honest people speak by the same names.

    What the door refuses did not happen.
    """

    def __init__(self, owner: str) -> None:
        self.history = asked_by(owner)
        honest = self.history.question(answers=("pass", "fail"))
        self.versions = [
            honest,
            msgspec.structs.replace(honest, answers=("pass", "draw")),
            msgspec.structs.replace(honest, cutoff_at=honest.opened_at),
        ]
        self.rotations = dict.fromkeys(NAMES, 0)
        self.lost: dict[str, int] = {}

    def key(self, name: str, *, is_theft: bool) -> str:
        number = 0 if is_theft else self.rotations[name]
        return f"{name}#{number + 1}" if number else name

    def do(self, verb: str, version: int, since: int, *, is_theft: bool) -> None:
        """Let one thing happen, if the door lets it."""
        history, question = self.history, self.versions[version]
        key = {name: self.key(name, is_theft=is_theft) for name in NAMES}
        outcome, asked = question.answers[since % 2], codec.question_hash(question)
        name = NAMES[version]
        steps: dict[str, Callable[[], object]] = {
            "open": lambda: history.open(question, key=key["issuer"]),
            "seal": lambda: history.seal(question, key=key["forecaster"]),
            "seal by hash": lambda: history.seal(
                question, question=None, question_hash=asked, key=key["forecaster"]
            ),
            "rival": lambda: history.seal(question, forecaster="rival"),
            "resolve": lambda: history.resolve(question, outcome, key=key["resolver"]),
            "void": lambda: history.record(question, "VOID", key=key["resolver"]),
            "pending": lambda: history.record(question, "PENDING", key=key["issuer"]),
            "review": lambda: self.review(question, since),
            "rotate": lambda: self.rotate(name),
            "declare": lambda: self.declare(name, since),
        }
        with suppress(RefusedError):
            steps[verb]()

    def review(self, question: Question, which: int) -> None:
        unit = self.unit()
        if unit is not None and unit.records:
            confirmed = unit.records[which % len(unit.records)].event_id
            self.history.record(
                question,
                "VOID",
                author="reviewer",
                supersedes=None,
                confirms=confirmed,
            )

    def rotate(self, name: str) -> None:
        self.rotations[name] += 1
        self.amend()

    def declare(self, name: str, since: int) -> None:
        before = dict(self.lost)
        self.lost[name] = since
        try:
            self.amend()
        except RefusedError:
            self.lost = before

    def amend(self) -> None:
        number = self.history.state.charter_version + 1
        keys = {name: self.key(name, is_theft=False) for name in NAMES}
        made = self.history.charter(number, keys=keys, compromised_since=self.lost)
        self.history.add(made)

    def unit(self) -> Any:
        name = canonical_text([self.history.manifest.suite, *_NAME])
        return self.history.state.units.named(name)

    def at_the_door(self) -> dict[str, Any] | None:
        """Return what the door takes the unit for."""
        unit, lost = self.unit(), self.history.state.lost
        if unit is None:
            return None
        standing = unit.standing(lost)
        asked = unit.question(lost)
        return {
            "question_hash": asked.question_hash,
            "answers": canonical_text(asked.answers),
            "resolved_seq": None if standing is None else standing.seq,
            "status": "PENDING" if standing is None else standing.status,
            "outcome": None if standing is None else standing.outcome,
        }

    def in_the_tables(self) -> dict[str, Any] | None:
        """Return the same as the tables show it."""
        connection = self.history.folded().connection
        row = connection.execute(
            "SELECT question_hash, answers, resolved_seq, status, outcome, is_spoken "
            "FROM questions"
        ).fetchone()
        if row is None:
            return None
        *told, is_spoken = row
        unit = self.unit()
        assert is_spoken or not unit.is_asked(self.history.state.lost)
        names = ("question_hash", "answers", "resolved_seq", "status", "outcome")
        return dict(zip(names, told, strict=True))


_NAME = ("dispatch-pass", "d-1", "24h")
VERBS = (
    *("open", "open", "seal", "seal by hash", "rival", "resolve", "resolve", "void"),
    *("pending", "review", "rotate", "declare"),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(VERBS), st.integers(0, 2), st.integers(0, 12), st.booleans()
    ),
    max_size=14,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(owner=st.sampled_from(OWNERS), steps=STEPS)
def test_whatever_happens_the_door_and_the_tables_take_a_unit_for_the_same(
    owner: str, steps: list[tuple[str, int, int, bool]]
) -> None:
    theft = Theft(owner)
    for verb, version, since, is_theft in steps:
        theft.do(verb, version, since, is_theft=is_theft)
        assert theft.at_the_door() == theft.in_the_tables(), verb


def lose(history: History, name: str, since: int, number: int = 2) -> None:
    """Say that a name's first key was lost, and give it another."""
    history.add(
        history.charter(
            number, compromised_since={name: since}, keys={name: f"{name}#2"}
        )
    )


def issued() -> History:
    """Return a history whose questions an issuer asks."""
    made = suite()
    templates = tuple(
        msgspec.structs.replace(each, question_owner="issuer")
        for each in made.templates
    )
    return History(msgspec.structs.replace(made, templates=templates))


def row_of(history: History, forecaster: str) -> dict[str, Any]:
    return next(
        row
        for row in report(history).rows(forecaster=forecaster)
        if row["slice"] is None and row["horizon"] is None
    )


def scored(history: History, forecaster: str) -> dict[str, int]:
    counts: dict[str, int] = row_of(history, forecaster)["counts"]
    return {name: counts[name] for name in ("units", "scored", "missing")}


def test_an_honest_opening_needs_not_follow_a_thief_s_and_counts() -> None:
    history = issued()
    question = history.question()
    stolen_at = history.size()
    history.open(history.question(cutoff_at=history.now))
    lose(history, "issuer", stolen_at)
    history.open(question, key="issuer#2")
    history.seal(question, "0.9", question=None, question_hash=hash_of(question))
    rivals = {"forecaster": "rival", "question": None}
    history.seal(question, "0.8", question_hash=hash_of(question), **rivals)
    history.wait(hours=3)
    history.resolve(question)
    for forecaster in ("native", "rival"):
        assert scored(history, forecaster) == {"units": 1, "scored": 1, "missing": 0}


def test_a_forecaster_s_own_question_counts_where_a_thief_s_was_the_first() -> None:
    history = History()
    question, stolen_at = history.question(), history.size()
    history.seal(history.question(text="not it", cutoff_at=history.now), "0.1")
    history.seal(question, "0.8", forecaster="rival")
    assert not board_of(history).vectors.eligible[-1:].any()
    lose(history, "forecaster", stolen_at)
    history.seal(question, "0.9", key="forecaster#2")
    history.wait(hours=3)
    history.resolve(question)
    for forecaster in ("native", "rival"):
        assert scored(history, forecaster) == {"units": 1, "scored": 1, "missing": 0}


def test_who_may_not_open_a_unit_does_not_move_what_is_asked() -> None:
    history = issued()
    thief_s = history.question(text="the thief's")
    stolen_at = history.size()
    history.open(thief_s)
    history.seal(history.question(text="an easier bar"))
    lose(history, "issuer", stolen_at)
    table = history.folded().connection
    [(asked, is_spoken)] = found(
        table, "SELECT question_hash, is_spoken FROM questions"
    )
    assert (asked, is_spoken) == (hash_of(thief_s), 0)
    # And after the theft is known it does not even open it.
    with pytest.raises(RefusedError, match="an issuer opens its questions"):
        history.seal(history.question(text="another bar"), forecaster="rival")


def test_what_only_a_thief_opened_is_counted_apart_and_lowers_no_coverage() -> None:
    history = issued()
    stolen_at = history.size()
    for number in range(3):
        history.open(history.question(f"junk-{number}"))
    lose(history, "issuer", stolen_at)
    question = history.question()
    history.open(question, key="issuer#2")
    history.seal(question, "0.9", question=None, question_hash=hash_of(question))
    history.wait(hours=26)
    history.resolve(question)
    assert scored(history, "native") == {"units": 1, "scored": 1, "missing": 0}
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    connection = tables.connection
    assert stolen(connection, history.manifest.suite) == 3
    assert open_units(connection, fold.frozen, {}.get, 0) == []
    found = connection.execute("SELECT seq, rule FROM findings").fetchall()
    assert found == [(stolen_at + each, "compromised-key") for each in range(3)]


def test_what_a_thief_opened_is_the_suite_s_once_a_resolver_speaks_of_it() -> None:
    history = issued()
    question, stolen_at = history.question(), history.size()
    history.open(question)
    history.seal(question, "0.9", question=None, question_hash=hash_of(question))
    lose(history, "issuer", stolen_at)
    assert stolen(history.folded().connection, history.manifest.suite) == 1
    history.wait(hours=3)
    history.resolve(question)
    assert scored(history, "native") == {"units": 1, "scored": 1, "missing": 0}


def test_an_opening_that_is_said_again_word_for_word_makes_it_sound() -> None:
    history = issued()
    question, stolen_at = history.question(), history.size()
    history.open(question)
    history.seal(question, "0.9", question=None, question_hash=hash_of(question))
    lose(history, "issuer", stolen_at)
    history.open(question, key="issuer#2")
    assert stolen(history.folded().connection, history.manifest.suite) == 0


def test_a_review_of_a_thief_s_outcome_is_not_counted() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    stolen_at = history.size()
    forged = history.resolve(question)
    review = {"author": "reviewer", "outcome": "pass", "supersedes": None}
    history.record(question, "RESOLVED", confirms=forged, **review)
    lose(history, "resolver", stolen_at)
    counts = row_of(history, "native")["counts"]
    assert (counts["reviewed"], counts["pending"]) == (0, 1)
    with pytest.raises(RefusedError, match="is no record of an outcome"):
        history.record(question, "VOID", confirms=forged, **review | {"outcome": None})


def test_where_a_thief_s_outcome_stood_an_issuer_may_say_pending() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    pending = history.record(question, "PENDING")
    stolen_at = history.size()
    history.resolve(question)
    with pytest.raises(RefusedError, match="the unit is RESOLVED"):
        history.record(question, "PENDING")
    lose(history, "resolver", stolen_at)
    with pytest.raises(RefusedError, match=f"the unit stands at PENDING by {pending}"):
        history.record(question, "PENDING", supersedes=None)
    history.record(question, "PENDING")


def test_a_chain_shows_the_parents_that_were_signed() -> None:
    history = History()
    question, first = history.question(), history.size()
    sealed = history.seal(question, "0.9")
    history.add(history.charter(2, keys={"forecaster": "forecaster#2"}))
    second = history.size()
    history.seal(question, "0.1", key="forecaster#2")
    history.update(question, sealed, "0.8", key="forecaster#2")
    lose(history, "forecaster", first, number=3)
    told = history.folded().connection.execute(
        "SELECT seq, kind, parent FROM forecasts ORDER BY seq"
    )
    assert told.fetchall() == [
        (first, "initial", None),
        (second, "initial", None),
        (second + 1, "update", first),
    ]


def test_what_two_are_compared_by_is_labelled_as_their_rows_are() -> None:
    history = History(suite(statistics__min_slice=1))
    question = history.question()
    history.seal(question, "0.8")
    history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)
    lose(history, "evaluator", 0)
    (found,) = compare(history)
    labels = set(found["labels"])
    for forecaster in ("native", "rival"):
        assert labels >= set(row_of(history, forecaster)["labels"])
    assert labels >= {"compromised_key", "shared_custody", "forecaster_owned"}


def hash_of(question: Question) -> str:
    return codec.question_hash(question)


def test_the_window_of_a_reveal_is_that_of_the_canonical_question() -> None:
    history = History()
    question, stolen_at = history.question(), history.size()
    longer = history.question(resolve_by=question.resolve_by + timedelta(hours=1))
    history.seal(longer)
    unit = history.state.unit_of(history.manifest.suite, hash_of(longer))
    assert unit is not None
    history.seal(question, forecaster="rival")
    assert unit.question(history.state.lost).resolve_by == longer.resolve_by
    lose(history, "forecaster", stolen_at)
    assert unit.question(history.state.lost).resolve_by == question.resolve_by
