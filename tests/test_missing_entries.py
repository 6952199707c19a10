"""A log that lacks an entry of which there are later ones: nobody reads over the gap."""

import re
from pathlib import Path

import pytest

from ledger.errors import CorruptLogError, LedgerError
from ledger.log import open_reader, open_writer
from ledger.projections.audit import Options, verify_ledger
from ledger.projections.stored import open_report
from ledger.replay import StoredEvents
from tests.console import Console
from tests.forger import Forger
from tests.workshop import Workshop

MISSING = r"entry {}: it is missing, and later ones are there: restore log\.db"
LAST = 11


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


@pytest.fixture(params=range(LAST))
def lacking(forger: Forger, request: pytest.FixtureRequest) -> int:
    """Take one entry out of the forger's copy, and return its position."""
    seq: int = request.param
    with forger.editing() as log:
        log.execute("DELETE FROM entries WHERE seq = ?", (seq,))
    return seq


@pytest.mark.parametrize("findings", [False, True])
def test_an_audit_reports_a_log_with_a_gap(
    forger: Forger, lacking: int, *, findings: bool
) -> None:
    report = verify_ledger(forger.folder, Options(findings=findings))

    assert report.exit_code == 1
    detail = report.check("entries").detail
    assert f"entry {lacking} should stand before it and is missing" in detail
    assert report.check("tree").ok is False
    assert report.findings == ()


def test_an_audit_reports_an_entry_that_stands_far_behind_the_others(
    forger: Forger,
) -> None:
    forger.change(LAST, "seq", 10**9)
    report = verify_ledger(forger.folder, Options(findings=True))

    assert report.exit_code == 1
    assert f"entry {LAST} should stand before it" in report.check("entries").detail


def test_tables_that_are_there_are_not_compared_with_a_log_with_a_gap(
    forger: Forger,
) -> None:
    with open_reader(forger.folder) as reader, open_report(forger.folder, reader.store):
        pass
    with forger.editing() as log:
        log.execute("DELETE FROM entries WHERE seq = ?", (LAST - 1,))
    check = verify_ledger(forger.folder).check("projections")

    assert check.ok is None
    assert f"entry {LAST - 1}: it is missing" in check.detail


def test_nothing_is_read_over_a_gap(forger: Forger, lacking: int) -> None:
    missing = MISSING.format(lacking)
    with open_reader(forger.folder) as reader:
        store = reader.store
        for read in (
            lambda: list(store.rows(0, LAST + 1)),
            lambda: list(store.rows(lacking, lacking + 1)),
            lambda: list(store.rows_at([lacking])),
            lambda: list(StoredEvents(store).read(0, LAST + 1)),
        ):
            with pytest.raises(CorruptLogError, match=missing):
                read()
        assert [row.seq for row in store.rows(0, lacking)] == list(range(lacking))
        behind = list(range(lacking + 1, LAST + 1))
        assert [row.seq for row in store.rows(lacking + 1, LAST + 5)] == behind
        assert list(store.rows(LAST + 1, LAST + 5)) == []
        with (
            pytest.raises(CorruptLogError, match=missing),
            open_report(forger.folder, store),
        ):
            pass


@pytest.mark.usefixtures("lacking")
def test_nobody_appends_to_a_log_with_a_gap_that_is_replayed(
    workshop: Workshop, forger: Forger, tmp_path: Path
) -> None:
    forger.folder.index.unlink()
    before = forger.folder.log.read_bytes()
    with (
        pytest.raises(LedgerError),
        open_writer(
            forger.folder,
            workshop.log_key,
            clock=workshop.clock,
            state_home=tmp_path / "state",
        ),
    ):
        pass
    assert forger.folder.log.read_bytes() == before


@pytest.mark.usefixtures("lacking")
def test_the_doctor_counts_the_entries(forger: Forger, tmp_path: Path) -> None:
    shown = Console(tmp_path).run("doctor", "--json", "--ledger", forger.folder.path)
    [log] = [each for each in shown.object["checks"] if each["name"] == "log"]

    assert (shown.code, log["status"]) == (1, "fail")
    assert re.search(r"has 11 entries, and the last has|entry 0", log["detail"])
    assert "restore" in log["remedy"]


def test_an_entry_that_a_draft_names_and_that_is_missing_is_named(
    workshop: Workshop, forger: Forger, tmp_path: Path
) -> None:
    with forger.editing() as log:
        log.execute("DELETE FROM entries WHERE seq = 5")
    with (
        open_writer(
            forger.folder,
            workshop.log_key,
            clock=workshop.clock,
            state_home=tmp_path / "state",
        ) as writer,
        pytest.raises(CorruptLogError, match=MISSING.format(5)),
    ):
        writer.event_at(5)


def test_an_entry_that_is_appended_while_it_is_asked_for_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Workshop(tmp_path).found().tell()
    with open_reader(shop.folder) as reader:
        store, count = reader.store, reader.store.count()

        def later(_: object) -> int:
            monkeypatch.undo()
            shop.fill(1, first=20)
            return store.count()

        monkeypatch.setattr(type(store), "count", later)
        assert list(store.rows(count, count + 1)) == []
        assert [row.seq for row in store.rows(count, count + 1)] == [count]
