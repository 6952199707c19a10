"""Rows of a history in memory, by what they are of."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ledger.projections.board_units import Pinned
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.report import Report, no_files
from ledger.suite import Competitor, SuiteManifest, Template
from tests.simulator import History, suite

Row = dict[str, Any]


def report(history: History, pinned: Pinned = no_files) -> Report:
    """Return the report of a whole history, its tables in memory."""
    tables = Tables()
    fold = Fold(tables, history)
    fold.catch_up()
    return Report(tables, fold.frozen, pinned)


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
    return msgspec.structs.replace(
        made,
        templates=templates or made.templates,
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
