"""What evidence adds, tier by tier, and what leaving one stream out takes away."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.ablation import Tier, ablation
from ledger.projections.columns import flags, integers
from ledger.projections.exact import UNITS
from tests.oracle_cases import case, exactly

MILLIBIT = UNITS // 1_000


def tier(name: str, scores: list[int | None]) -> Tier:
    """Return a tier by what it scored on each unit, None where it was not run."""
    return Tier(
        name=name,
        score=integers([score or 0 for score in scores]),
        is_scored=flags([score is not None for score in scores]),
    )


def test_the_lifts_of_the_tiers_are_the_oracles() -> None:
    inputs, expected = case("ablation")
    tiers = [
        tier(each["tier"], [k * MILLIBIT for k in each["cluster_skill_r2_millibits"]])
        for each in inputs["tiers"]
    ]
    found = ablation(tiers, "cumulative")
    for lift, wanted in zip(found.lifts, expected["marginal"], strict=True):
        assert (lift.tier, lift.without) == (wanted["tier"], wanted["prev"])
        assert lift.gain.value == exactly(wanted["mean_lift_millibits"]) / 1_000
    assert found.total is not None
    assert found.total.gain.value == exactly(expected["total_lift_millibits"]) / 1_000


SCORES = st.lists(st.none() | st.integers(-50, 0), min_size=6, max_size=6)


@given(columns=st.lists(SCORES, min_size=1, max_size=5))
def test_lifts_are_means_over_the_units_that_every_tier_was_run_on_and_telescope(
    columns: list[list[int | None]],
) -> None:
    names = [f"L{k}" for k in range(len(columns))]
    found = ablation(list(map(tier, names, columns)), "cumulative")
    common = [
        row for row in range(6) if all(column[row] is not None for column in columns)
    ]
    assert found.units.tolist() == common
    assert found.total is not None
    for k, lift in enumerate(found.lifts, 1):
        gains = [(columns[k][u] or 0) - (columns[k - 1][u] or 0) for u in common]
        assert lift.gains.tolist() == gains
        wanted = Fraction(sum(gains), len(common) * UNITS) if common else None
        assert (lift.gain.value, lift.gain.n) == (wanted, len(common))
    summed = sum((lift.gain.value or 0 for lift in found.lifts), Fraction(0))
    assert summed == (found.total.gain.value or 0)


def test_a_tier_that_was_not_run_on_all_units_restricts_them_all_and_shows() -> None:
    found = ablation(
        [tier("L0", [-4, -2, -6]), tier("L1", [-1, None, -3])], "cumulative"
    )
    assert found.units.tolist() == [0, 2]
    assert found.scored == {"L0": 3, "L1": 2}
    assert found.lifts[0].gain.value == Fraction(3, UNITS)


def test_leaving_a_stream_out_is_compared_with_having_them_all() -> None:
    tiers = [
        tier("all", [-1, -1]),
        tier("no-email", [-3, -2]),
        tier("no-code", [-1, -1]),
    ]
    found = ablation(tiers, "leave_one_out")
    assert [(lift.tier, lift.without) for lift in found.lifts] == [
        ("all", "no-email"),
        ("all", "no-code"),
    ]
    assert [lift.gain.value for lift in found.lifts] == [Fraction(3, 2 * UNITS), 0]
    assert found.total is None


def test_without_a_common_unit_no_evidence_is_known_to_add_anything() -> None:
    found = ablation([tier("L0", [-1, None]), tier("L1", [None, -1])], "cumulative")
    (lift,) = found.lifts
    assert (lift.gain.value, lift.gain.n, lift.gain.reason) == (None, 0, "empty")
    assert found.total is not None
    assert found.total.gain == lift.gain
