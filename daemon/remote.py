"""The writer as a command sees it while a daemon has the lock: the daemon writes.

What a draft leaves out is filled in from the log's state, as everywhere: what is frozen
is read from the log, and a unit is asked for. Each event is in the log when `stage`
returns; there is no taking back.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

import msgspec

from ledger import codec
from ledger.clock import Clock
from ledger.daemon.calling import Caller, FaultAnsweredError
from ledger.daemon.calling_wire import BusyError
from ledger.daemon.protocol import FORBIDDEN, REFUSED, STOPPED
from ledger.envelope import envelope
from ledger.errors import (
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.events import LedgerEvent
from ledger.folder import Folder
from ledger.log import open_reader
from ledger.replay import may_freeze
from ledger.state import State
from ledger.unit import Unit
from ledger.writer import Receipt, Submission, Writer


class RemoteUnits:
    """The units of a log, asked for one by one; none is changed here."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        """Take what puts a question to the daemon."""
        self._ask = ask

    def named(self, name: str) -> Unit | None:
        """Return a unit by its name."""
        suite = msgspec.json.decode(name, type=list[str])[0]
        return _unit(self._ask("unit_state", suite=suite, name=name))

    def asked(self, suite: str, question_hash: str) -> Unit | None:
        """Return a unit by a question."""
        found = self._ask("unit_state", suite=suite, question_hash=question_hash)
        return _unit(found)

    def put(self, unit: Unit) -> None:
        """Keep nothing: the daemon does."""
        del unit

    def put_question(self, unit: Unit, question_hash: str) -> None:
        """Keep nothing: the daemon does."""
        del unit, question_hash

    def put_frozen(self, seq: int) -> None:
        """Keep nothing: the daemon does."""
        del seq


def _unit(found: object) -> Unit | None:
    return None if found is None else msgspec.convert(found, Unit)


class RemoteWriter(Writer):
    """A writer whose log is in a daemon's hands."""

    def __init__(self, folder: Folder, caller: Caller, clock: Clock) -> None:
        """Take a connection to the ledger's daemon, which `close` ends."""
        self._folder = folder
        self._caller = caller
        self._wall = clock
        self._receipts: list[Receipt] = []
        self.behind = None
        self.state = self._read_state()

    def _read_state(self) -> State:
        state = State(RemoteUnits(self._ask), self._folder.blobs.get)
        with open_reader(self._folder) as reader:
            for each, event in reader.events.frozen():
                state.apply_frozen(each.seq, each.event_id, event)
        return state

    @property
    def size(self) -> int:
        """How many entries the log has."""
        return int(self._ask("head")["size"])

    def now(self) -> datetime:
        """Return what this machine's clock says."""
        return self._wall()

    def event(self, event_id: str) -> tuple[int, LedgerEvent] | None:
        """Return an event that is in the log, and where, read beside the daemon."""
        with open_reader(self._folder) as reader:
            row = reader.store.find(bytes.fromhex(event_id))
        return None if row is None else (row.seq, codec.read(row.payload))

    def stage(self, submission: Submission) -> int:
        """Have the daemon append one event, and return its position.

        Raises `RefusedError` or `BusyError`, and then nothing has changed;
        `WriterStoppedError` where no answer came.
        """
        try:
            found = self._ask(
                "append", events=[msgspec.to_builtins(envelope(submission))]
            )
        except BusyError:
            raise
        except UncheckableError as error:
            msg = f"the daemon may or may not have written this ({error}): do it again, an event that is there is not written twice"
            raise WriterStoppedError(msg) from error
        [answer] = found["receipts"]
        if "error" in answer:
            raise RefusedError(answer["error"]["code"], answer["error"]["message"])
        receipt = Receipt(**answer, checkpoint=found["checkpoint"])
        self._receipts.append(receipt)
        if may_freeze(submission.payload):
            self.state = self._read_state()
        return receipt.seq

    def commit(self) -> list[Receipt]:
        """Return a receipt for each `stage`; all of them are durable already."""
        receipts, self._receipts = self._receipts, []
        return receipts

    def abandon(self) -> None:
        """Refuse: what the daemon has written stays."""
        raise RuntimeError("what a daemon has written cannot be taken back")

    def close(self) -> None:
        """Hang up."""
        self._caller.close()

    def _ask(self, method: str, **params: object) -> Any:  # noqa: ANN401 - any result
        try:
            return self._caller.ask(method, params)
        except FaultAnsweredError as fault:
            _raise(fault)


def _raise(fault: FaultAnsweredError) -> NoReturn:
    """Raise a daemon's error as the writer itself would."""
    match fault.code:
        case code if code == REFUSED:
            raise RefusedError(fault.kind, fault.message) from None
        case code if code == STOPPED:
            raise WriterStoppedError(fault.message) from None
        case code if code == FORBIDDEN:
            msg = f"the daemon's socket for agents: {fault.message}"
            raise UsageError(msg) from None
        case _:
            raise UsageError(f"the daemon: {fault.message}") from None
