"""When folders are looked at: once the system is listened to, and whenever it tells."""

import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.clock import system_clock
from ledger.daemon import rounds
from ledger.daemon.journal import Journal
from ledger.daemon.rounds import Rounds
from tests.served import SECONDS


@pytest.fixture(autouse=True)
def _rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no look come by the clock alone."""
    monkeypatch.setattr(rounds, "LOOK_SECONDS", 10 * SECONDS)


def looks(places: Callable[[], set[Path]], *steps: Callable[[], object]) -> list[bool]:
    """Return what the first looks say; each step is taken before the next of them."""

    async def take() -> list[bool]:
        journal = Journal(io.StringIO(), system_clock)
        coming = Rounds("it is", places, journal).come()
        told = [await anext(coming)]
        for step in steps:
            step()
            told.append(await asyncio.wait_for(anext(coming), SECONDS))
        await coming.aclose()
        return told

    return asyncio.run(take())


def nothing() -> None:
    pass


def test_a_change_before_anybody_listened_is_looked_at_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert looks(lambda: {tmp_path}, file.touch) == [False, True]


def test_each_change_makes_a_look_come(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    steps = (nothing, one.touch, two.touch, one.unlink)
    assert looks(lambda: {tmp_path}, *steps) == [False, True, True, True, True]


def test_another_folder_is_looked_at_once_it_is_watched(tmp_path: Path) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    first.mkdir()

    def places() -> set[Path]:
        return {each for each in (first, later) if each.exists()}

    def change() -> None:
        (later / "file").touch()

    assert looks(places, nothing, later.mkdir, change) == [False, True, True, True]
