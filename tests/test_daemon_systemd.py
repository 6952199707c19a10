"""What systemd hands over and hears: descriptors, readiness, signs of life, unit files."""

import configparser
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.daemon.sockets import AGENT, EVALUATOR, file_name
from ledger.daemon.systemd import Notifier, passed_sockets
from ledger.errors import UsageError
from tests.served import PROGRAM, SECONDS, SIDES, Served, Talk, served, until

UNITS = Path(__file__).parents[1] / "docs" / "systemd"
# Puts listening sockets at descriptors 3, 4 … as systemd does, and becomes the daemon.
ACTIVATE = """
import os, sys
names, handles, words = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
for at, handle in enumerate(handles):
    os.dup2(int(handle), 3 + at, inheritable=True)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(len(handles))
os.environ["LISTEN_FDNAMES"] = names
os.execv(words[0], words)
"""


@pytest.fixture
def ledger() -> Iterator[Served]:
    with served() as found:
        yield found


@pytest.fixture
def listeners(ledger: Served) -> Iterator[dict[str, socket.socket]]:
    made = {}
    for side in SIDES:
        made[side] = socket.socket(socket.AF_UNIX)
        made[side].bind(str(ledger.home / file_name(side)))
        made[side].listen(16)
    yield made
    for each in made.values():
        each.close()


def activate(
    ledger: Served, listeners: dict[str, socket.socket], names: str
) -> "subprocess.Popen[bytes]":
    """Start the daemon with sockets passed to it, under these names."""
    # High numbers, so that none is where systemd puts them.
    handles = [
        fcntl.fcntl(each, fcntl.F_DUPFD, 50 + at)
        for at, each in enumerate(listeners.values())
    ]
    numbers = ",".join(map(str, handles))
    try:
        return ledger.begin(
            sys.executable, "-c", ACTIVATE, names, numbers, pass_fds=handles
        )
    finally:
        for each in handles:
            os.close(each)


def test_sockets_that_were_passed_are_served_and_left_when_it_stops(
    ledger: Served, listeners: dict[str, socket.socket]
) -> None:
    # A client that came before the daemon is served once it is there.
    with Talk(ledger.home / "agent.sock") as early:
        early.send(early.request("ping"))
        activate(ledger, listeners, "agent:evaluator")
        answer = early.read()
        assert answer is not None
        assert answer["result"]["side"] == AGENT
    with Talk(ledger.home / "evaluator.sock") as talk:
        assert talk.ask("ping")["side"] == EVALUATOR
        assert talk.append(*ledger.shop.sealable(0))["receipts"][1]["seq"] == 3
    assert not any(ledger.socket(side).exists() for side in SIDES)
    assert ledger.stop() == 0
    assert all((ledger.home / file_name(side)).exists() for side in SIDES)


def test_a_side_that_was_not_passed_is_made(
    ledger: Served, listeners: dict[str, socket.socket]
) -> None:
    activate(ledger, {AGENT: listeners[AGENT]}, "agent")
    until(ledger.answers)
    assert not ledger.socket(AGENT).exists()
    with Talk(ledger.home / "agent.sock") as talk:
        assert talk.ask("ping")["side"] == AGENT


@pytest.mark.parametrize("names", ["", "agent:agent", "agent:judge", "agent"])
def test_a_descriptor_that_is_named_for_no_side_is_refused(
    ledger: Served, listeners: dict[str, socket.socket], names: str
) -> None:
    process = activate(ledger, listeners, names)
    assert process.wait(SECONDS) == 2
    assert "FileDescriptorName" in ledger.journal.read_text()


def test_variables_of_another_process_are_not_believed_and_not_passed_on() -> None:
    environment = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "agent"}
    assert passed_sockets(environment, os.getpid()) == {}
    assert environment == {}


def test_a_descriptor_that_is_no_socket_is_refused(tmp_path: Path) -> None:
    program = (
        "import os\nfrom ledger.daemon.systemd import passed_sockets\n"
        f"os.dup2(os.open({str(tmp_path)!r}, os.O_RDONLY), 3)\n"
        "passed_sockets({'LISTEN_PID': '7', 'LISTEN_FDS': '1', 'LISTEN_FDNAMES': 'agent'}, 7)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        cwd=UNITS.parents[1],
    )  # fmt: skip
    assert "descriptor 3, passed as agent, is no socket" in done.stderr


# --- Who supervises --------------------------------------------------------------------


@pytest.mark.parametrize("is_abstract", [False, True])
def test_readiness_and_the_end_are_told(ledger: Served, *, is_abstract: bool) -> None:
    name = f"{ledger.home}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news:
        news.settimeout(SECONDS)
        news.bind("\0" + name if is_abstract else name)
        ledger.environment["NOTIFY_SOCKET"] = "@" + name if is_abstract else name
        ledger.begin()
        assert news.recv(1_000) == b"READY=1"
        assert ledger.answers()
        ledger.stop()
        assert news.recv(1_000) == b"STOPPING=1"


def test_signs_of_life_are_given_twice_within_the_time_allowed(ledger: Served) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news:
        news.settimeout(SECONDS)
        news.bind(f"{ledger.home}/notify")
        ledger.environment |= {
            "NOTIFY_SOCKET": f"{ledger.home}/notify", "WATCHDOG_USEC": "100000",
        }  # fmt: skip
        ledger.begin()
        told = {news.recv(1_000) for _ in range(4)}
    assert told == {b"READY=1", b"WATCHDOG=1"}


def test_a_supervisor_that_does_not_listen_costs_nothing(ledger: Served) -> None:
    ledger.environment["NOTIFY_SOCKET"] = f"{ledger.home}/nobody"
    ledger.start()
    assert ledger.stop() == 0
    assert ledger.noted("notify-failed")


def test_a_watchdog_of_another_process_is_not_fed() -> None:
    ours = Notifier({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"}, 7)
    theirs = Notifier({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"}, 7)
    assert (ours.watchdog_seconds, theirs.watchdog_seconds) == (1.0, None)


def test_where_nobody_is_named_nothing_is_told() -> None:
    Notifier({}, 7).tell("READY=1")


def test_a_socket_that_is_named_and_gone_is_said(tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}, 7)
    with pytest.raises(UsageError, match="takes nothing"):
        notifier.tell("READY=1")


# --- The unit files --------------------------------------------------------------------


def unit(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, strict=True)
    found.optionxform = str  # type: ignore[assignment,method-assign] # as it is written
    assert found.read(UNITS / name)
    return found


@pytest.mark.parametrize("side", SIDES)
def test_a_socket_unit_names_its_descriptor_for_its_side(side: str) -> None:
    stated = unit(f"sealed-ledger-{side}.socket")["Socket"]
    assert stated["FileDescriptorName"] == side
    assert stated["ListenStream"] == f"%t/sealed-ledger/{file_name(side)}"
    assert stated["Service"] == "sealed-ledger.service"
    assert stated["DirectoryMode"] == "0700"


def test_the_service_runs_a_command_that_there_is() -> None:
    stated = unit("sealed-ledger.service")["Service"]
    assert stated["Type"] == "notify"
    words = stated["ExecStart"].split()
    assert words[:2] == ["/usr/bin/env", "ledger"]
    done = subprocess.run(
        [*PROGRAM, *words[2:], "--help"], capture_output=True, check=False,
        cwd=UNITS.parents[1],
    )  # fmt: skip
    assert done.returncode == 0
