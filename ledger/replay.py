"""One path for living, recovering and auditing: check an event, then apply it."""

from collections.abc import Iterable, Iterator, Sequence

from ledger import codec
from ledger.clock import parse_instant
from ledger.entry import Recorded
from ledger.errors import CorruptLogError
from ledger.events import SuiteFrozen
from ledger.rules import check
from ledger.state import State
from ledger.store import Row, Store

_FREEZES = '"type":"SuiteFrozen"'


def may_freeze(payload: bytes) -> bool:
    """Tell whether a payload may freeze a suite or charter, without decoding it.

    A name in somebody's extensions may be spelled like that too.
    """
    return _FREEZES.encode() in payload


class StoredEvents:
    """The events of a store, decoded; what the door let in is not judged again."""

    def __init__(self, store: Store, size: int | None = None) -> None:
        """Read up to the store's head, or to a smaller size that a caller trusts."""
        self._store = store
        self._size = size

    def size(self) -> int:
        """Return how many events there are."""
        return self._store.head().size if self._size is None else self._size

    def read(self, start: int, stop: int) -> Iterator[Recorded]:
        """Yield the events of positions from `start` until before `stop`."""
        return map(recorded, self._store.rows(start, min(stop, self.size())))

    def read_at(self, seqs: Sequence[int]) -> Iterator[Recorded]:
        """Yield the events at these positions, in the order given."""
        return map(recorded, self._store.rows_at(seqs))

    def frozen(self) -> Iterator[tuple[Recorded, SuiteFrozen]]:
        """Yield the entries that freeze a suite or charter, with their events, in order.

        There are few: the database finds them, and the others are never decoded.
        """
        for each in self.read_at(self._store.holding(_FREEZES)):
            if isinstance(each.event, SuiteFrozen):
                yield each, each.event


def recorded(row: Row) -> Recorded:
    """Return a stored entry as an event where it stands."""
    try:
        received_at = parse_instant(row.received_at)
        event = codec.read(row.payload)
    except (TypeError, ValueError) as error:
        raise CorruptLogError(str(error), seq=row.seq) from None
    except CorruptLogError as error:
        raise CorruptLogError(error.reason, seq=row.seq) from None
    return Recorded(
        seq=row.seq,
        received_at=received_at,
        author_key=row.author,
        event_id=row.event_id.hex(),
        event=event,
    )


def step(state: State, recorded: Recorded) -> None:
    """Let one event in, or raise `RefusedError` and change nothing."""
    state.apply(recorded, check(state, recorded))


def replay(state: State, events: Iterable[Recorded]) -> None:
    """Fold events into `state`; raise `RefusedError` at the first unlawful one."""
    for each in events:
        step(state, each)
