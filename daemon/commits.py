"""Group commit: what queued while a commit was under way shares the next one.

One thread has the writer, and nobody else touches it. It takes all that waits, lets
each request's events in, makes them durable by one transaction with one fsync and one
signed checkpoint, and only then are they answered. Requests that must be taken as a
whole are refused as a whole, without harm to the others of their group. When it is not
known whether a commit reached the disk, nobody is answered that it did.

Requests come from the event loop's thread and go over in a queue; answers go back as
callbacks. So neither thread waits for a lock of the other.
"""

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import Any, Protocol

import msgspec

from ledger.clock import monotonic_seconds
from ledger.daemon.groups import GROUP_EVENTS_MAX, Groups
from ledger.daemon.protocol import (
    BUSY,
    INTERNAL_ERROR,
    REFUSED,
    STOPPED,
    FaultError,
)
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.keys.roster import Roster
from ledger.state import FrozenSuite
from ledger.writer import Receipt, Submission, Writer

_URGENT_SHARES = 2
_RETRY_MS_MIN, _RETRY_MS_MAX = 5, 5_000
# A fault of this program at one event. Nothing of it was written, and what was staged
# is read again from the disk, so that the others need not suffer.
_OWN_FAULTS = (
    ArithmeticError,
    AssertionError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

Outcome = Receipt | RefusedError


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request: outcomes, a checkpoint of all, what was asked for."""

    outcomes: Sequence[Outcome] = ()
    note: str = ""
    found: Any = None


Answer = Done | FaultError
Reply = Callable[[Answer], None]


class Job(Protocol):
    """What one request wants of the writer."""

    @property
    def events(self) -> int:
        """How many events it has at most, to bound the queue by."""

    @property
    def bytes(self) -> int:
        """How much memory it holds, roughly."""

    @property
    def is_written(self) -> bool:
        """Whether it brings events, and asks no mere question."""

    @property
    def is_atomic(self) -> bool:
        """Whether all of its events are to be let in, or none."""

    def submissions(self, writer: Writer) -> Sequence[Submission | RefusedError]:
        """Return the events; one that was refused already keeps its place.

        Called in the writer's thread, again where a group is staged again. Raises
        `FaultError` or `RefusedError` where the request is refused as it is.
        """

    def found(self, writer: Writer) -> object:
        """Return what was asked for beside the events; they are staged by then."""


class Counts(msgspec.Struct, kw_only=True):
    """What a daemon has done since it was started."""

    appended: int = 0
    refused: int = 0
    commits: int = 0
    faults: int = 0
    busy: int = 0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The log as the last commit left it."""

    size: int
    note: str
    suites: dict[str, bool]  # whether each suite version is the latest
    in_force: dict[str, FrozenSuite]  # those that are


class _Staged(msgspec.Struct, kw_only=True):
    """A job of the present group, judged but not durable."""

    job: Job
    reply: Reply
    refusals: list[RefusedError | None] = []
    found: Any = None
    fault: FaultError | None = None
    # Some of its events were let in, and it is refused as a whole.
    is_torn: bool = False


class Committer:
    """The queue before the writer, and the thread behind it."""

    def __init__(
        self,
        writer: Writer,
        *,
        note: str,
        deliver: Callable[[Callable[[], None]], object],
        on_stopped: Callable[[str], None],
        on_fault: Callable[[str], None],
        queue_events: int,
        queue_bytes: int,
        unfit: Callable[[bytes], RefusedError | None] = lambda _: None,
    ) -> None:
        """Take a writer over; `note` is the newest checkpoint.

        `deliver` has something called in the event loop's thread; `on_stopped` is
        called there once the writer is dead, with the reason; `on_fault` with the
        traceback of a fault that cost one request. `unfit` tells, in the writer's
        thread, why a payload that the log does not have is not let in at present.
        """
        self._writer = writer
        self._unfit = unfit
        self._deliver = deliver
        self._on_stopped = on_stopped
        self._on_fault = on_fault
        self._events_max, self._bytes_max = queue_events, queue_bytes
        self._groups: Groups[tuple[Job, Reply]] = Groups()
        self._thread = Thread(target=self._run, name="commits")
        self._stopped: FaultError | None = None
        self.events_waiting = self.bytes_waiting = self.jobs_waiting = 0
        self.lines_to_write = self.bytes_to_write = 0
        self._group_seconds = 0.0
        self._held: RefusedError | None = None  # while another program has log.db
        self.counts = Counts()
        self.standing = _standing(writer, note)

    def start(self) -> None:
        """Begin to take requests."""
        self._thread.start()

    def finish(self) -> None:
        """Let the thread end after all that is queued, and wait for it."""
        self._groups.end()
        self._thread.join()

    @property
    def roster(self) -> Roster:
        """The principals in force, staged charters included; only to be read.

        A charter replaces the whole table of members at once, so that another thread
        sees the one before it or its own.
        """
        return self._writer.state.roster

    def submit(
        self, job: Job, reply: Reply, *, is_urgent: bool = False, whose: object = None
    ) -> None:
        """Queue a request; `reply` is called in this thread when all is decided.

        `whose` it is tells which requests are taken in their order. What is urgent
        still queues where others are sent away, up to as much again: a flood of
        forecasts is not to keep outcomes out. Raises as `require_room`.
        """
        self.require_room(job, is_urgent=is_urgent)
        self._count(job, 1)
        self._groups.put(
            (job, reply), events=job.events, is_atomic=job.is_atomic, whose=whose
        )

    def require_room(self, job: Job, *, is_urgent: bool) -> None:
        """Raise `FaultError`: `busy` while the queue is full, `stopped` for ever after."""
        if self._stopped is not None:
            raise self._stopped
        shares = _URGENT_SHARES if is_urgent else 1
        if self.jobs_waiting == 0 or (
            self.events_waiting + job.events <= shares * self._events_max
            and self.bytes_waiting + job.bytes <= shares * self._bytes_max
        ):
            return
        self.counts.busy += 1
        groups = 1 + self.events_waiting // GROUP_EVENTS_MAX
        wait_ms = max(round(1_000 * groups * self._group_seconds), _RETRY_MS_MIN)
        wait_ms = min(wait_ms, _RETRY_MS_MAX)
        msg = f"{self.events_waiting} events wait already: try again in {wait_ms} ms"
        raise FaultError(BUSY, msg, "busy", retry_after_ms=wait_ms)

    def _answer(self, answers: list[tuple[Job, Reply, Answer]], seconds: float) -> None:
        """Give each its answer, in the event loop's thread."""
        self._group_seconds = seconds
        for job, reply, answer in answers:
            self._count(job, -1)
            reply(answer)

    def _count(self, job: Job, more: int) -> None:
        self.jobs_waiting += more
        self.events_waiting += more * job.events
        self.bytes_waiting += more * job.bytes
        if job.is_written:
            self.lines_to_write += more
            self.bytes_to_write += more * job.bytes

    # What follows runs in the writer's thread.

    def _run(self) -> None:
        while group := self._groups.take():
            began = monotonic_seconds()
            try:
                answers = self._settle(group)
                if self._held is not None:  # All that waited meanwhile hears it too.
                    group += (more := self._groups.rest())
                    answers += self._settle(more)
                    self._held = None
            except Exception as error:  # noqa: BLE001 - whatever it is, the log decides what is true
                self._stop(group, error)
                return
            seconds = monotonic_seconds() - began
            self._deliver(partial(self._answer, answers, seconds))

    def _settle(
        self, group: list[tuple[Job, Reply]]
    ) -> list[tuple[Job, Reply, Answer]]:
        """Make a group durable and return its answers.

        A job that cannot be taken back alone has the whole group staged again: first
        what came before it, which is committed, then what comes after.
        """
        answers: list[tuple[Job, Reply, Answer]] = []
        while group:
            staged, torn = self._stage_until_torn(group)
            if torn is None:
                return [*answers, *self._answers(staged, self._commit(staged))]
            self._writer.abandon()
            at = len(staged)
            answers += self._settle(group[:at])
            answers += self._answers([torn], [])
            group = group[at + 1 :]
        return answers

    def _stage_until_torn(
        self, group: list[tuple[Job, Reply]]
    ) -> tuple[list[_Staged], _Staged | None]:
        staged: list[_Staged] = []
        for job, reply in group:
            each = self._stage(job, reply)
            if each.is_torn:
                return staged, each
            staged.append(each)
        return staged, None

    def _stage(self, job: Job, reply: Reply) -> _Staged:
        each = _Staged(job=job, reply=reply)
        let_in = 0
        try:
            for submission in job.submissions(self._writer):
                refusal = self._let_in(submission)
                each.refusals.append(refusal)
                if refusal is None:
                    let_in += 1
                elif job.is_atomic:
                    each.fault = _refused(refusal, len(each.refusals) - 1)
                    each.is_torn = let_in > 0
                    return each
            each.found = job.found(self._writer)
        except FaultError as fault:
            each.fault = fault
        except RefusedError as refusal:
            each.fault = _refused(refusal)
        except CorruptLogError as error:
            # What an event pins, such as a list of questions, is something else.
            each.fault = FaultError(REFUSED, str(error), "corrupt-log")
            each.is_torn = True
        except _OWN_FAULTS:
            self._deliver(partial(self._on_fault, traceback.format_exc()))
            msg = "the daemon failed at this request, and wrote nothing of it"
            each.fault = FaultError(INTERNAL_ERROR, msg, "internal-error")
            each.is_torn = True
        return each

    def _let_in(self, submission: Submission | RefusedError) -> RefusedError | None:
        if isinstance(submission, RefusedError):
            return submission
        if self._held is not None:
            return self._held
        unfit = self._unfit(submission.payload)
        # An event that the log has already keeps its receipt, whatever holds today.
        if unfit is not None and not self._writer.holds(submission.payload):
            return unfit
        try:
            self._writer.stage(submission)
        except RefusedError as refusal:
            return refusal
        except UncheckableError as error:
            return RefusedError("uncheckable", str(error))
        except UsageError as error:
            # Another program has log.db: nothing was decided about the event. It was
            # waited for some seconds, and is not again for each of the others.
            self._held = RefusedError("busy", str(error))
        return self._held

    def _commit(self, staged: list[_Staged]) -> list[Receipt]:
        if not any(None in each.refusals for each in staged):
            return []
        receipts = self._writer.commit()
        self.counts.commits += 1
        note = receipts[0].checkpoint
        if self._writer.size != self.standing.size:
            self.standing = _standing(self._writer, note, self.standing)
        return receipts

    def _answers(
        self, staged: list[_Staged], receipts: list[Receipt]
    ) -> list[tuple[Job, Reply, Answer]]:
        coming, note = iter(receipts), self.standing.note
        answers: list[tuple[Job, Reply, Answer]] = []
        for each in staged:
            if each.fault is not None:
                if each.fault.code == INTERNAL_ERROR:
                    self.counts.faults += 1
                elif each.job.is_written:
                    self.counts.refused += each.job.events
                answers.append((each.job, each.reply, each.fault))
                continue
            outcomes = [
                next(coming) if refusal is None else refusal
                for refusal in each.refusals
            ]
            refused = sum(isinstance(outcome, RefusedError) for outcome in outcomes)
            self.counts.refused += refused
            self.counts.appended += len(outcomes) - refused
            answer = Done(outcomes=outcomes, note=note, found=each.found)
            answers.append((each.job, each.reply, answer))
        return answers

    def _stop(self, group: list[tuple[Job, Reply]], error: Exception) -> None:
        """Answer what waits, now and later, that the writer is dead."""
        is_known = isinstance(error, LedgerError)
        said = error.of_daemon if isinstance(error, WriterStoppedError) else ""
        reason = said or (str(error) if is_known else traceback.format_exc())
        msg = f"{said or 'the log failed'}: it is not known whether this was written, ask the log"
        fault = FaultError(STOPPED, msg, "stopped")
        self._deliver(partial(self._end, group, fault, reason))

    def _end(
        self, group: list[tuple[Job, Reply]], fault: FaultError, reason: str
    ) -> None:
        # In the event loop's thread: nothing is queued meanwhile or afterwards.
        self._stopped = fault
        waited = [*group, *self._groups.rest()]
        self._answer([(job, reply, fault) for job, reply in waited], 0.0)
        self._on_stopped(reason)


def _refused(refusal: RefusedError, index: int | None = None) -> FaultError:
    """Return the refusal of a whole request; `index` is the event that it is about."""
    more = {} if index is None else {"index": index}
    return FaultError(REFUSED, refusal.message, refusal.code, **more)


def _standing(writer: Writer, note: str, before: Standing | None = None) -> Standing:
    state = writer.state
    if before is not None and len(before.suites) == len(state.suites):
        return msgspec.structs.replace(before, size=writer.size, note=note)
    suites = {name: not state.is_superseded(name) for name in state.suites}
    in_force = {
        name: state.suites[name] for name, is_latest in suites.items() if is_latest
    }
    return Standing(size=writer.size, note=note, suites=suites, in_force=in_force)
