"""What recalibrated competitors say: a vector beside each one of their source.

Only questions with two answers, one of which is the event, are recalibrated; vectors
on others are passed on. The past are outcomes of the suite's own units, as far as
they are in its `baseline_pool`.
"""

import msgspec
import numpy as np

from ledger.projections.board import Board
from ledger.projections.cohort import NOT_DECLARED
from ledger.projections.columns import NEVER, Integers, integers
from ledger.projections.computed import Computed, Places, Said
from ledger.projections.exact import PPM
from ledger.projections.lineage import INITIAL
from ledger.projections.recalibration import Lessons, passed_on, recalibrated
from ledger.projections.slotted import BINARY, said_of
from ledger.suite import Competitor, SuiteManifest

METHODS = frozenset({"platt", "isotonic"})


def origin_of(competitor: Competitor, manifest: SuiteManifest) -> Competitor:
    """Return whose vectors those of a competitor go back to; mostly its own."""
    while competitor.method in METHODS:
        source = manifest.competitor(competitor.of or "")
        assert source is not None, "no suite is frozen without the sources it names"
        competitor = source
    return competitor


def recalibrate(
    board: Board, places: Places, computed: dict[str, Computed]
) -> dict[str, Computed]:
    """Return what each recalibrated competitor of a suite says, by its name.

    `computed` are the past rates. What has a source without vectors has none either.
    """
    manifest = board.suite.manifest
    waiting = [each for each in manifest.competitors if each.method in METHODS]
    found: dict[str, Computed] = {}
    # A source may be recalibrated itself; they never go in a circle.
    while waiting:
        competitor = waiting.pop(0)
        source = manifest.competitor(competitor.of or "")
        assert source is not None, "no suite is frozen without the sources it names"
        if source in waiting:
            waiting.append(competitor)
            continue
        said = found.get(source.name) or computed.get(source.name)
        if said is None and source.principal is not None:
            said = _sealed(board, places, source)
        if said is not None:
            origin = origin_of(competitor, manifest)
            first = _first(board, places, origin)
            found[competitor.name] = _mapped(board, places, competitor, said, first)
    return found


def _sealed(board: Board, places: Places, source: Competitor) -> Computed:
    """Return what somebody sealed, at the places where it was; hidden is nothing."""
    vectors = board.vectors
    rows = np.flatnonzero(
        (vectors.forecaster == vectors.forecasters.get(source.name, -1))
        & (places.of_vector >= 0)
    )
    said = Said(len(places.unit))
    code = np.full(len(places.unit), -1, dtype=np.int64)
    code[places.of_vector[rows]] = vectors.code[rows]
    return msgspec.structs.replace(
        said.whole(), code=code, distinct=vectors.distinct, is_mirror=1
    )


class First(msgspec.Struct, frozen=True, kw_only=True):
    """The first vector of each unit that has one: at which of the places it stands.

    `opened` is the place at which a hidden one was opened; others were never hidden,
    and it is lower than any.
    """

    unit: Integers
    at: Integers
    opened: Integers


def _first(board: Board, places: Places, origin: Competitor) -> First:
    vectors, units = board.vectors, board.units
    if origin.principal is None:
        unit = np.flatnonzero(units.own_eligible)
        return First(unit=unit, at=places.own[unit], opened=np.full(len(unit), -NEVER))
    is_mine = vectors.forecaster == vectors.forecasters.get(origin.name, -1)
    rows = np.flatnonzero(is_mine & vectors.eligible & (vectors.kind == INITIAL))
    opened = np.full(len(rows), -NEVER)
    if board.opened:
        seqs = vectors.seq[rows].tolist()
        opened = integers([board.opened.get(seq, -NEVER) for seq in seqs])
    return First(unit=vectors.unit[rows], at=places.of_vector[rows], opened=opened)


def _mapped(
    board: Board, places: Places, competitor: Competitor, source: Computed, first: First
) -> Computed:
    """Return the vectors of a source, recalibrated, at all of their places."""
    units, clip_ppm = board.units, board.suite.clip_ppm
    lessons = _lessons(board, source, first)
    said, speaks = Said(len(places.unit)), source.code >= 0
    fit = np.full(len(places.unit), passed_on(NOT_DECLARED), dtype=np.int64)
    asked = units.answers[places.unit]
    for code in np.unique(asked[speaks]).tolist():
        rows = np.flatnonzero(speaks & (asked == code))
        unit, codes = places.unit[rows], source.code[rows]
        ppm = _vectors(source.distinct, codes)
        event = units.positive[unit]
        if ppm.shape[1] == BINARY:
            # Without an event nothing says what a high probability means.
            has_event = np.flatnonzero(event >= 0)
            event = event[has_event]
            asked_now = ppm[has_event, event], places.place[rows[has_event]]
            mapped = recalibrated(competitor, lessons, clip_ppm, asked_now)
            ppm[has_event, event] = mapped.p_ppm
            ppm[has_event, 1 - event] = PPM - mapped.p_ppm
            fit[rows[has_event]] = mapped.fit
        said.add(rows, ppm, units.outcome[unit], clip_ppm)
    return msgspec.structs.replace(said.whole(), is_mirror=source.is_mirror, fit=fit)


def _vectors(distinct: list[tuple[int, ...]], code: Integers) -> Integers:
    """Return vectors of one length as rows."""
    codes, which = np.unique(code, return_inverse=True)
    found: Integers = np.array([distinct[each] for each in codes.tolist()])
    return found[which.reshape(-1)]


def _lessons(board: Board, source: Computed, first: First) -> Lessons:
    """Return the outcomes of a suite's own units beside what a source first said."""
    units = board.units
    row = np.full(len(units.number), -1, dtype=np.int64)
    row[first.unit] = np.arange(len(first.unit))
    found = []
    for answers, past in board.past.items():
        if len(answers) != BINARY:
            continue
        own = np.flatnonzero(past.unit < len(row))
        own = own[(row[past.unit[own]] >= 0) & (units.positive[past.unit[own]] >= 0)]
        unit, at = past.unit[own], row[past.unit[own]]
        event, code = units.positive[unit], source.code[first.at[at]]
        found.append(
            (
                said_of(source.distinct, code, event),
                (past.outcome[own] == event).astype(np.int64),
                np.maximum(past.known[own], first.opened[at]),
                past.until[own],
            )
        )
    empty = np.zeros(0, dtype=np.int64)
    p_ppm, y, known, until = (
        np.concatenate([empty, *(each[column] for each in found)])
        for column in range(4)
    )
    kept = known < until
    return Lessons(p_ppm=p_ppm[kept], y=y[kept], known=known[kept], until=until[kept])
