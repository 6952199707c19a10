"""Each runtime's payload, read by its keys: the samples beside this file, and edges."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook_events import QUIET
from ledger.daemon.hook_payload import PIPER_MOMENTS, Delivery, recognised

SAMPLES = Path(__file__).parent / "hook_payloads"
ENDPOINTS = "Find all API endpoints"
CODEX_SESSION = "01a06660-110e-7290-8d1c-8ef1b2b68fc2"
CURSOR_CONVERSATION = "b60ae0c1-2f85-4c4d-b3e5-b512f9b06e4c"
CURSOR_SUBAGENT = (
    "call-2ec9530d-b502-4c4f-8a6e-63f0bf7ebc9a-29\n"
    "fc_49466487-df47-9fb4-8b10-079ee845fb97_0"
)

# runtime, moment, session, key, task, agent, role: what every sample says.
READ = {
    "claude/pre_tool_use.agent": (
        "claude", "dispatch", "abc123", "toolu_01ABC123...", ENDPOINTS, "", "Explore"),
    "claude/pre_tool_use.task_legacy": (
        "claude", "dispatch", "abc123", "toolu_01ABC123...",
        "Create a simple, well-structured HTML webpage...", "", "frontend-developer"),
    "claude/pre_tool_use.bash": (
        "claude", "other", "abc123", "toolu_01ABC123...", "", "", ""),
    "claude/post_tool_use.agent_completed": (
        "claude", "finished", "abc123", "toolu_01ABC123...", ENDPOINTS,
        "a4d2c8f1e0b3a297", "Explore"),
    "claude/post_tool_use.agent_async_launched": (
        "claude", "launched", "abc123", "toolu_01ABC123...", ENDPOINTS,
        "a4d2c8f1e0b3a297", "Explore"),
    "claude/post_tool_use_failure.bash": (
        "claude", "other", "abc123", "toolu_01ABC123...", "", "", ""),
    "claude/subagent_start": (
        "claude", "started", "abc123", "", "", "agent-abc123", "Explore"),
    "claude/subagent_stop": (
        "claude", "finished", "abc123", "", "", "def456", "Explore"),
    "claude/task_created": ("claude", "other", "abc123", "", "", "", ""),
    "claude/task_completed": ("claude", "other", "abc123", "", "", "", ""),
    "codex/pre_tool_use.spawn_agent": (
        "codex", "dispatch", CODEX_SESSION, "call_abc", "bounded fixture", "",
        "explorer"),
    "codex/pre_tool_use.collaborationspawn_agent": (
        "codex", "dispatch", CODEX_SESSION, "call_abc", "gAAAA...", "", "default"),
    "codex/post_tool_use.spawn_agent": (
        "codex", "launched", CODEX_SESSION, "call_abc", "bounded fixture", "",
        "explorer"),
    "codex/subagent_start": (
        "codex", "started", CODEX_SESSION, "", "",
        "01a06661-100a-7ad3-a0f5-b0e6ffdb4b11", "default"),
    "codex/subagent_stop": (
        "codex", "finished", CODEX_SESSION, "", "",
        "01a06661-100a-7ad3-a0f5-b0e6ffdb4b11", "default"),
    "codex/notify.argv": (
        "codex", "other", "b5f6c1c2-1111-2222-3333-444455556666", "", None, "", ""),
    "copilot/preToolUse.task.camel": (
        "copilot", "dispatch", "abc", "", ENDPOINTS, "", "explore"),
    "copilot/PreToolUse.task.snake": (
        "copilot", "dispatch", "abc", "", ENDPOINTS, "", "explore"),
    "copilot/SubagentStop.snake": (
        "copilot", "finished", "abc", "", "", "", "explore"),
    "cursor/subagent_start": (
        "cursor", "dispatch", CURSOR_CONVERSATION,
        "call-2ec9530d-…\nfc_49466487-…_0", "…",
        CURSOR_SUBAGENT, "general-purpose"),
    "cursor/subagent_start.docs": (
        "cursor", "dispatch", "conv-456", "tc-789", "Explore the authentication flow",
        "abc-123", "generalPurpose"),
    "gemini/BeforeTool.invoke_agent": (
        "gemini", "dispatch", "s1", "", ENDPOINTS, "", "codebase_investigator"),
    "gemini/AfterTool.invoke_agent": (
        "gemini", "finished", "s1", "", ENDPOINTS, "", "codebase_investigator"),
    "opencode/tool.execute.before": (
        "opencode", "dispatch", "ses_1", "call_1", "...", "", "qa-specialist"),
    "openhands/PreToolUse": (
        "openhands", "dispatch", "s1", "", "Find endpoints", "", ""),
}  # fmt: skip
# What runtimes are told, how they are configured, and what never reaches a hook.
NO_PAYLOAD = {
    "claude/output.deny",
    "claude/settings.hooks",
    "copilot/output.deny",
    "cursor/output.deny",
    "gemini/output.deny",
    "mcp/tools_call.result",
    "mcp/tools_call.seal_forecast",
    "otel/gen_ai.evaluation.result",
    "python/crewai.hooks",
    "python/inspect_ai.SampleStart.fields",
    "python/langchain.middleware",
    "python/openai_agents.RunHooks",
}


def sample(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))["payload"]


def read(payload: object) -> Delivery:
    delivery = recognised(payload)
    assert delivery is not None
    return delivery


@pytest.mark.parametrize("name", READ)
def test_a_sample_is_read_as_what_it_says(name: str) -> None:
    found = read(sample(name))
    assert (
        found.runtime,
        found.moment,
        found.session,
        found.key,
        found.task,
        found.agent,
        found.role,
    ) == READ[name]


@pytest.mark.parametrize("name", sorted(NO_PAYLOAD))
def test_what_is_no_payload_of_a_hook_is_not_taken_for_one(name: str) -> None:
    assert recognised(sample(name)) is None


def test_every_sample_is_accounted_for() -> None:
    index = json.loads((SAMPLES / "INDEX.json").read_text("utf-8"))
    assert READ.keys() | NO_PAYLOAD == {name.removesuffix(".json") for name in index}


@pytest.mark.parametrize("event", PIPER_MOMENTS)
def test_each_event_of_piper_s_contract_is_its_own_moment(event: str) -> None:
    payload = {
        "event": event,
        "dispatch_key": "d-42",
        "task": "Fix the flaky test",
        "run": {"session": "s", "key": "r-1"},
    }
    found = read(payload)
    assert (found.moment, found.session, found.key, found.task) == (
        PIPER_MOMENTS[event], "", "d-42", "Fix the flaky test",
    )  # fmt: skip


def test_a_dispatch_of_piper_without_a_key_goes_by_its_run() -> None:
    found = read({"event": "pre_dispatch", "run": {"session": "s", "key": "r-1"}})
    assert (found.session, found.key, found.task) == ("s", "r-1", None)


def test_whoever_stands_between_may_add_what_a_runtime_has_no_place_for() -> None:
    added = change("codex/pre_tool_use.spawn_agent", ledger={"dispatch_key": "d-42"})
    assert read(added).said == {"dispatch_key": "d-42"}


def test_within_a_tool_s_input_only_our_own_names_are_the_dispatcher_s() -> None:
    given = {"prompt": "x", "dispatch_key": "d-1", "tags": ["a"], "target": "b"}
    found = read(change("claude/pre_tool_use.agent", tool_input=given))
    assert found.said == {"dispatch_key": "d-1"}


def change(name: str, **fields: object) -> Any:
    return {**sample(name), **fields}


MOMENTS: dict[str, tuple[Any, str]] = {
    "an agent that failed": (
        change("claude/post_tool_use.agent_completed",
               hook_event_name="PostToolUseFailure", error="Exit code 1"), "failed"),
    "an agent that was interrupted": (
        change("claude/post_tool_use.agent_completed",
               hook_event_name="PostToolUseFailure", is_interrupt=True), "canceled"),
    "a teammate that was launched elsewhere": (
        change("claude/post_tool_use.agent_completed",
               tool_response={"status": "remote_launched"}), "launched"),
    "a response that is only text": (
        change("claude/post_tool_use.agent_completed", tool_response="done"),
        "finished"),
    "an event that nobody knew": (
        change("claude/pre_tool_use.agent", hook_event_name="PreDream"), "unknown"),
    "an event in other letters": (
        change("claude/pre_tool_use.agent", hook_event_name="preToolUse"), "unknown"),
    "an event that is no name": (
        change("claude/pre_tool_use.agent", hook_event_name={"name": "PreToolUse"}),
        "unknown"),
    "a tool in other letters": (
        change("claude/pre_tool_use.agent", tool_name="AGENT "), "unknown"),
    "a tool without a name": (
        change("claude/pre_tool_use.agent", tool_name=None), "unknown"),
    "a tool whose name is a list": (
        change("claude/pre_tool_use.agent", tool_name=["Agent"]), "unknown"),
    "a tool that dispatches elsewhere": (
        change("codex/pre_tool_use.spawn_agent", tool_name="Agent"), "unknown"),
    "a tool that is over, whatever its name": (
        change("claude/post_tool_use.agent_completed", tool_name="AGENT"), "other"),
    "Claude's dispatch with Copilot's stamp": (
        change("claude/pre_tool_use.agent", timestamp="2026-11-01T00:00:00Z"), "unknown"),
    "Claude's dispatch with Codex' turn": (
        change("claude/pre_tool_use.agent", turn_id="t"), "unknown"),
    "Claude's dispatch with Piper's end": (
        change("claude/pre_tool_use.agent", event="post_dispatch"), "unknown"),
    "Claude's dispatch with Piper's probe": (
        change("claude/pre_tool_use.agent", event="probe"), "unknown"),
    "Claude's dispatch with OpenCode's call": (
        change("claude/pre_tool_use.agent", tool="bash", callID="c"), "unknown"),
    "Claude's dispatch with Cursor's end": (
        change("claude/pre_tool_use.agent", hook_event_name="PreToolUse",
               subagent_type="x", parent_conversation_id="y"), "unknown"),
    "Codex' dispatch with a notice": (
        change("codex/pre_tool_use.spawn_agent", type="agent-turn-complete"),
        "dispatch"),
    "another tool of Gemini": (
        change("gemini/BeforeTool.invoke_agent", tool_name="read_file"), "other"),
    "another tool of Copilot": (
        change("copilot/preToolUse.task.camel", toolName="bash"), "other"),
    "the end of Copilot's tool": (
        change("copilot/preToolUse.task.camel", toolResult={"resultType": "success"}),
        "finished"),
    "Copilot's tool under another name": (
        {"sessionId": "abc", "timestamp": 1, "tool_name": "task"}, "unknown"),
    "Copilot's session": ({"sessionId": "abc", "timestamp": 1, "cwd": "/"}, "other"),
    "another tool of Codex": (
        change("codex/pre_tool_use.spawn_agent", tool_name="shell"), "other"),
    "another tool of OpenCode": (
        change("opencode/tool.execute.before", tool="bash"), "other"),
    "OpenCode's tool in other letters": (
        change("opencode/tool.execute.before", tool="Task"), "unknown"),
    "OpenCode's tool with what may be changed": (
        change("opencode/tool.execute.before", output={"args": {"prompt": "x"}}),
        "unknown"),
    "the end of OpenCode's tool": (
        change("opencode/tool.execute.before", output={"output": "ok"}), "finished"),
    "OpenHands making its workers": (
        change("openhands/PreToolUse", tool_input={"command": "spawn", "ids": ["a"]}),
        "other"),
    "OpenHands' tasks in another shape": (
        change("openhands/PreToolUse", tool_input={"tasks": ["Find endpoints"]}),
        "unknown"),
    "the end of OpenHands' tool": (
        change("openhands/PreToolUse", event_type="PostToolUse"), "finished"),
    "the end of Cursor's subagent": (
        change("cursor/subagent_start", hook_event_name="subagentStop",
               status="completed"), "finished"),
    "an event of Cursor's subagent that nobody knew": (
        change("cursor/subagent_start", hook_event_name="subagentResume"), "unknown"),
    "Cursor's start without its agent": (
        {"cursor_version": "3", "hook_event_name": "subagentStart"}, "unknown"),
    "Cursor asking before a shell": (
        {"cursor_version": "3", "hook_event_name": "beforeShellExecution"}, "other"),
    "Cursor asking before another tool": (
        {"cursor_version": "3", "hook_event_name": "preToolUse", "tool_name": "Shell"},
        "other"),
    "Cursor asking before the tool Task": (
        {"cursor_version": "3", "hook_event_name": "preToolUse", "tool_name": "Task"},
        "unknown"),
    "Cursor asking before another tool, with a session": (
        {"cursor_version": "3", "hook_event_name": "preToolUse", "tool_name": "Shell",
         "session_id": "s"}, "other"),
    "the end of Cursor's subagent, with a session and a turn": (
        change("cursor/subagent_start", hook_event_name="subagentStop", session_id="s",
               turn_id="t", timestamp=1), "finished"),
    "Cursor's event of tomorrow, with a session": (
        {"cursor_version": "3", "hook_event_name": "preAgentUse", "session_id": "s"},
        "unknown"),
    "Piper's dispatch with a tool of tomorrow": (
        {"event": "pre_dispatch", **change("claude/pre_tool_use.agent",
                                           tool_name="AGENT")}, "dispatch"),
    "Piper's end with another tool": (
        {"event": "post_dispatch", **sample("claude/pre_tool_use.bash")}, "finished"),
    "a tool that hands on": (
        change("claude/pre_tool_use.agent", tool_name="redelegate"), "other"),
    "a tool for tasks": (
        change("claude/pre_tool_use.agent", tool_name="TaskUpdate"), "other"),
    "Cursor's subagent in error": (
        change("cursor/subagent_start", hook_event_name="subagentStop",
               status="error"), "failed"),
    "Cursor's subagent aborted": (
        change("cursor/subagent_start", hook_event_name="subagentStop",
               status="aborted"), "canceled"),
}  # fmt: skip


@pytest.mark.parametrize("event", sorted(QUIET))
def test_what_starts_nothing_is_known_by_its_name(event: str) -> None:
    payload = {"hook_event_name": event, "session_id": "s"}
    assert read(payload).moment == "other"
    assert read({**payload, "hook_event_name": f"{event}s"}).moment == "unknown"


@pytest.mark.parametrize(("payload", "moment"), MOMENTS.values(), ids=MOMENTS)
def test_a_moment_is_told_from_others(payload: Any, moment: str) -> None:
    assert read(payload).moment == moment


def test_copilot_s_arguments_may_be_the_text_of_an_object() -> None:
    given = sample("copilot/preToolUse.task.camel")
    as_text = {**given, "toolArgs": json.dumps(given["toolArgs"])}
    assert read(as_text).task == ENDPOINTS
    assert read(as_text).fingerprint == read(given).fingerprint
    assert read({**given, "toolArgs": "no object"}).task == ""
    assert read({**given, "toolArgs": "[1]"}).task == ""


def test_what_has_no_id_is_known_by_its_session_tool_and_input() -> None:
    before = read(sample("gemini/BeforeTool.invoke_agent"))
    after = read(sample("gemini/AfterTool.invoke_agent"))
    assert before.key == ""
    assert before.fingerprint == after.fingerprint
    other = change("gemini/BeforeTool.invoke_agent", session_id="s2")
    assert before.fingerprint != read(other).fingerprint


def test_several_tasks_of_one_call_are_one_dispatch() -> None:
    given = {"command": "delegate", "tasks": {"b": "two", "a": "one"}}
    found = read(change("openhands/PreToolUse", tool_input=given))
    assert (found.moment, found.task) == ("dispatch", '{"a":"one","b":"two"}')


@pytest.mark.parametrize(
    "payload",
    [None, [], "text", 3, {}, {"event": "pre_dream"}, {"event": ["pre_dispatch"]},
     {"hook_event_name": "PreToolUse"}, {"session_id": "s"}, {"timestamp": 1}],
)  # fmt: skip
def test_what_nobody_sends_is_recognised_as_nothing(payload: object) -> None:
    assert recognised(payload) is None


@pytest.mark.parametrize("odd", [None, [], 1, True, "x", {"prompt": ["x"]}])
def test_a_part_of_another_kind_is_as_absent(odd: object) -> None:
    found = read(change("claude/pre_tool_use.agent", tool_input=odd, session_id=odd))
    assert (found.moment, found.task) == ("dispatch", "")
