"""Agents do not fill the ledger's disk: what is kept, and for whom."""

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ledger.clock import system_clock
from ledger.daemon.journal import Journal
from ledger.daemon.protocol import BUSY, FaultError
from ledger.daemon.space import Space
from ledger.folder import Folder

MIB = 1024 * 1024
# Of each line beside four times its bytes: pages of its own, twice.
LINE = 64 * 1024


class Disk:
    """A disk of a stated size, as `statvfs` tells of it; its blocks have a KiB."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        total: int,
        free: int,
        folder: Path | None = None,
        *,
        unmoved: int = 0,
    ) -> None:
        self.total, self.free, self.looks = total, free, 0
        self.waiting, self.unmoved = (0, 0), unmoved
        monkeypatch.setattr(os, "statvfs", self._found)
        self._stream = io.StringIO()
        self.space = Space(
            Folder(folder or Path("/nowhere")),
            Journal(self._stream, system_clock),
            lambda: self.waiting,
            lambda: self.unmoved,
        )

    def has_just_room_for_tables(self) -> None:
        """Require it of a disk that with a KiB less it has none."""
        self.space.require_for_tables()
        self.free -= 1024
        self.space.look()
        with pytest.raises(FaultError) as refused:
            self.space.require_for_tables()
        assert refused.value.data["code"] == "disk-low"

    def _found(self, _: Any) -> Any:
        self.looks += 1
        return SimpleNamespace(
            f_frsize=1024, f_blocks=self.total // 1024, f_bavail=self.free // 1024
        )

    def refuses(self, size: int) -> bool:
        try:
            self.space.require(size)
        except FaultError as fault:
            self.fault = fault
            return True
        return False

    def said(self) -> list[str]:
        lines = self._stream.getvalue().splitlines()
        return [json.loads(each)["event"] for each in lines]


@pytest.mark.parametrize(
    ("total", "kept"),
    [(100_000 * MIB, 64 * MIB), (512 * MIB, 64 * MIB), (16 * MIB, 2 * MIB)],
)
def test_what_is_kept_of_a_disk_is_an_eighth_at_most(
    monkeypatch: pytest.MonkeyPatch, total: int, kept: int
) -> None:
    disk = Disk(monkeypatch, total, kept + LINE + 4 * 1024)
    assert not disk.refuses(1024)
    assert disk.refuses(1025)
    assert (disk.fault.code, disk.fault.data["code"]) == (BUSY, "disk-low")
    assert disk.fault.data["retry_after_ms"] == 1_000
    assert "have its operator free space" in disk.fault.message
    disk.free = kept + LINE
    disk.space.look()
    assert not disk.refuses(0)
    disk.free -= 1024
    disk.space.look()
    assert disk.refuses(0)


def test_what_the_log_will_grow_by_is_kept_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(monkeypatch, 16 * MIB, 3 * MIB + LINE + 4 * 1024, unmoved=MIB)
    assert not disk.refuses(1024)
    assert disk.refuses(1025)
    # Once it was moved, the room is there again, however long the file stays.
    disk.unmoved = 0
    disk.space.look()
    assert not disk.refuses(1025)


def test_what_was_let_in_is_counted_until_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(monkeypatch, 16 * MIB, 3 * MIB + 2 * LINE)
    assert not disk.refuses(128 * 1024)
    assert not disk.refuses(128 * 1024)
    assert disk.looks == 1
    # Nothing is left of the count: the disk is asked, and has as much as before.
    assert not disk.refuses(1)
    assert disk.looks == 2
    # What waits for the writer is on no disk yet.
    disk.waiting = (1, 256 * 1024)
    disk.space.look()
    assert not disk.refuses(0)
    disk.waiting = (2, 256 * 1024)
    disk.space.look()
    assert disk.refuses(0)


def test_small_lines_are_counted_by_the_pages_that_each_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(monkeypatch, 16 * MIB, 3 * MIB)
    assert [disk.refuses(0) for _ in range(16)] == [False] * 16
    assert disk.looks == 1
    disk.free = 2 * MIB
    assert disk.refuses(0)


def test_the_journal_says_once_that_room_is_low_and_that_it_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(monkeypatch, 16 * MIB, 3 * MIB)
    assert disk.said() == []
    disk.free = MIB
    for _ in range(3):
        disk.space.look()
        assert disk.refuses(1)
        assert disk.space.is_low
    assert disk.said() == ["disk-low"]
    disk.free = 4 * MIB - 1024
    disk.space.look()
    assert not disk.refuses(1)
    assert disk.space.is_low
    disk.free = 4 * MIB
    disk.space.look()
    assert disk.said() == ["disk-low", "disk-freed"]


def test_tables_that_agents_ask_for_take_nothing_of_the_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.db").write_bytes(bytes(5 * MIB))
    disk = Disk(monkeypatch, total=800 * MIB, free=64 * MIB + 5 * MIB, folder=tmp_path)
    disk.has_just_room_for_tables()
    # Those that are there already grow by less.
    (tmp_path / "projections.db").write_bytes(bytes(MIB))
    disk.space.look()
    disk.space.require_for_tables()


def test_tables_of_what_is_in_the_write_ahead_log_alone_take_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.db").write_bytes(bytes(4096))
    # As much is kept for the log, into which that is still to be moved.
    needed = 64 * MIB + 5 * MIB + 5 * MIB + 4096
    disk = Disk(
        monkeypatch, total=800 * MIB, free=needed, folder=tmp_path, unmoved=5 * MIB
    )
    disk.has_just_room_for_tables()
