"""Rows of a history in memory, by what they are of."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from ledger.projections.board import Board, read_board
from ledger.projections.board_units import Pinned
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.report import Report, no_files
from ledger.suite import Competitor, SuiteManifest, Template
from tests.simulator import History, suite
from tests.story import Step

Row = dict[str, Any]
# Stories in which units come to be scored: everybody forecasts and updates, some
# outcomes are early, the cut-off passes, others follow, something happens to each unit.
_UNITS, _PEOPLE = range(4), range(2)
_DEEDS = [
    *[("seal", unit, who) for unit in _UNITS for who in _PEOPLE],
    *[("update", unit, who) for unit in _UNITS for who in _PEOPLE],
    *[("wait", 0, 0), ("wait", 0, 0), ("hide", 3, 1), ("record", 0, 0)],
    *[("record", 1, 0), ("open", 2, 0)],
]
# Choices of a story's record: at first those that state no earlier publication.
_EARLY, _LATE = (
    st.sampled_from([15, 21, 45, 3, 27]),
    st.sampled_from([10, 40, 25, 55, 45, 3, 2]),
)
_LATER: list[Step] = [("wait", 0, 0, 60)] * 3
_TOUCHED: list[Step] = [
    *[("update", unit, who, 0) for unit in _UNITS for who in _PEOPLE],
    *[("review", unit, 0, 0) for unit in _UNITS],
]


@st.composite
def lives(draw: st.DrawFn) -> list[Step]:
    """Return the steps of a story whose units are mostly scored."""
    early = [
        (*deed, draw(_EARLY if deed[0] == "record" else st.integers(0, 40)))
        for deed in draw(st.permutations(_DEEDS))[: draw(st.integers(8, 22))]
    ]
    late = [("record", unit, 0, draw(_LATE)) for unit in _UNITS if draw(st.booleans())]
    return [*early, *_LATER, *late, *_TOUCHED]


LIVES = lives()


def report(history: History, pinned: Pinned = no_files) -> Report:
    """Return the report of a whole history, its tables in memory."""
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    return Report(tables, fold.frozen, pinned)


def board_of(history: History) -> Board:
    """Return a history's only suite as the columns that rows are made from."""
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    (version,) = fold.frozen.suites.values()
    return read_board(tables, fold.frozen, version, no_files)


def said(history: History, competitor: str) -> dict[str, list[int]]:
    """Return what a computed competitor said for itself, by the units' ids."""
    made = report(history)
    made.refresh()
    found = made.tables.connection.execute(
        "SELECT q.id, b.probabilities_ppm FROM baselines b JOIN questions q USING (unit) "
        "WHERE b.is_own AND b.competitor = ? ORDER BY b.seq",
        (competitor,),
    )
    return {name: [int(each) for each in ppm.split()] for name, ppm in found}


def rows(history: History, **asked: Any) -> list[Row]:
    return report(history).rows(**asked)


def row(history: History, forecaster: str = "native", /, **asked: Any) -> Row:
    """Return a forecaster's row over everything."""
    found = rows(history, forecaster=forecaster, **asked)
    return next(each for each in found if each["horizon"] is each["slice"] is None)


def value(row: Row, score: str) -> str | None:
    """Return a score exactly: a fraction, or why there is none."""
    told = row["scores"][score]
    return told.get("exact") or told.get("reason")


def exact(row: Row, *scores: str) -> list[str | None]:
    return [value(row, score) for score in scores]


def template(manifest: SuiteManifest, answers: Sequence[str], **changes: Any) -> Any:
    """Return the first template of a suite with other answers; the first is its event."""
    (first, *_) = manifest.templates
    return msgspec.structs.replace(
        first, answers=tuple(answers), positive=answers[0], **changes
    )


def suite_of(
    *templates: Template, competitors: Sequence[Competitor] = (), **changes: Any
) -> SuiteManifest:
    """Return the usual suite with these templates, and competitors that are added."""
    made = suite(**changes)
    asked = templates or made.templates
    pool = msgspec.structs.replace(
        made.baseline_pool, templates=tuple(each.id for each in asked)
    )
    return msgspec.structs.replace(
        made,
        templates=asked,
        baseline_pool=pool,
        competitors=(*made.competitors, *competitors),
    )


def past_rate(name: str, **changes: Any) -> Competitor:
    """Return a competitor that says the past rate of everything."""
    made = Competitor(
        name=name,
        layer="baseline",
        method="past_rate",
        prior_count="0.5",
        prior_weight="0",
        exclude_own_target=False,
        half_life_days=0,
    )
    return msgspec.structs.replace(made, **changes)
