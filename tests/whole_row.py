"""A history whose row has every block that a row can have."""

from typing import Any

import msgspec

from ledger.events import Quantity
from ledger.suite import Ablation
from tests.reporting import Row, row, template
from tests.simulator import History, suite

_NUMBER = {
    "unit": "USD",
    "levels": ["0.25", "0.5", "0.75"],
    "interpolate": True,
    "scale": "1",
    "underage": "1",
    "overage": "1",
}
_ACTION = {
    "event": "fail",
    "action": "look at it",
    "action_cost": "1",
    "avoidable_loss": "4",
    "thresholds": ["0.1"],
}
_DECLARED: dict[str, Any] = {
    "quantities": {"cost": _NUMBER},
    "utility": _ACTION,
    "estimator": "iqm",
    "adaptation_budgets": ["zero-shot"],
    "prequential__ph_lambda": "0.1",
    "statistics__min_clusters": 2,
    "statistics__min_class": 2,
    "statistics__min_class_gate": 2,
    "statistics__min_curve": 2,
    "statistics__permutations": 99,
}
_SAID = Quantity(
    point="2",
    quantiles={"0.25": "1", "0.5": "2", "0.75": "3"},
    samples=("1", "2", "4"),
)
_UNITS, _TARGETS = 24, 12


def whole_row(slot: str | None = None) -> Row:
    """Return the row of a forecaster in a suite that asks for everything."""
    return row(whole_history(), slot=slot)


def whole_history() -> History:
    """Return a history of a suite that asks for everything."""
    made = suite(**_DECLARED)
    tiers = {"rival": "L0", "native": "L0+L1"}
    competitors = tuple(
        msgspec.structs.replace(each, evidence_tier=tiers.get(each.name))
        for each in made.competitors
    )
    order = Ablation(name="evidence", kind="cumulative", order=("rival", "native"))
    history = History(
        msgspec.structs.replace(made, ablations=(order,), competitors=competitors)
    )
    asked = [
        history.question(f"d-{number:02}", target=f"t-{number % _TARGETS}")
        for number in range(_UNITS)
    ]
    gone = history.question("gone")
    for number, question in enumerate([*asked, gone]):
        p = f"0.{3 + number % 6}"
        history.seal(
            question,
            p,
            quantities={"cost": _SAID},
            adaptation_budget="zero-shot",
            extensions={"cost": {"usd": "0.25", "model": "small"}},
        )
        history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    for number, question in enumerate(asked):
        outcome = "pass" if number % 3 else "fail"
        history.resolve(question, outcome, values={"cost": "5"})
    history.record(gone, "VOID")
    return history


def row_that_recalibrates() -> Row:
    """Return the row of a competitor that passes on what another one says, so far."""
    history = History()
    question = history.question()
    history.seal(question, "0.8")
    history.wait(hours=3)
    history.resolve(question)
    return row(history, "native-calibrated")


def row_of_many_answers() -> Row:
    """Return a row whose questions have three answers, all of which happened."""
    made = suite()
    templates = (template(made, ("a", "b", "c")), *made.templates[1:])
    history = History(msgspec.structs.replace(made, templates=templates))
    asked = {answer: history.question(answer) for answer in "abc"}
    for question in asked.values():
        history.seal(question, {"a": "0.5", "b": "0.3", "c": "0.2"})
    history.wait(hours=3)
    for answer, question in asked.items():
        history.resolve(question, answer)
    return row(history)
