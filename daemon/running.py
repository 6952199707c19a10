"""`ledger run`: a forecast sealed before a command starts, and what came of it.

The forecast is durable before the command is started, or the command is not. What came
of it is recorded by a resolver's key where one is given; else an observation is left
for the resolver, unsigned.
"""

import signal
import time
from collections.abc import Callable
from datetime import timedelta

from ledger import canonical
from ledger.clock import parse_instant
from ledger.daemon.inbox import OBSERVED, Inbox
from ledger.daemon.running_child import Child, Ended
from ledger.daemon.running_desk import Place
from ledger.daemon.running_outcome import in_words, observation, outcome
from ledger.daemon.running_seal import Fields, Order, Sealed, seal, signed
from ledger.durable import write_durably
from ledger.errors import LedgerError
from ledger.ids import sha256_hex
from ledger.keys.signing import SignerKey
from ledger.writer import Receipt

_MARGIN_SECONDS = 0.001
_CUTOFF_SECONDS_MAX = 10  # a clock that was set back would have us wait for ever


def run(order: Order, place: Place, tell: Callable[[str], None]) -> int:
    """Seal, run and record; return the exit status of the command.

    `tell` is for notes to people. Raises a `LedgerError` where nothing was sealed, and
    then nothing was run. Whatever goes wrong later leaves an observation, and a note.
    """
    with place.desk() as desk:
        sealed = seal(order, desk, place.clock())
    tell(f"sealed {sealed.name[2]} as entry {sealed.receipt.seq}")
    # A forecast counts if it was received before the work began.
    received_at = parse_instant(sealed.receipt.received_at)
    child = Child(order.timeout_seconds, place.clock)
    ended = child.run(order.command, received_at + timedelta(microseconds=1))
    # From here on Ctrl-C would only lose what is known.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _keep(order, place, sealed, ended, tell)
    finally:
        signal.signal(signal.SIGINT, before)
    return ended.code


def _keep(
    order: Order,
    place: Place,
    sealed: Sealed,
    ended: Ended,
    tell: Callable[[str], None],
) -> None:
    """Record the outcome, or leave it for the resolver where that cannot be."""
    record = outcome(order, sealed, ended)
    seen = canonical.encode(observation(sealed, ended, record))
    said = in_words(record)
    if order.resolver is not None:
        try:
            receipt = _resolve(order.resolver, sealed, record, seen, place)
        except (LedgerError, OSError) as error:
            tell(f"the outcome was not recorded: {error}")
        else:
            tell(f"{said}, recorded as entry {receipt.seq}")
            return
    try:
        tell(f"{said}, left for the resolver in {_leave(sealed, seen, place)}")
    except OSError as error:
        tell(f"{said}, and this could not be left for the resolver: {error}")


def _resolve(
    resolver: SignerKey, sealed: Sealed, record: Fields, seen: bytes, place: Place
) -> Receipt:
    """Record the outcome; what was seen is kept as its evidence."""
    evidence = place.folder.blobs.keep(seen)
    _pass_cutoff(sealed, place)
    with place.desk() as desk:
        known = desk.unit(sealed.name)
        assert known is not None, "its forecast is in the log"
        naming = {"template", "id", "horizon"}
        draft = {name: value for name, value in record.items() if name not in naming}
        draft |= {"question_hash": known.question_hash, "evidence_hash": evidence}
        if known.status == "PENDING":
            draft["supersedes"] = known.record
        [receipt] = desk.append([signed(draft, resolver, desk.ledger, place.clock())])
    return receipt


def _pass_cutoff(sealed: Sealed, place: Place) -> None:
    """Wait for the cut-off: an outcome that is recorded before it is flagged."""
    if sealed.cutoff_at is None:
        return
    left = (sealed.cutoff_at - place.clock()).total_seconds()
    time.sleep(min(max(0.0, left + _MARGIN_SECONDS), _CUTOFF_SECONDS_MAX))


def _leave(sealed: Sealed, seen: bytes, place: Place) -> str:
    """Leave an observation, and return where, within the ledger's folder."""
    inbox = Inbox(place.folder)
    inbox.make()
    name = f"run-{sha256_hex(canonical.encode(list(sealed.name)))[:32]}.json"
    write_durably(inbox.path / OBSERVED / name, seen + b"\n")
    return f"inbox/{OBSERVED}/{name}"
