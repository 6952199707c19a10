"""A disk that fills up, and one that turns read-only: what is said, and what is kept."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.anchor import mark_path
from ledger.clock import system_clock
from ledger.clock_watch import ClockWatch
from ledger.daemon.protocol import BUSY, STOPPED
from ledger.errors import WriterStoppedError
from tests.served import SECONDS, Served, Talk, wire
from tests.small_disk import NEEDS_ROOT, fill, remount
from tests.workshop import Workshop

pytestmark = NEEDS_ROOT


@pytest.fixture
def ledger(disk: Path) -> Iterator[Served]:
    found = Served(disk)
    yield found
    if found.process is not None and found.process.poll() is None:
        found.kill()


def until_stopped(ledger: Served, talk: Talk) -> list[str]:
    """Append until the daemon says that it stopped; return the ids of all receipts."""
    told: list[str] = []
    for number in count():
        events = ledger.shop.sealable(number)
        answer = talk.call("append", events=wire(*events))
        if "error" in answer:
            assert answer["error"]["code"] == STOPPED
            assert answer["error"]["data"]["code"] == "stopped"
            assert ledger.process is not None
            assert ledger.process.wait(SECONDS) == 1
            return told
        told += [each["event_id"] for each in answer["result"]["receipts"]]
    raise AssertionError


def test_a_disk_that_fills_up_stops_the_daemon_and_room_lets_the_next_go_on(
    disk: Path, ledger: Served
) -> None:
    ledger.start()
    with ledger.talk() as talk:
        first = talk.append(*ledger.shop.sealable(9_999))["receipts"]
        ballast = fill(disk)
        told = until_stopped(ledger, talk)
    [reason] = [note["reason"] for note in ledger.noted("writer-stopped")]
    assert f"free space on the disk of {ledger.folder.path}/" in reason
    assert reason.endswith(", then start")
    # A full disk is still read, and what is acknowledged is all there.
    kept = [each["event_id"] for each in ledger.log()]
    assert kept[2 : 4 + len(told)] == [each["event_id"] for each in first] + told
    assert ledger.verify()["ok"]
    ballast.unlink()
    ledger.start()
    with ledger.talk() as talk:
        seqs = [
            each["seq"] for each in talk.append(*ledger.shop.sealable(0))["receipts"]
        ]
    assert seqs[0] >= 4
    assert ledger.stop() == 0
    assert ledger.verify()["entries"] == len(ledger.log())


def test_a_full_disk_of_the_mark_alone_is_named_and_room_is_asked_for(
    disk: Path, tmp_path: Path
) -> None:
    shop = Workshop(tmp_path).found()
    shop.state_home = disk
    with shop.writer() as writer:
        fill(disk)
        with pytest.raises(WriterStoppedError) as stopped:
            writer.append(list(shop.history(1)))
    place = mark_path(disk, str(shop.ledger))
    remedy = f"free space on the disk of {place}, then"
    assert str(stopped.value).endswith(f"{remedy} try again")
    assert stopped.value.of_daemon.endswith(f"{remedy} start")


def test_a_full_disk_of_the_clock_s_file_is_named(disk: Path) -> None:
    file = disk / "clock"
    watch = ClockWatch(system_clock, lambda: 0.0, boot="b", file=file)
    fill(disk)
    with pytest.raises(OSError, match="No space left on device") as refused:
        watch.save()
    assert refused.value.filename == str(file)


@pytest.mark.usefixtures("disk")
def test_agents_cannot_fill_a_disk_and_the_evaluator_goes_on(ledger: Served) -> None:
    ledger.open_questions()
    ledger.start()
    told = []
    with ledger.talk("agent") as agent, ledger.talk() as evaluator:
        for number in count():
            proposed = agent.ask(
                "question", id=f"dispatch-{number}", text_hash="ab" * 32
            )
            large = msgspec.structs.replace(
                ledger.shop.sealed(proposed["question_hash"], 50),
                extensions={"x": {"y": "z" * 40_000}},
            )
            asked = {
                "suite": proposed["suite"], "question": proposed["question"],
                "events": wire(ledger.shop.signed(large)),
            }  # fmt: skip
            answer = agent.call("open_seal", **asked)
            if "error" in answer:
                break
            told += answer["result"]["receipts"]
        assert answer["error"]["code"] == BUSY
        assert answer["error"]["data"]["code"] == "disk-low"
        opened = ledger.shop.sealable(0)[0]
        assert evaluator.append(opened)["receipts"][0]["seq"] == 2 + 2 * len(told)
        assert evaluator.ask("status")["disk_low"]
    require_a_next(ledger, told)


@pytest.mark.usefixtures("disk")
def test_nor_can_they_with_lines_so_small_that_each_takes_pages_of_its_own(
    ledger: Served,
) -> None:
    ledger.start()
    units = [ledger.shop.sealable(number) for number in range(400)]
    seals = [wire(seal) for _, seal in units]
    told = []
    with ledger.talk("agent") as agent, ledger.talk() as evaluator:
        evaluator.append(*[opening for opening, _ in units[1:]])
        for seal in seals[1:]:
            answer = agent.call("append", events=seal)
            if "error" in answer:
                break
            told += answer["result"]["receipts"]
        assert answer["error"]["data"]["code"] == "disk-low"
        found = os.statvfs(ledger.folder.path)
        assert found.f_bavail >= found.f_blocks // 8
        assert evaluator.append(units[0][0])["receipts"][0]["seq"] > len(told)
    require_a_next(ledger, told)


def require_a_next(ledger: Served, told: list[dict[str, Any]]) -> None:
    """Stop the daemon: what was kept is enough for a start, and for what was answered."""
    assert ledger.stop() == 0
    ledger.start()
    kept = {each["event_id"] for each in ledger.log()}
    assert {each["event_id"] for each in told} <= kept
    assert ledger.verify()["ok"]


def test_on_a_disk_that_turned_read_only_nothing_is_served_and_all_is_read(
    disk: Path, ledger: Served
) -> None:
    """The daemon was killed first: no disk turns read-only under an open file."""
    events = ledger.start().shop.sealable(0)
    with ledger.talk() as talk:
        first = talk.append(*events)["receipts"]
    ledger.kill()
    remount(disk, "ro")
    assert ledger.verify()["entries"] == 4
    refused = ledger.command("daemon", "run")
    assert refused.returncode in {1, 2, 3}
    [line] = refused.stderr.splitlines()
    assert "ead-only" in line
    remount(disk, "rw")
    ledger.start()
    with ledger.talk() as talk:
        assert talk.append(*events)["receipts"] == first
    assert ledger.verify()["entries"] == 4
