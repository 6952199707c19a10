"""What the hook takes for the same dispatch again, and what only looks like it."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook_answer import Answer
from tests.hook_stage import Installation, fake_daemon, result, sample
from tests.test_hook_cases import is_blocked

CLAUDE = sample("claude/pre_tool_use.agent")
SEALED = "Find all API endpoints"


def task(text: str) -> str:
    return f"task-{sha256(text.encode()).hexdigest()}"


class Gate:
    """A gate before a daemon that knows a forecast on the units of a list."""

    def __init__(self, home: Path, sealed: list[str]) -> None:
        self.sealed = sealed
        self.text_hash: str | None = None
        self.status = "PENDING"
        self.asked: list[str] = []
        self.hook = Installation(
            home / "hook", sockets=[str(home / "s")], mode="gate", forecaster=""
        )

    def reply(self, asked: dict[str, Any]) -> bytes:
        """Answer as the daemon does."""
        self.asked.append(asked["params"]["id"])
        known = asked["params"]["id"] in self.sealed
        found = {"chains": {"native": "a" * 64}} if known else {}
        about = {"status": self.status, "text_hash": self.text_hash}
        return result({**about, **found})(asked)

    def call(self, payload: Any, **fields: object) -> Answer:
        return self.hook.call({**payload, **fields})

    def starts(self, payload: Any, **fields: object) -> bool:
        return not is_blocked(self.call(payload, **fields))


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path, [task(SEALED), "d-1"])
    with fake_daemon(tmp_path / "s", made.reply):
        yield made


def given(prompt: str, **more: object) -> dict[str, object]:
    return {"prompt": prompt, "subagent_type": "Explore", **more}


OPENCODE = sample("opencode/tool.execute.before")
CURSOR = sample("cursor/subagent_start")
OPENHANDS = sample("openhands/PreToolUse")
# Started with a forecast, and what has the same id and is something else.
OTHERS: dict[str, tuple[Any, Any]] = {
    "another task": (CLAUDE, {"tool_input": given("Delete everything")}),
    "another session": (CLAUDE, {"session_id": "another"}),
    "another hash of the task": (
        CLAUDE, {"ledger": {"task_sha256": "b" * 64}}),
    "another dispatch_key": (CLAUDE, {"ledger": {"dispatch_key": "d-9"}}),
    "another task of OpenCode's": (
        {**OPENCODE, "args": given(SEALED)}, {"args": given("Delete everything")}),
    "another task of Cursor's": (
        {**CURSOR, "task": SEALED}, {"task": "Delete everything"}),
    "another task of Cursor's, without any id": (
        {**CURSOR, "task": SEALED, "tool_call_id": None}, {"task": "Delete everything"}),
    "another task of Piper's run": (
        {"event": "pre_dispatch", "task": SEALED, "run": {"session": "s", "key": "k"}},
        {"task": "Delete everything"}),
    "another task of Piper's, without any id": (
        {"event": "pre_dispatch", "task": SEALED}, {"task": "Delete everything"}),
    "another task of OpenHands'": (
        {**OPENHANDS, "tool_input": {"tasks": {"a": SEALED}}},
        {"tool_input": {"tasks": {"a": "Delete everything"}}}),
}  # fmt: skip


@pytest.mark.parametrize(("first", "changes"), OTHERS.values(), ids=OTHERS)
def test_an_id_that_is_used_again_needs_a_forecast_of_its_own(
    gate: Gate, first: Any, changes: Any
) -> None:
    assert gate.starts(first)
    assert not gate.starts(first, **changes)
    # What was let start is so still, however often it is delivered.
    before = gate.asked[0]
    assert gate.starts(first)
    assert gate.asked[-1] == before


def test_the_same_again_after_its_end_needs_another_forecast(gate: Gate) -> None:
    over = {
        **sample("claude/post_tool_use.agent_completed"),
        "tool_input": CLAUDE["tool_input"],
    }
    assert gate.starts(CLAUDE)
    assert gate.starts(CLAUDE)
    gate.call(over)
    refused = gate.call(CLAUDE)
    assert is_blocked(refused)
    assert f"{task(SEALED)}/2" in refused.said
    gate.sealed.append(f"{task(SEALED)}/2")
    assert gate.starts(CLAUDE)


def test_two_dispatches_of_one_id_have_an_end_each(gate: Gate) -> None:
    gate.sealed.append(task("Count them"))
    assert gate.starts(CLAUDE)
    assert gate.starts(CLAUDE, tool_input=given("Count them"))
    over = sample("claude/post_tool_use.agent_completed")
    gate.call(over, tool_input=given("Count them"))
    [seen] = gate.hook.seen()
    assert seen["unit"][2] == task("Count them")
    assert "inferred" not in seen["run"]


def test_an_end_that_does_not_say_the_task_again_goes_by_the_id(gate: Gate) -> None:
    assert gate.starts(CLAUDE)
    gate.call(without_input(sample("claude/post_tool_use.agent_completed")))
    [seen] = gate.hook.seen()
    assert seen["unit"][2] == task(SEALED)
    assert "inferred" not in seen["run"]


def test_of_two_with_one_id_the_first_is_meant_and_that_is_inferred(gate: Gate) -> None:
    gate.sealed.append(task("Count them"))
    assert gate.starts(CLAUDE)
    assert gate.starts(CLAUDE, tool_input=given("Count them"))
    gate.call(without_input(sample("claude/post_tool_use.agent_completed")))
    [seen] = gate.hook.seen()
    assert seen["unit"][2] == task(SEALED)
    assert seen["run"]["inferred"] == "session and tool id, first in, first out"


def without_input(payload: Any) -> Any:
    return {**payload, "tool_input": {"description": "no prompt"}}


# --- A dispatch_key names one task -----------------------------------------------------

PIPER = {"event": "pre_dispatch", "dispatch_key": "d-1", "task": SEALED}
# The first dispatch under d-1, and a second one; whether it may start.
KEYS: dict[str, tuple[Any, Any, bool]] = {
    "the same task": (PIPER, PIPER, True),
    "another task": (PIPER, {**PIPER, "task": "Delete everything"}, False),
    "a task where none was named": (
        {**PIPER, "task": None}, {**PIPER, "task": "Delete everything"}, False),
    "no task where one was named": (PIPER, {**PIPER, "task": None}, False),
    "no task twice": ({**PIPER, "task": None}, {**PIPER, "task": None}, True),
    "the same task's hash": (
        PIPER,
        {**PIPER, "task": None, "task_sha256": sha256(SEALED.encode()).hexdigest()},
        True),
    "the same task of another call": (
        {**CLAUDE, "ledger": {"dispatch_key": "d-1"}},
        {**CLAUDE, "ledger": {"dispatch_key": "d-1"}, "tool_use_id": "t-2"}, True),
    "another task of another call": (
        {**CLAUDE, "ledger": {"dispatch_key": "d-1"}},
        {**CLAUDE, "tool_input": given("Delete everything", dispatch_key="d-1"),
         "tool_use_id": "t-2"}, False),
    "another task of another runtime": (
        PIPER,
        {**CLAUDE, "tool_input": given("Delete everything", dispatch_key="d-1")}, False),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "may_start"), KEYS.values(), ids=KEYS)
def test_a_dispatch_key_is_one_task_s(
    gate: Gate, first: Any, second: Any, *, may_start: bool
) -> None:
    assert gate.starts(first)
    answer = gate.call(second)
    assert is_blocked(answer) is not may_start
    if not may_start:
        assert "dispatch_key d-1 is another task's" in answer.said
        assert "a key of its own" in answer.said
    assert gate.starts(first)


# A key that is a task's hash, and whether "Find all API endpoints" may start under it.
HASHES = {
    task(SEALED): True,
    f"{task(SEALED)}/2": True,
    task("Count them"): False,
    f"{task('Count them')}/2": False,
    "task-42": True,
    f"{task('Count them')}0": True,
    f"other-{task('Count them')}": True,
}


@pytest.mark.parametrize(("key", "may_start"), HASHES.items())
def test_a_key_that_is_a_task_s_hash_is_that_task_s(
    gate: Gate, key: str, *, may_start: bool
) -> None:
    gate.sealed.append(key)
    assert gate.starts(PIPER, dispatch_key=key) is may_start
    given_to = {**CLAUDE, "ledger": {"dispatch_key": key}}
    assert gate.starts(given_to) is may_start


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


ENCRYPTED = {
    **sample("codex/pre_tool_use.collaborationspawn_agent"),
    "ledger": {"dispatch_key": "d-1"},
}
BARE = {"event": "pre_dispatch", "dispatch_key": "d-1"}
# The text that a unit's question is about, a dispatch under it, and a word of the refusal.
ABOUT: dict[str, tuple[str | None, Any, str]] = {
    "the same text": (SEALED, PIPER, ""),
    "no text": (None, PIPER, ""),
    "another text": ("Count them", PIPER, "another task's"),
    "a dispatch without a text": (SEALED, BARE, "has no task"),
    "a dispatch without a text, and none asked about": (None, BARE, ""),
    "a dispatch that says the hash": (
        SEALED, {**BARE, "task_sha256": hash_of(SEALED)}, ""),
    "a dispatch that says another hash": (
        SEALED, {**BARE, "task_sha256": hash_of("Count them")}, "another task's"),
    "a dispatch that says no hash": (
        SEALED, {**BARE, "task_sha256": "unknown"}, "has no task"),
    "a text and its hash": (SEALED, {**PIPER, "task_sha256": hash_of(SEALED)}, ""),
    "a text and another's hash": (
        "Count them", {**PIPER, "task_sha256": hash_of("Count them")},
        "is not this task's"),
    "a text and another's hash, and none asked about": (
        None, {**PIPER, "task_sha256": hash_of("Count them")}, "is not this task's"),
    "a text and no hash": (SEALED, {**PIPER, "task_sha256": "x"}, "is not this task's"),
    "an encrypted text": (SEALED, ENCRYPTED, "another task's"),
    "an encrypted text and its hash": (
        SEALED,
        {**ENCRYPTED, "ledger": {"dispatch_key": "d-1", "task_sha256": hash_of(SEALED)}},
        ""),
    "an encrypted text and another's hash": (
        "Count them",
        {**ENCRYPTED, "ledger": {"dispatch_key": "d-1", "task_sha256": hash_of(SEALED)}},
        "another task's"),
    "what only begins like an encrypted text": (
        SEALED,
        {**ENCRYPTED, "tool_input": {"message": "gAAAA Delete everything"},
         "ledger": {"dispatch_key": "d-1", "task_sha256": hash_of(SEALED)}},
        "is not this task's"),
    "what another runtime would not encrypt": (
        SEALED,
        {**CLAUDE, "tool_input": {"prompt": "gAAAA..."},
         "ledger": {"dispatch_key": "d-1", "task_sha256": hash_of(SEALED)}},
        "is not this task's"),
}  # fmt: skip


@pytest.mark.parametrize(("about", "payload", "why"), ABOUT.values(), ids=ABOUT)
def test_a_forecast_counts_for_the_text_that_it_is_about(
    gate: Gate, about: str | None, payload: Any, why: str
) -> None:
    gate.text_hash = None if about is None else hash_of(about)
    answer = gate.call(payload)
    assert is_blocked(answer) is bool(why)
    assert why in answer.said


@pytest.mark.parametrize("more", ["", "/2"])
def test_a_task_s_hash_for_a_key_needs_that_task_to_be_seen(
    gate: Gate, more: str
) -> None:
    key = f"{task(SEALED)}{more}"
    gate.sealed.append(key)
    refused = gate.call(BARE, dispatch_key=key)
    assert is_blocked(refused)
    assert "say its text, or its task_sha256" in refused.said
    other = hash_of("Count them")
    assert not gate.starts(BARE, dispatch_key=key, task_sha256=other)
    assert gate.starts(BARE, dispatch_key=key, task_sha256=hash_of(SEALED))


def test_a_repeated_dispatch_is_looked_up_again(gate: Gate) -> None:
    assert gate.starts(PIPER)
    gate.status = "RESOLVED"
    assert "has its outcome already (RESOLVED)" in gate.call(PIPER).said
    gate.status = "PENDING"
    gate.text_hash = hash_of("Count them")
    assert "another task's" in gate.call(PIPER).said
    gate.text_hash = None
    gate.sealed.remove("d-1")
    assert "No forecast is sealed" in gate.call(PIPER).said
    gate.sealed.append("d-1")
    assert gate.starts(PIPER)


def test_a_key_under_which_nothing_started_is_free(gate: Gate) -> None:
    gate.sealed.remove("d-1")
    assert not gate.starts(PIPER)
    gate.sealed.append("d-1")
    assert gate.starts(PIPER, task="Said in other words")
    assert not gate.starts(PIPER)


def test_a_refused_repeat_does_not_free_a_key(gate: Gate) -> None:
    first = {**CLAUDE, "ledger": {"dispatch_key": "d-1"}}
    assert gate.starts(first)
    gate.sealed.remove("d-1")
    assert not gate.starts(first, tool_use_id="t-2")
    gate.sealed.append("d-1")
    assert not gate.starts(
        first, tool_use_id="t-3", tool_input=given("Delete everything")
    )
