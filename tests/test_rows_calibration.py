"""What a row says of probabilities as such: the oracles, and what has no answer."""

from typing import Any

import pytest

from tests.oracle import agrees, case, medium, of, told
from tests.reporting import Row, row, suite_of, template
from tests.simulator import History, suite

# As few units as the small cases have are enough to print a slope.
ANY_CLASS = {"statistics__min_class": 1}


@pytest.fixture(scope="module")
def two_hundred() -> Row:
    return row(medium())


def shown(measure: dict[str, Any], expected: dict[str, str], places: int = 12) -> bool:
    """Tell whether a number agrees with an oracle's, which has twelve places."""
    value = str(measure["value"])
    return value == f"{round(float(expected['dec']), places):.{places}f}"


# --- Ranking --------------------------------------------------------------------------


def test_ties_count_half_and_delong_stands_beside_where_units_are_independent() -> None:
    inputs, expected = case("auroc-ties")
    auroc = of(inputs)["scores"]["auroc"]
    assert agrees(auroc, expected["auroc"])
    assert auroc["delong"] == {
        "lo": expected["delong_lo"]["dec"],
        "hi": expected["delong_hi"]["dec"],
    }


def test_a_perfect_ranking_claims_no_certainty() -> None:
    inputs, expected = case("auroc-perfect")
    auroc = of(inputs)["scores"]["auroc"]
    assert agrees(auroc, expected["auroc"])
    assert auroc["delong"]["lo"] is expected["ci"]
    assert auroc["delong"]["reason"] == expected["ci_reason"]


def test_where_clusters_have_several_units_delong_is_not_shown(
    two_hundred: Row,
) -> None:
    _, expected = case("auroc-medium-delong")
    auroc = two_hundred["scores"]["auroc"]
    assert agrees(auroc, expected["auroc"])
    assert "delong" not in auroc
    assert auroc["lo"] < auroc["value"] < auroc["hi"]


def test_one_class_cannot_be_ranked_nor_calibrated() -> None:
    inputs, expected = case("single-class")
    scores = of(inputs)["scores"]
    assert scores["auroc"]["value"] is expected["auroc"]
    assert scores["auroc"]["reason"] == expected["auroc_reason"]
    for name in ("calibration_slope", "calibration_intercept"):
        assert scores[name]["value"] is expected[name]
        assert scores[name]["reason"] == expected["calibration_reason"]


def test_more_than_two_answers_are_ranked_one_against_the_rest() -> None:
    answers = ("a", "b", "c")
    history = History(suite_of(template(suite(), answers)))
    asked = [history.question(f"u-{number}") for number in range(4)]
    for question, first in zip(asked, ("0.5", "0.2", "0.6", "0.2"), strict=True):
        rest = {"0.5": "0.1", "0.2": "0.4", "0.6": "0"}[first]
        history.seal(question, {"a": first, "b": "0.4", "c": rest})
    history.wait(hours=3)
    for question, outcome in zip(asked, ("a", "b", "a", "c"), strict=True):
        history.resolve(question, outcome)
    found = row(history)
    assert found["scores"]["auroc"]["reason"] == "not_declared"
    by_answer = found["auroc_by_answer"]
    assert {name: by_answer[name]["value"][:3] for name in answers} == {
        "a": "1.0",
        "b": "0.5",
        "c": "0.8",
    }


def test_an_average_over_answers_is_shown_where_it_is_declared() -> None:
    made = suite(scoring__average_ovr=True)
    history = History(
        suite_of(template(made, ("a", "b", "c")), scoring__average_ovr=True)
    )
    asked = [history.question(f"u-{number}") for number in range(3)]
    for question, outcome in zip(asked, ("a", "b", "c"), strict=True):
        history.seal(question, {**dict.fromkeys("abc", "0.1"), outcome: "0.8"})
    history.wait(hours=3)
    for question, outcome in zip(asked, ("a", "b", "c"), strict=True):
        history.resolve(question, outcome)
    assert row(history)["scores"]["auroc"]["exact"] == "1/1"


# --- Calibration ----------------------------------------------------------------------


def test_slope_and_intercepts_are_those_that_others_fit(two_hundred: Row) -> None:
    _, expected = case("calibration-medium")
    scores = two_hundred["scores"]
    assert shown(scores["calibration_slope"], expected["slope"], 9)
    assert shown(scores["calibration_intercept"], expected["citl"], 9)
    assert shown(scores["intercept_joint"], expected["intercept_joint"], 9)
    for name in ("calibration_slope", "calibration_intercept", "intercept_joint"):
        assert float(scores[name]["lo"]) < float(scores[name]["hi"])


def test_a_threshold_that_divides_outcomes_leaves_no_slope_but_an_intercept() -> None:
    inputs, expected = case("calibration-separation")
    scores = of(inputs, **ANY_CLASS)["scores"]
    assert scores["calibration_slope"]["reason"] == expected["reason"]
    assert scores["intercept_joint"]["reason"] == expected["reason"]
    assert shown(scores["calibration_intercept"], expected["citl"], 9)


def test_a_constant_has_no_slope_but_an_intercept() -> None:
    inputs, expected = case("calibration-constant")
    scores = of(inputs, **ANY_CLASS)["scores"]
    assert scores["calibration_slope"]["reason"] == expected["reason"]
    assert shown(scores["calibration_intercept"], expected["citl"], 9)


def test_few_units_of_a_class_are_no_ground_for_a_slope() -> None:
    history = History()
    told(history, [300_000, 600_000] * 3, [1, 0, 0, 1, 1, 1])
    scores = row(history)["scores"]
    assert scores["calibration_slope"] == {
        "value": None,
        "n": 6,
        "reason": "insufficient",
    }


def test_bins_are_closed_on_the_left_and_empty_ones_are_listed() -> None:
    inputs, expected = case("ece-edges")
    found = of(inputs)
    assert agrees(found["scores"]["ece"], expected["ece"])
    assert agrees(found["scores"]["mce"], expected["mce"])
    bins = found["reliability"]["bins"]
    assert [each["n"] for each in bins] == [each["n"] for each in expected["table"]]
    assert bins[2]["mean_p"] == expected["table"][2]["mean_p"]["dec"]
    assert bins[4] == {"bin": 4, "n": 0}


def test_two_hundred_units_have_the_reliability_that_others_compute(
    two_hundred: Row,
) -> None:
    _, expected = case("ece-medium")
    assert agrees(two_hundred["scores"]["ece"], expected["ece_width"])
    assert agrees(two_hundred["scores"]["mce"], expected["mce_width"])
    for ours, theirs in zip(
        two_hundred["reliability"]["bins"], expected["reliability_width"], strict=True
    ):
        assert ours["lo"] == theirs["wilson_lo"]["dec"]
        assert ours["hi"] == theirs["wilson_hi"]["dec"]
    assert two_hundred["reliability"]["is_clustered"]


def test_the_declared_binning_is_used() -> None:
    _, expected = case("ece-medium")
    found = row(medium(scoring__ece="equal_mass/10"))
    assert agrees(found["scores"]["ece"], expected["ece_mass"])


# --- Decompositions and sharpness -----------------------------------------------------


def test_a_brier_score_is_taken_apart_by_distinct_values_bins_and_curve(
    two_hundred: Row,
) -> None:
    parts = two_hundred["decomposition"]
    _, binned = case("murphy-binned")
    assert agrees(parts["binned"]["reliability"], binned["rel"])
    assert agrees(parts["binned"]["within_covariance"], binned["wbc"])
    _, curve = case("corp-medium")
    assert agrees(parts["corp"]["miscalibration"], curve["mcb"])
    assert agrees(parts["corp"]["discrimination"], curve["dsc"])
    assert agrees(parts["corp"]["uncertainty"], curve["unc"])
    inputs, distinct = case("murphy-distinct")
    murphy = of(inputs)["decomposition"]["murphy"]
    assert agrees(murphy["reliability"], distinct["rel"])
    assert agrees(murphy["resolution"], distinct["res"])


@pytest.mark.parametrize(("least", "is_shown"), [(86, True), (107, False)])
def test_a_curve_is_shown_where_each_class_has_units_enough(
    least: int, *, is_shown: bool
) -> None:
    _, expected = case("corp-medium")
    corp = row(medium(statistics__min_curve=least))["decomposition"]["corp"]
    assert corp["blocks"] == len(expected["blocks"])
    if not is_shown:
        assert (corp["curve"], corp["reason"]) == (None, "insufficient")
        return
    assert [(each["n"], each["ones"]) for each in corp["curve"]] == [
        (each["n"], each["ones"]) for each in expected["blocks"]
    ]


def test_sharpness_describes_what_was_said_whatever_happened(two_hundred: Row) -> None:
    _, expected = case("sharpness")
    found = two_hundred["sharpness"]
    for name in ("mean_p", "variance_p", "decisive_fraction", "decisive_hit_rate"):
        assert agrees(found[name], expected[name]), name
    assert found["distinct_values"] == expected["distinct_values"]


def test_a_constant_at_the_rate_of_events_is_calibrated_and_tells_nothing_apart() -> (
    None
):
    history = History(statistics__min_class=2)
    told(history, [800_000] * 10, [1] * 8 + [0] * 2)
    found = row(history)
    scores, parts = found["scores"], found["decomposition"]["murphy"]
    assert scores["calibration_intercept"]["value"] == "0.000000000"
    assert scores["ece"]["exact"] == "0/1"
    assert scores["auroc"]["exact"] == "1/2"
    assert parts["resolution"]["exact"] == parts["reliability"]["exact"] == "0/1"
    assert scores["calibration_slope"]["reason"] == "constant_forecast"


# --- What has no answer ---------------------------------------------------------------


def test_a_slot_that_averages_several_vectors_has_no_probability_of_its_own() -> None:
    history = History()
    question = history.question()
    history.update(question, history.seal(question, "0.8"), "0.6")
    history.wait(hours=3)
    history.resolve(question)
    found = row(history, slot="all")
    for name in ("auroc", "ece", "mce", "calibration_slope", "calibration_intercept"):
        assert found["scores"][name]["reason"] == "not_declared", name
    for block in ("reliability", "decomposition", "sharpness"):
        assert found[block]["reason"] == "not_declared", block


def test_without_units_everything_is_empty() -> None:
    found = row(History())
    for name in ("auroc", "ece", "mce", "calibration_slope", "calibration_intercept"):
        assert found["scores"][name]["reason"] == "empty", name
    assert found["decomposition"]["reason"] == "empty"
