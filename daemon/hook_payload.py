"""What an agent runtime told the hook: which work, at which moment of its life.

On the hook's start-up path: nothing that is slow to import may be imported here.
"""

from collections.abc import Mapping

Payload = Mapping[str, object]

# The moments of a run, as far as the ledger cares. Only `DISPATCH` can be blocked.
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

# What ends a run. Each is an observation for the resolver and never a resolution.
ENDS = frozenset((FINISHED, FAILED, CANCELED, TIMED_OUT))


class Delivery:
    """One payload, read: `runtime` is its dialect, `moment` one of those above.

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
