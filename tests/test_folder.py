"""The files of a ledger's folder: whose they are, and the one that keeps others out."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from ledger import codec
from ledger.durable import read_regular
from ledger.errors import UsageError, WriterStoppedError
from ledger.log import open_writer
from ledger.store_opening import open_store
from tests.console import Console
from tests.workshop import Workshop


@pytest.fixture
def lax_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of everything that lies in a folder, and its own."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *folder.rglob("*"))
    }


@pytest.mark.usefixtures("lax_umask")
def test_a_ledger_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    console = Console(tmp_path).found().frozen()
    for words in (("rows",), ("verify",), ("doctor",), ("lineage",)):
        console.here(*words)
    found = modes(console.ledger)
    assert {"log.db", "index.db", "projections.db", "clock", "lock"} <= found.keys()
    open_to_others = {name: oct(mode) for name, mode in found.items() if mode & 0o077}
    assert open_to_others == {}


@pytest.mark.usefixtures("lax_umask")
def test_no_file_is_open_to_others_while_it_is_written(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    with workshop.writer() as writer:
        writer.stage(workshop.signed(workshop.opened(workshop.question(1))))
        writer.commit()
        found = modes(workshop.folder.path)
        assert {"index.db-wal", "log.db-wal"} <= found.keys()
        assert not any(mode & 0o077 for mode in found.values())


@pytest.mark.parametrize("name", ["index.db", "projections.db", "clock"])
def test_a_file_that_was_open_to_others_is_closed_to_them(
    tmp_path: Path, name: str
) -> None:
    console = Console(tmp_path).found().frozen()
    console.here("rows")
    (console.ledger / name).chmod(0o644)
    console.frozen("another")
    console.here("rows")
    assert modes(console.ledger)[name] == 0o600


def removed(lock: Path) -> None:
    lock.unlink()


def replaced(lock: Path) -> None:
    # The old one is kept, so that its inode is not given to the new one.
    lock.rename(lock.with_name("lock.old"))
    lock.touch()


@pytest.mark.parametrize("lose", [removed, replaced])
def test_a_writer_whose_lock_is_gone_writes_nothing_more(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    workshop = Workshop(tmp_path).found()
    opened = workshop.signed(workshop.opened(workshop.question(1)))
    with workshop.writer() as writer:
        writer.stage(opened)
        lose(workshop.folder.lock)
        with pytest.raises(WriterStoppedError, match="lock file was removed or repl"):
            writer.commit()
        with pytest.raises(WriterStoppedError):
            writer.stage(opened)
    with workshop.writer() as writer:
        assert writer.size == 2
        writer.append([opened])
        assert writer.state.units is not None
    assert codec.decode(opened.payload).author == "dispatcher"


def test_a_second_writer_beside_a_lost_lock_is_the_only_one_that_writes(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found()
    first, second = (
        workshop.signed(workshop.opened(workshop.question(number)))
        for number in range(2)
    )
    with workshop.writer() as kept_out:
        with pytest.raises(UsageError, match="another process writes"):
            workshop.writer().__enter__()
        workshop.folder.lock.unlink()
        with workshop.writer() as writer:
            writer.append([first])
        kept_out.stage(second)
        with pytest.raises(WriterStoppedError):
            kept_out.commit()
    with workshop.writer() as writer:
        assert writer.size == 3


def test_who_cannot_read_the_clock_lets_the_lock_go(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    clock = workshop.folder.clock
    clock.unlink(missing_ok=True)
    clock.mkdir()
    opened = partial(
        open_writer,
        workshop.folder,
        workshop.log_key,
        clock=workshop.clock,
        state_home=workshop.state_home,
        steady=lambda: 1.0,
    )
    held = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(2):
        with pytest.raises(UsageError, match=f"{clock} cannot be read .*move it away"):
            opened()
    assert len([*Path("/proc/self/fd").iterdir()]) == held
    clock.rmdir()
    opened().close()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_regular_file_is_named_and_let_go(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "suite.toml"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    held = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(OSError, match=f"no regular file.*{path}"):
        read_regular(path)
    assert len([*Path("/proc/self/fd").iterdir()]) == held


@pytest.mark.parametrize("lose", [removed, replaced])
@pytest.mark.parametrize("name", ["log.db", "log.db-wal"])
def test_a_writer_whose_log_is_another_file_says_of_nothing_that_it_is_written(
    tmp_path: Path, name: str, lose: Callable[[Path], None]
) -> None:
    workshop = Workshop(tmp_path).found()
    first, second = (
        workshop.signed(workshop.opened(workshop.question(number)))
        for number in range(2)
    )
    with workshop.writer() as writer:
        writer.append([first])
        lose(workshop.folder.path / name)
        writer.stage(second)
        with pytest.raises(
            WriterStoppedError, match=r"log\.db or log\.db-wal was remo"
        ):
            writer.commit()
    if name == "log.db-wal":
        # What was said to be written is saved from the file that lost its name.
        with workshop.writer() as writer:
            assert writer.size == 3
            assert writer.holds(first.payload)


def test_a_log_that_was_restored_under_a_writer_is_left_as_it_was_restored(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found()
    log = workshop.folder.log
    with workshop.writer() as writer:
        writer.append(list(workshop.history(10)))
    backup = log.read_bytes()
    with workshop.writer() as writer:
        writer.append(list(workshop.history(10, first=10)))
        # As programs restore: written aside, then renamed.
        log.with_name("new").write_bytes(backup)
        log.with_name("new").rename(log)
    assert log.read_bytes() == backup
    # What the other file left to do is its own affair.
    log.with_name("log.db-wal").unlink(missing_ok=True)
    with closing(open_store(log, read_only=True)) as store:
        assert store.count() == store.head().size == 42


def test_who_has_lost_the_lock_leaves_the_index_to_whoever_has_it(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found()
    history = list(workshop.history(4))
    with workshop.writer() as lost:
        lost.append(history[:6])
        workshop.folder.lock.unlink()
        with workshop.writer() as writer:
            writer.append(history[6:])
    with workshop.writer() as writer:
        assert writer.size == 2 + len(history)
        assert len(writer.append(list(workshop.history(1, first=9)))) == 4


def test_an_index_that_says_what_the_log_does_not_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workshop = Workshop(tmp_path).found()
    with workshop.writer() as writer:
        writer.append(list(workshop.history(2)))
    index = workshop.folder.index
    with closing(sqlite3.connect(index)) as then:
        [position] = then.execute("SELECT * FROM position")
    with workshop.writer() as writer:
        writer.append(list(workshop.history(2, first=2)))
    # Its units are those of now, and its position is that of before.
    with closing(sqlite3.connect(index)) as now:
        now.execute("REPLACE INTO position VALUES (?, ?, ?, ?, ?)", position)
        now.commit()
    with workshop.writer() as writer:
        assert len(writer.append(list(workshop.history(1, first=9)))) == 4
    assert "says what the log does not (supersedes-missing" in caplog.text


@pytest.mark.parametrize("name", ["lock", "log.db", "log.db-wal"])
def test_what_is_known_already_is_no_more_said_to_be_written(
    tmp_path: Path, name: str
) -> None:
    workshop = Workshop(tmp_path).found()
    opened = workshop.signed(workshop.opened(workshop.question(1)))
    with workshop.writer() as writer:
        writer.append([opened])
        (workshop.folder.path / name).unlink()
        writer.stage(opened)
        with pytest.raises(WriterStoppedError):
            writer.commit()


def test_a_writer_whose_folder_is_gone_lets_everything_go(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    folder = workshop.folder.path
    away = folder.with_name("away")
    held = len([*Path("/proc/self/fd").iterdir()])
    with workshop.writer() as writer:
        writer.append(list(workshop.history(1)))
        folder.rename(away)
        folder.write_text("something else")
    assert len([*Path("/proc/self/fd").iterdir()]) == held
    folder.unlink()
    away.rename(folder)
    with workshop.writer() as writer:
        assert writer.size == 6
