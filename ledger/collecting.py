"""When Python looks for garbage: not in the middle of many events."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from looking for cycles, which events never form.

    It would walk over every event and unit in memory again and again: a twentieth of
    an audit's time, a third of a replay's.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
