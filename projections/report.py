"""Rows of a ledger: computed when they are read, kept until an event outdates them."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ledger.canonical import canonical_text
from ledger.errors import UncheckableError, UsageError
from ledger.projections.board import Board, read_board
from ledger.projections.board_units import Pinned
from ledger.projections.computed import baseline_rows
from ledger.projections.entrants import Field
from ledger.projections.materialize import Tables
from ledger.projections.rows import Row, rows
from ledger.projections.suites import Frozen, SuiteVersion, successor_name
from ledger.projections.tables import ReportRow
from ledger.suite_table import listed, suggestion

_BEHIND = -1
# What every reader of a row looks at.
_IDENTITY = frozenset({"suite", "forecaster", "slot", "slice", "as_of", "scores"})


def no_files(digest: str) -> None:
    """Return no pinned file, whichever is asked for."""
    del digest


class Report:
    """The rows of all suites in some tables; `frozen` is what `Fold` knows of them."""

    def __init__(
        self, tables: Tables, frozen: Frozen, pinned: Pinned = no_files
    ) -> None:
        """Take tables that are caught up, and where pinned files are read from."""
        self.tables = tables
        self._frozen = frozen
        self._pinned = pinned

    def refresh(self) -> int:
        """Compute again what newer events outdated; return how many rows that were.

        A suite's rows depend on its own events, on those of its baseline pool, and
        on the freezing of its next version.
        """
        recomputed = 0
        for suite in self._frozen.suites.values():
            if not self._is_fresh(suite):
                recomputed += len(self._recompute(suite))
        return recomputed

    def rows(
        self,
        *,
        suite: str | None = None,
        forecaster: str | None = None,
        slot: str | None = None,
        by: Sequence[str] = (),
    ) -> list[Row]:
        """Return rows, those of each suite as it declares them or as asked for.

        Raises `UsageError` for a suite, forecaster, slot or grouping that is not.
        """
        chosen = [self.suite(suite)] if suite else list(self._frozen.suites.values())
        self.refresh()
        found = [
            row
            for each in chosen
            for row in self._rows_of(each, slot=slot, by=by)
            if forecaster in {None, row["forecaster"]}
        ]
        if forecaster is not None and not found:
            known = {each.name for of in chosen for each in of.manifest.competitors}
            hint = "" if forecaster in known else suggestion(forecaster, known)
            hint = hint or (
                f"of {listed(sorted(known), last='and')}, those have some that "
                "seal, or are computed from the past"
            )
            raise UsageError(f"{forecaster!r} has no rows: {hint}")
        return found

    def field(self, suite: str) -> Field:
        """Return all competitors of a suite, as its rows are made from them.

        Raises `UsageError` for a suite that there is not.
        """
        with self.tables.as_one():
            return Field(self._board(self.suite(suite)))

    def suite(self, name: str) -> SuiteVersion:
        """Return a suite version; raises `UsageError` for one that was never frozen."""
        found = self._frozen.suites.get(name)
        if found is None:
            known = ", ".join(self._frozen.suites) or "none"
            hint = suggestion(name, self._frozen.suites)
            hint = f": {hint}" if hint else f"; frozen are: {known}"
            raise UsageError(f"{name!r} was never frozen here{hint}")
        return found

    def _rows_of(
        self, suite: SuiteVersion, *, slot: str | None, by: Sequence[str]
    ) -> Iterator[Row]:
        if by or slot not in {None, suite.manifest.headline}:
            with self.tables.as_one():
                board = self._board(suite)
            return rows(Field(board), slot=slot, by=by)
        return map(_read, self._kept(suite))

    def _kept(self, suite: SuiteVersion) -> list[str]:
        """Return a suite's rows as they are stored, or as they are if those are older.

        What was computed is never read back: something else may have been stored.
        """
        with self.tables.as_one():
            if self._is_fresh(suite):
                return self.tables.stored_rows(suite.name)
        return self._recompute(suite)

    def _is_fresh(self, suite: SuiteVersion) -> bool:
        through = self._through(suite)
        return through != _BEHIND and self.tables.fresh_through(suite.name) == through

    def _board(self, suite: SuiteVersion) -> Board:
        return read_board(self.tables, self._frozen, suite, self._pinned)

    def _through(self, suite: SuiteVersion) -> int:
        """Return the position of the last event that a suite's rows depend on."""
        last = self.tables.last_entries()
        successor = self._frozen.successor(suite.name)
        if successor is None and successor_name(suite.name) in last:
            # Others folded in what this process has not read: keep nothing as fresh.
            return _BEHIND
        concerned = (suite.name, *suite.manifest.baseline_pool.suites)
        return max(
            *(last[name][0] for name in concerned if name in last),
            -1 if successor is None else successor.seq,
        )

    def _recompute(self, suite: SuiteVersion) -> list[str]:
        """Store a suite's rows as they are now, and return them."""
        with self.tables.as_one():
            through, board = self._through(suite), self._board(suite)
        field = Field(board)
        made = [
            ReportRow(
                suite=suite.name,
                place=place,
                forecaster=row["forecaster"],
                slot=row["slot"],
                horizon=row["horizon"],
                slice=row["slice"],
                row=canonical_text(row),
            )
            for place, row in enumerate(rows(field))
        ]
        baselines = baseline_rows(board, field.places, field.computed)
        # If others folded in more meanwhile, this is kept as of the earlier event.
        with self.tables.at_once():
            self.tables.replace_report(suite.name, made, baselines, through)
        return [each.row for each in made]


def _read(text: str) -> Row:
    """Return a stored row; raise `UncheckableError` for what is none."""
    try:
        row: Row = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        row = {}
    if not row.keys() >= _IDENTITY:
        msg = f"a stored row is damaged ({text[:40]!r}…): delete projections.db"
        raise UncheckableError(msg)
    return row
