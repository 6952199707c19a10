"""Processes that work for this one, out of the reach of what is typed at a terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

_CTRL_C = signal.SIGINT


@contextmanager
def shielded() -> Iterator[None]:
    """Start processes within: Ctrl-C, which reaches a whole group, ends none of them.

    Python ends with a traceback where it is reached before the first line of a program,
    or where its parent was while it was being told what to do. So the new one is born
    with Ctrl-C blocked, and for this one it comes once all is told.
    """
    # Whose start would unblock it again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {_CTRL_C})
    try:
        # Another thread may be reached, and it is the main one that is interrupted.
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(_CTRL_C) is not None:
            with _postponed():
                yield
        else:
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _postponed() -> Iterator[None]:
    came: list[int] = []
    handler = signal.getsignal(_CTRL_C)
    signal.signal(_CTRL_C, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(_CTRL_C, handler)
        if came:
            signal.raise_signal(_CTRL_C)
