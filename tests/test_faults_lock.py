"""One writer, whatever is forked, raced or taken away under it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.daemon.protocol import STOPPED
from ledger.log import open_reader
from tests.console import Console
from tests.served import SECONDS, Served, served, until, wire
from tests.workshop import Workshop

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def ledger() -> Iterator[Served]:
    with served() as found:
        yield found


@pytest.mark.parametrize("deed", ["append", "stage", "commit", "close"])
def test_a_child_that_was_forked_beside_an_open_log_harms_nothing(
    tmp_path: Path, deed: str
) -> None:
    shop = Workshop(tmp_path).found()
    done = subprocess.run(
        [sys.executable, "-m", "tests.forked", str(tmp_path), deed],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if deed != "close":
        assert "opened before a fork: open the ledger again" in done.stdout
    with open_reader(shop.folder) as reader:
        assert reader.events.size() == 2 + 16
    assert Console(tmp_path).here("verify", "--json").code == 0


def test_of_many_daemons_that_race_while_others_die_never_two_serve(
    ledger: Served,
) -> None:
    told = []
    for number in range(3):
        rivals = [ledger.begin() for _ in range(4)]
        until(lambda r=rivals: sum(each.poll() is None for each in r) == 1)
        until(ledger.answers)
        [served_by] = [each for each in rivals if each.poll() is None]
        with ledger.talk() as talk:
            assert talk.ask("ping")["pid"] == served_by.pid
            told += talk.append(*ledger.shop.sealable(number))["receipts"]
        assert {each.wait(SECONDS) for each in rivals if each is not served_by} == {2}
        ledger.process = served_by
        ledger.kill()
    assert [each["seq"] for each in told] == list(range(2, 8))
    assert ledger.verify()["entries"] == 8


def test_a_lock_that_is_taken_away_ends_the_daemon_before_two_could_write(
    ledger: Served,
) -> None:
    ledger.start()
    first, second = ledger.shop.sealable(0)
    with ledger.talk() as talk:
        assert talk.append(first)["receipts"][0]["seq"] == 2
        ledger.folder.lock.unlink()
        # It finds the lock free, and the socket answered.
        rival = ledger.command("daemon", "run")
        assert rival.returncode == 2
        assert "another daemon answers at" in rival.stderr
        assert talk.fault("append", events=wire(second)) == (STOPPED, "stopped")
    assert ledger.process is not None
    assert ledger.process.wait(SECONDS) == 1
    ledger.start()
    with ledger.talk() as talk:
        assert talk.append(first, second)["receipts"][1]["seq"] == 3
    assert ledger.verify()["entries"] == 4
