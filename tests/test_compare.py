"""Two competitors on identical units, and what is said of the rest."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.errors import UsageError
from ledger.projections.comparison import compared, controls
from ledger.projections.entrants import Field
from ledger.suite import SuiteManifest
from tests.console import Console
from tests.court import BAR
from tests.oracle import medium
from tests.reporting import board_of, row
from tests.simulator import History, suite


def compare(
    history: History, one: str = "native", other: str = "rival", /, **asked: Any
) -> list[dict[str, Any]]:
    field = Field(board_of(history))
    return list(compared(field, one, other, **{"slot": None, "by": (), **asked}))


def told(ours: Sequence[str | None], theirs: Sequence[str | None]) -> History:
    """Let two forecast questions that all come true; None is no forecast."""
    history = History()
    asked = [history.question(f"u-{number:02}") for number in range(len(ours))]
    for question, mine, other in zip(asked, ours, theirs, strict=True):
        if mine:
            history.seal(question, mine)
        if other:
            history.seal(question, other, forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    return history


def test_a_difference_is_over_the_units_that_both_forecast() -> None:
    history = told(["0.8", "0.9", None, "0.7"], ["0.6", "0.5", "0.9", None])
    (found,) = compare(history)
    assert found["units"] == found["clusters"] == 2
    assert (found["one"]["alone"], found["other"]["alone"]) == (1, 1)
    brier = found["differences"]["brier"]
    expected = (Fraction(4 - 16, 100) + Fraction(1 - 25, 100)) / 2
    assert Fraction(brier["exact"]) == expected
    assert (brier["n"], brier["better"]) == (2, "lower")
    assert found["wins"] == {"one": 2, "other": 0, "equal": 0}


def test_who_skips_a_unit_is_shown_to_cover_less() -> None:
    (found,) = compare(told(["0.8", None], ["0.6", "0.6"]))
    assert found["one"]["coverage"]["exact"] == "1/2"
    assert found["other"]["coverage"]["exact"] == "1/1"


def test_the_two_are_exchanged_with_every_sign() -> None:
    history = told(["0.8", "0.3", "0.7"], ["0.6", "0.5", "0.1"])
    (there,), (back,) = compare(history), compare(history, "rival", "native")
    for score, each in there["differences"].items():
        if each["value"] is not None:
            mirrored = back["differences"][score]
            assert Fraction(each["exact"]) == -Fraction(mirrored["exact"]), score
            assert each["sign_flip"] == mirrored["sign_flip"], score


def test_twenty_clusters_have_an_interval_of_the_difference_and_of_ranking() -> None:
    (found,) = compare(medium())
    for score, each in found["differences"].items():
        assert (
            Fraction(each["lo"]) <= Fraction(each["value"]) <= Fraction(each["hi"])
        ), score
    brier = found["differences"]["brier"]
    assert (brier["sign_flip"]["flips"], brier["sign_flip"]["is_exact"]) == (
        9999,
        False,
    )
    assert brier["t"]["degrees"] == 19
    assert found["inference"]["K"] == 20
    # Clusters of ten units: DeLong would take these as independent.
    assert "delong" not in found["differences"]["auroc"]


@pytest.mark.parametrize(
    ("tied", "reason"), [("0.2", "degenerate_variance"), ("0.9", None)]
)
def test_two_rankings_that_no_resample_tells_apart_have_no_interval_between_them(
    tied: str, reason: str | None
) -> None:
    history = History()
    asked = [history.question(f"u-{number:02}") for number in range(12)]
    for at, question in enumerate(asked):
        history.seal(question, "0.9" if at % 2 else "0.1" if at else tied)
        history.seal(question, "0.6" if at % 2 else "0.4", forecaster="rival")
    history.wait(hours=3)
    for at, question in enumerate(asked):
        history.resolve(question, "pass" if at % 2 else "fail")
    (found,) = compare(history)
    assert found["differences"]["auroc"].get("ci_reason") == reason


def test_few_clusters_have_a_difference_and_no_interval() -> None:
    (found,) = compare(told(["0.8"] * 9, ["0.6"] * 9))
    brier = found["differences"]["brier"]
    assert (brier["lo"], brier["ci_reason"]) == (None, "clusters_lt_min")
    assert "no_interval" in found["labels"]


@pytest.mark.parametrize(("clusters", "is_ruled"), [("aabcd", True), ("aebcd", False)])
def test_a_cluster_may_rule_what_both_forecast_and_neither_row(
    clusters: str, *, is_ruled: bool
) -> None:
    history = History()
    asked = [
        history.question(f"u-{at}", cluster=cluster)
        for at, cluster in enumerate(clusters)
    ]
    for question in asked[:4]:
        history.seal(question)
    for question in (*asked[:3], asked[4]):
        history.seal(question, forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    (found,) = compare(history)
    assert found["units"] == 3
    assert ("dominant_cluster" in found["labels"]) is is_ruled
    assert "dominant_cluster" not in row(history)["labels"]


def test_nothing_is_claimed_beside_an_oracle() -> None:
    made = suite()
    layers = {"rival": "oracle"}
    competitors = tuple(
        msgspec.structs.replace(each, layer=layers.get(each.name, each.layer))
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=competitors))
    question = history.question()
    history.seal(question, "0.8")
    history.seal(question, "1", forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)
    (found,) = compare(history)
    assert "oracle" in found["labels"]


@pytest.mark.parametrize(("minutes", "apart"), [(59, 0), (61, 1)])
def test_seals_too_far_apart_are_counted(minutes: int, apart: int) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(minutes=minutes)
    history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)
    (found,) = compare(history)
    assert found["unmatched_timing"] == apart


def test_parts_are_compared_after_the_whole() -> None:
    history = told(["0.8", "0.9"], ["0.6", "0.5"])
    found = compare(history, by=("target",))
    assert [each["slice"] for each in found] == [None, "target=u-00", "target=u-01"]
    assert [each["units"] for each in found] == [2, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "asked", "sentence"),
    [
        ("native", "native", {}, "cannot be compared with itself"),
        ("native", "nobody", {}, "'nobody' has no rows"),
        ("native", "rival", {"slot": "last"}, "there is no slot"),
        ("native", "rival", {"by": ("adaptation_budget",)}, "divides no units"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    one: str, other: str, asked: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        compare(History(), one, other, **asked)


def with_controls(**named: str) -> SuiteManifest:
    """Return the usual suite, in which the native competitor names others."""
    made = suite()
    first, *others = made.competitors
    named_first = msgspec.structs.replace(first, **named)
    return msgspec.structs.replace(made, competitors=(named_first, *others))


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"predecessor": "rival"}, ["rival"]),
        ({"sham": "rival"}, ["rival"]),
        ({"sham": "rival", "predecessor": "past-rate"}, ["past-rate", "rival"]),
        ({"sham": "rival", "predecessor": "rival"}, ["rival"]),
    ],
    ids=["a predecessor", "a sham", "both", "one that is both"],
)
def test_a_suite_says_whom_a_competitor_is_to_be_compared_with(
    named: dict[str, str], expected: list[str]
) -> None:
    assert controls(with_controls(**named), "native") == expected


def test_a_competitor_that_names_nobody_is_compared_with_nobody() -> None:
    with pytest.raises(UsageError, match="neither a predecessor nor a sham of native"):
        controls(suite(), "native")


@pytest.mark.parametrize(
    ("named", "relation"),
    [
        ({}, []),
        ({"predecessor": "rival", "sham": "past-rate"}, ["predecessor"]),
        ({"sham": "rival"}, ["sham"]),
        ({"predecessor": "rival", "sham": "rival"}, ["predecessor", "sham"]),
    ],
    ids=["nothing", "a predecessor", "a sham", "both"],
)
def test_a_comparison_says_what_the_second_is_of_the_first(
    named: dict[str, str], relation: list[str]
) -> None:
    history = History(with_controls(**named))
    assert [each["relation"] for each in compare(history)] == [relation]
    assert [each["relation"] for each in compare(history, "rival", "native")] == [[]]


# --- The command ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    console = Console(tmp_path_factory.mktemp("compare")).found().frozen()
    asked = ("--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-1", "--cutoff", "+1s", *asked),
        ("seal", "--id", "d-1", "-p", "0.8"),
    ):
        assert console.here(*words).code == 0
    return console


def test_people_see_both_scores_and_the_difference(console: Console) -> None:
    lines = console.here("compare", "native", "past-rate").stdout.splitlines()
    assert lines[0].endswith("native (native) beside past-rate (baseline)")
    assert lines[1].split()[:3] == ["score", "first", "second"]
    assert [line.split()[0] for line in lines[2:6]] == [
        "brier",
        "log_score_bits_clipped",
        "log_loss",
        "auroc",
    ]


def test_without_a_second_one_the_predecessor_and_the_sham_are_compared(
    tmp_path: Path,
) -> None:
    console = Console(tmp_path).found()
    text = console.must("suite", "new", "made", "--track", "self").stdout
    for key, other in (("predecessor", "past-rate"), ("sham", "own-routine")):
        text = re.sub(rf'(?m)^# {key} .*"past-rate".*$', f'{key} = "{other}"', text)
    file = console.home / "made.toml"
    file.write_text(text)
    assert console.here("suite", "freeze", file).code == 0
    found = console.here("compare", "native", "--json").object
    assert [(each["other"]["forecaster"], each["relation"]) for each in found] == [
        ("past-rate", ["predecessor"]),
        ("own-routine", ["sham"]),
    ]
    heads = console.here("compare", "native").stdout
    assert "native (native) beside past-rate (baseline, predecessor)" in heads
    assert "native (native) beside own-routine (baseline, sham)" in heads
    shown = console.here("compare", "past-rate")
    assert shown.code == 2
    assert "made@v1 names neither a predecessor nor a sham of past-rate" in shown.stderr


def test_programs_get_one_array(console: Console) -> None:
    (found,) = console.here("compare", "native", "past-rate", "--json").object
    assert found["suite"] == "piper-self@v1"
    assert found["differences"]["brier"]["value"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["native", "nobody"], "no suite lists 'native' and 'nobody' as competitors"),
        (["native", "past-rate", "--suite", "other@v1"], "other@v1"),
        (["native", "past-rate", "--by", "repo"], "cannot be grouped by 'repo'"),
    ],
)
def test_the_command_refuses_in_a_sentence(
    console: Console, words: list[str], sentence: str
) -> None:
    shown = console.here("compare", *words)
    assert (shown.code, shown.stdout) == (2, "")
    assert sentence in shown.stderr
