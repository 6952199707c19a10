"""What an agent runtime tells the hook: which work, at which moment of its life.

A dialect is a function that returns what a payload says, or None where it is not one
of its own. `docs/hooks.md` has a table of them; the samples that they were written
from are in `tests/hook_payloads/`. On the hook's start-up path: nothing that is slow to
import may be imported here.
"""

from _collections_abc import Callable, Mapping

from ledger.daemon.hook_events import (
    CANCELED,
    DISPATCH,
    FAILED,
    FINISHED,
    LAUNCHED,
    OTHER,
    PROBE,
    QUIET,
    TIMED_OUT,
    UNKNOWN,
    UPDATE,
    may_dispatch,
    moment_of_tool,
)
from ledger.daemon.hook_text import canonical, read_json

Payload = Mapping[str, object]


class Delivery:
    """One payload, read: `runtime` is its dialect, `moment` one of `hook_events`.

    `key` is the runtime's own id of the work; where it gives none, `fingerprint` is
    what its payloads have in common (session, tool and input) and `stamp` tells two of
    them apart. `agent` is the runtime's id of the agent that does the work, `role` the
    kind of agent. `task` is the text, which is hashed and never kept.
    """

    __slots__ = (
        "agent",
        "fingerprint",
        "key",
        "moment",
        "role",
        "runtime",
        "said",
        "session",
        "stamp",
        "task",
    )

    def __init__(
        self,
        runtime: str,
        moment: str,
        said: Payload,
        *,
        session: str = "",
        key: str = "",
        fingerprint: tuple[object, ...] = (),
        stamp: str = "",
        agent: str = "",
        role: str = "",
        task: str | None = None,
    ) -> None:
        self.runtime = runtime
        self.moment = moment
        # Where the dispatcher's own words are looked for: `dispatch_key`, `forecast`, …
        self.said = said
        self.session = session
        self.key = key
        self.fingerprint = fingerprint
        self.stamp = stamp
        self.agent = agent
        self.role = role
        self.task = task


def text(found: object) -> str:
    """Return a text or a number of a payload as text, and "" for anything else."""
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else ""


def part(payload: Payload, name: str) -> Payload:
    """Return an object inside a payload; an empty one where there is none."""
    found = payload.get(name)
    return found if isinstance(found, dict) else {}


# What a dispatcher may say within the input of a runtime's tool.
SAID = ("dispatch_key", "forecast", "task_sha256")
PIPER_MOMENTS = {
    "pre_dispatch": DISPATCH,
    "update": UPDATE,
    "post_dispatch": FINISHED,
    "cancelled": CANCELED,
    "timed_out": TIMED_OUT,
    "probe": PROBE,
}
# Claude Code called its tool Task until 2.1, and users' matchers still do.
_CLAUDE_TOOLS = ("Agent", "Task")
# A response that says so speaks of a run which has only begun.
_BEGUN = ("async_launched", "teammate_spawned", "remote_launched")
_CURSOR_START, _CURSOR_STOP = "subagentStart", "subagentStop"
_CURSOR_TOOL = "preToolUse"
_CURSOR_S = (_CURSOR_START, _CURSOR_STOP, _CURSOR_TOOL)
_SHARING = ("claude", "codex", "copilot")
_SHOWN = 40  # characters of a name that is not understood


def recognised(payload: object) -> Delivery | None:
    """Return what a payload says, or None where no dialect knows it.

    Whoever stands between a runtime and the hook may add an object `ledger`, with what
    the runtime has no place for: `dispatch_key`, `task_sha256`, `forecast`.
    """
    if not isinstance(payload, dict):
        return None
    read = [delivery for each in DIALECTS if (delivery := each(payload)) is not None]
    if not read:
        return None
    delivery = read[0]
    own = delivery.said
    if delivery.runtime != "piper":
        # Names that a tool's input may have for other reasons are not ours.
        own = {name: own[name] for name in SAID if name in own}
    delivery.said = {**own, **part(payload, "ledger")}
    event = text(payload.get("hook_event_name"))
    if any(_is_doubt(delivery, other, event) for other in read[1:]):
        # It speaks as two runtimes do: the answer might not be heard by the other.
        delivery.moment = UNKNOWN
    return delivery


def _is_doubt(first: Delivery, other: Delivery, event: str) -> bool:
    """Tell whether a second runtime might start a dispatch on a payload of the first."""
    if other.moment == DISPATCH:
        return True
    # Cursor's words for its events are none of those who look for theirs in that place.
    if first.runtime == "cursor" and event in _CURSOR_S and other.runtime in _SHARING:
        return False
    return other.moment == UNKNOWN and first.moment != DISPATCH


def described(payload: object) -> str:
    """Return what a payload that is not understood calls itself, in a few words."""
    if not isinstance(payload, dict):
        return "it is no object"
    found = [
        f"{name} {text(payload[name])[:_SHOWN]!r}"
        for name in ("event", "event_type", "hook_event_name", "tool_name")
        if name in payload
    ]
    return ", ".join(found) or "it names no event"


def piper(payload: Payload) -> Delivery | None:
    """Read Piper's own contract: `event` is one of `PIPER_MOMENTS`."""
    moment = PIPER_MOMENTS.get(text(payload.get("event")))
    if moment is None:
        return None
    run = part(payload, "run")
    task = payload.get("task")
    # The dispatcher's key is all that its payloads must have in common.
    own = text(payload.get("dispatch_key"))
    return Delivery(
        "piper",
        moment,
        payload,
        session="" if own else text(run.get("session")),
        key=own or text(run.get("key")),
        task=task if isinstance(task, str) else None,
    )


def cursor(payload: Payload) -> Delivery | None:
    """Read Cursor's subagent hooks; its documented payload has no event's name.

    Its other hooks give its version. One that is asked before the tool Task may have been
    put where `subagentStart` belongs.
    """
    name = payload.get("hook_event_name", _CURSOR_START)
    if "subagent_type" not in payload or "parent_conversation_id" not in payload:
        if "cursor_version" not in payload:
            return None
        is_hidden = name == _CURSOR_TOOL and may_dispatch(payload.get("tool_name"))
        is_quiet = name in (_CURSOR_TOOL, _CURSOR_STOP) or text(name) in QUIET
        moment = OTHER if is_quiet and not is_hidden else UNKNOWN
    elif name == _CURSOR_STOP:
        moment = _cursor_end(payload)
    else:
        moment = DISPATCH if name == _CURSOR_START else UNKNOWN
    return Delivery(
        "cursor",
        moment,
        payload,
        session=text(payload.get("parent_conversation_id")),
        key=text(payload.get("tool_call_id")),
        agent=text(payload.get("subagent_id")),
        role=text(payload.get("subagent_type")),
        task=text(payload.get("task")),
    )


def _cursor_end(payload: Payload) -> str:
    status = text(payload.get("status"))
    return {"error": FAILED, "aborted": CANCELED}.get(status, FINISHED)


def openhands(payload: Payload) -> Delivery | None:
    """Read OpenHands, which says `event_type` and `working_dir`."""
    if "event_type" not in payload or "working_dir" not in payload:
        return None
    given = part(payload, "tool_input")
    tasks = part(given, "tasks")
    # One call may delegate several tasks: they are one dispatch, whose text is them all.
    task = (
        text(next(iter(tasks.values())))
        if len(tasks) == 1
        else canonical(tasks).decode()
    )
    is_tool = payload.get("tool_name") == "delegate"
    # It has an object for whatever whoever runs it wants to say.
    said = {**part(payload, "metadata"), **given}
    of = is_tool and bool(tasks)
    delivery = _tool("openhands", payload, said, task, event="event_type", of=of)
    if is_tool and not given.get("tasks") and given.get("command") == "spawn":
        delivery.moment = OTHER  # It makes workers, who have nothing to do yet.
    return delivery


def gemini(payload: Payload) -> Delivery | None:
    """Read Gemini's tool hooks, which give no id of the call."""
    if text(payload.get("hook_event_name")) not in ("BeforeTool", "AfterTool"):
        return None
    given = part(payload, "tool_input")
    is_dispatch = payload.get("tool_name") == "invoke_agent"
    role = text(given.get("agent_name"))
    task = text(given.get("prompt"))
    return _tool("gemini", payload, given, task, of=is_dispatch, role=role)


def copilot(payload: Payload) -> Delivery | None:
    """Read Copilot in both cases: `toolName`, or `tool_name` with a `timestamp`."""
    if "timestamp" not in payload:
        return None
    if "sessionId" in payload:
        if not any(name[:4].casefold() == "tool" for name in payload):
            # No event is named in this case; only those of tools speak of tools.
            return Delivery(
                "copilot", OTHER, payload, session=text(payload["sessionId"])
            )
        payload = _snake(payload)
    elif "hook_event_name" not in payload:
        return None
    given = part(payload, "tool_input")
    return _tool(
        "copilot",
        payload,
        given,
        text(given.get("prompt")),
        of=payload.get("tool_name") == "task",
        role=text(given.get("agent_type")) or text(payload.get("agent_name")),
    )


def _snake(payload: Payload) -> Payload:
    """Return a tool's camel-case payload as the other case has it, which names events."""
    given = payload.get("toolArgs")
    if isinstance(given, str):
        # Older versions sent the arguments as the text of an object.
        given = _object(given)
    event = "PostToolUse" if "toolResult" in payload else "PreToolUse"
    return {
        "hook_event_name": event,
        "session_id": payload.get("sessionId"),
        "timestamp": payload.get("timestamp"),
        "tool_name": payload.get("toolName"),
        "tool_input": given,
    }


def codex(payload: Payload) -> Delivery | None:
    """Read Codex: hooks that name a turn, and `notify`, whose payload is an argument."""
    is_hook = "hook_event_name" in payload
    if payload.get("type") == "agent-turn-complete" and not is_hook:
        return Delivery("codex", OTHER, payload, session=text(payload.get("thread-id")))
    if "turn_id" not in payload or not is_hook:
        return None
    given = part(payload, "tool_input")
    # Seen with and without the name of its tool set before it.
    is_dispatch = text(payload.get("tool_name")).endswith("spawn_agent")
    role = text(given.get("agent_type"))
    task = text(given.get("message"))
    delivery = _tool("codex", payload, given, task, of=is_dispatch, role=role)
    if is_dispatch and delivery.moment == FINISHED:
        # The tool returns once the agent was spawned: the run has only begun.
        delivery.moment = LAUNCHED
        delivery.agent = text(part(payload, "tool_response").get("agent_id"))
    return delivery


def opencode(payload: Payload) -> Delivery | None:
    """Read what an OpenCode plugin passes on of `tool.execute.before` and `.after`."""
    if "callID" not in payload or "tool" not in payload:
        return None
    given = part(payload, "args")
    is_over = "output" in payload or "result" in payload
    moment = FINISHED if is_over else DISPATCH
    if payload.get("tool") != "task":
        is_hidden = not is_over and may_dispatch(payload.get("tool"))
        moment = UNKNOWN if is_hidden else OTHER
    elif "args" in part(payload, "output"):
        moment = UNKNOWN  # What `before` may change, where `after` has a result.
    return Delivery(
        "opencode",
        moment,
        given,
        session=text(payload.get("sessionID")),
        key=text(payload.get("callID")),
        role=text(given.get("subagent_type")),
        task=text(given.get("prompt")),
    )


def claude(payload: Payload) -> Delivery | None:
    """Read Claude Code, the last to be asked: others took over the names of its keys."""
    if "hook_event_name" not in payload or "session_id" not in payload:
        return None
    given = part(payload, "tool_input")
    delivery = _tool(
        "claude",
        payload,
        given,
        text(given.get("prompt")),
        of=payload.get("tool_name") in _CLAUDE_TOOLS,
        role=text(given.get("subagent_type")),
    )
    response = part(payload, "tool_response")
    if delivery.moment == FINISHED and response.get("status") in _BEGUN:
        delivery.moment = LAUNCHED
    if delivery.moment == FAILED and payload.get("is_interrupt") is True:
        delivery.moment = CANCELED
    delivery.agent = delivery.agent or text(response.get("agentId"))
    return delivery


def _tool(
    runtime: str,
    payload: Payload,
    said: Payload,
    task: str,
    *,
    of: bool,
    event: str = "hook_event_name",
    role: str = "",
) -> Delivery:
    """Return a delivery of the shape that most runtimes share.

    `of` says that its tool is the one that dispatches.
    """
    tool = payload.get("tool_name")
    moment = moment_of_tool(text(payload.get(event)), tool, of=of)
    session = text(payload.get("session_id"))
    return Delivery(
        runtime,
        moment,
        said,
        session=session,
        key=text(payload.get("tool_use_id")),
        fingerprint=(session, tool, payload.get("tool_input")),
        stamp=text(payload.get("timestamp")),
        agent=text(payload.get("agent_id")),
        role=role or text(payload.get("agent_type")),
        task=task,
    )


def _object(given: str) -> Payload:
    try:
        found = read_json(given)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


Dialect = Callable[[Payload], Delivery | None]
DIALECTS: tuple[Dialect, ...] = (
    piper,
    cursor,
    openhands,
    gemini,
    copilot,
    codex,
    opencode,
    claude,
)
