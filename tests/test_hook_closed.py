"""What would slip a dispatch past a closed policy, and what becomes of it."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook import answer
from ledger.daemon.hook_answer import Answer
from ledger.daemon.hook_settings import RECENT, count, counted, recent
from tests.hook_stage import PROGRAM, Installation, piped, sample

DISPATCH = {"event": "pre_dispatch", "dispatch_key": "d-1", "forecast": 0.8}
AGENT = sample("claude/pre_tool_use.agent")
TEXT = json.dumps(DISPATCH)


def without(payload: Any, *names: str) -> Any:
    return {name: value for name, value in payload.items() if name not in names}


# Not understood: what is no JSON, and what no runtime sends.
STRANGE: dict[str, object] = {
    "a list": [],
    "a list of one dispatch": [DISPATCH],
    "a text": "pre_dispatch",
    "a number": 1,
    "nothing at all": None,
    "no name": {},
    "another name of the event": {**DISPATCH, "event": "pre-dispatch"},
    "the event in other letters": {**DISPATCH, "event": "PRE_DISPATCH"},
    "the event with a blank": {**DISPATCH, "event": "pre_dispatch "},
    "a list for an event": {**DISPATCH, "event": ["pre_dispatch"]},
    "a dispatch within a payload": {"payload": DISPATCH},
    "a dispatch within an event": {"event": DISPATCH},
    "a sample as it is kept": {"_source": "docs", "payload": AGENT},
    "an event that is named deeper down": {
        **without(AGENT, "hook_event_name"), "hook": {"hook_event_name": "PreToolUse"}},
    "no session": without(AGENT, "session_id"),
    "no event": without(AGENT, "hook_event_name"),
    "an event of tomorrow": {**AGENT, "hook_event_name": "PreAgentUse"},
    "an event in small letters": {**AGENT, "hook_event_name": "pretooluse"},
    "a tool in small letters": {**AGENT, "tool_name": "agent"},
    "a tool in letters that look the same": {**AGENT, "tool_name": "\u0410gent"},
    "a tool with a letter that shows nothing": {**AGENT, "tool_name": "Agent\u200b"},
    "a tool with a NUL": {**AGENT, "tool_name": "Agent\0"},
    "a tool without a name": without(AGENT, "tool_name"),
    "two runtimes at once": {**AGENT, "event": "post_dispatch"},
    "an end, and a tool of another runtime": {
        **AGENT, "event": "post_dispatch", "tool_name": "spawn_agent"},
    "an end, and a tool in other letters": {
        **AGENT, "event": "post_dispatch", "tool_name": " Agent"},
    "an end, and an event of tomorrow": {
        **AGENT, "event": "cancelled", "hook_event_name": "PreAgentUse"},
    "a probe, and a tool in other letters": {
        **AGENT, "event": "probe", "tool_name": "AGENT"},
    "a session of Copilot's, and a tool in other letters": {
        **AGENT, "timestamp": 1, "sessionId": "s", "tool_name": "AGENT"},
    "a notice of Codex', and a tool in other letters": {
        "type": "agent-turn-complete", "tool": "TASK", "callID": "1"},
    "Cursor's end, and a tool of OpenCode's in other letters": {
        "cursor_version": "3", "hook_event_name": "stop", "tool": "TASK", "callID": "1"},
    "agents for each line of a table": {**AGENT, "tool_name": "spawn_agents_on_csv"},
    "agents of another spelling": {**AGENT, "tool_name": "spawnAgent"},
    "a delegation to an agent": {**AGENT, "tool_name": "delegate_to_agent"},
    "a delegation of a task": {**AGENT, "tool_name": "delegate_task"},
    "a delegation in Codex": {
        **sample("codex/pre_tool_use.spawn_agent"), "tool_name": "delegate_task"},
    "a table's agents in Codex": {
        **sample("codex/pre_tool_use.spawn_agent"), "tool_name": "spawn_agents_on_csv"},
    "a delegation in Gemini": {
        **sample("gemini/BeforeTool.invoke_agent"), "tool_name": "delegate_to_agent"},
    "workers of OpenHands' with tasks in another shape": {
        **sample("openhands/PreToolUse"),
        "tool_input": {"command": "spawn", "tasks": ["Find endpoints"]}},
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "UTF-32": TEXT.encode("utf-32"),
    "a mark before UTF-8": b"\xef\xbb\xbf" + TEXT.encode(),
    "invalid UTF-8": TEXT.encode().replace(b"d-1", b"\xff"),
    "a NUL byte after it": TEXT.encode() + b"\0",
    "a NUL byte within it": TEXT.encode().replace(b"d-1", b"d\0"),
    "two objects": TEXT.encode() + b"\n" + TEXT.encode(),
    "a name twice": TEXT.encode()[:-1] + b', "event": "post_dispatch"}',
    "a name twice, deeper down": b'{"event": "post_dispatch", "run": {"a": 1, "a": 2}}',
    "NaN": b'{"event": "pre_dispatch", "forecast": NaN}',
    "nothing to read": b"",
    "blanks": b" \n",
}  # fmt: skip
STRANGE |= {f"{TEXT[:end]} and no more": TEXT[:end].encode() for end in range(1, 24)}


@pytest.mark.parametrize("payload", STRANGE.values(), ids=STRANGE)
def test_what_is_not_understood_meets_the_policy_and_is_counted(
    tmp_path: Path, payload: object
) -> None:
    hook = Installation(tmp_path)
    closed = hook.call(payload, "--fail", "closed")
    assert (closed.code, closed.shown) == (2, "")
    assert "may not start" in closed.said
    passed = hook.call(payload, "--fail", "open")
    assert (passed.code, passed.shown) == (0, "")
    assert "unseen by the ledger" in passed.said
    assert counted(str(tmp_path))["unknown"] == 2
    # People read it: no name of a class, and nothing of the interpreter's.
    assert "Error" not in closed.said


def test_a_payload_that_breaks_off_is_told_so_by_the_command(tmp_path: Path) -> None:
    done = called(Installation(tmp_path), b'{"event": "pre_dispatch"')
    assert done.returncode == 2
    assert (
        b"the payload is no JSON (it breaks off, or is damaged inside)" in done.stderr
    )


HALF = "\ud800"
HALVES: dict[str, Any] = {
    "in a prompt": {**AGENT, "tool_input": {"prompt": HALF}},
    "in an input beside the prompt": {
        **sample("gemini/BeforeTool.invoke_agent"), "tool_input": {"prompt": "x", HALF: 1}},
    "in a session": {**AGENT, "session_id": HALF},
    "in a dispatch_key": {**DISPATCH, "dispatch_key": HALF},
    "in a forecast": {**DISPATCH, "forecast": {"p": 0.5, "reason_codes": [HALF]}},
}  # fmt: skip


@pytest.mark.parametrize("payload", HALVES.values(), ids=HALVES)
def test_half_a_character_meets_the_policy(tmp_path: Path, payload: Any) -> None:
    open_ = Installation(tmp_path / "open", fail="open")
    passed = open_.call(payload, "--fail", "open")
    assert (passed.code, passed.shown) == (0, "")
    assert "unseen by the ledger" in passed.said
    assert counted(str(open_.state))["failed-open"] == 1
    closed = Installation(tmp_path / "closed")
    assert "may not start" in closed.call(payload).said
    assert counted(str(closed.state))["failed-closed"] == 1


def test_what_is_not_understood_is_named_but_not_told(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    said = hook.call({"event": "pre-dispatch", "task": "my secret"}).said
    assert "event 'pre-dispatch'" in said
    assert "docs/hooks.md" in said
    assert "secret" not in said
    assert len(hook.call({"event": "x" * 10_000}).said) < 300


# --- The call -------------------------------------------------------------------------

CONFIG = "CONFIG"  # stands for the settings' path
# Words of the call, the policy of the settings, and the exit status of a dispatch for
# which no daemon is there.
CALLS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "words that stand apart": (("--config", CONFIG, "--fail", "closed"), "closed", 2),
    "words that stand together": ((f"--config={CONFIG}", "--fail=closed"), "closed", 2),
    "both": ((f"--config={CONFIG}", "--fail", "closed"), "closed", 2),
    "another order": (("--fail=closed", "--config", CONFIG), "closed", 2),
    "open, together": ((f"--config={CONFIG}", "--fail=open"), "open", 0),
    "open, apart": (("--config", CONFIG, "--fail", "open"), "open", 0),
    "the last of two": (
        (f"--config={CONFIG}", "--fail=closed", "--fail=open"), "open", 0),
    "a call that says nothing, of closed settings": (("--config", CONFIG), "closed", 2),
    "a call that says nothing, of open settings": (("--config", CONFIG), "open", 0),
    "a closed call of open settings": (
        ("--config", CONFIG, "--fail", "closed"), "open", 2),
    "an open call of closed settings": (
        ("--config", CONFIG, "--fail", "open"), "closed", 2),
    "an unknown option, closed": (
        ("--config", CONFIG, "--fail", "closed", "--quick"), "closed", 2),
    "an unknown option, open": (
        ("--config", CONFIG, "--fail", "open", "--quick"), "open", 0),
    "an unknown option that says nothing": (("--config", CONFIG, "-x"), "closed", 2),
    "a word too many": (("run", "--config", CONFIG, "--fail", "closed"), "closed", 2),
    "a policy that there is not": (("--config", CONFIG, "--fail", "ajar"), "open", 2),
    "a policy in other letters": (("--config", CONFIG, "--fail=Open"), "open", 2),
    "a policy without a word": (("--config", CONFIG, "--fail"), "closed", 2),
    "settings that are missing": (("--config", "/none", "--fail", "closed"), "open", 2),
    "settings that are missing, together": (
        ("--config=/none", "--fail=closed"), "open", 2),
    "settings that are missing, open": (("--config=/none", "--fail=open"), "open", 0),
    "settings that are missing, and no word": (("--config=/none",), "open", 2),
    "settings that are a folder": (("--config=/", "--fail=closed"), "open", 2),
    "settings that have no end": (("--config=/dev/zero", "--fail=closed"), "open", 2),
    "no settings": (("--fail", "closed"), "open", 2),
    "no settings, open": (("--fail", "open"), "open", 0),
    "settings without a name": (("--config=", "--fail", "closed"), "open", 2),
    "settings without a word": (("--fail", "closed", "--config"), "open", 2),
    "an option for settings": (("--config", "--fail", "closed"), "open", 2),
    "no word at all": ((), "open", 2),
}  # fmt: skip


def call(words: tuple[str, ...], hook: Installation, payload: object) -> Answer:
    given = [word.replace(CONFIG, str(hook.file)) for word in words]
    with piped(json.dumps(payload).encode()) as stdin:
        return answer(given, stdin)


@pytest.mark.parametrize(("words", "fail", "code"), CALLS.values(), ids=CALLS)
def test_each_spelling_of_a_call_means_its_policy(
    tmp_path: Path, words: tuple[str, ...], fail: str, code: int
) -> None:
    hook = Installation(tmp_path, fail=fail)
    made = call(words, hook, DISPATCH)
    assert made.code == code
    assert made.said


@pytest.mark.parametrize(("words", "fail", "code"), CALLS.values(), ids=CALLS)
def test_no_spelling_disturbs_what_is_no_dispatch(
    tmp_path: Path, words: tuple[str, ...], fail: str, code: int
) -> None:
    del code
    made = call(
        words, Installation(tmp_path, fail=fail), sample("claude/subagent_stop")
    )
    assert (made.code, made.shown) == (0, "")


WRONG = {
    "--quick": "no option '--quick'",
    "--fail=ajar": "--fail is 'ajar'",
    "--config": "--config has no value",
}


@pytest.mark.parametrize(("word", "why"), WRONG.items())
def test_what_is_wrong_with_a_call_is_said(tmp_path: Path, word: str, why: str) -> None:
    hook = Installation(tmp_path)
    made = call(("--config", CONFIG, "--fail", "closed", word), hook, DISPATCH)
    assert why in made.said
    assert "ledger hook install" in made.said


# The call's policy, the settings', and the exit status of what nobody understands. An
# installation says `open` where a block would do harm, and is heard.
UNKNOWN = {
    ("closed", "closed"): 2, ("closed", "open"): 2, ("open", "closed"): 0,
    ("open", "open"): 0, ("", "closed"): 2, ("", "open"): 0,
}  # fmt: skip


@pytest.mark.parametrize(("policies", "code"), UNKNOWN.items(), ids=str)
def test_of_what_nobody_understands_the_call_decides(
    tmp_path: Path, policies: tuple[str, str], code: int
) -> None:
    said, fail = policies
    words = ("--config", CONFIG, *(("--fail", said) if said else ()))
    assert call(words, Installation(tmp_path, fail=fail), {"a": 1}).code == code


def test_a_payload_may_follow_the_options_end(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    made = hook.call(b"", "--fail=closed", "--", json.dumps(AGENT))
    assert json.loads(made.shown)["hookSpecificOutput"]["permissionDecision"] == "deny"


# --- As a process, in odd surroundings -------------------------------------------------


def called(hook: Installation, payload: bytes | None = None, **around: Any) -> Any:
    words = (*PROGRAM, "hook", f"--config={hook.file}", "--fail=closed")
    given = {"stdin": subprocess.DEVNULL} if payload is None else {"input": payload}
    return subprocess.run(
        words, check=False, timeout=60, capture_output=True, **{**given, **around}
    )


def closes(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for each in descriptors:
            os.close(each)

    return close


def deafens() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})


# What is around the process; the dispatch is given, or never ends.
AROUND: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    "an empty stdin": (b"", {}),
    "no stdin": (None, {"preexec_fn": closes(0)}),
    "no stdout": (TEXT.encode(), {"preexec_fn": closes(1)}),
    "no stderr": (TEXT.encode(), {"preexec_fn": closes(2)}),
    "no stdin, stdout and stderr": (None, {"preexec_fn": closes(0, 1, 2)}),
    "no HOME, and nothing else": (TEXT.encode(), {"env": {}}),
    "sixteen megabytes and more": (b'{"a":"' + b"x" * 2**24 + b'"}', {}),
}


@pytest.mark.parametrize(("payload", "around"), AROUND.values(), ids=AROUND)
def test_odd_surroundings_start_nothing(
    tmp_path: Path, payload: bytes | None, around: dict[str, Any]
) -> None:
    assert called(Installation(tmp_path), payload, **around).returncode == 2


@pytest.mark.parametrize("around", [None, deafens], ids=["as usual", "deaf to alarms"])
def test_a_stdin_that_never_ends_starts_nothing(
    tmp_path: Path, around: Callable[[], None] | None
) -> None:
    reading, writing = os.pipe()
    try:
        hook = Installation(tmp_path, deadline_ms=300)
        done = called(hook, stdin=reading, preexec_fn=around)
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 2
    assert b"deadline" in done.stderr


@pytest.mark.parametrize("name", ["--config", "--fail"])
@pytest.mark.parametrize("together", [True, False])
def test_a_terminal_for_stdin_makes_no_person_of_a_runtime(
    tmp_path: Path, name: str, *, together: bool
) -> None:
    hook = Installation(tmp_path)
    said = {"--config": str(hook.file), "--fail": "closed"}
    words = []
    for each in (name, *(said.keys() - {name})):
        words += [f"{each}={said[each]}"] if together else [each, said[each]]
    leader, follower = pty.openpty()
    try:
        for payload, code in (
            (sample("codex/notify.argv"), 0),
            (sample("codex/pre_tool_use.spawn_agent"), 2),
        ):
            done = subprocess.run(
                (*PROGRAM, "hook", *words, json.dumps(payload)),
                check=False, timeout=60, capture_output=True, stdin=follower,
            )  # fmt: skip
            assert done.returncode == code
            assert b"Usage" not in done.stdout + done.stderr
    finally:
        os.close(leader)
        os.close(follower)


def test_a_pipe_for_settings_or_for_the_count_waits_for_nobody(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    os.mkfifo(tmp_path / "deliveries")
    made = hook.call(DISPATCH)
    assert made.code == 2
    assert "not counted" in made.said
    hook.file.unlink()
    os.mkfifo(hook.file)
    assert "cannot be read" in hook.call(DISPATCH).said


@pytest.mark.parametrize("state", ["/proc/none", "/dev/null/none"])
def test_a_memory_that_cannot_be_written_starts_nothing(
    tmp_path: Path, state: str
) -> None:
    made = Installation(tmp_path, state=state).call(DISPATCH)
    assert made.code == 2
    assert "Error" not in made.said


# --- The count ------------------------------------------------------------------------


def test_only_the_last_that_may_have_been_dispatches_are_recent(tmp_path: Path) -> None:
    state = str(tmp_path)
    assert set(recent(state).values()) == {0}
    count(state, "unknown")
    for _ in range(RECENT - 1):
        count(state, "allowed")
    for outcome in ("probe", "other", "lifecycle"):
        count(state, outcome)
    assert recent(state) == {
        **dict.fromkeys(recent(state), 0),
        "unknown": 1,
        "allowed": RECENT - 1,
    }
    count(state, "blocked")
    assert recent(state)["unknown"] == 0
