"""`ledger verify --crosscheck`: other libraries make the same scores of the same units."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.projections.crosscheck import Outcome
from ledger.projections.entrants import Field
from tests.console import Console
from tests.court import BAR
from tests.oracle import medium, told
from tests.reporting import Row, board_of, report, rows, template
from tests.simulator import History, suite
from tests.source_tree import imports, product_modules

pytest.importorskip("sklearn", reason="the crosscheck extra is not installed")
pytest.importorskip("statsmodels", reason="the crosscheck extra is not installed")


def outcome(history: History, found: list[Row] | None = None, **asked: Any) -> Outcome:
    from ledger.projections.crosscheck import crosschecked

    field = Field(board_of(history))
    made = rows(history, **asked) if found is None else found
    return crosschecked(made, lambda _: field)


def test_two_hundred_units_are_scored_alike_by_others() -> None:
    history = medium()
    found = outcome(history)
    assert found.disagreements == []
    assert found.scores > 6 * 2


def test_small_cohorts_and_other_slots_and_slices_are_scored_alike() -> None:
    history = History()
    told(history, [300_000, 600_000, 0, 1_000_000], [1, 0, 0, 1])
    found = outcome(history, slot="final", by=["target", "horizon"])
    assert found.disagreements == []
    assert found.rows > 1


def of_three(said: list[dict[str, str]], outcomes: str) -> History:
    """Return a history over the answers a, b and c, where this was said and happened."""
    made = suite()
    templates = (template(made, ("a", "b", "c")), *made.templates[1:])
    history = History(msgspec.structs.replace(made, templates=templates))
    asked = [history.question(f"u-{number}") for number in range(len(said))]
    for question, vector in zip(asked, said, strict=True):
        history.seal(question, vector)
    history.wait(hours=3)
    for question, answer in zip(asked, outcomes, strict=True):
        history.resolve(question, answer)
    return history


THREE = [
    {"a": "0.5", "b": "0.3", "c": "0.2"},
    {"a": "0", "b": "0.1", "c": "0.9"},
    {"a": "1", "b": "0", "c": "0"},
    {"a": "1", "b": "0", "c": "0"},
]


# Certain and right, certain and wrong, and one answer alone.
@pytest.mark.parametrize("outcomes", ["acab", "abca", "aaaa"])
def test_three_answers_are_scored_alike_by_others(outcomes: str) -> None:
    history = of_three(THREE, outcomes)
    found = rows(history, forecaster="native")[:1]
    assert found[0]["scores"]["brier_sum"]["n"] == len(THREE)
    made = outcome(history, found)
    assert (made.disagreements, made.scores, made.rows) == ([], 2, 1)


@pytest.mark.parametrize("score", ["brier_sum", "log_loss"])
def test_a_score_over_three_answers_that_is_not_so_is_named(score: str) -> None:
    history = of_three(THREE, "abca")
    found = rows(history, forecaster="native")[:1]
    found[0]["scores"][score]["value"] = "0.123456789012"
    (wrong,) = outcome(history, found).disagreements
    assert (wrong.score, wrong.ours) == (score, "0.123456789012")


def test_outcomes_that_are_all_alike_still_have_a_brier_score() -> None:
    history = History()
    told(history, [300_000, 600_000], [1, 1])
    found = rows(history, forecaster="native")[:1]
    made = outcome(history, found)
    assert (made.disagreements, made.scores) == ([], 2)


def test_a_slot_that_averages_over_vectors_has_nothing_that_others_have_too() -> None:
    history = History()
    question = history.question()
    first = history.seal(question, "0.8")
    history.update(question, first, "0.6")
    history.wait(hours=3)
    history.resolve(question)
    assert outcome(history, slot="all", forecaster="native").scores == 0


def test_a_score_that_is_not_so_is_named_with_both_values() -> None:
    history = medium()
    found = report(history).rows(forecaster="native")
    found[0]["scores"]["auroc"]["value"] = "0.841573712185"
    (wrong, *others) = outcome(history, found).disagreements
    assert (wrong.score, wrong.ours, others) == ("auroc", "0.841573712185", [])
    assert wrong.theirs == pytest.approx(0.841573711185)


def test_what_others_have_no_score_for_is_passed_over() -> None:
    assert outcome(History()).scores == 0


def test_no_module_that_makes_rows_imports_it() -> None:
    names = frozenset(module.name for module in product_modules())
    users = {
        module.name
        for module in product_modules()
        for use in imports(module, names)
        if use.name == "ledger.projections.crosscheck"
    }
    assert users == {"ledger.projections.audit_crosscheck", "ledger.cli.verify"}


# --- The command ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    console = Console(tmp_path_factory.mktemp("crosscheck")).found().frozen()
    asked = ("--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-1", "--cutoff", "+1s", *asked),
        ("seal", "--id", "d-1", "-p", "0.8"),
    ):
        assert console.here(*words).code == 0
    return console


def checks(shown: Any) -> dict[str, Any]:
    return {each["name"]: each for each in shown.object["checks"]}


def test_it_is_in_the_report_where_it_was_asked_for(console: Console) -> None:
    assert "crosscheck" not in checks(console.here("verify", "--json"))
    asked = console.here("verify", "--crosscheck", "--json")
    assert asked.code == 0
    assert checks(asked)["crosscheck"]["ok"] is None


def test_without_the_libraries_the_extra_is_named(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "statsmodels":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(
        "ledger.projections.crosscheck.find_spec",
        lambda name: name != "statsmodels" or None,
    )
    shown = console.here("verify", "--crosscheck")
    assert shown.code == 3
    assert "pip install 'sealed-ledger[crosscheck]'" in shown.stderr


def test_a_bundle_is_compared_as_it_was_published(
    console: Console, tmp_path: Path
) -> None:
    bundle = str(tmp_path / "bundle")
    assert console.here("export", bundle).code == 0
    shown = console.here("verify", bundle, "--crosscheck", "--json")
    assert (shown.code, "crosscheck" in checks(shown)) == (0, True)
