"""Cohorts of binary forecasts for the tests of calibration, and the oracles of them."""

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ledger.projections.columns import Integers, integers
from ledger.projections.exact import PPM
from ledger.projections.tally import Tally, tally

_ORACLES = Path(__file__).parent / "oracles"
_CASES = json.loads((_ORACLES / "cases.json").read_text())["cases"]
# A busy machine is slow, and that says nothing about a number.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
LEVEL = Fraction(95, 100)

# Units as (probability in millionths, whether the event happened): few distinct ones,
# so that they recur, and any.
UNITS_TOLD = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from([0, 1, 100_000, 250_000, 500_000, 900_000, 999_999, PPM]),
            st.integers(0, PPM),
        ),
        st.integers(0, 1),
    ),
    max_size=40,
)


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an oracle's case is about and what is expected of it."""
    (found,) = (each for each in _CASES if each["id"] == f"p-{name}")
    return found["inputs"], found["expected"]


def medium() -> list[dict[str, str]]:
    """Return the 200 units that several oracles are about."""
    with (_ORACLES / "medium_a.csv").open() as lines:
        return list(csv.DictReader(lines))


def told(inputs: dict[str, Any]) -> tuple[Integers, Integers]:
    """Return the probabilities and outcomes of an oracle's case, as columns."""
    if "data" in inputs:
        units = medium()
        return (
            integers([int(each["p_ppm"]) for each in units]),
            integers([int(each["y"]) for each in units]),
        )
    return integers(inputs["p_ppm"]), integers(inputs["y"])


def counted(inputs: dict[str, Any]) -> Tally:
    """Return the counts of an oracle's case."""
    return tally(*told(inputs))


def tally_of(units: Sequence[tuple[int, int]]) -> Tally:
    """Return the counts of units given as probability and outcome."""
    return tally(integers([p for p, _ in units]), integers([y for _, y in units]))


def exactly(found: Fraction | None, expected: dict[str, str]) -> bool:
    """Tell whether a number is the one that an oracle expects, to the last digit."""
    return found == Fraction(expected["exact"])


def plain_brier(units: Sequence[tuple[int, int]]) -> Fraction:
    """Return the mean of squared errors, unit by unit."""
    errors = [(Fraction(p, PPM) - y) ** 2 for p, y in units]
    return sum(errors, Fraction(0)) / len(errors)
