"""The shared oracle cases: what goes in, and what must come out of it."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "oracles"
_CASES = {
    each["id"]: each
    for each in json.loads((_FOLDER / "cases.json").read_text())["cases"]
}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs of a case and what is expected of them."""
    found = _CASES[f"p-{name}"]
    return found["inputs"], found["expected"]


def exactly(expected: dict[str, str]) -> Fraction:
    """Return an expected rational."""
    return Fraction(expected["exact"])
