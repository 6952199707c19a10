"""The index of event ids says of each entry where it stands, and an audit believes it
only as far as SQLite's own check would."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw
import pytest

from ledger.folder import Folder
from ledger.projections import audit_storage
from ledger.projections.audit import verify_ledger
from ledger.store import Store
from tests.forger import Forger
from tests.workshop import Workshop

UNIQUE = {"entries": " UNIQUE", "cosignatures": ", UNIQUE(size, line)"}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


def schema(folder: Folder, *statements: str, **values: object) -> None:
    """Change what the file says of itself, and nothing else of it."""
    with closing(sqlite3.connect(folder.log)) as log, log:
        log.execute("PRAGMA writable_schema = 1")
        for statement in statements:
            log.execute(statement, values)


@contextmanager
def without_unique(
    forger: Forger, table: str = "entries", *, columns: str | None = None
) -> Iterator[sqlite3.Connection]:
    """Give a connection to a table in which nothing needs to be there only once.

    Its index is kept up as one of `columns`, or nobody knows of it. Afterwards all is
    said as before.
    """
    name, constraint = f"sqlite_autoindex_{table}_1", UNIQUE[table]
    with closing(sqlite3.connect(forger.folder.log)) as log:
        sql = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        [(page,)] = log.execute(sql, (name,)).fetchall()
        sql = "SELECT sql FROM sqlite_master WHERE name = ?"
        [(words,)] = log.execute(sql, (table,)).fetchall()
    schema(
        forger.folder,
        "DELETE FROM sqlite_master WHERE name = :name",
        "UPDATE sqlite_master SET sql = :sql WHERE name = :table",
        "INSERT INTO sqlite_master SELECT 'index', 'other', :table, :page, :other "
        "WHERE :kept",
        name=name, sql=words.replace(constraint, ""), table=table, page=page,
        other=f"CREATE INDEX other ON {table}({columns})", kept=columns is not None,
    )  # fmt: skip
    with forger.editing() as log:
        yield log
    schema(
        forger.folder,
        "DELETE FROM sqlite_master WHERE name = 'other'",
        "UPDATE sqlite_master SET sql = :sql WHERE name = :table",
        "INSERT INTO sqlite_master VALUES ('index', :name, :table, :page, NULL)",
        name=name, sql=words, table=table, page=page,
    )  # fmt: skip


def in_sqlites_words(folder: Folder) -> list[str]:
    with closing(apsw.Connection(str(folder.log))) as log:
        return [text for (text,) in log.execute("PRAGMA integrity_check")]


SWAPPED = "UPDATE entries SET event_id = (SELECT event_id FROM entries WHERE seq = {})"
APART = {
    "an id changed in the table": (
        "UPDATE entries SET event_id = randomblob(32) WHERE seq = 5",
    ),
    "an id of another length": (
        "UPDATE entries SET event_id = randomblob(31) WHERE seq = 5",
    ),
    "an entry that is in no index": (
        (
            "INSERT INTO entries SELECT 12, received_at, author, sig, payload, leaf, "
            "randomblob(32) FROM entries WHERE seq = 11"
        ),
    ),
    "an entry that only the index has": ("DELETE FROM entries WHERE seq = 11",),
    "an entry moved away": ("UPDATE entries SET seq = 40 WHERE seq = 4",),
    "an entry before the first": ("UPDATE entries SET seq = -1 WHERE seq = 0",),
    "two entries as long as three": (
        (
            "UPDATE entries SET event_id = CAST(event_id || (SELECT event_id "
            "FROM entries WHERE seq = 6) AS BLOB) WHERE seq = 5"
        ),
        "DELETE FROM entries WHERE seq = 6",
    ),
    "ids that are cut elsewhere": (
        (
            "UPDATE entries SET event_id = CAST(substr((SELECT event_id FROM entries "
            "WHERE seq = 5), 32) || event_id AS BLOB) WHERE seq = 6"
        ),
        "UPDATE entries SET event_id = substr(event_id, 1, 31) WHERE seq = 5",
    ),
    "no entry at all": ("DELETE FROM entries",),
}


@pytest.mark.parametrize("statements", APART.values(), ids=APART)
def test_an_index_of_ids_that_is_not_of_the_entries_is_named_in_sqlite_s_words(
    forger: Forger, statements: tuple[str, ...]
) -> None:
    with without_unique(forger) as log:
        for statement in statements:
            log.execute(statement)
    check = verify_ledger(forger.folder).check("storage")

    said, _, _ = check.detail.removeprefix("integrity_check: ").partition(" (and ")
    assert check.ok is False
    assert said in in_sqlites_words(forger.folder)
    assert "index sqlite_autoindex_entries_1" in said


@pytest.mark.parametrize("seqs", [(4, 5), (0, 11), (10, 9)])
def test_two_entries_with_one_id_are_named(
    forger: Forger, seqs: tuple[int, int]
) -> None:
    first, second = seqs
    with without_unique(forger, columns="event_id") as log:
        log.execute(f"{SWAPPED.format(first)} WHERE seq = {second}")
    check = verify_ledger(forger.folder).check("storage")

    assert check.ok is False
    assert "non-unique entry in index sqlite_autoindex_entries_1" in check.detail


def test_ids_swapped_in_the_table_alone_are_named(forger: Forger) -> None:
    with without_unique(forger) as log:
        [(one,), (other,)] = log.execute(
            "SELECT event_id FROM entries WHERE seq IN (3, 7) ORDER BY seq"
        ).fetchall()
        for seq, event_id in ((3, other), (7, one)):
            log.execute(
                "UPDATE entries SET event_id = ? WHERE seq = ?", (event_id, seq)
            )
    assert verify_ledger(forger.folder).check("storage").ok is False


def cells(forger: Forger, forged: dict[int, bytes]) -> None:
    """Write other cells into the index: an id, then the position in one byte."""
    content = forger.folder.log.read_bytes()
    for seq, event_id in ids(forger).items():
        was = event_id + bytes([seq])
        if seq in forged:
            assert content.count(was) == 1
            content = content.replace(was, forged[seq])
    forger.folder.log.write_bytes(content)


def ids(forger: Forger) -> dict[int, bytes]:
    with closing(sqlite3.connect(forger.folder.log)) as log:
        return dict(log.execute("SELECT seq, event_id FROM entries"))


def test_an_index_that_names_another_entry_is_named(forger: Forger) -> None:
    """The ids are all there: only the positions in the index were exchanged."""
    known = ids(forger)
    cells(forger, {3: known[3] + bytes([7]), 7: known[7] + bytes([3])})
    check = verify_ledger(forger.folder).check("storage")

    assert check.ok is False
    assert "missing from index sqlite_autoindex_entries_1" in check.detail


@pytest.mark.parametrize("seq", [2, 6, 10])
def test_an_index_that_counts_from_the_end_is_named(forger: Forger, seq: int) -> None:
    known = ids(forger)
    cells(forger, {seq: known[seq] + bytes([seq - len(known) + 256])})
    check = verify_ledger(forger.folder).check("storage")

    assert check.ok is False
    assert "missing from index sqlite_autoindex_entries_1" in check.detail


@pytest.mark.parametrize("seq", range(2, 12))
def test_a_cell_that_leads_a_search_astray_ends_an_audit_all_the_same(
    forger: Forger, seq: int
) -> None:
    """It names no entry, and what is looked for to its right stands to its left."""
    cells(forger, {seq: b"\xff" * 32 + bytes([100])})

    assert verify_ledger(forger.folder).check("storage").ok is False


@pytest.mark.parametrize("columns", ["event_id", "event_id, seq", "event_id, author"])
def test_cells_with_a_field_more_are_judged_as_sqlite_does(
    forger: Forger, columns: str
) -> None:
    """Who asks for the position is given the last field, whatever stands before it."""
    with without_unique(forger, columns=columns) as log:
        log.execute("REINDEX other")
    words = in_sqlites_words(forger.folder)
    check = verify_ledger(forger.folder).check("storage")

    assert (words == ["ok"]) is ("author" not in columns)
    assert check.ok is (words == ["ok"])
    assert check.ok or words[0] in check.detail


def test_a_column_of_another_type_is_named(forger: Forger) -> None:
    schema(
        forger.folder,
        "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '') WHERE name = 'entries'",
    )
    forger.change(5, "sig", "text")
    schema(
        forger.folder,
        "UPDATE sqlite_master SET sql = sql || 'STRICT' WHERE name = 'entries'",
    )
    check = verify_ledger(forger.folder).check("storage")

    assert check.ok is False
    assert "non-BLOB value in entries.sig" in check.detail


def test_an_index_of_witnesses_that_lacks_a_line_is_named(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute("INSERT INTO cosignatures VALUES (2, 'a line')")
    with without_unique(forger, "cosignatures") as log:
        log.execute("UPDATE cosignatures SET line = 'another'")
    check = verify_ledger(forger.folder).check("storage")

    assert check.ok is False
    assert "missing from index sqlite_autoindex_cosignatures_1" in check.detail


def test_of_a_sound_log_sqlite_is_not_asked_for_each_entry(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    said = audit_storage._said

    def noted(store: Store, check: str) -> Iterator[str]:
        asked.append(check)
        return said(store, check)

    monkeypatch.setattr(audit_storage, "_said", noted)

    assert verify_ledger(forger.folder).check("storage").ok is True
    assert "quick_check(20)" in asked
    assert "integrity_check(entries)" not in asked
