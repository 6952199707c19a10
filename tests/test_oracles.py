"""The shared oracles, each through a row of a log or the public function it is about."""

from datetime import timedelta
from fractions import Fraction

from ledger.projections.aggregation import interquartile_mean
from ledger.projections.cohort import Measure, loss_over, official, skill
from ledger.projections.exact import dec12, exact_text
from tests.oracle import agrees, case, medium, of
from tests.reporting import row, said, suite_of, template, value
from tests.simulator import History, ppm_text, suite


def test_a_quarter_four_times_is_worse_than_its_cohorts_own_rate() -> None:
    inputs, expected = case("brier-same-cohort")
    scores = of(inputs)["scores"]
    assert agrees(scores["brier"], expected["brier"])
    assert agrees(scores["event_rate"], expected["baseline_rate"])
    assert agrees(scores["base_rate_brier"], expected["baseline_brier"])
    assert agrees(scores["bss_same_cohort"], expected["bss"])
    clamped = official(Measure(value=Fraction(expected["bss"]["exact"]), n=4)).told()
    assert agrees(clamped, expected["official_component_skill"])


def test_the_mutant_baseline_is_refused_though_it_would_flatter() -> None:
    inputs, expected = case("brier-same-cohort")
    model = loss_over({f"u{n}": p * p for n, p in enumerate((250_000, 250_000))})
    foreign = loss_over({f"v{n}": 500_000 * 10**6 for n in range(2)})
    assert expected["mutant_bss_baseline_half_must_be_rejected"]["exact"] == "3/8"
    assert inputs["baseline"] == "same_cohort_climatology"
    assert skill(model, foreign).told()["reason"] == "cohort_mismatch"


def test_losses_of_other_units_are_no_baseline() -> None:
    inputs, expected = case("cohort-mismatch")
    model = loss_over(inputs["model"])
    baseline = loss_over(dict.fromkeys(inputs["baseline_units"], 250_000))
    refused = skill(model, baseline)
    assert (refused.value, refused.reason) == (expected["bss"], expected["error"])


def test_log_scores_are_means_of_items_in_bits_and_nats() -> None:
    inputs, expected = case("logscore-binary")
    scores = of(inputs)["scores"]
    assert agrees(scores["log_score_bits_clipped"], expected["mean_bits_clipped"])
    assert agrees(scores["log_loss"], expected["log_loss_nats_clipped"])


def test_a_probability_of_zero_for_what_happened_is_minus_infinity_and_counted() -> (
    None
):
    inputs, expected = case("logscore-zero-one")
    found = of(inputs)
    scores, counts = found["scores"], found["counts"]
    assert scores["log_score_bits"]["value"] == expected["mean_bits_raw"] == "-inf"
    assert counts["raw_infinite_count"] == expected["raw_infinite_count"]
    assert counts["clipped_count"] == expected["clipped_count"]
    assert agrees(scores["log_score_bits_clipped"], expected["mean_bits_clipped"])
    assert agrees(scores["brier"], expected["brier"])


def test_vectors_over_four_answers_have_the_sum_form_only() -> None:
    inputs, expected = case("categorical")
    answers = ("a", "b", "c", "d")
    history = History(suite_of(template(suite(), answers)))
    asked = [history.question(f"u-{number}") for number in range(4)]
    for question, vector in zip(asked, inputs["vectors_ppm"], strict=True):
        history.seal(question, dict(zip(answers, map(ppm_text, vector), strict=True)))
    history.wait(hours=3)
    for question, outcome in zip(asked, inputs["outcome_index"], strict=True):
        history.resolve(question, answers[outcome])
    scores = row(history)["scores"]
    assert agrees(scores["brier_sum"], expected["mean_brier_sum"])
    assert "brier" not in scores


def test_two_answers_have_the_binary_form_which_is_half_the_sum() -> None:
    inputs, expected = case("factor-two")
    scores = of(inputs)["scores"]
    assert agrees(scores["brier"], expected["binary_convention"])
    doubled = 2 * Fraction(scores["brier"]["exact"])
    assert exact_text(doubled) == expected["two_class_sum_convention"]["exact"]
    assert "brier_sum" not in scores


def test_a_perfect_forecast_has_all_the_skill_there_is() -> None:
    inputs, expected = case("bss-perfect")
    scores = of(inputs)["scores"]
    assert agrees(scores["brier"], expected["brier"])
    assert agrees(scores["bss_same_cohort"], expected["bss"])
    assert agrees(scores["official_skill"], expected["official_component_skill"])


def test_a_cohort_of_one_class_has_no_skill_against_its_own_rate() -> None:
    inputs, expected = case("single-class")
    scores = of(inputs)["scores"]
    assert agrees(scores["brier"], expected["brier"])
    assert agrees(scores["base_rate_brier"], expected["baseline_brier"])
    assert scores["bss_same_cohort"]["value"] is expected["bss"]
    assert scores["bss_same_cohort"]["reason"] == expected["bss_reason"]


def test_where_everything_is_void_every_score_is_null_and_empty() -> None:
    inputs, expected = case("empty-all-void")
    history = History()
    asked = [history.question(f"u-{number}") for number in range(len(inputs["rows"]))]
    for question, each in zip(asked, inputs["rows"], strict=True):
        history.seal(question, ppm_text(each["p_ppm"]))
    history.wait(hours=3)
    for question, each in zip(asked, inputs["rows"], strict=True):
        history.record(question, each["status"])
    found = row(history)
    assert found["counts"]["void"] == expected["n_void"]
    assert found["counts"]["scored"] == expected["n_eligible"]
    shown = {(each["value"], each["reason"]) for each in found["scores"].values()}
    assert shown == {(None, expected["reason"])}


def test_one_unit_is_scored() -> None:
    inputs, expected = case("n-one")
    scores = of(inputs)["scores"]
    assert agrees(scores["brier"], expected["brier"])
    assert scores["log_score_bits"]["value"] == expected["log_score_bits"]


def test_two_hundred_units_have_the_scores_that_others_compute() -> None:
    _, expected = case("medium-scores")
    # The frozen baseline of the case is played by somebody who seals it.
    history = medium()
    found = row(history)
    names = {
        "brier": "brier",
        "reference_brier": "brier_frozen_base",
        "bss_frozen": "bss_frozen_base",
        "bss_same_cohort": "bss_same_cohort",
        "base_rate_brier": "same_cohort_baseline",
        "official_skill": "official_component_skill",
        "event_rate": "event_rate",
        "log_score_bits_clipped": "log_score_bits_clipped",
    }
    for ours, theirs in names.items():
        assert agrees(found["scores"][ours], expected[theirs]), ours
    assert found["counts"]["scored"] == expected["n"]
    assert found["counts"]["raw_infinite_count"] == expected["raw_infinite_count"]
    base = Fraction(value(row(history, "rival"), "log_score_bits_clipped") or "")
    gain = Fraction(value(found, "log_score_bits_clipped") or "") - base
    assert exact_text(gain) == expected["skill_bits_vs_base"]["exact"]


def test_rates_walk_forward_through_the_past_of_other_targets_and_of_ones_own() -> None:
    inputs, expected = case("r1-r2-walk-forward")
    history = History()
    for number, (unit, ppm) in enumerate(
        zip(inputs["history"], inputs["system_p_ppm"], strict=True)
    ):
        question = history.question(f"u-{number}", target=unit["target"])
        history.seal(question, ppm_text(ppm))
        history.wait(hours=3)
        history.resolve(question, "pass" if unit["y"] else "fail")
    r1, r2 = said(history, "past-rate"), said(history, "own-routine")
    for number, step in enumerate(expected["sequence"]):
        assert r1[f"u-{number}"][0] == step["r1_ppm"]
        assert r2[f"u-{number}"][0] == step["r2_ppm"]
    scores, own = row(history)["scores"], row(history, "own-routine")["scores"]
    assert agrees(scores["skill_vs_r1_bits"], expected["skill_vs_r1_bits"])
    assert agrees(scores["skill_vs_r2_bits"], expected["skill_vs_r2_bits"])
    assert agrees(own["skill_vs_r1_bits"], expected["r2_vs_r1_bits"])


def test_the_interquartile_mean_drops_a_quarter_at_each_end() -> None:
    inputs, expected = case("iqm")
    values, binary = map(Fraction, inputs["values"]), map(Fraction, inputs["binary"])
    assert _agrees(interquartile_mean(list(values)), expected["iqm_values"])
    assert _agrees(interquartile_mean(list(binary)), expected["iqm_binary"])
    inputs, expected = case("iqm-seed004")
    ones = inputs["ones"]
    items = [Fraction(1)] * ones + [Fraction(0)] * (inputs["n"] - ones)
    assert _agrees(interquartile_mean(items), expected["iqm"])


def test_scores_are_bounded_whatever_the_missing_outcomes_are() -> None:
    inputs, expected = case("censoring-bounds")
    history = History(scoring__reference="rival")
    asked = [history.question(f"u-{number}") for number in range(expected["n"])]
    for question, ppm, base in zip(
        asked, inputs["p_ppm"], inputs["base_ppm"], strict=True
    ):
        history.seal(question, ppm_text(ppm))
        history.seal(question, ppm_text(base), forecaster="rival")
    history.wait(hours=3)
    for question, y in zip(asked, inputs["y"], strict=True):
        if y is None:
            history.record(question, "CENSORED")
        else:
            history.resolve(question, "pass" if y else "fail")
    found = row(history)
    names = {
        "brier": "brier",
        "brier_beyond_reference": "brier_diff_vs_base",
        "bss_frozen": "bss_frozen_base",
        "bss_same_cohort": "bss_same_cohort",
        "event_rate": "event_rate",
    }
    for ours, theirs in names.items():
        bound = found["bounds"][ours]
        decimals = [each["dec"] for each in expected[theirs]]
        assert [bound["lo"], bound["hi"]] == decimals, ours
        assert bound["n"] == expected["n"]
    assert agrees(found["scores"]["brier"], expected["complete_case_brier"])
    assert found["counts"]["censored"] == expected["n_missing"]


def test_each_slot_of_a_chain_has_its_own_score() -> None:
    inputs, expected = case("updates")
    history = History()
    began = history.now
    question = history.question(
        cutoff_at=began + timedelta(hours=inputs["close_h"]),
        resolve_by=began + timedelta(hours=inputs["resolve_h"]),
    )
    last = None
    for update in inputs["updates"]:
        history.now = began + timedelta(hours=update["t_h"])
        p = ppm_text(update["p_ppm"])
        last = history.update(question, last, p) if last else history.seal(question, p)
    history.now = began + timedelta(hours=inputs["resolve_h"])
    history.resolve(question, "pass")
    slots = {
        "initial": expected["initial"],
        "final": expected["final"],
        "all": expected["all_mean"],
        "time_weighted": expected["time_weighted"],
        **{f"at_lead:{hours}": each for hours, each in expected["at_lead"].items()},
    }
    for slot, score in slots.items():
        found = row(history, slot=slot)
        assert agrees(found["scores"]["brier"], score), slot
        assert found["counts"]["forecasts"] == expected["n_forecasts"]
        assert found["counts"]["scored"] == expected["n_units"]


def test_many_updates_of_one_unit_are_no_many_units() -> None:
    inputs, expected = case("pseudo-replication")
    history = History()
    for unit in inputs["units"]:
        question = history.question(unit["unit"])
        first, *others = map(ppm_text, unit["p_ppm"])
        last = history.seal(question, first)
        for p in others:
            last = history.update(question, last, p)
        history.wait(hours=3)
        history.resolve(question, "pass" if unit["y"] else "fail")
    found = row(history, slot="all")
    assert agrees(found["scores"]["brier"], expected["unit_weighted_brier"])
    assert found["counts"]["scored"] == expected["n_units"]
    assert found["counts"]["forecasts"] == expected["n_forecasts"]


def test_what_is_late_or_duplicate_is_no_second_event() -> None:
    inputs, expected = case("late-duplicate")
    history = History()
    began = history.now
    first = inputs["rows"][0]
    asked = {
        each["id"]: history.question(
            inputs["duplicates"].get(each["id"], each["id"]),
            opened_at=began,
            cutoff_at=began + timedelta(minutes=first["cutoff_at"]),
            resolve_by=began + timedelta(hours=1),
        )
        for each in inputs["rows"]
    }
    for each in sorted(inputs["rows"], key=lambda each: each["created_at"]):
        history.now = began + timedelta(minutes=each["created_at"])
        history.seal(asked[each["id"]])
    history.now = began + timedelta(minutes=30)
    for name in ("f1", "f2", "f3"):
        history.resolve(asked[name])
    found = row(history)
    assert found["counts"]["eligible"] == len(expected["eligible"])
    assert found["counts"]["scored"] == expected["n_units"]
    assert found["counts"]["late"] == len(expected["late"])
    assert found["counts"]["duplicate"] == len(inputs["duplicates"])
    rate = found["integrity"]["late_forecast_rate"]
    assert agrees(rate, expected["late_forecast_rate"])


def test_the_official_skill_is_clamped_and_null_where_the_skill_is() -> None:
    inputs, expected = case("official-skill-clamp")
    for bss, shown in zip(inputs["bss"], expected["official"], strict=True):
        skilled = Measure(value=None if bss is None else Fraction(bss), n=4)
        found = official(skilled).value
        assert found == (None if shown is None else Fraction(shown))


def _agrees(found: Fraction | None, expected: dict[str, str]) -> bool:
    assert found is not None
    return dec12(found) == expected["dec"] and found == Fraction(expected["exact"])
