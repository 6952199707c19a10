"""What a hook remembers of a run is written as a whole or not at all."""

import os
from pathlib import Path

import pytest

from ledger.daemon.hook_journal import Journal, observe

RUN = {"request": "a" * 100, "over": False}
_write = os.write


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.write", lambda handle, content: _write(handle, content[:7]))
    journal, place = Journal(str(tmp_path)), str(tmp_path / "runs" / "one")
    journal.write(place, dict(RUN))
    assert journal.read(place) == RUN
    observe(str(tmp_path / "observed"), dict(RUN), "one")
    [seen] = (tmp_path / "observed").iterdir()
    assert journal.read(str(seen)) == RUN


@pytest.mark.parametrize("kept", [None, {"request": "earlier"}])
def test_what_cannot_be_written_to_its_end_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: dict[str, object] | None
) -> None:
    journal, place = Journal(str(tmp_path)), str(tmp_path / "run")
    if kept is not None:
        journal.write(place, dict(kept))
    before = sorted(tmp_path.iterdir())

    def full(handle: int, content: bytes) -> int:
        if len(content) < 100:
            raise OSError("no space")
        return _write(handle, content[:40])

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="no space"):
        journal.write(place, dict(RUN))
    monkeypatch.undo()
    assert journal.read(place) == kept
    assert sorted(tmp_path.iterdir()) == before
