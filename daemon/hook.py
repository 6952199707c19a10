"""`ledger hook`: one payload in, one answer out, whatever happens.

Nothing that goes wrong here may decide by accident whether a dispatch starts: every
error ends in the installation's policy, and so does the hook's own deadline, which is
shorter than any runtime's. On the hook's start-up path: see `tests/test_hook_imports.py`
for what may be imported.
"""

import _signal as signal  # type: ignore[import-not-found] # `signal` imports `enum`
import os
import time
from _collections_abc import Sequence

from ledger.daemon.hook_answer import ANSWERED, Answer, allowed, blocked
from ledger.daemon.hook_payload import (
    DISPATCH,
    ENDS,
    LAUNCHED,
    OTHER,
    PROBE,
    UPDATE,
    Delivery,
    recognised,
)
from ledger.daemon.hook_settings import (
    CLOSED,
    DEADLINE_MS,
    OPEN,
    POLICIES,
    Settings,
    count,
    read_settings,
)
from ledger.daemon.hook_text import (
    DeadlineError,
    DeniedError,
    TroubleError,
    read_json,
)

PAYLOAD_BYTES_MAX = 16 * 1_048_576
_CHUNK = 1_048_576
TYPE_CHECKING = False  # `typing` has a constant of that name, and costs too much.
if TYPE_CHECKING:
    from ledger.daemon.hook_unit import Desk
_STDIN = 0


class Call:
    """The arguments of one call; the policy stands in them too, as the file may be gone."""

    __slots__ = ("config", "fail", "payload")

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read them. What is not known is passed over: no slip may block a dispatch."""
        said = dict(zip(arguments, arguments[1:], strict=False))  # noqa: RUF007 - no more imports
        self.config = said.get("--config", "")
        self.fail = said.get("--fail", OPEN)
        if self.fail not in POLICIES:
            self.fail = OPEN
        # Codex gives its notifications as the last argument, with nothing on stdin.
        last = arguments[-1] if arguments else ""
        self.payload = (
            last.encode("utf-8", "surrogateescape") if last[:1] == "{" else b""
        )


def answer(
    arguments: Sequence[str], stdin: int = _STDIN, *, deadline_ms: int = DEADLINE_MS
) -> Answer:
    """Return what to print and how to exit for the payload of one call.

    `stdin` is the descriptor that a payload is read from, if it is no argument. Until
    the settings say another, `deadline_ms` is how long all this may take.
    """
    call = Call(arguments)
    attempt = Attempt(call)
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, deadline_ms / 1_000)
    try:
        try:
            return attempt.made(call.payload or _read(stdin))
        finally:
            # Before anything else is said: a late alarm would undo the answer.
            signal.setitimer(signal.ITIMER_REAL, 0)
    except DeniedError as denied:
        return attempt.ended("blocked", blocked(attempt.delivery, str(denied)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the policy decides
        return attempt.failed(error)
    finally:
        signal.signal(signal.SIGALRM, before)


class Attempt:
    """One payload on its way: what is known of it, should something go wrong."""

    def __init__(self, call: Call) -> None:
        """Take the call's arguments."""
        self._call = call
        self._fail = call.fail
        self._settings: Settings | None = None
        self.delivery: Delivery | None = None

    def made(self, content: bytes) -> Answer:
        """Return the answer to a payload, where nothing goes wrong."""
        try:
            payload = read_json(content)
        except (ValueError, RecursionError) as error:
            raise TroubleError(f"the payload is no JSON ({error})") from None
        self.delivery = delivery = recognised(payload)
        if not self._call.config:
            raise TroubleError(
                "the hook has no --config: `ledger hook install` gives it"
            )
        self._settings = settings = read_settings(self._call.config)
        self._fail = settings.fail
        if delivery is None:
            return self.ended(
                "unknown", Answer(said="no runtime's payload is like this")
            )
        if delivery.moment == OTHER:
            return self.ended("other", Answer())
        signal.setitimer(signal.ITIMER_REAL, settings.deadline_ms / 1_000)
        return self._taken(delivery, settings)

    def _taken(self, delivery: Delivery, settings: Settings) -> Answer:
        # Only now, since most payloads speak of no dispatch.
        from ledger.daemon.hook_unit import Desk

        desk = Desk(settings, time.clock_gettime_ns(time.CLOCK_REALTIME))
        try:
            if delivery.moment not in ANSWERED:
                return self._noted(delivery, desk)
            receipt = {
                DISPATCH: desk.dispatch,
                UPDATE: desk.update,
                PROBE: desk.probe,
            }[delivery.moment](delivery)
        finally:
            desk.close()
        is_probe = delivery.moment == PROBE
        return self.ended(
            "probe" if is_probe else "allowed", allowed(delivery, receipt)
        )

    def _noted(self, delivery: Delivery, desk: "Desk") -> Answer:
        from ledger.daemon.hook_ends import see_begun, see_end

        if delivery.moment == LAUNCHED:
            see_begun(desk, delivery)
        elif delivery.moment in ENDS:
            see_end(desk, delivery)
        return self.ended("lifecycle", Answer())

    def failed(self, error: Exception) -> Answer:
        """Return what the policy makes of an error."""
        late = isinstance(error, DeadlineError)
        what = str(error) if isinstance(error, TroubleError) else f"{error!r}"
        why = "the hook's deadline passed" if late else what
        if self.delivery is not None and self.delivery.moment not in ANSWERED:
            return self.ended("lifecycle", Answer(said=f"nothing was noted: {why}"))
        if self._fail == CLOSED:
            said = (
                f"No forecast could be sealed or checked, so this may not start: {why}"
            )
            return self.ended("failed-closed", blocked(self.delivery, said))
        return self.ended(
            "failed-open", Answer(said=f"started unseen by the ledger: {why}")
        )

    def ended(self, outcome: str, made: Answer) -> Answer:
        """Count what became of a payload, and return its answer."""
        if self._settings is None:
            return made
        try:
            count(self._settings.state, outcome)
        except OSError as error:
            made.said = f"{made.said}; not counted: {error}".removeprefix("; ")
        return made


def _ring(*_: object) -> None:
    raise DeadlineError("the hook's deadline passed")


def _read(stdin: int) -> bytes:
    parts = []
    size = 0
    while part := os.read(stdin, _CHUNK):
        parts.append(part)
        size += len(part)
        if size > PAYLOAD_BYTES_MAX:
            raise TroubleError(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
    return b"".join(parts)
