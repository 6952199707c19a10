"""Where `ledger run` seals and resolves: through the daemon, or under the lock.

Neither is held while the command runs.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from ledger.clock import Clock, monotonic_seconds, steady_seconds
from ledger.daemon.calling import answering, sockets_of
from ledger.daemon.calling_wire import BusyError, SilentError
from ledger.daemon.client_socket import SocketWay
from ledger.daemon.client_talk import Ask
from ledger.daemon.opening import Found, found_unit
from ledger.envelope import envelope
from ledger.errors import HeldError, RefusedError, UncheckableError, UsageError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.keys.roster import Principal
from ledger.log import open_reader, open_writer
from ledger.suite import SuiteManifest
from ledger.unit import unit_name
from ledger.writer import Receipt, Submission, Writer

_PING_SECONDS = 5
_WAIT_SECONDS = 30  # for others who write to the ledger
_TICK_SECONDS = 0.05
_KEY_LOST = (
    "a command without a daemon writes with it; start one: `ledger daemon start`"
)
Name = tuple[str, str, str, str]


class Desk(Protocol):
    """What a run asks of a ledger, and has it take."""

    @property
    def ledger(self) -> str:
        """The id of the ledger."""

    @property
    def suites(self) -> Mapping[str, SuiteManifest]:
        """The suites in force."""

    @property
    def principals(self) -> Mapping[str, Principal]:
        """Those of the charter in force, by their names."""

    def unit(self, name: Name) -> Found | None:
        """Return what the log knows of a unit: suite, template, id, horizon."""

    def append(self, events: Sequence[Submission]) -> list[Receipt]:
        """Append all events or none; raise `RefusedError`, `index` telling which."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger, and what is needed to reach it."""

    folder: Folder
    environment: Mapping[str, str]
    state_home: Path
    clock: Clock

    @contextmanager
    def desk(self) -> Iterator[Desk]:
        """Give a desk: at the daemon that answers, else here under the lock.

        Waits for others who have the lock. Raises `UsageError` where they keep it,
        `UncheckableError` where that is a daemon which lets nobody in, or is silent.
        """
        ends_at = monotonic_seconds() + _WAIT_SECONDS
        while True:
            path, silent = self._socket()
            if path is not None:
                way = SocketWay(path, _WAIT_SECONDS)
                try:
                    yield _AtDaemon(way, self.folder)
                finally:
                    way.close()
                return
            try:
                writer = self._writer()
            except UsageError as refused:
                is_held = isinstance(refused, HeldError)
                if not is_held or monotonic_seconds() > ends_at:
                    raise silent or refused from None
                time.sleep(_TICK_SECONDS)
                continue
            with writer:
                yield _UnderLock(writer)
            return

    def _socket(self) -> tuple[str | None, SilentError | None]:
        """Return where a daemon answers, or else which one listens and does not."""
        sockets = sockets_of(self.folder, None, self.environment)
        try:
            path, _ = answering(
                self.folder, sockets, seconds=_PING_SECONDS, busy_seconds=_WAIT_SECONDS
            )
        except BusyError:
            raise
        except SilentError as silent:
            return None, silent
        except UncheckableError:
            return None, None
        return path, None

    def _writer(self) -> Writer:
        return open_writer(
            self.folder,
            read_key(self.folder.log_key, _KEY_LOST),
            clock=self.clock,
            state_home=self.state_home,
            steady=steady_seconds,
        )


class _UnderLock:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        state = writer.state
        assert state.ledger is not None
        self.ledger = state.ledger
        self.suites = {
            name: frozen.manifest
            for name, frozen in state.suites.items()
            if not state.is_superseded(name)
        }
        assert state.charter is not None
        self.principals = {each.name: each for each in state.charter.principals}

    def unit(self, name: Name) -> Found | None:
        return found_unit(self._writer, name[0], unit_name(*name))

    def append(self, events: Sequence[Submission]) -> list[Receipt]:
        try:
            for each in events:
                self._writer.stage(each)
        except RefusedError:
            self._writer.abandon()
            raise
        return self._writer.commit()


class _AtDaemon:
    def __init__(self, way: SocketWay, folder: Folder) -> None:
        self._way = way
        self.ledger = folder.settings().ledger
        self.suites, self.principals = _in_force(folder)

    def unit(self, name: Name) -> Found | None:
        names = dict(zip(("suite", "template", "id", "horizon"), name, strict=True))
        found = self._way.ask(Ask(method="unit", params=names))
        return None if found is None else msgspec.convert(found, Found)

    def append(self, events: Sequence[Submission]) -> list[Receipt]:
        signed = [msgspec.to_builtins(envelope(each)) for each in events]
        params = {"events": signed, "atomic": True}
        done = self._way.ask(Ask(method="append", params=params))
        note = done["checkpoint"]
        return [Receipt(**each, checkpoint=note) for each in done["receipts"]]


def _in_force(
    folder: Folder,
) -> tuple[dict[str, SuiteManifest], dict[str, Principal]]:
    """Return the latest version of each suite and who may sign, read beside the daemon."""
    latest: dict[str, SuiteManifest] = {}
    principals: dict[str, Principal] = {}
    with open_reader(folder) as reader:
        for _, event in reader.events.frozen():
            # Versions are frozen in their order.
            if isinstance(event.manifest, SuiteManifest):
                latest[event.suite.partition("@")[0]] = event.manifest
            else:
                principals = {one.name: one for one in event.manifest.principals}
    return {each.suite: each for each in latest.values()}, principals
