"""Entrants: what each competitor has on each unit of a suite, in one slot.

A principal's vectors come from its chains; a computed competitor has one vector a
unit, at the unit's own place. Either way the frozen reference stands beside it, at
the places of the very same vectors.
"""

import msgspec
import numpy as np

from ledger.projections import slots
from ledger.projections.baselines import Places, Traits, is_computed, past_rates
from ledger.projections.board import Board, Vectors
from ledger.projections.columns import NEVER, Flags, Integers
from ledger.projections.exact import weighted_mean
from ledger.projections.leakage import LEAK_TESTS
from ledger.projections.scores import ScoreColumns, score_rows
from ledger.suite import Competitor


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of one competitor that a slot takes, one a row, units together."""

    unit: Integers
    place: Integers
    sealed_us: Integers
    weight: Integers
    scores: ScoreColumns


class Slotted(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: what a competitor's slot scored there, in units of 1e-12.

    Scores say nothing where `is_scored` is false, nor `brier`, the binary form,
    where there are more than two answers. `is_infinite` marks a raw log
    score of minus infinity, where `picobits` is 0. `clipped` counts the vectors
    that the clip moved.
    """

    has_vector: Flags
    is_scored: Flags
    is_infinite: Flags
    brier: Integers
    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers
    clipped: Integers
    first_us: Integers
    last_us: Integers


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: how many vectors of a competitor there are, of each sort."""

    submitted: Integers
    eligible: Integers
    late: Integers
    duplicate: Integers
    hidden: Integers
    mismatches: Integers
    leaks_tested: dict[str, Integers]
    leaks_found: dict[str, Integers]


class Entrant(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor on all units of a suite: its slot, the reference's, its counts.

    `budgets` are the adaptation budgets under which its vectors were made, by unit.
    """

    competitor: Competitor
    slotted: Slotted
    reference: Slotted
    tally: Tally
    budgets: dict[int, str]


def has_row(board: Board, competitor: Competitor) -> bool:
    """Tell whether a competitor can have rows: it seals, or can be computed."""
    return competitor.principal is not None or is_computed(
        competitor, board.suite.manifest
    )


def enter(board: Board, competitor: Competitor, slot: str) -> Entrant:
    """Return what a competitor has on the units of a board, in one slot."""
    if competitor.principal is None:
        chosen, tally = _computed(board, competitor), _tally_computed(board)
        budgets: dict[int, str] = {}
    else:
        mine = _of(board.vectors, competitor.name)
        chosen = _sealed(board, mine, slot)
        tally, budgets = _tally_sealed(board, mine), _budgets(board.vectors, mine)
    return Entrant(
        competitor=competitor,
        slotted=_slotted(board, chosen),
        reference=_reference(board, chosen, slot),
        tally=tally,
        budgets=budgets,
    )


def _of(vectors: Vectors, name: str) -> Integers:
    """Return the rows of a competitor's vectors; a reveal is none."""
    return np.array(
        [
            row
            for row, (each, kind) in enumerate(
                zip(vectors.names, vectors.kinds, strict=True)
            )
            if each == name and kind != "reveal"
        ],
        dtype=np.int64,
    )


def _sealed(board: Board, mine: Integers, slot: str) -> Chosen:
    """Return which of a competitor's vectors the slot takes, with their weights."""
    vectors, units = board.vectors, board.units
    rows = mine[vectors.eligible[mine]]
    unit = vectors.unit[rows]
    chains = slots.Chains(
        chain=unit,
        is_root=np.array([vectors.kinds[row] == "initial" for row in rows], dtype=bool),
        sealed_us=vectors.sealed_us[rows],
        resolve_by_us=units.resolve_by_us[unit],
        end_us=units.end_us[unit],
    )
    weight = slots.weights(slot, chains)
    taken = weight > 0
    rows = rows[taken]
    return Chosen(
        unit=vectors.unit[rows],
        place=vectors.place[rows],
        sealed_us=vectors.sealed_us[rows],
        weight=weight[taken],
        scores=ScoreColumns(
            vectors.brier_sum[rows],
            vectors.picobits[rows],
            vectors.picobits_clipped[rows],
            vectors.piconats_clipped[rows],
        ),
    )


def _computed(board: Board, competitor: Competitor) -> Chosen:
    """Return the one vector of a computed competitor on each unit."""
    units = board.units
    unit = np.flatnonzero(units.own_eligible)
    place = units.own_place[unit]
    return Chosen(
        unit=unit,
        place=place,
        sealed_us=units.own_us[unit],
        weight=np.ones(len(unit), dtype=np.int64),
        scores=_scores_computed(board, competitor, unit, place),
    )


def _scores_computed(
    board: Board, competitor: Competitor, unit: Integers, place: Integers
) -> ScoreColumns:
    """Return what a computed competitor scores at places; `NEVER` where unresolved."""
    found = np.full((len(ScoreColumns._fields), len(unit)), NEVER, dtype=np.int64)
    resolved = np.flatnonzero(board.units.outcome[unit] >= 0)
    for answers, rows in _by_answers(board, unit, resolved).items():
        rates = computed_ppm(board, competitor, answers, unit[rows], place[rows])
        outcome = board.units.outcome[unit[rows]]
        found[:, rows] = score_rows(rates, outcome, board.suite.clip_ppm)
    return ScoreColumns(*found)


def _by_answers(
    board: Board, unit: Integers, rows: Integers
) -> dict[tuple[str, ...], Integers]:
    found: dict[tuple[str, ...], list[int]] = {}
    for row, of in zip(rows.tolist(), unit[rows].tolist(), strict=True):
        found.setdefault(board.units.answers[of], []).append(row)
    return {answers: np.array(some) for answers, some in found.items()}


def computed_ppm(
    board: Board,
    competitor: Competitor,
    answers: tuple[str, ...],
    unit: Integers,
    place: Integers,
) -> Integers:
    """Return what a computed competitor says of units that share their answers."""
    traits = board.units.traits
    places = Places(
        traits=Traits(
            targets=[traits.targets[row] for row in unit.tolist()],
            tags=[traits.tags[row] for row in unit.tolist()],
        ),
        answers=answers,
        place=place,
    )
    return past_rates(competitor, board.suite.manifest, board.past, places).ppm()


def computed_texts(
    board: Board, competitor: Competitor, unit: Integers, place: Integers
) -> list[str]:
    """Return what a computed competitor says at places, in parts per million."""
    found = [""] * len(unit)
    for answers, rows in _by_answers(board, unit, np.arange(len(unit))).items():
        rates = computed_ppm(board, competitor, answers, unit[rows], place[rows])
        for row, vector in zip(rows.tolist(), rates.tolist(), strict=True):
            found[row] = " ".join(map(str, vector))
    return found


def _reference(board: Board, chosen: Chosen, slot: str) -> Slotted:
    """Return what the frozen reference has in the slot, at the chosen vectors."""
    manifest = board.suite.manifest
    reference = manifest.competitor(manifest.scoring.reference)
    assert reference is not None, "a suite whose reference is missing is not frozen"
    if reference.principal is not None:
        theirs = _of(board.vectors, reference.name)
        return _slotted(board, _sealed(board, theirs, slot))
    if not is_computed(reference, manifest):
        return _slotted(board, _computed_nowhere())
    scores = _scores_computed(board, reference, chosen.unit, chosen.place)
    return _slotted(board, msgspec.structs.replace(chosen, scores=scores))


def _computed_nowhere() -> Chosen:
    none = np.zeros(0, dtype=np.int64)
    return Chosen(
        unit=none,
        place=none,
        sealed_us=none,
        weight=none,
        scores=ScoreColumns(none, none, none, none),
    )


def _slotted(board: Board, chosen: Chosen) -> Slotted:
    size, scores = len(board.units.number), chosen.scores
    has_vector = np.bincount(chosen.unit, minlength=size) > 0
    is_scored = has_vector & (board.units.outcome >= 0)
    kept = is_scored[chosen.unit]
    unit, weight = chosen.unit[kept], chosen.weight[kept]
    infinite, moved = (
        scores.picobits[kept] == NEVER,
        (scores.picobits[kept] != scores.picobits_clipped[kept]),
    )
    raw = np.where(infinite, 0, scores.picobits[kept])
    return Slotted(
        has_vector=has_vector,
        is_scored=is_scored,
        is_infinite=np.bincount(unit[infinite], minlength=size) > 0,
        brier=_per_unit(size, unit, weight, scores.brier_sum[kept] // 2),
        brier_sum=_per_unit(size, unit, weight, scores.brier_sum[kept]),
        picobits=_per_unit(size, unit, weight, raw),
        picobits_clipped=_per_unit(size, unit, weight, scores.picobits_clipped[kept]),
        piconats_clipped=_per_unit(size, unit, weight, scores.piconats_clipped[kept]),
        clipped=np.bincount(unit[moved], minlength=size),
        first_us=_extreme(size, chosen, np.minimum, NEVER),
        last_us=_extreme(size, chosen, np.maximum, -NEVER),
    )


def _per_unit(
    size: int, unit: Integers, weight: Integers, values: Integers
) -> Integers:
    """Return the weighted mean of each unit, rounded half-even to an integer."""
    found = np.zeros(size, dtype=np.int64)
    found[unit] = values
    ends = np.flatnonzero(np.diff(unit, append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    several = ends > starts
    for start, end in zip(
        starts[several].tolist(), ends[several].tolist(), strict=True
    ):
        some = slice(start, end + 1)
        mean = weighted_mean(values[some].tolist(), weight[some].tolist())
        found[unit[start]] = mean
    return found


def _extreme(size: int, chosen: Chosen, which: np.ufunc, start: int) -> Integers:
    found = np.full(size, start, dtype=np.int64)
    which.at(found, chosen.unit, chosen.sealed_us)
    return found


def _tally_sealed(board: Board, mine: Integers) -> Tally:
    vectors, units, size = board.vectors, board.units, len(board.units.number)
    unit, tested = vectors.unit[mine], vectors.leaks_tested[mine]
    found = vectors.leaks_found[mine]
    is_late = vectors.sealed_us[mine] > units.cutoff_us[unit]
    kinds = [vectors.kinds[row] for row in mine.tolist()]
    is_duplicate = np.array([kind == "duplicate" for kind in kinds], dtype=np.bool_)

    def count(chosen: Flags) -> Integers:
        return np.bincount(unit[chosen], minlength=size)

    mismatches = np.zeros(size, dtype=np.int64)
    np.add.at(mismatches, unit, vectors.mismatches[mine])
    return Tally(
        submitted=np.bincount(unit, minlength=size),
        eligible=count(vectors.eligible[mine]),
        late=count(is_late),
        duplicate=count(is_duplicate),
        hidden=count(vectors.is_closed[mine]),
        mismatches=mismatches,
        leaks_tested={
            test: count(tested & bit > 0) for test, bit in LEAK_TESTS.items()
        },
        leaks_found={test: count(found & bit > 0) for test, bit in LEAK_TESTS.items()},
    )


def _tally_computed(board: Board) -> Tally:
    units = board.units
    none = np.zeros(len(units.number), dtype=np.int64)
    submitted = units.own_place != NEVER
    return Tally(
        submitted=submitted.astype(np.int64),
        eligible=units.own_eligible.astype(np.int64),
        late=(submitted & (units.own_us > units.cutoff_us)).astype(np.int64),
        duplicate=none,
        hidden=none,
        mismatches=none,
        leaks_tested=dict.fromkeys(LEAK_TESTS, none),
        leaks_found=dict.fromkeys(LEAK_TESTS, none),
    )


def _budgets(vectors: Vectors, mine: Integers) -> dict[int, str]:
    return {
        int(vectors.unit[row]): vectors.budgets[row]
        for row in mine.tolist()
        if vectors.eligible[row] and vectors.budgets[row]
    }
