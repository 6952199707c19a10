"""The verdicts of a row, through logs: credit, promotion, and what leaves them open."""

from typing import Any

import msgspec
import pytest

from ledger.events import Evidence
from tests.knowing import FEW, ROUNDS, TARGETS, UNITS, UTILITY, knowing
from tests.reporting import Row, row, rows
from tests.simulator import History, suite


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


@pytest.mark.parametrize(
    ("untested", "holds", "decision"), [(3, True, "PROMOTE"), (4, None, "INCONCLUSIVE")]
)
def test_no_leakage_is_known_once_enough_of_what_is_scored_was_tested(
    untested: int, decision: str, *, holds: bool | None
) -> None:
    history = knowing(utility=True, leak_tested=True, untested=untested)
    gate = row(history)["gates"]["promotion"]
    assert gate["leak_tests"] == {
        "vectors": UNITS,
        "tested": UNITS - untested,
        "failed": 0,
    }
    assert gate["holds"]["no_leakage"] is holds
    assert gate["decision"] == decision


def test_one_vector_that_failed_a_leak_test_decides_against_all_that_passed() -> None:
    history = knowing(
        utility=True, leak_tested=True, untested=1, statistics__looks=[UNITS + 1]
    )
    question = history.asked("leaks", cluster="t-00")
    ahead = Evidence(cutoff_at=question.cutoff_at)
    history.seal(question, "0.9", evidence=ahead)
    history.wait(hours=3)
    history.resolve(question)
    gate = row(history)["gates"]["promotion"]
    assert gate["leak_tests"]["failed"] == 1
    assert gate["holds"]["no_leakage"] is False
    assert (gate["decision"], gate["verdict"]) == ("HOLD", "REVERT")


def test_a_vector_that_is_scored_nowhere_leaks_into_no_verdict() -> None:
    history = knowing(utility=True, leak_tested=True)
    question = history.asked("late")
    history.wait(hours=3)
    history.record(question, "VOID", published_at=question.cutoff_at)
    history.seal(question, "0.9", evidence=Evidence(cutoff_at=history.now))
    found = row(history)
    leaks = found["integrity"]["feature_leak_tests"]
    assert leaks["tests"]["known-before-sealing"]["count"] == 1
    assert found["gates"]["promotion"]["leak_tests"]["failed"] == 0
    assert found["gates"]["promotion"]["decision"] == "PROMOTE"


def test_of_updates_those_that_stand_in_the_slot_are_tested() -> None:
    history = History()
    question = history.question()
    first = history.seal(question, evidence=Evidence(cutoff_at=history.now))
    ahead = Evidence(cutoff_at=question.cutoff_at)
    history.update(question, first, evidence=ahead)
    history.wait(hours=3)
    history.resolve(question)
    tests = {
        slot: row(history, slot=slot)["gates"]["promotion"]["leak_tests"]
        for slot in ("initial", "final", "all")
    }
    assert tests == {
        "initial": {"vectors": 1, "tested": 1, "failed": 0},
        "final": {"vectors": 1, "tested": 1, "failed": 1},
        "all": {"vectors": 2, "tested": 2, "failed": 1},
    }


def test_what_fills_the_time_before_a_vector_was_sealed_by_nobody_to_be_tested() -> (
    None
):
    history = History(asks="issuer", scoring__baseline_fill=True)
    question = history.asked()
    history.wait(hours=1)
    history.seal(question, evidence=Evidence(cutoff_at=history.now))
    history.wait(hours=2)
    history.resolve(question)
    for name in ("native", "native-calibrated"):
        found = row(history, name, slot="time_weighted")
        gate = found["gates"]["promotion"]
        assert found["coverage"]["in_time"]["value"] != "1.000000000000"
        assert gate["leak_tests"] == {"vectors": 1, "tested": 1, "failed": 0}


def test_what_recalibrates_another_leaks_what_its_source_does() -> None:
    history = knowing(leak_tested=True, untested=4)
    of_source, of_map = (
        row(history, name)["gates"]["promotion"]["leak_tests"]
        for name in ("native", "native-calibrated")
    )
    assert of_source == of_map == {"vectors": UNITS, "tested": UNITS - 4, "failed": 0}


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


RIVALS: dict[str, dict[str, str]] = {
    "as its reference": {"reference": "rival"},
    "in the first role": {"reference": "past-rate", "r1": "rival"},
    "in the second role": {"reference": "past-rate", "r2": "rival"},
}


def against(named: dict[str, str], **told: Any) -> Row:
    """Return what is decided of `native` where the suite names `rival`'s vectors so."""
    made = suite(**FEW, scoring__reference=named["reference"], utility=UTILITY)
    role = next((role for role in ("r1", "r2") if role in named), None)
    competitors = []
    for each in made.competitors:
        changed: dict[str, Any] = {}
        if each.name == "rival":
            changed = {"layer": "baseline", "role": role}
        elif role and each.role == role:
            changed = {"role": None, "by": (), "prior_weight": "0"}
        elif each.role == "r2":
            changed = {"prior_weight": "0"}
        competitors.append(msgspec.structs.replace(each, **changed))
    manifest = msgspec.structs.replace(made, competitors=tuple(competitors))
    history = knowing(manifest, leak_tested=True, **told)
    gate: Row = row(history)["gates"]["promotion"]
    return gate


@pytest.mark.parametrize("named", RIVALS.values(), ids=RIVALS)
def test_a_candidate_is_set_against_whom_the_suite_itself_names(
    named: dict[str, str],
) -> None:
    gate = against(named, lacking=0, rival=("0.85", "0.15"), says=("0.7", "0.3"))
    assert (gate["against"], gate["decision"]) == ("rival", "REJECT")
    weaker = against(named, lacking=0)
    assert weaker["decision"] == "PROMOTE"


@pytest.mark.parametrize("named", RIVALS.values(), ids=RIVALS)
@pytest.mark.parametrize(("lacking", "decision"), [(0, "PROMOTE"), (1, "INCONCLUSIVE")])
def test_without_one_of_these_on_every_unit_there_is_nobody_to_compare_with(
    named: dict[str, str], lacking: int, decision: str
) -> None:
    gate = against(named, lacking=lacking)
    assert (gate["against"] is None) is (lacking > 0)
    assert gate["decision"] == decision


def test_whom_the_suite_names_as_nothing_may_lack_a_unit() -> None:
    gate = row(knowing(lacking=1, utility=True, leak_tested=True))["gates"]
    assert gate["promotion"]["decision"] == "PROMOTE"


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
