"""Rounds: one whenever the system tells of a change in some folders, else in time.

What the system tells only makes a round come sooner. Whoever may make a file in a
watched folder can end the telling, by a name that is no text for one, so that nothing
rests on it: it begins again, and until it has, everything is looked at every few seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, awatch

from ledger.daemon.journal import Journal

# What the system told of nothing is looked at all the same: it may have been too much
# for it, or a folder may be a new one.
LOOK_SECONDS = 5
_DEBOUNCE_MS = 50
_MILLISECONDS = 1_000


class Rounds:
    """When to look at some folders; `trouble` is why the system tells nothing, or None."""

    def __init__(
        self, what: str, places: Callable[[], set[Path]], journal: Journal
    ) -> None:
        """Take what is looked at, for people, and the folders in which it lies now."""
        self._what = what
        self._places = places
        self._journal = journal
        self.trouble: str | None = None

    async def come(self) -> AsyncGenerator[bool, None]:
        """Yield at once, then whenever something changes, or time passes; never end.

        What is yielded is whether a change was told of, or may have been missed, so
        that what is known of a file from earlier is not to be believed.
        """
        yield False
        while True:
            watched = self._places()
            if watched:
                async with aclosing(self._told(watched)) as told:
                    async for is_change in told:
                        yield is_change
                        if self._places() != watched:
                            break
            if self.trouble is not None or not watched:
                await asyncio.sleep(LOOK_SECONDS)
                yield True

    async def _told(self, watched: set[Path]) -> AsyncGenerator[bool, None]:
        """Yield what the system tells of some folders until it fails, the first at once."""
        try:
            async with aclosing(_changes(watched)) as told:
                coming = asyncio.ensure_future(anext(told))
                try:
                    await asyncio.sleep(0)  # Now it listens.
                    # Nobody knows what happened while nobody listened.
                    yield True
                    while True:
                        changes = await coming
                        coming = asyncio.ensure_future(anext(told))
                        self._note(None)
                        yield bool(changes)
                finally:
                    coming.cancel()
                    await asyncio.wait((coming,))
        except Exception as fault:  # noqa: BLE001 - whatever it is, the rounds go on
            self._note(
                f"the system tells of no changes ({type(fault).__name__}: {fault}): "
                f"{self._what} looked at every {LOOK_SECONDS} seconds until it does"
            )
            yield True

    def _note(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            self._journal.alarm("watch-failed", reason=trouble)
        if trouble is None and self.trouble is not None:
            self._journal.note("watch-restored", reason=self.trouble)
        self.trouble = trouble


def _changes(watched: set[Path]) -> AsyncGenerator[set[tuple[Change, str]], None]:
    return awatch(
        *sorted(watched),
        recursive=False,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_DEBOUNCE_MS // 2,
        rust_timeout=LOOK_SECONDS * _MILLISECONDS,
        yield_on_timeout=True,
    )
