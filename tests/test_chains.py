"""Where a chain ends: the door and the tables say the same, whatever a thief did.

A thief has a forecaster's first key. Whenever it becomes known that the key was lost,
another seal than the first may turn out to begin the chain; then both, the door that
takes the next update and the tables that show the chain, have to mean that one.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.errors import RefusedError
from ledger.projections.docket import gather
from ledger.projections.grouping import read_stretch
from ledger.projections.lineage import KINDS, lineage
from ledger.projections.schema import found
from ledger.projections.suites import Frozen
from tests.simulator import History, suite

SALT = sha256(b"salt").hexdigest()
MANIFEST = suite()
FIRST_KEY = "forecaster"
ORDERED = (
    *("the thief seals", "the owner seals", "the owner updates"),
    *("the thief updates", "the key is rotated", "the theft is declared"),
)


class Theft:
    """A unit on which a thief and a forecaster forecast by one name.

    What the door refuses did not happen.
    """

    def __init__(self) -> None:
        self.history = History(MANIFEST)
        self.question = self.history.question()
        self.rotations = 0
        self.lost: int | None = None
        self.first_theft: int | None = None

    def do(self, step: str) -> None:
        """Let one step happen, if the door lets it."""
        steps: dict[str, Callable[[], object]] = {
            "the thief seals": lambda: self.steal(lambda: self.seal(FIRST_KEY)),
            "the thief updates": lambda: self.steal(lambda: self.update(FIRST_KEY)),
            "the owner seals": lambda: self.seal(self.key),
            "the owner updates": lambda: self.update(self.key),
            "the key is rotated": self.rotate,
            "the theft is declared": self.declare,
        }
        with suppress(RefusedError):
            steps[step]()

    @property
    def key(self) -> str:
        """The forecaster's key by now."""
        return f"{FIRST_KEY}#{self.rotations + 1}" if self.rotations else FIRST_KEY

    def steal(self, forecast: Callable[[], str]) -> None:
        seq = self.history.size()
        forecast()
        if self.first_theft is None:
            self.first_theft = seq

    def seal(self, key: str) -> str:
        return self.history.seal(self.question, "0.9", key=key)

    def update(self, key: str) -> str:
        return self.history.update(self.question, self.end_at_the_door(), key=key)

    def rotate(self) -> None:
        self.rotations += 1
        self.amend()

    def declare(self, since: int | None = None) -> None:
        self.lost = since or self.first_theft or 2
        self.amend()

    def amend(self) -> None:
        number = self.history.state.charter_version + 1
        lost = {} if self.lost is None else {"forecaster": self.lost}
        self.history.add(
            self.history.charter(
                number, keys={"forecaster": self.key}, compromised_since=lost
            )
        )

    def end_at_the_door(self) -> str:
        """Return the vector that the door wants the next update to attach to."""
        asked = codec.question_hash(self.question)
        unit = self.history.state.unit_of(MANIFEST.suite, asked)
        chain = None if unit is None else unit.chains.get("native")
        return (
            "0" * 64 if chain is None else chain.end(self.history.state.lost).event_id
        )

    def end_in_the_tables(self) -> str:
        """Return the last vector of the chain, as the tables show it."""
        kinds = self.kinds()
        chain = [seq for seq, kind in kinds.items() if kind in {"initial", "update"}]
        return self.id_of(chain[-1]) if chain else "0" * 64

    def kinds(self) -> dict[int, str]:
        """Return what each forecast event is in the tables, by position."""
        frozen = Frozen()
        stretch = read_stretch(self.history.entries)
        for entry in stretch.frozen:
            frozen.adopt(entry)
        docket = gather(stretch.groups, frozen)
        kinds = [KINDS[kind] for kind in lineage(docket).kind.tolist()]
        return dict(zip(docket.forecasts.seq.tolist(), kinds, strict=True))

    def id_of(self, seq: int) -> str:
        return self.history.entries[seq].event_id.hex()


def agree(steps: Sequence[str]) -> Theft:
    """Tell a theft, asking after each step where the chain ends."""
    theft = Theft()
    for step in steps:
        theft.do(step)
        assert theft.end_at_the_door() == theft.end_in_the_tables(), step
    return theft


@pytest.mark.parametrize("first", ["the thief seals", "the owner seals"])
def test_in_every_order_the_door_and_the_tables_name_the_same_end(first: str) -> None:
    for others in permutations(step for step in ORDERED if step != first):
        agree([first, *others])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.sampled_from(ORDERED), max_size=12),
    since=st.integers(2, 14),
    more=st.lists(st.sampled_from(ORDERED), max_size=6),
)
def test_whatever_happens_how_often_they_name_the_same_end(
    steps: list[str], since: int, more: list[str]
) -> None:
    theft = agree(steps)
    # Also of another key than the thief's, and from any position on.
    with suppress(RefusedError):
        theft.declare(since)
    for step in more:
        theft.do(step)
        assert theft.end_at_the_door() == theft.end_in_the_tables()


# The attack on which they had differed: what began the chain is found out after it
# was updated, and then somebody seals once more.
FOUND_LATE = (
    "the thief seals",
    "the key is rotated",
    "the owner seals",
    "the owner updates",
    "the theft is declared",
    "the owner seals",
)


def test_a_chain_that_a_late_theft_moves_goes_on_from_its_last_update() -> None:
    theft = agree(FOUND_LATE[:-1])
    theft.seal(theft.key)
    kinds = theft.kinds()
    assert list(kinds.values()) == ["initial", "initial", "update", "duplicate"]
    *_, updated, sealed_again = kinds
    with pytest.raises(RefusedError, match="the parent must be the chain's last"):
        theft.history.update(theft.question, theft.id_of(sealed_again), key=theft.key)
    theft.history.update(theft.question, theft.id_of(updated), key=theft.key)
    assert list(theft.kinds().values())[-1] == "update"


def test_of_one_key_the_seals_after_the_first_are_never_where_a_chain_begins() -> None:
    theft = agree(["the thief seals", "the owner seals", "the key is rotated"])
    first, second = theft.kinds()
    theft.declare(second)
    assert theft.kinds() == {first: "initial", second: "duplicate"}
    theft.declare(first)
    assert theft.kinds() == {first: "initial", second: "duplicate"}
    theft.seal(theft.key)
    assert list(theft.kinds().values())[-1] == "initial"
    assert theft.end_at_the_door() == theft.end_in_the_tables()


# --- Hidden vectors -------------------------------------------------------------------


def hidden(theft: Theft) -> str:
    """Seal a vector hidden, with the key by now."""
    history, question = theft.history, theft.question
    draft = history.draft_seal(question, probabilities=history.vector(question, "0.8"))
    committed = codec.commitment(draft, parent=None, salt=SALT)
    return history.seal(question, "", commitment=committed, key=theft.key)


def reveal(theft: Theft, sealed: str, p: str = "0.8") -> int:
    """Open a hidden vector with the key by now; return where."""
    seq = theft.history.size()
    theft.history.update(
        theft.question, sealed, p, opens=sealed, salt=SALT, key=theft.key
    )
    return seq


def told(theft: Theft) -> tuple[int | None, int, list[tuple[int, str]]]:
    """Return where the first vector was opened, if it counts, and the findings."""
    connection = theft.history.folded().connection
    sql = "SELECT opened_seq, eligible FROM forecasts ORDER BY seq"
    (opened, counts), *_ = found(connection, sql)
    findings = found(connection, "SELECT seq, rule FROM findings ORDER BY seq, rule")
    return opened, counts, findings


def test_what_a_thief_opened_its_forecaster_may_open_again() -> None:
    theft = Theft()
    sealed = hidden(theft)
    stolen = reveal(theft, sealed)
    assert told(theft) == (stolen, 1, [])
    theft.rotate()
    with pytest.raises(RefusedError, match="no hidden forecast"):
        reveal(theft, sealed)
    theft.declare(stolen)
    # It showed what had been committed to: nothing else can be said against it.
    assert told(theft) == (None, 0, [(stolen, "compromised-key")])
    own = reveal(theft, sealed)
    assert told(theft) == (own, 1, [(stolen, "compromised-key")])
    with pytest.raises(RefusedError, match="no hidden forecast"):
        reveal(theft, sealed)


def test_what_is_opened_with_a_key_that_is_known_to_be_lost_stays_closed() -> None:
    theft = Theft()
    sealed = hidden(theft)
    theft.declare(theft.history.size())
    stolen = reveal(theft, sealed)
    theft.rotate()
    assert told(theft) == (None, 0, [(stolen, "compromised-key")])
    own = reveal(theft, sealed)
    assert told(theft) == (own, 1, [(stolen, "compromised-key")])


def test_a_reveal_before_the_theft_stands() -> None:
    theft = Theft()
    sealed = hidden(theft)
    own = reveal(theft, sealed)
    theft.rotate()
    theft.declare(own + 1)
    assert told(theft) == (own, 1, [])
    with pytest.raises(RefusedError, match="no hidden forecast"):
        reveal(theft, sealed)


def test_a_thief_s_reveal_of_another_vector_is_both() -> None:
    theft = Theft()
    sealed = hidden(theft)
    stolen = reveal(theft, sealed, "0.9")
    theft.rotate()
    theft.declare(stolen)
    found = [(stolen, "commitment-mismatch"), (stolen, "compromised-key")]
    assert told(theft) == (None, 0, found)
    own = reveal(theft, sealed)
    assert told(theft) == (own, 1, found)


def test_what_was_opened_twice_by_thieves_is_opened_a_third_time() -> None:
    theft = Theft()
    sealed = hidden(theft)
    thefts = []
    for _ in range(2):
        thefts.append(reveal(theft, sealed))
        theft.rotate()
        theft.declare(thefts[-1])
    own = reveal(theft, sealed)
    assert told(theft) == (own, 1, [(seq, "compromised-key") for seq in thefts])
