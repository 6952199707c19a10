import csv
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.projections.auroc import auroc, averaged, one_vs_rest
from ledger.projections.cohort import Measure
from ledger.projections.columns import Integers, integers
from ledger.projections.delong import applies, delong, paired_delong
from ledger.projections.exact import PPM, dec12
from ledger.projections.normal import normal_tails
from ledger.projections.tally import tally
from tests.oracle_cases import case, exactly

LEVEL = Fraction(95, 100)
MEDIUM = Path(__file__).parent / "oracles" / "medium_a.csv"
UNITS = st.lists(
    st.tuples(
        st.sampled_from([0, 250_000, 250_001, 600_000, PPM]),
        st.integers(0, PPM),
        st.integers(0, 1),
    ),
    max_size=14,
)


@cache
def medium(name: str) -> Integers:
    with MEDIUM.open() as lines:
        return integers([int(unit[name]) for unit in csv.DictReader(lines)])


def of(p_ppm: Integers, y: Integers) -> Measure:
    return auroc(tally(p_ppm, y))


def shown(value: Decimal | None) -> str:
    assert value is not None
    return dec12(Fraction(value))


def beats(one: int, other: int) -> Fraction:
    return Fraction((one > other) - (one < other) + 1, 2)


def spread(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((v - mean) ** 2 for v in values), Fraction(0)) / (len(values) - 1)


def placements(p_ppm: list[int], y: list[int]) -> tuple[list[Fraction], list[Fraction]]:
    """Return for each unit which share of the other class it beats, pair by pair."""
    came = [p for p, happened in zip(p_ppm, y, strict=True) if happened]
    missed = [p for p, happened in zip(p_ppm, y, strict=True) if not happened]
    return (
        [sum(beats(own, p) for p in missed) / Fraction(len(missed)) for own in came],
        [sum(beats(p, own) for p in came) / Fraction(len(came)) for own in missed],
    )


def test_ties_count_half() -> None:
    inputs, expected = case("auroc-ties")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    assert of(p_ppm, y).value == exactly(expected["auroc"])
    found = delong(p_ppm, y, LEVEL)
    assert found.variance == exactly(expected["delong_variance"])
    assert shown(found.lo) == expected["delong_lo"]["dec"]
    assert shown(found.hi) == expected["delong_hi"]["dec"]


def test_a_perfect_ranking_has_no_interval_rather_than_a_certain_one() -> None:
    inputs, expected = case("auroc-perfect")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    assert of(p_ppm, y).value == exactly(expected["auroc"])
    found = delong(p_ppm, y, LEVEL)
    assert found.variance == exactly(expected["delong_variance"])
    assert (found.lo, found.hi, found.reason) == (None, None, expected["ci_reason"])


def test_two_hundred_units_are_ranked_as_others_rank_them() -> None:
    _, expected = case("auroc-medium-delong")
    p_ppm, y = medium("p_ppm"), medium("y")
    assert of(p_ppm, y).value == exactly(expected["auroc"])
    found = delong(p_ppm, y, LEVEL)
    assert found.variance == exactly(expected["delong_variance"])
    assert shown(found.lo) == expected["delong_lo"]["dec"]
    assert shown(found.hi) == expected["delong_hi"]["dec"]


def test_two_rankings_of_the_same_units_differ_as_others_find() -> None:
    _, expected = case("auroc-paired-delong")
    found = paired_delong(medium("p_ppm"), medium("q_ppm"), medium("y"))
    assert found.difference == exactly(expected["diff"])
    assert found.variance == exactly(expected["variance"])
    assert shown(found.z) == expected["z"]["dec"]
    assert shown(found.p) == expected["p_two_sided"]


def test_units_of_one_class_cannot_be_ranked() -> None:
    inputs, expected = case("single-class")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    for outcomes in (y, 1 - y):
        found = of(p_ppm, outcomes)
        assert (found.value, found.reason) == (None, expected["auroc_reason"])
        assert delong(p_ppm, outcomes, LEVEL).reason == "insufficient"


def test_one_unit_and_none_have_no_auroc() -> None:
    inputs, expected = case("n-one")
    found = of(integers(inputs["p_ppm"]), integers(inputs["y"]))
    assert found.value is expected["auroc"]
    assert of(integers([]), integers([])).reason == "empty"


def test_a_constant_probability_ranks_nothing() -> None:
    y = integers([1] * 8 + [0] * 2)
    p_ppm = np.full(10, 800_000)
    assert of(p_ppm, y).value == Fraction(1, 2)
    assert delong(p_ppm, y, LEVEL).reason == "degenerate_variance"


@pytest.mark.parametrize(
    ("came", "missed", "reason"),
    [(1, 2, "insufficient"), (2, 1, "insufficient"), (2, 2, None)],
)
def test_a_variance_takes_two_units_of_each_class(
    came: int, missed: int, reason: str | None
) -> None:
    y = integers([1] * came + [0] * missed)
    p_ppm = integers([3, 1, 2, 1][: came + missed])
    assert delong(p_ppm, y, LEVEL).reason == reason
    assert paired_delong(p_ppm, p_ppm[::-1], y).reason == reason


def test_the_same_ranking_twice_does_not_differ() -> None:
    p_ppm, y = medium("p_ppm"), medium("y")
    # Any rising function of the probabilities ranks alike.
    found = paired_delong(p_ppm, p_ppm // 2 + 7, y)
    assert found.difference == found.variance == Fraction(0)
    assert (found.z, found.p, found.reason) == (None, None, "degenerate_variance")


@given(units=UNITS)
def test_all_pairs_compared_one_by_one_say_the_same(
    units: list[tuple[int, int, int]],
) -> None:
    p_ppm, _, y = (list(column) for column in zip(*units, strict=True)) if units else (
        [],
        [],
        [],
    )  # fmt: skip
    found = of(integers(p_ppm), integers(y))
    if 0 < sum(y) < len(y):
        came, _ = placements(p_ppm, y)
        assert found.value == sum(came) / Fraction(len(came))
        assert of(-integers(p_ppm) + PPM, integers(y)).value == 1 - found.value
        assert of(integers(p_ppm), 1 - integers(y)).value == 1 - found.value
    else:
        assert found.value is None


@settings(deadline=None)
@given(units=UNITS)
def test_variances_are_those_of_placements_computed_one_by_one(
    units: list[tuple[int, int, int]],
) -> None:
    p, q, y = map(list, zip(*units, strict=True)) if units else ([], [], [])
    if not 2 <= sum(y) <= len(y) - 2:
        return
    came, missed = placements(p, y)
    found = delong(integers(p), integers(y), LEVEL)
    assert found.variance == spread(came) / len(came) + spread(missed) / len(missed)
    others = placements(q, y)
    between = [
        [one - other for one, other in zip(mine, theirs, strict=True)]
        for mine, theirs in zip((came, missed), others, strict=True)
    ]
    twice = paired_delong(integers(p), integers(q), integers(y))
    assert twice.difference == sum(between[0]) / Fraction(len(came))
    assert twice.variance == sum(spread(each) / len(each) for each in between)


def test_an_interval_stays_between_0_and_1_and_widens_with_its_level() -> None:
    inputs, _ = case("auroc-ties")
    p_ppm, y = integers(inputs["p_ppm"]), integers(inputs["y"])
    wide, narrow = (delong(p_ppm, y, Fraction(each, 100)) for each in (99, 50))
    assert wide.hi == 1
    assert wide.lo is not None
    assert narrow.lo is not None
    assert narrow.hi is not None
    assert wide.lo < narrow.lo < narrow.hi < 1
    down = delong(PPM - p_ppm, y, Fraction(99, 100))
    assert down.lo == 0


def test_the_method_applies_where_every_cluster_has_one_unit() -> None:
    assert applies(integers([2, 0, 1]))
    assert not applies(integers([2, 0, 2]))
    assert applies(integers([]))


def test_each_answer_is_ranked_against_all_others() -> None:
    vectors = np.array([[700, 200, 100], [100, 800, 100], [600, 300, 100]])
    outcome = integers([0, 1, 1])
    first, second, third = one_vs_rest(vectors, outcome)
    assert first.value == second.value == Fraction(1)
    assert (third.value, third.reason) == (None, "single_class")
    assert averaged([first, second]).value == 1
    assert averaged([first, third, second]).reason == "single_class"
    half = Measure(value=Fraction(1, 2), n=3)
    assert averaged([first, half]) == Measure(value=Fraction(3, 4), n=3)


@pytest.mark.parametrize(
    ("z", "p"),
    {
        "0": "1.000000000000",
        "1": "0.317310507863",
        "-1": "0.317310507863",
        "1.959963984540054": "0.050000000000",
        "6": "0.000000001973",
        "40": "0.000000000000",
    }.items(),
)
def test_the_tails_of_the_normal_distribution(z: str, p: str) -> None:
    assert shown(normal_tails(Decimal(z))) == p
