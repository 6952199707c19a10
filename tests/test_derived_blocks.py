"""The blocks of a row on drift, numbers, ablations and budgets, from a log onwards."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from ledger.events import Quantity
from ledger.projections.ablating import ablating
from ledger.projections.ablation import Kind
from ledger.projections.adapting import adapting
from ledger.projections.board import read_board
from ledger.projections.drifting import drifting
from ledger.projections.entrants import Field
from ledger.projections.fold import Fold
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference
from ledger.projections.materialize import Tables
from ledger.projections.quantified import quantified
from ledger.projections.report import no_files
from ledger.projections.sample import sample
from ledger.suite import Ablation, SuiteManifest
from tests.simulator import SUITE, History, suite

NUMBER = {
    "unit": "USD",
    "levels": ["0.25", "0.5", "0.75"],
    "interpolate": False,
    "scale": "1",
    "underage": "3",
    "overage": "1",
}


class Row:
    """What the row of a competitor over everything is made from."""

    def __init__(
        self, history: History, who: str = "native", slot: str = "initial"
    ) -> None:
        tables = Tables()
        fold = Fold(tables, history)
        fold.catch_up()
        board = read_board(tables, fold.frozen, fold.frozen.suites[SUITE], no_files)
        competitor = board.suite.manifest.competitor(who)
        assert competitor is not None
        self.slot, self.field = slot, Field(board)
        declared = (board.units.cutoff_us <= board.as_of_us).nonzero()[0]
        self.about = sample(board, self.field.enter(competitor, slot), declared)
        self.ground = Ground(self.about, self.about.cohort(self.about.scored))
        self.inference = Inference(board.suite.manifest)


def forecast(
    history: History, said: Sequence[str], outcomes: Sequence[str], **changes: Any
) -> None:
    """Seal forecasts of questions by `native`, then resolve them in that order."""
    asked = [history.question(f"u-{len(said) - k:02}") for k in range(len(said))]
    for question, p in zip(asked, said, strict=True):
        history.seal(question, p, **changes)
    history.wait(hours=3)
    for question, outcome in zip(asked, outcomes, strict=True):
        history.resolve(question, outcome)


# --- Drift ----------------------------------------------------------------------------


def test_losses_drift_in_the_order_of_their_outcomes_and_not_of_their_names() -> None:
    history = History(prequential__window=2)
    forecast(history, ["0.9"] * 8, ["pass"] * 6 + ["fail"] * 2)
    found = drifting(Row(history).ground)
    assert (found["loss"], found["n"]) == ("brier", 8)
    assert (found["alarm"], found["onset"]) == (6, 6)
    assert found["before"]["exact"] == "1/100"
    assert found["after"]["exact"] == "81/100"
    assert found["change"]["exact"] == "4/5"
    assert found["sliding"] == "0.810000000000"
    assert found["recovery"] is None


def test_a_suite_that_prefers_the_log_score_is_watched_by_its_ignorance() -> None:
    history = History(scoring__primary="log_score")
    forecast(history, ["0.5"], ["pass"])
    found = drifting(Row(history).ground)
    assert found["loss"] == "ignorance_bits_clipped"
    assert found["cumulative"] == "1.000000000000"


def test_of_no_outcome_there_is_no_drift() -> None:
    history = History()
    history.seal(history.question())
    found = drifting(Row(history).ground)
    assert (found["n"], found["cumulative"], found["alarm"]) == (0, None, None)
    assert found["change"]["reason"] == "empty"


# --- Numbers --------------------------------------------------------------------------


def costed(units: int, **changes: Any) -> History:
    """Say a cost of 2 on units that cost 2, 3 and so on, each its own cluster."""
    history = History(quantities={"cost": NUMBER}, **changes)
    asked = [history.question(f"u-{k:02}") for k in range(units)]
    for question in asked:
        history.seal(question, quantities={"cost": Quantity(point="2")})
    history.wait(hours=3)
    for k, question in enumerate(asked):
        history.resolve(question, values={"cost": str(2 + k)})
    return history


def test_a_number_is_scored_with_an_interval_over_the_units_that_have_one() -> None:
    row = Row(costed(12))
    found = quantified(row.ground, row.inference)["cost"]
    error = found["scores"]["absolute_error"]
    assert found["unit"] == "USD"
    assert (error["exact"], error["n"]) == ("11/2", 12)
    assert Fraction(error["lo"]) < Fraction(11, 2) < Fraction(error["hi"])
    assert found["scores"]["wis"] == {"value": None, "n": 0, "reason": "not_declared"}


def test_too_few_clusters_have_no_interval_for_a_number_either() -> None:
    row = Row(costed(9))
    error = quantified(row.ground, row.inference)["cost"]["scores"]["absolute_error"]
    assert (error["lo"], error["ci_reason"]) == (None, "clusters_lt_min")


def test_a_suite_that_asks_for_no_number_shows_none() -> None:
    row = Row(History())
    assert quantified(row.ground, row.inference) == {}


# --- Ablations ------------------------------------------------------------------------


def tiered(kind: Kind) -> SuiteManifest:
    made = suite()
    tiers = {"native": "L0", "rival": "L0+L1"}
    return msgspec.structs.replace(
        made,
        competitors=tuple(
            msgspec.structs.replace(each, evidence_tier=tiers.get(each.name))
            for each in made.competitors
        ),
        ablations=(Ablation(name="evidence", kind=kind, order=("native", "rival")),),
    )


def compared(kind: Kind, *, skips: bool = False) -> History:
    """Let `rival` say 1/2 on four units where `native` says 1/4, and all of them pass."""
    history = History(tiered(kind))
    asked = [history.question(f"u-{k}") for k in range(4)]
    for k, question in enumerate(asked):
        history.seal(question, "0.25")
        if k or not skips:
            history.seal(question, "0.5", forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    return history


def test_the_last_tier_shows_what_each_added() -> None:
    row = Row(compared("cumulative"), "rival")
    found = ablating(row.ground, row.field, row.inference)["evidence"]
    (lift,) = found["lifts"]
    assert (lift["tier"], lift["without"]) == ("rival", "native")
    assert (lift["exact"], lift["ci_reason"]) == ("1/1", "clusters_lt_min")
    assert found["total"] == lift
    assert (found["units"], found["scored"]) == (4, {"native": 4, "rival": 4})


def test_the_other_tiers_show_nothing_of_an_ablation() -> None:
    row = Row(compared("cumulative"), "native")
    assert ablating(row.ground, row.field, row.inference) == {}


def test_a_tier_that_skipped_a_unit_restricts_the_ablation_to_the_others() -> None:
    row = Row(compared("cumulative", skips=True), "rival")
    found = ablating(row.ground, row.field, row.inference)["evidence"]
    assert (found["units"], found["scored"]) == (3, {"native": 4, "rival": 3})


def test_leaving_a_stream_out_is_shown_by_whoever_leaves_none_out() -> None:
    row = Row(compared("leave_one_out"), "native")
    found = ablating(row.ground, row.field, row.inference)["evidence"]
    (lift,) = found["lifts"]
    assert (lift["tier"], lift["without"]) == ("native", "rival")
    assert (lift["exact"], found["total"]) == ("-1/1", None)


# --- Budgets --------------------------------------------------------------------------

BUDGETS = {"zero-shot": "0.25", "few-shot": "0.5", "full": "0.75"}


def adapted(
    *skipped: str,
    tags: Sequence[dict[str, str]] = ({}, {}),
    manifest: SuiteManifest | None = None,
    rivals: Sequence[str] = (),
) -> History:
    """Say 1/4, 1/2 and 3/4 under the budgets, of units that all pass.

    Some budgets are skipped on the first unit; `rivals` are what a rival forecasts too.
    """
    history = History(manifest or suite(adaptation_budgets=list(BUDGETS)))
    asked = [history.question(f"u-{k}", tags=each) for k, each in enumerate(tags)]
    for question in asked:
        last = None
        if question.id in rivals:
            history.seal(question, "0.5", forecaster="rival")
        for budget, p in BUDGETS.items():
            if budget in skipped and question is asked[0]:
                continue
            last = (
                history.update(question, last, p, adaptation_budget=budget)
                if last
                else history.seal(question, p, adaptation_budget=budget)
            )
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    return history


def budgets_of(history: History, who: str = "native") -> dict[str, Any]:
    row = Row(history, who)
    found = adapting(row.about, row.field, row.slot)
    assert found is not None
    return found


def test_skill_is_shown_under_each_budget_and_as_the_area_over_them() -> None:
    found = budgets_of(adapted())
    # The reference says 1/2, and so loses 1/4 on each unit.
    skills = {name: each["exact"] for name, each in found["budgets"].items()}
    assert skills == {"zero-shot": "-5/4", "few-shot": "0/1", "full": "3/4"}
    assert found["auc"]["exact"] == "-1/8"
    assert found["least_adapted"]["exact"] == "-5/4"
    assert found["best"]["exact"] == "3/4"
    assert not found["is_single"]


def test_a_unit_that_was_skipped_under_a_budget_leaves_no_area() -> None:
    found = budgets_of(adapted("few-shot"))
    assert not found["budgets"]["few-shot"]["is_covered"]
    assert found["auc"]["reason"] == "cohort_mismatch"
    assert found["budgets"]["few-shot"]["n"] == 1
    assert found["least_adapted"]["exact"] == "-5/4"


def test_a_unit_that_was_skipped_under_the_least_budget_leaves_that_no_skill() -> None:
    found = budgets_of(adapted("zero-shot"))
    assert found["budgets"]["zero-shot"]["exact"] == "-5/4"
    for name in ("auc", "least_adapted", "best"):
        assert (found[name]["value"], found[name]["n"]) == (None, 1), name
        assert found[name]["reason"] == "cohort_mismatch", name


@pytest.mark.parametrize(
    ("asked", "is_covered"), [(("u-0", "u-1"), True), (("u-1",), False)]
)
def test_a_unit_without_a_score_of_the_reference_is_not_covered(
    *, asked: tuple[str, ...], is_covered: bool
) -> None:
    history = adapted(
        manifest=suite(adaptation_budgets=list(BUDGETS), scoring__reference="rival"),
        rivals=asked,
    )
    found = budgets_of(history)
    assert {each["is_covered"] for each in found["budgets"].values()} == {is_covered}
    for name in ("auc", "least_adapted"):
        assert (found[name]["value"] is not None) is is_covered, name


def test_units_that_only_train_need_no_score_under_a_budget() -> None:
    made = suite(adaptation_budgets=list(BUDGETS), statistics__min_training=1)
    found = budgets_of(adapted("zero-shot", manifest=made))
    assert found["budgets"]["zero-shot"]["is_covered"]
    assert found["least_adapted"]["value"] is not None


def test_a_budget_that_nobody_used_has_no_skill_and_leaves_no_area() -> None:
    history = History(adaptation_budgets=list(BUDGETS))
    forecast(history, ["0.75"], ["pass"], adaptation_budget="full")
    found = budgets_of(history)
    assert found["budgets"]["zero-shot"]["reason"] == "empty"
    assert found["budgets"]["full"]["exact"] == "3/4"
    assert found["auc"]["reason"] == found["least_adapted"]["reason"]
    assert found["auc"]["reason"] == "cohort_mismatch"


def test_where_nothing_is_resolved_nothing_was_skipped() -> None:
    history = History(adaptation_budgets=list(BUDGETS))
    question = history.question()
    history.seal(question, "0.75", adaptation_budget="full")
    history.wait(hours=3)
    history.record(question, "VOID")
    found = budgets_of(history)
    assert found["auc"]["reason"] == found["robustness"]["reason"] == "empty"


def tagging() -> SuiteManifest:
    """Return a suite with budgets whose units may be set apart."""
    made = suite(adaptation_budgets=list(BUDGETS))
    allowing = tuple(
        msgspec.structs.replace(each, allowed_tags=("ood", "event", "repo"))
        for each in made.templates
    )
    return msgspec.structs.replace(made, templates=allowing)


def test_robustness_is_the_least_adapted_skill_on_units_that_are_set_apart() -> None:
    tags = ({"ood": "entity"}, {"repo": "ood"}, {"event": "storm"})
    found = budgets_of(adapted(tags=tags, manifest=tagging()))
    assert (found["robustness"]["exact"], found["robustness"]["n"]) == ("-5/4", 2)


SKIPPED = {
    "a unit that is set apart, of two": (
        ({"ood": "entity"}, {"event": "storm"}),
        (None, 1, "cohort_mismatch"),
    ),
    "the only unit that is set apart": (
        ({"ood": "entity"}, {}),
        (None, 0, "cohort_mismatch"),
    ),
    "a unit that is not set apart": (({}, {"event": "storm"}), ("-5/4", 1, None)),
}


@pytest.mark.parametrize(("tags", "expected"), SKIPPED.values(), ids=SKIPPED)
def test_robustness_needs_the_least_budget_on_all_units_that_are_set_apart(
    tags: tuple[dict[str, str], ...], expected: tuple[str | None, int, str | None]
) -> None:
    history = adapted("zero-shot", tags=tags, manifest=tagging())
    found = budgets_of(history)["robustness"]
    assert (found.get("exact"), found["n"], found.get("reason")) == expected


def test_a_richer_budget_that_was_skipped_takes_nothing_from_robustness() -> None:
    tags = ({"ood": "entity"}, {"event": "storm"})
    found = budgets_of(adapted("full", tags=tags, manifest=tagging()))
    assert (found["robustness"]["exact"], found["robustness"]["n"]) == ("-5/4", 2)


def test_without_a_unit_that_is_set_apart_nothing_is_known_of_robustness() -> None:
    found = budgets_of(adapted())
    assert found["robustness"]["reason"] == "empty"


def test_a_suite_without_budgets_and_whoever_is_computed_have_none() -> None:
    for history, who in ((History(), "native"), (adapted(), "past-rate")):
        row = Row(history, who)
        assert adapting(row.about, row.field, row.slot) is None
