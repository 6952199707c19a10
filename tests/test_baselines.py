"""What the past alone says: of others, of oneself, just before a place and never after."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import UsageError
from ledger.events import Question
from ledger.projections.baselines import (
    Past,
    Rates,
    Traits,
    Walk,
    Where,
    is_computed,
)
from ledger.projections.columns import NEVER, coded, integers
from ledger.projections.decay import weight
from ledger.projections.entrants import Field
from ledger.projections.exact import PPM, UNITS, largest_remainder
from ledger.projections.fetching import Texts
from ledger.suite import Competitor, Pool
from tests.reporting import (
    board_of,
    past_rate,
    report,
    row,
    said,
    suite_of,
    template,
    value,
)
from tests.simulator import History, suite

TAGS = ('{"repo":"a"}', '{"repo":"b"}', "")
# (target, tag, outcome, known from, until): one outcome that was known for a while.
Outcome = tuple[int, int, int, int, int]
OUTCOMES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 9),
        st.one_of(st.just(NEVER), st.integers(0, 12)),
    ),
    max_size=12,
)
R1 = past_rate("r1", role="r1", exclude_own_target=True)
COMPETITORS = (
    R1,
    past_rate("all"),
    past_rate("own", by=("target",), prior_weight="2"),
    past_rate("of-tag", by=("tag:repo",), prior_weight="0.125"),
    past_rate("of-both", by=("tag:repo", "target"), prior_count="1"),
    # So fine a prior that the numbers no longer fit 63 bits.
    past_rate("fine", prior_count="0.000000000000000000000001"),
    past_rate("drawn-finely", by=("target",), prior_weight="0.0000000000000001"),
    past_rate("decaying", half_life_days=1),
    past_rate("others", half_life_days=3, exclude_own_target=True),
    past_rate("own-decaying", by=("target",), prior_weight="2", half_life_days=2),
)
# Places of the tests are quarters of days.
QUARTERS = 4


def plainly(
    competitor: Competitor, outcomes: list[Outcome], asked: tuple[int, int], place: int
) -> tuple[Fraction, ...]:
    """Return a rate as METRICS §7 states it, counting one outcome after the other."""
    target, tag = asked
    same = [
        each
        for each in outcomes
        if each[3] < place <= each[4]
        and ("target" not in competitor.by or each[0] == target)
        and ("tag:repo" not in competitor.by or each[1] == tag)
        and not (competitor.exclude_own_target and each[0] == target)
    ]
    half_life = competitor.half_life_days
    weights = [
        Fraction(weight(place // QUARTERS - each[3] // QUARTERS, half_life), UNITS)
        if half_life
        else Fraction(1)
        for each in same
    ]
    counts = [Fraction(0)] * 3
    for each, counted in zip(same, weights, strict=True):
        counts[each[2]] += counted
    drawn_by = Fraction(competitor.prior_weight or 0)
    if drawn_by:
        drawn = plainly(R1, outcomes, asked, place)
        whole = sum(counts) + drawn_by
        return tuple(
            (n + drawn_by * r1) / whole for n, r1 in zip(counts, drawn, strict=True)
        )
    prior = Fraction(competitor.prior_count or 0)
    return tuple((n + prior) / (sum(counts) + 3 * prior) for n in counts)


def walked(
    competitor: Competitor,
    outcomes: list[Outcome],
    asked: list[tuple[int, int]],
    places: list[int],
) -> Rates:
    units = [(each[0], each[1]) for each in outcomes] + asked
    traits = Traits(
        Texts(*coded([f"target-{target}" for target, _ in units])),
        Texts(*coded([TAGS[tag] for _, tag in units])),
    )
    known = integers([each[3] for each in outcomes])
    # What was superseded before it was known was never known.
    until = integers([max(each[3], each[4]) for each in outcomes])
    past = Past(
        unit=np.arange(len(outcomes)),
        outcome=integers([each[2] for each in outcomes]),
        known=known,
        until=until,
        known_day=known // QUARTERS,
        until_day=until // QUARTERS,
    )
    own = np.arange(len(outcomes), len(units))
    manifest = suite_of(competitors=COMPETITORS)
    only = msgspec.structs.replace(manifest, competitors=COMPETITORS)
    place = integers(places)
    where = Where(unit=own, place=place, day=place // QUARTERS)
    return Walk(traits, past, 3, where).rates(competitor, only)


@pytest.mark.parametrize("competitor", COMPETITORS, ids=lambda each: each.name)
@given(
    outcomes=OUTCOMES,
    asked=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 13)),
        min_size=1,
        max_size=6,
    ),
)
def test_rates_are_those_of_a_plain_count(
    competitor: Competitor,
    outcomes: list[Outcome],
    asked: list[tuple[int, int, int]],
) -> None:
    units, places = [each[:2] for each in asked], [each[2] for each in asked]
    found = walked(competitor, outcomes, units, places)
    expected = [
        plainly(competitor, outcomes, unit, place)
        for unit, place in zip(units, places, strict=True)
    ]
    assert found.fractions() == expected
    ppm = found.ppm()
    assert ppm.tolist() == [list(largest_remainder(each)) for each in expected]
    assert (ppm.sum(axis=1) == PPM).all()


@pytest.mark.parametrize(("place", "is_known"), [(5, 0), (6, 1), (9, 1), (10, 0)])
def test_an_outcome_is_known_from_after_its_place_until_it_is_superseded(
    place: int, is_known: int
) -> None:
    found = walked(past_rate("all"), [(0, 0, 0, 5, 9)], [(1, 0)], [place])
    assert found.fractions()[0][0] == (Fraction(1, 3), Fraction(3, 5))[is_known]


def test_without_a_past_all_answers_are_alike_and_the_first_takes_the_rest() -> None:
    found = walked(past_rate("all"), [], [(0, 0)], [7])
    assert found.ppm().tolist() == [[333_334, 333_333, 333_333]]


NOT_COMPUTED = {
    "a recalibration": Competitor(
        name="platt",
        layer="calibrated",
        method="platt",
        of="native",
        refit="doubling",
        min_past=50,
    ),
    "what somebody seals": Competitor(
        name="sealed", layer="native", principal="forecaster"
    ),
}


@pytest.mark.parametrize("competitor", NOT_COMPUTED.values(), ids=NOT_COMPUTED)
def test_what_is_computed_otherwise_has_no_rate(competitor: Competitor) -> None:
    assert not is_computed(competitor, suite_of(competitors=[competitor]))


def test_what_is_drawn_towards_a_rate_that_is_not_computed_is_not_computed() -> None:
    sealed = Competitor(name="r1", layer="baseline", principal="rival", role="r1")
    drawn = past_rate("drawn", by=("target",), prior_weight="2")
    only = msgspec.structs.replace(suite(), competitors=(sealed, drawn))
    assert not is_computed(drawn, only)


def test_a_population_rate_that_is_drawn_towards_itself_is_not_computed() -> None:
    circular = past_rate("r1", role="r1", by=("tag:repo",), prior_weight="2")
    only = msgspec.structs.replace(suite(), competitors=(circular,))
    assert not is_computed(circular, only)


# --- Decay ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "half_life", "expected"),
    [
        (0, 1, UNITS),
        (1, 1, UNITS // 2),
        (7, 7, UNITS // 2),
        (14, 7, UNITS // 4),
        # The square root of one half.
        (1, 2, 707_106_781_187),
        # 2^-13 is 122070312.5 of 1e-12: a tie goes to the even one.
        (13, 1, 122_070_312),
        (39, 1, 2),
        (40, 1, 1),
        (41, 1, 0),
        (10**6, 1, 0),
    ],
)
def test_an_outcome_counts_half_after_each_half_life(
    age: int, half_life: int, expected: int
) -> None:
    assert weight(age, half_life) == expected


# --- In a log -------------------------------------------------------------------------


def told(history: History, outcome: str = "pass", **asked: Any) -> Question:
    """Forecast and resolve a question, three hours apart; return it."""
    question = history.question(**{"id": "d-1", **asked})
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, outcome)
    return question


def says(history: History, competitor: str = "past-rate", **asked: Any) -> int:
    """Return what a baseline says of the first answer of a question that is asked now."""
    history.seal(history.question("asked", **asked))
    return said(history, competitor)["asked"][0]


def test_a_baseline_counts_what_was_resolved_before() -> None:
    history = History()
    told(history)
    assert says(history) == 750_000


def test_the_population_rate_leaves_the_forecast_target_out() -> None:
    history = History()
    told(history, target="piper")
    assert says(history, target="piper") == 500_000


def test_the_own_routine_is_drawn_towards_the_population_rate() -> None:
    history = History()
    told(history, target="piper")
    # One own outcome, and twice the one half of an empty population.
    assert says(history, "own-routine", target="piper") == 666_667


@pytest.mark.parametrize("chronology", ["received", "claimed"])
def test_an_old_outcome_counts_less_by_the_days_since_it_was_known(
    chronology: str,
) -> None:
    is_claimed = chronology == "claimed"
    changes = {"run_class": "exploratory", "statistics__looks": []}
    made = suite_of(
        competitors=[past_rate("decaying", half_life_days=2)],
        chronology=chronology,
        **(changes if is_claimed else {}),
    )
    history = History(made)
    first = history.question()
    history.seal(first)
    history.wait(hours=3)
    history.resolve(first, published_at=history.now if is_claimed else None)
    history.wait(days=4)
    second = history.question("d-2")
    history.seal(second)
    history.wait(hours=3)
    history.resolve(second, "fail", published_at=history.now if is_claimed else None)
    history.wait(days=2)
    history.seal(history.question("asked"))
    # Six days ago it passed, two days ago it did not: 1/8 and 1/2.
    expected = largest_remainder([Fraction(5, 13), Fraction(8, 13)])
    assert said(history, "decaying")["asked"] == list(expected)


def test_an_outcome_that_was_withdrawn_no_longer_decays() -> None:
    history = History(suite_of(competitors=[past_rate("decaying", half_life_days=1)]))
    question = told(history)
    history.wait(days=1)
    history.record(question, "VOID")
    history.wait(days=1)
    assert says(history, "decaying") == 500_000


def test_a_later_amendment_does_not_change_what_a_baseline_said() -> None:
    history = History()
    first = told(history)
    history.seal(history.question("between"))
    history.resolve(first, "fail")
    history.seal(history.question("after"))
    found = said(history, "past-rate")
    assert found["between"] == [750_000, 250_000]
    assert found["after"] == [250_000, 750_000]


def test_an_outcome_that_was_withdrawn_is_no_longer_known() -> None:
    history = History()
    history.record(told(history), "VOID")
    assert says(history) == 500_000


def test_an_outcome_of_a_compromised_key_is_not_known() -> None:
    history = History()
    told(history)
    lost = {"compromised_since": {"resolver": 3}, "keys": {"resolver": "resolver#2"}}
    history.add(history.charter(2, **lost))
    assert says(history) == 500_000


def test_questions_with_other_answers_are_not_counted_together() -> None:
    first = suite().templates[0]
    wider = template(suite(), ("pass", "fail", "skip"), id="wider")
    pool = Pool(suites=("history@v1",), templates=(first.id, "wider"))
    manifest = suite_of(first, wider)
    history = History(msgspec.structs.replace(manifest, baseline_pool=pool))
    told(history, template="wider")
    told(history, id="d-2")
    # One of two answers passed once, though something else passed too.
    assert says(history) == 750_000


@pytest.mark.parametrize(
    ("taught", "rate"), [("dispatch-pass", 750_000), ("outside", 500_000)]
)
def test_templates_outside_the_pool_are_not_counted(taught: str, rate: int) -> None:
    first = suite().templates[0]
    outside = template(suite(), ("pass", "fail"), id="outside")
    history = History(suite_of(first, outside))
    told(history, template=taught)
    pool = Pool(suites=("history@v1", "history@v2"), templates=(first.id,))
    second = suite_of(first, name="history@v2")
    history.manifest = msgspec.structs.replace(second, baseline_pool=pool)
    history.freeze(history.manifest)
    assert says(history) == rate


def test_equal_tags_are_counted_together_and_so_is_having_none() -> None:
    by_repo = past_rate("by-repo", by=("tag:repo",))
    history = History(suite_of(competitors=[by_repo]))
    told(history, tags={"repo": "a"})
    told(history, "fail", id="d-2", tags={"repo": "b"})
    told(history, "fail", id="d-3")
    history.seal(history.question("tagged", tags={"repo": "a", "domain": "x"}))
    history.seal(history.question("tagless", tags={"domain": "x"}))
    history.seal(history.question("new", tags={"repo": "c"}))
    found = said(history, "by-repo")
    assert [found[name][0] for name in ("tagged", "tagless", "new")] == [
        750_000,
        250_000,
        500_000,
    ]


@pytest.mark.parametrize(
    ("pool", "rate"),
    [(["history@v1", "history@v2"], 750_000), (["history@v2"], 500_000)],
)
def test_outcomes_of_another_suite_count_where_the_pool_names_it(
    pool: list[str], rate: int
) -> None:
    history = History()
    told(history)
    history.manifest = suite("history@v2", baseline_pool__suites=pool)
    history.freeze(history.manifest)
    assert says(history) == rate


def claimed() -> History:
    return History(chronology="claimed", run_class="exploratory", statistics__looks=[])


@pytest.mark.parametrize(("earlier", "rate"), [(0, 500_000), (1, 750_000)])
def test_by_claimed_times_what_is_published_at_the_very_instant_is_not_known(
    earlier: int, rate: int
) -> None:
    history = claimed()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    published = history.now
    history.resolve(question, published_at=published)
    history.wait(hours=3)
    sealed = published + timedelta(microseconds=earlier)
    asked = history.question("asked", opened_at=published)
    history.seal(asked, created_at=sealed)
    assert said(history, "past-rate")["asked"][0] == rate


def test_by_claimed_times_the_order_of_the_log_does_not_matter() -> None:
    history = claimed()
    asked = history.question("asked")
    history.wait(hours=1)
    sealed = history.now
    history.seal(asked)
    # Recorded later, but it had been published before the forecast was made.
    question = history.question("d-1", opened_at=asked.opened_at)
    history.seal(question, created_at=asked.opened_at)
    history.resolve(question, published_at=sealed - timedelta(minutes=1))
    assert said(history, "past-rate")["asked"][0] == 750_000


def test_a_computed_competitor_forecasts_where_the_question_was_opened() -> None:
    history = History(suite_of(template(suite(), ("pass", "fail"))))
    question = history.question("opened-first")
    history.open(question)
    told(history)
    history.seal(history.question("sealed-later", opened_at=question.opened_at))
    found = said(history, "past-rate")
    assert found["opened-first"][0] == 500_000
    assert found["sealed-later"][0] == 750_000


def test_a_baseline_stands_at_every_vector_of_a_chain() -> None:
    history = History()
    question = history.question("asked", cutoff_at=history.now + timedelta(hours=9))
    first = history.seal(question)
    told(history)
    history.update(question, first)
    made = report(history)
    made.refresh()
    found = made.tables.connection.execute(
        "SELECT b.probabilities_ppm, b.is_own, f.kind FROM baselines b "
        "JOIN forecasts f USING (seq) JOIN questions q ON q.unit = f.unit "
        "WHERE q.id = 'asked' AND b.competitor = 'past-rate' ORDER BY seq"
    )
    assert found.fetchall() == [
        ("500000 500000", 1, "initial"),
        ("750000 250000", 0, "update"),
    ]


def test_the_own_row_of_a_computed_competitor_scores_its_own_places() -> None:
    history = History()
    told(history)
    told(history, "fail", id="d-2")
    found = row(history, "past-rate")
    # It said one half, then three quarters of a question that failed.
    assert value(found, "brier") == exact_mean(Fraction(1, 4), Fraction(9, 16))
    assert value(found, "bss_frozen") == "0/1"
    assert found["counts"]["submitted"] == found["counts"]["forecasts"] == 2


BESIDE = {
    # What the rate said where native sealed first, and where it updated.
    ("plain", "initial"): Fraction(1, 4),
    ("plain", "final"): Fraction(9, 16),
    # Each by its own vectors.
    ("rival", "final"): Fraction(9, 25),
    ("native-calibrated", "initial"): Fraction(81, 100),
    ("native-calibrated", "final"): Fraction(16, 25),
}


@pytest.mark.parametrize(("name", "slot"), BESIDE)
def test_a_field_gives_the_scores_of_any_competitor_beside_another(
    name: str, slot: str
) -> None:
    history = History(suite_of(competitors=[past_rate("plain")]))
    question = history.question("asked", cutoff_at=history.now + timedelta(hours=9))
    first = history.seal(question, "0.9")
    history.seal(question, "0.6", forecaster="rival")
    told(history)
    history.update(question, first, "0.8")
    history.wait(hours=9)
    history.resolve(question, "fail")
    field = Field(board_of(history))
    native = field.board.suite.manifest.competitor("native")
    assert native is not None
    theirs = field.beside(field.enter(native, slot), name)
    asked = ["asked" in each for each in field.board.units.identities].index(True)
    assert Fraction(int(theirs.brier[asked]), UNITS) == BESIDE[name, slot]


def test_who_has_no_vectors_stands_beside_nobody() -> None:
    field = Field(board_of(History()))
    native = field.board.suite.manifest.competitor("native")
    assert native is not None
    with pytest.raises(UsageError, match="'nobody' has no vectors to compare with"):
        field.beside(field.enter(native, "final"), "nobody")


def test_an_incumbent_stands_beside_every_competitor() -> None:
    history = History(incumbent="rival")
    told(history)
    field = Field(board_of(history))
    native = field.board.suite.manifest.competitor("native")
    assert native is not None
    assert "rival" in field.enter(native, "initial").baselines


def exact_mean(*values: Fraction) -> str:
    mean = sum(values, Fraction(0)) / len(values)
    return f"{mean.numerator}/{mean.denominator}"
