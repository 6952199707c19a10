"""What `projections.db` consists of: tables, indexes and views, and nothing else.

A trigger that somebody left in the file, or a view with other words, would say
something that no fold says: a file that has them is damaged.
"""

import sqlite3
from contextlib import closing
from functools import cache
from types import NoneType
from typing import get_args

import msgspec
import sqlite_utils

from ledger.projections.tables import PARTIAL_INDEXES, TABLES, VIEWS, Table

# Raised whenever a table, a rule or a score changes its meaning: an older file is
# then built again.
FORMAT = 9

# What one thing of a schema is: its type and name, of which table, by what SQL.
Part = tuple[str, str, str, str | None]


def parts(connection: sqlite3.Connection) -> frozenset[Part]:
    """Return all that a file consists of, also what SQLite itself made or hides."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return frozenset(rows)


@cache
def fresh_parts() -> frozenset[Part]:
    """Return what a file consists of that this program has just made."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make(connection)
        return parts(connection)


def is_ours(connection: sqlite3.Connection) -> bool:
    """Tell whether a file is as this program makes them, to the letter."""
    version = connection.execute("PRAGMA user_version").fetchone()
    return version == (FORMAT,) and parts(connection) == fresh_parts()


def make(connection: sqlite3.Connection) -> None:
    """Drop all that a file has, and make its tables and views without a row."""
    database = sqlite_utils.Database(connection)
    for name in database.view_names():
        database.view(name).drop()
    for name in database.table_names():
        # What a virtual table keeps its content in goes with it.
        database.table(name).drop(ignore=True)
    for table in TABLES:
        _make_table(database, table)
    for name, sql in PARTIAL_INDEXES.items():
        connection.execute(f"CREATE INDEX {name} ON {sql}")
    for name, sql in VIEWS.items():
        database.create_view(name, sql)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


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
