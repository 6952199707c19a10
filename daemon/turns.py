"""Whose line is served next: one each in turn, so that nobody's long lines hold up others.

The event loop has one thread. A side that may not keep it serves for a bounded time,
then lets the loop look at everything else, and goes on with whoever has waited longest.
"""

import asyncio
from typing import Protocol

# An evaluator's ping takes some rounds of the loop: none of them may be long.
SECONDS_AT_ONCE = 0.01


class Taker(Protocol):
    """Who has lines to be served."""

    def take_turn(self) -> None:
        """Serve one line, or a slice of one, and ask for another turn."""


class Turns:
    """The turns of one side's connections."""

    def __init__(self, seconds: float) -> None:
        """Take how long the side may serve in one round of the event loop."""
        self._seconds = seconds
        self._spent = 0.0
        self._waiting: dict[Taker, None] = {}  # in the order of their coming
        self._next: Taker | None = None
        self._is_scheduled = False

    def admits(self, taker: Taker) -> bool:
        """Tell whether one may serve now; who may not is given a turn later."""
        if self._next is taker:
            self._next = None
            return True
        if not self._waiting and self._spent < self._seconds:
            return True
        self._waiting.setdefault(taker)
        self._schedule()
        return False

    def awaits(self, taker: Taker) -> bool:
        """Tell whether one waits for its turn."""
        return taker in self._waiting

    def spend(self, seconds: float) -> None:
        """Note how long a line, or a slice of one, was served."""
        self._spent += seconds
        if self._spent >= self._seconds:
            self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._go_round)

    def _go_round(self) -> None:
        self._is_scheduled = False
        self._spent = 0.0
        while self._waiting and self._spent < self._seconds:
            taker = next(iter(self._waiting))
            del self._waiting[taker]
            self._next = taker
            taker.take_turn()
            self._next = None
        if self._waiting:
            self._schedule()
