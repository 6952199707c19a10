from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.projections.columns import integers
from ledger.projections.exact import UNITS, dec12
from ledger.projections.paired import paired, sign_flip, student
from ledger.projections.resampling import Resamples, Rule
from ledger.projections.rng import stream
from tests.oracle_cases import case, exactly

SEED = b"\1" * 32
RULE = Rule(level=Fraction(95, 100), min_clusters=2, max_undefined=Fraction(1, 100))


def resamples(clusters: int) -> Resamples:
    return Resamples(seed=SEED, clusters=clusters, resamples=200)


def test_eight_clusters_differ_as_others_find() -> None:
    inputs, expected = case("paired-difference")
    means = inputs["cluster_mean_differences"]
    unit = UNITS // 100
    # Two units a cluster, on either side of its mean.
    differences = integers([m * unit + off for m in means for off in (-5, 5)])
    found = paired(differences, np.arange(16) // 2, resamples(8), RULE)
    assert found.difference.value == exactly(expected["mean"]) / 100
    assert found.difference.n == 16
    assert found.sign_flip.p_greater == exactly(expected["signflip_greater_p"])
    assert found.sign_flip.p_two_sided == exactly(expected["signflip_two_sided_p"])
    assert (found.sign_flip.flips, found.sign_flip.is_exact) == (256, True)
    assert dec12(Fraction(found.student.t)) == expected["t"]["dec"]
    assert found.student.degrees == expected["df"]
    lo, hi = found.interval.lo, found.interval.hi
    assert lo is not None
    assert hi is not None
    assert lo <= found.difference.value <= hi


def test_no_difference_anywhere_is_no_evidence_at_all() -> None:
    found = paired(np.zeros(4, dtype=np.int64), np.arange(4), resamples(4), RULE)
    assert found.difference.value == 0
    assert found.sign_flip.p_greater == found.sign_flip.p_two_sided == 1
    assert (found.student.t, found.student.reason) == (None, "degenerate_variance")
    assert found.interval.lo == found.interval.hi == 0


def test_without_units_there_is_nothing_to_compare() -> None:
    found = paired(integers([]), integers([]), resamples(0), RULE)
    assert (found.difference.value, found.difference.reason) == (None, "empty")
    assert found.interval.reason == found.student.reason == "empty"
    assert found.sign_flip is None


def test_one_cluster_is_one_observation() -> None:
    found = paired(integers([5, 7]), integers([0, 0]), resamples(1), RULE)
    assert found.student.reason == "insufficient"
    assert found.interval.reason == "clusters_lt_min"
    assert found.sign_flip.p_two_sided == 1
    assert found.sign_flip.p_greater == Fraction(1, 2)


@pytest.mark.parametrize(
    ("clusters", "is_exact", "flips"), [(16, True, 2**16), (17, False, 9999)]
)
def test_up_to_sixteen_clusters_change_sides_in_every_way_there_is(
    clusters: int, *, is_exact: bool, flips: int
) -> None:
    found = sign_flip([1] * clusters, SEED)
    assert (found.is_exact, found.flips) == (is_exact, flips)
    if is_exact:
        assert found.p_greater == Fraction(1, 2**16)


def test_a_drawn_p_value_is_never_zero() -> None:
    found = sign_flip([2**number for number in range(40)], SEED, 99)
    assert found.p_greater == found.p_two_sided == Fraction(1, 100)


@pytest.mark.parametrize("clusters", [17, 64, 65, 130])
def test_a_bit_of_a_word_says_whether_a_cluster_changes_sides(clusters: int) -> None:
    sums = [(-1) ** number * (number * number - 40) for number in range(clusters)]
    observed, width = sum(sums), -(-clusters // 64)
    words = stream(SEED, "flip", 500 * width).reshape(500, width).tolist()
    flipped = [
        sum(
            -own if row[at // 64] >> (at % 64) & 1 else own
            for at, own in enumerate(sums)
        )
        for row in words
    ]
    found = sign_flip(sums, SEED, 500)
    greater = sum(each >= observed for each in flipped)
    farther = sum(abs(each) >= abs(observed) for each in flipped)
    assert found.p_greater == Fraction(greater + 1, 501)
    assert found.p_two_sided == Fraction(farther + 1, 501)


@settings(max_examples=50, deadline=None)
@given(
    sums=st.lists(
        st.one_of(st.integers(-9, 9), st.integers(-(2**70), 2**70)),
        min_size=1,
        max_size=7,
    )
)
def test_a_plain_enumeration_of_signs_says_the_same(sums: Sequence[int]) -> None:
    observed = sum(sums)
    ways = [
        sum(sign * own for sign, own in zip(signs, sums, strict=True))
        for signs in product((1, -1), repeat=len(sums))
    ]
    found = sign_flip(sums, SEED)
    greater = sum(way >= observed for way in ways)
    farther = sum(abs(way) >= abs(observed) for way in ways)
    assert found.p_greater == Fraction(greater, len(ways))
    assert found.p_two_sided == Fraction(farther, len(ways))


def test_drawn_signs_of_sums_beyond_64_bits_are_exact() -> None:
    small = [3 * number - 20 for number in range(20)]
    huge = [own * 2**70 for own in small]
    assert sign_flip(huge, SEED, 300) == sign_flip(small, SEED, 300)


@given(
    clusters=st.lists(
        st.tuples(st.integers(-99, 99), st.integers(1, 9)), min_size=2, max_size=9
    )
)
def test_t_is_the_mean_of_means_in_standard_errors(
    clusters: list[tuple[int, int]],
) -> None:
    sums, sizes = map(list, zip(*clusters, strict=True))
    means = [Fraction(*each) for each in clusters]
    count = len(means)
    mean = sum(means) / Fraction(count)
    variance = sum((own - mean) ** 2 for own in means) / Fraction(count - 1)
    found = student(sums, sizes)
    if not variance:
        assert found.reason == "degenerate_variance"
        return
    assert found.degrees == count - 1
    assert found.t is not None
    squared = Fraction(found.t) ** 2
    assert abs(squared - mean * mean * count / variance) < squared / 10**40 + Fraction(
        1, 10**40
    )
    assert (found.t > 0) is (mean > 0) or found.t == Decimal(0)
