"""The blocks of a row that only some suites ask for, and what lies around a mean."""

import msgspec

from ledger.events import Quantity
from ledger.suite import Ablation
from tests.reporting import row, rows
from tests.simulator import History, suite

NUMBER = {
    "unit": "USD",
    "levels": ["0.5"],
    "interpolate": False,
    "scale": "1",
    "underage": "1",
    "overage": "1",
}
ASKED_FOR = ("quantities", "ablations", "adaptation")


def told(history: History, **changes: str) -> None:
    """Forecast and resolve two questions, which come true and do not."""
    first = history.question("d-1", target="a")
    second = history.question("d-2", target="b")
    for question in (first, second):
        history.seal(question, "0.8", **changes)
        history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    history.resolve(first)
    history.resolve(second, "fail")


def test_a_mean_stands_beside_the_target_that_has_most_and_that_has_least() -> None:
    history = History()
    told(history)
    found = row(history)["extremes"]
    assert found["loss"] == "brier"
    assert found["target"] == {
        "n": 2,
        "min": "0.040000000000",
        "min_of": "a",
        "max": "0.640000000000",
        "max_of": "b",
    }


def test_one_target_has_no_extremes() -> None:
    history = History()
    told(history)
    (found,) = (
        each
        for each in rows(history, by=["target"], forecaster="native")
        if (each["slice"], each["horizon"]) == ("target=a", None)
    )
    assert found["extremes"]["target"] is None


def test_losses_are_followed_in_the_order_of_their_outcomes() -> None:
    history = History()
    told(history)
    found = row(history)["prequential"]
    assert (found["loss"], found["n"]) == ("brier", 2)
    assert found["cumulative"] == "0.340000000000"


def test_a_suite_that_declares_none_shows_none_of_the_blocks() -> None:
    history = History()
    told(history)
    assert not set(ASKED_FOR) & set(row(history))


def test_numbers_are_scored_beside_the_probability() -> None:
    history = History(quantities={"cost": NUMBER})
    question = history.question()
    history.seal(question, quantities={"cost": Quantity(point="2")})
    history.wait(hours=3)
    history.resolve(question, values={"cost": "5"})
    found = row(history)["quantities"]["cost"]
    assert found["unit"] == "USD"
    assert found["scores"]["absolute_error"]["exact"] == "3/1"


def test_an_ablation_stands_in_the_row_of_whoever_has_all_the_evidence() -> None:
    order = Ablation(name="evidence", kind="cumulative", order=("rival", "native"))
    made, tiers = suite(), {"rival": "L0", "native": "L0+L1"}
    competitors = tuple(
        msgspec.structs.replace(each, evidence_tier=tiers.get(each.name))
        for each in made.competitors
    )
    history = History(
        msgspec.structs.replace(made, ablations=(order,), competitors=competitors)
    )
    told(history)
    found = row(history)["ablations"]["evidence"]
    assert (found["kind"], found["units"]) == ("cumulative", 2)
    assert [each["tier"] for each in found["lifts"]] == ["native"]
    assert found["total"]["value"] == found["lifts"][0]["value"]
    assert "ablations" not in row(history, "rival")


def test_budgets_are_shown_with_what_the_path_comes_to() -> None:
    history = History(adaptation_budgets=["zero-shot"])
    told(history, adaptation_budget="zero-shot")
    found = row(history)["adaptation"]
    assert found["is_single"] is True
    assert found["budgets"]["zero-shot"]["is_covered"] is True
    assert found["auc"]["value"] == found["least_adapted"]["value"]
    assert found["robustness"]["reason"] == "empty"
    assert "adaptation" not in row(history, "past-rate")
