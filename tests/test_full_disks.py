"""What a command says on a full disk, and that it leaves nothing half done there.

And what it reads on one that cannot be written.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.projections.payloads import Payload
from ledger.projections.stored import StoredPayloads
from tests.console import Console
from tests.small_disk import NEEDS_ROOT, fill, remount, small_disk

pytestmark = NEEDS_ROOT


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def on(disk: Path, console: Console) -> Console:
    """Give the console a ledger on a disk; what it remembers stays elsewhere."""
    console.ledger = disk / "ledger"
    return console


def remedy(path: Path) -> str:
    return f": free space on the disk of {path}, then try again\n"


def test_a_key_is_there_whole_or_not_at_all(disk: Path, console: Console) -> None:
    ballast = fill(disk)
    words = ("keys", "new", "piper", "--out", disk)
    shown = console.run(*words)
    file = disk / "piper.key"
    assert shown.code == 2
    assert shown.stderr == f"error: {file}: No space left on device{remedy(file)}"
    assert list(disk.iterdir()) == [ballast]
    ballast.unlink()
    console.must(*words)


def test_a_founding_without_room_for_its_first_key_leaves_nothing_behind(
    disk: Path, console: Console
) -> None:
    ballast = fill(disk)
    words = ("init", on(disk, console).ledger, "--origin", "example.org/full")
    shown = console.run(*words)
    assert shown.code == 2
    assert shown.stderr.endswith(remedy(console.ledger / "log.key"))
    assert list(disk.iterdir()) == [ballast]
    ballast.unlink()
    console.must(*words)


@pytest.mark.parametrize("kibibytes", [*range(4, 220, 8), 32, 64, 128, 160])
def test_a_founding_that_runs_out_of_room_says_so_and_leaves_nothing_behind(
    console: Console, kibibytes: int
) -> None:
    with small_disk(f"{kibibytes}k") as disk:
        ledger = on(disk, console).ledger
        shown = console.run("init", ledger, "--origin", "example.org/full")
        assert shown.code == 2
        [line] = shown.stderr.splitlines()
        assert f"free space on the disk of {ledger}/" in line
        assert line.endswith(", then try again")
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize("gone", ["index.db", "log.db-shm"])
def test_a_writer_without_room_to_begin_calls_nothing_damaged(
    disk: Path, console: Console, gone: str
) -> None:
    ledger = on(disk, console).found().ledger
    (ledger / gone).unlink(missing_ok=True)
    ballast = fill(disk)
    suite = console.must("suite", "new", "late", "--track", "self").stdout
    shown = console.here("suite", "freeze", "-", stdin=suite)
    assert shown.code == 2
    [line] = shown.stderr.splitlines()
    assert f"free space on the disk of {ledger}/" in line
    ballast.unlink()
    assert console.here("suite", "freeze", "-", stdin=suite).code == 0


def test_a_log_that_no_room_is_left_to_read_is_not_called_false(
    disk: Path, console: Console
) -> None:
    ledger = on(disk, console).found().ledger
    fill(disk)
    for ending in ("-shm", "-wal"):
        ledger.joinpath(f"log.db{ending}").unlink(missing_ok=True)
    fill(disk)
    for words in (["status"], ["verify"]):
        shown = console.here(*words)
        assert shown.code == 3
        assert "free space on the disk of" in shown.stdout + shown.stderr


def test_a_bundle_whose_checkpoint_cannot_be_kept_does_not_appear(
    disk: Path, tmp_path: Path, console: Console
) -> None:
    on(disk, console).found().frozen()
    # A reader leaves the files behind that the next one needs.
    console.here("status")
    fill(disk)
    shown = console.here("export", tmp_path / "bundle")
    assert shown.code == 1
    [line] = shown.stderr.splitlines()
    assert f"free space on the disk of {console.ledger / 'log.db'}" in line
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("form", ["bundle", "rows"])
def test_an_export_without_room_names_what_could_not_be_written(
    disk: Path, console: Console, form: str
) -> None:
    console.found().frozen()
    ballast = fill(disk)
    target = disk / "published"
    shown = console.here("export", target, "--format", form)
    assert shown.code == 2
    assert shown.stderr == f"error: {target}: No space left on device{remedy(target)}"
    assert list(disk.iterdir()) == [ballast]


READ = (["rows"], ["open"], ["lineage"], ["compare", "native", "R1"])


@pytest.mark.parametrize("caught_up", [None, "open", "rows"])
def test_tables_that_cannot_be_written_are_caught_up_in_memory(
    disk: Path,
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
    caught_up: str | None,
) -> None:
    """Also where they are at the log's head, and only their rows are from before."""
    on(disk, console).found().frozen()
    assert console.here("rows").code == 0
    console.frozen("other-self")
    if caught_up is not None:
        assert console.here(caught_up).code == 0
    began: list[int] = []
    read = StoredPayloads.payloads

    def noted(log: StoredPayloads, start: int, stop: int) -> Iterator[Payload]:
        began.append(start)
        return read(log, start, stop)

    monkeypatch.setattr(StoredPayloads, "payloads", noted)
    tables = console.ledger / "projections.db"
    stood = tables.read_bytes()
    remount(disk, "ro")
    shown = [console.here(*words, "--json") for words in READ]
    remount(disk, "rw")
    # What the tables have is not read again.
    assert set(began) == (set() if caught_up else {2})
    assert tables.read_bytes() == stood
    for words, told in zip(READ, shown, strict=True):
        assert told == console.here(*words, "--json")
    assert [each.code for each in shown[:3]] == [0, 0, 0]
    assert len(shown[0].object) > 1


def test_tables_of_any_size_of_page_are_read_where_none_can_be_written(
    disk: Path, console: Console
) -> None:
    on(disk, console).found().frozen()
    before = console.here("rows", "--json")
    tables = sqlite3.connect(console.ledger / "projections.db", isolation_level=None)
    with closing(tables):
        tables.execute("PRAGMA page_size = 4096")
        tables.execute("VACUUM")
    remount(disk, "ro")
    assert console.here("rows", "--json") == before
