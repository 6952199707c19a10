"""The demo is not staged: real processes, the real commands, one real forgery."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.demo_drafts import acceptance_hash
from ledger.cli.demo_tasks import TASKS, Task
from ledger.cli.demo_work import run_all, verdict
from ledger.clock import system_clock
from ledger.spelling import ppm

# The demo is run once for all of these, by one worker.
pytestmark = pytest.mark.xdist_group("demo")
REPOSITORY = Path(__file__).parents[1]
# What each program must come to, whoever runs it: 0.1 is no tenth anywhere.
ENDINGS = {
    "merge-sort": "pass",
    "prime-test": "pass",
    "binary-search": "fail",
    "json-round-trip": "pass",
    "roman-numerals": "pass",
    "sum-of-cents": "fail",
    "copy-a-file": "pass",
    "flaky-upload": "fail",
    "collatz-search": "CENSORED",
    "nightly-rebuild": "CANCELED",
    "locale-table": "VOID",
    "base64-padding": "pass",
    "word-count": "pass",
}


# `ledger`, of this checkout and no other.
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); "
    "from ledger.cli.main import main; main()"
)
COMMAND = (sys.executable, "-P", "-c", PROGRAM)


def demo(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the command from `folder` with no environment but a place for it."""
    return subprocess.run(
        ["env", "-i", f"TMPDIR={folder}", *COMMAND, "demo", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    done = demo("--json", "--keep", "kept", folder=folder)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def native(told: dict[str, Any]) -> dict[str, Any]:
    """The first row of the only forecaster that seals."""
    row: dict[str, Any] = next(
        row
        for row in told["rows"]
        if row["forecaster"] == "native" and row["slot"] == "initial"
    )
    return row


def test_every_task_ended_as_its_process_did(told: dict[str, Any]) -> None:
    assert {each["task"]: each["status"] for each in told["tasks"]} == ENDINGS
    by_name = {each["task"]: each for each in told["tasks"]}
    assert by_name["nightly-rebuild"]["exit_status"] == -15
    assert by_name["collatz-search"]["exit_status"] is None
    assert by_name["locale-table"]["exit_status"] == 77
    assert "AssertionError" in by_name["sum-of-cents"]["because"]


def test_what_was_not_decided_is_counted_and_not_scored(
    native: dict[str, Any],
) -> None:
    expected = {
        "units": 13,
        "scored": 8,
        "late": 1,
        "void": 1,
        "censored": 1,
        "canceled": 1,
        "missing": 2,
    }
    assert {name: native["counts"][name] for name in expected} == expected
    passes = {task.name: ppm(task.passes or "0") for task in TASKS}
    scored = {
        name: passes[name] - 1_000_000 * (ending == "pass")
        for name, ending in ENDINGS.items()
        if ending in ("pass", "fail") and name not in ("base64-padding", "word-count")
    }
    squares = sum(error * error for error in scored.values())
    assert native["scores"]["brier"]["value"] == f"0.{squares // len(scored):012d}"


def test_the_row_says_that_it_is_a_demo(native: dict[str, Any]) -> None:
    assert (native["status"], native["custody"]) == ("synthetic_demo", "shared")
    late = native["integrity"]["late_forecast_rate"]
    assert (late["count"], late["of"]) == (1, native["counts"]["submitted"])


def test_one_lineage_runs_from_announcement_to_outcome(told: dict[str, Any]) -> None:
    (chain,) = told["lineage"]["chains"]
    first, second, third = chain["vectors"]

    assert told["lineage"]["outcome"] == "fail"
    assert [each["probabilities"]["pass"] for each in chain["vectors"]] == [
        "0.7",
        "0.45",
        "0.3",
    ]
    assert (second["parent"], third["parent"]) == (first["seq"], second["seq"])
    assert all(each["is_eligible"] for each in chain["vectors"])


def test_the_honest_ledger_and_its_bundle_verify(told: dict[str, Any]) -> None:
    assert told["verify"]["ok"] is True
    assert "against" in told["verify"]["anchor"]
    assert told["bundle"]["ok"] is True
    checks = {check["name"]: check["ok"] for check in told["bundle"]["checks"]}
    assert checks["bundles"] is True
    assert False not in checks.values()


def test_the_forged_byte_is_named_with_its_entry(told: dict[str, Any]) -> None:
    forged = [check for check in told["forged"]["checks"] if check["ok"] is False]
    entries = subprocess.run(
        [*COMMAND, "log", "--json", "--ledger", f"{told['folder']}/demo"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    (sealed,) = (
        entry["seq"]
        for entry in map(json.loads, entries.stdout.splitlines())
        if entry["payload"].get("probabilities", {}).get("pass") == "0.8"
    )

    assert told["forged"]["ok"] is False
    assert any(f"entry {sealed}" in check["detail"] for check in forged)


def test_the_state_of_the_demo_stays_in_its_folder(
    told: dict[str, Any], folder: Path
) -> None:
    assert [path.name for path in folder.iterdir()] == ["kept"]
    assert (Path(told["folder"]) / "state" / "sealed-ledger").is_dir()


def test_a_folder_that_is_there_is_left_alone(
    told: dict[str, Any], folder: Path
) -> None:
    done = demo("--keep", told["folder"], folder=folder)

    assert done.returncode == 2
    assert "--keep takes a new folder" in done.stderr


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_program_is_pinned_as_it_runs(told: dict[str, Any], task: Task) -> None:
    program = Path(told["folder"]) / "tasks" / f"{task.name}.py"
    blob = Path(told["folder"]) / "demo" / "blobs" / acceptance_hash(task)
    assert program.read_bytes() == blob.read_bytes() == task.program.encode()


PROGRAMS = {
    "a success": ("", {"status": "RESOLVED", "outcome": "pass"}),
    "a failed assertion": ("assert False", {"status": "RESOLVED", "outcome": "fail"}),
    "another exit status": (
        "raise SystemExit(76)",
        {"status": "RESOLVED", "outcome": "fail"},
    ),
    "a test that could not run": (
        "raise SystemExit(77)",
        {"status": "VOID", "reason_code": "test-not-runnable"},
    ),
    "a signal": (
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        {"status": "CANCELED", "reason_code": "stopped-by-SIGTERM"},
    ),
    "no end": (
        "while True: pass",
        {"status": "CENSORED", "reason_code": "time-limit"},
    ),
}


@pytest.mark.parametrize(("program", "record"), PROGRAMS.values(), ids=PROGRAMS)
def test_an_exit_status_amounts_to_a_record(
    tmp_path: Path, program: str, record: dict[str, str]
) -> None:
    task = Task(name="task", task_type="test", passes="0.5", program=program, seconds=1)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "task.py").write_text(program)

    assert [verdict(seen) for seen in run_all((task,), tmp_path, system_clock)] == [
        record
    ]
