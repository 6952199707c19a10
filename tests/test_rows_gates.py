"""The verdicts of a row, through logs: credit, promotion, and what leaves them open."""

import pytest

from tests.knowing import ROUNDS, TARGETS, knowing
from tests.reporting import Row, row, rows
from tests.simulator import History


@pytest.fixture(scope="module")
def knows() -> Row:
    return row(knowing(utility=True))


def test_skill_that_is_about_its_targets_collapses_on_others(knows: Row) -> None:
    gate = knows["gates"]["permutation"]
    assert gate["status"] == "collapses"
    assert (gate["targets"], gate["rows"]) == (TARGETS, TARGETS * ROUNDS)
    assert (gate["permutations"], gate["is_exact"]) == (9999, False)
    assert float(gate["observed_bits"]) > 0 > float(gate["wrong_target_bits"])
    gained = float(gate["observed_bits"]) - float(gate["wrong_target_bits"])
    assert float(gate["delta_bits"]) == pytest.approx(gained)


def test_against_the_routine_the_same_permutations_have_other_effects(
    knows: Row,
) -> None:
    gate = knows["gates"]["permutation"]
    assert gate["vs_r2"]["against"] == "own-routine"
    assert gate["vs_r2"]["delta_bits"] == gate["delta_bits"]
    observed = float(gate["vs_r2"]["observed_bits"])
    assert observed == pytest.approx(
        float(knows["scores"]["skill_vs_r2_bits"]["value"]), abs=1e-11
    )


def test_all_four_bars_earn_credit_for_the_target(knows: Row) -> None:
    gates = knows["gates"]
    assert gates["four_bar"] == dict.fromkeys(
        ("skill_vs_r1", "skill_vs_r2", "calibration", "permutation"), True
    )
    assert gates["credit"] == "target_specific"


def test_a_forecast_that_says_the_same_of_all_earns_no_credit() -> None:
    gates = row(knowing(says=("0.5", "0.5")))["gates"]
    assert gates["permutation"]["status"] == "survives"
    assert gates["credit"] == "insufficient"
    assert gates["calibration"]["reason"] == "constant_forecast"


def test_too_few_of_a_class_leave_calibration_and_so_credit_open() -> None:
    gates = row(knowing(statistics__min_class_gate=100))["gates"]
    assert gates["calibration"] == {"status": "insufficient", "reason": "insufficient"}
    assert gates["credit"] == "insufficient"


def test_a_baseline_is_asked_for_no_credit() -> None:
    gates = row(knowing(), "past-rate")["gates"]
    assert gates["permutation"]["reason"] == "not_declared"
    assert "promotion" not in gates


@pytest.mark.parametrize(
    ("leak_tested", "decision", "verdict"),
    [(True, "PROMOTE", "KEEP"), (False, "INCONCLUSIVE", "INCONCLUSIVE")],
)
def test_a_gain_is_promoted_once_leaks_were_tested_for(
    decision: str, verdict: str, *, leak_tested: bool
) -> None:
    history = knowing(utility=True, leak_tested=leak_tested)
    gate = row(history)["gates"]["promotion"]
    assert gate["against"] == "own-routine"
    unknown = [name for name, holds in gate["holds"].items() if not holds]
    assert unknown == ([] if leak_tested else ["no_leakage"])
    assert (gate["decision"], gate["verdict"]) == (decision, verdict)


def test_who_is_no_better_than_the_past_is_rejected() -> None:
    gate = row(knowing(says=("0.5", "0.5"), utility=True))["gates"]["promotion"]
    assert (gate["decision"], gate["verdict"]) == ("REJECT", "REVERT")
    assert gate["holds"]["brier_gain"] is False


def test_a_candidate_is_set_against_the_incumbent_where_that_is_stronger() -> None:
    history = History(incumbent="rival")
    asked = [history.question(f"u-{number}") for number in range(4)]
    for question in asked:
        history.seal(question, "0.6")
        history.seal(question, "0.9", forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    gate = row(history)["gates"]["promotion"]
    assert (gate["against"], gate["holds"]["brier_gain"]) == ("rival", False)
    of_rival = row(history, "rival")["gates"]["promotion"]
    assert of_rival["against"] in {"past-rate", "own-routine"}


def test_an_incumbent_that_lacks_a_unit_leaves_a_promotion_undecided() -> None:
    history = History(incumbent="rival")
    asked = [history.question(f"u-{number}") for number in range(4)]
    for question in asked:
        history.seal(question, "0.6")
    for question in asked[1:]:
        history.seal(question, "0.9", forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    gate = row(history)["gates"]["promotion"]
    assert (gate["against"], gate["decision"]) == (None, "INCONCLUSIVE")


def test_a_promotion_may_look_at_horizons() -> None:
    history = History(gates__promotion__slices=["horizon"])
    asked = [history.question(f"u-{number}") for number in range(4)]
    asked += [history.question("u-9", horizon="2h")]
    for question in asked:
        history.seal(question, "0.6")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    gate = row(history)["gates"]["promotion"]
    assert {"horizon=24h", "horizon=2h"} <= gate["loss_increase"].keys()


def test_so_many_permutations_of_targets_are_not_counted() -> None:
    history = History(statistics__permutations=2**25)
    asked = [history.question(f"u-{number}") for number in range(3)]
    for question in asked:
        history.seal(question)
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    gate = row(history)["gates"]["permutation"]
    assert (gate["status"], gate["reason"]) == ("insufficient", "too_many_targets")


@pytest.mark.parametrize(
    ("strata", "slots", "rows_exchanged"),
    [
        # Positions are slots: what has no partner in its slot is left out.
        (["template", "horizon", "slot"], ("a", "a", "b"), 2),
        # Otherwise a target's units are matched in the order of their names.
        (["template", "horizon"], ("a", "a", "b"), 2),
        (["template", "horizon", "slot"], ("a", "b", "c"), 0),
    ],
)
def test_targets_are_matched_where_the_suite_says(
    strata: list[str], slots: tuple[str, ...], rows_exchanged: int
) -> None:
    history = History(gates__permutation__strata=strata)
    asked = [
        history.question(f"u-{at}", target=target, slot=slot)
        for at, (target, slot) in enumerate(zip(("x", "y", "x"), slots, strict=True))
    ]
    for question in asked:
        history.seal(question)
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    gate = row(history)["gates"]["permutation"]
    assert gate.get("rows", 0) == rows_exchanged


def test_each_frozen_slice_is_watched_for_a_greater_loss() -> None:
    history = knowing(
        gates__promotion__slices=["slot"], gates__promotion__loss_margin="0"
    )
    increases = row(history)["gates"]["promotion"]["loss_increase"]
    assert set(increases) == {"log_loss", *(f"slot={turn}" for turn in range(ROUNDS))}


def test_promotion_is_decided_on_everything_and_not_on_slices() -> None:
    found = rows(knowing(), by=["slot"], forecaster="native")
    decided = [each for each in found if "promotion" in each["gates"]]
    assert {each["slice"] for each in decided} == {None}


def test_where_a_suite_has_splits_only_the_holdout_decides() -> None:
    splits = [
        {
            "name": "forward",
            "from": "2026-11-02T00:00:00Z",
            "until": "2027-01-01T00:00:00Z",
            "purpose": "holdout",
        }
    ]
    found = rows(knowing(statistics__splits=splits), forecaster="native")
    forward = {
        each["slice"]: each["gates"]["promotion"]["is_forward"]
        for each in found
        if each["horizon"] is None
    }
    assert forward == {None: False, "split=forward": True}


def test_acting_on_what_was_said_is_cheaper_than_always_and_never(knows: Row) -> None:
    found = knows["utility"]
    assert float(found["regret"]["value"]) < 0
    assert float(found["regret_vs_hindsight_unattainable"]["value"]) >= 0
    cheaper = min(found["cost_always"]["value"], found["cost_never"]["value"])
    assert float(found["cost"]["value"]) < float(cheaper)
    parts = ("missed_failure_cost", "extra_compute")
    together = sum(float(found[name]["value"]) for name in parts)
    assert together == pytest.approx(float(found["cost"]["value"]))
    assert [each["threshold"][:3] for each in found["curve"]] == ["0.1", "0.5"]


@pytest.mark.parametrize(
    "number",
    [
        "regret",
        "net_benefit",
        "extra_compute",
        "missed_failure_cost",
        "cost",
        "regret_vs_baseline_policy",
    ],
)
def test_what_acting_was_worth_lies_within_its_interval(
    knows: Row, number: str
) -> None:
    found = knows["utility"][number]
    assert float(found["lo"]) <= float(found["value"]) <= float(found["hi"])


def test_without_a_declared_action_there_is_no_use_to_tell_of() -> None:
    found = row(knowing())
    assert found["utility"] == {"reason": "not_declared"}
    assert found["gates"]["promotion"]["holds"]["has_utility"] is None
