"""What is decided of a request before it queues: whose signatures, and which events.

None of it needs the log's state, so that the writer's thread is left for what does.
"""

from collections.abc import Callable, Generator, Sequence

import msgspec

from ledger import codec
from ledger.daemon.protocol import BAD_PARAMS, FORBIDDEN, FaultError
from ledger.daemon.sockets import AGENT
from ledger.envelope import open_envelope
from ledger.errors import RefusedError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.keys.roster import Roster
from ledger.signatures import Given, SignaturesAhead, known
from ledger.suite import SuiteManifest
from ledger.writer import Checked, Submission, Writer

FORECASTS = ("ForecastSealed", "ForecastUpdated")
# No line holds more events, and a group of commits stays of one size.
EVENTS_MAX = 1_000
# So many are opened, or their signatures checked, before others have their turn.
SLICE_EVENTS = 64
# Where more wait for the writer, an agent's events are checked before they queue.
_UNCHECKED_EVENTS_MAX = 1_024


class _Kind(msgspec.Struct, frozen=True):
    type: str


_KIND = msgspec.json.Decoder(_Kind)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Signed events on their way to the writer."""

    admitted: tuple[Submission | RefusedError, ...]
    is_atomic: bool
    bytes: int
    is_written: bool = True
    # Those of `admitted` whose signatures another process looks at meanwhile.
    given: Given | None = None

    @property
    def events(self) -> int:
        """How many they are."""
        return len(self.admitted)

    def submissions(self, writer: Writer) -> Sequence[Submission | RefusedError]:
        """Return them in order; where nobody has checked one, the writer will."""
        del writer
        if self.given is None:
            return self.admitted
        checked = iter(known(_unchecked(self.admitted), self.given))
        return [next(checked) if _is_open(each) else each for each in self.admitted]

    def found(self, writer: Writer) -> None:
        """Ask for nothing beside them."""
        del writer


def batch(
    events: Sequence[msgspec.Raw],
    *,
    side: str,
    is_atomic: bool,
    roster: Roster,
    folder: Folder,
) -> Batch:
    """Return events as they may queue; raise as `batch_in_slices`."""
    work = batch_in_slices(
        events, side=side, is_atomic=is_atomic, roster=roster, folder=folder
    )
    while True:
        try:
            next(work)
        except StopIteration as done:
            made: Batch = done.value
            return made


def batch_in_slices(
    events: Sequence[msgspec.Raw],
    *,
    side: str,
    is_atomic: bool,
    roster: Roster,
    folder: Folder,
    ahead: SignaturesAhead | None = None,
    require_room: Callable[[Batch], None] = lambda _: None,
) -> Generator[None, None, Batch]:
    """Return events as they may queue; an unfit one keeps its place as a refusal.

    Yields between slices of the work. Signatures are checked by `ahead`, where there is
    one and it has room, once `require_room` let the batch pass: of what is sent away
    nobody asks for the verdicts. Raises `FaultError` where this side may not send them,
    or there are none.
    """
    if not 1 <= len(events) <= EVENTS_MAX:
        msg = f"there are {len(events)} events: send 1 to {EVENTS_MAX} at a time"
        raise FaultError(BAD_PARAMS, msg, "bad-params")
    found: list[Submission | RefusedError] = []
    for at, event in enumerate(events, start=1):
        found.append(opened(event, side, roster, folder))
        if at % SLICE_EVENTS == 0:
            yield
    size = sum(len(memoryview(event)) for event in events)
    if ahead is not None:
        made = Batch(admitted=tuple(found), is_atomic=is_atomic, bytes=size)
        require_room(made)
        given = ahead.give(_unchecked(found))
        if given is not None:
            return msgspec.structs.replace(made, given=given)
    for at, each in enumerate(found):
        found[at] = checked(each)
        if (at + 1) % SLICE_EVENTS == 0:
            yield
    return Batch(admitted=tuple(found), is_atomic=is_atomic, bytes=size)


def is_checked_ahead(
    side: str, events: int, jobs_waiting: int, events_waiting: int
) -> bool:
    """Tell whether signatures are better checked once their events have queued.

    Alone, an event is checked before it could be handed over. Of agents, who may forge
    them, little queues unchecked.
    """
    if side == AGENT and (
        events > SLICE_EVENTS or events_waiting > _UNCHECKED_EVENTS_MAX
    ):
        return False
    return jobs_waiting > 0


def _is_open(event: Submission | RefusedError) -> bool:
    return isinstance(event, Submission) and not isinstance(event, Checked)


def _unchecked(events: Sequence[Submission | RefusedError]) -> list[Submission]:
    return [each for each in events if isinstance(each, Submission) and _is_open(each)]


def admit(
    event: msgspec.Raw, side: str, roster: Roster, folder: Folder
) -> Checked | RefusedError:
    """Return one signed event, its signature checked, or why it is refused.

    Raises `FaultError` (`forbidden`) for an event that this side may not send.
    """
    return checked(opened(event, side, roster, folder))


def checked(event: Submission | RefusedError) -> Checked | RefusedError:
    """Return an event as one that is known to be signed, or refuse it."""
    if isinstance(event, RefusedError | Checked):
        return event
    if not event.is_signed():
        key = event.author_key.hex()
        msg = f"the signature does not verify over these bytes by the key {key}"
        return RefusedError("bad-signature", msg)
    return Checked.of(event)


def opened(
    event: msgspec.Raw, side: str, roster: Roster, folder: Folder
) -> Submission | RefusedError:
    """Return one event of a request, or why it is refused; what pins files is checked.

    Raises `FaultError` (`forbidden`) for an event that this side may not send.
    """
    try:
        submission = open_envelope(bytes(event), roster)
        kind = _kind(submission.payload)
        if side == AGENT and kind not in FORECASTS:
            msg = f"{kind[:40]!r} is refused here: this socket takes forecasts only"
            raise FaultError(FORBIDDEN, msg, "forbidden")
        if kind != "SuiteFrozen":
            return submission
        found = checked(submission)
        if isinstance(found, Checked):
            _require_pins(submission.payload, folder)
    except RefusedError as refusal:
        return refusal
    return found


def _kind(payload: bytes) -> str:
    try:
        return _KIND.decode(payload).type
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedError(
            "not-canonical", f"the payload is no event: {error}"
        ) from None


def _require_pins(payload: bytes, folder: Folder) -> None:
    """Refuse a suite whose pinned files are not in `blobs/`: nobody could replay it."""
    event = codec.decode(payload)
    if not isinstance(event, SuiteFrozen) or not isinstance(
        event.manifest, SuiteManifest
    ):
        return
    for name, digest in event.manifest.pins.items():
        if folder.blobs.get(digest) is None:
            msg = (
                f"{event.suite} pins {name!r}, and no file with SHA-256 {digest} is in "
                "blobs/: put it there, or freeze it with `ledger suite freeze`"
            )
            raise RefusedError("pin-unfit", msg)
