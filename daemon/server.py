"""The daemon's life: it takes the lock, listens, serves, and stops in good order.

Ready is who answers a ping. On SIGTERM it accepts nobody more, answers what it has
queued, removes its sockets and lets the lock go. When a commit failed it stops too, with
1: only a new start can read what is true.
"""

import asyncio
import math
import os
import signal
from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from ledger import __version__
from ledger.checkpoint import sign_checkpoint
from ledger.clock import Clock, instant_text, monotonic_seconds
from ledger.clock_watch import Steady
from ledger.daemon.commits import Committer
from ledger.daemon.connection import Connections
from ledger.daemon.files import make_room
from ledger.daemon.holder import noted
from ledger.daemon.journal import Journal
from ledger.daemon.listening import Listening, listen, places
from ledger.daemon.methods import Methods
from ledger.daemon.opening import Openings, read_issuers
from ledger.daemon.settings import DaemonSettings, read_settings
from ledger.daemon.sockets import AGENT
from ledger.daemon.space import Space
from ledger.daemon.systemd import Notifier, passed_sockets
from ledger.daemon.tending import Tending
from ledger.daemon.turns import SECONDS_AT_ONCE, Turns
from ledger.daemon.watch import PinWatch
from ledger.errors import UsageError
from ledger.folder import Folder
from ledger.keys.signing import SignerKey
from ledger.log import open_writer
from ledger.signatures import SignaturesAhead
from ledger.writer import Writer

STOPPED_WELL, STOPPED_DEAD = 0, 1
_UMASK = 0o077
_SWEEP_SECONDS = 1
# A long read holds up a stop no longer than this, and who takes no answers than that.
_READS_SECONDS_MAX, _TAKEN_SECONDS_MAX = 10, 1
_TICK_SECONDS = 0.02
_MIB = 1024 * 1024
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon finds outside the ledger's folder."""

    environment: MutableMapping[str, str]
    pid: int
    clock: Clock
    steady: Steady
    state_home: Path


def run(folder: Folder, log_key: SignerKey, around: Around, journal: Journal) -> int:
    """Serve until a signal or a failed commit; return the exit code.

    Raises `UsageError` where another process writes to the ledger, and where the
    settings, the sockets or the keys are unfit: nothing is served then.
    """
    os.umask(_UMASK)
    settings = read_settings(folder)
    make_room(settings.limits.connections)
    keys = read_issuers(settings.openings, folder)
    notifier = Notifier(around.environment, around.pid)
    passed = passed_sockets(around.environment, around.pid)
    journal.adopt_logging()
    with ExitStack() as held:
        # The lock first: under it, a socket that nobody answers on is a dead daemon's.
        writer = open_writer(
            folder,
            log_key,
            clock=around.clock,
            state_home=around.state_home,
            steady=around.steady,
        )
        held.callback(writer.close)
        held.enter_context(noted(folder, around.pid))
        ahead = held.enter_context(SignaturesAhead())
        listenings = {}
        for side, place in places(folder, settings.sockets, around.environment).items():
            listenings[side] = (
                Listening(passed[side]) if side in passed else listen(place)
            )
            held.callback(listenings[side].close)
        openings = Openings(settings.openings, keys, around.clock)
        note = sign_checkpoint(writer.checkpoint(), log_key)
        daemon = Daemon(
            folder=folder,
            writer=writer,
            note=note,
            ahead=ahead,
            settings=settings,
            openings=openings,
            journal=journal,
            around=around,
        )
        code = asyncio.run(daemon.serve(listenings, notifier))
    journal.note("stopped", exit_code=code)
    if daemon.is_reading:
        # Python would wait for the thread; all that has to be on disk is there.
        os._exit(code)
    return code


class Daemon:
    """What runs in the event loop."""

    def __init__(
        self,
        *,
        folder: Folder,
        writer: Writer,
        note: str,
        ahead: SignaturesAhead,
        settings: DaemonSettings,
        openings: Openings,
        journal: Journal,
        around: Around,
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._note = note
        self._ahead = ahead
        self._settings = settings
        self._openings = openings
        self._journal = journal
        self._around = around
        self._ledger = folder.settings().ledger
        self._started_at = instant_text(around.clock())
        self._connections: dict[str, Connections] = {}
        within = folder.path.absolute()
        self._pins = PinWatch([within / each for each in settings.watch.folders])
        self._exit_code = STOPPED_WELL
        self.is_reading = False  # when all else has ended

    async def serve(self, listenings: dict[str, Listening], notifier: Notifier) -> int:
        """Serve until told to stop; return the exit code."""
        loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._committer = self._new_committer(loop)
        self._space = Space(
            self._folder,
            self._journal,
            self._to_write,
            lambda: self._writer.unmoved_bytes,
        )
        self._methods = self._new_methods()
        self._committer.start()
        try:
            await self._serve(listenings, notifier)
        finally:
            # Whatever it was: who waits for the writer's thread would wait for ever.
            self._committer.finish()
            self.is_reading = self._methods.close()
        return self._exit_code

    async def _serve(
        self, listenings: dict[str, Listening], notifier: Notifier
    ) -> None:
        loop = asyncio.get_running_loop()
        self._tending = Tending(
            self._folder, self._pins, self._committer, self._journal
        )
        self._tending.begin()
        servers = [
            await self._accept(side, each, loop) for side, each in listenings.items()
        ]
        for number in _STOPS:
            loop.add_signal_handler(number, self._on_signal, number)
        rounds = [loop.create_task(self._sweep())]
        if notifier.watchdog_seconds is not None:
            rounds.append(loop.create_task(self._watchdog(notifier)))
        self._journal.note("ready", ledger=self._ledger, pid=self._around.pid)
        self._tell(notifier, "READY=1")
        await self._stopping.wait()
        self._tell(notifier, "STOPPING=1")
        for server in servers:
            server.close()
        await self._tending.end()
        await self._drain()
        for each in rounds:
            each.cancel()

    def _new_committer(self, loop: asyncio.AbstractEventLoop) -> Committer:
        limits = self._settings.limits
        return Committer(
            self._writer,
            note=self._note,
            deliver=loop.call_soon_threadsafe,
            on_stopped=self._on_stopped,
            on_fault=self._on_fault,
            queue_events=limits.queue_events,
            queue_bytes=limits.queue_mib * _MIB,
            unfit=self._pins.refusal,
        )

    def _to_write(self) -> tuple[int, int]:
        """Return how many lines wait to be written, and how many bytes they have."""
        return self._committer.lines_to_write, self._committer.bytes_to_write

    def _new_methods(self) -> Methods:
        return Methods(
            folder=self._folder,
            committer=self._committer,
            ahead=self._ahead,
            openings=self._openings,
            space=self._space,
            reads_max=self._settings.limits.reads,
            describe=self._described,
            greet=self._greeting,
            journal=self._journal,
        )

    async def _accept(
        self, side: str, listening: Listening, loop: asyncio.AbstractEventLoop
    ) -> asyncio.Server:
        limits = self._settings.limits
        # Who may only forecast is never to keep the evaluator waiting.
        turns = Turns(SECONDS_AT_ONCE if side == AGENT else math.inf)
        among = Connections(
            side,
            limits=limits,
            desk=self._methods,
            journal=self._journal,
            greeting=self._greeting(side),
            turns=turns,
            # Who connects again and again is not to fill with notes what is left.
            is_quiet=lambda: side == AGENT and self._space.is_low,
        )
        self._connections[side] = among
        # Not `create_unix_server`: newer versions of that remove the socket's file,
        # which may be systemd's.
        return await loop.create_server(
            among.new, sock=listening.listener, backlog=limits.connections
        )

    def _on_signal(self, number: int) -> None:
        self._journal.note("stopping", signal=signal.Signals(number).name)
        self._stopping.set()

    def _on_fault(self, trace: str) -> None:
        self._methods.note_fault(trace)

    def _on_stopped(self, reason: str) -> None:
        self._journal.alarm("writer-stopped", reason=reason)
        self._exit_code = STOPPED_DEAD
        self._stopping.set()

    async def _drain(self) -> None:
        """Let what is queued be answered, and every connection be closed."""
        self._methods.finish()
        clients = [each for among in self._connections.values() for each in among.open]
        for each in clients:
            each.finish()
        await _until(lambda: self._exit_code or not self._committer.jobs_waiting)
        await _until(lambda: not self._methods.reads_waiting, _READS_SECONDS_MAX)
        self._methods.leave_reads()
        await _until(lambda: not self._open(), _TAKEN_SECONDS_MAX)
        for each in clients:
            each.abort()

    def _open(self) -> int:
        return sum(len(among.open) for among in self._connections.values())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._space.look()
            for among in self._connections.values():
                among.sweep()

    async def _watchdog(self, notifier: Notifier) -> None:
        assert notifier.watchdog_seconds is not None
        while True:
            self._tell(notifier, "WATCHDOG=1")
            await asyncio.sleep(notifier.watchdog_seconds)

    def _tell(self, notifier: Notifier, line: str) -> None:
        try:
            notifier.tell(line)
        except UsageError as error:
            # Who supervises will do what it does without news; the log goes on.
            self._journal.warn("notify-failed", reason=str(error))

    def _greeting(self, side: str) -> dict[str, Any]:
        return {
            "ledger": self._ledger,
            "side": side,
            "version": __version__,
            "pid": self._around.pid,
        }

    def _described(self, side: str) -> dict[str, Any]:
        standing, committer = self._committer.standing, self._committer
        limits = self._settings.limits
        return {
            **self._greeting(side),
            "folder": str(self._folder.path.absolute()),
            "started_at": self._started_at,
            "entries": standing.size,
            "suites": [
                {"suite": name, "in_force": is_latest}
                for name, is_latest in standing.suites.items()
            ],
            "openings": self._openings.described(),
            "connections": {
                name: len(among.open) for name, among in self._connections.items()
            },
            "queue": {
                "events": committer.events_waiting,
                "events_max": limits.queue_events,
                "bytes": committer.bytes_waiting,
                "reads": self._methods.reads_waiting,
            },
            "counts": msgspec.to_builtins(committer.counts),
            **self._tending.described(),
            "disk_low": self._space.is_low,
            "journal_lines_lost": self._journal.lost,
        }


async def _until(is_so: Callable[[], object], seconds: int | None = None) -> None:
    """Wait until something is so, or for so many seconds."""
    ends_at = None if seconds is None else monotonic_seconds() + seconds
    # What is waited for becomes so in three places: none of them is to know of this.
    while not is_so() and (ends_at is None or monotonic_seconds() < ends_at):  # noqa: ASYNC110
        await asyncio.sleep(_TICK_SECONDS)
