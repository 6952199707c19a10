"""Rows of a ledger: computed when they are read, kept until an event outdates them."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ledger.canonical import canonical_text
from ledger.errors import UsageError
from ledger.projections.baselines import is_computed
from ledger.projections.board import Board, read_past, read_units, read_vectors
from ledger.projections.columns import NEVER
from ledger.projections.entrants import computed_texts
from ledger.projections.materialize import Tables
from ledger.projections.rows import Row, rows
from ledger.projections.suites import Frozen, SuiteVersion
from ledger.projections.tables import BaselineRow, ReportRow


class Report:
    """The rows of all suites in some tables; `frozen` is what `Fold` knows of them."""

    def __init__(self, tables: Tables, frozen: Frozen) -> None:
        self._tables = tables
        self._frozen = frozen

    def refresh(self) -> int:
        """Compute again what newer events outdated; return how many rows that were.

        A suite's rows depend on its own events, on those of its baseline pool, and
        on the freezing of its next version.
        """
        recomputed = 0
        for suite in self._frozen.suites.values():
            through = self._through(suite)
            if self._tables.fresh_through(suite.name) != through:
                recomputed += self._recompute(suite, through)
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
        chosen = [self._suite(suite)] if suite else list(self._frozen.suites.values())
        self.refresh()
        found = [
            row
            for each in chosen
            for row in self._rows_of(each, slot=slot, by=by)
            if forecaster in {None, row["forecaster"]}
        ]
        if forecaster is not None and not found:
            msg = f"no row is {forecaster!r}'s: `ledger suite show` lists competitors"
            raise UsageError(msg)
        return found

    def _suite(self, name: str) -> SuiteVersion:
        found = self._frozen.suites.get(name)
        if found is None:
            known = ", ".join(self._frozen.suites) or "none"
            raise UsageError(f"{name!r} was never frozen here; frozen are: {known}")
        return found

    def _rows_of(
        self, suite: SuiteVersion, *, slot: str | None, by: Sequence[str]
    ) -> Iterator[Row]:
        if by or slot not in {None, suite.manifest.headline}:
            return rows(self._board(suite), slot=slot, by=by)
        stored = self._tables.stored_rows(suite.name)
        return (msgspec.json.decode(text) for text in stored)

    def _through(self, suite: SuiteVersion) -> int:
        """Return the position of the last event that a suite's rows depend on."""
        concerned = (suite.name, *suite.manifest.baseline_pool.suites)
        successor = self._frozen.successor(suite.name)
        last = self._tables.last_entries()
        return max(
            *(last[name][0] for name in concerned if name in last),
            -1 if successor is None else successor.seq,
        )

    def _board(self, suite: SuiteVersion) -> Board:
        connection = self._tables.connection
        units = read_units(connection, suite)
        successor = self._frozen.successor(suite.name)
        last_seq, as_of_us = self._tables.last_entries()[suite.name]
        return Board(
            suite=suite,
            as_of_us=as_of_us,
            superseded_us=None if successor is None else successor.received_us,
            custody=self._frozen.charters.at(last_seq).custody,
            units=units,
            vectors=read_vectors(connection, suite, units),
            past=read_past(connection, suite),
        )

    def _recompute(self, suite: SuiteVersion, through: int) -> int:
        board = self._board(suite)
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
            for place, row in enumerate(rows(board))
        ]
        with self._tables.at_once():
            self._tables.replace_report(
                suite.name, made, list(_baselines(board)), through
            )
        return len(made)


def _baselines(board: Board) -> Iterator[BaselineRow]:
    """Yield what each computed competitor says at each vector, and for itself."""
    units, vectors = board.units, board.vectors
    sealed = np.flatnonzero([kind in {"initial", "update"} for kind in vectors.kinds])
    own = np.flatnonzero(units.own_seq != NEVER)
    places = {
        **_by_seq(vectors.seq[sealed], vectors.unit[sealed], vectors.place[sealed]),
        **_by_seq(units.own_seq[own], own, units.own_place[own]),
    }
    order = sorted(places)
    of_unit, place = (
        np.array([places[seq] for seq in order], dtype=np.int64).reshape(-1, 2).T
    )
    is_own = units.own_seq[of_unit] == order if order else of_unit
    for competitor in board.suite.manifest.competitors:
        if not is_computed(competitor, board.suite.manifest):
            continue
        texts = computed_texts(board, competitor, of_unit, place)
        numbers = units.number[of_unit].tolist()
        for row in zip(order, numbers, is_own.tolist(), texts, strict=True):
            yield BaselineRow(competitor.name, row[0], row[1], int(row[2]), row[3])


def _by_seq(
    seq: np.ndarray, unit: np.ndarray, place: np.ndarray
) -> dict[int, tuple[int, int]]:
    return dict(
        zip(seq.tolist(), zip(unit.tolist(), place.tolist(), strict=True), strict=True)
    )
