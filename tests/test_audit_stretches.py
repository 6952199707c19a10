"""What an audit asks of many entries at once, or of other files, is told as before.

Tables, an index and a log lie beside each other: whatever is wrong with one of them is
never said of another one.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from ledger import codec
from ledger.errors import CorruptLogError, RefusedError, UncheckableError
from ledger.log import open_reader
from ledger.projections import audit_log
from ledger.projections.audit import verify_ledger
from ledger.projections.audit_report import Report
from ledger.projections.materialize import Tables, tables_apart
from ledger.projections.reach import tables_reach
from ledger.projections.stored import open_report
from ledger.spelling import require_spelling
from tests.forger import Forger, rehash
from tests.workshop import Workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries and of nothing else."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


def false_checks(report: Report) -> list[str]:
    return [check.name for check in report.checks if check.ok is False]


# --- Entries --------------------------------------------------------------------------


def joined(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    return first + b"," + second, b""


def on_lines(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    return first + b"\n" + second, b""


def halves(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    middle = first.index(b",")
    return first[:middle], first[middle + 1 :] + b"," + second


@pytest.mark.parametrize("spell", [joined, on_lines, halves])
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


ODD: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "a line feed after it": lambda payload: payload + b"\n",
    "a line feed in it": lambda payload: payload.replace(b",", b",\n", 1),
    "another type at its end": lambda payload: payload[:-1] + b',"type":"SuiteFrozen"}',
    "a name after its type": lambda payload: payload[:-1] + b',"z":"SuiteFrozen"}',
    "its type first": lambda payload: (
        b'{"type":"ForecastSealed",'
        + payload[1:].replace(b',"type":"ForecastSealed"', b"")
    ),
    "a type that is none": lambda payload: payload.replace(b"castSealed", b"castSold"),
    "no text": lambda payload: payload.replace(b"native", b"nati\xff", 1),
    "no number": lambda payload: payload.replace(b'"0.', b'"0,'),
    "too much": lambda payload: payload.replace(b"native", b"n" * 65_530, 1),
    "nested": lambda _: b"[" * 5_000,
}


@pytest.mark.parametrize("spell", ODD.values(), ids=ODD)
def test_of_many_payloads_an_odd_one_is_refused_as_it_is_alone(
    workshop: Workshop, spell: Callable[[bytes], bytes]
) -> None:
    with open_reader(workshop.folder) as reader:
        payloads = [row.payload for row in reader.store.rows(0, 12)]
    assert codec.decode_all(payloads) == [codec.decode(each) for each in payloads]
    sealed = next(each for each in payloads if each.endswith(b'"ForecastSealed"}'))
    odd = spell(sealed)

    with pytest.raises(RefusedError) as alone:
        codec.decode(odd)
    with pytest.raises(RefusedError) as among:
        codec.decode_all([*payloads, odd, sealed])
    assert (among.value.code, str(among.value)) == (alone.value.code, str(alone.value))


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


# --- The tables -----------------------------------------------------------------------


def damage_payloads(forger: Forger, first: int = 0) -> None:
    """Make pages with entries unreadable, and leave those with the head.

    `first` is how many pages of entries are left as well.
    """
    with closing(sqlite3.connect(forger.folder.log)) as log:
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'entries'"
        [(page,)] = log.execute(sql).fetchall()
        [(size,)] = log.execute("PRAGMA page_size").fetchall()
    content = bytearray(forger.folder.log.read_bytes())
    # Its children, but for the last: the highest position is asked there.
    count = int.from_bytes(content[(page - 1) * size + 3 : (page - 1) * size + 5])
    assert count > first
    for cell in range(first, count):
        at = (page - 1) * size + 12 + 2 * cell
        place = (page - 1) * size + int.from_bytes(content[at : at + 2])
        child = int.from_bytes(content[place : place + 4])
        content[(child - 1) * size : child * size] = bytes(size)
    forger.folder.log.write_bytes(content)


DAMAGES: dict[str, Callable[[Forger], None]] = {
    "none": lambda _: None,
    "a signature": lambda forger: forger.change(7, "sig", b"x" * 64),
    "a short signature": lambda forger: forger.change(7, "sig", b"x" * 63),
    "a long key": lambda forger: forger.change(6, "author", b"x" * 33),
    "a payload": lambda forger: forger.change(5, "payload", b"{}"),
    "a time": lambda forger: forger.change(8, "received_at", "yesterday"),
    "a leaf": lambda forger: forger.change(11, "leaf", b"x" * 32),
    "a position": lambda forger: forger.change(4, "seq", 40),
    "the pages of entries": damage_payloads,
    "all of them but the first": lambda forger: damage_payloads(forger, 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_report_is_the_same_however_many_entries_are_looked_at_at_once(
    forger: Forger, damage: Callable[[Forger], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(forger)
    report = verify_ledger(forger.folder)

    for read, held, held_bytes, near in (
        (1, 1, 1, 1),
        (2, 5, 2**24, 3),
        (5, 2, 2**24, 4),
        (3, 16_000, 1_500, 64),
        (12, 12, 2**24, 12),
    ):
        sizes = {"READ": read, "HELD": held, "HELD_BYTES": held_bytes, "NEAR": near}
        for name, size in sizes.items():
            monkeypatch.setattr(audit_log, name, size)
        assert verify_ledger(forger.folder) == report, sizes
    assert (report.exit_code == 0) is (damage is DAMAGES["none"])


def test_a_damaged_log_is_never_called_damaged_tables(forger: Forger) -> None:
    damage_payloads(forger)
    with (
        open_reader(forger.folder) as reader,
        pytest.raises(CorruptLogError, match=r"log\.db cannot be read"),
        open_report(forger.folder, reader.store),
    ):
        pass


def test_an_audit_without_room_for_tables_calls_none_damaged(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        open_reader(forger.folder) as reader,
        open_report(forger.folder, reader.store),
    ):
        pass
    assert verify_ledger(forger.folder).check("projections").ok
    real = apsw.Connection

    def small(*args: str, **flags: int) -> apsw.Connection:
        connection = real(*args, **flags)
        if "ledger-tables-" in args[0]:
            connection.execute("PRAGMA max_page_count = 10")
        return connection

    monkeypatch.setattr("ledger.projections.materialize.apsw.Connection", small)
    report = verify_ledger(forger.folder)

    check = report.check("projections")
    assert check.ok is None
    assert "no tables can be made in" in check.detail
    assert "free space there" in check.detail
    assert report.exit_code != 1


def test_tables_that_another_program_holds_are_in_use_and_not_damaged(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.projections.materialize._BUSY_MILLISECONDS", 1)
    monkeypatch.setattr("ledger.projections.schema._BUSY_MILLISECONDS", 1)
    with open_reader(forger.folder) as reader:
        with open_report(forger.folder, reader.store):
            pass
        # Not by Python's own SQLite: locks of one process do not stop each other.
        with closing(apsw.Connection(str(forger.folder.projections))) as other:
            other.execute("BEGIN EXCLUSIVE")
            with (
                pytest.raises(UncheckableError, match="is in use by another program"),
                open_report(forger.folder, reader.store),
            ):
                pass
            with pytest.raises(UncheckableError, match="cannot be read now"):
                tables_reach(forger.folder.projections)
            report = verify_ledger(forger.folder)
    assert report.check("projections").ok is None
    assert "cannot be read now" in report.check("projections").detail
    assert tables_reach(forger.folder.projections) is not None


def test_tables_of_their_own_are_deleted_and_say_when_they_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with tables_apart() as tables:
        assert tables.position() == (0, None)
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    with (
        pytest.raises(UncheckableError, match="no tables can be made"),
        tables_apart() as tables,
    ):
        fill(tables)
    assert not list(tmp_path.iterdir())


def fill(tables: Tables) -> None:
    """Ask for more room than there is."""
    tables.connection.execute("PRAGMA max_page_count = 1")
    tables.connection.execute("CREATE TABLE more(a)")
