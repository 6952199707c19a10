"""A daemon that is killed at any point: what it acknowledged is there, once."""

from random import Random

import pytest

from tests.flood import kill_often
from tests.served import served

KILLS = 26


@pytest.mark.slow
def test_a_daemon_killed_under_eight_writers_loses_and_doubles_nothing() -> None:
    with served() as ledger:
        flood = kill_often(ledger, KILLS, Random(11))
        assert len(flood.told) > KILLS
        assert ledger.verify()["entries"] >= len(flood.told)
