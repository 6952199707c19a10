"""The log on disk: one writer, durable before acknowledged, nothing rewritten."""

import os
import sqlite3
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from ledger.anchor import mark_path
from ledger.clock_watch import ClockWatch
from ledger.errors import (
    CorruptLogError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.folder import Folder
from ledger.log import open_reader, open_writer
from ledger.projections.audit import verify_ledger
from ledger.schema import SCHEMA
from ledger.store import CHECKPOINT_EVERY, Head
from ledger.store_opening import open_store
from ledger.writer import Receipt
from tests.workshop import BEGAN, Workshop, key_of


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path).found()


def entries(folder: Folder) -> list[str]:
    with open_reader(folder) as reader:
        return [each.event_id for each in reader.events.read(0, 1_000_000)]


def test_a_receipt_names_the_entry_and_a_checkpoint_that_covers_it(
    workshop: Workshop,
) -> None:
    submissions = list(workshop.history(1))[:2]
    with workshop.writer() as writer:
        receipts = writer.append(submissions)

    assert [receipt.seq for receipt in receipts] == [2, 3]
    assert all(receipt.checkpoint.split("\n")[1] == "4" for receipt in receipts)
    assert [receipt.event_id for receipt in receipts] == entries(workshop.folder)[2:]


def test_the_same_event_again_has_the_same_receipt_before_every_rule(
    workshop: Workshop,
) -> None:
    submissions = list(workshop.history(1))
    with workshop.writer() as writer:
        first = writer.append(submissions)
        # The seal would be refused today if it were new: its unit is resolved.
        again = writer.append([submissions[1], submissions[1]])

    for receipt in again:
        assert isinstance(receipt, Receipt)
        assert (receipt.seq, receipt.received_at) == (
            first[1].seq,
            first[1].received_at,
        )
    assert len(entries(workshop.folder)) == 2 + 4


def test_the_same_event_twice_in_one_commit_is_one_entry(workshop: Workshop) -> None:
    opened = next(workshop.history(1))
    with workshop.writer() as writer:
        receipts = writer.append([opened, opened])

    assert receipts[0] == receipts[1]
    assert len(entries(workshop.folder)) == 3


def test_a_known_event_under_a_stranger_s_signature_has_no_receipt(
    workshop: Workshop,
) -> None:
    opened = workshop.opened(workshop.question(1))
    with workshop.writer() as writer:
        writer.append([workshop.signed(opened)])
        (answer,) = writer.append([workshop.signed(opened, key_of("resolver"))])

    assert isinstance(answer, RefusedError)
    assert answer.code == "bad-signature"


def test_a_refused_event_leaves_no_trace(workshop: Workshop) -> None:
    history = list(workshop.history(1))
    seal_before_it_was_opened, opened = history[1], history[0]
    with workshop.writer() as writer:
        before = writer.checkpoint()
        (answer,) = writer.append([seal_before_it_was_opened])
        assert isinstance(answer, RefusedError)
        assert writer.checkpoint() == before
        (receipt,) = writer.append([opened])
    assert receipt.seq == 2


def test_what_was_staged_and_not_committed_is_gone(workshop: Workshop) -> None:
    with workshop.writer() as writer:
        writer.stage(next(workshop.history(1)))
        assert writer.size == 3
    assert len(entries(workshop.folder)) == 2


def test_an_abandoned_batch_leaves_the_rules_as_they_were(workshop: Workshop) -> None:
    history = list(workshop.history(1))
    with workshop.writer() as writer:
        for submission in history[:3]:
            writer.stage(submission)
        writer.abandon()
        assert writer.size == 2
        with pytest.raises(RefusedError, match="unknown-question"):
            writer.stage(history[1])
        assert [type(answer) for answer in writer.append(history)] == [Receipt] * 4
    assert len(entries(workshop.folder)) == 6


def test_only_one_writer_holds_a_ledger(workshop: Workshop) -> None:
    with (
        workshop.writer(),
        pytest.raises(UsageError, match="another process writes"),
        workshop.writer(),
    ):
        pass
    with workshop.writer() as writer:
        assert writer.size == 2


def test_readers_read_beside_the_writer(workshop: Workshop) -> None:
    with workshop.writer() as writer, open_reader(workshop.folder) as reader:
        writer.append(list(workshop.history(2)))
        assert reader.events.size() == 10


@pytest.mark.parametrize("table", ["entries", "checkpoints"])
@pytest.mark.parametrize(
    "change",
    ["UPDATE {} SET rowid = rowid", "DELETE FROM {}"],
    ids=["update", "delete"],
)
def test_the_database_itself_refuses_to_rewrite(
    workshop: Workshop, table: str, change: str
) -> None:
    database = sqlite3.connect(workshop.folder.log)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute(change.format(table))
    database.close()


def test_the_settings_that_durability_needs_are_in_force(workshop: Workshop) -> None:
    database = sqlite3.connect(workshop.folder.log)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in [workshop.folder.path, workshop.folder.log]
    }
    assert modes == {"ledger": 0o700, "log.db": 0o600}


def test_an_unknown_format_is_refused_by_name(workshop: Workshop) -> None:
    database = sqlite3.connect(workshop.folder.log)
    with database:
        database.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
    database.close()
    with pytest.raises(UncheckableError, match="format '2'"):
        open_store(workshop.folder.log, read_only=True)


def test_a_file_that_is_no_database_is_named(workshop: Workshop) -> None:
    workshop.folder.log.write_bytes(b"no database at all" * 100)
    with pytest.raises(CorruptLogError, match="not a readable log"):
        open_store(workshop.folder.log, read_only=True)


def test_a_checkpoint_is_kept_for_each_thousand_entries(workshop: Workshop) -> None:
    workshop.fill(600)
    with open_reader(workshop.folder) as reader:
        sizes = [size for size, _ in reader.store.checkpoints()]
        size = reader.store.head().size

    assert size == 2_402
    assert sizes == [1, CHECKPOINT_EVERY, 2 * CHECKPOINT_EVERY]


def test_a_writer_after_a_fork_refuses_to_write(workshop: Workshop) -> None:
    with workshop.writer() as writer:
        child = os.fork()
        if child == 0:
            try:
                writer.commit()
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        writer.append([next(workshop.history(1))])


def test_a_failed_commit_stops_the_writer_for_good(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = next(workshop.history(1))
    with workshop.writer() as writer:
        writer.stage(opened)
        with monkeypatch.context() as patch:
            patch.setattr("ledger.store.Store._write", _disk_full)
            with pytest.raises(WriterStoppedError, match="unknown"):
                writer.commit()
        with pytest.raises(WriterStoppedError):
            writer.stage(opened)
    with workshop.writer() as writer:
        assert writer.size == 2
        writer.append([opened])


def _disk_full(*_: object) -> None:
    raise apsw.FullError("database or disk is full")


def test_an_older_copy_of_the_folder_is_refused(workshop: Workshop) -> None:
    backup = workshop.folder.log.read_bytes()
    workshop.fill(1)
    workshop.folder.log.write_bytes(backup)
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (workshop.folder.path / name).unlink(missing_ok=True)
    with (
        workshop.writer() as writer,
        pytest.raises(RefusedError, match="an old copy was restored"),
    ):
        writer.stage(next(workshop.history(1, first=5)))
    assert workshop.ledger is not None
    note = mark_path(workshop.state_home, workshop.ledger).read_text()
    assert note.split("\n")[1] == "6"


def test_a_log_of_another_root_at_the_remembered_size_is_refused(
    workshop: Workshop, tmp_path: Path
) -> None:
    workshop.fill(1)
    other = Workshop(tmp_path / "other")
    other.wait(seconds=5)
    other.found().fill(1)
    assert other.ledger is not None
    assert workshop.ledger is not None
    mark = mark_path(workshop.state_home, workshop.ledger)
    mark.write_text(mark_path(other.state_home, other.ledger).read_text())
    with pytest.raises(CorruptLogError, match="was rewritten"):
        open_writer(
            workshop.folder,
            workshop.log_key,
            clock=workshop.clock,
            state_home=workshop.state_home,
        )


def test_a_lost_or_damaged_index_is_made_again(workshop: Workshop) -> None:
    workshop.fill(3)
    for content in (None, b"damaged" * 1000):
        for path in workshop.folder.path.glob("index.db*"):
            path.unlink()
        if content:
            workshop.folder.index.write_bytes(content)
        with workshop.writer() as writer:
            assert writer.size == 14
            unit = writer.state.units.named(
                '["workshop@v1","dispatch-pass","dispatch-0000001","24h"]'
            )
            assert unit is not None
            standing = unit.standing(writer.state.lost)
            assert standing is not None
            assert standing.status == "RESOLVED"


def test_the_ledger_s_clock_never_steps_back_in_the_log(workshop: Workshop) -> None:
    with workshop.writer() as writer:
        first = writer.append([next(workshop.history(1))])[0]
        workshop.wait(seconds=-60)
        second = writer.append([next(workshop.history(1, first=1))])[0]
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert second.received_at == first.received_at


def test_a_clock_set_back_by_more_than_the_charter_allows_stops_appends(
    workshop: Workshop,
) -> None:
    history = workshop.history(2)
    with workshop.writer() as writer:
        writer.append([next(history)])
        later = workshop.signed(workshop.opened(workshop.question(9)))
        workshop.wait(seconds=-61)
        (answer,) = writer.append([later])
    assert isinstance(answer, RefusedError)
    assert answer.code == "clock-jumped"
    assert "doctor --accept-clock" in answer.message


@pytest.mark.parametrize(("drift", "verdict"), [(60, "ok"), (61, "no"), (-61, "no")])
def test_a_wall_clock_is_held_against_the_steady_one(
    tmp_path: Path, drift: int, verdict: str
) -> None:
    wall, steady = [BEGAN], [1000.0]
    file = tmp_path / "clock"

    def watch(boot: str = "one") -> ClockWatch:
        return ClockWatch(lambda: wall[0], lambda: steady[0], boot=boot, file=file)

    watch().save()
    steady[0] += 3600
    wall[0] += timedelta(seconds=3600 + drift)
    # Another process of the same boot notices; after a reboot nothing is known.
    watch("two").now(None, 60)
    if verdict == "ok":
        assert watch().now(None, 60) == wall[0]
        return
    with pytest.raises(RefusedError, match="clock-jumped"):
        watch().now(None, 60)
    watch().accept(None)
    assert watch().now(None, 60) == wall[0]


def test_an_entry_of_the_future_stops_appends_until_an_operator_has_looked(
    tmp_path: Path,
) -> None:
    wall, last = [BEGAN], BEGAN + timedelta(days=2)

    def watch(boot: str = "one") -> ClockWatch:
        return ClockWatch(lambda: wall[0], lambda: 1.0, boot=boot, file=tmp_path / "c")

    with pytest.raises(RefusedError, match="clock-jumped"):
        watch().now(last, 60)
    watch().accept(last)
    for boot in ("one", "two"):
        # Entries keep the last one's time until the clock has caught up.
        assert watch(boot).now(last, 60) == last
        with pytest.raises(RefusedError, match="clock-jumped"):
            watch(boot).now(last + timedelta(microseconds=1), 60)


def test_a_log_key_that_the_charter_does_not_list_writes_nothing(
    workshop: Workshop,
) -> None:
    with pytest.raises(UsageError, match="log_keys"):
        open_writer(
            workshop.folder,
            key_of("example.org/elsewhere"),
            clock=workshop.clock,
            state_home=workshop.state_home,
        )
    with workshop.writer() as writer:
        assert writer.size == 2


def test_a_head_that_disagrees_with_the_entries_is_named(workshop: Workshop) -> None:
    store = open_store(workshop.folder.log, read_only=False)
    head = store.head()
    store.append([], Head(size=1, edge=head.edge, note=head.note))
    store.close()
    with pytest.raises(CorruptLogError, match="2 entries, and its head says 1"):
        open_writer(
            workshop.folder,
            workshop.log_key,
            clock=workshop.clock,
            state_home=workshop.state_home,
        )


def forge(folder: Folder, *statements: str) -> None:
    """Change log.db as somebody does who may write the file."""
    database = sqlite3.connect(folder.log)
    database.execute("PRAGMA ignore_check_constraints = 1")
    with database:
        for statement in statements:
            database.execute(statement)
    database.close()


@pytest.mark.parametrize("one", [0, 2])
def test_a_second_head_cuts_nothing_off_for_readers(
    workshop: Workshop, one: int
) -> None:
    workshop.fill(1)
    forge(
        workshop.folder,
        f"INSERT INTO head SELECT {one}, size - 1, x'', 'anything' FROM head",
    )
    with (
        pytest.raises(CorruptLogError, match="2 heads"),
        open_reader(workshop.folder) as reader,
    ):
        reader.events.size()
    report = verify_ledger(workshop.folder)
    assert report.exit_code == 1
    assert report.check("storage").ok is False


def test_an_entry_without_a_time_is_named(workshop: Workshop) -> None:
    forge(
        workshop.folder,
        "DROP TRIGGER entries_refuse_update",
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_master SET sql = replace(sql, 'received_at TEXT NOT NULL', "
        "'received_at TEXT') WHERE name = 'entries'",
    )
    forge(workshop.folder, "UPDATE entries SET received_at = NULL WHERE seq = 1")
    forge(
        workshop.folder,
        next(sql for sql in SCHEMA if "entries_refuse_update" in sql),
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_master SET sql = replace(sql, 'received_at TEXT', "
        "'received_at TEXT NOT NULL') WHERE name = 'entries'",
    )
    report = verify_ledger(workshop.folder)

    assert report.exit_code == 1
    assert "entry 1" in report.check("entries").detail
    with pytest.raises(CorruptLogError, match="entry 1"):
        entries(workshop.folder)


def test_a_shorter_index_of_another_log_is_not_believed(
    workshop: Workshop, tmp_path: Path
) -> None:
    other = Workshop(tmp_path / "other").found().fill(1)
    workshop.wait(seconds=5)
    workshop.fill(2, first=10)
    with other.writer():
        pass
    workshop.folder.index.write_bytes(other.folder.index.read_bytes())
    with workshop.writer() as writer:
        assert writer.state.units.named(unit_of(1)) is None
        assert writer.state.units.named(unit_of(10)) is not None


def unit_of(number: int) -> str:
    return f'["workshop@v1","dispatch-pass","dispatch-{number:07d}","24h"]'


@pytest.mark.parametrize(
    ("ledger", "word"), [("../../evil", "cannot be read"), ("f" * 64, "entry 0 is")]
)
def test_a_ledger_toml_that_names_another_ledger_is_refused(
    workshop: Workshop, ledger: str, word: str
) -> None:
    workshop.folder.settings_file.write_text(
        f'format = "ledger/1"\norigin = "example.org/workshop"\nledger = "{ledger}"\n'
    )
    with (
        pytest.raises((UsageError, CorruptLogError), match=word),
        workshop.writer(),
    ):
        pass


@pytest.mark.parametrize("broken", ["missing", "damaged"])
def test_a_ledger_toml_beside_a_log_is_written_again_and_no_ledger_made_anew(
    workshop: Workshop, broken: str
) -> None:
    if broken == "missing":
        workshop.folder.settings_file.unlink()
    else:
        workshop.folder.settings_file.write_text("format")
    with pytest.raises(UsageError) as caught:
        workshop.folder.settings()
    assert f"`ledger doctor --ledger {workshop.folder.path}` tells" in str(caught.value)
    assert "ledger init" not in str(caught.value)


def test_a_ledger_toml_that_never_ends_is_not_read(workshop: Workshop) -> None:
    workshop.folder.settings_file.unlink()
    os.mkfifo(workshop.folder.settings_file)
    with pytest.raises(UsageError, match="no regular file"):
        workshop.folder.settings()
    workshop.folder.settings_file.unlink()
    workshop.folder.settings_file.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="no regular file"):
        workshop.folder.settings()


def test_an_origin_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_settings('a"b\\c', "f" * 64)
    assert folder.settings().origin == 'a"b\\c'


def test_founding_where_a_ledger_is_leaves_it_alone(workshop: Workshop) -> None:
    size = len(entries(workshop.folder))
    with pytest.raises(UsageError, match="holds a ledger already"):
        workshop.found()
    assert len(entries(workshop.folder)) == size


def test_a_blob_that_is_no_file_is_absent(workshop: Workshop) -> None:
    digest = workshop.folder.blobs.keep(b"a pinned file")
    assert workshop.folder.blobs.get(digest) == b"a pinned file"
    blob = workshop.folder.path / "blobs" / digest
    blob.unlink()
    os.mkfifo(blob)
    assert workshop.folder.blobs.get(digest) is None
    blob.unlink()
    blob.symlink_to("/dev/zero")
    assert workshop.folder.blobs.get(digest) is None


def test_the_write_ahead_log_is_emptied_while_one_writer_goes_on(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    wal = workshop.folder.log.with_name("log.db-wal")
    monkeypatch.setattr("ledger.store._WAL_PAGES_MAX", 20)
    # An existing ledger, opened again: what makes one sets other things first.
    with workshop.writer() as writer:
        for submission in workshop.history(40):
            writer.stage(submission)
            writer.commit()
        pages = wal.stat().st_size // 4_096
    assert 20 < pages < 60
