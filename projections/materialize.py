"""projections.db: the folded tables on disk, open to Datasette.

Everything in it can be deleted and is then built again from the log. The schema
follows the structs of `tables`; rows go in by `executemany` on the connection,
since a dictionary for every row would cost more than judging it.
"""

# ruff: noqa: S608 - every name in these statements is one of our own tables or columns

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import NoneType
from typing import Any, get_args

import apsw
import msgspec

from ledger.canonical import encode
from ledger.clock import micros, parse_instant
from ledger.durable import make_private, require_disposable
from ledger.errors import UncheckableError
from ledger.projections import schema
from ledger.projections.columns import NEVER
from ledger.projections.judgement import Columns, Judged
from ledger.projections.tables import (
    TABLES,
    BaselineRow,
    ForecastRow,
    FreshnessRow,
    QuestionRow,
    ReportRow,
    ResolutionRow,
    RowStruct,
    Table,
)

_BUSY_MILLISECONDS = 30_000
# Of a new file: rows and indexes take a tenth less time than with SQLite's own 4,096.
_PAGE_BYTES = 16_384
# SQLite takes at least 999 parameters, wherever it comes from.
_PARAMETERS_MAX = 900
_OF_UNIT = (
    *("questions", "forecasts", "resolutions", "quantities", "observations"),
    *("costs", "findings", "aliases"),
)


class Tables:
    """One connection to the tables; what belongs together is written at once."""

    def __init__(self, path: Path | None = None, page_bytes: int = _PAGE_BYTES) -> None:
        """Open or make the file, of pages of that size; without a path, in memory.

        A file that this program does not make like that is emptied and made again.
        Raises `UncheckableError` where a pipe stands under its name.
        """
        if path is not None:
            require_disposable(path)
            make_private(path)
        connection = apsw.Connection(":memory:" if path is None else str(path))
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        self.connection = connection
        # No write-ahead log: people open this file with the SQLite that they have, and
        # older ones have a fault that loses data when two connections reset one.
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -65536")
        with self.at_once():
            if not schema.is_ours(connection):
                schema.make(connection)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @property
    def is_barred(self) -> bool:
        """Whether they can only be read: the file, or the folder of its journal."""
        name = self.connection.filename
        return self.connection.readonly("main") or (
            name != "" and not os.access(Path(name).parent, os.W_OK)
        )

    def in_memory(self) -> "Tables":
        """Return a copy that can be written."""
        [(page_bytes,)] = self.connection.execute("PRAGMA page_size")
        copy = Tables(page_bytes=page_bytes)
        with copy.connection.backup("main", self.connection, "main") as pages:
            pages.step()
        return copy

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Write all of a block or nothing; nobody else writes meanwhile."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # On a full disk SQLite has rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Read one state of the tables, whatever others write during a block."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("COMMIT")

    def position(self) -> tuple[int, str | None]:
        """Return how many events are folded in, and the id of the last one."""
        row = self.connection.execute("SELECT position, event_id FROM state").fetchone()
        return (0, None) if row is None else row

    def write_position(self, position: int, event_id: str) -> None:
        """Say how many events are folded in."""
        self.connection.execute("DELETE FROM state")
        self.connection.execute(
            "INSERT INTO state VALUES (1, ?, ?)", (position, event_id)
        )

    def note_suite(self, suite: str, seq: int, received_at: str) -> None:
        """Note the last event that speaks of a suite; its first one froze it."""
        self.connection.execute(
            "INSERT INTO suites VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET last_seq = excluded.last_seq, last_us = excluded.last_us",
            (suite, seq, seq, micros(parse_instant(received_at))),
        )

    def last_entries(self) -> dict[str, tuple[int, int]]:
        """Return position and receipt of the last event about each suite."""
        rows = self.connection.execute("SELECT suite, last_seq, last_us FROM suites")
        return {suite: (seq, received_us) for suite, seq, received_us in rows}

    def fresh_through(self, suite: str) -> int | None:
        """Return up to which event a suite's rows are computed; None for not yet."""
        row = self.connection.execute(
            "SELECT through_seq FROM freshness WHERE suite = ?", (suite,)
        ).fetchone()
        return None if row is None else row[0]

    def outdate(self, seq: int) -> None:
        """Forget that any rows are computed up to an event that is not folded in yet.

        No rows can be, unless somebody says so who wants them to be believed later.
        """
        self.connection.execute("DELETE FROM freshness WHERE through_seq >= ?", (seq,))

    def stored_rows(self, suite: str) -> list[str]:
        """Return a suite's rows as canonical JSON, in their order."""
        rows = self.connection.execute(
            "SELECT row FROM rows WHERE suite = ? ORDER BY place", (suite,)
        )
        return [text for (text,) in rows]

    def replace_report(
        self,
        suite: str,
        rows: Sequence[ReportRow],
        baselines: Iterable[BaselineRow],
        through_seq: int,
    ) -> None:
        """Write a suite's rows and baselines instead of those that it had."""
        self.connection.execute("DELETE FROM rows WHERE suite = ?", (suite,))
        self.connection.execute(
            "DELETE FROM baselines WHERE unit IN "
            "(SELECT unit FROM questions WHERE suite = ?)",
            (suite,),
        )
        self.connection.execute("DELETE FROM freshness WHERE suite = ?", (suite,))
        self.insert("rows", rows)
        marks = ",".join("?" * len(BaselineRow.__struct_fields__))
        self.connection.executemany(
            f"INSERT INTO baselines VALUES ({marks})",
            map(msgspec.structs.astuple, baselines),
        )
        self.insert("freshness", [FreshnessRow(suite, through_seq)])

    def empty(self) -> None:
        """Forget everything that was folded in."""
        for table in TABLES:
            self.connection.execute(f"DELETE FROM {table.name}")

    def numbers_by_identity(self, identities: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those units that are known."""
        sql = "SELECT identity, unit FROM questions WHERE identity IN ({})"
        return dict(self._chosen(sql, identities))

    def numbers_by_question(self, hashes: Sequence[str]) -> dict[tuple[str, str], int]:
        """Return the numbers of known units by suite and question hash."""
        asked = (
            "SELECT suite, question_hash, unit FROM {} WHERE question_hash IN ({{}})"
        )
        return {
            (suite, question_hash): unit
            for table in ("aliases", "questions")
            for suite, question_hash, unit in self._chosen(asked.format(table), hashes)
        }

    def positions(self, units: Sequence[int]) -> list[int]:
        """Return the positions of all events of these units, ascending."""
        asked = "SELECT seq FROM {} WHERE unit IN ({{}})"
        return sorted(
            seq
            for table in ("forecasts", "resolutions")
            for (seq,) in self._chosen(asked.format(table), units)
        )

    def _chosen(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(values), _PARAMETERS_MAX):
            some = values[start : start + _PARAMETERS_MAX]
            yield from self.connection.execute(
                sql.format(",".join("?" * len(some))), some
            )

    def forget(self, units: Iterable[int]) -> None:
        """Delete the rows of units that are about to be written again."""
        chosen = [(unit,) for unit in units]
        for table in _OF_UNIT:
            self.connection.executemany(f"DELETE FROM {table} WHERE unit = ?", chosen)

    def write(self, judged: Judged) -> None:
        """Write the rows of units that have none."""
        self._insert_columns("questions", QuestionRow, judged.questions)
        self._insert_columns("forecasts", ForecastRow, judged.forecasts)
        self._insert_columns("resolutions", ResolutionRow, judged.resolutions)
        self.insert("quantities", judged.quantities)
        self.insert("observations", judged.observations)
        self.insert("costs", judged.costs)
        self.insert("findings", judged.findings)
        self.insert("aliases", judged.aliases)

    def _insert_columns(
        self, table: str, row: type[RowStruct], columns: Columns
    ) -> None:
        marks, given = [], []
        for field in msgspec.structs.fields(row):
            column = _stored(field.type, columns[field.name])
            marks.append(column if isinstance(column, str) else "?")
            given += [] if isinstance(column, str) else [column]
        # Without the columns' names: apsw looks the statement up again for each row,
        # and that takes longer the longer it is.
        self.connection.executemany(
            f"INSERT INTO {table} VALUES ({','.join(marks)})",
            zip(*given, strict=True),
        )

    def insert(self, table: str, rows: Sequence[RowStruct]) -> None:
        """Write rows of one table."""
        if rows:
            marks = ",".join("?" * len(rows[0].__struct_fields__))
            self.connection.executemany(
                f"INSERT INTO {table} VALUES ({marks})",
                map(msgspec.structs.astuple, rows),
            )

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each table: its rows by key, as canonical JSON lines."""
        return {table.name: self._digest(table) for table in TABLES}

    def _digest(self, table: Table) -> str:
        digest = sha256()
        order = ",".join(table.key)
        rows = self.connection.execute(f"SELECT * FROM {table.name} ORDER BY {order}")
        for row in rows:
            digest.update(encode(row) + b"\n")
        return digest.hexdigest()


@contextmanager
def tables_apart() -> Iterator[Tables]:
    """Give tables in a folder of their own, which is deleted after the block.

    Raises `UncheckableError` where SQLite cannot make or fill them: that says nothing
    about any other file.
    """
    try:
        with (
            TemporaryDirectory(prefix="ledger-tables-") as folder,
            closing(Tables(Path(folder) / "projections.db")) as tables,
        ):
            yield tables
    except apsw.Error as error:
        msg = f"no tables can be made in {gettempdir()} ({error}): free space there"
        raise UncheckableError(msg) from error


def _stored(annotation: object, column: list[Any]) -> list[Any] | str:
    """Return a column as it is stored; one that nothing is in, as SQL says that.

    `NEVER` or "" stand for null in columns that may be null.
    """
    if annotation is int:
        return column if any(column) else "0"
    if NoneType not in get_args(annotation):
        return column
    empty = NEVER if int in get_args(annotation) else ""
    absent = column.count(empty)
    if absent == len(column):
        return "null"
    return [None if each == empty else each for each in column] if absent else column
