"""The reliability curve and its bands, drawn when they are asked for."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.projections.curving import curve
from ledger.projections.entrants import Field
from ledger.projections.inferred import Inference
from ledger.projections.subjects import subjects
from tests.console import Console
from tests.oracle import case, medium
from tests.reporting import board_of
from tests.simulator import History


def drawn(history: History, **asked: Any) -> list[dict[str, Any]]:
    field = Field(board_of(history))
    inference = Inference(field.board.suite.manifest)
    return [
        curve(each, inference)
        for each in subjects(field, **asked)
        if each.about.entrant.competitor.name == "native"
    ]


def test_a_curve_runs_within_where_other_clusters_would_draw_it() -> None:
    (found, *_) = drawn(medium())
    _, expected = case("corp-medium")
    assert [each["n"] for each in found["curve"]] == [
        each["n"] for each in expected["blocks"]
    ]
    assert found["is_enough"] is False
    band = {each["p"]: each for each in found["confidence"]}
    for block in found["curve"]:
        at = band[block["p_min"]]
        assert Fraction(at["lo"]) <= Fraction(block["rate"]) <= Fraction(at["hi"])


def test_where_every_probability_is_right_the_band_holds_the_diagonal() -> None:
    (found, *_) = drawn(medium())
    held = [
        Fraction(each["lo"]) <= Fraction(each["p"]) <= Fraction(each["hi"])
        for each in found["consistency"]
    ]
    assert all(held)
    assert found["consistency_reason"] is None


def test_few_clusters_have_no_band_of_their_own() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.8")
    history.wait(hours=3)
    history.resolve(question)
    (found, *_) = drawn(history)
    assert found["confidence_reason"] == "clusters_lt_min"
    assert found["confidence"][0]["lo"] is None


def test_without_a_unit_there_is_no_curve() -> None:
    (found, *_) = drawn(History())
    assert (found["curve"], found["reason"]) == (None, "empty")


def test_a_slot_that_averages_has_no_curve() -> None:
    history = History()
    question = history.question()
    history.update(question, history.seal(question, "0.8"), "0.6")
    history.wait(hours=3)
    history.resolve(question)
    (found, *_) = drawn(history, slot="all")
    assert (found["curve"], found["reason"]) == (None, "not_declared")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    return Console(tmp_path_factory.mktemp("curve")).found().frozen()


def test_people_are_told_where_there_is_no_curve(console: Console) -> None:
    lines = console.here("curve", "native").stdout.splitlines()
    assert lines[:2] == [
        "piper-self@v1, initial, all: native, 0 units in 0 clusters",
        "no curve: empty",
    ]
    (found,) = console.here("curve", "native", "--json").object
    assert found["reason"] == "empty"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "no suite lists 'nobody'"),
        (["nobody", "--suite", "piper-self"], "does not list 'nobody'"),
        (["native", "--slot", "last"], "there is no slot 'last'"),
    ],
)
def test_the_command_refuses_in_a_sentence(
    console: Console, words: list[str], sentence: str
) -> None:
    shown = console.here("curve", *words)
    assert (shown.code, sentence in shown.stderr) == (2, True)
