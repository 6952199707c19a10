"""What is open: units without an outcome, and who has not forecast them yet.

The one projection that is asked at a given moment: what is due depends on the time.
"""

from collections.abc import Collection, Iterator
from typing import Literal

import apsw
import msgspec

from ledger.clock import micros, parse_instant, text_of_micros
from ledger.projections.board_units import PENDING, Pinned, read_units
from ledger.projections.lineage import KINDS, REVEAL
from ledger.projections.schema import found
from ledger.projections.suites import SECOND_US, Frozen, SuiteVersion

State = Literal["due", "pending", "overdue"]


class OpenUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A unit without an outcome.

    `due`: its cut-off is ahead, so that it can be forecast; `pending`: its outcome may
    still come in time; `overdue`: `resolve_by` is past. `seconds_left` are those until
    the cut-off or `resolve_by`, negative once that is past. `unforecast_by` are the
    suite's competitors that sealed nothing on it.
    """

    suite: str
    template: str
    id: str
    horizon: str
    state: State
    cutoff_at: str
    resolve_by: str
    seconds_left: int
    vectors: int
    unforecast_by: list[str]


def open_units(
    connection: apsw.Connection,
    frozen: Frozen,
    pinned: Pinned,
    at_us: int,
    suites: Collection[str] | None = None,
) -> list[OpenUnit]:
    """Return what is open at an instant: first what is due, the most urgent first.

    Of all suites, or of some.

    Raises `UncheckableError` where a pinned list of questions is not at hand.
    """
    found = [
        each
        for name, version in frozen.suites.items()
        if suites is None or name in suites
        for each in _of_suite(connection, frozen, version, pinned, at_us)
    ]
    order = ("due", "overdue", "pending")
    return sorted(
        found,
        key=lambda each: (
            order.index(each.state),
            each.seconds_left,
            (each.suite, each.template, each.id, each.horizon),
        ),
    )


def undeclared(connection: apsw.Connection, suite: str, as_of: str) -> int:
    """Return how many units that the log has opened no row of that instant counts.

    Their cut-offs are ahead of it.
    """
    sql = (
        "SELECT count(*) FROM questions WHERE suite = ? AND cutoff_us > ? AND is_spoken"
    )
    [(count,)] = found(connection, sql, (suite, micros(parse_instant(as_of))))
    return int(count)


def stolen(connection: apsw.Connection, suite: str) -> int:
    """Return how many units no row counts since only compromised keys opened them."""
    sql = "SELECT count(*) FROM questions WHERE suite = ? AND NOT is_spoken"
    [(count,)] = found(connection, sql, (suite,))
    return int(count)


def called(connection: apsw.Connection, question_hash: str) -> str | None:
    """Return the template/id/horizon of a question that the log has seen."""
    found = connection.execute(
        "SELECT template, id, horizon FROM questions WHERE question_hash = ? OR unit IN "
        "(SELECT unit FROM aliases WHERE question_hash = ?) LIMIT 1",
        (question_hash, question_hash),
    ).fetchone()
    return None if found is None else "/".join(found)


def _of_suite(
    connection: apsw.Connection,
    frozen: Frozen,
    suite: SuiteVersion,
    pinned: Pinned,
    at_us: int,
) -> Iterator[OpenUnit]:
    units = read_units(connection, suite, pinned)
    sealing = [each.name for each in suite.manifest.competitors if each.principal]
    spoken = _spoken(connection, suite.name)
    is_superseded = frozen.successor(suite.name) is not None
    for row, status in enumerate(units.status.tolist()):
        if status != PENDING or not units.is_spoken[row]:
            continue
        number = int(units.number[row])
        cutoff_us, resolve_by_us = (
            int(units.cutoff_us[row]),
            int(units.resolve_by_us[row]),
        )
        # A question that nobody opened in time can be forecast no more.
        is_closed = is_superseded and number < 0
        state = _state(cutoff_us, resolve_by_us, at_us, is_closed=is_closed)
        until_us = cutoff_us if state == "due" else resolve_by_us
        _, template, name, horizon = msgspec.json.decode(
            units.identities[row], type=tuple[str, str, str, str]
        )
        said = spoken.get(number, set())
        yield OpenUnit(
            suite=suite.name,
            template=template,
            id=name,
            horizon=horizon,
            state=state,
            cutoff_at=text_of_micros(cutoff_us),
            resolve_by=text_of_micros(resolve_by_us),
            seconds_left=(until_us - at_us) // SECOND_US,
            vectors=int(units.vectors[row]),
            unforecast_by=[each for each in sealing if each not in said],
        )


def _state(cutoff_us: int, resolve_by_us: int, at_us: int, *, is_closed: bool) -> State:
    if at_us <= cutoff_us and not is_closed:
        return "due"
    return "pending" if at_us <= resolve_by_us else "overdue"


def _spoken(connection: apsw.Connection, suite: str) -> dict[int, set[str]]:
    """Return who sealed something on each unit, by the unit's number."""
    rows = connection.execute(
        "SELECT DISTINCT f.unit, f.forecaster FROM forecasts f JOIN questions q "
        "USING (unit) WHERE q.suite = ? AND q.status = 'PENDING' AND f.kind <> ?",
        (suite, KINDS[REVEAL]),
    )
    found: dict[int, set[str]] = {}
    for unit, forecaster in rows:
        found.setdefault(unit, set()).add(forecaster)
    return found
