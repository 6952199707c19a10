"""How each runtime is told whether a dispatch may start.

Every runtime lets the dispatch run on anything that it does not understand, so that a
block has to be said in its own words. On the hook's start-up path.
"""

from ledger.daemon.hook_events import DISPATCH, PROBE, UNKNOWN, UPDATE
from ledger.daemon.hook_payload import Delivery
from ledger.daemon.hook_text import spelled

ALLOWED, BLOCKED = 0, 2
# Only before these does anybody wait for an answer; the hook never disturbs the rest. An
# exit status of 2 at the end of a subagent, say, would keep it running.
ANSWERED = (DISPATCH, UPDATE, PROBE, UNKNOWN)


class Answer:
    """What the process prints, and its exit status.

    `code_unsaid` is the status where stdout takes nothing: a block stays a block.
    """

    __slots__ = ("code", "code_unsaid", "said", "shown")

    def __init__(
        self,
        code: int = ALLOWED,
        shown: str = "",
        said: str = "",
        *,
        code_unsaid: int = ALLOWED,
    ) -> None:
        self.code = code
        self.code_unsaid = code_unsaid
        self.shown = shown  # on stdout, for the runtime
        self.said = said  # on stderr, for people


def blocked(delivery: Delivery | None, why: str) -> Answer:
    """Return a block in the words of a runtime; else the exit status, which most read.

    So it is for an unknown runtime, and for an event whose own words nobody knows.
    """
    if delivery is not None and delivery.moment not in ANSWERED:
        return Answer(said=why)
    is_known = delivery is not None and delivery.moment != UNKNOWN
    shown = _denial(delivery.runtime if delivery and is_known else "", why)
    # Where the words are JSON on stdout, the status must not contradict them.
    code = BLOCKED if shown is None or _is_piper(delivery) else ALLOWED
    text = "" if shown is None else _text(shown)
    return Answer(code, text, why, code_unsaid=BLOCKED)


def allowed(delivery: Delivery, receipt: dict[str, object]) -> Answer:
    """Return leave to start. Only Piper reads a receipt; the others get no word.

    A word could be taken for a permission, where the runtime would have asked its user.
    """
    if not _is_piper(delivery):
        return Answer()
    return Answer(shown=_text({"decision": "allow", **receipt}))


def _denial(runtime: str, why: str) -> dict[str, object] | None:
    if runtime == "claude":
        said = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": why,
        }
        return {"hookSpecificOutput": said}
    if runtime == "cursor":
        return {"permission": "deny", "user_message": why, "agent_message": why}
    if runtime == "copilot":
        return {"permissionDecision": "deny", "permissionDecisionReason": why}
    return {"decision": "deny", "reason": why} if runtime in _SAY_DECISION else None


_SAY_DECISION = ("gemini", "piper")


def _is_piper(delivery: Delivery | None) -> bool:
    return delivery is not None and delivery.runtime == "piper"


def _text(shown: dict[str, object]) -> str:
    return spelled(shown)
