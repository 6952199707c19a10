"""Many forecasts at once, some of them forged: each gets its own verdict."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from tests.served import Served, Talk, served, until, wire

EVENTS = 120
FORGED = (7, 50, 51, 119)


def children(process: int) -> list[int]:
    """Return the processes that a process started."""
    tasks = Path(f"/proc/{process}/task/{process}/children")
    return [int(pid) for pid in tasks.read_text().split()]


def is_signature_checker(process: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()


def sent(talk: Talk, ledger: Served, first: int) -> list[str]:
    """Send openings without waiting for answers; return what became of each."""
    openings = [ledger.shop.sealable(first + number)[0] for number in range(EVENTS)]
    for at in FORGED:
        other = openings[at - 1].signature
        openings[at] = msgspec.structs.replace(openings[at], signature=other)
    for some in range(0, EVENTS, 20):  # as many as one client may have under way
        lines = [
            talk.request("append", events=wire(each))
            for each in openings[some : some + 20]
        ]
        talk.send(b"".join(lines))
    answers = [talk.read() for _ in openings]
    found = {}
    for answer in answers:
        assert answer is not None
        [told] = answer["result"]["receipts"]
        found[answer["id"]] = told["error"]["code"] if "error" in told else "appended"
    return [found[number] for number in sorted(found)]


def expected() -> list[str]:
    return ["bad-signature" if at in FORGED else "appended" for at in range(EVENTS)]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_each_of_many_events_gets_its_own_verdict_also_after_the_checker_died() -> None:
    with served() as ledger:
        process = ledger.start().process
        assert process is not None
        # The checker is started by the first events that come together.
        with ledger.talk() as talk:
            assert sent(talk, ledger, 0) == expected()
        until(lambda: any(map(is_signature_checker, children(process.pid))))
        with ledger.talk() as talk:
            assert sent(talk, ledger, EVENTS) == expected()
        [checker] = filter(is_signature_checker, children(process.pid))
        os.kill(checker, signal.SIGKILL)
        with ledger.talk() as talk:
            assert sent(talk, ledger, 2 * EVENTS) == expected()
        assert ledger.stop() == 0
        assert ledger.verify()["entries"] == 2 + 3 * (EVENTS - len(FORGED))
