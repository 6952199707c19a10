"""A clock that steps while a daemon runs: nothing is stamped with a time that is wrong."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ledger.clock import parse_instant, system_clock
from ledger.writer import Submission
from tests.served import Served, served, until

DAY = 86_400
ROOT = Path(__file__).resolve().parents[1]


class Skewed(Served):
    """A daemon whose clock is off by as many seconds as a test says."""

    def set_off(self, seconds: int) -> None:
        partial = self.home / ".off"
        partial.write_text(str(seconds))
        partial.rename(self.home / "off")

    def start_skewed(self) -> None:
        words = (self.folder.path, self.shop.state_home, self.home / "off")
        with self.journal.open("ab") as journal:
            self.process = process = subprocess.Popen(
                [sys.executable, "-m", "tests.skewed", *map(str, words)],
                cwd=ROOT, stdin=subprocess.DEVNULL, stderr=journal,
            )  # fmt: skip
        until(lambda: process.poll() is not None or self.answers())
        assert process.poll() is None, self.journal.read_text()


@pytest.fixture
def ledger() -> Iterator[Skewed]:
    with served() as found:
        found.__class__ = Skewed
        assert isinstance(found, Skewed)
        found.set_off(0)
        yield found


def codes(ledger: Skewed, *events: Submission) -> list[str]:
    """Return for each event the code by which it was refused, or that it is told."""
    with ledger.talk() as talk:
        receipts = talk.append(*events)["receipts"]
    return ["told" if "seq" in each else each["error"]["code"] for each in receipts]


@pytest.mark.parametrize("days", [-3, 2])
def test_a_clock_that_steps_by_days_stops_what_is_new_until_it_is_right_again(
    ledger: Skewed, days: int
) -> None:
    ledger.start_skewed()
    known, later = ledger.shop.sealable(0)
    assert codes(ledger, known) == ["told"]
    ledger.set_off(days * DAY)
    # What is in the log already keeps its receipt, whatever the clock says.
    assert codes(ledger, later, known) == ["clock-jumped", "told"]
    ledger.set_off(0)
    assert codes(ledger, later) == ["told"]
    stamps = [parse_instant(each["received_at"]) for each in ledger.log()]
    assert stamps == sorted(stamps)
    assert max(stamps) < system_clock() + timedelta(hours=1)
    assert ledger.verify()["entries"] == 4


@pytest.mark.parametrize("days", [-3, 2])
@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_a_clock_that_stepped_while_nobody_looked_is_noticed_by_the_next(
    ledger: Skewed, days: int, ending: str
) -> None:
    ledger.start_skewed()
    known, later = ledger.shop.sealable(0)
    assert codes(ledger, known) == ["told"]
    if ending == "stopped":
        assert ledger.stop() == 0
    else:
        ledger.kill()
    ledger.set_off(days * DAY)
    ledger.start_skewed()
    assert codes(ledger, later) == ["clock-jumped"]
    with ledger.talk() as talk:
        [refused] = talk.append(later)["receipts"]
    assert "doctor --accept-clock" in refused["error"]["message"]
    ledger.set_off(0)
    assert codes(ledger, later) == ["told"]
    assert ledger.verify()["entries"] == 4
