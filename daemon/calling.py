"""One question to a daemon, and its answer: for commands that look after it."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ledger.clock import monotonic_seconds
from ledger.daemon.calling_wire import (
    Answer,
    BusyError,
    Fault,
    Patience,
    SilentError,
    Wire,
    request_line,
)
from ledger.daemon.listening import places
from ledger.daemon.protocol import BUSY
from ledger.daemon.settings import read_settings
from ledger.daemon.sockets import AGENT, EVALUATOR, SIDES, candidates
from ledger.errors import UncheckableError
from ledger.folder import Folder

# For each further socket, once another took all the time there was.
_LEAST_SECONDS = 0.25


class FaultAnsweredError(UncheckableError):
    """The daemon answered with an error: its code, message and kind (in kebab-case)."""

    def __init__(self, path: str, fault: Fault) -> None:
        super().__init__(f"the daemon at {path} answered: {fault.message}")
        self.code = fault.code
        self.message = fault.message
        self.kind = fault.kind


def sockets_of(
    folder: Folder, stated: str | None, environment: Mapping[str, str]
) -> list[str]:
    """Return the sockets at which a ledger's daemon may answer, the evaluator's first.

    Those of the settings come before those that every client tries.
    """
    sides = (EVALUATOR, *(side for side in SIDES if side != EVALUATOR))
    if stated is not None:
        return [stated]
    tried = candidates(
        sides, stated=None, ledger=str(folder.path.absolute()), environment=environment
    )
    own = places(folder, read_settings(folder).sockets, environment)
    return list(dict.fromkeys([*(str(own[side].path) for side in sides), *tried]))


class Caller:
    """One connection to a daemon: a question, its answer, and the next."""

    def __init__(self, path: str, *, seconds: float) -> None:
        """Take how long an answer may take, and a busy daemon is asked again."""
        self.path = path
        self._seconds = seconds
        self._wire = Wire(path)

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def ask(self, method: str, params: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - any result
        """Return what the daemon answers.

        Raises `UncheckableError` where no answer comes, `SilentError` where somebody
        listens all the same, `BusyError` where the daemon takes nothing until time is
        up, and `FaultAnsweredError` for any other error.
        """
        line = request_line(method, params or {})
        patience = Patience(self.path, self._seconds)
        while True:
            answer = self._asked(line, self._seconds)
            if answer.error is None:
                return answer.result
            time.sleep(patience.busy_seconds(answer.error))

    def greeting(
        self, ledger: str | None, *, seconds: float, busy_seconds: float
    ) -> dict[str, Any]:
        """Return what a ping is answered with; raise as `ask`, in the times stated.

        Who keeps another ledger than the one that is meant is not waited for.
        """
        line = request_line("ping", {})
        patience = Patience(self.path, busy_seconds)
        while True:
            answer = self._asked(line, seconds)
            found = answer.result if answer.error is None else answer.error.data
            kept = found.get("ledger") if isinstance(found, dict) else None
            if isinstance(kept, str) and (
                answer.error is None or ledger not in {None, kept}
            ):
                return dict(found)
            if answer.error is None:
                msg = f"{self.path} answers a ping with what names no ledger"
                raise UncheckableError(msg)
            time.sleep(patience.busy_seconds(answer.error))

    def _asked(self, line: bytes, seconds: float) -> Answer:
        """Return a result, or that the daemon is busy."""
        try:
            answer = self._wire.ask(line, seconds)
        except BlockingIOError:
            crowd = Fault(code=BUSY, message="too many clients wait to be admitted")
            return Answer(error=crowd)
        except TimeoutError as error:
            msg = (
                f"the daemon at {self.path} listens, and did not answer in "
                f"{round(seconds, 1):g} s: see its journal, and start it again if it hangs"
            )
            raise SilentError(msg) from error
        except OSError as error:
            reason = error.strerror or error
            msg = f"no daemon answers at {self.path}: {reason}"
            raise UncheckableError(msg) from error
        if answer.error is not None and answer.error.code != BUSY:
            raise FaultAnsweredError(self.path, answer.error)
        return answer


def reached(
    folder: Folder,
    sockets: Sequence[str],
    *,
    seconds: float,
    busy_seconds: float | None = None,
    is_any_side: bool = False,
) -> tuple[Caller, dict[str, Any]]:
    """Return a connection to this ledger's daemon, and how it greeted.

    All sockets together may take so many `seconds` to answer, and so many to let a
    client in (as many, where that is not stated). Where the evaluator's is crowded, the
    agents' socket will do for `is_any_side` alone: it takes forecasts only. Raises
    `BusyError` where the daemon lets nobody in, `SilentError` where one listens and does
    not answer, and else `UncheckableError` where none does, or only another ledger's.
    """
    began = monotonic_seconds()
    patient_until = began + (seconds if busy_seconds is None else busy_seconds)
    ledger, tried, there = folder.settings().ledger, [], None
    for path in sockets:
        now = monotonic_seconds()
        caller = Caller(path, seconds=seconds)
        try:
            greeting = caller.greeting(
                ledger,
                seconds=max(_LEAST_SECONDS, began + seconds - now),
                busy_seconds=max(0, patient_until - now),
            )
        except UncheckableError as error:
            caller.close()
            if isinstance(error, BusyError | SilentError):
                there = there or error
            tried.append(str(error) if Path(path).exists() else f"{path} is not there")
            continue
        if greeting["ledger"] != ledger:
            tried.append(f"{path} is that of ledger {greeting['ledger'][:12]}…")
        elif is_any_side or there is None or greeting.get("side") != AGENT:
            return caller, greeting
        caller.close()
    if there is not None:
        raise there
    msg = f"no daemon answers for {folder.path}: {'; '.join(tried)}: `ledger daemon start --ledger {folder.path}`"
    raise UncheckableError(msg)


def answering(
    folder: Folder,
    sockets: Sequence[str],
    *,
    seconds: float,
    busy_seconds: float | None = None,
) -> tuple[str, dict[str, Any]]:
    """Return the socket at which this ledger's daemon answers; raise as `reached`."""
    caller, greeting = reached(
        folder, sockets, seconds=seconds, busy_seconds=busy_seconds
    )
    caller.close()
    return caller.path, greeting
