"""The doctor calls an installed hook as its runtime does, and counts who else did."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.diagnosis import is_command
from ledger.daemon.hook_settings import RECENT, count
from tests.console import Shown
from tests.hook_stage import Stage
from tests.source_tree import REPOSITORY


class Practice:
    """A ledger with its daemon, and a runtime that calls an installed hook."""

    def __init__(self, home: Path) -> None:
        self.stage = Stage(home)
        self.file = home / "runtime" / "settings.json"
        self.program = home / "bin" / "ledger"
        self.program.parent.mkdir()
        self.write_program()
        self.folder = Path()

    def write_program(self) -> None:
        line = (
            f'exec {sys.executable} -c "from ledger.cli.main import main; main()" "$@"'
        )
        self.program.write_text(f"#!/bin/sh\n{line}\n")
        self.program.chmod(0o755)

    def install(self, *words: str) -> Shown:
        place = ("--file", self.file, "--program", self.program, "--json")
        shown = self.stage.console.here("hook", "install", "claude", *words, *place)
        assert shown.code == 0, shown.stdout
        self.folder = Path(shown.object["settings"]).parent
        return shown

    def line(self) -> tuple[str, str, str]:
        """Return the status, what was found and what to do."""
        report = self.stage.console.here("doctor", "--json").object["checks"]
        [found] = [each for each in report if each["name"] == "hook"]
        return found["status"], found["detail"], found["remedy"]

    def shell(self, command: str) -> None:
        """Run a command as the doctor printed it."""
        around = {
            **self.stage.environment,
            "PATH": f"{self.program.parent}:{self.stage.environment['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
        }
        self.write_program()
        subprocess.run(
            ["sh", "-ec", command], env=around, check=True, stdout=subprocess.DEVNULL
        )


@pytest.fixture(scope="module")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    made = Practice(tmp_path_factory.mktemp("practice"))
    made.stage.start()
    yield made
    made.stage.stop()


def test_no_hook_is_no_illness(tmp_path: Path) -> None:
    console = Stage(tmp_path).console
    [found] = [
        each
        for each in console.here("doctor", "--json").object["checks"]
        if each["name"] == "hook"
    ]
    assert (found["status"], found["detail"]) == ("ok", "none is installed")


def test_a_hook_that_nobody_calls_is_told_though_it_works(practice: Practice) -> None:
    practice.install()
    before = len(practice.stage.log())
    status, detail, remedy = practice.line()
    assert status == "warn"
    assert "claude has never called its hook" in detail
    assert "dispatch something" in remedy
    # However often the doctor asks, that is no delivery; and nothing is written.
    assert practice.line()[0] == "warn"
    assert len(practice.stage.log()) == before
    # A probe that gets no answer is none either.
    practice.stage.stop()
    status, detail, _ = practice.line()
    assert (status, "no daemon listens" in detail) == ("fail", True)
    practice.stage.start()
    assert practice.line()[0] == "warn"
    count(str(practice.folder), "allowed")
    status, detail, _ = practice.line()
    assert (status, detail) == ("ok", "claude: 1 delivery, and a probe got through")


# What was delivered after all else, the policy, and what the doctor makes of it.
LATELY: dict[str, tuple[list[str], str, str, str]] = {
    "all was understood": (["allowed", "blocked", "failed-closed"], "closed", "ok", ""),
    "one was not, and that would block": (
        ["unknown"], "closed", "fail", "1 were not understood and 0 started unseen"),
    "one was not, and that lets start": (
        ["unknown"], "open", "warn", "1 were not understood and 0 started unseen"),
    "two started unseen": (
        ["failed-open"] * 2, "open", "warn", "0 were not understood and 2 started"),
    "two started unseen before the policy was closed": (
        ["failed-open"] * 2, "closed", "fail", "0 were not understood and 2 started"),
    "all that came": (
        ["unknown"] * RECENT, "closed", "fail", f"last {RECENT} dispatches {RECENT} were"),
    "it was long ago": (["unknown", *["allowed"] * RECENT], "closed", "ok", ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "fail", "expected", "found"), LATELY.values(), ids=LATELY
)
def test_what_went_by_unseen_or_not_understood_is_told(
    practice: Practice, outcomes: list[str], fail: str, expected: str, found: str
) -> None:
    practice.write_program()
    practice.install("--fail", fail)
    for outcome in ["allowed"] * RECENT + outcomes:
        count(str(practice.folder), outcome)
    status, detail, remedy = practice.line()
    assert status == expected, detail
    assert found in detail
    assert ("docs/hooks.md" in remedy) is ("unknown" in outcomes and status != "ok")
    assert ("on stderr" in remedy) is ("failed-open" in outcomes)
    assert ("--fail closed" in remedy) is (status == "warn")


def test_a_payload_that_nobody_understood_is_what_the_doctor_tells(
    practice: Practice,
) -> None:
    practice.write_program()
    practice.install("--fail", "closed")
    for _ in range(RECENT):
        count(str(practice.folder), "allowed")
    assert practice.line()[0] == "ok"
    words = (practice.program, "hook", "--config", practice.folder / "hook.json")
    subprocess.run(
        [str(word) for word in words], input=b'{"event": "pre-dispatch"}', check=False,
        capture_output=True, env=practice.stage.environment,
    )  # fmt: skip
    assert practice.line()[0] == "fail"
    for _ in range(RECENT):
        count(str(practice.folder), "allowed")


def disabled(practice: Practice, **said: object) -> None:
    found = json.loads(practice.file.read_text())
    practice.file.write_text(json.dumps({**found, **said}))


def open_key(practice: Practice) -> None:
    practice.install("--record")
    (practice.stage.ledger / "keys" / "forecaster.key").chmod(0o644)


ILL: dict[str, tuple[Callable[[Practice], Any], str, str]] = {
    "a runtime's file that was written anew": (
        lambda it: it.file.write_text("{}"), "calls no hook any more", "ledger hook install"),
    "a runtime whose hooks are all disabled": (
        lambda it: disabled(it, disableAllHooks=True), "disableAllHooks in",
        "take that setting out"),
    "settings that are gone": (
        lambda it: (it.folder / "hook.json").unlink(), "is missing", "ledger hook install"),
    "settings that are damaged": (
        lambda it: (it.folder / "hook.json").write_text("{"), "cannot be read",
        "ledger hook install"),
    "a program that is gone": (
        lambda it: it.program.unlink(), "is gone", "ledger hook install"),
    "a daemon that is down": (
        lambda it: it.stage.stop(), "no daemon listens", "ledger daemon start"),
    "a program that does something else": (
        lambda it: it.program.write_text("#!/bin/sh\nexit 0\n"), "answered nothing",
        "mend what it says"),
    "a key that others may read": (open_key, "mode 0644", "mend what it says"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "found", "remedy"), ILL.values(), ids=ILL)
def test_what_keeps_a_hook_from_the_daemon_is_named_and_mended(
    practice: Practice, spoil: Callable[[Practice], Any], found: str, remedy: str
) -> None:
    practice.write_program()
    (practice.stage.ledger / "keys" / "forecaster.key").chmod(0o600)
    practice.file.unlink(missing_ok=True)
    practice.install("--fail", "closed")
    for _ in range(RECENT):
        count(str(practice.folder), "allowed")
    spoil(practice)
    status, detail, to_do = practice.line()

    assert status == "fail", detail
    assert found in detail
    assert remedy in to_do
    if is_command(to_do):
        practice.shell(to_do)
        assert practice.line()[0] == "ok"


def test_a_hook_of_another_ledger_is_not_this_one_s(practice: Practice) -> None:
    practice.write_program()
    (practice.stage.ledger / "keys" / "forecaster.key").chmod(0o600)
    practice.install()
    path = practice.folder / "hook.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "ledger": "f" * 64}))
    assert practice.line()[:2] == ("ok", "none is installed")
