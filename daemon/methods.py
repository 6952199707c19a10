"""The daemon's methods: a request is read, handed to who can answer it, and answered.

ping, head, checkpoint, status       from memory
append, open_seal, question,         in the writer's thread, in their turn
unit, unit_state
entry, proof, record, rows           beside the writer, by readers of their own
"""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

from ledger.checkpoint import parse_checkpoint, split_note
from ledger.daemon import reading
from ledger.daemon.admission import batch_in_slices, is_checked_ahead
from ledger.daemon.commits import Answer, Committer, Done, Job, Outcome
from ledger.daemon.journal import Journal
from ledger.daemon.opening import (
    Look,
    Openings,
    Sealing,
    found_unit,
    proposed,
    require_seals,
    stored_unit,
)
from ledger.daemon.protocol import (
    BAD_PARAMS,
    FORBIDDEN,
    INTERNAL_ERROR,
    REFUSED,
    UNKNOWN_METHOD,
    Append,
    Appended,
    Asked,
    EntryAt,
    FaultError,
    Id,
    Nothing,
    NotPlaced,
    OpenSeal,
    Params,
    Placed,
    ProofOf,
    RecordOf,
    RowsOf,
    UnitNamed,
    UnitStored,
    fault_line,
    not_placed,
    placed,
    read_request,
    result_line,
)
from ledger.daemon.sockets import AGENT, EVALUATOR, SIDES
from ledger.daemon.space import Space
from ledger.errors import RefusedError
from ledger.folder import Folder
from ledger.signatures import SignaturesAhead
from ledger.suite_table import listed, suggestion
from ledger.unit import unit_name
from ledger.writer import Receipt

Rooms = dict[str, reading.ReadingRoom]  # by side
P = TypeVar("P", bound=Params)
_DECODERS: dict[type[Params], msgspec.json.Decoder[Any]] = {}


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request on its way: who asked what, and how it is answered."""

    id: Id
    params: msgspec.Raw
    side: str
    reply: Callable[[bytes], None]

    def read(self, cls: type[P]) -> P:
        """Return the parameters; raise `FaultError` for others than the method has."""
        decoder = _DECODERS.get(cls)
        if decoder is None:
            decoder = _DECODERS[cls] = msgspec.json.Decoder(cls)
        try:
            params: P = decoder.decode(self.params)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            msg = f"the params are unfit: {error}"
            raise FaultError(BAD_PARAMS, msg, "bad-params") from None
        return params

    def done(self, result: object) -> None:
        """Answer with a result."""
        self.reply(result_line(self.id, result))

    def failed(self, fault: FaultError) -> None:
        """Answer with an error."""
        self.reply(fault_line(self.id, fault))


class Methods:
    """Answers lines."""

    def __init__(
        self,
        *,
        folder: Folder,
        committer: Committer,
        ahead: SignaturesAhead,
        openings: Openings,
        space: Space,
        reads_max: int,
        describe: Callable[[str], dict[str, Any]],
        greet: Callable[[str], dict[str, Any]],
        journal: Journal,
    ) -> None:
        """Take what answers; `describe` gives the status and `greet` a ping's answer.

        `ahead` checks signatures while the writer is at work.
        """
        self._folder = folder
        self._committer = committer
        self._ahead = ahead
        self._openings = openings
        self._space = space
        self._describe = describe
        self._greet = greet
        self._journal = journal
        # Each side has readers of its own: agents that ask a lot hold up themselves.
        self._log_rooms = _rooms("reads", reads_max)
        self._rows_rooms = _rooms("rows", reads_max)
        self._reads: set[asyncio.Task[None]] = set()
        self._is_over = False
        self._methods: dict[str, Callable[[Call], Iterator[None] | None]] = {
            "append": self._append,
            "checkpoint": self._checkpoint,
            "entry": self._entry,
            "head": self._head,
            "open_seal": self._open_seal,
            "ping": self._ping,
            "proof": self._proof,
            "question": self._question,
            "record": self._record,
            "rows": self._rows,
            "status": self._status,
            "unit": self._unit,
            "unit_state": self._unit_state,
        }

    @property
    def reads_waiting(self) -> int:
        """How many reads are under way."""
        return len(self._reads)

    def finish(self) -> None:
        """Tell who waits for a turn or a reader that the daemon stops."""
        self._is_over = True
        for each in self._rooms:
            each.finish()

    def leave_reads(self) -> None:
        """Tell who still waits for a read that is begun that the daemon stops."""
        for each in tuple(self._reads):
            each.cancel()

    def close(self) -> bool:
        """End the readers; tell whether one is at work still, and would be waited for."""
        for each in self._rooms:
            each.close()
        return any(each.is_at_work for each in self._rooms)

    @property
    def _rooms(self) -> tuple[reading.ReadingRoom, ...]:
        return *self._log_rooms.values(), *self._rows_rooms.values()

    def serve(
        self, line: bytes, side: str, reply: Callable[[bytes], None]
    ) -> Iterator[None]:
        """Answer a line, now or later, by one call of `reply`.

        Yields between slices of many events, for others to have their turn. A fault of this program costs the one request, and stands in the journal.
        """
        asked: Id = None
        try:
            request = read_request(line)
            asked = request.id
            method = self._method(request.method)
            call = Call(id=asked, params=request.params, side=side, reply=reply)
            for _ in method(call) or ():
                yield
                self._require_going()
        except FaultError as fault:
            reply(fault_line(asked, fault))
        except Exception:  # noqa: BLE001 - one request must not end the others
            self.note_fault(traceback.format_exc())
            reply(fault_line(asked, _own_fault()))

    def _require_going(self) -> None:
        if self._is_over:
            raise reading.stopping()

    def _method(self, name: str) -> Callable[[Call], Iterator[None] | None]:
        method = self._methods.get(name)
        if method is None:
            known = listed(sorted(self._methods))
            hint = suggestion(name[:40], self._methods) or f"there are {known}"
            msg = f"there is no method {name[:40]!r}: {hint}"
            raise FaultError(UNKNOWN_METHOD, msg, "unknown-method")
        return method

    def note_fault(self, trace: str) -> None:
        """Write down a fault of this program that cost one request."""
        self._journal.alarm("fault", trace=trace)

    # From memory.

    def _ping(self, call: Call) -> None:
        call.read(Nothing)
        call.done(self._greet(call.side))

    def _head(self, call: Call) -> None:
        call.read(Nothing)
        note = self._committer.standing.note
        stated = parse_checkpoint(split_note(note)[0])
        text = stated.text().split("\n")
        call.done({"origin": text[0], "size": stated.size, "root": text[2]})

    def _checkpoint(self, call: Call) -> None:
        call.read(Nothing)
        call.done({"checkpoint": self._committer.standing.note})

    def _status(self, call: Call) -> None:
        call.read(Nothing)
        call.done(self._describe(call.side))

    # In the writer's thread.

    def _append(self, call: Call) -> Iterator[None]:
        self._require_space(call)
        params = call.read(Append)
        waiting = self._committer
        is_ahead = is_checked_ahead(
            call.side, len(params.events), waiting.jobs_waiting, waiting.events_waiting
        )
        job = yield from batch_in_slices(
            params.events,
            side=call.side,
            is_atomic=params.atomic,
            roster=self._committer.roster,
            folder=self._folder,
            ahead=self._ahead if is_ahead else None,
            require_room=partial(
                waiting.require_room, is_urgent=call.side == EVALUATOR
            ),
        )
        self._submit(call, job, _appended)

    def _require_space(self, call: Call) -> None:
        if call.side == AGENT:
            self._space.require(len(memoryview(call.params)))

    def _open_seal(self, call: Call) -> Iterator[None]:
        self._require_space(call)
        params = call.read(OpenSeal)
        seals = yield from batch_in_slices(
            params.events,
            side=AGENT,  # Forecasts alone, whoever sends them.
            is_atomic=True,
            roster=self._committer.roster,
            folder=self._folder,
        )
        try:
            forecasts = require_seals(seals.admitted)
        except RefusedError as refusal:
            raise FaultError(REFUSED, refusal.message, refusal.code) from None
        job = Sealing(
            openings=self._openings,
            suite=params.suite,
            question=params.question,
            seals=forecasts,
            bytes=seals.bytes,
        )
        self._submit(call, job, _opened)

    def _unit(self, call: Call) -> None:
        named = call.read(UnitNamed)
        name = unit_name(named.suite, named.template, named.id, named.horizon)
        look = partial(found_unit, suite=named.suite, name=name)
        self._submit(call, Look(ask=look), _found)

    def _unit_state(self, call: Call) -> None:
        asked = call.read(UnitStored)
        self._submit(call, Look(ask=partial(stored_unit, asked=asked)), _found)

    def _question(self, call: Call) -> None:
        asked = call.read(Asked)
        look = partial(proposed, openings=self._openings, asked=asked)
        self._submit(call, Look(ask=look), _found)

    def _submit(self, call: Call, job: Job, shaped: Callable[[Done], object]) -> None:
        def reply(answer: Answer) -> None:
            try:
                if isinstance(answer, FaultError):
                    call.failed(answer)
                else:
                    call.done(shaped(answer))
            except Exception:  # noqa: BLE001 - as in `serve`; others wait for theirs
                self.note_fault(traceback.format_exc())
                call.failed(_own_fault())

        # Of one connection all replies are equal.
        self._committer.submit(
            job, reply, is_urgent=call.side == EVALUATOR, whose=call.reply
        )

    # Beside the writer.

    def _entry(self, call: Call) -> None:
        asked = call.read(EntryAt)
        self._read(call, self._log_rooms, partial(reading.entry, self._folder, asked))

    def _proof(self, call: Call) -> None:
        asked = call.read(ProofOf)
        self._read(call, self._log_rooms, partial(reading.proof, self._folder, asked))

    def _record(self, call: Call) -> None:
        asked = call.read(RecordOf)
        self._require_tables(call)
        self._read(call, self._rows_rooms, partial(reading.record, self._folder, asked))

    def _rows(self, call: Call) -> None:
        asked = call.read(RowsOf)
        is_past = asked.at is not None or asked.look is not None
        if is_past and call.side == AGENT:
            # Each would have the whole log folded anew.
            msg = "rows of the past are refused here: ask on the evaluator's socket"
            raise FaultError(FORBIDDEN, msg, "forbidden")
        self._require_tables(call)
        self._read(call, self._rows_rooms, partial(reading.rows, self._folder, asked))

    def _require_tables(self, call: Call) -> None:
        if call.side == AGENT:
            self._space.require_for_tables()

    def _read(self, call: Call, rooms: Rooms, answer: Callable[[], Any]) -> None:
        task = asyncio.get_running_loop().create_task(
            self._answered(call, rooms[call.side], answer)
        )
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)

    async def _answered(
        self, call: Call, room: reading.ReadingRoom, answer: Callable[[], Any]
    ) -> None:
        try:
            call.done(await room.ask(answer))
        except FaultError as fault:
            call.failed(fault)
        except asyncio.CancelledError:
            call.failed(reading.stopping())
        except Exception:  # noqa: BLE001 - as in `serve`
            self.note_fault(traceback.format_exc())
            call.failed(_own_fault())


def _rooms(name: str, reads_max: int) -> Rooms:
    return {side: reading.ReadingRoom(f"{side}-{name}", reads_max) for side in SIDES}


def _outcome(outcome: Outcome) -> Placed | NotPlaced:
    return placed(outcome) if isinstance(outcome, Receipt) else not_placed(outcome)


def _appended(done: Done) -> Appended:
    return Appended(receipts=tuple(map(_outcome, done.outcomes)), checkpoint=done.note)


def _opened(done: Done) -> dict[str, object]:
    """Return the receipts of a sealing: of the opening, where there was one, apart."""
    outcomes = [_outcome(each) for each in done.outcomes]
    seals = len(outcomes) - done.found
    return {
        "opened": outcomes[0] if seals else None,
        "receipts": outcomes[seals:],
        "checkpoint": done.note,
    }


def _found(done: Done) -> object:
    return done.found


def _own_fault() -> FaultError:
    msg = "the daemon failed at this request: its journal says where"
    return FaultError(INTERNAL_ERROR, msg, "internal-error")
