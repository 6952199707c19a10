"""The Brier score taken apart by groups of probabilities, and by nothing else."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.exact import PPM
from ledger.projections.murphy import Murphy, by_distinct_values, by_groups
from ledger.projections.reliability import bins_of
from tests.tallies import (
    UNHURRIED,
    UNITS_TOLD,
    case,
    counted,
    exactly,
    plain_brier,
    tally_of,
)

PARTS = {
    "brier": "brier",
    "reliability": "rel",
    "resolution": "res",
    "uncertainty": "unc",
    "within_variance": "wbv",
    "within_covariance": "wbc",
}


def parts_of(found: Murphy | None) -> Murphy:
    assert found is not None
    return found


def test_the_oracle_of_distinct_values() -> None:
    inputs, expected = case("murphy-distinct")
    found = parts_of(by_distinct_values(counted(inputs)))
    for ours, theirs in PARTS.items():
        assert exactly(getattr(found, ours), expected[theirs]), ours


def test_the_oracle_of_binned_forecasts() -> None:
    inputs, expected = case("murphy-binned")
    counts = counted(inputs)
    found = parts_of(by_groups(counts, bins_of(counts, "equal_width_left_closed/10")))
    for ours, theirs in PARTS.items():
        assert exactly(getattr(found, ours), expected[theirs]), ours


def test_nothing_is_taken_apart_where_there_are_no_units() -> None:
    assert by_distinct_values(tally_of([])) is None


def test_a_constant_at_the_events_rate_is_reliable_and_resolves_nothing() -> None:
    found = parts_of(by_distinct_values(tally_of([(800_000, 1)] * 4 + [(800_000, 0)])))
    assert found.reliability == found.resolution == 0
    assert found.brier == found.uncertainty == Fraction(4, 25)


def test_a_seer_resolves_all_there_is() -> None:
    found = parts_of(by_distinct_values(tally_of([(PPM, 1), (0, 0), (0, 0)])))
    assert found.brier == found.reliability == 0
    assert found.resolution == found.uncertainty == Fraction(2, 9)


@UNHURRIED
@given(UNITS_TOLD.filter(bool), st.integers(1, 12))
def test_the_parts_are_those_of_the_definition(
    units: list[tuple[int, int]], bins: int
) -> None:
    counts = tally_of(units)
    found = parts_of(
        by_groups(counts, bins_of(counts, f"equal_width_left_closed/{bins}"))
    )
    whole = Fraction(sum(y for _, y in units), len(units))
    groups: dict[int, list[tuple[Fraction, int]]] = {}
    for p, y in units:
        groups.setdefault(min(p * bins // PPM, bins - 1), []).append(
            (Fraction(p, PPM), y)
        )
    plain = dict.fromkeys(PARTS, Fraction(0))
    for members in groups.values():
        n = len(members)
        mean = sum((p for p, _ in members), Fraction(0)) / n
        rate = Fraction(sum(y for _, y in members), n)
        plain["reliability"] += n * (mean - rate) ** 2
        plain["resolution"] += n * (rate - whole) ** 2
        plain["within_variance"] += sum((p - mean) ** 2 for p, _ in members)
        plain["within_covariance"] += 2 * sum(
            (y - rate) * (p - mean) for p, y in members
        )
    for part in ("reliability", "resolution", "within_variance", "within_covariance"):
        assert getattr(found, part) == plain[part] / len(units), part
    assert found.brier == plain_brier(units)
    assert found.uncertainty == whole * (1 - whole)


@UNHURRIED
@given(UNITS_TOLD.filter(bool), st.randoms(use_true_random=False))
def test_the_order_of_units_does_not_matter(
    units: list[tuple[int, int]], chance: random.Random
) -> None:
    shuffled = chance.sample(units, len(units))
    assert by_distinct_values(tally_of(units)) == by_distinct_values(tally_of(shuffled))


@pytest.mark.parametrize("copies", [1, 10_000_000])
def test_ten_million_units_of_a_kind_do_not_wrap(copies: int) -> None:
    counts = tally_of([(PPM, 1), (PPM, 0), (1, 0)])
    many = type(counts)(
        p_ppm=counts.p_ppm,
        said=counts.said * np.int64(copies),
        happened=counts.happened * np.int64(copies),
    )
    assert by_distinct_values(many) == by_distinct_values(counts)
