"""Who shares the next commit: all that waits, up to a limit.

A request that is taken as a whole or not at all may have its group staged again. So
each connection has one of them in a group at most, and it alone waits for its next.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

GROUP_EVENTS_MAX = 1_000
T = TypeVar("T")


class _Waiting(NamedTuple, Generic[T]):
    request: T
    events: int
    is_atomic: bool
    whose: object


class Groups(Generic[T]):
    """What waits for the writer: put there by one thread, and taken by another."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._queue: SimpleQueue[_Waiting[T] | None] = SimpleQueue()
        self._behind: list[_Waiting[T]] = []  # came before all that is in the queue
        self._is_ending = False

    def put(
        self, request: T, *, events: int, is_atomic: bool, whose: object = None
    ) -> None:
        """Have a request wait; all of one connection are `whose` it is, in their order.

        Those of nobody wait for no others.
        """
        self._queue.put(_Waiting(request, events, is_atomic, whose))

    def end(self) -> None:
        """Have nothing come after what waits."""
        self._queue.put(None)

    def take(self) -> list[T]:
        """Return the next group, as soon as there is one; nothing at the end."""
        group: list[T] = []
        events, served = 0, set()
        behind, self._behind = self._behind, []
        for each in chain(behind, self._coming(waits=not behind)):
            if events >= GROUP_EVENTS_MAX or each.whose in served:
                self._behind.append(each)
                continue
            group.append(each.request)
            events += each.events
            if each.is_atomic and each.whose is not None:
                served.add(each.whose)
        return group

    def rest(self) -> list[T]:
        """Return all that waits, once nobody takes groups any more."""
        behind, self._behind = self._behind, []
        return [each.request for each in chain(behind, self._coming(waits=False))]

    def _coming(self, *, waits: bool) -> Iterator[_Waiting[T]]:
        """Yield what is in the queue; with `waits` at least one, but at the end."""
        with suppress(Empty):
            while not self._is_ending:
                each = self._queue.get(block=waits)
                waits = False
                if each is None:
                    self._is_ending = True
                else:
                    yield each
