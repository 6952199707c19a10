"""`ledger rows --explain`: a figure's formula, and the inputs to do it again by hand."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.errors import UsageError
from ledger.projections.explaining import FIGURES, explained
from tests.console import Console
from tests.court import BAR
from tests.oracle import medium, told
from tests.reporting import Row, row, rows
from tests.simulator import History
from tests.whole_row import whole_row


@pytest.fixture(scope="module")
def two_hundred() -> Row:
    return row(medium())


def of(score: str, found: Row) -> dict[str, Any]:
    (shown,) = explained(score, [found], {})["rows"]
    return shown


@pytest.fixture(scope="module")
def everything() -> Row:
    return whole_row()


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_a_formula_a_source_and_a_direction(figure: str) -> None:
    shown = explained(figure, [], {})
    assert shown["figure"] == figure
    assert shown["formula"]
    assert "METRICS §" in shown["source"]
    assert shown["better"] in {"lower", "higher", None}


def test_a_mean_is_its_sum_divided_by_n(two_hundred: Row) -> None:
    for score in ("brier", "log_loss", "skill_vs_r2_bits", "event_rate"):
        shown = of(score, two_hundred)
        total = Fraction(shown["inputs"]["sum"]["exact"])
        assert total / shown["inputs"]["n"] == Fraction(shown["exact"]), score


def test_an_interval_is_shown_with_how_it_was_drawn(two_hundred: Row) -> None:
    shown = of("auroc", two_hundred)
    assert (shown["inference"]["B"], shown["inference"]["K"]) == (2000, 20)
    assert len(shown["inference"]["root_seed"]) == 64
    assert shown["inputs"]["counts.clusters"] == 20
    assert of("base_rate_brier", two_hundred)["inference"] is None
    # It has the interval of the cluster sandwich.
    assert of("calibration_slope", two_hundred)["inference"] is None


def test_a_figure_over_fewer_units_says_how_it_was_drawn_itself() -> None:
    own = {"K": 3, "row_seed": "ab", "cohort_hash": "cd"}
    measure = {"value": "0.100000000000", "lo": None, "n": 4, "drawn": own}
    found = whole_row()
    found["scores"]["skill_vs_r1_bits"] = measure
    shown = of("skill_vs_r1_bits", found)
    assert {name: shown["inference"][name] for name in own} == own
    assert shown["inference"]["B"] == found["inference"]["B"]
    assert shown["cohort_hash"] == found["cohort_hash"]


def test_a_row_without_the_score_is_left_out(two_hundred: Row) -> None:
    assert explained("brier_sum", [two_hundred], {})["rows"] == []


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("credit", "insufficient"),
        ("regret", "-0.166666666667"),
        ("cumulative", "0.198333333333"),
        ("miscalibration", "0.087222222222"),
        ("robustness", None),
        ("void", 1),
        ("void_rate", "0.040000000000"),
        ("coverage", "1.000000000000"),
        ("wis", "2.666666666667"),
    ],
)
def test_any_figure_of_a_row_is_shown(
    everything: Row, figure: str, value: object
) -> None:
    assert of(figure, everything)["value"] == value


def test_a_figure_that_stands_in_several_places_is_shown_at_each(
    everything: Row,
) -> None:
    found = explained("uncertainty", [everything], {})["rows"]
    assert [each["path"] for each in found] == [
        f"decomposition.{name}.uncertainty" for name in ("binned", "corp", "murphy")
    ]
    assert {each["exact"] for each in found} == {"2/9"}


def test_a_lift_is_shown_with_the_tiers_it_is_between(everything: Row) -> None:
    shown = of("lift", everything)
    assert shown["path"] == "ablations.evidence.lifts.0"
    assert (shown["tier"], shown["without"]) == ("native", "rival")
    assert shown["inputs"]["ablations.evidence.units"] == 24


def test_bounds_are_shown_as_they_are_and_come_from_no_resamples(
    everything: Row,
) -> None:
    found = {
        each["path"]: each for each in explained("bounds", [everything], {})["rows"]
    }
    assert found["bounds.brier"]["lo"] == everything["bounds"]["brier"]["lo"]
    assert found["bounds.brier"]["inference"] is None


def test_inputs_stand_under_the_same_name_as_the_figure(everything: Row) -> None:
    of_cost = everything["quantities"]["cost"]
    both = {**everything, "quantities": {"cost": of_cost, "time": of_cost}}
    for shown in explained("wis", [both], {})["rows"]:
        name = shown["path"].split(".")[1]
        inputs = {path for path in shown["inputs"] if path.startswith("quantities")}
        assert len(inputs) == 3
        assert all(path.startswith(f"quantities.{name}.") for path in inputs)


def test_a_path_is_as_good_as_a_name(everything: Row) -> None:
    for path, name in (
        ("gates.permutation.p_value", "p_value"),
        ("quantities.cost.scores.wis", "wis"),
        ("scores.brier", "brier"),
    ):
        by_path, by_name = (explained(each, [everything], {}) for each in (path, name))
        assert by_path["rows"] == by_name["rows"]


@pytest.mark.parametrize(
    ("figure", "sentence"),
    [
        ("bss_froze", "did you mean bss_frozen"),
        ("regrets", "did you mean regret"),
        ("promotions", "did you mean promotion"),
        ("zzz", "no row has a figure 'zzz': docs/rows.md lists what there is"),
        ("suite", "no row has a figure 'suite'"),
    ],
)
def test_a_figure_that_there_is_not_is_refused(figure: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        explained(figure, [], {})


def test_a_score_that_is_undefined_shows_its_reason() -> None:
    history = History()
    told(history, [800_000], [1])
    shown = of("auroc", row(history))
    assert (shown["value"], shown["reason"]) == (None, "single_class")
    assert len(explained("brier", rows(history), {})["rows"]) > 1


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
    assert lines[0].split() == ["figure", "brier"]
    assert [line.split()[0] for line in lines[:6]] == [
        *("figure", "says", "formula", "source", "elsewhere", "better"),
    ]
    assert "piper-self@v1: native, initial" in lines


def test_programs_get_one_object(console: Console) -> None:
    found = console.here("rows", "--explain", "ece", "--json").object
    assert found["figure"] == "ece"
    assert found["rows"][0]["reason"] == "empty"


@pytest.mark.parametrize(
    ("figure", "line"),
    [
        ("credit", "value insufficient"),
        ("units", "path counts.units"),
        ("regret", "formula cost - min(cost_always, cost_never)"),
        ("bounds", "interval none: empty"),
        ("reliability_bins", "reliability.min_bin 20"),
        ("feature_leak_tests", "path integrity.feature_leak_tests"),
    ],
)
def test_people_see_any_figure(console: Console, figure: str, line: str) -> None:
    words = ("rows", "--explain", figure, "--forecaster", "native")
    shown = console.here(*words)
    assert shown.code == 0, shown.stderr
    assert line in [" ".join(each.split()) for each in shown.stdout.splitlines()]


def test_the_command_refuses_a_score_that_there_is_not(console: Console) -> None:
    shown = console.here("rows", "--explain", "brier_skill")
    assert (shown.code, shown.stdout) == (2, "")
    assert "no row has a figure 'brier_skill'" in shown.stderr
