"""An agent and an evaluator as two users: what files keep the agent from (Piper, F6).

The agent may seal forecasts. Whatever else it tries, to judge its own work, to rewrite
what was recorded or to stand in for the daemon, is refused by the system or the daemon.
"""

import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from ledger.daemon.sockets import AGENT, EVALUATOR, file_name
from ledger.suite import CharterManifest
from tests.served import SECONDS, Present, Served, Talk, until, wire
from tests.source_tree import product_modules

EVALUATORS, AGENTS, SHARED = 64_001, 64_002, 64_003

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can be two users, one after the other"
)

# Becomes another user and then does what it was told to. Everything is imported before:
# an interpreter in root's home cannot be read afterwards.
BECOME = """
import importlib, json, os, sys
user, group, names, words = *map(int, sys.argv[1:3]), json.loads(sys.argv[3]), sys.argv[4:]
for name in names:
    importlib.import_module(name)
os.setgroups([group])
os.setgid(user)
os.setuid(user)
"""
COMMAND = (
    BECOME
    + """
sys.argv[1:] = words
from ledger.cli.main import main
main()
"""
)
ATTEMPT = (
    BECOME
    + """
import socket
what, target, more = words

def send(path, line):
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(path)
        out.sendall(line.encode() + b"\\n")
        return json.loads(out.makefile("rb").readline())

def bind(path):
    with socket.socket(socket.AF_UNIX) as mine:
        mine.bind(path)

DEEDS = {
    "send": lambda: send(target, more),
    "read": lambda: len(open(target, "rb").read()),
    "write": lambda: open(target, "ab").write(b"x"),
    "replace": lambda: open(target, "wb").write(b"x"),
    "remove": lambda: os.unlink(target),
    "rename": lambda: os.rename(target, target + ".old"),
    "bind": lambda: bind(target),
    "list": lambda: os.listdir(target),
    "open to all": lambda: os.chmod(target, 0o777),
    "kill": lambda: os.kill(int(target), 9),
}
try:
    print(json.dumps({"done": DEEDS[what]()}))
except OSError as error:
    print(json.dumps({"refused": type(error).__name__}))
"""
)
_LATE = ("concurrent.futures.thread", "encodings.idna", "asyncio", "sqlite3", "polars")
# What typer imports as it goes along; consoles of other systems cannot be imported here.
_OF_TYPER = [
    each.name
    for each in pkgutil.walk_packages(typer.__path__, "typer.")
    if not each.name.endswith(("__main__", "_winconsole"))
]


class Separate(Present):
    """A workshop whose charter says that no user has the keys of two roles."""

    def charter(self) -> CharterManifest:
        return msgspec.structs.replace(super().charter(), custody="separate")


class Apart(Served):
    """A ledger that one user serves, and an agent that is another."""

    def __init__(self, home: Path, agents: Path) -> None:
        self.agents = agents
        super().__init__(home)
        self.configure(
            f'[sockets]\nagent_folder = "{agents}"\nagent_group = "{SHARED}"\n'
        )
        (self.folder.path / "blobs").mkdir()
        (self.folder.path / "blobs" / ("ab" * 32)).write_text("a pinned file")
        # Each keeps their own key: the forecaster's is not the evaluator's to read.
        self.key = self.folder.keys / "forecaster.key"
        for path in (home, *home.rglob("*")):
            os.chown(path, EVALUATORS, EVALUATORS)
        os.chown(agents, EVALUATORS, SHARED)
        agents.chmod(0o750)
        os.chown(self.key, AGENTS, AGENTS)

    def socket(self, side: str = EVALUATOR) -> Path:
        return self.agents / file_name(side) if side == AGENT else super().socket(side)

    def as_user(self, user: int, program: str, *words: str) -> list[str]:
        everything = [*(each.name for each in product_modules()), *_LATE, *_OF_TYPER]
        names = everything if program is COMMAND else ["socket"]
        return [
            sys.executable,
            "-c",
            program,
            str(user),
            str(SHARED),
            json.dumps(names),
            *words,
        ]

    def attempt(self, what: str, target: object, more: str = "") -> dict[str, Any]:
        """Return what came of a deed of the agent's."""
        done = subprocess.run(
            self.as_user(AGENTS, ATTEMPT, what, str(target), more),
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def run_as(self, user: int, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.as_user(user, COMMAND, *words, "--ledger", str(self.folder.path)),
            env=self.environment, capture_output=True, text=True, check=False,
            timeout=SECONDS,
        )  # fmt: skip


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    home, agents = (Path(tempfile.mkdtemp(prefix="sl-")) for _ in range(2))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tests.served.Present", Separate)
        found = Apart(home, agents)
    words = found.as_user(
        EVALUATORS, COMMAND, "daemon", "run", "--ledger", str(found.folder.path)
    )
    with found.journal.open("ab") as journal:
        process = subprocess.Popen(words, env=found.environment, stderr=journal)
    found.process = process
    until(lambda: process.poll() is not None or found.answers())
    assert process.poll() is None, found.journal.read_text()
    with found.talk() as talk:
        talk.append(found.shop.sealable(0)[0])
        talk.ask("rows")  # So that there are tables to edit.
    yield found
    process.kill()
    process.wait(SECONDS)
    for folder in (home, agents):
        shutil.rmtree(folder)


def test_the_agent_seals_a_forecast(apart: Apart) -> None:
    shop = apart.shop
    with apart.talk() as talk:
        unit = talk.ask(
            "unit", suite="workshop@v1", template="dispatch-pass",
            id="dispatch-0000000", horizon="24h",
        )  # fmt: skip
    sealed = shop.signed(shop.sealed(unit["question_hash"], 70))
    line = request(sealed)
    found = apart.attempt("send", apart.socket(AGENT), line)["done"]
    assert found["result"]["receipts"][0]["seq"] == 3
    connected = apart.noted("connected")
    assert connected[-1]["uid"] == AGENTS


def request(*events: Any) -> str:
    return json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "append",
            "params": {"events": wire(*events)},
        }
    )


def test_the_agent_resolves_nothing_even_with_the_resolvers_key(apart: Apart) -> None:
    shop = apart.shop
    outcome = request(shop.signed(shop.resolved("00" * 32, "00" * 32)))
    found = apart.attempt("send", apart.socket(AGENT), outcome)["done"]
    assert found["error"]["data"]["code"] == "forbidden"
    refused = apart.attempt("send", apart.socket(EVALUATOR), outcome)
    assert refused == {"refused": "PermissionError"}


def test_the_agent_freezes_nothing_even_with_the_evaluators_key(apart: Apart) -> None:
    frozen = request(apart.shop.signed(apart.shop.frozen()))
    found = apart.attempt("send", apart.socket(AGENT), frozen)["done"]
    assert found["error"]["data"]["code"] == "forbidden"


DEEDS = {
    "edit the log": ("write", "log.db"),
    "read the log past the daemon": ("read", "log.db"),
    "edit the tables": ("write", "projections.db"),
    "swap a pinned file": ("replace", "blobs/" + "ab" * 32),
    "swap the daemon's settings": ("replace", "daemon.toml"),
    "read the resolver's key": ("read", "keys/resolver.key"),
    "read the log's key": ("read", "log.key"),
    "take the lock away": ("remove", "lock"),
    "look into the ledger": ("list", ""),
    "open the ledger's folder": ("open to all", ""),
    "move the ledger away": ("rename", ""),
    "remove the evaluator's socket": ("remove", "evaluator.sock"),
    "bind a socket of its own there": ("bind", "other.sock"),
}


@pytest.mark.parametrize(("what", "where"), DEEDS.values(), ids=DEEDS)
def test_the_agent_cannot(apart: Apart, what: str, where: str) -> None:
    found = apart.attempt(what, apart.folder.path / where)
    assert found == {"refused": "PermissionError"}


REPLACING = {
    "remove the agents' socket": ("remove", AGENT),
    "move the agents' socket away": ("rename", AGENT),
    "open the agents' socket to all": ("open to all", AGENT),
    "bind another beside it": ("bind", "other"),
}


@pytest.mark.parametrize(("what", "name"), REPLACING.values(), ids=REPLACING)
def test_the_agent_cannot_stand_in_for_the_daemon(
    apart: Apart, what: str, name: str
) -> None:
    found = apart.attempt(what, apart.agents / file_name(name))
    assert found == {"refused": "PermissionError"}
    with Talk(apart.socket(AGENT)) as talk:
        assert talk.ask("ping")["ledger"] == apart.shop.ledger


def test_the_agent_cannot_move_the_sockets_folder_or_end_the_daemon(
    apart: Apart,
) -> None:
    assert apart.process is not None
    for what, target in (("rename", apart.agents), ("kill", apart.process.pid)):
        assert apart.attempt(what, target) == {"refused": "PermissionError"}
    assert apart.answers(AGENT)


def test_after_all_that_the_log_holds_no_outcome_and_verifies(
    apart: Apart,
) -> None:
    done = apart.run_as(EVALUATORS, "verify", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = apart.run_as(EVALUATORS, "log", "--json").stdout.splitlines()
    payloads = [json.loads(line)["payload"] for line in said]
    assert {each.get("status", "PENDING") for each in payloads} == {"PENDING"}
    assert [each["suite"] for each in payloads[:2]] == ["charter@v1", "workshop@v1"]


def custody_as(apart: Apart, user: int) -> dict[str, str]:
    done = apart.run_as(user, "doctor", "--json")
    assert done.stdout, done.stderr
    [found] = [
        each for each in json.loads(done.stdout)["checks"] if each["name"] == "custody"
    ]
    return found


def test_the_doctor_fails_where_one_user_reads_keys_of_both(apart: Apart) -> None:
    """Only that: whose keys lie apart, as the charter says, is well."""
    assert custody_as(apart, EVALUATORS)["status"] == "ok"
    os.chown(apart.key, EVALUATORS, EVALUATORS)
    try:
        found = custody_as(apart, EVALUATORS)
    finally:
        os.chown(apart.key, AGENTS, AGENTS)
    assert found["status"] == "fail"
    assert "can read the keys of forecaster" in found["detail"]
