"""Numbers that a suite asks for: kept as they were said, scored as its slots take them."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Quantity,
    Question,
    ResolutionRecorded,
)
from ledger.projections.board import Board, read_board
from ledger.projections.entrants import Field
from ledger.projections.exact import UNITS
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.quantities_losses import METRICS
from ledger.projections.quantities_scored import Scored, quantity_scores
from ledger.projections.report import no_files
from ledger.projections.slots import ALL, FINAL, INITIAL, TIME_WEIGHTED
from tests.simulator import SUITE, History
from tests.story import STEPS, Step, Story

RULE = {
    "unit": "USD",
    "levels": ["0.25", "0.5", "0.75"],
    "interpolate": False,
    "scale": "1",
    "underage": "3",
    "overage": "1",
}
LADDER = Quantity(quantiles={"0.25": "1", "0.5": "2", "0.75": "4"})
SALT = "5" * 64


def asking(**changes: Any) -> History:
    """Return a history whose suite asks for a cost."""
    return History(quantities={"cost": {**RULE, **changes}})


def board_of(history: History) -> Board:
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    return read_board(tables, fold.frozen, fold.frozen.suites[SUITE], no_files)


def scores(
    history: History, slot: str = INITIAL, who: str = "native"
) -> dict[str, Scored]:
    """Return what a forecaster's costs came to, over all units."""
    board = board_of(history)
    competitor = board.suite.manifest.competitor(who)
    assert competitor is not None
    entrant = Field(board).enter(competitor, slot)
    rows = entrant.slotted.is_scored.nonzero()[0]
    return quantity_scores(board, entrant.chosen, rows)["cost"]


def told(
    said: Quantity, value: str | None = "5", *, of: History | None = None
) -> tuple[History, Question]:
    """Seal one forecast of a cost, and say what it was."""
    history = of or asking()
    question = history.question()
    history.seal(question, quantities={"cost": said})
    history.wait(hours=3)
    history.resolve(question, values={} if value is None else {"cost": value})
    return history, question


def exact(scored: Scored) -> Fraction | str | None:
    return scored.measure.value if scored.losses else scored.reason


# --- What is kept ---------------------------------------------------------------------


def test_what_was_said_and_observed_is_kept_as_it_was_spelled() -> None:
    said = Quantity(
        point="3.5", quantiles={"0.25": "1", "0.75": "9.25"}, samples=("2", "-1")
    )
    history, _ = told(said)
    connection = history.folded().connection
    assert connection.execute("SELECT * FROM quantities").fetchall() == [
        (2, "cost", 2, "3.5", '{"0.25":"1","0.75":"9.25"}', '["2","-1"]')
    ]
    assert connection.execute("SELECT * FROM observations").fetchall() == [
        (3, "cost", 2, "5")
    ]


def test_a_suite_that_asks_for_no_number_keeps_and_reads_none() -> None:
    history = History()
    history.seal(history.question())
    assert board_of(history).quantities == {}
    connection = history.folded().connection
    assert connection.execute("SELECT count(*) FROM quantities").fetchone() == (0,)


def hidden(history: History, question: Question, said: Quantity) -> str:
    """Commit to a vector and a cost, both hidden; return the event's id."""
    shown = {
        "probabilities": history.vector(question, "0.8"),
        "quantities": {"cost": said},
    }
    draft = history.draft_seal(question, **shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    return history.seal(question, "", commitment=committed)


def test_a_hidden_forecast_of_a_number_counts_once_it_is_shown() -> None:
    history = asking()
    question = history.question()
    sealed = hidden(history, question, LADDER)
    assert board_of(history).quantities["cost"].said.code.tolist() == [-1]
    history.update(
        question, sealed, "0.8", opens=sealed, salt=SALT, quantities={"cost": LADDER}
    )
    history.wait(hours=3)
    history.resolve(question, values={"cost": "2"})
    rows = history.folded().connection.execute("SELECT seq, quantity FROM quantities")
    assert rows.fetchall() == [(2, "cost")]
    assert scores(history)["wis"].measure.value == Fraction(1, 2)


def test_what_a_reveal_says_that_was_not_committed_to_is_nothing() -> None:
    history = asking()
    question = history.question()
    sealed = hidden(history, question, LADDER)
    other = Quantity(point="5")
    history.update(
        question, sealed, "0.8", opens=sealed, salt=SALT, quantities={"cost": other}
    )
    assert board_of(history).quantities["cost"].said.code.tolist() == [-1]


# --- What it came to ------------------------------------------------------------------


def test_quantiles_are_scored_by_every_metric_that_they_allow() -> None:
    history, _ = told(LADDER, "3.5")
    found = {metric: exact(each) for metric, each in scores(history).items()}
    assert found == {
        "absolute_error": "not_declared",
        # The mean of 5/8, 6/8 and 1/8.
        "pinball": Fraction(1, 2),
        "wis": Fraction(1),
        "wis_dispersion": Fraction(1, 2),
        "wis_overprediction": Fraction(0),
        "wis_underprediction": Fraction(1, 2),
        "crps_ecdf": "not_declared",
        "crps_fair": "not_declared",
        # The order is 4, the quantile at 3 / (3 + 1): half a unit too many.
        "newsvendor_cost": Fraction(1, 2),
    }
    assert tuple(found) == METRICS


@pytest.mark.parametrize(
    ("said", "metric", "score"),
    {
        "a point's error": (Quantity(point="7"), "absolute_error", Fraction(2)),
        "a point is an order": (Quantity(point="7"), "newsvendor_cost", Fraction(2)),
        "a point is no quantile": (Quantity(point="7"), "wis", "not_declared"),
        "samples": (Quantity(samples=("4", "8")), "crps_ecdf", Fraction(1)),
        "samples, fairly": (Quantity(samples=("4", "8")), "crps_fair", Fraction(0)),
        "one sample": (Quantity(samples=("4",)), "crps_ecdf", Fraction(1)),
        "one sample, fairly": (Quantity(samples=("4",)), "crps_fair", "insufficient"),
        "samples are no order": (
            Quantity(samples=("4",)),
            "newsvendor_cost",
            "not_declared",
        ),
        "a declared level is lacking": (
            Quantity(quantiles={"0.25": "1", "0.75": "4"}),
            "pinball",
            "not_declared",
        ),
        "more levels than are declared": (
            Quantity(quantiles={"0.1": "0", **LADDER.quantiles}),
            "wis_dispersion",
            Fraction(1, 2),
        ),
        "quantiles come before a point": (
            Quantity(quantiles={"0.75": "4"}, point="9"),
            "newsvendor_cost",
            Fraction(3),
        ),
        "the critical level is lacking, whatever the point": (
            Quantity(quantiles={"0.5": "4"}, point="9"),
            "newsvendor_cost",
            "not_declared",
        ),
    }.values(),
)
def test_a_forecast_is_scored_by_what_it_states(
    said: Quantity, metric: str, score: Fraction | str
) -> None:
    history, _ = told(said)
    assert exact(scores(history)[metric]) == score


@pytest.mark.parametrize(
    ("interpolate", "score"), [(False, "not_declared"), (True, Fraction(3))]
)
def test_an_order_between_two_levels_is_interpolated_where_that_is_declared(
    *, interpolate: bool, score: Fraction | str
) -> None:
    between = Quantity(quantiles={"0.5": "2", "0.9": "5.2"})
    history, _ = told(between, of=asking(interpolate=interpolate))
    assert exact(scores(history)["newsvendor_cost"]) == score


def test_losses_are_divided_by_the_declared_scale() -> None:
    history, _ = told(LADDER, "3.5", of=asking(scale="4"))
    found = scores(history)
    assert found["wis"].measure.value == Fraction(1, 4)
    assert found["newsvendor_cost"].measure.value == Fraction(1, 8)


def test_levels_that_are_no_central_intervals_have_quantile_losses_alone() -> None:
    history, _ = told(LADDER, "3.5", of=asking(levels=["0.25", "0.75"]))
    found = scores(history)
    assert exact(found["pinball"]) == Fraction(3, 8)
    assert exact(found["wis"]) == "not_declared"


def updated(*points: str | None) -> History:
    """Say a cost again and again, half an hour apart; None updates the vector only."""
    history = asking()
    question = history.question()
    last = history.seal(question, quantities={"cost": Quantity(point=points[0])})
    for point in points[1:]:
        history.wait(minutes=30, seconds=-1)
        said = {} if point is None else {"cost": Quantity(point=point)}
        last = history.update(question, last, quantities=said)
    history.wait(hours=3)
    history.resolve(question, values={"cost": "5"})
    return history


@pytest.mark.parametrize(
    ("slot", "score"),
    # Points of 9, 6 and 5 were in force for half an hour, as long, and an hour.
    [(INITIAL, 4), (FINAL, 0), (ALL, Fraction(5, 3)), (TIME_WEIGHTED, Fraction(5, 4))],
)
def test_updates_are_averaged_within_their_unit(slot: str, score: Fraction) -> None:
    found = scores(updated("9", "6", "5"), slot)["absolute_error"]
    assert found.measure.value == Fraction(round(score * UNITS), UNITS)
    assert found.measure.n == 1


def test_an_update_that_states_no_number_leaves_its_unit_out_where_it_is_taken() -> (
    None
):
    history = updated("9", None)
    found = {
        slot: exact(scores(history, slot)["absolute_error"]) for slot in (INITIAL, ALL)
    }
    assert found == {INITIAL: Fraction(4), ALL: "not_declared"}


def test_the_value_that_counts_is_the_standing_records() -> None:
    history, question = told(Quantity(point="7"), "5")
    history.resolve(question, values={"cost": "7.5"})
    assert exact(scores(history)["absolute_error"]) == Fraction(1, 2)
    history.resolve(question)
    assert exact(scores(history)["absolute_error"]) == "empty"


def test_without_an_observed_value_nothing_is_scored() -> None:
    history, _ = told(LADDER, None)
    assert {exact(each) for each in scores(history).values()} == {"empty"}


def test_whoever_says_nothing_of_a_number_is_not_scored_on_it() -> None:
    history = asking()
    question = history.question()
    history.seal(question, forecaster="rival")
    history.seal(question, quantities={"cost": LADDER})
    history.wait(hours=3)
    history.resolve(question, values={"cost": "5"})
    assert scores(history)["wis"].measure.n == 1
    for who in ("rival", "past-rate"):
        found = scores(history, who=who).values()
        assert {exact(each) for each in found} == {"not_declared"}


def test_a_loss_beyond_63_bits_is_still_averaged() -> None:
    huge = "9" * 25
    history, _ = told(Quantity(point=huge), "0")
    found = scores(history)["absolute_error"]
    assert found.measure.value == int(huge)
    assert found.column is None
    small, _ = told(Quantity(point="6"))
    column = scores(small)["absolute_error"].column
    assert column is not None
    assert column.tolist() == [UNITS]


# --- However the log is read ----------------------------------------------------------


class Counting(History):
    """A history in which each event states a number that says which it is."""

    def add(self, event: LedgerEvent, **changes: Any) -> str:
        here = str(len(self.entries))
        match event:
            case ForecastSealed() | ForecastUpdated(opens=None):
                said = {"cost": Quantity(point=here, samples=("0", here))}
                event = msgspec.structs.replace(event, quantities=said)
            case ResolutionRecorded():
                event = msgspec.structs.replace(event, values={"cost": here})
        return super().add(event, **changes)


class Tale(Story):
    """A story that is told of numbers."""

    def __init__(self, chronology: str) -> None:
        super().__init__(chronology)
        claimed = {"run_class": "exploratory", "statistics__looks": []}
        changes = claimed if chronology == "claimed" else {}
        self.history = Counting(
            chronology=chronology, quantities={"cost": RULE}, **changes
        )


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=STEPS,
    stretch=st.integers(1, 9),
)
def test_numbers_are_the_same_however_a_log_is_read(
    chronology: str, steps: list[Step], stretch: int
) -> None:
    tale = Tale(chronology)
    for step in steps:
        tale.tell(step)
    whole, pieces = Tables(), Tables()
    Fold(whole, tale.history).catch_up()
    fold = Fold(pieces, tale.history, stretch=stretch)
    fold.catch_up()
    assert pieces.digests() == whole.digests()
    kept = whole.connection.execute(
        "SELECT count(*) FROM quantities x JOIN forecasts f USING (seq, unit) "
        "WHERE x.point = CAST(seq AS TEXT)"
    ).fetchone()
    stated = whole.connection.execute(
        "SELECT count(*) FROM forecasts WHERE kind <> 'reveal' AND opened_seq IS NULL"
    ).fetchone()
    assert kept == stated
