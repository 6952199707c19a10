"""The moments of a run, and what runtimes call them.

A runtime's next version may name a thing anew. So an event counts as harmless only
where its name stands here, and a tool only where its name is like that of no tool which
dispatches: what is left over is not understood, and the installation's policy decides.
On the hook's start-up path.
"""

# The moments of a run, as far as the ledger cares. Only `DISPATCH` can be blocked, and
# `UNKNOWN`, which may be one.
DISPATCH = "dispatch"
UPDATE = "update"
LAUNCHED = "launched"  # it has begun in the background: not an outcome
STARTED = "started"
FINISHED = "finished"
FAILED = "failed"
CANCELED = "canceled"
TIMED_OUT = "timed-out"
PROBE = "probe"  # the doctor asks whether the way to the daemon is open
OTHER = "other"  # of a runtime that is known, and nothing about a dispatch
UNKNOWN = "unknown"  # of a runtime that is known, and not understood

# What ends a run. Each is an observation for the resolver and never a resolution.
ENDS = frozenset((FINISHED, FAILED, CANCELED, TIMED_OUT))

# What the runtimes that share one shape of payload call them.
_MOMENTS = {
    "PreToolUse": DISPATCH,
    "BeforeTool": DISPATCH,
    "PostToolUse": FINISHED,
    "AfterTool": FINISHED,
    "PostToolUseFailure": FAILED,
    "SubagentStart": STARTED,
    "SubagentStop": FINISHED,
}
_OF_AGENTS = ("SubagentStart", "SubagentStop")
# What runtimes are known to send beside calls of tools and lives of subagents.
QUIET = frozenset(
    (
        # Claude Code; Codex, Copilot and OpenHands took these names over.
        "ConfigChange",
        "CwdChanged",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "InstructionsLoaded",
        "Notification",
        "PermissionDenied",
        "PermissionRequest",
        "PostCompact",
        "PostToolBatch",
        "PreCompact",
        "SessionEnd",
        "SessionStart",
        "Setup",
        "Stop",
        "StopFailure",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "UserPromptSubmit",
        "WorktreeCreate",
        "WorktreeRemove",
        # Copilot
        "ErrorOccurred",
        # Gemini
        "AfterAgent",
        "AfterModel",
        "BeforeAgent",
        "BeforeModel",
        "BeforeToolSelection",
        "PreCompress",
        # Cursor
        "afterAgentResponse",
        "afterAgentThought",
        "afterFileEdit",
        "afterMCPExecution",
        "afterShellExecution",
        "afterTabFileEdit",
        "beforeMCPExecution",
        "beforeReadFile",
        "beforeShellExecution",
        "beforeSubmitPrompt",
        "beforeTabFileRead",
        "postToolUse",
        "postToolUseFailure",
        "preCompact",
        "sessionEnd",
        "sessionStart",
        "stop",
        "workspaceOpen",
    )
)
# The tools that dispatch in some runtime, in small letters and without what parts words,
# how others begin, and what is in the names of yet others.
_DISPATCHING = ("agent", "invokeagent", "task")
_DELEGATING = "delegate"
_SPAWNING = "spawnagent"


def may_dispatch(tool: object) -> bool:
    """Tell whether a tool's name is that of one which dispatches, in any runtime.

    However it is written; and so is a name that is none, or that looks like another.

    >>> [may_dispatch(tool) for tool in ("Agent", " TASK", "", None, "\u0410gent", "Bash")]
    [True, True, True, True, True, False]
    >>> [may_dispatch(tool) for tool in ("delegate_task", "spawn_agents_on_csv", "Tasks")]
    [True, True, False]
    """
    name = tool.strip().casefold() if isinstance(tool, str) else ""
    if not name or not (name.isascii() and name.isprintable()):
        return True
    letters = "".join(filter(str.isalnum, name))
    return (
        letters in _DISPATCHING
        or letters.startswith(_DELEGATING)
        or _SPAWNING in letters
    )


def moment_of_tool(event: str, tool: object, *, of: bool) -> str:
    """Return the moment that an event of a tool or a subagent is.

    `of` says that the tool is the one with which its runtime dispatches.
    """
    moment = _MOMENTS.get(event)
    if moment is None:
        return OTHER if event in QUIET else UNKNOWN
    if of or event in _OF_AGENTS:
        return moment
    return UNKNOWN if moment == DISPATCH and may_dispatch(tool) else OTHER
