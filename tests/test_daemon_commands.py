"""Commands that write while a daemon has the lock: they go through it, or say why not."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from ledger.cli import daemon as daemon_commands
from ledger.durable import lock
from ledger.suite_template import new_suite
from tests.console import Console
from tests.hook_stage import Reply, fake_daemon, fault, result
from tests.served import Served, served


@pytest.fixture(scope="module")
def daemon() -> Iterator[Served]:
    with served() as found:
        yield found.start()


def draft(kind: str, author: str, **fields: object) -> str:
    named = {"suite": "workshop@v1", "template": "dispatch-pass", "horizon": "24h"}
    return json.dumps({"type": kind, "author": author, **named, **fields})


def opening(name: str) -> str:
    question = {
        "template": "dispatch-pass", "id": name, "horizon": "24h", "opened_at": "now",
        "cutoff_at": "+1h", "resolve_by": "+24h", "acceptance_hash": "ab" * 32,
    }  # fmt: skip
    return json.dumps(
        {
            "type": "ResolutionRecorded", "author": "dispatcher", "suite": "workshop@v1",
            "status": "PENDING", "question": question,
        }
    )  # fmt: skip


def test_drafts_go_through_it_each_after_the_one_before(daemon: Served) -> None:
    lines = [
        opening("a"),
        draft("ForecastSealed", "forecaster", forecaster="native", id="a",
              probabilities={"pass": 0.8, "fail": 0.2}),
        draft("ForecastUpdated", "forecaster", forecaster="native", id="a",
              probabilities={"pass": 0.7, "fail": 0.3}),
        draft("ForecastUpdated", "forecaster", forecaster="native", id="none",
              probabilities={"pass": 0.7, "fail": 0.3}),
        draft("ResolutionRecorded", "resolver", id="a", status="RESOLVED", outcome="pass",
              acceptance_hash="ab" * 32, source="log"),
    ]  # fmt: skip
    done = daemon.command("append", "-", "--json", stdin="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.get("error", {}).get("code") for each in answers] == [
        None, None, None, "unknown-question", None,
    ], done.stdout + done.stderr  # fmt: skip
    first = answers[0]["seq"]
    assert [each["seq"] for each in answers if "seq" in each] == list(
        range(first, first + 4)
    )
    assert done.returncode == 2


def test_commands_for_one_event_go_through_it(daemon: Served) -> None:
    opened = daemon.command("append", "-", "--json", stdin=opening("b"))
    assert opened.returncode == 0, opened.stdout
    unit = ("--id", "b")
    steps = [
        ("seal", *unit, "-p", "0.8"),
        ("update", *unit, "-p", "0.6"),
        ("resolve", *unit, "--outcome", "pass", "--acceptance", "ab" * 32),
    ]
    for words in steps:
        done = daemon.command(*words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
    receipts = [json.loads(done.stdout)]
    assert receipts[0]["checkpoint"].startswith("example.org/workshop\n")
    again = daemon.command("resolve", *unit, "--outcome", "fail", "--json")
    assert again.returncode == 2
    assert json.loads(again.stdout)["error"]["code"] == "supersedes-missing"


def test_its_status_lists_suites_as_the_ledgers_does(daemon: Served) -> None:
    done = daemon.command("daemon", "status")
    assert done.returncode == 0, done.stderr
    [line] = [each for each in done.stdout.splitlines() if each.startswith("suites")]
    assert line.split() == ["suites", "workshop@v1"]


def test_a_suite_and_a_charter_go_through_it_and_the_next_command_sees_them(
    daemon: Served,
) -> None:
    path = daemon.home / "other.toml"
    path.write_text(new_suite("other", "self"))
    frozen = daemon.command("suite", "freeze", str(path), "--json")
    assert frozen.returncode == 0, frozen.stdout + frozen.stderr
    added = daemon.command("keys", "add", "forecaster:rival", "--json")
    assert added.returncode == 0, added.stdout + added.stderr
    with daemon.talk() as talk:
        names = {each["suite"] for each in talk.ask("status")["suites"]}
    assert names == {"workshop@v1", "other@v1"}
    assert daemon.verify()["ok"]


def test_what_must_be_taken_back_together_is_refused_with_the_daemons_name(
    daemon: Served,
) -> None:
    done = daemon.command("append", "-", "--atomic", stdin=opening("c"))
    assert done.returncode == 2
    assert str(daemon.socket()) in done.stderr
    assert "ledger daemon stop" in done.stderr


def test_where_another_command_writes_that_is_said() -> None:
    with served() as found:
        handle = lock(found.folder.lock)
        done = found.command("append", "-", stdin=opening("d"))
        os.close(handle)
    assert done.returncode == 2
    assert "another process writes to" in done.stderr


GREETINGS: dict[str, Reply | None] = {
    "hangs up": lambda _: b"",
    "says no JSON": lambda _: b"HTTP/1.1 400\r\n\n",
    "names no ledger": result({"pid": 7}),
    "says a list": result([]),
    "refuses": fault(-32603, "internal-error"),
    "is another's": result({"ledger": "f" * 64}),
    "says nothing": None,
}


def test_a_status_of_whoever_greets_wrongly_is_3_and_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon_commands, "_ANSWER_SECONDS", 0.2)
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        for name, reply in GREETINGS.items():
            found.socket().unlink(missing_ok=True)
            with fake_daemon(found.socket(), reply):
                shown = console.here("daemon", "status")
            assert shown.code == 3, (name, shown)
            assert len(shown.stderr.splitlines()) == 1, name
            assert str(found.socket()) in shown.stderr, name


def test_a_status_that_fails_after_the_greeting_is_3_and_a_sentence() -> None:
    with served() as found:
        greeted = result({"ledger": found.shop.ledger, "pid": 7})
        refused = fault(-32603, "internal-error")

        def reply(asked: dict[str, Any]) -> bytes:
            return (greeted if asked["method"] == "ping" else refused)(asked)

        with fake_daemon(found.socket(), reply):
            console = Console(found.home)
            console.ledger = found.folder.path
            shown = console.here("daemon", "status")
    assert shown.code == 3
    assert "internal-error" in shown.stderr


FAILED = '{"event":"failed","code":"c","message":"why it failed"}'
NOTED = '{"event":"connected","side":"agent"}'
ENDED: dict[str, tuple[int, str, int, str]] = {
    "a log that contradicts itself": (1, FAILED, 3, "ended with 1: why it failed"),
    "a wrong setting": (2, FAILED, 2, "ended with 2: why it failed"),
    "what could not be checked": (3, FAILED, 3, "ended with 3: why it failed"),
    "a signal's number": (143, FAILED, 3, "ended with 143: why it failed"),
    "another's line after its own": (2, f"{FAILED}\n{NOTED}", 2, "2: why it failed"),
    "a traceback": (1, f"{NOTED}\nTraceback\nboom", 3, "ended with 1: see "),
}


@pytest.mark.parametrize(
    ("code", "journal", "exits", "said"), ENDED.values(), ids=ENDED
)
def test_a_start_that_fails_says_why_and_exits_by_what_is_known(
    monkeypatch: pytest.MonkeyPatch, code: int, journal: str, exits: int, said: str
) -> None:
    script = f"import sys; print({journal!r}, file=sys.stderr); sys.exit({code})"
    monkeypatch.setattr(daemon_commands, "_PROGRAM", (sys.executable, "-c", script))
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        shown = console.here("daemon", "start")
    assert shown.code == exits
    assert said in shown.stderr


def test_a_start_that_fails_on_a_full_disk_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = "import sys; sys.exit(1)"
    monkeypatch.setattr(daemon_commands, "_PROGRAM", (sys.executable, "-c", script))
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        for free, said in ((65_535, "free space on the disk of"), (65_536, "see ")):
            usage = SimpleNamespace(free=free)
            monkeypatch.setattr(shutil, "disk_usage", lambda _, found=usage: found)
            assert f"ended with 1: {said}" in console.here("daemon", "start").stderr


def test_of_starts_at_once_one_starts_and_the_others_name_its_process() -> None:
    with served() as found, ThreadPoolExecutor() as pool:
        starts = [pool.submit(found.command, "daemon", "start") for _ in range(4)]
        done = [each.result() for each in starts]
        [won] = [each for each in done if each.returncode == 0]
        pid = won.stdout.split()[1]
        for each in done:
            if each is not won:
                assert each.returncode == 2, each.stderr
                assert f"runs already, as process {pid}" in each.stderr
        assert found.command("daemon", "stop").returncode == 0


def test_without_a_daemon_a_command_takes_the_lock_itself(daemon: Served) -> None:
    daemon.stop()
    done = daemon.command("append", "-", "--atomic", "--json", stdin=opening("e"))
    assert done.returncode == 0, done.stderr
    daemon.start()
    assert daemon.command("append", "-", stdin=opening("f")).returncode == 0
    assert daemon.verify()["ok"]
