"""What the computed competitors of a suite say, at every place that matters.

These are the places of all vectors, where they are a baseline, and each unit's own
place, where they forecast for themselves.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from ledger.projections.baselines import Past, Walk, Where, is_computed
from ledger.projections.board import Board
from ledger.projections.columns import NEVER, Flags, Integers
from ledger.projections.decay import DAY_US
from ledger.projections.lineage import DUPLICATE
from ledger.projections.scores import ScoreColumns, score_rows
from ledger.projections.tables import BaselineRow

_NOTHING = np.zeros(0, dtype=np.int64)
_EMPTY_PAST = Past(unit=_NOTHING, outcome=_NOTHING, known=_NOTHING, until=_NOTHING)


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where baselines are asked for: at all vectors, then at each unit's own place.

    `of_vector` and `own` are the rows of each vector and unit; -1 for a duplicate,
    which is no vector of a chain, and for a unit that was never opened nor forecast.
    """

    unit: Integers
    place: Integers
    moment_us: Integers
    seq: Integers
    of_vector: Integers
    own: Integers


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """What one computed competitor says: one row a place.

    `code` is which of the `distinct` vectors, -1 where it says nothing, `scores` are
    `NEVER` where the unit is not resolved. `is_mirror` is 1 where it has a vector beside
    each that its source sealed; else its own vectors stand at the units' own places.
    `fit` is by which fit of a recalibration, or why by none (`recalibration.passed_on`);
    None of what recalibrates nothing. `has_past` marks where a past rate knew an outcome
    within its own keys; None of what is no past rate.
    """

    code: Integers
    distinct: list[tuple[int, ...]]
    scores: ScoreColumns
    is_mirror: int = 0
    fit: Integers | None = None
    has_past: Flags | None = None


def places_of(board: Board) -> Places:
    """Return where the computed competitors of a board are asked."""
    vectors, units = board.vectors, board.units
    sealed = np.flatnonzero(vectors.kind != DUPLICATE)
    own = np.flatnonzero(units.own_seq != NEVER)
    return Places(
        unit=np.concatenate([vectors.unit[sealed], own]),
        place=np.concatenate([vectors.place[sealed], units.own_place[own]]),
        moment_us=np.concatenate([vectors.sealed_us[sealed], units.own_us[own]]),
        seq=np.concatenate([vectors.seq[sealed], units.own_seq[own]]),
        of_vector=_numbered(len(vectors.seq), sealed, 0),
        own=_numbered(len(units.number), own, len(sealed)),
    )


def _numbered(size: int, chosen: Integers, first: int) -> Integers:
    rows = np.full(size, -1, dtype=np.int64)
    rows[chosen] = np.arange(first, first + len(chosen))
    return rows


def compute(board: Board, places: Places) -> dict[str, Computed]:
    """Return what the past rates of a suite say, by the competitors' names."""
    manifest, units = board.suite.manifest, board.units
    names = [each for each in manifest.competitors if is_computed(each, manifest)]
    said = {each.name: Said(len(places.unit)) for each in names}
    has_past = {each.name: np.zeros(len(places.unit), dtype=np.bool_) for each in names}
    asked = units.answers[places.unit]
    for code in np.unique(asked).tolist() if names else ():
        rows = np.flatnonzero(asked == code)
        answers = units.answer_lists[code]
        past = board.past.get(answers, _EMPTY_PAST)
        unit = places.unit[rows]
        where = Where(
            unit=unit, place=places.place[rows], day=places.moment_us[rows] // DAY_US
        )
        walk = Walk(board.traits, past, len(answers), where)
        for each in names:
            ppm = walk.rates(each, manifest).ppm()
            said[each.name].add(rows, ppm, units.outcome[unit], board.suite.clip_ppm)
            has_past[each.name][rows] = walk.has_past(each)
    return {
        name: msgspec.structs.replace(each.whole(), has_past=has_past[name])
        for name, each in said.items()
    }


class Said:
    """What one competitor says, as far as it was computed."""

    def __init__(self, size: int) -> None:
        self._code = np.full(size, -1, dtype=np.int64)
        self._scores = np.full((len(ScoreColumns._fields), size), NEVER, dtype=np.int64)
        self._distinct: list[tuple[int, ...]] = []

    def add(
        self, rows: Integers, ppm: Integers, outcome: Integers, clip_ppm: int
    ) -> None:
        """Take the vectors of some places, whose units share their answers."""
        distinct, which = _distinct(ppm)
        self._code[rows] = which + len(self._distinct)
        self._distinct += list(map(tuple, distinct.tolist()))
        resolved = np.flatnonzero(outcome >= 0)
        self._scores[:, rows[resolved]] = score_rows(
            ppm[resolved], outcome[resolved], clip_ppm
        )

    def whole(self) -> Computed:
        """Return all of it."""
        return Computed(
            code=self._code, distinct=self._distinct, scores=ScoreColumns(*self._scores)
        )


def _distinct(ppm: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows, and for each row which of them it is."""
    # All but the last of a vector determine it: with two answers one column is enough.
    found, first, which = np.unique(
        ppm[:, 0] if ppm.shape[1] <= 2 else ppm,  # noqa: PLR2004 - two answers
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    del found
    return ppm[first], which.reshape(-1)


def baseline_rows(
    board: Board, places: Places, computed: dict[str, Computed]
) -> Iterator[BaselineRow]:
    """Yield what each computed competitor says, one row for each position.

    Where a unit's own place is its first vector, one row says both.
    """
    seqs, first = np.unique(places.seq, return_index=True)
    own = np.isin(seqs, board.units.own_seq).astype(np.int64)
    numbers = board.units.number[places.unit[first]]
    for name, said in computed.items():
        texts = [" ".join(map(str, vector)) for vector in said.distinct]
        codes = said.code[first]
        says = np.flatnonzero(codes >= 0)
        own_here = np.ones_like(own) if said.is_mirror else own
        columns = (seqs, numbers, own_here, codes)
        listed = (column[says].tolist() for column in columns)
        for seq, unit, is_own, code in zip(*listed, strict=True):
            yield BaselineRow(name, seq, unit, is_own, texts[code])
