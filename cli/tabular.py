"""A table as drafts: each unit opened once, each row's forecasts, each unit's outcome.

The first row of a unit asks its question. A forecaster's first vector on it is sealed
and each later one is an update, in the order of the rows. Outcomes come after all of
that, so that a log which goes by its own clock knows them last.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from ledger.cli.import_memory import Memory
from ledger.cli.import_report import Report, UnfitError, count, leave_out
from ledger.cli.tabular_cells import Cells, outcome_of, probabilities_of, question_of
from ledger.cli.tabular_map import Forecasts, TableMap
from ledger.cli.tabular_rows import Unread
from ledger.cli.tabular_source import Row
from ledger.cli.tabular_values import vector_of
from ledger.unit import Unit

Draft = dict[str, Any]
_NOBODY = "anybody"


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Into which suite an import goes, and under whose names."""

    suite: str
    issuer: str
    forecaster: str
    resolver: str


class Table:
    """Turns the rows of one table into drafts, and accounts for each of them."""

    def __init__(self, table: TableMap, names: Names, report: Report) -> None:
        self._map = table
        self._names = names
        self._report = report
        self._memory = Memory()

    def convert(self, rows: Iterable[Row | Unread]) -> Iterator[Draft]:
        """Yield the drafts of all rows; the report is complete with the last of them."""
        try:
            for row in rows:
                self._report.rows += 1
                if isinstance(row, Row):
                    yield from self._row(row)
                else:
                    leave_out(self._report.skipped, row[1], row[0])
            yield from self._memory.deferred()
        finally:
            self._memory.close()

    def _row(self, row: Row) -> Iterator[Draft]:
        cells = Cells(row, self._map, self._convert)
        try:
            question = question_of(cells)
            unit, is_new = self._memory.ask(self._names.suite, question)
        except UnfitError as unfit:
            leave_out(self._report.skipped, unfit, row.place)
            return
        if is_new:
            yield self._opening(question, cells)
        for forecasts in self._map.forecasts:
            yield from self._forecast(cells, forecasts, unit, question)
        says_more = self._outcome(cells, unit, question)
        if is_new or says_more or self._map.forecasts:
            self._report.used += 1
        else:
            again = UnfitError("repeated", question["id"])
            leave_out(self._report.skipped, again, row.place)

    def _opening(self, question: Draft, cells: Cells) -> Draft:
        count(self._report.units, question["template"])
        count(self._report.drafts, "PENDING")
        self._report.pending += 1
        return {
            "type": "ResolutionRecorded",
            "author": self._names.issuer,
            "created_at": question["opened_at"],
            "suite": self._names.suite,
            "status": "PENDING",
            "question": question,
            **cells.optional("source"),
        }

    def _forecast(
        self, cells: Cells, forecasts: Forecasts, unit: Unit, question: Draft
    ) -> Iterator[Draft]:
        self._report.forecasts += 1
        try:
            name, given = probabilities_of(cells, forecasts)
            draft = self._sealed(cells, name, given, unit, question) if given else None
        except UnfitError as unfit:
            leave_out(self._report.skipped_forecasts, unfit, cells.row.place)
            return
        if draft is None:
            count(self._report.without_forecast, name or _NOBODY)
            return
        count(self._report.drafts, draft["type"])
        yield draft

    def _sealed(
        self,
        cells: Cells,
        name: str | None,
        given: dict[str, Decimal],
        unit: Unit,
        question: Draft,
    ) -> Draft:
        if name is None:
            raise UnfitError("missing", "the forecaster")
        vector = vector_of(given, self._map.answers, self._map.reading)
        created_at = cells.time("created_at") or question["cutoff_at"]
        said = {"forecaster": name, "probabilities": vector.probabilities}
        said |= cells.optional("model_version")
        made_at = datetime.fromisoformat(created_at)
        kind = self._memory.forecast(unit, name, made_at, said)
        if vector.is_normalised:
            count(self._report.normalised, name)
        elif vector.is_rounded:
            count(self._report.rounded, name)
        return {
            "type": kind,
            "author": self._names.forecaster,
            "created_at": created_at,
            **self._naming(question),
            **said,
        }

    def _outcome(self, cells: Cells, unit: Unit, question: Draft) -> bool:
        """Put a row's outcome off to the end; tell whether it says something new."""
        try:
            said = outcome_of(cells)
            is_first = said is not None and self._memory.resolve(unit, said)
        except UnfitError as unfit:
            leave_out(self._report.skipped_outcomes, unfit, cells.row.place)
            return True
        if said is None or not is_first:
            self._report.repeated_outcomes += said is not None
            return False
        self._report.pending -= 1
        count(self._report.drafts, said["status"])
        self._memory.defer(
            {
                "type": "ResolutionRecorded",
                "author": self._names.resolver,
                **self._naming(question),
                **said,
            }
        )
        return True

    def _naming(self, question: Draft) -> Draft:
        naming = {name: question[name] for name in ("template", "id", "horizon")}
        return {"suite": self._names.suite, **naming}

    def _convert(self, conversion: str) -> None:
        count(self._report.converted, conversion)
