"""A command that is run for somebody else: its end, its time, and every signal passed on.

Without a terminal the command leads a process group of its own, so that signals and a
deadline reach all that it started. At a terminal it shares ours, as under a shell:
Ctrl-C and Ctrl-Z go to both by themselves, and only what another process sends is
passed on.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Self

import msgspec

from ledger.clock import Clock, monotonic_seconds

EXITED, TIMED_OUT, INTERRUPTED = "exited", "timeout", "interrupted"
TERMINATED, NOT_STARTED, LOST = "terminated", "not-started", "lost"
NOT_EXECUTABLE, NOT_FOUND = 126, 127
_SIGNALED = 128  # what a shell adds to the signal's number
_GRACE_SECONDS = 5  # between asking a command to end and killing it
_WAIT_SECONDS_MAX = 3600  # at once: the system counts no span without an end
_TICK_SECONDS = 0.02
_PASSED_ON = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
    signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
_ENDING = {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_MICROS = 1_000_000


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: the exit status of a shell, how it came to it, and when.

    `code` is None where no end was seen. `duration_us` is in microseconds of a clock
    that never steps.
    """

    code: int | None
    how: str
    started_at: datetime
    ended_at: datetime
    duration_us: int


def is_runnable(program: str) -> bool:
    """Tell whether there is a program of that name to run."""
    return shutil.which(program) is not None


class Child:
    """Runs one command to its end. Use it once, in the main thread, as a context.

    In the context no signal that can be passed on ends this process, also once the
    command is over: what is known of it would be lost.
    """

    def __init__(self, timeout_seconds: int | None, clock: Clock) -> None:
        """Take when the command is ended; None lets it run."""
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._is_at_terminal = any(map(os.isatty, range(3)))
        # What is ignored here, as under nohup, stays so for the command.
        self._heard = {
            each for each in _PASSED_ON if signal.getsignal(each) != signal.SIG_IGN
        }
        self._before: dict[int, object] = {}
        self._began: tuple[datetime, float] | None = None
        self._seen: set[int] = set()
        self._is_late = False

    def __enter__(self) -> Self:
        self._before = {each: signal.signal(each, self._note) for each in self._heard}
        # Where it is ignored, no end of a command is told, or kept to be asked for.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]

    def run(self, command: Sequence[str], not_before: datetime) -> Ended:
        """Run a command whose start is recorded as no instant before `not_before`.

        Whatever is raised, the command is ended; `lost` then says what is known.
        """
        self._began = (max(self._clock(), not_before), monotonic_seconds())
        group = None if self._is_at_terminal else 0
        try:
            child = subprocess.Popen(command, process_group=group)  # noqa: S603 - it is asked for
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            return self._over(code, NOT_STARTED)
        except BaseException:
            self._began = None
            raise
        try:
            code = child.returncode = self._waited(child.pid)
        except ChildProcessError:
            raise  # Its end was told to somebody else: its number may be another's.
        except BaseException:
            self._send(child.pid, signal.SIGKILL)
            child.wait()
            raise
        return self._over(code if code >= 0 else _SIGNALED - code, self._how(code))

    def lost(self) -> Ended:
        """Return what is known of a command whose end was not seen."""
        return self._over(None, NOT_STARTED if self._began is None else LOST)

    def _over(self, code: int | None, how: str) -> Ended:
        started_at, began = self._began or (self._clock(), monotonic_seconds())
        return Ended(
            code=code,
            how=how,
            started_at=started_at,
            ended_at=max(self._clock(), started_at),
            duration_us=round((monotonic_seconds() - began) * _MICROS),
        )

    def _note(self, number: int, _: object) -> None:
        # Between two lines of ours, before they are waited for.
        self._seen.add(number)

    def _waited(self, pid: int) -> int:
        """Return how a command ended, as `subprocess` says it: signals are negative."""
        # Only now: a command would inherit what is blocked.
        awaited: set[int] = {*self._heard, signal.SIGCHLD}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            # Who sent what came before is not known: once too often is no harm.
            for number in self._seen:
                self._send(pid, number)
            return self._ended(pid, awaited)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _ended(self, pid: int, awaited: set[int]) -> int:
        left_seconds = self._timeout_seconds
        ends_at = None if left_seconds is None else monotonic_seconds() + left_seconds
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                if self._is_late and ends_at is not None:
                    self._end_what_is_left(pid, awaited, ends_at)
                return os.waitstatus_to_exitcode(status)
            heard = signal.sigtimedwait(awaited, _left(ends_at, _WAIT_SECONDS_MAX))
            if heard is not None:
                self._take(pid, heard)
            elif ends_at is not None and monotonic_seconds() >= ends_at:
                # First it is asked to end, then it is killed.
                self._send(pid, signal.SIGKILL if self._is_late else signal.SIGTERM)
                self._send(pid, signal.SIGCONT)
                ends_at = (
                    None if self._is_late else monotonic_seconds() + _GRACE_SECONDS
                )
                self._is_late = True

    def _end_what_is_left(self, pid: int, awaited: set[int], ends_at: float) -> None:
        """Give what a late command leaves behind the rest of its time, then kill it."""
        if self._is_at_terminal:
            return  # The group is not its own.
        while _is_group(pid):
            if monotonic_seconds() >= ends_at:
                self._send(pid, signal.SIGKILL)
                return
            heard = signal.sigtimedwait(awaited, _left(ends_at, _TICK_SECONDS))
            if heard is not None:
                self._take(pid, heard)

    def _take(self, pid: int, heard: signal.struct_siginfo) -> None:
        """Take a signal, and pass it on unless the command has it by itself."""
        if heard.si_signo == signal.SIGCHLD:
            return
        self._seen.add(heard.si_signo)
        # The kernel's own, such as those of a terminal, have positive codes.
        if not self._is_at_terminal or heard.si_code <= 0:
            self._send(pid, heard.si_signo)

    def _send(self, pid: int, number: int) -> None:
        # What it started may be another user's by now.
        with suppress(ProcessLookupError, PermissionError):
            if self._is_at_terminal:
                os.kill(pid, number)
            else:
                os.killpg(pid, number)

    def _how(self, code: int) -> str:
        if self._is_late:
            return TIMED_OUT
        # A command that took a signal for something else, and succeeded, has succeeded.
        if code == -signal.SIGINT or (code and signal.SIGINT in self._seen):
            return INTERRUPTED
        return TERMINATED if code and self._seen & _ENDING else EXITED


def _left(ends_at: float | None, seconds_max: float) -> float:
    """Return the seconds until then, at most so many."""
    if ends_at is None:
        return seconds_max
    return min(max(0.0, ends_at - monotonic_seconds()), seconds_max)


def _is_group(number: int) -> bool:
    """Tell whether anything is left of a process group; while it is, its number is."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # Another user's by now.
    return True
