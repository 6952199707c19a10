"""The hook in a runtime's own configuration: put in, replaced, taken out, counted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook_disabled import disabling
from ledger.daemon.hook_events import may_dispatch
from ledger.daemon.hook_install import RUNTIMES
from ledger.daemon.hook_settings import count, read_settings
from tests.console import Console, Shown
from tests.hook_stage import SUITE, sample

OTHERS = {
    "model": "opus",
    "permissions": {"allow": ["Bash(npm test)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    },
}
EVENTS = {
    "claude": ["PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStop"],
    "codex": ["PreToolUse", "PostToolUse", "SubagentStop"],
}


class Desk(Console):
    """A ledger, and a runtime's file to put the hook into."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.file = home / "runtime" / "settings.json"
        self.program = home / "bin" / "ledger"
        self.program.parent.mkdir()
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)

    def install(self, runtime: str = "claude", *words: object) -> Shown:
        place = ("--file", self.file, "--program", self.program)
        return self.here("hook", "install", runtime, *place, *words, "--json")

    def uninstall(self, runtime: str = "claude") -> Shown:
        return self.must("hook", "uninstall", runtime, "--file", self.file, "--json")

    def write(self, content: bytes) -> bytes:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(content)
        return content

    def read(self) -> Any:
        return json.loads(self.file.read_bytes())

    def settings(self, shown: Shown) -> Any:
        return json.loads(Path(shown.object["settings"]).read_bytes())


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.found().frozen()
    return desk


@pytest.fixture
def desk(founded: Desk) -> Desk:
    if founded.file.exists() or founded.file.is_symlink():
        founded.file.unlink()
    for path in (founded.home / "state").rglob("hooks/*/*.json"):
        path.unlink()
    return founded


@pytest.mark.parametrize("runtime", EVENTS)
def test_the_hook_is_called_with_absolute_paths_by_all_events_that_it_needs(
    desk: Desk, runtime: str
) -> None:
    shown = desk.install(runtime)
    hooks = desk.read()["hooks"]

    assert shown.code == 0, shown.stderr
    assert list(hooks) == EVENTS[runtime]
    for event, [group] in hooks.items():
        # Only before a dispatch may a hook say no.
        fail = "closed" if event == "PreToolUse" else "open"
        config = shown.object["settings"]
        line = f"{desk.program} hook --config {config} --fail {fail}"
        assert group["hooks"] == [{"type": "command", "command": line, "timeout": 10}]


def test_claude_s_matchers_are_those_of_its_documents(desk: Desk) -> None:
    desk.install("claude")
    known = sample("claude/settings.hooks")["hooks"]
    for event, [group] in desk.read()["hooks"].items():
        [documented] = known[event]
        assert group.get("matcher") == documented.get("matcher")
        assert "async" not in group["hooks"][0]  # It would never be waited for.


@pytest.mark.parametrize(
    ("tool", "is_matched"),
    {"spawn_agent": True, "collaborationspawn_agent": True, "Agent": True,
     "spawn_agents_on_csv": True, "delegate_task": True, "delegate": True,
     "spawnAgent": True, "DelegateTask": True, "invoke_agent": True, "task": True,
     "shell": False, "redelegate": False, "Agents": False, "update_task": False}.items(),
)  # fmt: skip
def test_codex_s_matcher_knows_the_tool_under_each_name(
    desk: Desk, tool: str, *, is_matched: bool
) -> None:
    desk.install("codex")
    [group] = desk.read()["hooks"]["PreToolUse"]
    assert bool(re.search(group["matcher"], tool)) is is_matched
    # What is not handed to the hook it cannot doubt.
    assert may_dispatch(tool) is is_matched


@pytest.mark.parametrize("runtime", EVENTS)
def test_what_else_stands_there_is_kept_and_given_back_to_the_byte(
    desk: Desk, runtime: str
) -> None:
    before = desk.write(b"\t" + json.dumps(OTHERS, indent="\t").encode())
    desk.file.chmod(0o640)
    assert desk.install(runtime).object["changed"] is True
    found = desk.read()
    assert {**found, "hooks": {}} == {**OTHERS, "hooks": {}}
    assert found["hooks"]["Stop"] == OTHERS["hooks"]["Stop"]
    assert found["hooks"]["PreToolUse"][0] == OTHERS["hooks"]["PreToolUse"][0]
    assert desk.file.stat().st_mode & 0o777 == 0o640

    assert desk.uninstall(runtime).object["removed"] is True
    assert desk.file.read_bytes() == before
    assert desk.file.stat().st_mode & 0o777 == 0o640


def test_a_file_that_was_not_there_is_gone_again(desk: Desk) -> None:
    desk.install()
    assert desk.file.exists()
    desk.uninstall()
    assert not desk.file.exists()


def test_an_empty_file_is_empty_again(desk: Desk) -> None:
    desk.write(b"")
    desk.install()
    desk.uninstall()
    assert desk.file.read_bytes() == b""


def test_installing_again_changes_nothing(desk: Desk) -> None:
    before = desk.write(json.dumps(OTHERS).encode())
    desk.install()
    once = desk.file.read_bytes()
    again = desk.install()
    assert again.object["changed"] is False
    assert desk.file.read_bytes() == once
    desk.uninstall()
    assert desk.file.read_bytes() == before


def test_installing_again_changes_what_is_said_and_keeps_the_rest(desk: Desk) -> None:
    before = desk.write(json.dumps(OTHERS).encode())
    first = desk.settings(desk.install("claude", "--record", "--fail", "open"))
    assert (first["mode"], first["fail"]) == ("record", "open")
    second = desk.settings(desk.install("claude", "--fail", "closed"))
    assert (second["mode"], second["fail"]) == ("record", "closed")
    third = desk.settings(desk.install("claude", "--gate"))
    assert (third["mode"], third["fail"]) == ("gate", "closed")
    assert len(desk.read()["hooks"]["PreToolUse"]) == 2
    desk.uninstall()
    assert desk.file.read_bytes() == before


def test_what_was_changed_since_stays_when_the_hook_goes(desk: Desk) -> None:
    desk.write(json.dumps(OTHERS).encode())
    desk.install()
    found = desk.read()
    found["model"] = "haiku"
    found["hooks"]["PreToolUse"].append({"matcher": "Edit", "hooks": []})
    desk.write(json.dumps(found).encode())
    # Installed again on top of that: what was there before is known no more.
    desk.install()
    desk.uninstall()
    left = desk.read()
    assert left["model"] == "haiku"
    assert left["hooks"]["Stop"] == OTHERS["hooks"]["Stop"]
    assert left["hooks"]["PreToolUse"] == [
        *OTHERS["hooks"]["PreToolUse"], {"matcher": "Edit", "hooks": []},
    ]  # fmt: skip
    assert list(left["hooks"]) == ["PreToolUse", "Stop"]


def test_a_hook_in_a_group_with_others_is_taken_out_alone(desk: Desk) -> None:
    desk.install()
    found = desk.read()
    other = {"type": "command", "command": "log.sh"}
    found["hooks"]["SubagentStop"][0]["hooks"].append(other)
    desk.write(json.dumps(found).encode())
    desk.uninstall()
    assert desk.read() == {"hooks": {"SubagentStop": [{"hooks": [other]}]}}


def test_a_configuration_that_had_nothing_else_is_empty_afterwards(desk: Desk) -> None:
    desk.install()
    desk.write(json.dumps(desk.read()).encode())
    desk.uninstall()
    assert desk.read() == {}


BROKEN = {
    "no JSON": b"{",
    "with comments": b'{"hooks": {} // mine\n}',
    "with a name twice": b'{"model": "a", "model": "b"}',
    "a list": b"[]",
    "hooks that are a list": b'{"hooks": []}',
    "an event that is an object": b'{"hooks": {"PreToolUse": {}}}',
    "a group without hooks": b'{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}',
    "invalid UTF-8": b'{"model": "\xff"}',
    "a bomb": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_and_left_as_it_is(desk: Desk, content: bytes) -> None:
    desk.write(content)
    refused = desk.install()
    assert refused.code == 2
    assert str(desk.file) in refused.stdout
    assert "left as it is" in refused.stdout
    assert desk.file.read_bytes() == content
    assert list((desk.home / "state").rglob("hooks/*/*.json")) == []


def test_a_link_to_a_file_elsewhere_stays_a_link(desk: Desk) -> None:
    real = desk.home / "dotfiles.json"
    real.write_text("{}")
    desk.file.parent.mkdir(exist_ok=True)
    desk.file.symlink_to(real)
    desk.install()
    assert desk.file.is_symlink()
    assert "hooks" in json.loads(real.read_text())
    desk.uninstall()
    assert desk.file.is_symlink()
    assert real.read_text() == "{}"


def test_taking_out_what_is_not_there_is_no_error(desk: Desk) -> None:
    before = desk.write(b'{"a":1}')
    assert desk.uninstall().object["removed"] is False
    assert desk.file.read_bytes() == before


def test_the_settings_have_what_the_hook_needs_taken_from_the_ledger(
    desk: Desk,
) -> None:
    shown = desk.install("claude", "--record")
    settings = read_settings(shown.object["settings"])
    ledger = desk.ledger.absolute()
    assert (settings.suite, settings.template, settings.horizon) == (
        SUITE, "dispatch-pass", "24h",
    )  # fmt: skip
    assert (settings.author, settings.forecaster) == ("forecaster", "native")
    assert (settings.answers, settings.positive) == (("pass", "fail"), "pass")
    assert settings.key == f"{ledger}/keys/forecaster.key"
    assert settings.sockets[0] == f"{ledger}/agent.sock"
    assert settings.ledger == desk.here("status", "--json").object["ledger"]
    assert settings.observed == f"{ledger}/inbox/observed"
    assert settings.deadline_ms < 10_000


def test_a_hook_that_records_is_told_where_the_daemon_would_open_no_unit(
    desk: Desk,
) -> None:
    settings = desk.ledger / "daemon.toml"
    assert "[[openings]]" not in desk.install().stderr
    shown = desk.install("codex", "--record")
    assert shown.code == 0
    assert "daemon.toml has no [[openings]] for dispatch-pass at 24h" in shown.stderr
    try:
        settings.write_text("[limits")
        assert "daemon.toml cannot be used" in desk.install("codex", "--record").stderr
        settings.write_text(
            '[[openings]]\nsuite = "piper-self@v1"\ntemplate = "dispatch-pass"\n'
            'horizon = "24h"\nissuer = "issuer"\n'
            "cutoff_seconds = 600\nresolve_seconds = 86400\n"
        )
        assert "daemon.toml" not in desk.install("codex", "--record").stderr
    finally:
        settings.unlink()


def test_a_gate_wants_anybody_s_forecast_unless_one_is_named(desk: Desk) -> None:
    assert desk.settings(desk.install()).get("forecaster") is None
    named = desk.install("claude", "--as", "native")
    assert desk.settings(named)["forecaster"] == "native"
    unknown = desk.install("claude", "--as", "nobody")
    assert unknown.code == 2
    assert "nobody" in unknown.stdout


def test_without_the_ledger_s_folder_all_is_said(desk: Desk) -> None:
    key = desk.ledger / "keys" / "forecaster.key"
    place = ("hook", "install", "codex", "--file", desk.file, "--program", desk.program)
    said = (
        "--suite", SUITE, "--template", "dispatch-pass", "--horizon", "24h",
        "--socket", "/run/agent.sock", "--record", "--as", "native", "--key", key,
        "--answer", "pass", "--answer", "fail", "--json",
    )  # fmt: skip
    settings = read_settings(desk.must(*place, *said).object["settings"])
    assert (settings.author, settings.sockets) == ("forecaster", ("/run/agent.sock",))
    desk.uninstall("codex")
    refused = desk.run(*place, "--suite", SUITE)
    assert refused.code == 2
    assert "--template is missing" in refused.stderr


def test_a_runtime_that_calls_no_hook_is_told_by_install_and_status(
    desk: Desk,
) -> None:
    before = desk.write(b'{"disableAllHooks": true}')
    why = f"disableAllHooks in {desk.file}"
    assert desk.install().object["disabled"] == why
    words = (
        "hook",
        "install",
        "claude",
        "--file",
        desk.file,
        "--program",
        desk.program,
    )
    shown = desk.here(*words)
    assert why in shown.stdout
    assert "calls no hook at all" in shown.stderr
    assert why in desk.must("hook", "status").stdout
    desk.uninstall()
    assert desk.file.read_bytes() == before
    desk.write(b"{}")
    assert desk.install().object["disabled"] == ""
    assert "disabled" not in desk.here(*words).stdout


MANAGED = "etc/claude-code/managed-settings.json"
OFF, ON = '{"disableAllHooks": true}', '{"disableAllHooks": false}'
# What stands in each file, and the one that disables the hook of the user's file.
DISABLED: dict[str, tuple[str, dict[str, str], str]] = {
    "nothing": ("claude", {}, ""),
    "the file itself": ("claude", {"user/settings.json": OFF}, "user/settings.json"),
    "a word that is no truth": (
        "claude", {"user/settings.json": '{"disableAllHooks": "true"}'}, ""),
    "a file that is no JSON": ("claude", {"user/settings.json": "{"}, ""),
    "the user's own beside it": (
        "claude", {"user/settings.local.json": OFF}, "user/settings.local.json"),
    "the project here": (
        "claude", {"here/.claude/settings.json": OFF}, "here/.claude/settings.json"),
    "the project, against the user": (
        "claude",
        {"user/settings.json": OFF, "here/.claude/settings.local.json": ON}, ""),
    "the administrator": ("claude", {MANAGED: OFF}, MANAGED),
    "the administrator, for others' hooks": (
        "claude", {MANAGED: '{"allowManagedHooksOnly": true}'}, MANAGED),
    "the administrator, against all": (
        "claude", {MANAGED: ON, "user/settings.json": OFF}, ""),
    "Codex, nothing": ("codex", {"user/config.toml": 'model = "x"'}, ""),
    "Codex' feature": (
        "codex", {"user/config.toml": "[features]\nhooks = false"}, "user/config.toml"),
    "Codex' feature by its old name": (
        "codex", {"user/config.toml": "[features]\ncodex_hooks = false"},
        "user/config.toml"),
    "Codex' feature, on": (
        "codex", {"user/config.toml": "[features]\nhooks = true"}, ""),
    "Codex' project here": (
        "codex", {"here/.codex/config.toml": "[features]\nhooks = false"},
        "here/.codex/config.toml"),
    "Codex' administrator, for others' hooks": (
        "codex", {"etc/codex/requirements.toml": "allow_managed_hooks_only = true"},
        "etc/codex/requirements.toml"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "files", "expected"), DISABLED.values(), ids=DISABLED)
def test_what_disables_a_hook_is_found_where_the_runtime_reads_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    files: dict[str, str],
    expected: str,
) -> None:
    for file, content in files.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "here").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    runtime = RUNTIMES[name]
    environment = {runtime.home: str(tmp_path / "user")}
    found = disabling(
        runtime, tmp_path / "user" / runtime.file, environment, system=tmp_path
    )
    assert bool(found) is bool(expected)
    if expected:
        assert f"{tmp_path / expected}" in found


def test_a_project_s_hook_may_be_disabled_by_its_user(tmp_path: Path) -> None:
    user = tmp_path / "user" / "settings.json"
    user.parent.mkdir()
    user.write_text(OFF)
    environment = {"CLAUDE_CONFIG_DIR": str(user.parent)}
    project = tmp_path / "project" / ".claude" / "settings.json"
    found = disabling(RUNTIMES["claude"], project, environment, system=tmp_path)
    assert found == f"disableAllHooks in {user}"


MISUSED = {
    "a runtime that there is not": (("hook", "install", "cursor"), "docs/hooks.md"),
    "a policy that there is not": (("hook", "install", "claude", "--fail", "ajar"), "ajar"),
    "a scope that there is not": (("hook", "install", "claude", "--scope", "all"), "all"),
    "a program that there is not": (
        ("hook", "install", "claude", "--program", "/none/ledger"), None),
}  # fmt: skip


@pytest.mark.parametrize(("words", "why"), MISUSED.values(), ids=MISUSED)
def test_a_misuse_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: Any, why: str | None
) -> None:
    monkeypatch.setattr("sys.executable", str(desk.home / "python"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(desk.home / "claude"))
    shown = desk.here(*words)
    assert shown.code == 2
    assert (why or "no `ledger`") in shown.stderr


def test_each_scope_has_its_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    project = desk.home / "project"
    project.mkdir(exist_ok=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(desk.home / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(desk.home / "codex"))
    expected = {
        ("claude", "user"): desk.home / "claude" / "settings.json",
        ("claude", "project"): project / ".claude" / "settings.json",
        ("codex", "user"): desk.home / "codex" / "hooks.json",
        ("codex", "project"): project / ".codex" / "hooks.json",
    }
    for (runtime, scope), file in expected.items():
        words = (
            "hook",
            "install",
            runtime,
            "--scope",
            scope,
            "--program",
            desk.program,
        )
        shown = desk.here(*words, "--json")
        assert shown.object["file"] == str(file)
        assert file.exists()
    assert len(desk.must("hook", "status", "--json").objects) == 4


def test_status_counts_what_was_delivered(desk: Desk) -> None:
    shown = desk.install()
    folder = Path(shown.object["settings"]).parent
    for outcome in ("allowed", "allowed", "blocked"):
        count(str(folder), outcome)
    [status] = desk.must("hook", "status", "--json").objects
    assert status["installed"] is True
    assert {k: v for k, v in status["deliveries"].items() if v} == {
        "allowed": 2, "blocked": 1,
    }  # fmt: skip
    text = desk.must("hook", "status").stdout
    assert "2 allowed, 1 blocked" in text
    desk.write(b"{}")
    [status] = desk.must("hook", "status", "--json").objects
    assert status["installed"] is False
    assert "install it again" in desk.must("hook", "status").stdout


def test_status_calls_a_probe_no_delivery(desk: Desk) -> None:
    folder = Path(desk.install().object["settings"]).parent
    count(str(folder), "probe")
    lines = desk.must("hook", "status").stdout.splitlines()
    told = dict(line.split(maxsplit=1) for line in lines)
    assert "probe" not in told["deliveries"]
    assert told["probes"] == "1"


def test_status_without_an_installation_says_how_to_make_one(desk: Desk) -> None:
    shown = desk.must("hook", "status")
    assert shown.stdout == ""
    assert "ledger hook install" in shown.stderr


def test_what_is_said_to_people_says_what_to_do_next(desk: Desk) -> None:
    words = ("hook", "install", "codex", "--file", desk.file, "--program", desk.program)
    first = desk.here(*words)
    assert "/hooks" in first.stderr
    assert str(desk.file) in first.stdout
    assert "there already" in desk.here(*words).stderr
    removed = desk.must("hook", "uninstall", "codex", "--file", desk.file)
    assert str(desk.file) in removed.stdout
    again = desk.must("hook", "uninstall", "codex", "--file", desk.file)
    assert "had no hook" in again.stderr
