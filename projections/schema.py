"""What `projections.db` consists of: tables, indexes and views, and nothing else.

A trigger that somebody left in the file, or a view with other words, would say
something that no fold says: a file that has them is damaged.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import apsw
import msgspec
import sqlite_utils

from ledger.projections.tables import PARTIAL_INDEXES, TABLES, VIEWS, Table

# Raised whenever a table, a rule or a score changes its meaning: an older file is
# then built again.
FORMAT = 10

_BUSY_MILLISECONDS = 5_000
# What keeps a reader from a file that may well be sound: a journal that only a writer
# may play back, or somebody who writes for long.
IN_THE_WAY = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
)

# What one thing of a schema is: its type and name, of which table, by what SQL.
Part = tuple[str, str, str, str | None]


def read_only(path: Path) -> apsw.Connection:
    """Open a file so that nothing in it, or beside it, is made or changed."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    return connection


def found(
    connection: apsw.Connection,
    sql: str,
    values: Sequence[str | int] | Mapping[str, str | int] = (),
) -> list[Any]:
    """Return the rows of a query, whose columns have the types that it says."""
    return connection.execute(sql, values).fetchall()


def parts(connection: apsw.Connection) -> frozenset[Part]:
    """Return all that a file consists of, also what SQLite itself made or hides."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return frozenset(rows)


@cache
def fresh_parts() -> frozenset[Part]:
    """Return what a file consists of that this program has just made."""
    with closing(apsw.Connection(":memory:")) as connection:
        make(connection)
        return parts(connection)


def is_ours(connection: apsw.Connection) -> bool:
    """Tell whether a file is as this program makes them, to the letter."""
    return (
        connection.pragma("user_version") == FORMAT
        and parts(connection) == fresh_parts()
    )


def make(connection: apsw.Connection) -> None:
    """Drop all that a file has, and make its tables and views without a row."""
    for kind in ("view", "table"):
        sql = "SELECT name FROM sqlite_master WHERE type = ?"
        for (name,) in found(connection, sql, (kind,)):
            quoted = name.replace('"', '""')
            # What a virtual table keeps its content in goes with it, and SQLite's own
            # tables stay.
            with suppress(apsw.SQLError):
                connection.execute(f'DROP {kind} "{quoted}"')
    for statement in _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


@cache
def _statements() -> tuple[str, ...]:
    """Return what makes the tables, indexes and views, as sqlite-utils writes it."""
    database = sqlite_utils.Database(memory=True)
    for table in TABLES:
        _make_table(database, table)
    for name, sql in PARTIAL_INDEXES.items():
        database.execute(f"CREATE INDEX {name} ON {sql}")
    for name, sql in VIEWS.items():
        database.create_view(name, sql)
    made = database.execute("SELECT sql FROM sqlite_master WHERE sql NOTNULL")
    statements = tuple(sql for (sql,) in made.fetchall())
    database.close()
    return statements


def _make_table(database: sqlite_utils.Database, table: Table) -> None:
    columns = {
        field.name: _column_type(field.type)
        for field in msgspec.structs.fields(table.row)
    }
    needed = {
        field.name
        for field in msgspec.structs.fields(table.row)
        if NoneType not in get_args(field.type)
    }
    made = database.table(table.name)
    numbers = needed - {name for name in columns if columns[name] is not int}
    made.create(
        columns,
        pk=table.key,
        not_null=needed,
        defaults=dict.fromkeys(numbers - set(table.key), 0),
        strict=True,
    )
    for index in table.indexes:
        made.create_index(index, unique=index == ("identity",))


def _column_type(annotation: object) -> type:
    """Return what sqlite-utils calls a column: int or str, whether null or not."""
    return int if int in (annotation, *get_args(annotation)) else str
