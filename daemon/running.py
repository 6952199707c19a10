"""`ledger run`: a forecast sealed before a command starts, and what came of it.

The forecast is durable before the command is started, or the command is not. What came
of it is recorded by a resolver's key where one is given; else an observation is left
for the resolver, unsigned.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from ledger import canonical
from ledger.clock import parse_instant
from ledger.daemon.inbox import OBSERVED, Inbox
from ledger.daemon.opening import Found
from ledger.daemon.running_child import LOST, Child, Ended
from ledger.daemon.running_desk import Name, Place
from ledger.daemon.running_outcome import in_words, observation, outcome
from ledger.daemon.running_seal import Fields, Order, Sealed, seal, signed
from ledger.durable import write_durably
from ledger.errors import LedgerError, RefusedError, UncheckableError
from ledger.keys.signing import SignerKey
from ledger.writer import Receipt

_MARGIN_SECONDS = 0.001
_CUTOFF_SECONDS_MAX = 10  # a clock that was set back would have us wait for ever


def run(order: Order, place: Place, tell: Callable[[str], None]) -> int:
    """Seal, run and record; return the exit status of the command.

    `tell` is for notes to people. Raises a `LedgerError` where nothing was sealed, and
    then nothing was run; and `UncheckableError` where the command's end was not seen.
    Whatever goes wrong after the seal leaves an observation, and a note.
    """
    sealed: Sealed | None = None
    fault: Exception | None = None
    with ExitStack() as held:
        child = Child(order.timeout_seconds, place.clock)
        try:
            with place.desk() as desk:
                sealed = seal(order, desk, place.clock())
                # From here on a signal would only lose what is known.
                held.enter_context(child)
            tell(f"sealed {sealed.name[2]} as entry {sealed.receipt.seq}")
            # A forecast counts if it was received before the work began.
            received_at = parse_instant(sealed.receipt.received_at)
            ended = child.run(order.command, received_at + timedelta(microseconds=1))
        except Exception as error:
            if sealed is None:
                raise
            ended, fault = child.lost(), error
        _keep(order, place, sealed, ended, tell)
    if ended.code is None:
        what = "its end was not seen" if ended.how == LOST else "it was not started"
        msg = f"the command was given up, {what}: {_said(fault)}"
        raise UncheckableError(msg) from fault
    return ended.code


def _keep(
    order: Order,
    place: Place,
    sealed: Sealed,
    ended: Ended,
    tell: Callable[[str], None],
) -> None:
    """Record the outcome, or leave it for the resolver where that cannot be.

    It is left first: whoever ends this process meanwhile loses nothing.
    """
    record = outcome(order, sealed, ended)
    seen = canonical.encode(observation(sealed, ended, record))
    said = in_words(record)
    try:
        left: Path | OSError = _leave(sealed, seen, place)
    except OSError as error:
        left = error
    if order.resolver is not None and ended.how != LOST:
        try:
            receipt = _resolve(order.resolver, sealed, record, seen, place)
        except Exception as error:  # noqa: BLE001 - whatever it is, the command has ended
            tell(f"the outcome was not recorded: {_said(error)}")
        else:
            tell(f"{said}, recorded as entry {receipt.seq}")
            _take_back(left, tell)
            return
    if isinstance(left, OSError):
        tell(f"{said}, and this could not be left for the resolver: {left}")
    else:
        tell(f"{said}, left for the resolver in {left.relative_to(place.folder.path)}")


def _resolve(
    resolver: SignerKey, sealed: Sealed, record: Fields, seen: bytes, place: Place
) -> Receipt:
    """Record the outcome; what was seen is kept as its evidence."""
    evidence = place.folder.blobs.keep(seen)
    _pass_cutoff(sealed, place)
    with place.desk() as desk:
        known = _unresolved(desk.unit(sealed.name), sealed.name)
        naming = {"template", "id", "horizon"}
        draft = {name: value for name, value in record.items() if name not in naming}
        draft |= {"question_hash": known.question_hash, "evidence_hash": evidence}
        if known.status == "PENDING":
            draft["supersedes"] = known.record
        try:
            [receipt] = desk.append(
                [signed(draft, resolver, desk.ledger, place.clock())]
            )
        except RefusedError:
            _unresolved(desk.unit(sealed.name), sealed.name)
            raise
    return receipt


def _unresolved(known: Found | None, name: Name) -> Found:
    """Return what is known of a unit; refuse one of which another recorded the outcome."""
    assert known is not None, "its forecast is in the log"
    if known.status in {None, "PENDING"}:
        return known
    msg = (
        f"{'/'.join(name[1:])} is {known.status} already, by {known.record}: another run "
        "of this id, or another resolver, recorded an outcome first"
    )
    raise RefusedError("already-resolved", msg)


def _pass_cutoff(sealed: Sealed, place: Place) -> None:
    """Wait for the cut-off: an outcome that is recorded before it is flagged."""
    if sealed.cutoff_at is None:
        return
    left = (sealed.cutoff_at - place.clock()).total_seconds()
    time.sleep(min(max(0.0, left + _MARGIN_SECONDS), _CUTOFF_SECONDS_MAX))


def _leave(sealed: Sealed, seen: bytes, place: Place) -> Path:
    """Leave an observation, of this forecast alone, and return where."""
    inbox = Inbox(place.folder)
    inbox.make()
    path = inbox.path / OBSERVED / f"run-{sealed.receipt.event_id[:32]}.json"
    write_durably(path, seen + b"\n")
    return path


def _take_back(left: Path | OSError, tell: Callable[[str], None]) -> None:
    """Remove an observation that is in the log now."""
    if isinstance(left, OSError):
        return
    try:
        left.unlink(missing_ok=True)
    except OSError as error:
        tell(f"what was left for the resolver is recorded, so remove it: {error}")


def _said(fault: Exception | None) -> str:
    """Return what went wrong; a fault of this program with its kind."""
    return str(fault) if isinstance(fault, LedgerError | OSError) else repr(fault)
