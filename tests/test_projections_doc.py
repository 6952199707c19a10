"""The tables are described as they are."""

import re

import msgspec
import pytest

from ledger.projections.tables import TABLES, VIEWS, Table
from tests.simulator import History
from tests.source_tree import REPOSITORY

TEXT = (REPOSITORY / "docs" / "projections.md").read_text("utf-8")


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_each_table_is_documented_with_all_its_columns(table: Table) -> None:
    (line,) = [
        line for line in TEXT.splitlines() if line.startswith(f"| `{table.name}`")
    ]
    columns = {field.name for field in msgspec.structs.fields(table.row)}
    assert columns <= set(re.findall(r"`(\w+)`", line))


def test_each_view_is_documented() -> None:
    assert set(VIEWS) <= set(re.findall(r"`(\w+)`", TEXT))


def test_the_queries_that_are_shown_run() -> None:
    history = History()
    question = history.question()
    history.update(question, history.seal(question), "0.4")
    history.seal(question, "0.4", suite_hash="e" * 64)
    ((script,),) = [re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)]
    connection = history.folded().connection
    first, second = (
        connection.execute(query).fetchall() for query in script.split(";")[:2]
    )
    assert first == [("native", 2, 2, 3)]
    assert second == [("suite-hash-mismatch", 1)]
