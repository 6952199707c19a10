"""Whoever records in vain, or is refused, is told so and what would do."""

from pathlib import Path

import pytest

from tests.console import Console
from tests.court import BAR

PENDING = ("resolve", "--status", "PENDING", "--id", "d-1")
OPENED = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", BAR)
LATE = "flagged as late, and never scored"


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found().frozen()


def test_a_question_that_nobody_opened_is_refused_with_the_command_that_does(
    console: Console,
) -> None:
    shown = console.here("seal", "--id", "d-1", "-p", "0.8")
    assert shown.code == 2
    assert "`ledger resolve --status PENDING` with --cutoff" in shown.stderr


def test_whoever_opens_without_a_question_hears_which_options_describe_it(
    console: Console,
) -> None:
    shown = console.here(*PENDING)
    assert shown.code == 2
    assert "describe it with --cutoff and --resolve-by" in shown.stderr


def test_another_horizon_is_no_question_to_open(console: Console) -> None:
    shown = console.here("seal", "--id", "d-1", "--horizon", "25h", "-p", "0.8")
    assert "has no horizon" in shown.stderr
    assert "--status PENDING" not in shown.stderr


@pytest.mark.parametrize(
    ("words", "code", "option"),
    {
        "no probability": (["seal"], "vector-missing", "-p 0.8"),
        "no reason": (["resolve", "--status", "VOID"], "reason-missing", "--reason"),
        "a second outcome": (
            ["resolve", "--outcome", "fail"],
            "supersedes-missing",
            "--supersedes standing",
        ),
    }.values(),
)
def test_a_refusal_names_the_option_that_answers_it_and_keeps_its_code(
    console: Console, words: list[str], code: str, option: str
) -> None:
    assert console.here(*PENDING, *OPENED).code == 0
    if code == "supersedes-missing":
        assert console.here("resolve", "--id", "d-1", "--outcome", "pass").code == 0
    shown = console.here(*words, "--id", "d-1", "--json")
    assert shown.code == 2
    assert shown.object["error"]["code"] == code
    assert option in shown.object["error"]["message"]


def test_a_forecast_after_the_cutoff_is_taken_and_said_to_be_late(
    console: Console,
) -> None:
    cutoff = ("--opened", "-2h", "--cutoff", "-1h", "--resolve-by", "+9h")
    assert console.here(*PENDING, *cutoff, "--acceptance", BAR).code == 0
    for command in ("seal", "update"):
        shown = console.here(command, "--id", "d-1", "-p", "0.8", "--json")
        assert shown.code == 0
        assert LATE in shown.stderr
        assert shown.object["event_id"]


def test_a_forecast_in_time_is_not_called_late(console: Console) -> None:
    assert console.here(*PENDING, *OPENED).code == 0
    for command in ("seal", "update"):
        shown = console.here(command, "--id", "d-1", "-p", "0.8")
        assert shown.code == 0
        assert LATE not in shown.stderr


def test_an_outcome_before_the_cutoff_is_said_to_be_early(console: Console) -> None:
    assert console.here(*PENDING, *OPENED).code == 0
    outcome = ("resolve", "--id", "d-1", "--outcome", "pass", "--published", "now")
    shown = console.here(*outcome)
    assert shown.code == 0
    assert "flagged as resolved-early, and no row counts the unit until" in shown.stderr


def test_a_void_before_the_cutoff_is_not_called_early(console: Console) -> None:
    assert console.here(*PENDING, *OPENED).code == 0
    void = ("resolve", "--id", "d-1", "--status", "VOID", "--reason", "flaky")
    assert "early" not in console.here(*void).stderr


def test_a_suite_without_a_version_means_its_latest(console: Console) -> None:
    assert console.here(*PENDING, "--suite", "piper-self", *OPENED).code == 0
    shown = console.here("seal", "--suite", "piper-self", "--id", "d-1", "-p", "0.8")
    assert shown.code == 0
    assert "--suite piper-self@v1" in shown.stderr


def test_a_ledger_without_a_suite_says_how_to_freeze_one(tmp_path: Path) -> None:
    shown = Console(tmp_path).found().here("seal", "--id", "d-1", "-p", "0.8")
    assert shown.code == 2
    assert "`ledger suite freeze FILE` freezes it" in shown.stderr


def test_who_is_no_competitor_is_told_who_is(console: Console) -> None:
    shown = console.here("curve", "nobody")
    assert shown.code == 2
    assert "no suite lists 'nobody' as a competitor: piper-self@v1 has" in shown.stderr
    assert "native" in shown.stderr


def test_a_bundle_goes_to_no_stdout(console: Console) -> None:
    shown = console.here("export", "-")
    assert shown.code == 2
    assert "a bundle is a folder" in shown.stderr
    assert not Path("-").exists()


def test_a_suite_goes_where_the_drafts_would_go(console: Console) -> None:
    file = console.home / "bench.toml"
    shown = console.run("import", "forecastbench", "--suite-toml", "--out", file)
    assert shown.code == 0
    assert shown.stdout == ""
    assert 'suite       = "forecastbench@v1"' in file.read_text("utf-8")
