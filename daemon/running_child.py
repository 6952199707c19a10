"""A command that is run for somebody else: its end, its time, and every signal passed on.

The command leads a process group of its own, so that a deadline ends all that it
started. Where there is a terminal, that group has it, as under a shell: Ctrl-C and
Ctrl-Z are the command's, and what it reads is typed for it.
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
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
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
        self._pid: int | None = None
        self._waiting: list[int] = []
        self._seen: set[int] = set()
        self._is_late = False
        self._terminal = _terminal()

    def run(self, command: Sequence[str], not_before: datetime) -> Ended:
        """Run a command whose start is recorded as an instant after `not_before`."""
        before = {each: signal.getsignal(each) for each in _PASSED_ON}
        # What is ignored here, as under nohup, stays so for the command.
        heard = [each for each, was in before.items() if was != signal.SIG_IGN]
        for each in heard:
            signal.signal(each, self._pass_on)
        ringing = signal.signal(signal.SIGALRM, self._ring)
        try:
            return self._run(command, not_before)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, ringing)
            for each in heard:
                signal.signal(each, before[each])

    def _run(self, command: Sequence[str], not_before: datetime) -> Ended:
        began = monotonic_seconds()
        started_at = max(self._clock(), not_before)
        try:
            child = subprocess.Popen(command, process_group=0)  # noqa: S603 - it is asked for
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            how = NOT_STARTED
        else:
            self._pid = child.pid
            code = child.returncode = self._waited(child.pid)
            how = self._how(code)
        return Ended(
            code=code if code >= 0 else _SIGNALED - code,
            how=how,
            started_at=started_at,
            ended_at=max(self._clock(), started_at),
            duration_us=round((monotonic_seconds() - began) * _MICROS),
        )

    def _waited(self, pid: int) -> int:
        """Return how a command ended, as `subprocess` says it: signals are negative."""
        self._give_terminal(pid)
        for number in self._waiting:
            self._send(number)
        if self._timeout_seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, self._timeout_seconds)
        try:
            while True:
                _, status = os.waitpid(pid, os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    return os.waitstatus_to_exitcode(status)
                self._stop_along(pid, os.WSTOPSIG(status))
        finally:
            self._pid = None  # Its number may soon be another's.
            self._take_terminal()

    def _how(self, code: int) -> str:
        if self._is_late:
            return TIMED_OUT
        # With a terminal, Ctrl-C is the command's alone; it may say so by its status.
        asked = {-signal.SIGINT}
        if self._terminal is not None:
            asked.add(_SIGNALED + signal.SIGINT)
        if signal.SIGINT in self._seen or code in asked:
            return INTERRUPTED
        if code < 0 and -code in _ENDING and -code in self._seen:
            return TERMINATED
        return EXITED

    def _pass_on(self, number: int, _: object) -> None:
        self._seen.add(number)
        if self._pid is None:
            self._waiting.append(number)
        else:
            self._send(number)

    def _ring(self, *_: object) -> None:
        """End a command that is late: first it is asked to, then it is killed."""
        self._send(signal.SIGKILL if self._is_late else signal.SIGTERM)
        self._send(signal.SIGCONT)
        self._is_late = True
        signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)

    def _send(self, number: int) -> None:
        # It may have ended by itself, or belong to another user by now.
        with suppress(ProcessLookupError, PermissionError):
            if self._pid is not None:
                os.killpg(self._pid, number)

    # --- The terminal, where there is one ----------------------------------------------

    def _stop_along(self, pid: int, number: int) -> None:
        """Stop as the command was stopped, and go on when we are told to."""
        if self._terminal is None:
            return
        if number in {signal.SIGTTIN, signal.SIGTTOU}:
            # It asked for the terminal before it had it.
            self._give_terminal(pid)
            return
        self._take_terminal()
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        self._give_terminal(pid)

    def _give_terminal(self, pid: int) -> None:
        if self._terminal is not None:
            if os.tcgetpgrp(self._terminal) == os.getpgrp():
                with suppress(OSError):  # It may have ended already.
                    os.tcsetpgrp(self._terminal, pid)
            self._send(signal.SIGCONT)

    def _take_terminal(self) -> None:
        if self._terminal is None:
            return
        # Who is in the background is stopped for this, unless it ignores that.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            with suppress(OSError):
                os.tcsetpgrp(self._terminal, os.getpgrp())
        finally:
            signal.signal(signal.SIGTTOU, before)


def _terminal() -> int | None:
    """Return the descriptor of the terminal whose foreground we are, or None."""
    for descriptor in range(3):
        try:
            if os.tcgetpgrp(descriptor) == os.getpgrp():
                return descriptor
        except OSError:
            continue  # It is no terminal, or not ours.
    return None
