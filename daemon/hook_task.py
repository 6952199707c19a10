"""Which task a dispatch is: the hash of its text, and the unit's id that follows.

A forecast counts for the work that it was made about, so whatever names a unit has to
agree with the task where both can be seen. On the hook's start-up path.
"""

from _collections_abc import Mapping

from ledger.daemon.hook_payload import Delivery, text
from ledger.daemon.hook_signing import sha256_hex
from ledger.daemon.hook_text import DeniedError

_HASH_DIGITS = 64
# How the id of a unit begins that is named by its task's hash.
_TASK = "task-"
# How Codex' encrypted messages begin: a version and the high bytes of the time, base64.
_ENCRYPTED = "gAAAA"


def stated_id(delivery: Delivery) -> str:
    """Return the unit's id: the dispatcher's key, else one made of the task's hash."""
    stated = text(delivery.said.get("dispatch_key"))
    if stated:
        return stated
    digest = task_hash(delivery)
    if not digest:
        raise DeniedError(
            "the dispatch has neither a task nor a dispatch_key: give it one"
        )
    return f"{_TASK}{digest}"


def task_hash(delivery: Delivery) -> str:
    """Return the hash of the task's text, "" where nothing tells it.

    The dispatcher's own word counts for a text that cannot be read alone. Raises
    `DeniedError` where it contradicts one that can.
    """
    stated = text(delivery.said.get("task_sha256"))
    task = delivery.task
    own = sha256_hex(task.encode("utf-8", "surrogatepass")) if task else ""
    if not stated or stated == own:
        return own
    if own and not _is_encrypted(delivery):
        raise DeniedError(
            f"the task_sha256 {stated[:_HASH_DIGITS]} is not this task's, which is "
            f"{own}: leave it out where the task can be read"
        )
    return stated if _is_hash(stated) else own


def require_own_key(key: str, digest: str) -> None:
    """Raise `DeniedError` for a key that is another task's hash, or nobody knows whose."""
    named = key.removeprefix(_TASK).partition("/")[0]
    if named in (key, digest) or not _is_hash(named):
        return
    if digest:
        raise another_task_s(key)
    raise DeniedError(
        f"the dispatch_key {key} is that of the task with this hash, and the dispatch "
        "has no task: say its text, or its task_sha256"
    )


def require_same_task(unit: Mapping[str, object], key: str, digest: str) -> None:
    """Raise `DeniedError` where a unit's question is about another text than the task's."""
    asked = unit.get("text_hash")
    if not asked or asked == digest:
        return
    if digest:
        raise another_task_s(key)
    raise DeniedError(
        f"the forecast on {key} was made about the task with the hash {asked}, and the "
        "dispatch has no task: say its text, or its task_sha256"
    )


def another_task_s(key: str) -> DeniedError:
    """Return the refusal of a key whose forecast was made about something else."""
    return DeniedError(
        f"the dispatch_key {key} is another task's: give this one a key of its "
        "own, and seal its forecast under that"
    )


def _is_encrypted(delivery: Delivery) -> bool:
    task = delivery.task or ""
    is_one_word = len(task.split(None, 1)) == 1
    return delivery.runtime == "codex" and task.startswith(_ENCRYPTED) and is_one_word


def _is_hash(found: str) -> bool:
    return len(found) == _HASH_DIGITS and not found.strip("0123456789abcdef")
