"""Payloads that no runtime sends: the hook answers each of them, and means it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.daemon.hook_payload import recognised
from ledger.keys.keyfile import write_key
from tests.hook_stage import Installation, fake_daemon, result, sample
from tests.workshop import key_of

DISPATCHES = [
    "claude/pre_tool_use.agent", "codex/pre_tool_use.spawn_agent",
    "copilot/preToolUse.task.camel", "copilot/PreToolUse.task.snake",
    "cursor/subagent_start", "gemini/BeforeTool.invoke_agent",
    "opencode/tool.execute.before", "openhands/PreToolUse",
]  # fmt: skip
ENDS = [
    "claude/post_tool_use.agent_completed", "claude/subagent_stop",
    "codex/subagent_stop", "copilot/SubagentStop.snake", "gemini/AfterTool.invoke_agent",
]  # fmt: skip
PIPER = {
    "event": "pre_dispatch", "dispatch_key": "d-1", "forecast": {"p": 0.5},
    "run": {"session": "s", "key": "k", "runtime": "r"}, "tags": {"domain": "x"},
}  # fmt: skip

UPDATE = {**PIPER, "event": "update", "reason": "x"}

# What is no number has no spelling in JSON either.
numbers = st.floats(allow_nan=False, allow_infinity=False)
odd = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def changed(draw: st.DrawFn, samples: list[Any]) -> Any:
    """Draw a payload in which some fields, at any depth, hold something else."""
    payload = json.loads(json.dumps(draw(st.sampled_from(samples))))
    for _ in range(draw(st.integers(1, 3))):
        place = payload
        while True:
            name = draw(st.sampled_from(sorted(place)))
            inner = place[name]
            if not isinstance(inner, dict) or not inner or draw(st.booleans()):
                break
            place = inner
        if draw(st.booleans()):
            place[name] = draw(odd)
        else:
            place[draw(st.text(max_size=9))] = draw(odd)
    return payload


@pytest.fixture(scope="module")
def hooks(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Installation]]:
    """Give an installation of each policy, and one whose daemon agrees to everything."""
    home: Path = tmp_path_factory.mktemp("hooks")
    made = {
        fail: Installation(home / fail, fail=fail, sockets=[str(home / "none.sock")])
        for fail in ("open", "closed")
    }
    key = home / "forecaster.key"
    write_key(key, key_of("forecaster"))
    found = {
        "chains": {}, "question": {}, "receipts": [{"seq": 1}],
        **dict.fromkeys(("ledger", "question_hash", "suite_hash"), "a" * 64),
    }  # fmt: skip
    with fake_daemon(home / "agent.sock", result(found)):
        sockets = [str(home / "agent.sock")]
        made["agreed"] = Installation(home / "agreed", sockets=sockets, key=str(key))
        yield made


@settings(max_examples=300, deadline=None)
@given(
    changed([*map(sample, DISPATCHES), PIPER, UPDATE]),
    st.sampled_from(["open", "closed", "agreed"]),
)
def test_a_strange_dispatch_gets_a_verdict_or_meets_the_policy(
    hooks: dict[str, Installation], payload: Any, fail: str
) -> None:
    answer = hooks[fail].call(payload, "--fail", fail.replace("agreed", "closed"))
    assert answer.code in (0, 2)
    assert "Traceback" not in answer.said
    assert "Error(" not in answer.said
    if fail == "open" and "unseen by the ledger" in answer.said:
        assert (answer.code, answer.shown) == (0, "")


@settings(max_examples=100, deadline=None)
@given(changed(list(map(sample, ENDS))))
def test_a_strange_end_is_never_told_anything(
    hooks: dict[str, Installation], payload: Any
) -> None:
    delivery = recognised(payload)
    if delivery is not None and delivery.moment not in ("dispatch", "unknown"):
        answer = hooks["closed"].call(payload)
        assert (answer.code, answer.shown) == (0, "")
        assert "Error(" not in answer.said


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_strange_bytes_meet_the_policy(
    hooks: dict[str, Installation], content: bytes
) -> None:
    assert hooks["open"].call(content, "--fail", "open").code == 0
    assert hooks["closed"].call(content, "--fail", "closed").code == 2
