"""What a hook imports: it starts anew before every dispatch, so every module counts."""

import json
import subprocess
import sys
from pathlib import Path

import nacl
import pytest

from tests.hook_stage import Installation, Stage, fake_daemon, result, sample
from tests.source_tree import REPOSITORY

# Of the standard library: parts of the interpreter, none of them written in Python but
# what comes with it at every start.
BUILT_IN = {"_json", "_signal", "_socket", "binascii", "time"}
LIBSODIUM = {"_cffi_backend", "_sodium", "_sodium.lib", "nacl", "nacl._sodium"}
START = {
    "ledger",
    "ledger.cli",
    "ledger.cli.main",
    "ledger.daemon",
    "ledger.daemon.hook",
    "ledger.daemon.hook_answer",
    "ledger.daemon.hook_events",
    "ledger.daemon.hook_payload",
    "ledger.daemon.hook_settings",
    "ledger.daemon.hook_text",
}
DISPATCH = {
    "ledger.daemon.hook_journal",
    "ledger.daemon.hook_forecast",
    "ledger.daemon.hook_request",
    "ledger.daemon.hook_signing",
    "ledger.daemon.hook_task",
    "ledger.daemon.hook_unit",
    "ledger.daemon.hook_wire",
}
END = {"ledger.daemon.hook_ends"}

# Without `site`, which in a checkout brings an import hook of its own along.
_START = (
    "import sys; sys.path[1:1] = sys.argv[1:3]; del sys.argv[1:3]; "
    "import os; before = set(sys.modules); "
    "os._exit = lambda code: (sys.stderr.write('modules ' + "
    "' '.join(sorted(set(sys.modules) - before))), sys.stderr.flush(), "
    "os.kill(os.getpid(), 9)); "
    "from ledger.cli.main import main; main()"
)


def imported(file: Path, payload: object) -> set[str]:
    """Return the modules that one delivery imports beyond a bare interpreter's."""
    libraries = str(Path(nacl.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-c", _START, str(REPOSITORY), libraries,
         "hook", "--config", str(file), "--fail", "closed"],
        input=json.dumps(payload), capture_output=True, text=True, check=False,
    )  # fmt: skip
    said, _, modules = done.stderr.partition("modules ")
    assert said == ""
    return set(modules.split())


def test_a_payload_that_is_no_dispatch_costs_the_start_alone(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    found = imported(hook.file, sample("claude/pre_tool_use.bash"))
    assert found - BUILT_IN == START


def test_a_dispatch_imports_no_more_than_it_uses(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    with fake_daemon(path, result({"chains": {"native": "a" * 64}})):
        hook = Installation(tmp_path / "hook", sockets=[str(path)], mode="gate")
        found = imported(hook.file, sample("claude/pre_tool_use.agent"))
    assert found - BUILT_IN - LIBSODIUM == START | DISPATCH


def test_an_end_imports_no_more_than_it_uses(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    found = imported(hook.file, sample("claude/subagent_stop"))
    assert found - BUILT_IN - LIBSODIUM == START | DISPATCH | END


def test_a_seal_imports_no_more_than_a_gate(tmp_path: Path) -> None:
    stage = Stage(tmp_path).start()
    try:
        payload = {"event": "pre_dispatch", "dispatch_key": "d-1", "forecast": 0.8}
        found = imported(stage.installed().file, payload)
        assert len(stage.about("d-1")) == 2
    finally:
        stage.stop()
    assert found - BUILT_IN - LIBSODIUM == START | DISPATCH


@pytest.mark.parametrize("word", ["install", "uninstall", "status", "--help", "-h"])
def test_what_people_do_with_hooks_is_a_command_like_others(word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from ledger.cli.main import main; main()",
         "hook", word, *(() if word.startswith("-") else ("--help",))],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0
    assert "Usage" in done.stdout
