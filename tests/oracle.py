"""The shared oracle cases, and rows of logs that are about them."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.reporting import Row, row
from tests.simulator import History, ppm_text

FOLDER = Path(__file__).parent / "oracles"
CASES = {
    case["id"]: case
    for case in json.loads((FOLDER / "cases.json").read_text())["cases"]
}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = CASES[f"p-{name}"]
    return found["inputs"], found["expected"]


def told(
    history: History, p_ppm: Sequence[int], happened: Sequence[int | None]
) -> None:
    """Seal a forecast of each question, and record what happened; None is censored."""
    asked = [history.asked(f"u-{number:03}") for number in range(len(p_ppm))]
    for question, ppm in zip(asked, p_ppm, strict=True):
        history.seal(question, ppm_text(ppm))
    history.wait(hours=3)
    for question, y in zip(asked, happened, strict=True):
        if y is None:
            history.record(question, "CENSORED")
        else:
            history.resolve(question, "pass" if y else "fail")


def of(inputs: dict[str, Any], **changes: Any) -> Row:
    """Return the row of a case's forecasts."""
    history = History(asks="issuer", **changes)
    told(history, inputs["p_ppm"], inputs["y"])
    return row(history)


def agrees(shown: dict[str, Any], expected: dict[str, str]) -> bool:
    """Tell whether a score is shown as the oracle spells it."""
    return shown["value"] == expected["dec"] and shown["exact"] == expected["exact"]


def medium(**changes: Any) -> History:
    """Return a history of the two hundred units of `medium_a.csv`.

    `native` says p, `rival` the frozen base rate; clusters are as there.
    """
    with (FOLDER / "medium_a.csv").open() as lines:
        units = list(csv.DictReader(lines))
    history = History(asks="issuer", **{"scoring__reference": "rival", **changes})
    asked = [history.asked(each["id"], cluster=each["cluster"]) for each in units]
    for question, each in zip(asked, units, strict=True):
        history.seal(question, ppm_text(int(each["p_ppm"])))
        history.seal(question, ppm_text(int(each["base_ppm"])), forecaster="rival")
    history.wait(hours=3)
    for question, each in zip(asked, units, strict=True):
        history.resolve(question, "pass" if each["y"] == "1" else "fail")
    return history
