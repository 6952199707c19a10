"""Every change to history is found, by its name and at its place.

First every single byte of a small log, in memory; then what somebody would do
who has the folder and some of the keys.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection, connect

import msgspec
import pytest

from ledger import codec
from ledger.errors import RefusedError
from ledger.events import ForecastSealed, SuiteFrozen
from ledger.folder import Folder
from ledger.keys.signing import new_signer
from ledger.log import open_writer
from ledger.projections.audit import verify_ledger
from ledger.projections.audit_log import JudgedLog, Options, judge_log
from ledger.projections.audit_report import Check, Report
from ledger.projections.audit_signatures import InlineSignatures
from ledger.projections.audit_storage import (
    Around,
    Entries,
    RawEntry,
    StoredHead,
    read_around,
)
from ledger.projections.rows import Row
from ledger.projections.stored import open_report
from ledger.store_opening import open_store
from ledger.suite import SuiteManifest
from ledger.suite_check import gaps
from ledger.suite_table import Gap
from tests.forger import Forger, copied, rehash
from tests.workshop import ORIGIN, Workshop, key_of, vector

ENTRIES = 12
COLUMNS = ("received_at", "author", "sig", "payload", "leaf", "event_id")
NOBODY = Options()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries, with a checkpoint kept at size 7."""
    made = Workshop(tmp_path_factory.mktemp("workshop")).found().tell()
    store = open_store(made.folder.log, read_only=False)
    store.keep_checkpoint(7, made.receipts[6].checkpoint)
    store.checkpoint_wal()
    store.close()
    assert len(made.receipts) == ENTRIES
    return made


def judged(folder: Folder, options: Options = NOBODY) -> Report:
    report = verify_ledger(folder, options)
    assert report.as_json()["ok"] is (report.exit_code == 0)
    return report


def false_checks(report: Report) -> dict[str, str]:
    """Return what is false, in the report's order, with what it says."""
    return {check.name: check.detail for check in report.checks if check.ok is False}


def test_an_untouched_copy_holds(forger: Forger) -> None:
    report = judged(forger.folder)

    assert report.exit_code == 0
    assert report.entries == ENTRIES
    assert report.anchor == "none"
    assert report.check("tree").covered == 3


# --- Every byte -----------------------------------------------------------------------


class Held:
    """A log in memory, of which any byte can be changed."""

    def __init__(self, workshop: Workshop) -> None:
        store = open_store(workshop.folder.log, read_only=True)
        self.around = read_around(store)
        (self.rows,) = Entries(store, is_sound=True).batches(ENTRIES, ENTRIES + 1)
        self._blobs = workshop.folder.blobs
        store.close()

    def with_row(self, seq: int, row: RawEntry) -> JudgedLog:
        """Judge the log with another row at `seq`, whose signature alone is looked at."""
        source = InMemory([*self.rows[:seq], row, *self.rows[seq + 1 :]])
        return judge_log(
            source, self.around, self._blobs.get, signatures=SignatureOf(seq)
        )

    def with_around(self, around: Around) -> JudgedLog:
        """Judge the log with other checkpoints or another head."""
        source = InMemory(self.rows)
        return judge_log(source, around, self._blobs.get, signatures=SignatureOf(0))


class SignatureOf(InlineSignatures):
    """Looks at one entry's signature: those of the others are what they were."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self._seq = seq

    def take(self, batch: Sequence[RawEntry]) -> None:
        super().take([row for row in batch if row[0] == self._seq])


class InMemory:
    """Entries that were read already."""

    def __init__(self, rows: list[RawEntry]) -> None:
        self._rows = rows

    def batches(self, last: int | None, limit: int) -> Iterator[list[RawEntry]]:
        del last, limit
        yield self._rows


@pytest.fixture(scope="module")
def held(workshop: Workshop) -> Held:
    return Held(workshop)


@pytest.fixture
def _one_look_at_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    # Finding that a manifest has no gaps takes longer than all the rest of a small
    # log, and of the same manifest it is found each time.
    known: dict[str, list[Gap]] = {}

    def remembered(
        manifest: SuiteManifest, roles: dict[str, str], frozen: Collection[str]
    ) -> list[Gap]:
        suite_hash = codec.suite_hash(manifest)
        if suite_hash not in known:
            known[suite_hash] = gaps(manifest, roles, frozen)
        return known[suite_hash]

    monkeypatch.setattr("ledger.rules_frozen.gaps", remembered)


def changed_bytes(content: bytes) -> Iterator[bytes]:
    """Yield copies with one bit flipped, then with one character replaced, per byte."""
    for at, byte in enumerate(content):
        for other in (byte ^ 1 << at % 8, _neighbour(byte)):
            yield content[:at] + bytes([other]) + content[at + 1 :]


def _neighbour(byte: int) -> int:
    """Return another digit for a digit, another letter for a letter, and so on."""
    return byte - 1 if chr(byte) in "9zZ~" else (byte + 1) % 256


def failed(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if check.ok is False}


@pytest.mark.slow
@pytest.mark.usefixtures("_one_look_at_the_suite")
@pytest.mark.parametrize("seq", range(ENTRIES))
def test_every_changed_byte_of_an_entry_is_found_at_its_entry(
    held: Held, seq: int
) -> None:
    row = held.rows[seq]
    for place, column in enumerate(COLUMNS, 1):
        content = row[place]
        assert isinstance(content, bytes)
        for forged in changed_bytes(content):
            log = held.with_row(seq, (*row[:place], forged, *row[place + 1 :]))
            false = failed(log.checks)

            assert false["entries"].startswith(f"entry {seq}: "), column
            assert ("tree" in false) is (column not in ("leaf", "event_id")), column
            signed = column in ("author", "sig", "payload")
            assert ("signatures" in false) is signed, column
            report = Report(entries=log.size, root=log.root, checks=log.checks)
            assert report.exit_code == 1


@pytest.mark.usefixtures("_one_look_at_the_suite")
@pytest.mark.parametrize("place", range(2))
def test_every_changed_byte_of_a_stored_checkpoint_is_found_at_its_size(
    held: Held, place: int
) -> None:
    notes = held.around.checkpoints
    size, note = notes[place]
    for forged in changed_bytes(note):
        others = (*notes[:place], (size, forged), *notes[place + 1 :])
        around = msgspec.structs.replace(held.around, checkpoints=others)

        false = failed(held.with_around(around).checks)
        assert f"the checkpoint of size {size}" in false["checkpoints"]


@pytest.mark.usefixtures("_one_look_at_the_suite")
def test_every_changed_byte_of_the_head_is_found(held: Held) -> None:
    head = held.around.head
    assert head is not None
    for note in changed_bytes(head.note):
        around = with_head(held, msgspec.structs.replace(head, note=note))
        assert "of size 12" in failed(held.with_around(around).checks)["checkpoints"]
    for edge in changed_bytes(head.edge):
        around = with_head(held, msgspec.structs.replace(head, edge=edge))
        assert "edge" in failed(held.with_around(around).checks)["tree"]


def with_head(held: Held, head: StoredHead) -> Around:
    return msgspec.structs.replace(held.around, head=head)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("seq", [0, 1, 6, ENTRIES - 1])
def test_a_changed_byte_in_the_file_is_found_at_its_entry(
    forger: Forger, workshop: Workshop, seq: int, column: str
) -> None:
    store = open_store(workshop.folder.log, read_only=True)
    (row,) = store.rows_at([seq])
    store.close()
    value = getattr(row, column)
    if isinstance(value, str):
        forger.change(seq, column, value.replace("2026", "2025"))
    else:
        forger.change(seq, column, bytes([value[0] ^ 1]) + value[1:])
    report = judged(forger.folder)

    assert report.exit_code == 1
    assert false_checks(report)["entries"].startswith(f"entry {seq}: ")
    # What the change does not touch is still looked at, to the end.
    assert report.check("signatures").covered == ENTRIES
    # ledger.toml names entry 0 by its payload's hash.
    assert report.check("storage").ok is ((seq, column) != (0, "payload"))


def test_a_checkpoint_changed_in_the_file_is_found_at_its_size(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute(
            "UPDATE checkpoints SET note = replace(note, '7', '8') WHERE size = 7"
        )
    report = judged(forger.folder)

    assert report.exit_code == 1
    assert "the checkpoint of size 7" in false_checks(report)["checkpoints"]


# --- Entries removed, moved, replaced -------------------------------------------------


@pytest.mark.parametrize("size", range(1, ENTRIES))
def test_a_shortened_log_is_found_by_whoever_kept_a_checkpoint(
    forger: Forger, workshop: Workshop, size: int
) -> None:
    forger.shorten(size, workshop.receipts[size - 1].checkpoint)
    kept = workshop.receipts[-1].checkpoint

    alone = judged(forger.folder)
    assert (alone.exit_code, alone.anchor, alone.entries) == (0, "none", size)
    against = judged(forger.folder, Options(against=kept))
    assert (against.exit_code, against.anchor) == (1, "against")
    assert false_checks(against) == {
        "against": f"the checkpoint has 12 entries, and the log has {size}: it was "
        "shortened or replaced"
    }
    here = judged(forger.folder, Options(state_home=forger.state_home))
    assert (here.exit_code, here.anchor) == (1, "local-mark")
    assert list(false_checks(here)) == ["local-mark"]


def test_removed_entries_are_missed_by_the_head(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute("DELETE FROM entries WHERE seq >= 9")

    false = false_checks(judged(forger.folder))
    assert false == {
        "tree": "a checkpoint of size 12 is stored, and the log has 9 entries"
    }


def test_an_entry_removed_from_the_middle_is_named(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute("DELETE FROM entries WHERE seq = 5")
    report = judged(forger.folder)

    false = false_checks(report)
    assert false["entries"].startswith("entry 6: entry 5 should stand before it")
    assert "between size 1 and size 7" in false["tree"]
    assert report.exit_code == 1


def test_an_entry_that_no_commit_signed_is_not_counted_in(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute(
            "INSERT INTO entries SELECT 12, received_at, author, sig, payload, leaf, "
            "zeroblob(32) FROM entries WHERE seq = 11"
        )
    report = judged(forger.folder)

    assert (
        false_checks(report)["tree"] == "the head says 12 entries, and the log has 13"
    )


def test_two_swapped_entries_are_found_by_their_times(forger: Forger) -> None:
    with forger.editing() as log:
        swap(log, 3, 4)
    report = judged(forger.folder)

    false = false_checks(report)
    assert false["entries"].startswith("entry 4: it was received ")
    assert "between size 1 and size 7" in false["tree"]
    assert report.exit_code == 1


def test_two_swapped_entries_whose_times_were_mended_are_found_by_the_tree(
    forger: Forger,
) -> None:
    with forger.editing() as log:
        times = dict(log.execute("SELECT seq, received_at FROM entries").fetchall())
        swap(log, 2, 3)
        for seq in (2, 3):
            log.execute(
                "UPDATE entries SET received_at = ? WHERE seq = ?", (times[seq], seq)
            )
        rehash(log)
    report = judged(forger.folder)

    false = false_checks(report)
    assert list(false) == ["tree"]
    assert "between size 1 and size 7" in false["tree"]
    assert report.exit_code == 1


def swap(log: Connection, one: int, other: int) -> None:
    for source, target in ((one, -1), (other, one), (-1, other)):
        log.execute("UPDATE entries SET seq = ? WHERE seq = ?", (target, source))


def better(workshop: Workshop) -> ForecastSealed:
    """Return the forecast that somebody wishes to have made at entry 6."""
    store = open_store(workshop.folder.log, read_only=True)
    (row,) = store.rows_at([6])
    store.close()
    event = codec.read(row.payload)
    assert isinstance(event, ForecastSealed)
    return msgspec.structs.replace(event, probabilities=vector(1))


def test_a_payload_signed_by_another_key_is_refused_by_the_rules(
    forger: Forger, workshop: Workshop
) -> None:
    event = better(workshop)
    forger.replace(6, workshop.signed(event, key_of("mallory")))
    report = judged(forger.folder)

    false = false_checks(report)
    assert false["rules"].startswith("entry 6 would be refused today: bad-signature")
    assert "between size 1 and size 7" in false["tree"]
    assert set(false) == {"rules", "tree"}
    assert report.exit_code == 1


def test_a_payload_under_its_author_s_name_needs_its_author_s_signature(
    forger: Forger, workshop: Workshop
) -> None:
    event = better(workshop)
    forged = workshop.signed(event, key_of("mallory"))
    author_key = workshop.keys["forecaster"].verifier.public
    forger.replace(6, msgspec.structs.replace(forged, author_key=author_key))
    report = judged(forger.folder)

    false = false_checks(report)
    assert false["signatures"] == "entry 6: the signature is not by its author's key"
    assert report.exit_code == 1


def test_a_forecaster_who_rewrites_a_forecast_lacks_the_log_s_key(
    forger: Forger, workshop: Workshop
) -> None:
    forger.replace(6, workshop.signed(better(workshop)))
    forger.resign(key_of("mallory"))
    report = judged(forger.folder)

    assert "no key of" in false_checks(report)["checkpoints"]
    assert report.exit_code == 1


# --- The whole folder -----------------------------------------------------------------


def test_yesterday_s_copy_is_found_by_this_machine_and_refused_by_the_writer(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found()
    yesterday = copied(workshop.folder, tmp_path / "yesterday")
    workshop.tell()
    options = Options(state_home=workshop.state_home)
    today = judged(workshop.folder, options)
    restored = judged(yesterday, options)

    assert (today.exit_code, today.anchor) == (0, "local-mark")
    assert (restored.exit_code, restored.entries) == (1, 2)
    assert list(false_checks(restored)) == ["local-mark"]
    with (
        open_writer(
            yesterday,
            workshop.log_key,
            clock=workshop.clock,
            state_home=workshop.state_home,
        ) as writer,
        pytest.raises(RefusedError, match="behind-mark"),
    ):
        writer.stage(workshop.signed(workshop.opened(workshop.question(9))))


def test_a_restored_copy_goes_on_only_with_its_gap_in_sight(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    yesterday = copied(workshop.folder, tmp_path / "yesterday")
    lost = workshop.tell().receipts[-1].checkpoint
    workshop.folder = yesterday
    continued = msgspec.structs.replace(workshop.charter(), continues=lost)
    workshop.append(
        SuiteFrozen(
            author="root",
            created_at=workshop.clock(),
            ledger=workshop.ledger,
            suite="charter@v2",
            supersedes="charter@v1",
            manifest=continued,
        )
    )
    gap = "entry 2 continues a checkpoint of size 12: an older copy was restored"

    report = judged(yesterday, Options(state_home=workshop.state_home))
    assert (report.exit_code, report.anchor) == (0, "local-mark")
    assert gap in report.check("rules").detail
    against = judged(yesterday, Options(against=lost))
    assert against.exit_code == 1
    assert gap in false_checks(against)["against"]


def test_a_rewrite_by_the_log_s_own_key_is_found_by_a_kept_checkpoint_only(
    workshop: Workshop, tmp_path: Path
) -> None:
    forged = Workshop(tmp_path)
    forged.wait(days=1)
    forged.found().tell()
    kept = workshop.receipts[4].checkpoint

    alone = judged(forged.folder)
    assert (alone.exit_code, alone.anchor) == (0, "none")
    against = judged(forged.folder, Options(against=kept))
    assert (against.exit_code, against.anchor) == (1, "against")
    assert false_checks(against) == {
        "against": "the first 5 entries are not those that the checkpoint signed: the "
        "log was rewritten"
    }
    genesis = judged(forged.folder, Options(genesis=workshop.ledger))
    assert (genesis.exit_code, genesis.anchor) == (1, "genesis")
    assert list(false_checks(genesis)) == ["genesis"]
    # The key is the right one: that is just what it cannot tell.
    key = judged(forged.folder, Options(key=workshop.log_key.verifier))
    assert (key.exit_code, key.anchor) == (0, "key")


def test_a_rewrite_that_keeps_the_first_entry_needs_more_than_its_id(
    forger: Forger, workshop: Workshop
) -> None:
    forger.replace(6, workshop.signed(better(workshop)))
    forger.resign(workshop.log_key)

    genesis = judged(forger.folder, Options(genesis=workshop.ledger))
    assert (genesis.exit_code, genesis.anchor) == (0, "genesis")
    here = judged(forger.folder, Options(state_home=forger.state_home))
    assert list(false_checks(here)) == ["local-mark"]
    assert here.exit_code == 1


def test_a_rewrite_under_another_log_key_is_found_by_the_key(
    workshop: Workshop, tmp_path: Path
) -> None:
    other_key = new_signer(ORIGIN, key_of("mallory").seed)
    forged = Workshop(tmp_path, log_key=other_key).found().tell()

    assert judged(forged.folder).exit_code == 0
    report = judged(forged.folder, Options(key=workshop.log_key.verifier))
    assert (report.exit_code, list(false_checks(report))) == (1, ["key"])


# --- The file itself ------------------------------------------------------------------


def test_a_dropped_trigger_is_missed(forger: Forger) -> None:
    with forger.editing() as log:
        log.execute("CREATE TABLE notes(text TEXT)")
    assert "notes" in false_checks(judged(forger.folder))["storage"]


def test_a_ledger_toml_that_names_another_ledger_is_found(forger: Forger) -> None:
    forger.folder.write_settings("example.org/workshop", "00" * 32)
    report = judged(forger.folder)

    assert "entry 0 is" in false_checks(report)["storage"]
    assert report.exit_code == 1


# --- What was derived -----------------------------------------------------------------

EDITED = {
    "a vector that was late counts": (
        "UPDATE forecasts SET eligible = 1 - eligible WHERE seq = 6",
        "forecasts: seq 6 has eligible 0, and the log gives 1",
    ),
    "a better score": (
        "UPDATE forecasts SET brier_sum = brier_sum / 2 WHERE seq = 4",
        "forecasts: seq 4 has brier_sum ",
    ),
    "an amendment never happened": (
        "DELETE FROM findings",
        "findings: seq 11, rule amended is missing",
    ),
    "another outcome": (
        "UPDATE questions SET outcome = 'pass' WHERE unit = 2",
        "questions: unit 2 has outcome pass, and the log gives fail",
    ),
    "another question of the same unit": (
        "INSERT INTO aliases VALUES ('ab', 'workshop@v1', 2)",
        "aliases: question_hash ab, suite workshop@v1 is not in the log",
    ),
    "a reporting row": (
        "UPDATE rows SET row = replace(row, '\"scored\":2', '\"scored\":9')",
        "rows: suite workshop@v1, place 0 has row ",
    ),
    "a position that the log has not reached": (
        "UPDATE state SET position = 99",
        "the tables stand at entry 99, and the log has 12",
    ),
    "a view that says something else": (
        "DROP VIEW scores; CREATE VIEW scores AS SELECT 0 AS brier",
        "the view scores says something else than it should",
    ),
    "a table of one's own": (
        "CREATE TABLE awards(who TEXT)",
        "there is a table awards that no fold makes",
    ),
    "a trigger with a name like one of SQLite's own": (
        (
            "CREATE TRIGGER sqliteZ AFTER INSERT ON freshness BEGIN "
            "UPDATE rows SET row = replace(row, '\"scored\":2', '\"scored\":9'); END"
        ),
        "there is a trigger sqliteZ that no fold makes",
    ),
    "an index of one's own": (
        "CREATE INDEX sqlite1 ON rows (row)",
        "there is a index sqlite1 that no fold makes",
    ),
    "a table with another default": (
        (
            "PRAGMA writable_schema = ON; UPDATE sqlite_master "
            "SET sql = replace(sql, 'DEFAULT 0', 'DEFAULT 1') WHERE name = 'forecasts'"
        ),
        "the table forecasts says something else than it should",
    ),
    "a view that says the right thing in a comment": (
        (
            "CREATE TEMP TABLE was AS SELECT sql FROM sqlite_master WHERE name = 'scores';"
            "PRAGMA writable_schema = ON; UPDATE sqlite_master "
            "SET sql = 'CREATE VIEW scores AS SELECT 0 AS brier /* ' "
            "|| (SELECT sql FROM was) || ' */' WHERE name = 'scores'"
        ),
        "the view scores says something else than it should",
    ),
    "rows of an event that is not there yet": (
        "UPDATE freshness SET through_seq = 12",
        "freshness: suite workshop@v1 has through_seq 12, and the log gives 11",
    ),
    "rows of a suite that nobody froze": (
        "INSERT INTO freshness VALUES ('awards@v1', 3)",
        "freshness: suite awards@v1 is not in the log",
    ),
}


@pytest.fixture(scope="module")
def tabled(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The ledger with its tables, rows included, as they are after a report."""
    folder = copied(workshop.folder, tmp_path_factory.mktemp("tabled") / "ledger")
    with (
        closing(open_store(folder.log, read_only=True)) as store,
        open_report(folder, store) as report,
    ):
        assert report.rows()
    return folder


@pytest.mark.parametrize(("edit", "said"), EDITED.values(), ids=EDITED)
def test_a_table_edited_by_hand_is_found_by_row_and_column(
    tabled: Folder, tmp_path: Path, edit: str, said: str
) -> None:
    folder = copied(tabled, tmp_path / "ledger")
    assert judged(folder).check("projections").ok is True
    with closing(connect(folder.projections)) as tables:
        tables.executescript(edit)
    report = judged(folder)

    assert report.exit_code == 1
    assert list(false_checks(report)) == ["projections"]
    assert said in false_checks(report)["projections"]


LATER_TRUTH = """
    CREATE TRIGGER sqliteZ AFTER INSERT ON freshness BEGIN
        UPDATE rows SET row = replace(row, '"scored":2', '"scored":9');
        UPDATE freshness SET through_seq = -1;
    END;
    UPDATE freshness SET through_seq = -1"""
FORGED = "UPDATE rows SET row = replace(row, '\"scored\":2', '\"scored\":9');"


@pytest.mark.parametrize(
    "edit",
    [
        LATER_TRUTH,
        FORGED + "UPDATE freshness SET through_seq = -1",
        FORGED + "UPDATE freshness SET through_seq = 12",
        FORGED + "DROP VIEW scores",
    ],
    ids=["trigger", "never", "ahead", "view"],
)
def test_rows_that_were_stored_otherwise_are_computed_again(
    tabled: Folder, tmp_path: Path, edit: str
) -> None:
    folder = copied(tabled, tmp_path / "ledger")
    true = shown(folder)
    with closing(connect(folder.projections)) as tables:
        tables.executescript(edit)

    assert shown(folder) == true
    assert judged(folder).check("projections").ok is True


def test_rows_that_claim_an_event_to_come_are_not_believed_once_it_came(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found().tell()
    assert shown(workshop.folder)
    with closing(connect(workshop.folder.projections)) as tables:
        tables.executescript(FORGED + f"UPDATE freshness SET through_seq = {ENTRIES}")
    workshop.append(workshop.opened(workshop.question(10)))
    assert len(workshop.receipts) == ENTRIES + 1

    assert shown(workshop.folder)[0]["counts"]["scored"] == 2
    assert judged(workshop.folder).check("projections").ok is True


def shown(folder: Folder) -> list[Row]:
    """Return the rows that a report shows."""
    with (
        closing(open_store(folder.log, read_only=True)) as store,
        open_report(folder, store) as report,
    ):
        return report.rows()


def test_tables_that_are_no_database_are_found(tabled: Folder, tmp_path: Path) -> None:
    folder = copied(tabled, tmp_path / "ledger")
    folder.projections.write_bytes(b"no tables at all" * 512)
    report = judged(folder)

    assert report.exit_code == 1
    assert "is damaged" in false_checks(report)["projections"]


def test_tables_are_not_compared_with_a_log_that_does_not_hold(
    tabled: Folder, workshop: Workshop, tmp_path: Path
) -> None:
    folder = copied(tabled, tmp_path / "ledger")
    forger = Forger(workshop, tmp_path)
    forger.folder = folder
    forger.replace(6, workshop.signed(better(workshop), key_of("mallory")))
    report = judged(folder)

    assert report.check("projections").ok is None
    assert report.exit_code == 1
