"""Signed events that come as files: in the log once, whatever happens in between."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

import pytest

from ledger.daemon import inbox
from ledger.daemon.inbox import FILE_BYTES_MAX, Inbox, WaitsError
from ledger.daemon.protocol import LINE_BYTES_MAX
from ledger.errors import RefusedError
from ledger.writer import Submission
from tests.console import Console
from tests.served import HURRIED, PROGRAM, SECONDS, Served, served_as, until, wire

SEEDED = random.Random(5)


class House(Served):
    """A served ledger with an inbox."""

    program = HURRIED

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.inbox = self.folder.path / "inbox"
        self.inbox.mkdir(mode=0o700)


@pytest.fixture
def house() -> Iterator[House]:
    with served_as(House) as found:
        yield found


def lines(*submissions: Submission) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in wire(*submissions))


def drop(house: House, name: str, content: bytes) -> None:
    """Drop a file as one should: written elsewhere, renamed into place."""
    made = house.inbox / f".{name}"
    made.write_bytes(content)
    made.rename(house.inbox / name)


def contents(house: House, where: str) -> list[str]:
    """Return what lies in a folder, but for what somebody was killed at writing."""
    return sorted(path.name for path in (house.inbox / where).glob("[!.]*"))


def reason(house: House, name: str) -> dict[str, Any]:
    return json.loads((house.inbox / "refused" / f"{name}.reason.json").read_bytes())


def ingest(house: House, *more: str) -> list[Any]:
    return console(house).here("inbox", "--json", *more).objects


def console(house: House) -> Console:
    found = Console(house.home)
    found.ledger = house.folder.path
    return found


def ids(house: House) -> list[str]:
    shown = console(house).here("log", "--json")
    return [each["event_id"] for each in shown.objects]


# --- Without a daemon -----------------------------------------------------------------


def test_a_dropped_file_is_in_the_log_and_put_away(house: House) -> None:
    drop(house, "one.jsonl", lines(*house.shop.sealable(1)))
    [told] = ingest(house)
    assert told == {
        "name": "one.jsonl", "accepted": 2, "refused": 0, "told": [],
        "kept_as": "done/one.jsonl",
    }  # fmt: skip
    assert contents(house, "done") == ["one.jsonl"]
    assert len(ids(house)) == 4


def test_files_are_taken_in_the_order_of_their_names(house: House) -> None:
    opening, sealed = house.shop.sealable(1)
    drop(house, "2-seal.jsonl", lines(sealed))
    drop(house, "1-open.jsonl", lines(opening))
    assert [told["accepted"] for told in ingest(house)] == [1, 1]


def test_an_event_that_is_dropped_twice_is_in_the_log_once(house: House) -> None:
    content = lines(*house.shop.sealable(1))
    for name in ("one.jsonl", "again.jsonl", "one.jsonl"):
        drop(house, name, content)
        ingest(house)
    assert len(ids(house)) == 4
    assert contents(house, "done") == ["again.jsonl", "one-2.jsonl", "one.jsonl"]


def test_sound_lines_of_a_refused_file_stay_accepted(house: House) -> None:
    sound, unsealed = house.shop.sealable(1), house.shop.sealable(2)[1]
    drop(house, "mixed.jsonl", lines(unsealed) + b"\n{nonsense\n" + lines(*sound))
    assert console(house).here("inbox").code == 2
    told = reason(house, "mixed.jsonl")
    assert [(each["line"], each["code"]) for each in told["told"]] == [
        (1, "unknown-question"),
        (3, "envelope-unfit"),
    ]
    assert all(each["message"] for each in told["told"])
    assert (told["accepted"], told["refused"]) == (2, 2)
    assert contents(house, "refused") == ["mixed.jsonl", "mixed.jsonl.reason.json"]
    assert len(ids(house)) == 4


@pytest.mark.parametrize("blank", [0, 8, 9])
def test_a_file_has_so_many_lines_at_most_and_blank_ones_count(
    house: House, monkeypatch: pytest.MonkeyPatch, blank: int
) -> None:
    """Who drops a file of nothing but blank lines is not to keep others waiting."""
    monkeypatch.setattr(inbox, "FILE_LINES_MAX", 10)
    opening, sealed = lines(*house.shop.sealable(1)).splitlines(keepends=True)
    drop(house, "one.jsonl", opening + b"\n" * blank + sealed)
    [told] = ingest(house)
    if blank < 9:
        assert (told["accepted"], told["refused"]) == (2, 0)
        return
    assert (told["accepted"], told["refused"]) == (1, 1)
    [said] = reason(house, "one.jsonl")["told"]
    assert (said["line"], said["code"]) == (11, "file-unfit")
    assert "more than 10 lines" in said["message"]


def test_of_a_file_that_grows_while_it_is_read_what_stood_before_is_taken(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (
        b"".join(lines(each) for each in house.shop.sealable(number))
        for number in (1, 2, 3)
    )
    drop(house, "one.jsonl", first + second + third)
    opened = inbox._opened

    def opened_small(path: Path) -> IO[bytes]:
        file = opened(path)
        monkeypatch.setattr(inbox, "FILE_BYTES_MAX", len(first + second))
        return file

    monkeypatch.setattr(inbox, "_opened", opened_small)
    [told] = ingest(house)
    assert (told["accepted"], told["refused"]) == (4, 1)
    [said] = reason(house, "one.jsonl")["told"]
    assert (said["line"], said["code"]) == (5, "file-unfit")
    assert "grew beyond" in said["message"]


def test_one_event_may_be_laid_out_over_many_lines(house: House) -> None:
    opening, _ = house.shop.sealable(1)
    drop(house, "one.json", json.dumps(wire(opening)[0], indent=4).encode())
    assert ingest(house)[0]["accepted"] == 1


def test_a_json_file_may_have_an_event_a_line_too(house: House) -> None:
    drop(house, "two.json", lines(*house.shop.sealable(1)))
    assert ingest(house)[0]["accepted"] == 2


def test_a_large_file_is_taken_in_several_commits(house: House) -> None:
    events = [each for number in range(300) for each in house.shop.sealable(number)]
    drop(house, "many.jsonl", lines(*events))
    assert ingest(house)[0]["accepted"] == 600
    assert len(ids(house)) == 602


@pytest.mark.parametrize("name", [".hidden.jsonl", "half.jsonl.tmp", "x.tmp"])
def test_what_somebody_still_writes_is_left_alone(house: House, name: str) -> None:
    (house.inbox / name).write_bytes(lines(*house.shop.sealable(1)))
    assert ingest(house) == []
    assert (house.inbox / name).exists()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)


STRANGE = {
    "a pipe": make_pipe,
    "a socket": make_socket,
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "too large a file": make_huge,
}


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_what_is_no_file_of_events_is_refused_without_waiting(
    house: House, make: Any
) -> None:
    make(house.inbox / "strange.jsonl")
    drop(house, "sound.jsonl", lines(*house.shop.sealable(1)))
    sound, strange = ingest(house)
    assert sound["accepted"] == 2
    [told] = strange["told"]
    assert (told["line"], told["code"]) == (None, "file-unfit")
    assert contents(house, "refused") == ["strange.jsonl", "strange.jsonl.reason.json"]


def test_a_file_of_another_kind_is_refused_by_its_name(house: House) -> None:
    drop(house, "events.csv", b"")
    [told] = ingest(house)
    assert (
        "events.csv is named neither *.jsonl nor *.json" in told["told"][0]["message"]
    )


@pytest.mark.parametrize(
    ("size", "code"),
    [(LINE_BYTES_MAX, "envelope-unfit"), (LINE_BYTES_MAX + 1, "too-large")],
)
def test_a_line_is_read_up_to_its_limit(house: House, size: int, code: str) -> None:
    drop(house, "long.jsonl", b"x" * size + b"\n" + b"y" * 3 * size + b"\n{}")
    told = ingest(house)[0]["told"]
    assert [each["line"] for each in told] == [1, 2, 3]
    assert [each["code"] for each in told] == [code, "too-large", "envelope-unfit"]


@pytest.mark.parametrize("name", ["x" * 249 + ".jsonl", "\udcff\n.jsonl"])
def test_any_name_that_a_file_can_have_is_put_away(house: House, name: str) -> None:
    (house.inbox / name).write_bytes(b"{}\n")
    assert ingest(house)[0]["refused"] == 1
    assert len(contents(house, "refused")) == 2
    assert contents(house, "taking") == []


def test_an_empty_file_has_nothing_to_refuse(house: House) -> None:
    drop(house, "empty.jsonl", b"\n \n")
    assert ingest(house)[0]["kept_as"] == "done/empty.jsonl"


def test_a_file_that_was_begun_is_taken_first(house: House) -> None:
    opening, sealed = house.shop.sealable(1)
    drop(house, "a-seal.jsonl", lines(sealed))
    (house.inbox / "taking").mkdir()
    (house.inbox / "taking" / "z-open.jsonl").write_bytes(lines(opening))
    assert [told["name"] for told in ingest(house)] == ["z-open.jsonl", "a-seal.jsonl"]
    assert len(ids(house)) == 4


def test_another_file_of_the_same_name_waits_for_the_first(house: House) -> None:
    first, second = house.shop.sealable(1), house.shop.sealable(2)
    (house.inbox / "taking").mkdir()
    (house.inbox / "taking" / "a.jsonl").write_bytes(lines(*first))
    drop(house, "a.jsonl", lines(*second))
    assert len(ingest(house)) == 2
    assert contents(house, "done") == ["a-2.jsonl", "a.jsonl"]
    assert len(ids(house)) == 6


@pytest.mark.parametrize("code", ["busy", "behind-mark", "clock-jumped"])
def test_a_file_waits_while_the_ledger_takes_nothing(house: House, code: str) -> None:
    inbox = Inbox(house.folder)
    inbox.make()
    drop(house, "a.jsonl", lines(*house.shop.sealable(1)))
    taking = inbox.take("a.jsonl")
    outcomes = [RefusedError(code, "the ledger is not well") for _ in next(taking)]
    with pytest.raises(WaitsError, match="not well"):
        taking.send(outcomes)
    assert inbox.waiting() == ["a.jsonl"]
    assert ingest(house)[0]["accepted"] == 2


def test_a_refusal_that_is_the_event_s_own_is_no_reason_to_wait(house: House) -> None:
    inbox = Inbox(house.folder)
    inbox.make()
    drop(house, "a.jsonl", lines(*house.shop.sealable(1)))
    taking = inbox.take("a.jsonl")
    outcomes = [RefusedError("late", "too late") for _ in next(taking)]
    with pytest.raises(StopIteration) as done:
        taking.send(outcomes)
    assert done.value.value.refused == 2
    assert inbox.waiting() == []


KILLED_AT = {
    "as it is begun": "rename:signal=KILL:when=1",
    "before its events are durable": "fdatasync:signal=KILL:when=1",
    # The second is that of the high-water mark.
    "before its reason is beside it": "rename:signal=KILL:when=3",
    "as it is put away": "rename:signal=KILL:when=4",
}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("moment", KILLED_AT.values(), ids=KILLED_AT)
def test_who_is_killed_loses_nothing_and_doubles_nothing(
    house: House, moment: str
) -> None:
    unsealed = house.shop.sealable(2)[1]
    drop(house, "a.jsonl", lines(*house.shop.sealable(1), unsealed))
    kill = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={moment}")
    words = (*kill, *PROGRAM, "inbox", "--ledger", str(house.folder.path))
    done = subprocess.run(words, env=house.environment, check=False, timeout=SECONDS)
    assert done.returncode == -signal.SIGKILL
    [told] = ingest(house)
    assert (told["accepted"], told["refused"]) == (2, 1)
    found = ids(house)
    assert len(found) == len(set(found)) == 4
    assert contents(house, "refused") == ["a.jsonl", "a.jsonl.reason.json"]
    assert contents(house, "taking") == []


# --- With a daemon --------------------------------------------------------------------


def test_a_daemon_takes_what_was_dropped_before_and_after_it_started(
    house: House,
) -> None:
    drop(house, "before.jsonl", lines(*house.shop.sealable(1)))
    house.start()
    until(lambda: contents(house, "done") == ["before.jsonl"])
    drop(house, "later.jsonl", lines(*house.shop.sealable(2)))
    until(lambda: contents(house, "done") == ["before.jsonl", "later.jsonl"])
    told = {"files": 2, "accepted": 4, "refused": 0, "waiting": 0, "trouble": None}
    with house.talk() as talk:
        until(lambda: talk.ask("status")["inbox"] == told)
    assert len(ids(house)) == 6
    assert house.stop() == 0


@pytest.mark.parametrize("error", ["CorruptLogError", "ValueError"])
def test_a_file_that_a_daemon_cannot_judge_waits_and_holds_up_no_other(
    house: House, error: str
) -> None:
    stumbles = (
        "from ledger.writer import Writer; from ledger.errors import CorruptLogError; "
        "stage = Writer.stage\n"
        "def stumble(self, event):\n"
        f"    if b'dispatch-0000001' in event.payload: raise {error}('unfit blob')\n"
        "    return stage(self, event)\n"
        "Writer.stage = stumble\n"
    )
    house.program = (*HURRIED[:2], stumbles + HURRIED[2])
    drop(house, "a.jsonl", lines(*house.shop.sealable(1)))
    drop(house, "b.jsonl", lines(*house.shop.sealable(2)))
    house.start()
    until(lambda: contents(house, "done") == ["b.jsonl"])
    with house.talk() as talk:
        until(lambda: "a.jsonl" in str(talk.ask("status")["inbox"]["trouble"]))
    assert house.stop() == 0
    house.program = HURRIED
    house.start()
    until(lambda: contents(house, "done") == ["a.jsonl", "b.jsonl"])
    with house.talk() as talk:
        until(lambda: talk.ask("status")["inbox"]["trouble"] is None)


def start_slowed(house: House, owner: str, name: str) -> None:
    """Start a daemon that takes a second for a step, and wait until it is in it."""
    slows = (
        "import os, time; from ledger.daemon import inbox\n"
        f"step = {owner}.{name}\n"
        "def slow(*words):\n"
        f"    os.mkdir({str(house.inbox / 'observed' / 'begun')!r})\n"
        "    time.sleep(1)\n"
        "    return step(*words)\n"
        f"{owner}.{name} = slow\n"
    )
    house.program = (*HURRIED[:2], slows + HURRIED[2])
    drop(house, "slow.jsonl", lines(*house.shop.sealable(1)))
    house.start()
    until(lambda: contents(house, "observed") == ["begun"])


def test_a_stop_while_a_file_is_read_is_no_fault_and_the_next_takes_it(
    house: House,
) -> None:
    start_slowed(house, "inbox", "_opened")
    assert house.stop() == 0
    assert not house.noted("fault")
    assert contents(house, "taking") == ["slow.jsonl"]
    house.program = HURRIED
    house.start()
    until(lambda: contents(house, "done") == ["slow.jsonl"])


def test_a_daemon_that_puts_a_file_away_keeps_the_lock_until_it_has(
    house: House,
) -> None:
    start_slowed(house, "inbox.Inbox", "_put_away")
    assert house.process is not None
    house.process.send_signal(signal.SIGTERM)
    until(lambda: house.noted("stopped"))
    assert contents(house, "done") == ["slow.jsonl"]
    assert house.process.wait(SECONDS) == 0
    assert not house.noted("fault")


def test_a_daemon_refuses_a_pipe_and_goes_on(house: House) -> None:
    house.start()
    os.mkfifo(house.inbox / "pipe.jsonl")
    until(lambda: len(contents(house, "refused")) == 2)
    drop(house, "later.jsonl", lines(*house.shop.sealable(2)))
    until(lambda: contents(house, "done") == ["later.jsonl"])
    until(lambda: [each["refused"] for each in house.noted("inbox-file")] == [1, 0])


def test_beside_a_daemon_the_command_says_who_takes_the_files(house: House) -> None:
    house.start()
    done = console(house).here("inbox")
    assert done.code == 0
    assert "takes what is dropped" in done.stderr


def test_a_killed_daemon_leaves_every_event_once(house: House) -> None:
    numbers = count(1)
    expected = len(ids(house))
    for _ in range(5):
        for _ in range(3):
            events = [e for _ in range(20) for e in house.shop.sealable(next(numbers))]
            drop(house, f"{next(numbers)}.jsonl", lines(*events))
            expected += len(events)
        enough = len(contents(house, "done")) + SEEDED.randrange(3)
        house.start()
        until(lambda enough=enough: len(contents(house, "done")) >= enough)
        house.kill()
    house.start()
    until(lambda: len(contents(house, "done")) == 15)
    house.stop()
    found = ids(house)
    assert len(found) == len(set(found)) == expected
    assert contents(house, "taking") == []
    house.verify()


@pytest.mark.parametrize("name", [b".n\xff", b"n\xff.jsonl"], ids=["hidden", "dropped"])
def test_a_name_that_is_no_text_ends_no_taking(house: House, name: bytes) -> None:
    house.start()
    (house.inbox / os.fsdecode(name)).touch()
    until(lambda: house.noted("watch-failed"))
    drop(house, "later.jsonl", lines(*house.shop.sealable(1)))
    until(lambda: "later.jsonl" in contents(house, "done"))
    until(lambda: house.noted("watch-restored"))
    drop(house, "latest.jsonl", lines(*house.shop.sealable(2)))
    until(lambda: "latest.jsonl" in contents(house, "done"))
    with house.talk() as talk:
        until(lambda: talk.ask("status")["inbox"]["trouble"] is None)
    assert house.stop() == 0
    assert not house.noted("fault")
