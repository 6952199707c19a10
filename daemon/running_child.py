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

import msgspec

from ledger.clock import Clock, monotonic_seconds

EXITED, TIMED_OUT, INTERRUPTED = "exited", "timeout", "interrupted"
TERMINATED, NOT_STARTED = "terminated", "not-started"
NOT_EXECUTABLE, NOT_FOUND = 126, 127
_SIGNALED = 128  # what a shell adds to the signal's number
_GRACE_SECONDS = 5  # between asking a command to end and killing it
_PASSED_ON = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
    signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
_ENDING = {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_MICROS = 1_000_000


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: the exit status of a shell, how it came to it, and when.

    `duration_us` is in microseconds of a clock that never steps.
    """

    code: int
    how: str
    started_at: datetime
    ended_at: datetime
    duration_us: int


def is_runnable(program: str) -> bool:
    """Tell whether there is a program of that name to run."""
    return shutil.which(program) is not None


class Child:
    """Runs one command to its end. Use it once, in the main thread."""

    def __init__(self, timeout_seconds: int | None, clock: Clock) -> None:
        """Take when the command is ended; None lets it run."""
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._is_at_terminal = any(map(os.isatty, range(3)))
        # What is ignored here, as under nohup, stays so for the command.
        self._heard = {
            each for each in _PASSED_ON if signal.getsignal(each) != signal.SIG_IGN
        }
        self._seen: set[int] = set()
        self._is_late = False

    def run(self, command: Sequence[str], not_before: datetime) -> Ended:
        """Run a command whose start is recorded as no instant before `not_before`."""
        before = {each: signal.signal(each, self._note) for each in self._heard}
        try:
            return self._run(command, not_before)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _run(self, command: Sequence[str], not_before: datetime) -> Ended:
        began = monotonic_seconds()
        started_at = max(self._clock(), not_before)
        group = None if self._is_at_terminal else 0
        try:
            child = subprocess.Popen(command, process_group=group)  # noqa: S603 - it is asked for
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            how = NOT_STARTED
        else:
            code = child.returncode = self._waited(child.pid)
            how = self._how(code)
        return Ended(
            code=code if code >= 0 else _SIGNALED - code,
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
                return os.waitstatus_to_exitcode(status)
            if ends_at is None:
                self._take(pid, signal.sigwaitinfo(awaited))
                continue
            left = max(0.0, ends_at - monotonic_seconds())
            heard = signal.sigtimedwait(awaited, left)
            if heard is not None:
                self._take(pid, heard)
                continue
            # First it is asked to end, then it is killed.
            self._send(pid, signal.SIGKILL if self._is_late else signal.SIGTERM)
            self._send(pid, signal.SIGCONT)
            ends_at = None if self._is_late else monotonic_seconds() + _GRACE_SECONDS
            self._is_late = True

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
