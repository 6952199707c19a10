"""What a command says on a full disk, and that it leaves nothing half done there."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console import Console
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root makes a small disk to fill"
)


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk("4m") as place:
        yield place


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
