"""Recalibration knows the past alone, is fitted at doublings, and follows its source."""

from datetime import timedelta
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import codec
from ledger.projections.calibration_fit import fit_logistic
from ledger.projections.columns import NEVER, integers
from ledger.projections.corp import fit_isotonic
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.recalibration import Lessons, passed_on, recalibrated, refits
from ledger.projections.report import Report
from ledger.projections.tally import tally
from ledger.suite import Competitor
from tests.reporting import past_rate, report, row, rows, said, suite_of, value
from tests.simulator import History, suite
from tests.story import SALT

CLIP = 1_000
# (probability, whether it happened, known from, known until).
Lesson = tuple[int, int, int, int]
LESSONS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 200_000, 500_000, 900_000, 1_000_000]),
        st.integers(0, 1),
        st.integers(0, 12),
        st.one_of(st.just(NEVER), st.integers(13, 16)),
    ),
    max_size=14,
)


Method = Literal["platt", "isotonic"]


def recalibration(method: Method, of: str = "native", **changes: Any) -> Competitor:
    made = Competitor(
        name=f"{of}-{method}",
        layer="calibrated",
        method=method,
        of=of,
        refit="doubling",
        min_past=2,
    )
    return msgspec.structs.replace(made, **changes)


def as_columns(lessons: list[Lesson]) -> Lessons:
    columns = [integers([each[at] for each in lessons]) for at in range(4)]
    return Lessons(p_ppm=columns[0], y=columns[1], known=columns[2], until=columns[3])


def plainly(
    method: Method, lessons: list[Lesson], min_past: int, p_ppm: int, place: int
) -> int:
    """Return what a method says, walking through all places up to one."""
    mapping, least = None, min_past
    for moment in range(place):
        known = [each for each in lessons if each[2] <= moment < each[3]]
        while len(known) >= least:
            p, y = (integers([each[at] for each in known]) for at in (0, 1))
            fit = fit_logistic(p, y, CLIP).logistic
            curve = fit_isotonic(tally(p, y))
            mapping, least = curve if method == "isotonic" else fit, 2 * least
    return p_ppm if mapping is None else mapping.apply(p_ppm)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@given(
    lessons=LESSONS,
    min_past=st.integers(1, 4),
    asked=st.lists(
        st.tuples(st.sampled_from([0, 300_000, 900_000]), st.integers(0, 18)),
        min_size=1,
        max_size=5,
    ),
)
def test_a_probability_is_recalibrated_as_a_plain_walk_says(
    method: Method, lessons: list[Lesson], min_past: int, asked: list[tuple[int, int]]
) -> None:
    competitor = recalibration(method, min_past=min_past)
    columns = (integers([p for p, _ in asked]), integers([at for _, at in asked]))
    found = recalibrated(competitor, as_columns(lessons), CLIP, columns)
    assert found.p_ppm.tolist() == [
        plainly(method, lessons, min_past, p, place) for p, place in asked
    ]


def one_each(count: int) -> list[Lesson]:
    """Return lessons of which one more is known after each place."""
    return [(500_000, at % 2, at, NEVER) for at in range(count)]


@pytest.mark.parametrize(
    ("count", "places"),
    [(9, []), (10, [9]), (19, [9]), (20, [9, 19]), (40, [9, 19, 39])],
)
def test_a_fit_is_made_whenever_the_past_has_doubled(
    count: int, places: list[int]
) -> None:
    assert refits(as_columns(one_each(count)), 10).tolist() == places


def test_what_becomes_known_at_once_is_fitted_once() -> None:
    lessons = [(500_000, 0, 7, NEVER)] * 9
    assert refits(as_columns(lessons), 2).tolist() == [7]


def test_an_outcome_that_is_withdrawn_and_comes_again_causes_no_second_fit() -> None:
    lessons = [*one_each(9), (500_000, 1, 9, 12), (500_000, 1, 15, NEVER)]
    assert refits(as_columns(lessons), 10).tolist() == [9]


UNSOLVABLE = {
    "one outcome only": ([(200_000, 1), (800_000, 1), (300_000, 1)], "single_class"),
    "one probability only": ([(200_000, 1), (200_000, 0)], "constant_forecast"),
    "a threshold that divides the outcomes": (
        [(200_000, 0), (800_000, 1)],
        "separation",
    ),
    "nothing yet": ([], "insufficient"),
}


@pytest.mark.parametrize(("taught", "reason"), UNSOLVABLE.values(), ids=UNSOLVABLE)
def test_where_platt_has_no_solution_the_probability_is_passed_on_for_a_reason(
    taught: list[tuple[int, int]], reason: str
) -> None:
    lessons = as_columns([(p, y, at, NEVER) for at, (p, y) in enumerate(taught)])
    asked = (integers([123_456]), integers([9]))
    found = recalibrated(recalibration("platt"), lessons, CLIP, asked)
    assert found.p_ppm.tolist() == [123_456]
    assert found.fit.tolist() == [passed_on(reason)]


def test_each_probability_is_mapped_by_the_last_fit_before_its_place() -> None:
    lessons = as_columns(one_each(4))
    places = integers([1, 2, 3, 4, 9])
    asked = (integers([400_000] * 5), places)
    found = recalibrated(recalibration("isotonic"), lessons, CLIP, asked)
    # Two outcomes are known after place 1, and four after place 3.
    none = passed_on("insufficient")
    assert found.fit.tolist() == [none, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("p_ppm", "expected"),
    [
        (0, 500_000),
        (200_000, 500_000),
        # A quarter of the way from 0.2 to 0.6.
        (300_000, 625_000),
        (600_000, 1_000_000),
        (999_999, 1_000_000),
    ],
)
def test_isotonic_draws_lines_between_blocks_and_is_constant_outside(
    p_ppm: int, expected: int
) -> None:
    taught = [(100_000, 1), (300_000, 0), (600_000, 1)]
    lessons = as_columns([(p, y, 0, NEVER) for p, y in taught])
    asked = (integers([p_ppm]), integers([1]))
    found = recalibrated(recalibration("isotonic"), lessons, CLIP, asked)
    assert found.p_ppm.tolist() == [expected]


# --- In a log -------------------------------------------------------------------------


def of_native(*competitors: Competitor, **changes: Any) -> History:
    return History(suite_of(competitors=competitors, **changes))


def taught(history: History, number: int, p: str, outcome: str, **asked: Any) -> None:
    """Let a unit be forecast and resolved."""
    question = history.question(f"past-{number}", **asked)
    history.seal(question, p)
    history.wait(hours=3)
    history.resolve(question, outcome)


def test_a_recalibrated_competitor_maps_its_source_by_what_was_known_before() -> None:
    history = of_native(recalibration("isotonic"))
    taught(history, 1, "0.8", "pass")
    taught(history, 2, "0.8", "fail")
    history.seal(history.question("asked"), "0.8")
    found = said(history, "native-isotonic")
    # Neither of the first two had two outcomes behind it.
    assert [found[name][0] for name in ("past-1", "past-2", "asked")] == [
        800_000,
        800_000,
        500_000,
    ]


def test_a_recalibrated_competitor_has_a_vector_beside_each_of_its_source() -> None:
    history = of_native(recalibration("isotonic"))
    taught(history, 1, "0.8", "pass")
    question = history.question("asked", cutoff_at=history.now + timedelta(hours=9))
    first = history.seal(question, "0.8")
    taught(history, 2, "0.8", "fail")
    history.update(question, first, "0.8")
    history.wait(hours=9)
    history.resolve(question, "fail")
    at_first = row(history, "native-isotonic", slot="initial")
    at_last = row(history, "native-isotonic", slot="final")
    assert value(at_first, "brier") == "11/25"
    assert at_first["counts"]["submitted"] == at_last["counts"]["submitted"] == 4
    assert [at_last["scores"]["brier"]["n"], value(at_last, "brier")] == [3, "31/100"]


def test_the_row_of_a_recalibrated_competitor_names_its_source_and_layer() -> None:
    history = of_native(recalibration("platt", name="again", of="native-calibrated"))
    taught(history, 1, "0.8", "pass")
    found = row(history, "again")
    assert (found["layer"], found["source"]) == ("calibrated", "native-calibrated")


def test_questions_of_three_answers_are_passed_on() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    taught(history, 1, "0.8", "fail")
    history.seal(history.question("asked", template="weather"), "0.8")
    assert said(history, "native-isotonic")["asked"] == [800_000, 200_000, 0]


def hidden(history: History, p: str = "0.8") -> tuple[Any, str]:
    """Seal a hidden vector whose unit fails; return its question and event."""
    question = history.question("hidden")
    shown = history.vector(question, p)
    draft = history.draft_seal(question, probabilities=shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    sealed = history.seal(question, "", commitment=committed)
    history.wait(hours=3)
    history.resolve(question, "fail")
    return question, sealed


@pytest.mark.parametrize("chronology", ["received", "claimed"])
def test_a_hidden_vector_is_in_the_past_once_it_is_opened(chronology: str) -> None:
    claimed = {"run_class": "exploratory", "statistics__looks": []}
    history = of_native(
        recalibration("isotonic", min_past=1),
        chronology=chronology,
        **(claimed if chronology == "claimed" else {}),
    )
    question = history.question("hidden")
    shown = history.vector(question, "0.8")
    draft = history.draft_seal(question, probabilities=shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    sealed = history.seal(question, "", commitment=committed)
    history.wait(hours=3)
    history.resolve(question, "fail", published_at=history.now)
    history.wait(minutes=1)
    history.seal(history.question("before"), "0.6")
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)
    history.seal(history.question("after"), "0.6")
    found = said(history, "native-isotonic")
    assert [found[name][0] for name in ("before", "after")] == [600_000, 0]
    # What was opened stands, recalibrated, where it was sealed.
    assert found["hidden"] == [800_000, 200_000]


def test_while_a_vector_is_hidden_so_is_its_recalibration() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    hidden(history)
    found = row(history, "native-isotonic")
    assert said(history, "native-isotonic") == {}
    assert (found["counts"]["hidden"], found["counts"]["scored"]) == (1, 0)


def test_vectors_that_do_not_count_teach_nothing() -> None:
    history = of_native(recalibration("isotonic", min_past=1))
    question = history.question("late")
    history.wait(hours=3)
    history.seal(question, "0.8")
    history.resolve(question, "fail")
    history.seal(history.question("asked"), "0.8")
    assert said(history, "native-isotonic")["asked"][0] == 800_000


def test_a_past_rate_can_be_recalibrated_and_so_can_a_recalibration() -> None:
    twice = (
        recalibration("isotonic", "past-rate", min_past=1),
        recalibration("isotonic", "past-rate-isotonic", name="twice", min_past=1),
    )
    history = of_native(*reversed(twice))
    taught(history, 1, "0.8", "fail")
    history.seal(history.question("asked", target="other"))
    assert said(history, "past-rate")["asked"][0] == 250_000
    assert said(history, "past-rate-isotonic")["asked"][0] == 0
    assert said(history, "twice")["asked"][0] == 0
    assert row(history, "twice")["counts"]["submitted"] == 1


def test_what_is_recalibrated_event_by_event_is_what_is_recalibrated_at_once() -> None:
    history = of_native(
        recalibration("platt"),
        recalibration("isotonic", "past-rate", min_past=1),
        past_rate("decaying", half_life_days=1),
        statistics__splits=[
            {
                "name": "held",
                "from": "2026-11-02T10:00:00Z",
                "until": "2026-11-03T10:00:00Z",
                "purpose": "holdout",
            }
        ],
        statistics__min_training=2,
    )
    for number, p in enumerate(("0.2", "0.7", "0.7", "0.4", "0.9", "0.3")):
        taught(history, number, p, ("pass", "fail")[number % 3 > 0])
        history.wait(hours=5)
    tables = Tables()
    for size in range(1, history.size() + 1):
        fold = Fold(tables, history.until(size))
        fold.catch_up()
        Report(tables, fold.frozen).refresh()
    whole = report(history)
    whole.refresh()
    assert tables.digests() == whole.tables.digests()
    assert {each["forecaster"] for each in whole.rows()} >= {
        "native-platt",
        "past-rate-isotonic",
        "decaying",
    }


def test_platt_in_a_log_is_the_line_through_the_past() -> None:
    history = of_native(recalibration("platt", min_past=6))
    past = [
        ("0.2", "fail"),
        ("0.7", "pass"),
        ("0.7", "fail"),
        ("0.4", "pass"),
        ("0.9", "pass"),
        ("0.3", "fail"),
    ]
    for number, (p, outcome) in enumerate(past):
        taught(history, number, p, outcome)
    history.seal(history.question("asked"), "0.7")
    p_ppm = integers([round(float(p) * 10**6) for p, _ in past])
    y = integers([outcome == "pass" for _, outcome in past])
    line = fit_logistic(p_ppm, y, CLIP).logistic
    assert line is not None
    assert said(history, "native-platt")["asked"][0] == line.apply(700_000)


def test_a_suite_without_recalibrations_reads_nothing_of_them() -> None:
    made = suite()
    only = tuple(each for each in made.competitors if not each.of)
    history = History(msgspec.structs.replace(made, competitors=only))
    taught(history, 1, "0.8", "pass")
    assert {each["forecaster"] for each in rows(history)} == {
        "native",
        "own-routine",
        "past-rate",
        "rival",
    }


@pytest.mark.parametrize("version", ["history@v1", "history@v2"])
def test_a_source_is_mapped_by_what_it_said_in_the_same_version(version: str) -> None:
    competitor = recalibration("isotonic", min_past=1)
    history = of_native(competitor)
    taught(history, 1, "0.8", "fail")
    history.manifest = suite_of(
        competitors=[competitor],
        name="history@v2",
        baseline_pool__suites=["history@v1", "history@v2"],
    )
    history.freeze(history.manifest)
    if version == "history@v2":
        taught(history, 2, "0.8", "fail")
    history.seal(history.question("asked"), "0.8")
    mapped = {"history@v1": 800_000, "history@v2": 0}[version]
    assert said(history, "native-isotonic")["asked"][0] == mapped
