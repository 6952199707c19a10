"""The files of a ledger's folder: whose they are, and the one that keeps others out."""

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ledger import codec
from ledger.durable import read_regular
from ledger.errors import UsageError, WriterStoppedError
from ledger.log import open_writer
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
