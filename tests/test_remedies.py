"""What a refusal says to do: it names the thing that is wrong and the way out of it."""

import json
from pathlib import Path

import pytest

from tests.console import Console
from tests.court import BAR
from tests.importer import BINARY, from_csv

UNIT = ("--suite", "piper-self@v1", "--template", "dispatch-pass", "--id", "d-1")
OPENED = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", BAR)
SEAL = {
    "type": "ForecastSealed",
    "author": "forecaster",
    "suite": "piper-self@v1",
    "forecaster": "native",
    "template": "dispatch-pass",
    "id": "d-1",
    "probabilities": {"pass": 0.8, "fail": 0.2},
}
MARK = "\ufeff"


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """A ledger with one suite and one open question, which nobody forecast."""
    console = Console(tmp_path).found().frozen()
    console.must("resolve", "--status", "PENDING", *UNIT, *OPENED, *where(console))
    return console


def where(console: Console) -> tuple[object, ...]:
    return ("--ledger", console.ledger)


def error(console: Console, *words: object) -> str:
    shown = console.here(*words)
    assert shown.code in {2, 3}, shown
    assert len(shown.stderr.splitlines()) == 1
    return shown.stderr


# --- Files that were lost -------------------------------------------------------------


def test_a_lost_log_key_is_to_be_restored_not_made(console: Console) -> None:
    (console.ledger / "log.key").unlink()
    said = error(console, "seal", "--id", "d-1", "-p", "0.8")
    assert "restore it from the backup" in said
    assert "keys new" not in said


def test_a_lost_log_is_to_be_restored_where_there_is_a_ledger(console: Console) -> None:
    (console.ledger / "log.db").unlink()
    said = error(console, "status")
    assert "restore the folder from its backup" in said
    assert "init" not in said


def test_a_folder_that_is_no_ledger_is_to_be_made_one(console: Console) -> None:
    shown = console.run("status", "--ledger", console.home)
    assert shown.code == 2
    assert "`ledger init" in shown.stderr


def test_keys_that_lie_elsewhere_are_to_be_named(console: Console) -> None:
    (console.ledger / "keys" / "forecaster.key").unlink()
    said = error(console, "seal", "--id", "d-1", "-p", "0.8")
    assert "--keys FOLDER" in said
    assert str(console.ledger / "keys") in said


# --- Drafts that mean something else --------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code", "says"),
    {
        "an author whom the charter does not list": (
            {"author": "foreaster"}, "unknown-author", "it lists evaluator, forecaster",
        ),
        "a horizon that the template lacks": (
            {"horizon": "48h"}, "unknown-question", "it has 24h",
        ),
        "an answer that is none": (
            {"probabilities": {"maybe": 0.2, "pass": 0.8}},
            "answers-mismatch",
            '"maybe" is no answer of the question, whose answers are pass and fail',
        ),
        "a chain that is not begun": (
            {"type": "ForecastUpdated"},
            "unknown-parent",
            "native has sealed nothing on dispatch-pass/d-1/24h",
        ),
        "a time ahead of the clock": (
            {"created_at": "2999-01-01T00:00:00Z"},
            "created-ahead",
            "created_at 2999-01-01T00:00:00Z is",
        ),
    }.values(),
)  # fmt: skip
def test_a_refusal_names_what_is_wrong(
    console: Console, change: dict[str, object], code: str, says: str
) -> None:
    [answer] = console.append({**SEAL, **change}).objects
    assert answer["error"]["code"] == code
    assert says in answer["error"]["message"]
    assert "+00:00" not in answer["error"]["message"]


def test_a_template_that_is_evidence_is_never_forecast(console: Console) -> None:
    text = console.must("suite", "new", "other", "--track", "self").stdout
    evidence = """
[[templates]]
id = "work-log"
question = "How does the worker feel about it?"
kind = "affect"
"""
    at = text.index("[[templates]]")
    file = console.home / "other.toml"
    file.write_text(text[:at] + evidence.lstrip() + "\n" + text[at:])
    console.must("suite", "freeze", file, *where(console))
    draft = {**SEAL, "suite": "other@v1", "template": "work-log"}
    [answer] = console.append(draft).objects
    assert answer["error"]["code"] == "not-observable"
    words = ("--suite", "other@v1", "--template", "work-log", "--id", "d-1")
    assert "it is evidence" in error(console, "seal", *words, "-p", "0.8")


def test_a_probability_of_no_answer_is_refused(console: Console) -> None:
    said = error(console, "seal", "--id", "d-1", "-p", "maybe=0.2")
    assert "maybe is no answer of the question, whose answers are pass and fail" in said


# --- Files as other programs write them -----------------------------------------------


def test_a_suite_may_begin_with_a_byte_order_mark(console: Console) -> None:
    text = console.must("suite", "new", "other", "--track", "self").stdout
    file = console.home / "other.toml"
    file.write_text(MARK + text, "utf-8")
    console.must("suite", "check", file)
    console.must("suite", "freeze", file, *where(console))


@pytest.mark.parametrize("encoding", [None, "utf-8", "UTF8", "utf-8-sig"])
def test_a_table_may_begin_with_a_byte_order_mark(
    console: Console, encoding: str | None
) -> None:
    words = ["--encoding", encoding] if encoding else []
    made = from_csv(console.home, f"{MARK}id,p\nq-1,0.25\n", *BINARY, *words)
    assert len(made.drafts) == 2


def test_a_broken_suite_is_called_by_its_file(console: Console) -> None:
    file = console.home / "broken.toml"
    file.write_text("title = \n")
    assert f"{file} is no TOML" in error(console, "suite", "check", file)
    assert f"{file} is no TOML" in error(console, "suite", "freeze", file)


def test_a_checkpoint_that_is_none_is_called_by_its_file(console: Console) -> None:
    file = console.home / "junk"
    file.write_text("junk\n")
    shown = console.here("verify", "--against", file)
    assert shown.code == 3
    assert f"{file} is no checkpoint" in shown.stderr


def test_a_draft_is_called_what_json_calls_it(console: Console) -> None:
    text = json.dumps({**SEAL, "probabilities": None, "reason_codes": [None]})
    [answer] = console.here("append", "-", "--json", stdin=text).objects
    assert "null" in answer["error"]["message"]
    assert "None" not in answer["error"]["message"]


# --- Who has not forecast -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "nobody",
            "'nobody' is no competitor of piper-self@v1: those who forecast are native",
        ),
        ("natve", "did you mean native?"),
        ("native-calibrated", "is computed (platt): it forecasts nothing by itself"),
    ],
)
def test_who_cannot_forecast_has_nothing_open(
    console: Console, name: str, says: str
) -> None:
    assert says in error(console, "open", "--forecaster", name)


def test_who_has_forecast_everything_is_told_so(console: Console) -> None:
    assert len(console.here("open", "--forecaster", "native", "--json").objects) == 1
    console.must("seal", "--id", "d-1", "-p", "0.8", *where(console))
    shown = console.here("open", "--forecaster", "native")
    assert (shown.code, shown.stdout) == (0, "")
    assert shown.stderr == "native has forecast the one open unit\n"
    again = ("--id", "d-2", *OPENED, *where(console))
    console.must("resolve", "--status", "PENDING", *UNIT[:4], *again)
    console.must("seal", "--id", "d-2", "-p", "0.8", *where(console))
    shown = console.here("open", "--forecaster", "native", "--suite", "piper-self")
    assert shown.stderr == "native has forecast all 2 open units\n"


# --- What a tired person leaves out, or has done before -------------------------------


def test_an_outcome_that_is_left_out_is_asked_for_by_its_option(
    console: Console,
) -> None:
    words = ("resolve", "--id", "d-1")
    said = console.here(*words, "--status", "RESOLVED").stderr
    assert (
        "RESOLVED lacks its outcome: name one of pass, fail: --outcome ANSWER" in said
    )
    assert "--outcome ANSWER says what happened" in console.here(*words).stderr
    both = console.here(
        *words, "--status", "VOID", "--reason", "tie", "--outcome", "pass"
    )
    assert "an outcome stands with RESOLVED alone, so leave it out\n" in both.stderr


def test_a_question_without_a_cut_off_names_the_option(console: Console) -> None:
    words = ("resolve", "--status", "PENDING", "--id", "d-9", *OPENED[2:])
    assert "--cutoff WHEN says it" in error(console, *words)


def test_where_the_forecaster_s_key_was_revoked_no_folder_would_help(
    console: Console,
) -> None:
    console.must("keys", "revoke", "forecaster", *where(console))
    said = error(console, "seal", "--id", "d-1", "-p", "0.8")
    assert "the charter lists no 'forecaster'" in said


def test_a_draft_that_names_its_unit_twice_is_to_leave_the_names_out(
    console: Console,
) -> None:
    draft = {**SEAL, "horizon": "24h", "question_hash": "a" * 64}
    file = console.home / "draft.json"
    file.write_text(json.dumps(draft))
    away = ("--ledger-id", "c" * 64, "--keys", console.ledger / "keys")
    shown = console.run("sign", file, "--suite-hash", "b" * 64, *away)
    said = shown.stdout + shown.stderr
    assert "leave it out, for the question says it" in said


def test_what_was_open_before_the_suite_s_next_version_is_open_still(
    console: Console,
) -> None:
    file = console.home / "piper-self.toml"
    file.write_text(file.read_text().replace("piper-self@v1", "piper-self@v2"))
    assert console.here("suite", "freeze", file).code == 0
    for suite, count in (("piper-self", 1), ("piper-self@v1", 1), ("piper-self@v2", 0)):
        shown = console.here("open", "--suite", suite, "--json")
        assert len(shown.objects) == count, suite
    bundle = console.home / "bundle"
    assert console.here("export", bundle, "--suite", "piper-self").code == 0
    assert "piper-self@v2" in (bundle / "manifest.json").read_text()


def test_blanks_around_a_column_s_name_can_be_seen(console: Console) -> None:
    file = console.home / "messy.csv"
    file.write_text(" Question ID ,closes\nq,1\n")
    places = (
        "--set=id=Question ID",
        "--set=opened_at=closes",
        "--set=cutoff_at=closes",
    )
    said = console.run("import", "csv", file, *places, "--set=resolve_by=closes").stderr
    assert "has no column 'Question ID': did you mean ' Question ID '?" in said
