"""A daemon's life from outside: it answers, it stops in good order, and it survives."""

import json
import os
import resource
import signal
import socket
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ledger.checkpoint import parse_checkpoint, parse_proof, split_note
from ledger.clock import monotonic_seconds
from ledger.daemon.files import make_room
from ledger.daemon.listening import places
from ledger.daemon.opening import read_issuers
from ledger.daemon.protocol import (
    BUSY,
    INVALID_REQUEST,
    LINE_BYTES_MAX,
    STOPPED,
)
from ledger.daemon.settings import Limits, read_settings
from ledger.daemon.watch import PinWatch
from ledger.entry import entry_bytes, leaf_hash
from ledger.errors import UsageError
from ledger.merkle import root_from_inclusion
from tests.served import PROGRAM, SECONDS, SIDES, Served, Talk, served, until, wire


@pytest.fixture
def ledger() -> Iterator[Served]:
    with served() as found:
        yield found


@pytest.fixture
def daemon(ledger: Served) -> Served:
    return ledger.start()


# --- What it answers -------------------------------------------------------------------


def test_a_receipt_says_where_an_event_stands_and_what_proves_it(
    daemon: Served,
) -> None:
    opened, sealed = daemon.shop.sealable(0)
    with daemon.talk() as talk:
        found = talk.append(opened, sealed)
        assert [each["seq"] for each in found["receipts"]] == [2, 3]
        head = talk.ask("head")
        stated = parse_checkpoint(split_note(found["checkpoint"])[0])
        assert (head["origin"], head["size"]) == ("example.org/workshop", 4)
        assert head["size"] == stated.size
        assert talk.ask("checkpoint")["checkpoint"] == found["checkpoint"]
        entry = talk.ask("entry", seq=3)
        assert b64decode(entry["payload"]) == sealed.payload
        content = entry_bytes(
            entry["received_at"], sealed.author_key, sealed.signature, sealed.payload
        )
        leaf = leaf_hash(content)
        assert (
            b64decode(found["receipts"][1]["leaf"]) == b64decode(entry["leaf"]) == leaf
        )
        proof = parse_proof(talk.ask("proof", seq=3)["proof"])
        assert root_from_inclusion(leaf, 3, 4, proof.hashes) == stated.root
    assert daemon.verify()["entries"] == 4


def test_a_proof_under_an_older_checkpoint_is_given_where_that_is_stored(
    daemon: Served,
) -> None:
    with daemon.talk() as talk:
        talk.append(*daemon.shop.sealable(0))
        assert parse_proof(talk.ask("proof", seq=0, size=1)["proof"]).hashes == ()
        assert talk.fault("proof", seq=1, size=1)[1] == "no-entry"
        assert talk.fault("proof", seq=0, size=3)[1] == "no-checkpoint"
        assert talk.fault("entry", seq=99)[1] == "no-entry"


def test_a_unit_is_told_with_the_ends_of_its_chains(daemon: Served) -> None:
    name = {"suite": "workshop@v1", "template": "dispatch-pass", "horizon": "24h"}
    opened, sealed = daemon.shop.sealable(0)
    with daemon.talk("agent") as agent, daemon.talk() as evaluator:
        assert agent.ask("unit", id="dispatch-0000000", **name) is None
        evaluator.append(opened)
        found = agent.ask("unit", id="dispatch-0000000", **name)
        assert found["status"] == "PENDING"
        assert found["answers"] == ["pass", "fail"]
        assert found["chains"] == {}
        receipt = agent.append(sealed)["receipts"][0]
        found = agent.ask("unit", id="dispatch-0000000", **name)
        assert found["chains"] == {"native": receipt["event_id"]}
        assert found["suite_hash"] == daemon.shop.suite_hash


def test_rows_are_those_of_the_command(daemon: Served) -> None:
    with daemon.talk() as talk:
        talk.append(*daemon.shop.sealable(0))
        found = talk.ask("rows", suite="workshop@v1")
    shown = daemon.command("rows", "--json", "--suite", "workshop@v1")
    assert found == json.loads(shown.stdout)
    assert found[0]["counts"]["units"] >= 0


def test_status_counts_what_was_done_and_prometheus_reads_it(daemon: Served) -> None:
    with daemon.talk() as talk:
        talk.append(*daemon.shop.sealable(0))
        talk.ask("append", events=[{}])
        found = talk.ask("status")
    assert found["entries"] == 4
    assert found["counts"] == {
        "appended": 2, "refused": 1, "commits": 1, "faults": 0, "busy": 0,
    }  # fmt: skip
    assert found["suites"] == [{"suite": "workshop@v1", "in_force": True}]
    shown = daemon.command("daemon", "status", "--prometheus")
    assert shown.returncode == 0
    assert "sealed_ledger_entries 4\n" in shown.stdout
    assert 'sealed_ledger_connections{side="evaluator"}' in shown.stdout
    assert "# TYPE sealed_ledger_appended_total counter\n" in shown.stdout


def test_a_repeated_event_gets_its_first_receipt_whoever_brings_it(
    daemon: Served,
) -> None:
    opened, _ = daemon.shop.sealable(0)
    with daemon.talk() as one, daemon.talk() as other:
        first = one.append(opened)["receipts"]
        assert other.append(opened)["receipts"] == first
    assert len(daemon.log()) == 3


def test_requests_that_are_sent_at_once_are_all_answered(daemon: Served) -> None:
    """More of them than a connection may have under way, on one that then ends."""
    count = 300
    events = [daemon.shop.sealable(number)[0] for number in range(count)]
    with daemon.talk() as talk:
        lines = [talk.request("append", events=wire(each)) for each in events]
        sender = threading.Thread(target=talk.send, args=(b"".join(lines),))
        sender.start()
        answers = [talk.read() for _ in range(count)]
        sender.join()
    found = {
        each["id"]: each["result"]["receipts"][0]["seq"] for each in answers if each
    }
    assert sorted(found.values()) == list(range(2, 2 + count))
    assert [found[number] for number in sorted(found)] == list(range(2, 2 + count))


def test_a_client_that_ends_its_side_still_hears_its_answers(daemon: Served) -> None:
    with daemon.talk() as talk:
        lines = [
            talk.request("append", events=wire(daemon.shop.sealable(number)[0]))
            for number in range(100)
        ]
        talk.send(b"".join(lines))
        talk.socket.shutdown(socket.SHUT_WR)
        answers = [talk.read() for _ in range(101)]
    assert answers[-1] is None
    assert all(each and "result" in each for each in answers[:-1])


def test_eight_clients_at_once_lose_nothing(daemon: Served) -> None:
    told: list[tuple[str, int]] = []

    def work(client: int) -> None:
        with daemon.talk() as talk:
            for number in range(client * 100, client * 100 + 20):
                found = talk.append(*daemon.shop.sealable(number), atomic=True)
                told.extend(
                    (each["event_id"], each["seq"]) for each in found["receipts"]
                )

    clients = [threading.Thread(target=work, args=(each,)) for each in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    in_log = {each["event_id"]: each["seq"] for each in daemon.log()}
    assert len(told) == 320
    assert all(in_log[event_id] == seq for event_id, seq in told)
    with daemon.talk() as talk:
        assert talk.ask("status")["counts"]["commits"] < 160
    assert daemon.verify()["entries"] == 322


# --- Its life --------------------------------------------------------------------------


def test_a_second_daemon_is_refused_by_the_lock(daemon: Served) -> None:
    done = daemon.command("daemon", "run")
    assert done.returncode == 2
    assert "another process writes to" in done.stderr
    assert daemon.answers()


def test_of_two_daemons_that_are_started_at_once_one_serves(ledger: Served) -> None:
    for _ in range(3):
        rivals = [ledger.begin() for _ in range(3)]
        until(lambda r=rivals: sum(each.poll() is None for each in r) == 1)
        until(ledger.answers)
        [ledger.process] = [each for each in rivals if each.poll() is None]
        assert {each.returncode for each in rivals} == {2, None}
        ledger.kill()
    assert {note["code"] for note in ledger.noted("failed")} == {"usage"}


def test_a_journal_of_its_own_leaves_stderr_to_people(daemon: Served) -> None:
    path = daemon.home / "own.jsonl"
    done = daemon.command("daemon", "run", "--log", str(path))
    assert "error: another process writes to" in done.stderr
    assert json.loads(path.read_text())["event"] == "failed"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_no_journal_that_is_waited_for(ledger: Served) -> None:
    pipe = ledger.home / "pipe"
    os.mkfifo(pipe)
    done = ledger.command("daemon", "run", "--log", str(pipe))
    assert done.returncode == 2
    assert f"--log is {pipe}, a pipe" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_every_socket_removed(
    daemon: Served, number: int
) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(number)
    assert daemon.process.wait(SECONDS) == 0
    assert not any(daemon.socket(side).exists() for side in SIDES)
    assert [note["event"] for note in daemon.notes()][-2:] == ["stopping", "stopped"]


def test_what_was_asked_before_a_stop_is_answered_and_in_the_log(
    daemon: Served,
) -> None:
    talks = [daemon.talk() for _ in range(6)]
    for client, talk in enumerate(talks):
        for number in range(30):
            event = daemon.shop.sealable(client * 100 + number)[0]
            talk.send(talk.request("append", events=wire(event)))
    assert talks[0].read() is not None
    assert daemon.stop() == 0
    told = []
    for talk in talks:
        while (answer := talk.read()) is not None:
            told.append(answer["result"]["receipts"][0]["event_id"])
        talk.close()
    assert set(told) <= {each["event_id"] for each in daemon.log()}
    assert daemon.verify()["ok"]


def test_a_stop_waits_for_nobody_who_takes_no_answers(daemon: Served) -> None:
    with daemon.talk("agent") as slow:
        slow.socket.settimeout(1)
        with suppress(TimeoutError):
            while True:
                slow.send(slow.request("status") * 1_000)
        began = monotonic_seconds()
        assert daemon.stop() == 0
    # Half of what `slow_seconds` lets a client take its time for.
    assert monotonic_seconds() - began < Limits().slow_seconds / 2


def test_a_read_without_an_end_holds_up_a_stop_no_longer_than_it_may(
    ledger: Served,
) -> None:
    endless = "reading.rows = lambda *_: time.sleep(600); server._READS_SECONDS_MAX = 1"
    ledger.program = (
        *PROGRAM[:2],
        f"import time; from ledger.daemon import reading, server; {endless}; {PROGRAM[2]}",
    )
    ledger.start()
    with ledger.talk() as reader, ledger.talk("agent") as other, ledger.talk() as talk:
        for each in (reader, other):
            each.send(each.request("rows") * 2)
        until(lambda: talk.ask("status")["queue"]["reads"] == 4)
        receipts = talk.append(*ledger.shop.sealable(0))["receipts"]
        began = monotonic_seconds()
        assert ledger.stop() == 0
        assert monotonic_seconds() - began < SECONDS / 2
        for each in (reader, other):
            answers = [each.read(), each.read(), each.read()]
            codes = [each and each["error"]["code"] for each in answers]
            assert codes == [STOPPED, STOPPED, None], "both are told, and then no more"
    assert [note["event"] for note in ledger.notes()][-1] == "stopped"
    ledger.program = PROGRAM
    with ledger.start().talk() as talk:
        assert talk.ask("entry", seq=3)["event_id"] == receipts[1]["event_id"]


def test_a_killed_daemons_sockets_are_no_obstacle_to_the_next(daemon: Served) -> None:
    with daemon.talk() as talk:
        receipts = talk.append(*daemon.shop.sealable(0))["receipts"]
    daemon.kill()
    assert all(daemon.socket(side).exists() for side in SIDES)
    assert daemon.command("daemon", "status").returncode == 3
    daemon.start()
    with daemon.talk() as talk:
        assert talk.ask("head")["size"] == 4
        assert talk.ask("entry", seq=3)["event_id"] == receipts[1]["event_id"]


def test_start_returns_once_it_answers_and_stop_once_it_is_gone(ledger: Served) -> None:
    started = ledger.command("daemon", "start", "--json")
    assert started.returncode == 0, started.stderr
    pid = json.loads(started.stdout)["pid"]
    assert ledger.answers()
    again = ledger.command("daemon", "start")
    assert again.returncode == 2
    assert f"runs already, as process {pid}" in again.stderr
    shown = json.loads(ledger.command("daemon", "status", "--json").stdout)
    assert shown["pid"] == pid
    assert shown["socket"] == str(ledger.socket())
    assert ledger.command("daemon", "stop").returncode == 0
    assert ledger.command("daemon", "status").returncode == 3
    assert ledger.command("daemon", "stop").returncode == 3
    lines = (ledger.folder.path / "daemon.log").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines][-1] == "stopped"


def test_start_says_why_the_daemon_ended(ledger: Served) -> None:
    ledger.configure("[limits]\nconnections = 0\n")
    done = ledger.command("daemon", "start")
    assert done.returncode == 2
    assert "daemon.toml cannot be used" in done.stderr


def opening(**other: object) -> str:
    """Return the settings of an opening, some of it otherwise."""
    sound = {
        "suite": "a@v1",
        "template": "t",
        "horizon": "h",
        "issuer": "dispatcher",
        "cutoff_seconds": 1,
        "resolve_seconds": 2,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in (sound | other).items()]
    return "\n".join(["[[openings]]", *lines, ""])


UNFIT = {
    "a key that there is not": ("[limits]\nspeed = 9\n", "speed"),
    "no TOML": ("[limits", "daemon.toml cannot be used"),
    "the same opening twice": (opening() * 2, "opens a@v1/t/h twice"),
    "an opening whose outcomes come first": (
        opening(cutoff_seconds=3),
        "forecasts end before outcomes",
    ),
    "an issuer whose key is not there": (opening(issuer="nobody"), "no key file at"),
}


@pytest.mark.parametrize(("text", "said"), UNFIT.values(), ids=UNFIT)
def test_settings_that_are_unfit_are_refused_before_anything_is_served(
    ledger: Served, text: str, said: str
) -> None:
    ledger.configure(text)
    done = ledger.command("daemon", "run")
    assert done.returncode == 2
    assert said in done.stderr
    assert not ledger.socket().exists()


ODD_VALUES = (
    '""', '"\\u0000"', '"a\\u0000b"', '"' + "x" * 5_000 + '"', '"/"', '"."', '".."',
    '"../../../../.."', '"/dev/null"', '"/proc/self/mem"', '"\\ud7ff\\U0010ffff"', '"\\n"',
    '"-1"', '"4294967295"', '"99999999999999"', '"' + "9" * 4_000 + '"', '"\u0661\u0662"',
    "0", "-1", "2147483647", "2147483648", "99999999999999999999", "1.5", "inf", "nan",
    "true", "[]", "{}", '["\\u0000"]', '[""]', '["/dev/null"]', '["' + "y/" * 3_000 + '"]',
    "1979-05-27", "[" * 60 + "]" * 60,
)  # fmt: skip
PLACES = (
    "[sockets]\nagent_folder", "[sockets]\nagent_group", "[sockets]\nevaluator_folder",
    "[limits]\nconnections", "[limits]\nqueue_mib", "[limits]\nslow_seconds",
    "[watch]\nfolders",
    *(f"[openings.0]\n{name}" for name in ("suite", "issuer", "key", "tags")),
)  # fmt: skip


def unfit_settings() -> Iterator[str]:
    for place, value in product(PLACES, ODD_VALUES):
        if place.startswith("[openings"):
            name = place.partition("\n")[2]
            sound = "".join(
                f"{line}\n"
                for line in opening().splitlines()
                if not line.startswith(f"{name} ")
            )
            yield f"{sound}{name} = {value}\n"
        else:
            yield f"{place} = {value}\n"
    yield from ("\0", "x = 1", "[[openings]]", "openings = 1", "[limits]\n[limits]")


def test_no_settings_end_in_anything_but_a_sentence(
    ledger: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `daemon run` does before it serves: only where a sentence says why it stops."""
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    folder, environment = ledger.folder, {"XDG_RUNTIME_DIR": "/run/user/7"}
    said, fit = [], 0
    for text in unfit_settings():
        ledger.configure(text)
        try:
            settings = read_settings(folder)
            make_room(settings.limits.connections)
            read_issuers(settings.openings, folder)
            found = places(folder, settings.sockets, environment)
            watched = PinWatch([folder.path / each for each in settings.watch.folders])
            watched.places({})
            watched.look({})
            watched.missing()
            assert set(found) == set(SIDES)
        except UsageError as error:
            said.append(str(error))
        else:
            fit += 1
    assert len(said) > 300
    assert [
        each for each in said if "daemon.toml" not in each and "key" not in each
    ] == []
    assert [each for each in said if "chmod" in each] == []
    assert fit > 20


SERVED_NOT: dict[str, str] = {
    "a folder with a zero byte": '[watch]\nfolders = ["\\u0000"]\n',
    "a group beyond all numbers": '[sockets]\nagent_group = "99999999999999"\n',
    "a folder that is everybody's": '[sockets]\nagent_folder = "/tmp"\n',
    "a folder that is the system's": '[sockets]\nagent_folder = "/proc/self"\n',
}


@pytest.mark.parametrize("text", SERVED_NOT.values(), ids=SERVED_NOT)
def test_what_no_daemon_can_serve_by_ends_it_with_a_sentence(
    ledger: Served, text: str
) -> None:
    ledger.configure(text)
    done = ledger.command("daemon", "run")
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert json.loads(line)["event"] == "failed"
    assert "chmod" not in line


def test_what_the_system_refuses_ends_it_with_a_sentence_in_its_journal(
    ledger: Served,
) -> None:
    ledger.folder.index.unlink(missing_ok=True)
    ledger.folder.index.mkdir()
    done = ledger.command("daemon", "run")
    assert done.returncode == 2, done.stderr
    last = [json.loads(line) for line in done.stderr.splitlines()][-1]
    assert (last["event"], last["code"]) == ("failed", "usage")
    assert f"{ledger.folder.index}: Is a directory" in last["message"]


def test_a_fault_before_anybody_is_served_ends_the_daemon_and_frees_the_lock(
    ledger: Served,
) -> None:
    """The thread that writes is at work by then, and would keep the process alive."""
    broken = (
        "from ledger.daemon.tending import Tending\n"
        "def begin(self): raise ZeroDivisionError\n"
        f"Tending.begin = begin\n{PROGRAM[2]}"
    )
    ledger.program = (*PROGRAM[:2], broken)
    process = ledger.begin()
    assert process.wait(SECONDS) == 1
    assert "ZeroDivisionError" in ledger.journal.read_text()
    ledger.program = PROGRAM
    ledger.start()


def test_each_line_of_the_journal_is_json_and_none_holds_a_key(daemon: Served) -> None:
    [opened, _] = daemon.shop.sealable(0)
    with daemon.talk() as talk:
        talk.append(opened)
        talk.ask("append", events=[{"payload": daemon.shop.log_key.line()}])
        talk.call("append", events=[], key=daemon.shop.log_key.line())
    daemon.stop()
    connected = daemon.noted("connected")
    assert {note["uid"] for note in connected} == {os.getuid()}
    assert os.getpid() in {note["pid"] for note in connected}
    text = daemon.journal.read_text()
    assert "PRIVATE" not in text
    assert opened.payload.decode()[:40] not in text


def test_a_journal_that_takes_nothing_stops_no_commit(ledger: Served) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    ledger.journal.symlink_to("/dev/full")
    ledger.begin()
    until(ledger.answers)
    with ledger.talk() as talk:
        assert talk.append(*ledger.shop.sealable(0))["receipts"][1]["seq"] == 3
        assert talk.ask("status")["journal_lines_lost"] > 0
    assert ledger.stop() == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits others")
def test_a_disk_that_takes_no_more_ends_it_and_what_was_told_is_there(
    daemon: Served,
) -> None:
    assert daemon.process is not None
    told: list[str] = []
    with daemon.talk() as talk, daemon.talk() as other:
        talk.append(*daemon.shop.sealable(0))
        limit = 400 * 1024
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        for number in range(1, 1_000):
            answer = talk.call("append", events=wire(*daemon.shop.sealable(number)))
            if "error" in answer:
                break
            told += [each["event_id"] for each in answer["result"]["receipts"]]
        assert answer["error"]["code"] == STOPPED
        assert answer["error"]["data"]["code"] == "stopped"
        assert talk.read() is None
        assert other.read() is None
    assert daemon.process.wait(SECONDS) == 1
    assert daemon.noted("writer-stopped")
    assert not any(daemon.socket(side).exists() for side in SIDES)
    daemon.start()
    in_log = [each["event_id"] for each in daemon.log()]
    assert len(told) > 10
    assert set(told) <= set(in_log)
    assert len(in_log) == len(set(in_log))
    assert daemon.verify()["ok"]


# --- Clients that do harm, to nobody ---------------------------------------------------


def test_a_line_without_an_end_is_cut_off_and_costs_no_memory(daemon: Served) -> None:
    assert daemon.process is not None
    before = resident_kib(daemon.process.pid)
    talk = daemon.talk()
    mebibytes = 0
    with suppress(BrokenPipeError, ConnectionResetError):
        while mebibytes < 1_000:
            talk.send(b"x" * 1_048_576)
            mebibytes += 1
    assert mebibytes < 100
    talk.close()
    assert resident_kib(daemon.process.pid) - before < 64 * 1024
    assert daemon.answers()


@pytest.mark.parametrize(("more", "is_served"), [(0, True), (1, False)])
def test_a_line_may_have_so_many_bytes_and_no_more(
    daemon: Served, more: int, *, is_served: bool
) -> None:
    with daemon.talk() as talk:
        line = talk.request("ping")[:-1]
        talk.send(line + b" " * (LINE_BYTES_MAX + more - len(line)) + b"\n")
        answer = talk.read()
        assert answer is not None
        if is_served:
            assert answer["result"]["side"] == "evaluator"
        else:
            assert answer["error"]["code"] == INVALID_REQUEST
            assert answer["error"]["data"]["code"] == "line-too-long"
            assert talk.read() is None


def test_a_client_that_leaves_in_the_middle_of_a_line_harms_nobody(
    daemon: Served,
) -> None:
    [opened, _] = daemon.shop.sealable(0)
    for end in (1, 50, -2):
        talk = daemon.talk()
        talk.send(talk.request("append", events=wire(opened))[:end])
        talk.close()
    talk = daemon.talk()
    talk.send(talk.request("append", events=wire(opened)))
    talk.close()  # It asked, and does not wait for the answer.
    with daemon.talk() as other:
        until(lambda: other.ask("head")["size"] == 3)


def test_an_idle_client_is_dropped_and_one_that_works_is_not(ledger: Served) -> None:
    ledger.configure("[limits]\nidle_seconds = 1\n")
    ledger.start()
    idle, half = ledger.talk(), ledger.talk()
    half.send(b'{"jsonrpc":')
    with ledger.talk() as busy:
        dropped: list[dict[str, Any]] = []
        while len(dropped) < 2:
            busy.ask("ping")
            dropped = ledger.noted("dropped")
        assert busy.ask("ping")
    assert (idle.read(), half.read()) == (None, None)
    idle.close()
    half.close()


def test_a_client_that_takes_no_answers_is_dropped(ledger: Served) -> None:
    ledger.configure("[limits]\nslow_seconds = 1\n")
    ledger.start()
    slow = ledger.talk()
    slow.socket.settimeout(0)
    line = slow.request("status")
    with ledger.talk() as other:

        def is_dropped() -> bool:
            try:
                slow.socket.send(line * 100)
            except BlockingIOError:
                pass
            except OSError:
                return True
            return not other.ask("ping")

        until(is_dropped)
    assert {note["reason"] for note in ledger.noted("dropped")} == {"slow"}
    slow.close()


def test_a_client_too_many_is_told_so_and_the_other_side_is_not_full(
    ledger: Served,
) -> None:
    ledger.configure("[limits]\nconnections = 3\n")
    ledger.start()
    held = [ledger.talk("agent") for _ in range(3)]
    for each in held:
        each.ask("ping")
    with ledger.talk("agent") as fourth:
        answer = fourth.read()
        assert answer is not None
        assert answer["error"]["code"] == BUSY
        assert answer["error"]["data"]["retry_after_ms"] > 0
        assert fourth.read() is None
    assert ledger.answers()
    held.pop().close()
    until(lambda: ledger.answers("agent"))
    for each in held:
        each.close()


def test_thousands_of_connections_leave_it_alive(daemon: Served) -> None:
    for _ in range(20):
        flood = []
        for _ in range(150):
            try:
                flood.append(Talk(daemon.socket("agent")))
            except BlockingIOError:  # Nobody has accepted the others yet.
                break
        for each in flood:
            each.close()
    assert daemon.answers()
    until(lambda: daemon.answers("agent"))


def test_rows_that_take_long_hold_up_no_commit(daemon: Served) -> None:
    with daemon.talk() as reader, daemon.talk() as writer:
        for _ in range(20):
            reader.send(reader.request("rows"))
        assert writer.append(*daemon.shop.sealable(0))["receipts"][0]["seq"] == 2
        for _ in range(20):
            assert reader.read() is not None


def test_reads_beyond_the_limit_are_sent_away(ledger: Served) -> None:
    ledger.configure("[limits]\nreads = 2\n")
    ledger.start()
    with ledger.talk() as talk:
        talk.send(b"".join(talk.request("rows") for _ in range(20)))
        answers = [talk.read() for _ in range(20)]
    codes = [each["error"]["code"] for each in answers if each and "error" in each]
    assert set(codes) == {BUSY}
    assert len(codes) < 20


def resident_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])
