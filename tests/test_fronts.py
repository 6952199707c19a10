"""Who is beaten by nobody: the same units, declared directions, and no composite."""

from typing import Any

import msgspec
import pytest

from ledger.cli.fronts import print_fronts
from ledger.errors import UsageError
from ledger.projections.fronts import columns_of, fronts
from tests.console import Console
from tests.reporting import rows
from tests.simulator import History, suite


def rivals(*, skips: bool = False, layer: str = "market") -> History:
    """Let `native` be bolder than `rival`, who is right in rank alone."""
    made = suite()
    competitors = tuple(
        msgspec.structs.replace(
            each, layer=layer if each.name == "rival" else each.layer
        )
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=competitors))
    asked = [history.question(f"u-{number}") for number in range(4)]
    for number, question in enumerate(asked):
        history.seal(question, ("0.9", "0.1", "0.2", "0.2")[number])
        if number or not skips:
            history.seal(
                question, ("0.6", "0.1", "0.1", "0.5")[number], forecaster="rival"
            )
    history.wait(hours=3)
    for question, outcome in zip(asked, ("pass", "fail", "fail", "pass"), strict=True):
        history.resolve(question, outcome)
    return history


def front(history: History, *scores: str) -> dict[str, Any]:
    found = [
        each
        for each in rows(history)
        if each["layer"] in {"native", "market", "oracle"}
    ]
    return next(iter(fronts(found, columns_of(scores))))


def test_who_is_best_in_one_score_each_is_in_front() -> None:
    found = front(rivals(), "brier", "auroc")
    assert found["front"] == ["rival"]
    assert found["columns"] == [
        {"score": "brier", "better": "lower"},
        {"score": "auroc", "better": "higher"},
    ]


def test_whoever_left_a_unit_out_stands_beside() -> None:
    found = front(rivals(skips=True), "brier")
    assert (found["front"], found["beside"]) == (["native"], {"rival": "other_units"})
    assert found["n"] == 4


def test_a_score_over_some_of_the_units_puts_nobody_in_front() -> None:
    found = [each for each in rows(rivals()) if each["layer"] in {"native", "market"}]
    found = [each for each in found if each["horizon"] is each["slice"] is None]
    for each in found:
        assert each["scores"]["skill_vs_r2_bits"]["n"] == each["counts"]["scored"]
    columns = columns_of(["skill_vs_r2_bits"])
    assert len(next(iter(fronts(found, columns)))["front"]) == 1
    for each in found:
        each["scores"]["skill_vs_r2_bits"]["n"] = 1
    made = next(iter(fronts(found, columns)))
    assert made["front"] == []
    assert made["beside"] == {"native": "other_units", "rival": "other_units"}


def test_an_oracle_is_never_in_front() -> None:
    found = front(rivals(layer="oracle"), "brier")
    assert (found["front"], found["beside"]) == (["native"], {"rival": "oracle"})


def test_whoever_has_an_undefined_score_stands_beside() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.8")
    history.wait(hours=3)
    history.resolve(question)
    (found, *_) = fronts(rows(history, forecaster="native"), columns_of(["auroc"]))
    assert (found["front"], found["beside"]) == ([], {"native": "undefined"})


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        ("event_rate", "it describes, and ranks nobody"),
        ("best", "no row has a score 'best': docs/rows.md lists"),
        ("regret", "no row has a score 'regret'"),
        ("briers", "did you mean brier"),
    ],
)
def test_what_ranks_nobody_is_refused(score: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        columns_of([score])


def test_people_and_programs_see_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    console = Console(tmp_path_factory.mktemp("fronts")).found().frozen()
    words = ("rows", "--front", "brier")
    (found,) = console.here(*words, "--json").object
    assert found["beside"]["native"] == "undefined"
    lines = console.here(*words).stdout.splitlines()
    assert lines[1].split() == [
        *("forecaster", "layer", "brier", "(lower)", "front", "labels"),
    ]
    assert lines[2].split()[:3] == ["native", "native", "empty"]


def test_a_score_over_other_units_than_the_part_says_over_how_many(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = front(rivals(skips=True), "brier")
    print_fronts([found])
    lines = capsys.readouterr().out.splitlines()
    cells = {line.split()[0]: line for line in lines[2:]}
    assert " n=3 " in cells["rival"]
    assert " n=" not in cells["native"]
    assert found["layers"] == {"native": "native", "rival": "market"}
