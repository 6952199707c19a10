"""What `--explain` shows is enough: formulas and inputs, put together, make the figure."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from ledger.projections.exact import dec12
from ledger.projections.explaining import FIGURES, explained, standing_at
from ledger.suite import SuiteManifest
from tests.reporting import Row, row, rows
from tests.simulator import History
from tests.whole_row import row_of_many_answers, whole_history

Inputs = dict[str, Any]
# Sums of numbers of twelve places differ from the figure by their rounding alone.
ROUNDING = Fraction(1, 10**10)


class Told(msgspec.Struct, frozen=True):
    """A row, and what its suite declares."""

    row: Row
    suites: dict[str, SuiteManifest]

    def of(self, figure: str) -> list[dict[str, Any]]:
        """Return a figure as it is explained, wherever it stands in the row."""
        found: list[dict[str, Any]] = explained(figure, [self.row], self.suites)["rows"]
        return found


def told_of(history: History, found: Row | None = None) -> Told:
    manifest = history.manifest
    made = row(history) if found is None else found
    return Told(made, {manifest.suite: manifest})


@pytest.fixture(scope="module")
def whole() -> Told:
    return told_of(whole_history())


@pytest.fixture(scope="module")
def partly() -> Told:
    """A row whose reference was sealed by somebody who left two of the units out."""
    history = History(scoring__reference="rival")
    asked = [history.question(f"u-{number}") for number in range(6)]
    for number, question in enumerate(asked):
        history.seal(question, f"0.{number + 3}")
        if number > 1:
            history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    for number, question in enumerate(asked):
        history.resolve(question, "pass" if number % 2 else "fail")
    return told_of(history)


def number(told: Any) -> Fraction:
    """Return a number as a row or a manifest spells it."""
    if isinstance(told, dict):
        return Fraction(told.get("exact") or told["value"])
    return Fraction(told)


def means(found: Row) -> list[str]:
    """Return the figures that are means, and that a row has a value of."""
    return [
        name
        for name, entry in FIGURES.items()
        if entry.is_mean
        for path in entry.paths
        for _, measure in standing_at(found, path)
        if measure is not None and "exact" in measure
    ]


def test_every_mean_is_its_sum_divided_by_n(whole: Told, partly: Told) -> None:
    checked = set()
    for about in (whole, partly):
        for name in means(about.row):
            for shown in about.of(name):
                if "exact" in shown:
                    total = number(shown["inputs"]["sum"])
                    assert total / shown["inputs"]["n"] == number(shown), name
                    checked.add(name)
    assert len(checked) > 30


def test_every_rate_is_its_count_of_all(whole: Told) -> None:
    found = {
        name: shown
        for name in FIGURES
        for shown in whole.of(name)
        if {"count", "of", "exact"} <= shown.keys()
    }
    assert {"coverage", "void_rate", "late_forecast_rate"} < found.keys()
    for name, shown in found.items():
        assert Fraction(shown["count"], shown["of"]) == number(shown), name


def bins(inputs: Inputs) -> list[tuple[int, Fraction, Fraction]]:
    return [
        (each["n"], Fraction(each["mean_p"]), Fraction(each["rate"]))
        for each in inputs["reliability.bins"]
        if each["n"]
    ]


def of_bins(inputs: Inputs, gap: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
    return sum(
        (n * gap(p, rate) for n, p, rate in bins(inputs)), Fraction(0)
    ) / Fraction(inputs["n"])


def recalibrated(inputs: Inputs) -> Fraction:
    """Return the Brier score of the curve's own rates."""
    blocks = inputs["decomposition.corp.curve"]
    n = sum(each["n"] for each in blocks)
    lost = sum(
        Fraction(each["ones"] * (each["n"] - each["ones"]), each["n"])
        for each in blocks
    )
    return lost / n


def benefit(inputs: Inputs) -> Fraction:
    n, acted = inputs["n"], inputs["utility.acted"]
    t = number(inputs["suite.utility.action_cost"]) / number(
        inputs["suite.utility.avoidable_loss"]
    )
    met = inputs["#{y = 1}"] - inputs["utility.missed"]
    return Fraction(met, n) - Fraction(acted - met, n) * t / (1 - t)


MADE_AGAIN: dict[str, Callable[[Inputs], Fraction]] = {
    "bss_frozen": lambda i: (
        1 - number(i["Σ loss"]) / number(i["Σ loss of the reference"])
    ),
    "bss_same_cohort": lambda i: (
        1 - number(i["scores.brier"]) / number(i["scores.base_rate_brier"])
    ),
    "base_rate_brier": lambda i: (
        number(i["scores.event_rate"]) * (1 - number(i["scores.event_rate"]))
    ),
    "auroc": lambda i: number(i["#{p⁺ > p⁻} + ½ #{p⁺ = p⁻}"]) / (i["n₁"] * i["n₀"]),
    "ece": lambda i: of_bins(i, lambda p, rate: abs(p - rate)),
    "mce": lambda i: max(abs(p - rate) for _, p, rate in bins(i)),
    "uncertainty": lambda i: (
        number(i["scores.event_rate"]) * (1 - number(i["scores.event_rate"]))
    ),
    "miscalibration": lambda i: number(i["scores.brier"]) - recalibrated(i),
    "discrimination": lambda i: number(i["scores.base_rate_brier"]) - recalibrated(i),
    "delta_bits": lambda i: (
        number(beside(i, "observed_bits")) - number(beside(i, "wrong_target_bits"))
    ),
    "retained": lambda i: (
        number(beside(i, "wrong_target_bits")) / number(beside(i, "observed_bits"))
    ),
    "cost": lambda i: (
        number(i["utility.missed_failure_cost"]) + number(i["utility.extra_compute"])
    ),
    "cost_always": lambda i: number(i["suite.utility.action_cost"]),
    "cost_never": lambda i: (
        number(i["suite.utility.avoidable_loss"]) * Fraction(i["#{y = 1}"], i["n"])
    ),
    "regret": lambda i: (
        number(i["utility.cost"])
        - min(number(i["utility.cost_always"]), number(i["utility.cost_never"]))
    ),
    "regret_vs_baseline_policy": lambda i: (
        number(i["utility.cost"]) - number(i["cost of the reference's policy"])
    ),
    "regret_vs_hindsight_unattainable": lambda i: (
        number(i["utility.cost"])
        - number(i["suite.utility.action_cost"]) * Fraction(i["#{y = 1}"], i["n"])
    ),
    "missed_failure_cost": lambda i: (
        number(i["suite.utility.avoidable_loss"])
        * Fraction(i["utility.missed"], i["n"])
    ),
    "extra_compute": lambda i: (
        number(i["suite.utility.action_cost"]) * Fraction(i["utility.acted"], i["n"])
    ),
    "net_benefit": benefit,
    "wis": lambda i: sum(
        (number(told) for path, told in i.items() if ".wis_" in path), Fraction(0)
    ),
    "change": lambda i: (
        number(i["prequential.after"]) - number(i["prequential.before"])
    ),
}


def beside(inputs: Inputs, effect: str) -> Any:
    """Return the effect that stands beside the one which is explained."""
    (found,) = (told for path, told in inputs.items() if path.endswith(f".{effect}"))
    return found


@pytest.mark.parametrize("figure", MADE_AGAIN)
def test_a_figure_comes_out_of_its_formula_and_the_inputs_that_are_shown(
    whole: Told, figure: str
) -> None:
    found = [shown for shown in whole.of(figure) if shown["value"] is not None]
    assert found
    for shown in found:
        made = MADE_AGAIN[figure](shown["inputs"])
        assert abs(made - number(shown)) <= ROUNDING, shown["path"]


@pytest.mark.parametrize(
    ("figure", "gap"),
    [
        ("reliability", lambda p, rate, _: (p - rate) ** 2),
        ("resolution", lambda _, rate, mean: (rate - mean) ** 2),
    ],
)
def test_what_is_binned_comes_out_of_the_bins_that_are_shown(
    whole: Told, figure: str, gap: Callable[[Fraction, Fraction, Fraction], Fraction]
) -> None:
    (shown,) = (each for each in whole.of(figure) if "binned" in each["path"])
    mean = number(whole.row["scores"]["event_rate"])
    made = of_bins(shown["inputs"], lambda p, rate: gap(p, rate, mean))
    assert abs(made - number(shown)) <= ROUNDING


def test_a_skill_comes_out_of_losses_on_the_units_that_the_reference_has_too(
    partly: Told,
) -> None:
    (shown,) = partly.of("bss_frozen")
    assert (shown["inputs"]["n"], partly.row["counts"]["scored"]) == (4, 6)
    own = sum((Fraction(p, 10) - y) ** 2 for p, y in ((5, 0), (6, 1), (7, 0), (8, 1)))
    reference = 2 * Fraction(4, 10) ** 2 + 2 * Fraction(6, 10) ** 2
    assert number(shown["inputs"]["Σ loss"]) == own
    assert number(shown["inputs"]["Σ loss of the reference"]) == reference
    assert MADE_AGAIN["bss_frozen"](shown["inputs"]) == number(shown)
    # The row's own Brier score is over all six, and no input.
    assert "scores.brier" not in shown["inputs"]


def test_the_recalibrated_score_is_that_of_the_curve(whole: Told) -> None:
    for figure in ("miscalibration", "discrimination"):
        (shown,) = whole.of(figure)
        assert number(shown["inputs"]["S_pav"]) == recalibrated(shown["inputs"])


def test_a_skill_under_a_budget_is_that_of_the_row_which_the_page_names() -> None:
    history = whole_history()
    (shown,) = told_of(history).of("budget_skill")
    (under,) = (
        each
        for each in rows(history, forecaster="native", by=["adaptation_budget"])
        if each["slice"] == "adaptation_budget=zero-shot" and each["horizon"] is None
    )
    (skill,) = told_of(history, under).of("bss_frozen")
    assert MADE_AGAIN["bss_frozen"](skill["inputs"]) == number(shown)


def test_pairs_are_not_told_of_a_mean_over_answers() -> None:
    found = row_of_many_answers()
    shown = explained("auroc", [found], {})["rows"][0]
    assert "n₁" not in shown["inputs"]


def test_parameters_are_shown_as_the_suite_declares_them(whole: Told) -> None:
    for figure, path, declared in (
        ("decisive_fraction", "suite.scoring.decisive", ["0.1", "0.9"]),
        ("fading", "suite.prequential.fading", "0.99"),
        ("rise", "suite.prequential.ph_delta", "0.05"),
        ("log_loss", "suite.scoring.clip", "0.001"),
        ("pinball", "suite.quantities.cost.scale", "1"),
        ("newsvendor_cost", "suite.quantities.cost.underage", "1"),
    ):
        (shown,) = whole.of(figure)
        assert shown["inputs"][path] == declared


def test_every_parameter_that_an_explanation_names_is_a_key_of_a_suite(
    whole: Told,
) -> None:
    for name, entry in FIGURES.items():
        for shown in whole.of(name):
            declared = {path for path in shown["inputs"] if path.startswith("suite.")}
            assert len(declared) == len(entry.declared), name


def test_a_loss_of_a_number_is_divided_by_the_declared_scale() -> None:
    for name in ("absolute_error", "pinball", "wis", "crps_ecdf", "newsvendor_cost"):
        entry = FIGURES[name]
        assert "/ scale" in entry.formula
        assert "quantities.*.scale" in entry.declared


# What is a count or a verdict, or stands in the row with all that it is made of.
SELF_CONTAINED = frozenset(
    {
        *("bss_same_cohort", "official_skill", "ece", "mce", "uncertainty"),
        *("change", "recalibration", "cost_always", "cost_never", "regret"),
    }
)


def test_what_no_row_can_reproduce_says_where_the_rest_stands() -> None:
    for name in (
        *("iqm", "fading", "rise", "sliding", "cumulative", "budget_skill"),
        *("mean_p", "decisive_fraction", "corp_curve", "within_variance", "robustness"),
        *("calibration_slope", "observed_bits", "p_value", "crps_fair", "usd"),
    ):
        entry = FIGURES.get(name, FIGURES["costs"])
        assert "forecasts.parquet" in entry.elsewhere or "--by" in entry.elsewhere, name
    for name in SELF_CONTAINED:
        assert FIGURES[name].elsewhere == "", name


def test_a_figure_is_rendered_to_twelve_places(whole: Told) -> None:
    (shown,) = whole.of("auroc")
    assert dec12(MADE_AGAIN["auroc"](shown["inputs"])) == shown["value"]
