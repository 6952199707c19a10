"""What an audit asks of many entries at once, or of other files, is told as before.

Tables, an index and a log lie beside each other: whatever is wrong with one of them is
never said of another one.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ledger import codec
from ledger.errors import RefusedError
from ledger.projections.audit import verify_ledger
from ledger.projections.audit_report import Report
from ledger.spelling import require_spelling
from tests.forger import Forger, rehash
from tests.workshop import Workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries and of nothing else."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


@pytest.fixture
def forger(workshop: Workshop, tmp_path: Path) -> Forger:
    """Somebody with a copy of the folder."""
    return Forger(workshop, tmp_path)


def false_checks(report: Report) -> list[str]:
    return [check.name for check in report.checks if check.ok is False]


# --- Entries --------------------------------------------------------------------------


def joined(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    return first + b"," + second, b""


def halves(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    middle = first.index(b",")
    return first[:middle], first[middle + 1 :] + b"," + second


@pytest.mark.parametrize("spell", [joined, halves])
def test_payloads_that_are_events_only_together_are_named(
    forger: Forger, spell: Callable[[bytes, bytes], tuple[bytes, bytes]]
) -> None:
    with forger.editing() as log:
        sql = "SELECT payload FROM entries WHERE seq = ?"
        first, second = (log.execute(sql, (seq,)).fetchone()[0] for seq in (3, 4))
        for seq, payload in zip((3, 4), spell(first, second), strict=True):
            log.execute("UPDATE entries SET payload = ? WHERE seq = ?", (payload, seq))
        rehash(log)
    check = verify_ledger(forger.folder).check("entries")

    assert check.ok is False
    assert "its payload is no event" in check.detail
    assert "1 more entries are bad" in check.detail


def test_of_two_misspellings_the_hash_is_named_first(workshop: Workshop) -> None:
    question = workshop.question(0)
    offset = msgspec.structs.replace(question, text_hash="x" * 64)
    sealed = msgspec.structs.replace(
        workshop.sealed("y" * 64, 50), question=offset, question_hash="y" * 64
    )

    with pytest.raises(RefusedError, match=r"'y{64}' is no hash"):
        require_spelling(sealed)


@pytest.mark.parametrize("answers", [2, 8, 9, 400])
def test_short_and_long_vectors_are_held_to_the_same_sum(
    workshop: Workshop, answers: int
) -> None:
    names = [f"answer-{number:03d}" for number in range(answers)]
    vector = dict.fromkeys(names, "0") | {names[0]: "1"}
    sealed = workshop.sealed("f" * 64, 50)
    sound = msgspec.structs.replace(sealed, probabilities=vector)
    assert codec.decode(codec.encode(sound)) == sound
    for wrong, code in (
        ({names[0]: "0.5"}, "sum-not-one"),
        ({names[0]: "0.1234567"}, "too-many-places"),
        ({"é": "0"}, "not-canonical"),
    ):
        odd = msgspec.structs.replace(sealed, probabilities={**vector, **wrong})
        with pytest.raises(RefusedError) as refused:
            require_spelling(odd)
        assert refused.value.code == code


# --- The index ------------------------------------------------------------------------

INDEXES = {
    "a question of no unit": "INSERT INTO asked VALUES ('zzz', NULL)",
    "a column more": "ALTER TABLE units ADD COLUMN more TEXT",
    "columns the other way round": "ALTER TABLE units RENAME TO before; "
    "CREATE TABLE units(unit, name); "
    "INSERT INTO units(unit, name) SELECT unit, name FROM before",
    "a position twice": "ALTER TABLE frozen RENAME TO before; "
    "CREATE TABLE frozen(seq); INSERT INTO frozen SELECT seq FROM before; "
    "INSERT INTO frozen SELECT seq FROM before",
    "no text": "UPDATE asked SET name = CAST(x'ff' AS TEXT)",
}


@pytest.mark.parametrize("sql", INDEXES.values(), ids=INDEXES)
def test_an_index_of_other_rows_or_columns_is_named(forger: Forger, sql: str) -> None:
    with closing(sqlite3.connect(forger.folder.index)) as database:
        database.executescript(sql)
    report = verify_ledger(forger.folder)

    assert false_checks(report) == ["index"]
    assert "delete it" in report.check("index").detail


def test_an_index_whose_text_is_none_is_made_again(tmp_path: Path) -> None:
    shop = Workshop(tmp_path).found().tell()
    with closing(sqlite3.connect(shop.folder.index)) as database:
        database.executescript(
            "PRAGMA writable_schema = ON; "
            "UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT) WHERE name = 'asked'"
        )
    shop.fill(1, first=20)

    assert verify_ledger(shop.folder).check("index").ok
