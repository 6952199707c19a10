"""What becomes of a dispatch: with a daemon, without one, and whatever it does."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook import answer as answered
from ledger.daemon.hook_answer import Answer
from ledger.daemon.hook_settings import counted
from ledger.keys.keyfile import write_key
from tests.hook_stage import (
    PROGRAM,
    Installation,
    Reply,
    Stage,
    fake_daemon,
    fault,
    forwarded,
    result,
    sample,
)
from tests.workshop import key_of

PROMPT = "Find all API endpoints"
TASK = f"task-{sha256(PROMPT.encode()).hexdigest()}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage")).start()
    yield made
    made.stop()


def dispatch(key: str, **more: object) -> dict[str, object]:
    return {"event": "pre_dispatch", "dispatch_key": key, "forecast": 0.8, **more}


def shown(answer: Answer) -> Any:
    return json.loads(answer.shown)


def is_blocked(answer: Answer) -> bool:
    """Tell whether any runtime would keep the dispatch from starting."""
    said = json.loads(answer.shown) if answer.shown else {}
    return (
        answer.code == 2
        or said.get("decision") == "deny"
        or said.get("permission") == "deny"
        or said.get("hookSpecificOutput", said).get("permissionDecision") == "deny"
    )


# --- Record ---------------------------------------------------------------------------


def test_a_recorded_dispatch_is_opened_and_sealed_before_it_starts(
    stage: Stage,
) -> None:
    run = {"session": "s-1", "key": "r-1", "runtime": "workers"}
    answer = stage.installed().call(dispatch("d-1", task=PROMPT, run=run))
    opened, sealed = stage.about("d-1")

    assert (answer.code, answer.said) == (0, "")
    assert shown(answer)["decision"] == "allow"
    assert shown(answer)["seq"] == stage.log().index(sealed)
    assert (opened["author"], opened["status"]) == ("issuer", "PENDING")
    assert opened["question"]["text_hash"] == sha256(PROMPT.encode()).hexdigest()
    assert (sealed["type"], sealed["author"], sealed["forecaster"]) == (
        "ForecastSealed", "forecaster", "native",
    )  # fmt: skip
    assert sealed["probabilities"] == {"pass": "0.8", "fail": "0.2"}
    assert sealed["extensions"]["trace"] == {
        "runtime": "workers", "session": "s-1", "trigger_id": "r-1",
    }  # fmt: skip


def test_a_dispatch_that_is_delivered_again_is_not_sealed_again(stage: Stage) -> None:
    hook = stage.installed()
    first, second = (hook.call(dispatch("d-twice")) for _ in range(2))
    assert shown(first) == shown(second)
    assert len(stage.about("d-twice")) == 2


def test_a_lost_answer_does_not_double_a_seal(stage: Stage) -> None:
    lost = stage.home / "lost.sock"
    real = stage.installed("lost")
    torn = stage.installed("lost", sockets=[str(lost)])

    def forward(asked: dict[str, Any]) -> bytes:
        """Hand on what is asked, and lose the answer to what writes."""
        line = forwarded(stage, asked)
        return b"" if asked["method"] == "open_seal" else line

    with fake_daemon(lost, forward):
        assert torn.call(dispatch("d-lost")).code == 2
    assert len(stage.about("d-lost")) == 2
    real = stage.installed("lost")
    assert shown(real.call(dispatch("d-lost")))["decision"] == "allow"
    assert len(stage.about("d-lost")) == 2


@pytest.mark.parametrize("name", ["d-at-once", ""])
def test_what_is_delivered_twice_at_once_is_sealed_once(
    stage: Stage, name: str
) -> None:
    hook = stage.installed("at-once")
    words = (*PROGRAM, "hook", "--config", str(hook.file), "--fail", "closed")
    given = dispatch(name, task="At once", run={"session": "s", "key": "at-once"})
    payload = json.dumps(given).encode()
    unit = name or f"task-{sha256(b'At once').hexdigest()}"
    both = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    for each in both:
        assert each.stdin is not None
        each.stdin.write(payload)
        each.stdin.flush()
    said = [json.loads(each.communicate()[0]) for each in both]
    assert {each["decision"] for each in said} == {"allow"}
    assert len({each["event_id"] for each in said}) == 1
    assert len(stage.about(unit)) == 2


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-32000, "already-open"), (-32602, "question-old"), (-32602, "question-changed")],
)
def test_a_question_that_is_opened_no_more_is_asked_for_anew(
    stage: Stage, tmp_path: Path, code: int, kind: str
) -> None:
    refused: list[str] = []

    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "open_seal" and not refused:
            refused.append(kind)
            return fault(code, kind)(asked)
        return forwarded(stage, asked)

    with fake_daemon(tmp_path / "s", reply):
        hook = stage.installed(f"stale-{kind}", sockets=[str(tmp_path / "s")])
        assert hook.call(dispatch(f"d-{kind}")).code == 0
    assert len(stage.about(f"d-{kind}")) == 2


def test_an_update_adds_to_the_chain_once(stage: Stage) -> None:
    hook = stage.installed()
    hook.call(dispatch("d-update"))
    update = {
        "event": "update", "dispatch_key": "d-update", "forecast": {"p": 0.65},
        "reason": "a test is quarantined",
    }  # fmt: skip
    first, second = (hook.call(update) for _ in range(2))
    _, sealed, updated = stage.about("d-update")

    assert shown(first) == shown(second)
    assert updated["type"] == "ForecastUpdated"
    assert updated["reason"] == "a test is quarantined"
    assert updated["probabilities"] == {"pass": "0.65", "fail": "0.35"}
    assert "parent" in updated
    assert updated["parent"] != sealed["question_hash"]


def update(key: str, forecast: object) -> dict[str, object]:
    return {"event": "update", "dispatch_key": key, "forecast": forecast}


def test_a_value_that_was_said_before_is_said_again(stage: Stage) -> None:
    hook = stage.installed()
    hook.call(dispatch("d-back"))
    said = [shown(hook.call(update("d-back", each))) for each in (0.2, 0.3, 0.2, 0.2)]
    assert len({each["event_id"] for each in said[:3]}) == 3
    assert said[3] == said[2]
    updates = stage.about("d-back")[2:]
    assert [each["probabilities"]["pass"] for each in updates] == ["0.2", "0.3", "0.2"]
    # The end of the run changes nothing.
    hook.call({"event": "post_dispatch", "dispatch_key": "d-back"})
    assert shown(hook.call(update("d-back", 0.2))) == said[2]


@pytest.mark.parametrize("is_written", [True, False])
def test_a_lost_answer_does_not_double_an_update(
    stage: Stage, tmp_path: Path, *, is_written: bool
) -> None:
    key = f"d-lost-update-{is_written}"

    def lose(asked: dict[str, Any]) -> bytes:
        if asked["method"] != "append":
            return forwarded(stage, asked)
        if is_written:
            forwarded(stage, asked)
        return b""

    stage.installed(key).call(dispatch(key))
    with fake_daemon(tmp_path / "s", lose):
        torn = stage.installed(key, sockets=[str(tmp_path / "s")])
        assert torn.call(update(key, 0.4)).code == 2
    assert shown(stage.installed(key).call(update(key, 0.4)))["decision"] == "allow"
    assert len(stage.about(key)) == 3


@pytest.mark.parametrize("count", [1, 5])
def test_an_update_that_another_forestalled_follows_it(
    stage: Stage, tmp_path: Path, count: int
) -> None:
    key = f"d-forestalled-{count}"
    others = stage.installed(f"{key}-others")
    others.call(dispatch(key))
    left = list(range(count))

    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "append" and left:
            process(others, update(key, f"0.1{left.pop()}"))
        return forwarded(stage, asked)

    with fake_daemon(tmp_path / "s", reply):
        hook = stage.installed(key, sockets=[str(tmp_path / "s")])
        answer = hook.call(update(key, 0.5))
    assert answer.code == 0, answer.said
    updates = stage.about(key)[2:]
    assert len(updates) == count + 1
    assert updates[-1]["probabilities"]["pass"] == "0.5"


def test_an_update_that_is_always_forestalled_is_to_be_sent_again(
    tmp_path: Path,
) -> None:
    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "append":
            error = {"code": "parent-not-last", "message": "it was updated"}
            return result({"receipts": [{"error": error}]})(asked)
        return result({"chains": {"native": "a" * 64}, "ledger": "b" * 64})(asked)

    key = tmp_path / "forecaster.key"
    write_key(key, key_of("forecaster"))
    with fake_daemon(tmp_path / "s", reply):
        hook = Installation(tmp_path, sockets=[str(tmp_path / "s")], key=str(key))
        answer = hook.call(update("d-1", 0.5))
    assert answer.code == 2
    assert "it was updated; this was tried 12 times: send it again" in answer.said


def test_an_update_of_what_was_never_sealed_is_refused(stage: Stage) -> None:
    answer = stage.installed().call(
        {"event": "update", "dispatch_key": "d-never", "forecast": 0.5}
    )
    assert answer.code == 2
    assert "nothing is sealed on d-never" in answer.said


def test_a_refused_forecast_blocks_and_leaves_nothing_behind(stage: Stage) -> None:
    hook = stage.installed(fail="open")
    for unfit, why in (
        ({"p": 1.5}, "from 0 to 1"),
        ({"p": 0.5, "quantities": {"cost_usd": 1}}, "unknown-quantity"),
    ):
        answer = hook.call(dispatch("d-unfit", forecast=unfit))
        assert answer.code == 2  # A verdict: no policy changes it.
        assert why in answer.said
    assert stage.about("d-unfit") == []
    assert hook.call(dispatch("d-unfit")).code == 0


# What is sealed, what the payload of a second delivery says, and whether it may start.
SECONDS: dict[str, tuple[object, object, bool]] = {
    "the same": (0.8, 0.8, True),
    "the same in another spelling": (0.8, {"probabilities": {"fail": "0.20"}}, True),
    "the same with reasons": (0.8, {"p": 0.8, "reason_codes": ["small-diff"]}, True),
    "none": (0.8, None, True),
    "another": (0.8, 0.800001, False),
    "another in words": (0.8, {"probabilities": {"pass": 0.2, "fail": 0.8}}, False),
    "one that is unfit": (0.8, 2, False),
    "a quantity more": (0.8, {"p": 0.8, "quantities": {"minutes": 9}}, False),
    "a hidden one": (0.8, {"commitment": "c" * 64}, False),
}  # fmt: skip


@pytest.mark.parametrize("between", ["", "over", "elsewhere"])
@pytest.mark.parametrize(
    ("first", "second", "may_start"), SECONDS.values(), ids=SECONDS
)
def test_no_forecast_is_dropped_in_silence(
    stage: Stage, between: str, first: object, second: object, *, may_start: bool
) -> None:
    """The first is in this installation's memory, or its run is over, or another's."""
    key = f"d-{between}-{sha256(repr((first, second)).encode()).hexdigest()[:9]}"
    hook = stage.installed("dropped")
    sealing = stage.installed("dropped-elsewhere") if between == "elsewhere" else hook
    assert sealing.call(dispatch(key, forecast=first)).code == 0
    if between == "over":
        hook.call({"event": "post_dispatch", "dispatch_key": key})
    answer = hook.call(dispatch(key, forecast=second))
    assert (answer.code == 0) is may_start
    if not may_start and second != 2:
        assert f"native has sealed another forecast on {key} already" in answer.said
        assert "send this one as an update" in answer.said
    assert len(stage.about(key)) == 2


def test_what_an_update_took_back_is_not_what_is_sealed(stage: Stage) -> None:
    hook = stage.installed("took-back")
    hook.call(dispatch("d-took-back", forecast=0.8))
    hook.call(update("d-took-back", 0.3))
    # The dispatch delivered again is the same dispatch, whatever was said since.
    assert hook.call(dispatch("d-took-back", forecast=0.8)).code == 0
    hook.call({"event": "post_dispatch", "dispatch_key": "d-took-back"})
    assert hook.call(dispatch("d-took-back", forecast=0.8)).code == 2
    assert hook.call(dispatch("d-took-back", forecast=0.3)).code == 0


def test_a_runtime_s_payload_may_carry_the_forecast_beside_its_own(
    stage: Stage,
) -> None:
    hook = stage.installed("claude-record")
    payload = sample("claude/pre_tool_use.agent")
    answer = hook.call({**payload, "ledger": {"forecast": 0.7}})
    [_, sealed] = stage.about(TASK)

    assert (answer.code, answer.shown, answer.said) == (0, "", "")
    assert sealed["extensions"]["trace"] == {
        "runtime": "claude", "session": "abc123", "trigger_id": "toolu_01ABC123...",
    }  # fmt: skip


def test_a_task_that_is_dispatched_again_is_another_unit(stage: Stage) -> None:
    hook = stage.installed("claude-repeats")
    prompt = "Say it again"
    task = f"task-{sha256(prompt.encode()).hexdigest()}"
    payload = {
        **sample("claude/pre_tool_use.agent"),
        "tool_input": {"prompt": prompt},
        "ledger": {"forecast": 0.7},
    }
    for tool_id in ("t-1", "t-2", "t-1", "t-3"):
        assert not is_blocked(hook.call({**payload, "tool_use_id": tool_id}))
    assert [len(stage.about(task + more)) for more in ("", "/2", "/3", "/4")] == [
        2, 2, 2, 0,
    ]  # fmt: skip


def test_in_record_mode_too_a_forecast_may_have_been_sealed_before(
    stage: Stage,
) -> None:
    payload = {"event": "pre_dispatch", "dispatch_key": "d-before"}
    hook = stage.installed("before")
    refused = hook.call(payload)
    assert refused.code == 2
    assert "ledger seal" in refused.said
    stage.seal("d-before")
    assert hook.call(payload).code == 0


def test_tags_that_the_opening_allows_are_the_dispatcher_s(stage: Stage) -> None:
    hook = stage.installed("tags")
    answer = hook.call(dispatch("d-tags", tags={"domain": "bugfix"}, target="repo-a"))
    [opened, _] = stage.about("d-tags")
    assert answer.code == 0
    assert opened["question"]["tags"] == {"domain": "bugfix"}
    assert opened["question"]["target"] == "repo-a"
    assert hook.call(dispatch("d-strange", tags={"mood": "good"})).code == 2


def test_no_prompt_is_kept_anywhere(stage: Stage) -> None:
    secret = "the password is hunter2"
    hook = stage.installed("secret")
    payload = {
        **sample("claude/pre_tool_use.agent"),
        "tool_input": {"prompt": secret, "description": secret},
        "ledger": {"forecast": 0.7},
        "user_email": secret,
    }
    assert not is_blocked(hook.call(payload))
    kept = [path for path in stage.home.rglob("*") if path.is_file()]
    assert len(kept) > 10
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []


# --- Gate -----------------------------------------------------------------------------


def test_a_gate_blocks_until_a_forecast_is_sealed_and_says_how(stage: Stage) -> None:
    gate = stage.installed("gate", mode="gate")
    payload = {
        **sample("codex/pre_tool_use.spawn_agent"),
        "ledger": {"dispatch_key": "d-gate"},
    }
    refused = gate.call(payload)
    assert refused.code == 2
    assert "--id d-gate --horizon 24h --as native" in refused.said
    assert stage.about("d-gate") == []
    stage.seal("d-gate")
    assert gate.call(payload).code == 0
    assert len(stage.about("d-gate")) == 2


def test_a_gate_wants_the_forecast_of_its_forecaster(stage: Stage) -> None:
    stage.seal("d-whose")
    payload = {"event": "pre_dispatch", "dispatch_key": "d-whose"}
    assert stage.installed("g-own", mode="gate").call(payload).code == 0
    assert stage.installed("g-any", mode="gate", forecaster="").call(payload).code == 0
    other = stage.installed("g-other", mode="gate", forecaster="native-calibrated")
    assert other.call(payload).code == 2


def test_a_gate_lets_nothing_start_whose_outcome_is_known(stage: Stage) -> None:
    stage.seal("d-known")
    stage.stop()
    resolved = stage.console.here(
        "resolve", "--suite", "piper-self@v1", "--template", "dispatch-pass",
        "--id", "d-known", "--outcome", "pass",
    )  # fmt: skip
    stage.start()
    assert resolved.code == 0, resolved.stderr
    gate = stage.installed("g-known", mode="gate")
    refused = gate.call({"event": "pre_dispatch", "dispatch_key": "d-known"})
    assert refused.code == 2
    assert "has its outcome already" in refused.said


def test_no_mode_and_no_repeat_starts_what_has_its_outcome(stage: Stage) -> None:
    record = stage.installed("r-known")
    gate = stage.installed("g-known-again", mode="gate")
    bare = {"event": "pre_dispatch", "dispatch_key": "d-known-again"}
    assert record.call(dispatch("d-known-again")).code == 0
    assert gate.call(bare).code == 0
    stage.seal("d-known-before")
    stage.stop()
    for key in ("d-known-again", "d-known-before"):
        resolved = stage.console.here(
            "resolve", "--suite", "piper-self@v1", "--template", "dispatch-pass",
            "--id", key, "--status", "CANCELED", "--reason", "operator",
        )  # fmt: skip
        assert resolved.code == 0, resolved.stderr
    stage.start()
    for hook, payload in (
        (record, dispatch("d-known-again")),
        (record, bare),
        (gate, bare),
        (record, dispatch("d-known-before")),
        (record, dispatch("d-known-before", forecast=0.7)),
        (stage.installed("r-other", forecaster="other"), dispatch("d-known-before")),
    ):
        refused = hook.call(payload)
        assert refused.code == 2
        assert "has its outcome already (CANCELED)" in refused.said


def test_a_forecast_about_one_task_lets_no_other_start(stage: Stage) -> None:
    stage.seal("d-about", task=PROMPT)
    payload = {"event": "pre_dispatch", "dispatch_key": "d-about", "forecast": 0.7}
    for name, mode in (("g-about", "gate"), ("r-about", "record")):
        hook = stage.installed(name, mode=mode)
        refused = hook.call({**payload, "task": "Delete everything"})
        assert refused.code == 2
        assert "d-about is another task's" in refused.said
        assert hook.call({**payload, "task": PROMPT}).code == 0


def test_a_gate_takes_each_forecast_for_one_dispatch_of_a_task(stage: Stage) -> None:
    prompt = "Gate me twice"
    task = f"task-{sha256(prompt.encode()).hexdigest()}"
    gate = stage.installed("g-repeats", mode="gate")
    payload = {**sample("claude/pre_tool_use.agent"), "tool_input": {"prompt": prompt}}
    stage.seal(task, task=prompt)
    assert not is_blocked(gate.call({**payload, "tool_use_id": "t-1"}))
    assert not is_blocked(gate.call({**payload, "tool_use_id": "t-1"}))
    again = {**payload, "tool_use_id": "t-2"}
    refused = gate.call(again)
    assert is_blocked(refused)
    assert f"{task}/2" in refused.said
    # However often it is tried, it is the second dispatch.
    assert f"{task}/2 " in gate.call({**payload, "tool_use_id": "t-3"}).said
    stage.seal(f"{task}/2", task=prompt)
    assert not is_blocked(gate.call(again))


def test_a_gate_records_nothing(stage: Stage) -> None:
    gate = stage.installed("g-update", mode="gate")
    before = len(stage.log())
    assert gate.call(dispatch("d-gate-record")).code == 2
    answer = gate.call({"event": "update", "dispatch_key": "x", "forecast": 0.5})
    assert answer.code == 2
    assert len(stage.log()) == before


def test_a_dispatch_without_a_name_is_asked_for_one(stage: Stage) -> None:
    answer = stage.installed("unnamed").call({"event": "pre_dispatch", "forecast": 1})
    assert answer.code == 2
    assert "dispatch_key" in answer.said


def test_the_dispatcher_may_say_the_hash_of_a_task_that_cannot_be_read(
    stage: Stage,
) -> None:
    digest = sha256(b"the plain text").hexdigest()
    payload = {
        **sample("codex/pre_tool_use.collaborationspawn_agent"),
        "ledger": {"task_sha256": digest, "forecast": 0.6},
    }
    assert stage.installed("hashed").call(payload).code == 0
    assert len(stage.about(f"task-{digest}")) == 2


def test_a_probe_goes_all_the_way_and_writes_nothing(stage: Stage) -> None:
    before = len(stage.log())
    answer = stage.installed("probe").call({"event": "probe"})
    assert shown(answer)["ledger"] == stage.ledger_id
    assert len(stage.log()) == before


# --- Each runtime is told in its own words --------------------------------------------

DENIALS: dict[str, tuple[str, Callable[[Answer], str]]] = {
    "claude/pre_tool_use.agent": (
        "claude/output.deny",
        lambda it: shown(it)["hookSpecificOutput"]["permissionDecisionReason"]),
    "claude/pre_tool_use.task_legacy": (
        "claude/output.deny",
        lambda it: shown(it)["hookSpecificOutput"]["permissionDecisionReason"]),
    "cursor/subagent_start": ("cursor/output.deny", lambda it: shown(it)["user_message"]),
    "cursor/subagent_start.docs": (
        "cursor/output.deny", lambda it: shown(it)["agent_message"]),
    "copilot/preToolUse.task.camel": (
        "copilot/output.deny", lambda it: shown(it)["permissionDecisionReason"]),
    "copilot/PreToolUse.task.snake": (
        "copilot/output.deny", lambda it: shown(it)["permissionDecisionReason"]),
    "gemini/BeforeTool.invoke_agent": (
        "gemini/output.deny", lambda it: shown(it)["reason"]),
}  # fmt: skip


def shape(found: Any) -> Any:
    """Return what a value is made of, without its sentences."""
    if isinstance(found, dict):
        return {name: shape(value) for name, value in found.items()}
    return found if found in ("deny", "PreToolUse") else type(found)


@pytest.mark.parametrize(("name", "case"), DENIALS.items(), ids=DENIALS)
def test_a_block_has_the_runtime_s_own_shape_on_stdout(
    tmp_path: Path, name: str, case: tuple[str, Callable[[Answer], str]]
) -> None:
    expected, reason = case
    answer = Installation(tmp_path).call(sample(name))
    assert answer.code == 0
    assert shape(shown(answer)) == shape(sample(expected))
    assert reason(answer) == answer.said
    assert "may not start" in answer.said


@pytest.mark.parametrize(
    "name",
    ["codex/pre_tool_use.spawn_agent", "codex/pre_tool_use.collaborationspawn_agent",
     "opencode/tool.execute.before", "openhands/PreToolUse"],
)  # fmt: skip
def test_others_are_blocked_by_the_exit_status_and_a_sentence(
    tmp_path: Path, name: str
) -> None:
    answer = Installation(tmp_path).call(sample(name))
    assert (answer.code, answer.shown) == (2, "")
    assert "may not start" in answer.said


NEVER_BLOCKED = [
    "claude/pre_tool_use.bash", "claude/post_tool_use.agent_completed",
    "claude/post_tool_use.agent_async_launched", "claude/post_tool_use_failure.bash",
    "claude/subagent_start", "claude/subagent_stop", "claude/task_created",
    "claude/task_completed", "codex/post_tool_use.spawn_agent", "codex/subagent_start",
    "codex/subagent_stop", "codex/notify.argv", "copilot/SubagentStop.snake",
    "gemini/AfterTool.invoke_agent",
]  # fmt: skip


@pytest.mark.parametrize("name", NEVER_BLOCKED)
def test_what_is_no_dispatch_is_never_disturbed(tmp_path: Path, name: str) -> None:
    answer = Installation(tmp_path).call(sample(name))
    assert (answer.code, answer.shown, answer.said) == (0, "", "")


@pytest.mark.parametrize("name", NEVER_BLOCKED)
def test_nor_where_nothing_works(tmp_path: Path, name: str) -> None:
    hook = Installation(tmp_path, state=str(tmp_path / "hook.json"))
    answer = hook.call(sample(name))
    assert (answer.code, answer.shown) == (0, "")
    hook.file.unlink()
    assert hook.call(sample(name)).code == 0


def test_a_payload_may_be_the_last_argument(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    text = json.dumps(sample("codex/notify.argv"))
    answer = hook.call(b"", "--fail", "closed", text)
    assert (answer.code, answer.shown, answer.said) == (0, "", "")
    assert counted(str(tmp_path))["other"] == 1


# --- Trouble --------------------------------------------------------------------------


def broken_settings(hook: Installation, content: str) -> None:
    hook.file.write_text(content)


def broken_file(path: Path) -> None:
    path.write_text("")


def without(name: str) -> Callable[[Installation], None]:
    return lambda hook: broken_settings(
        hook, json.dumps({k: v for k, v in hook.settings.items() if k != name})
    )


def saying(**said: object) -> Callable[[Installation], None]:
    return lambda hook: broken_settings(hook, json.dumps({**hook.settings, **said}))


def as_it_is(hook: Installation) -> None:
    del hook


# What the daemon does, what is done to the installation, and a word of the reason.
Trouble = tuple[Reply | str | None, Callable[[Installation], None], str]
TROUBLES: dict[str, Trouble] = {
    "a daemon that is missing": ("missing", as_it_is, "No such file"),
    "a daemon that was killed": ("killed", as_it_is, "Connection refused"),
    "a daemon that hangs": (None, as_it_is, "deadline"),
    "a daemon that hangs up": (lambda _: b"", as_it_is, "hung up"),
    "a daemon that speaks something else": (
        lambda _: b"HTTP/1.1 400\r\n", as_it_is, "no JSON"),
    "a daemon that answers a list": (lambda _: b"[]\n", as_it_is, "no object"),
    "a daemon without end": (
        lambda _: b"x" * 2_000_000 + b"\n", as_it_is, "no end|no JSON"),
    "a daemon that answers half a line": (lambda _: b'{"jsonrpc"', as_it_is, "deadline"),
    "a daemon that is busy for ever": (
        fault(-32001, "busy", retry_after_ms=10), as_it_is, "deadline"),
    "a daemon whose disk is full": (
        fault(-32001, "disk-low", retry_after_ms=10), as_it_is, "it is disk-low"),
    "a daemon whose disk is full, before a gate": (
        fault(-32001, "disk-low", retry_after_ms=10), saying(mode="gate"),
        "it is disk-low"),
    "a daemon that stopped writing": (
        fault(-32002, "stopped"), as_it_is, "it is stopped"),
    "a daemon that forbids it": (
        fault(-32003, "forbidden"), as_it_is, "it is forbidden"),
    "a daemon that opens nothing": (
        fault(-32602, "no-opening"), as_it_is, "it is no-opening"),
    "a daemon that knows no such suite": (
        fault(-32000, "unknown-suite"), as_it_is, "it is unknown-suite"),
    "a daemon of another ledger": (
        result({"ledger": "f" * 64}), saying(ledger="a" * 64), "keeps ledger fff"),
    "a daemon of another ledger, before a gate": (
        result({"ledger": "f" * 64, "chains": {"native": "a" * 64}}),
        saying(ledger="a" * 64, mode="gate"), "keeps ledger fff"),
    "a daemon of no ledger, before a gate": (
        result({"chains": {"native": "a" * 64}}),
        saying(ledger="a" * 64, mode="gate"), "keeps ledger None"),
    "no socket": ("missing", saying(sockets=[]), "no socket"),
    "no key": (result({"ledger": None, "question_hash": "a" * 64}), as_it_is, "key file"),
    "no settings": ("missing", lambda hook: hook.file.unlink(), "is missing"),
    "settings that are no JSON": (
        "missing", lambda hook: broken_settings(hook, "{"), "cannot be read"),
    "settings that are no object": (
        "missing", lambda hook: broken_settings(hook, "[]"), "no object"),
    "settings of a newer program": ("missing", saying(format="hook/9"), "hook/9"),
    "settings without a suite": ("missing", without("suite"), "no suite"),
    "settings without a forecaster": ("missing", without("forecaster"), "forecaster"),
    "settings of a strange mode": ("missing", saying(mode="hope"), "'hope'"),
    "settings of a strange policy": ("missing", saying(fail="ajar"), "'ajar'"),
    "settings with one socket for a list": (
        "missing", saying(sockets="a.sock"), "list of sockets"),
    "settings without time": ("missing", saying(deadline_ms=0), "deadline_ms"),
    "settings with more than an hour": (
        "missing", saying(deadline_ms=3_600_001), "from 1 to 3600000"),
    "settings with more time than there is": (
        "missing", saying(deadline_ms=10**30), "from 1 to 3600000"),
    "settings with an hour": ("missing", saying(deadline_ms=3_600_000), "No such file"),
    "a memory that is damaged": (
        "missing", lambda hook: broken_file(hook.state / "runs"), "cannot be read"),
}  # fmt: skip


@pytest.fixture(params=list(TROUBLES), ids=list(TROUBLES))
def trouble(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Give a function that installs a hook, breaks it, and lets it be called."""
    daemon, spoil, why = TROUBLES[request.param]
    path = tmp_path / "agent.sock"

    def called(policy: str) -> tuple[Answer, str]:
        hook = Installation(
            tmp_path / "hook", sockets=[str(path)], fail=policy, deadline_ms=300
        )
        spoil(hook)
        began = time.monotonic()
        answer = hook.call(dispatch("d-1"), "--fail", policy)
        # The deadline is a third of a second; a busy machine may take its time.
        assert time.monotonic() - began < 15
        return answer, why

    if daemon == "killed":
        with fake_daemon(path, None):
            pass
    if isinstance(daemon, str):
        yield called
        return
    with fake_daemon(path, daemon):
        yield called


def test_an_installation_that_fails_closed_blocks_in_every_trouble(
    trouble: Callable[[str], tuple[Answer, str]],
) -> None:
    answer, why = trouble("closed")
    assert answer.code == 2
    assert shown(answer)["decision"] == "deny"
    assert any(part in answer.said for part in why.split("|")), answer.said


def test_an_installation_that_fails_open_lets_it_start_and_says_so(
    trouble: Callable[[str], tuple[Answer, str]],
) -> None:
    answer, why = trouble("open")
    assert (answer.code, answer.shown) == (0, "")
    assert "unseen by the ledger" in answer.said
    assert any(part in answer.said for part in why.split("|")), answer.said


@pytest.mark.parametrize("kind", ["busy", "corrupt-log", "uncheckable"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["request", "event"])
@pytest.mark.parametrize(("policy", "code"), [("open", 0), ("closed", 2)])
def test_a_refusal_that_is_about_the_ledger_meets_the_policy_and_is_sent_again(
    tmp_path: Path, kind: str, policy: str, code: int, *, is_whole: bool
) -> None:
    sent: list[Any] = []

    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "open_seal":
            sent.append(asked["params"])
            if is_whole:
                return fault(-32000, kind)(asked)
            error = {"code": kind, "message": "nothing was decided"}
            return result({"receipts": [{"error": error}]})(asked)
        return result({"ledger": "b" * 64, "question": {}, "question_hash": "a" * 64})(
            asked
        )

    key = tmp_path / "forecaster.key"
    write_key(key, key_of("forecaster"))
    with fake_daemon(tmp_path / "s", reply):
        hook = Installation(
            tmp_path, sockets=[str(tmp_path / "s")], key=str(key), fail=policy
        )
        for _ in range(2):
            answer = hook.call(dispatch("d-1"), "--fail", policy)
            assert answer.code == code, answer.said
            assert "the ledger takes nothing" in answer.said
    first, second = sent
    assert first == second, "what was signed is kept"


UNREADABLE = {
    "nothing": b"",
    "no JSON": b"garbage",
    "half an object": b'{"event":"pre_dispatch"',
    "invalid UTF-8": b'{"event":"\xff"}',
    "a bomb": b"[" * 200_000,
    "an endless number": b"1" * 5_000,
    "too much": b" " * (17 * 1_048_576),
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize(("policy", "code"), [("open", 0), ("closed", 2)])
def test_what_cannot_be_read_meets_the_policy_of_the_call(
    tmp_path: Path, content: bytes, policy: str, code: int
) -> None:
    hook = Installation(tmp_path)
    assert hook.call(content, "--fail", policy).code == code


def test_a_runtime_that_never_finishes_its_payload_meets_the_policy(
    tmp_path: Path,
) -> None:
    hook = Installation(tmp_path, deadline_ms=200)
    reading, writing = os.pipe()
    try:
        os.write(writing, b'{"event"')
        answer = answered(("--config", str(hook.file), "--fail", "closed"), reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert answer.code == 2
    assert "deadline" in answer.said


def test_each_delivery_is_counted_by_what_became_of_it(stage: Stage) -> None:
    hook = stage.installed("counted")
    hook.call(dispatch("d-counted"))
    hook.call(dispatch("d-counted"))  # Known: its receipt comes again.
    hook.call(dispatch("d-counted-2", forecast=2))
    hook.call(sample("claude/subagent_stop"))
    hook.call(sample("claude/pre_tool_use.bash"))
    hook.call({"event": "probe"})
    stage.installed("counted", sockets=[]).call(dispatch("d-counted-3"))
    stage.installed("counted", sockets=[], fail="open").call(
        dispatch("d-counted-3"), "--fail", "open"
    )
    assert counted(str(hook.state)) == {
        "allowed": 2, "blocked": 1, "failed-closed": 1, "failed-open": 1,
        "lifecycle": 1, "other": 1, "unknown": 0, "probe": 1,
    }  # fmt: skip


def test_an_installation_that_was_never_called_has_counted_nothing(
    tmp_path: Path,
) -> None:
    assert set(counted(str(tmp_path)).values()) == {0}


# --- Joins ----------------------------------------------------------------------------


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Callable[[Any], list[Any]]]:
    """Give a hook that lets everything start, and returns what it observed by then."""
    path = tmp_path / "agent.sock"
    found = {"chains": {"native": "a" * 64}, "status": "PENDING"}
    with fake_daemon(path, result(found)):
        hook = Installation(tmp_path / "hook", sockets=[str(path)], mode="gate")

        def call(payload: Any) -> list[Any]:
            assert not is_blocked(hook.call(payload))
            return hook.seen()

        yield call


def run_of(seen: Any) -> tuple[str, dict[str, str]]:
    return seen["what"], seen["run"]


def test_the_tool_s_id_joins_an_end_to_its_dispatch(gate: Any) -> None:
    gate(sample("claude/pre_tool_use.agent"))
    [seen] = gate(sample("claude/post_tool_use.agent_completed"))
    assert seen["unit"] == ["piper-self@v1", "dispatch-pass", TASK, "24h"]
    assert run_of(seen) == (
        "finished",
        {"runtime": "claude", "session": "abc123", "key": "toolu_01ABC123..."},
    )
    # Delivered again, it is the same observation.
    assert len(gate(sample("claude/post_tool_use.agent_completed"))) == 1


def test_a_launch_is_no_end_and_binds_the_agent(gate: Any) -> None:
    gate(sample("claude/pre_tool_use.agent"))
    assert gate(sample("claude/post_tool_use.agent_async_launched")) == []
    stop = sample("claude/subagent_stop")
    [seen] = gate({**stop, "agent_id": "a4d2c8f1e0b3a297"})
    assert run_of(seen) == (
        "finished",
        {"runtime": "claude", "session": "abc123", "key": "a4d2c8f1e0b3a297"},
    )


def test_an_agent_that_is_bound_to_nothing_is_joined_by_inference(gate: Any) -> None:
    gate(sample("claude/pre_tool_use.agent"))
    [seen] = gate(sample("claude/subagent_stop"))
    assert seen["run"]["inferred"] == "session and kind of agent, first in, first out"


def test_an_agent_of_another_kind_or_session_is_joined_to_nothing(gate: Any) -> None:
    gate(sample("claude/pre_tool_use.agent"))
    stop = sample("claude/subagent_stop")
    assert gate({**stop, "agent_type": "Plan"}) == []
    assert gate({**stop, "session_id": "other"}) == []
    assert (
        gate({**sample("claude/post_tool_use.agent_completed"), "tool_use_id": "x"})
        == []
    )


def test_without_ids_the_first_that_began_ends_first(gate: Any) -> None:
    before = sample("gemini/BeforeTool.invoke_agent")
    after = sample("gemini/AfterTool.invoke_agent")
    gate({**before, "timestamp": "2026-08-21T16:16:56.000Z"})
    gate({**before, "timestamp": "2026-08-21T16:16:57.000Z"})
    gate(after)
    both = gate({**after, "timestamp": "2026-08-21T16:17:00.000Z"})
    assert sorted(seen["unit"][2] for seen in both) == [TASK, f"{TASK}/2"]
    assert {seen["run"]["inferred"] for seen in both} == {
        "session, tool and input, first in, first out"
    }
    assert len(gate({**after, "timestamp": "2026-08-21T16:18:00.000Z"})) == 2


def test_without_ids_and_stamps_an_open_run_is_believed_to_be_repeated(
    gate: Any,
) -> None:
    before = sample("openhands/PreToolUse")
    after = {**before, "event_type": "PostToolUse", "tool_response": "done"}
    gate(before)
    gate(before)
    assert len(gate(after)) == 1
    gate(before)
    seen = gate(after)
    task = f"task-{sha256(b'Find endpoints').hexdigest()}"
    assert sorted(each["unit"][2] for each in seen) == [task, f"{task}/2"]


ENDS = {"post_dispatch": "finished", "cancelled": "canceled", "timed_out": "timed-out"}


@pytest.mark.parametrize(("event", "what"), ENDS.items())
def test_each_end_of_piper_s_contract_is_observed_as_what_it_was(
    gate: Any, event: str, what: str
) -> None:
    gate({"event": "pre_dispatch", "dispatch_key": "d-1"})
    [seen] = gate({"event": event, "dispatch_key": "d-1", "run": {"session": "s"}})
    assert run_of(seen) == (what, {"runtime": "piper", "session": "s", "key": "d-1"})
    assert seen["unit"][2] == "d-1"


def test_an_end_without_a_dispatch_is_observed_by_nobody(gate: Any) -> None:
    assert gate({"event": "post_dispatch", "dispatch_key": "d-never"}) == []


# --- As a process ---------------------------------------------------------------------


def process(hook: Installation, payload: object, **streams: Any) -> Any:
    words = (*PROGRAM, "hook", "--config", str(hook.file), "--fail", "closed")
    return subprocess.run(
        words, input=json.dumps(payload).encode(), check=False, timeout=60,
        **{"capture_output": True, **streams},
    )  # fmt: skip


def test_the_command_answers_as_a_process(tmp_path: Path) -> None:
    hook = Installation(tmp_path)
    done = process(hook, sample("claude/pre_tool_use.agent"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert b"may not start" in done.stderr
    assert process(hook, sample("codex/pre_tool_use.spawn_agent")).returncode == 2
    assert process(hook, sample("claude/pre_tool_use.bash")).returncode == 0


def test_a_block_that_stdout_does_not_take_is_said_by_the_exit_status(
    tmp_path: Path,
) -> None:
    hook = Installation(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(
            hook, sample("claude/pre_tool_use.agent"), capture_output=False,
            stdout=writing, stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.returncode == 2


def test_a_seal_as_a_process(stage: Stage) -> None:
    done = process(stage.installed("process"), dispatch("d-process"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["unit"][2] == "d-process"
    assert len(stage.about("d-process")) == 2


def test_a_key_that_is_not_the_author_s_blocks(stage: Stage) -> None:
    path = stage.home / "stranger.key"
    write_key(path, key_of("forecaster"))
    answer = stage.installed("stranger", key=str(path)).call(dispatch("d-stranger"))
    assert answer.code == 2
    assert stage.about("d-stranger") == []
