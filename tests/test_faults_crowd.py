"""All connections are taken: who comes waits, is told so in the end, and can stop it."""

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from ledger.cli import context
from ledger.cli import daemon as daemon_commands
from ledger.cli import inbox as inbox_command
from ledger.daemon import client_async, running_desk
from ledger.daemon.client import connect
from ledger.daemon.holder import noted_daemon
from ledger.daemon.hook_wire import Wire
from ledger.durable import lock
from ledger.errors import UncheckableError
from tests.console import Console, Shown
from tests.served import SECONDS, SIDES, Served, served, until

NAMES = ("--suite", "workshop@v1", "--template", "dispatch-pass", "--horizon", "24h")
UNIT = dict(zip(("suite", "template", "horizon"), NAMES[1::2], strict=True))
PLACES = 2
SOON = 0.2


class Crowd:
    """A daemon whose every connection is taken until somebody lets go."""

    def __init__(self, found: Served) -> None:
        self.served = found
        found.open_questions(f"[limits]\nconnections = {PLACES}\n")
        found.start()
        self.console = Console(found.home)
        self.console.ledger = found.folder.path
        self._held = ExitStack()

    def take(self, *sides: str) -> "Crowd":
        for side in sides or SIDES:
            taken = 0
            # The one that asked whether the daemon is up may not have gone yet.
            while taken < PLACES:
                talk = self._held.enter_context(self.served.talk(side))
                talk.send(talk.request("ping"))
                answer = talk.read()
                taken += bool(answer and "result" in answer)
        return self

    def let_go(self) -> None:
        self._held.close()

    def here(self, *words: str) -> Shown:
        return self.console.here(*words)

    def options(self, **more: Any) -> dict[str, Any]:
        return {
            "ledger": self.served.folder.path,
            "key": self.served.folder.keys / "forecaster.key",
            "forecaster": "native",
            "environment": {},
            **UNIT,
            **more,
        }

    def sealed(self) -> list[str]:
        entries = self.console.here("log", "--json").objects
        payloads = [each["payload"] for each in entries]
        return [each["type"] for each in payloads if each["type"] == "ForecastSealed"]


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    with served() as found:
        monkeypatch.setenv("XDG_STATE_HOME", str(found.shop.state_home))
        made = Crowd(found)
        yield made
        made.let_go()


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every command give up soon."""
    monkeypatch.setattr(daemon_commands, "_ANSWER_SECONDS", SOON)
    monkeypatch.setattr(inbox_command, "_ANSWER_SECONDS", SOON)
    monkeypatch.setattr(context, "_DAEMON_SECONDS", SOON)
    monkeypatch.setattr(running_desk, "_WAIT_SECONDS", SOON)


SAID = ("is busy and was for 0.2 s", "2 clients are connected", "daemon.toml")
FORECAST = ("-p", "0.8", *NAMES)
COMMANDS: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "status": (("daemon", "status"), 3, SAID),
    "start": (("daemon", "start"), 2, ("runs already, as process",)),
    "seal": (("seal", "--id", "a", *FORECAST), 3, (*SAID, "it did nothing")),
    "freeze": (("keys", "add", "forecaster:rival"), 3, SAID),
    "inbox": (("inbox",), 0, ("The daemon takes what is dropped",)),
}  # fmt: skip


@pytest.mark.usefixtures("_hurried")
def test_commands_say_that_no_more_are_let_in(crowd: Crowd) -> None:
    crowd.take()
    for name, (words, code, said) in COMMANDS.items():
        shown = crowd.here(*words)
        assert shown.code == code, (name, shown.stderr)
        assert len(shown.stderr.splitlines()) == 1, (name, shown.stderr)
        for each in said:
            assert each in shown.stderr, name


@pytest.mark.usefixtures("_hurried")
def test_nothing_is_run_whose_forecast_nobody_takes(crowd: Crowd) -> None:
    mark = crowd.take().served.home / "it-ran"
    words = (*FORECAST, "--issuer", "dispatcher", "--", "touch", str(mark))
    shown = crowd.console.run("run", "--ledger", crowd.console.ledger, *words)
    assert (shown.code, mark.exists()) == (3, False)
    assert "2 clients are connected" in shown.stderr


@pytest.mark.usefixtures("_hurried")
def test_the_status_comes_by_the_other_socket_where_that_has_room(crowd: Crowd) -> None:
    shown = crowd.take("evaluator").here("daemon", "status", "--json")
    assert shown.code == 0, shown.stderr
    assert shown.objects[0]["side"] == "agent"
    # It takes forecasts only: for what a command writes it is no way.
    shown = crowd.here("keys", "add", "forecaster:rival")
    assert shown.code == 3
    assert "2 clients are connected" in shown.stderr


def test_it_can_be_stopped_all_the_same(crowd: Crowd) -> None:
    shown = crowd.take().here("daemon", "stop")
    assert shown.code == 0, shown.stderr
    process = crowd.served.process
    assert process is not None
    assert process.wait(SECONDS) == 0
    assert crowd.here("daemon", "stop").code == 3


def test_one_that_answers_nobody_is_stopped_by_what_the_lock_says() -> None:
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        assert noted_daemon(found.folder) is None
        process = found.start().process
        assert process is not None
        assert noted_daemon(found.folder) == process.pid
        process.send_signal(signal.SIGSTOP)
        waits = console.here("daemon", "stop", "--timeout", "1")
        assert waits.code == 3
        assert f"`kill -KILL {process.pid}` ends it at once" in waits.stderr
        # It was told to end, and does so once it can.
        process.send_signal(signal.SIGCONT)
        assert process.wait(SECONDS) == 0
        assert noted_daemon(found.folder) is None


LEFT: dict[str, tuple[str, str]] = {
    "a dead daemon's note": ("daemon 999999\n", "process {me}, which answers no ping"),
    "half a note": ("daemon {me}", "process {me}, which answers no ping"),
    "another word": ("command {me}\n", "process {me}, which answers no ping"),
}


@pytest.mark.parametrize(("note", "said"), LEFT.values(), ids=LEFT)
def test_no_command_is_stopped_for_what_a_daemon_left_in_the_lock(
    note: str, said: str
) -> None:
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        handle = lock(found.folder.lock)
        found.folder.lock.write_text(note.format(me=os.getpid()))
        stopped = console.here("daemon", "stop")
        os.close(handle)
        assert stopped.code == 3
        assert said.format(me=os.getpid()) in stopped.stderr


def test_where_it_cannot_be_told_who_writes_the_command_to_end_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on systems without /proc."""
    monkeypatch.setattr(daemon_commands, "lock_holder", lambda _: None)
    with served() as found:
        console = Console(found.home)
        console.ledger = found.folder.path
        nobody = console.here("daemon", "stop")
        found.folder.lock.write_text("daemon 999999\n")
        # A note that a killed daemon left: its number may be anybody's by now.
        left = console.here("daemon", "stop")
        handle = lock(found.folder.lock)
        perhaps = console.here("daemon", "stop")
        os.close(handle)
    assert (nobody.code, left.code, perhaps.code) == (3, 3, 3)
    assert "nobody writes to it" in nobody.stderr
    assert "nobody writes to it" in left.stderr
    assert "`kill 999999` ends it" in perhaps.stderr


def test_no_command_is_taken_for_the_crowded_daemon(crowd: Crowd) -> None:
    """The lock is another's: a signal would end what is no daemon at all."""
    crowd.take()
    with served() as other:
        console = Console(other.home)
        console.ledger = other.folder.path
        other.configure(f'[sockets]\nevaluator_folder = "{crowd.served.folder.path}"\n')
        handle = lock(other.folder.lock)
        stopped, status = (console.here("daemon", each) for each in ("stop", "status"))
        os.close(handle)
    assert (stopped.code, status.code) == (3, 3)
    assert f"process {os.getpid()}, which answers no ping" in stopped.stderr
    assert f"`kill {os.getpid()}` ends it" in stopped.stderr
    assert f"is that of ledger {crowd.served.shop.ledger[:12]}" in status.stderr


def seal_by_thread(crowd: Crowd) -> object:
    with connect(**crowd.options(timeout=SECONDS)) as client:
        return client.seal("by-thread", 0.8)


def seal_by_loop(crowd: Crowd) -> object:
    async def work() -> object:
        options = crowd.options(timeout=SECONDS)
        async with await client_async.connect(**options) as client:
            return await client.seal("by-loop", 0.8)

    return asyncio.run(work())


def seal_by_command(crowd: Crowd) -> object:
    words = ("seal", "--id", "dispatch-0000001", "-p", "0.8")
    done = crowd.served.command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_who_is_not_let_in_waits_and_is_taken_once_another_goes(crowd: Crowd) -> None:
    [opening, _] = crowd.served.shop.sealable(1)
    with crowd.served.talk() as talk:
        talk.append(opening)
    crowd.take()
    with ThreadPoolExecutor() as pool:
        seals = (seal_by_thread, seal_by_loop, seal_by_command)
        begun = [pool.submit(seal, crowd) for seal in seals]
        # The command is a process of its own.
        until(lambda: len(refused(crowd) - {os.getpid()}) == 1)
        assert os.getpid() in refused(crowd)
        assert not any(each.done() for each in begun)
        crowd.let_go()
        for each in begun:
            assert each.result(SECONDS)
    assert len(crowd.sealed()) == len(seals)


def test_a_hook_waits_too(crowd: Crowd) -> None:
    crowd.take()
    wire = Wire((str(crowd.served.socket("agent")),))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(wire.ask, "ping", {})
        until(lambda: refused(crowd))
        crowd.let_go()
        found = asked.result(SECONDS)
    wire.close()
    assert found is not None
    assert found["ledger"] == crowd.served.shop.ledger


def refused(crowd: Crowd) -> set[int]:
    """Return the processes that were not let in."""
    return {each["pid"] for each in crowd.served.noted("refused")}


def test_a_client_gives_up_in_its_time_and_says_why(crowd: Crowd) -> None:
    crowd.take()
    for call in (
        lambda: connect(**crowd.options(timeout=SOON)),
        lambda: asyncio.run(client_async.connect(**crowd.options(timeout=SOON))),
    ):
        with pytest.raises(UncheckableError) as given_up:
            call()
        for each in SAID:
            assert each in str(given_up.value)


def test_a_client_that_was_let_in_and_lost_its_place_waits_too(crowd: Crowd) -> None:
    with connect(**crowd.options(timeout=SOON)) as client:
        client.close()
        crowd.take()
        with pytest.raises(UncheckableError, match="it did nothing"):
            client.seal("late", 0.8)
    crowd.let_go()
    assert crowd.sealed() == []
