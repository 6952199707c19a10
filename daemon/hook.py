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
from ledger.daemon.hook_events import (
    DISPATCH,
    ENDS,
    LAUNCHED,
    OTHER,
    PROBE,
    UNKNOWN,
    UPDATE,
)
from ledger.daemon.hook_payload import Delivery, described, recognised
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
    UnrecognisedError,
    read_json,
)

PAYLOAD_BYTES_MAX = 16 * 1_048_576
_CHUNK = 1_048_576
TYPE_CHECKING = False  # `typing` has a constant of that name, and costs too much.
if TYPE_CHECKING:
    from ledger.daemon.hook_unit import Desk
_STDIN = 0
_NO_MORE = "--"  # After it a shell's options are over; a payload may come.
_SHOWN = 40  # characters of a word that is not understood


class Call:
    """The arguments of one call; the policy stands in them too, as the file may be gone.

    `fail` is "" where none is said. `wrong` is what is the matter with them, "" for
    nothing.
    """

    __slots__ = ("config", "fail", "payload", "wrong")

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read them as other commands read theirs: `--fail open` and `--fail=open`."""
        left = list(arguments)
        # Codex gives its notifications as the last argument, with nothing on stdin.
        last = left.pop() if left and left[-1][:1] == "{" else ""
        self.payload = last.encode("utf-8", "surrogateescape")
        said = {"--config": "", "--fail": ""}
        self.wrong = ""
        while left:
            name, stands_together, value = left.pop(0).partition("=")
            if name not in said:
                if name != _NO_MORE:
                    self.wrong = f"the hook has no option {name[:_SHOWN]!r}"
            elif stands_together or left:
                said[name] = value if stands_together else left.pop(0)
            else:
                self.wrong = f"{name} has no value"
        self.config, self.fail = said["--config"], said["--fail"]
        if not self.config:
            self.wrong = self.wrong or "the hook has no --config"
        if self.fail and self.fail not in POLICIES:
            self.wrong = f"--fail is {self.fail[:_SHOWN]!r}, not open or closed"
            self.fail = CLOSED


def answer(
    arguments: Sequence[str], stdin: int = _STDIN, *, deadline_ms: int = DEADLINE_MS
) -> Answer:
    """Return what to print and how to exit for the payload of one call.

    `stdin` is the descriptor that a payload is read from, if it is no argument. Until
    the settings say another, `deadline_ms` is how long all this may take.
    """
    attempt = Attempt(Call(arguments))
    before = signal.signal(signal.SIGALRM, _ring)
    # Whoever started this may have left the alarm where it would never ring.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
    signal.setitimer(signal.ITIMER_REAL, deadline_ms / 1_000)
    try:
        try:
            return attempt.made(stdin)
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
        self._settings: Settings | None = None
        self.delivery: Delivery | None = None

    def made(self, stdin: int) -> Answer:
        """Return the answer to a payload, where nothing goes wrong."""
        # Settings come first: what cannot be read afterwards is counted there as well.
        trouble = self._configured()
        try:
            payload = read_json(self._call.payload or _read(stdin))
        except (ValueError, RecursionError) as error:
            raise UnrecognisedError(f"the payload is no JSON ({error})") from None
        self.delivery = delivery = recognised(payload)
        if delivery is None or delivery.moment == UNKNOWN:
            raise UnrecognisedError(
                "no runtime that the hook knows is known to send this "
                f"({described(payload)}): docs/hooks.md lists what they send"
            )
        if trouble is not None:
            raise trouble
        assert self._settings is not None
        if delivery.moment == OTHER:
            return self.ended("other", Answer())
        return self._taken(delivery, self._settings)

    def _configured(self) -> TroubleError | None:
        """Take the settings, and return what is wrong with them or with the call."""
        call = self._call
        try:
            self._settings = read_settings(call.config) if call.config else None
        except DeadlineError:
            raise
        except TroubleError as trouble:
            return trouble
        if self._settings is not None:
            signal.setitimer(signal.ITIMER_REAL, self._settings.deadline_ms / 1_000)
        if not call.wrong:
            return None
        return TroubleError(f"{call.wrong}: `ledger hook install` writes the call")

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
        return self.ended("allowed", allowed(delivery, receipt))

    def _noted(self, delivery: Delivery, desk: "Desk") -> Answer:
        from ledger.daemon.hook_ends import see_begun, see_end

        if delivery.moment == LAUNCHED:
            see_begun(desk, delivery)
        elif delivery.moment in ENDS:
            see_end(desk, delivery)
        return self.ended("lifecycle", Answer())

    def failed(self, error: Exception) -> Answer:
        """Return what the policy makes of an error."""
        why = _spoken(error)
        if self.delivery is not None and self.delivery.moment not in ANSWERED:
            return self.ended("lifecycle", Answer(said=f"nothing was noted: {why}"))
        is_unknown = isinstance(error, UnrecognisedError)
        if self._policy() == CLOSED:
            said = (
                f"No forecast could be sealed or checked, so this may not start: {why}"
            )
            outcome = "unknown" if is_unknown else "failed-closed"
            return self.ended(outcome, blocked(self.delivery, said))
        outcome = "unknown" if is_unknown else "failed-open"
        return self.ended(outcome, Answer(said=f"started unseen by the ledger: {why}"))

    def _policy(self) -> str:
        """Return the policy: for a dispatch the stricter of what call and settings say.

        Of a payload that nobody understands the call decides, where it says anything:
        an installation calls with `open` at moments at which nothing may be blocked.
        """
        own = "" if self._settings is None else self._settings.fail
        if self.delivery is None or self.delivery.moment == UNKNOWN:
            return self._call.fail or own or CLOSED
        return OPEN if {self._call.fail, own} - {""} == {OPEN} else CLOSED

    def ended(self, outcome: str, made: Answer) -> Answer:
        """Count what became of a payload, and return its answer.

        A probe is one however it ends: no runtime called.
        """
        if self._settings is None:
            return made
        if self.delivery is not None and self.delivery.moment == PROBE:
            outcome = "probe"
        try:
            count(self._settings.state, outcome)
        except OSError as error:
            made.said = f"{made.said}; not counted: {error}".removeprefix("; ")
        return made


def _ring(*_: object) -> None:
    raise DeadlineError("the hook's deadline passed")


def _spoken(error: Exception) -> str:
    """Return an error as people read it."""
    if isinstance(error, DeadlineError):
        return "the hook's deadline passed"
    known = isinstance(error, TroubleError | OSError)
    return str(error) if known else f"{error!r}"


def _read(stdin: int) -> bytes:
    parts = []
    size = 0
    while part := os.read(stdin, _CHUNK):
        parts.append(part)
        size += len(part)
        if size > PAYLOAD_BYTES_MAX:
            raise TroubleError(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
    return b"".join(parts)
