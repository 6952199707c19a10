"""`ledger rows --explain`: a score's formula, and the inputs to do it again by hand."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.errors import UsageError
from ledger.projections.explaining import explained
from ledger.projections.glossary import GLOSSARY
from tests.console import Console
from tests.court import BAR
from tests.oracle import medium, told
from tests.reporting import Row, row, rows
from tests.simulator import History


@pytest.fixture(scope="module")
def two_hundred() -> Row:
    return row(medium())


def of(score: str, found: Row) -> dict[str, Any]:
    (shown,) = explained(score, [found])["rows"]
    return shown


@pytest.mark.parametrize("score", GLOSSARY)
def test_every_score_has_a_formula_a_source_and_a_direction(score: str) -> None:
    shown = explained(score, [])
    assert shown["formula"]
    assert "METRICS §" in shown["source"]
    assert shown["better"] in {"lower", "higher", None}


def test_a_mean_is_its_sum_divided_by_n(two_hundred: Row) -> None:
    for score in ("brier", "log_loss", "skill_vs_r2_bits", "event_rate"):
        shown = of(score, two_hundred)
        total = Fraction(shown["inputs"]["sum"]["exact"])
        assert total / shown["inputs"]["n"] == Fraction(shown["exact"]), score


def test_a_skill_comes_out_of_the_two_losses_that_are_shown(two_hundred: Row) -> None:
    shown = of("bss_frozen", two_hundred)
    own = Fraction(shown["inputs"]["scores.brier"]["exact"])
    reference = Fraction(shown["inputs"]["scores.reference_brier"]["exact"])
    assert 1 - own / reference == Fraction(shown["exact"])


def test_an_interval_is_shown_with_how_it_was_drawn(two_hundred: Row) -> None:
    shown = of("auroc", two_hundred)
    assert (shown["inference"]["B"], shown["inference"]["K"]) == (2000, 20)
    assert len(shown["inference"]["root_seed"]) == 64
    assert shown["inputs"]["counts.clusters"] == 20
    assert of("base_rate_brier", two_hundred)["inference"] is None


def test_a_row_without_the_score_is_left_out(two_hundred: Row) -> None:
    assert explained("brier_sum", [two_hundred])["rows"] == []


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        ("bss_froze", "did you mean bss_frozen"),
        ("zzz", "no row has a score 'zzz': there are"),
    ],
)
def test_a_score_that_there_is_not_is_refused(score: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        explained(score, [])


def test_a_score_that_is_undefined_shows_its_reason() -> None:
    history = History()
    told(history, [800_000], [1])
    shown = of("auroc", row(history))
    assert (shown["value"], shown["reason"]) == (None, "single_class")
    assert len(explained("brier", rows(history))["rows"]) > 1


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    console = Console(tmp_path_factory.mktemp("explain")).found().frozen()
    asked = ("--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-1", "--cutoff", "+1s", *asked),
        ("seal", "--id", "d-1", "-p", "0.8"),
    ):
        assert console.here(*words).code == 0
    return console


def test_people_see_the_definition_then_each_row(console: Console) -> None:
    words = ("rows", "--explain", "brier", "--forecaster", "native")
    lines = console.here(*words).stdout.splitlines()
    assert lines[0] == "score    brier"
    assert [line.split()[0] for line in lines[:5]] == [
        *("score", "says", "formula", "source", "better"),
    ]
    assert "piper-self@v1: native, initial" in lines


def test_programs_get_one_object(console: Console) -> None:
    found = console.here("rows", "--explain", "ece", "--json").object
    assert found["score"] == "ece"
    assert found["rows"][0]["reason"] == "empty"


def test_the_command_refuses_a_score_that_there_is_not(console: Console) -> None:
    shown = console.here("rows", "--explain", "brier_skill")
    assert (shown.code, shown.stdout) == (2, "")
    assert "no row has a score 'brier_skill'" in shown.stderr
