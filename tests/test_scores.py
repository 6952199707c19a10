"""What a vector scores on an outcome; expected values are the shared oracles'."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.projections.columns import NEVER
from ledger.projections.exact import PPM, dec12, exact_text
from ledger.projections.scores import brier_binary, brier_sum, score, score_rows

ORACLES = json.loads((Path(__file__).parent / "oracles" / "cases.json").read_text())
CASES = {case["id"]: case for case in ORACLES["cases"]}
CLIP = 1_000


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = CASES[name]
    return found["inputs"], found["expected"]


def binary(p_ppm: int) -> tuple[int, int]:
    """Return a vector over no and yes."""
    return (PPM - p_ppm, p_ppm)


def bits(picobits: int | None) -> str:
    """Return a log score as the oracles spell it."""
    if picobits is None:
        return "-inf"
    sign = "-" if picobits < 0 else ""
    return f"{sign}{abs(picobits) // 10**12}.{abs(picobits) % 10**12:012}"


@pytest.mark.parametrize("name", ["p-logscore-binary", "p-logscore-zero-one"])
def test_log_scores_are_those_of_the_oracles(name: str) -> None:
    given_, expected = case(name)
    found = [
        score(binary(p), y, given_["eps_ppm"])
        for p, y in zip(given_["p_ppm"], given_["y"], strict=True)
    ]
    assert [bits(each.picobits) for each in found] == expected["per_item_bits_raw"]
    clipped = [bits(each.picobits_clipped) for each in found]
    assert clipped == expected["per_item_bits_clipped"]


def test_vectors_over_several_answers_score_as_the_oracle_says() -> None:
    given_, expected = case("p-categorical")
    for vector, outcome, item in zip(
        given_["vectors_ppm"], given_["outcome_index"], expected["items"], strict=True
    ):
        found = score(tuple(vector), outcome, given_["eps_ppm"])
        assert dec12_of(found.brier_sum) == item["brier_sum"]["dec"]
        assert bits(found.picobits) == item["raw_bits"]
        assert bits(found.picobits_clipped) == item["clipped_bits"]


def test_the_sum_form_is_twice_the_binary_form_and_each_has_its_name() -> None:
    given_, expected = case("p-factor-two")
    pairs = list(zip(given_["p_ppm"], given_["y"], strict=True))
    total = sum(brier_binary(p, y) for p, y in pairs)
    summed = sum(brier_sum(binary(p), y) for p, y in pairs)
    assert dec12_of(total, len(pairs)) == expected["binary_convention"]["dec"]
    assert dec12_of(summed, len(pairs)) == expected["two_class_sum_convention"]["dec"]


def dec12_of(total: int, n: int = 1) -> str:
    return dec12(Fraction(total, n * PPM * PPM))


@pytest.mark.parametrize(
    ("p_ppm", "clipped"),
    [(999, True), (1_000, False), (999_000, False), (999_001, True)],
)
def test_the_clip_moves_what_is_nearer_to_0_or_1_than_it(
    p_ppm: int, *, clipped: bool
) -> None:
    found = score(binary(p_ppm), 1, CLIP)
    assert (found.picobits != found.picobits_clipped) is clipped


def test_no_probability_on_what_happened_is_minus_infinity_only_unclipped() -> None:
    found = score(binary(0), 1, CLIP)
    assert found.picobits is None
    assert found.picobits_clipped == -9_965_784_284_662
    assert found.piconats_clipped == -6_907_755_278_982


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, PPM), st.integers(0, 1)), min_size=1))
def test_many_vectors_score_as_each_does(pairs: list[tuple[int, int]]) -> None:
    rows = np.array([binary(p) for p, _ in pairs])
    found = score_rows(rows, np.array([y for _, y in pairs]), CLIP)
    for row, (p, y) in enumerate(pairs):
        one = score(binary(p), y, CLIP)
        expected = [NEVER if number is None else number for number in one]
        assert [int(column[row]) for column in found] == expected


def test_a_perfect_vector_loses_nothing_and_the_worst_one_everything() -> None:
    assert score(binary(PPM), 1, CLIP)[:2] == (0, 0)
    assert brier_sum(binary(0), 1) == 2 * 10**12


def test_exact_fractions_survive() -> None:
    assert exact_text(Fraction(brier_binary(250_000, 0), 10**12)) == "1/16"
