"""What a daemon looks after beside its clients: the inbox, and pinned files on disk."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ledger.daemon.admission import Batch, admit
from ledger.daemon.commits import Answer, Committer, Outcome
from ledger.daemon.inbox import Inbox, Taken, WaitsError
from ledger.daemon.journal import Journal
from ledger.daemon.protocol import BUSY, STOPPED, FaultError
from ledger.daemon.rounds import Rounds
from ledger.daemon.sockets import EVALUATOR
from ledger.daemon.watch import PinWatch
from ledger.folder import Folder

_MILLISECONDS = 1_000


class Tending:
    """The rounds of one daemon; in the event loop's thread, save where files are read."""

    def __init__(
        self, folder: Folder, pins: PinWatch, committer: Committer, journal: Journal
    ) -> None:
        """Take what is looked after, and who writes."""
        self._folder = folder
        self._inbox = Inbox(folder)
        self._pins = pins
        self._committer = committer
        self._journal = journal
        self._tasks: list[asyncio.Task[None]] = []
        self._taker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inbox")
        self._drops = Rounds("the inbox is", self._inbox.places, journal)
        self._changes = Rounds("pinned files are", self._pinned_in, journal)
        self._trouble: str | None = None
        self._counts = {"files": 0, "accepted": 0, "refused": 0}

    def begin(self) -> None:
        """Compare the pinned files, and begin the rounds: before anybody is served."""
        self._look()
        loop = asyncio.get_running_loop()
        for tend, leave in (
            (self._tend_inbox, self._leave_inbox),
            (self._tend_pins, self._pins.leave),
        ):
            task = loop.create_task(tend())
            task.add_done_callback(partial(self._note_fault, leave))
            self._tasks.append(task)

    async def end(self) -> None:
        """End the rounds; a file that was begun is taken at the next start."""
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # The loop ends with what its own threads do, and the lock is given up after it:
        # nobody else is to take a file that a step of ours still puts away.
        asyncio.get_running_loop().run_in_executor(None, self._taker.shutdown)

    def described(self) -> dict[str, Any]:
        """Return what `status` says of the inbox and of pinned files."""
        return {
            "inbox": {
                **self._counts,
                "waiting": self._waiting(),
                "trouble": self._trouble or self._drops.trouble,
            },
            "watch": {
                "files": self._pins.files,
                "missing_folders": self._pins.missing(),
                "missing_files": self._pins.absent,
                "trouble": self._pins.trouble or self._changes.trouble,
            },
            "pinned_files_changed": [
                msgspec.to_builtins(each) for each in self._pins.changed
            ],
        }

    def _waiting(self) -> int | None:
        try:
            return len(self._inbox.waiting())
        except OSError:
            return None  # The next round says what is wrong.

    def _note_fault(
        self, leave: Callable[[str], None], task: "asyncio.Task[None]"
    ) -> None:
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            leave(f"the daemon no longer looks after it, restart it: {fault!r}")
            trace = "".join(traceback.format_exception(fault))
            self._journal.alarm("fault", trace=trace)

    def _leave_inbox(self, reason: str) -> None:
        self._trouble = reason

    async def _tend_inbox(self) -> None:
        async for _ in self._drops.come():
            try:
                self._inbox.make()
                self._note_trouble(await self._take_all())
            except (WaitsError, OSError, FaultError) as error:
                self._note_trouble(str(error))

    async def _take_all(self) -> str | None:
        """Take what waits; return why a file could not be, where that is so."""
        trouble = None
        for name in self._inbox.waiting():
            try:
                self._note_taken(await self._take(name))
            except (OSError, FaultError) as error:
                if isinstance(error, FaultError) and error.code == STOPPED:
                    raise
                # One that the disk will not give up, or that nobody can judge at
                # present, holds up no others.
                trouble = f"{name!a}: {error}"
        return trouble

    async def _take(self, name: str) -> Taken:
        """Take a file, its events in their turn among those of clients."""
        taking = self._inbox.take(name)
        step = partial(next, taking)
        in_thread = asyncio.get_running_loop().run_in_executor
        try:
            while True:
                found = await in_thread(self._taker, self._stepped, step)
                if isinstance(found, Taken):
                    return found
                outcomes = await settled(self._committer, found)
                step = partial(taking.send, outcomes)
        finally:
            # In its turn: who is cancelled waits for no step, and the thread may be in one.
            self._taker.submit(taking.close)

    def _stepped(self, step: Callable[[], list[msgspec.Raw]]) -> Batch | Taken:
        """Read the next events of a file and check their signatures, in a thread."""
        try:
            events = step()
        except StopIteration as done:
            taken: Taken = done.value
            return taken
        roster = self._committer.roster
        admitted = [admit(each, EVALUATOR, roster, self._folder) for each in events]
        size = sum(len(memoryview(each)) for each in events)
        return Batch(admitted=tuple(admitted), is_atomic=False, bytes=size)

    def _note_taken(self, taken: Taken) -> None:
        self._counts["files"] += 1
        self._counts["accepted"] += taken.accepted
        self._counts["refused"] += taken.refused
        tell = self._journal.warn if taken.refused else self._journal.note
        tell(
            "inbox-file", name=taken.name, accepted=taken.accepted,
            refused=taken.refused, kept_as=taken.kept_as,
        )  # fmt: skip

    def _note_trouble(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self._trouble:
            self._journal.alarm("inbox-waits", reason=trouble)
        self._trouble = trouble

    def _pinned_in(self) -> set[Path]:
        return self._pins.places(self._committer.standing.in_force)

    async def _tend_pins(self) -> None:
        async for is_change in self._changes.come():
            if is_change:
                self._pins.forget()
            await asyncio.to_thread(self._look)

    def _look(self) -> None:
        before, trouble = self._pins.changed, self._pins.trouble
        self._pins.look(self._committer.standing.in_force)
        now = self._pins.changed
        if self._pins.trouble not in {None, trouble}:
            self._journal.alarm("watch-failed", reason=self._pins.trouble)
        for each in now:
            if each not in before:
                self._journal.alarm("pinned-file-changed", **msgspec.to_builtins(each))
        for each in before:
            if each.suite not in {one.suite for one in now}:
                self._journal.note("pinned-file-restored", suite=each.suite)


async def settled(committer: Committer, batch: Batch) -> Sequence[Outcome]:
    """Return what became of events once it is durable, waiting while the queue is full.

    Raises `FaultError` where the writer has stopped.
    """
    while True:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            committer.submit(batch, partial(_answer, answered))
        except FaultError as fault:
            if fault.code != BUSY:
                raise
            wait_ms = fault.data["retry_after_ms"]
            assert isinstance(wait_ms, int)
            await asyncio.sleep(wait_ms / _MILLISECONDS)
            continue
        answer = await answered
        if isinstance(answer, FaultError):
            raise answer
        return answer.outcomes


def _answer(answered: "asyncio.Future[Answer]", answer: Answer) -> None:
    # Who waited may have been told to stop; the events are in the log all the same.
    if not answered.cancelled():
        answered.set_result(answer)
