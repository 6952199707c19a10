"""A client's way without a daemon: it takes the writer's lock for one conversation.

The same requests are answered by the same functions as the daemon's, so that a program
need not know whether one runs.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from ledger.clock import Clock, steady_seconds
from ledger.daemon.admission import batch
from ledger.daemon.calling_wire import Fault
from ledger.daemon.client_talk import Ask, error_of
from ledger.daemon.homes import state_home
from ledger.daemon.opening import (
    Openings,
    Sealing,
    found_unit,
    proposed,
    read_issuers,
    require_seals,
)
from ledger.daemon.protocol import (
    Append,
    Asked,
    FaultError,
    OpenSeal,
    UnitNamed,
    not_placed,
    placed,
)
from ledger.daemon.settings import read_settings
from ledger.daemon.sockets import AGENT
from ledger.errors import RefusedError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.log import open_writer
from ledger.unit import unit_name
from ledger.writer import Receipt, Writer

_KEY_LOST = "a client without a daemon writes with it; start one: `ledger daemon start`"


class LockWay:
    """Answers requests in this process."""

    def __init__(self, folder: Folder, clock: Clock) -> None:
        """Take the ledger; it is only opened for conversations."""
        self._folder = folder
        self._clock = clock
        self._writer: Writer | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; raise `UsageError` where another process has it."""
        folder = self._folder
        with open_writer(
            folder,
            read_key(folder.log_key, _KEY_LOST),
            clock=self._clock,
            state_home=state_home(os.environ),
            steady=steady_seconds,
        ) as writer:
            self._writer = writer
            try:
                yield
            finally:
                self._writer = None

    def close(self) -> None:
        """Do nothing: between conversations nothing is open."""

    def ask(self, ask: Ask) -> Any:  # noqa: ANN401 - any result
        """Return a result; call it while the lock is held."""
        writer = self._writer
        assert writer is not None
        answer = {
            "append": self._append,
            "open_seal": self._open_seal,
            "question": self._question,
            "status": self._status,
            "unit": self._unit,
        }[ask.method]
        try:
            return msgspec.to_builtins(answer(writer, ask.params))
        except FaultError as fault:
            said = Fault(code=fault.code, message=fault.message, data=fault.data)
            raise error_of(said) from None

    def _unit(self, writer: Writer, params: Mapping[str, Any]) -> object:
        named = msgspec.convert(params, UnitNamed)
        name = unit_name(named.suite, named.template, named.id, named.horizon)
        return found_unit(writer, named.suite, name)

    def _question(self, writer: Writer, params: Mapping[str, Any]) -> object:
        found = proposed(writer, self._openings(), msgspec.convert(params, Asked))
        return msgspec.json.decode(msgspec.json.encode(found))

    def _append(self, writer: Writer, params: Mapping[str, Any]) -> object:
        asked = _raw(params, Append)
        found = batch(
            asked.events,
            side=AGENT,
            is_atomic=False,
            roster=writer.state.roster,
            folder=self._folder,
        )
        [event] = found.submissions(writer)
        return _appended(
            [event] if isinstance(event, RefusedError) else writer.append([event])
        )

    def _open_seal(self, writer: Writer, params: Mapping[str, Any]) -> object:
        asked = _raw(params, OpenSeal)
        found = batch(
            asked.events,
            side=AGENT,
            is_atomic=True,
            roster=writer.state.roster,
            folder=self._folder,
        )
        sealing = Sealing(
            openings=self._openings(),
            suite=asked.suite,
            question=asked.question,
            seals=require_seals(found.admitted),
            bytes=found.bytes,
        )
        try:
            for each in sealing.submissions(writer):
                writer.stage(each)
        except RefusedError:
            writer.abandon()
            raise
        return _appended(writer.commit()[-len(sealing.seals) :])

    def _status(self, writer: Writer, params: Mapping[str, Any]) -> object:
        del params
        state = writer.state
        return {
            "ledger": state.ledger,
            "folder": str(self._folder.path.absolute()),
            "entries": writer.size,
            "suites": [
                {"suite": name, "in_force": not state.is_superseded(name)}
                for name in state.suites
            ],
            "openings": self._openings().described(),
        }

    def _openings(self) -> Openings:
        openings = read_settings(self._folder).openings
        return Openings(openings, read_issuers(openings, self._folder), self._clock)


def _raw(params: Mapping[str, Any], cls: type[Append] | type[OpenSeal]) -> Any:  # noqa: ANN401 - one of them
    """Return parameters as they come over a socket: signed events stay bytes."""
    return msgspec.json.decode(msgspec.json.encode(params), type=cls)


def _appended(outcomes: Sequence[Receipt | RefusedError]) -> object:
    notes = [each.checkpoint for each in outcomes if isinstance(each, Receipt)]
    return {
        "receipts": [
            placed(each) if isinstance(each, Receipt) else not_placed(each)
            for each in outcomes
        ],
        "checkpoint": notes[-1] if notes else "",
    }
