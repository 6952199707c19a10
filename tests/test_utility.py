"""What acting on probabilities is worth: the oracle, and a plain second count."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.columns import integers
from ledger.projections.utility import decision_curve, policy, regret
from tests.oracle_cases import case, exactly

ROWS = st.lists(
    st.tuples(st.integers(0, 20).map(lambda k: k * 50_000), st.integers(0, 1)),
    min_size=1,
    max_size=30,
)
THRESHOLDS = st.integers(1, 19).map(lambda k: Fraction(k, 20))


def test_the_decision_curve_is_the_oracles() -> None:
    inputs, expected = case("decision-curve")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    thresholds = [exactly(each["threshold"]) for each in expected["points"]]
    curve = decision_curve(p_ppm, y, thresholds)
    for point, wanted in zip(curve, expected["points"], strict=True):
        assert (point.tp, point.fp) == (wanted["tp"], wanted["fp"])
        for name in ("net_benefit", "treat_all", "treat_none", "threshold"):
            assert getattr(point, name) == exactly(wanted[name])


def test_the_costs_at_each_threshold_are_the_oracles() -> None:
    inputs, expected = case("decision-curve")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    for wanted in expected["points"]:
        cost = exactly(wanted["threshold"])
        made = policy(p_ppm, y, action_cost=cost, avoidable_loss=Fraction(1))
        assert made is not None
        for name in (
            "cost",
            "cost_always",
            "cost_never",
            "net_benefit",
            "regret_vs_best_constant",
            "regret_vs_hindsight_unattainable",
        ):
            assert getattr(made, name) == exactly(wanted[name])


@given(rows=ROWS, threshold=THRESHOLDS, loss=st.integers(1, 9))
def test_a_policy_pays_for_each_action_and_for_each_event_without_one(
    rows: list[tuple[int, int]], threshold: Fraction, loss: int
) -> None:
    action_cost, n = threshold * loss, len(rows)
    acted = [Fraction(p, 10**6) >= threshold for p, _ in rows]
    paid = sum(action_cost for acts in acted if acts)
    lost = sum(loss * y for (_, y), acts in zip(rows, acted, strict=True) if not acts)
    columns = integers([p for p, _ in rows]), integers([y for _, y in rows])
    made = policy(*columns, action_cost=action_cost, avoidable_loss=Fraction(loss))
    assert made is not None
    assert (made.acted, made.extra_compute) == (sum(acted), Fraction(paid) / n)
    assert made.missed_failure_cost == Fraction(lost) / n
    assert made.cost == Fraction(paid + lost) / n


@given(rows=ROWS, threshold=THRESHOLDS)
def test_who_always_or_never_acts_gains_what_the_curve_says_of_them(
    rows: list[tuple[int, int]], threshold: Fraction
) -> None:
    y = integers([happened for _, happened in rows])
    (never,) = decision_curve(0 * y, y, [threshold])
    (always,) = decision_curve(0 * y + 1_000_000, y, [threshold])
    assert never.net_benefit == never.treat_none == 0
    assert always.net_benefit == always.treat_all


@pytest.mark.parametrize(
    ("p_ppm", "threshold", "acts"),
    {
        "the threshold itself": (200_000, Fraction(1, 5), True),
        "a millionth below it": (199_999, Fraction(1, 5), False),
        "the last below a third": (333_333, Fraction(1, 3), False),
        "the first above a third": (333_334, Fraction(1, 3), True),
    }.values(),
)
def test_whoever_reaches_the_threshold_acts(
    p_ppm: int, threshold: Fraction, *, acts: bool
) -> None:
    (point,) = decision_curve(integers([p_ppm]), integers([1]), [threshold])
    assert point.tp == int(acts)


def test_a_regret_over_a_baselines_policy_is_what_it_would_have_saved() -> None:
    y = integers([1, 0, 0, 0])
    costs = {"action_cost": Fraction(1), "avoidable_loss": Fraction(10)}
    sharp = policy(integers([900_000, 0, 0, 0]), y, **costs)
    dull = policy(integers([250_000] * 4), y, **costs)
    assert sharp is not None
    assert dull is not None
    assert regret(dull, sharp) == Fraction(3, 4)
    assert regret(sharp, dull) == -Fraction(3, 4)
    assert sharp.regret_vs_hindsight_unattainable == 0


def test_of_no_units_there_is_neither_a_curve_nor_a_cost() -> None:
    nothing = integers([])
    costs = {"action_cost": Fraction(1), "avoidable_loss": Fraction(2)}
    assert decision_curve(nothing, nothing, [Fraction(1, 2)]) == []
    assert policy(nothing, nothing, **costs) is None
