"""A hook as a runtime calls it: a real daemon, one that misbehaves, and installations."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ledger.daemon.hook import answer
from ledger.daemon.hook_answer import Answer
from tests.console import Console

SAMPLES = Path(__file__).parent / "hook_payloads"
PROGRAM = (sys.executable, "-c", "from ledger.cli.main import main; main()")
BAR = "871e798608e479214ff0b5d86253058cb093ad50804c07b809334de6e0ed6155"
SUITE, TEMPLATE, HORIZON = "piper-self@v1", "dispatch-pass", "24h"
OPENING = f"""
[[openings]]
suite = "{SUITE}"
template = "{TEMPLATE}"
horizon = "{HORIZON}"
issuer = "issuer"
cutoff_seconds = 600
resolve_seconds = 86400
acceptance_hash = "{BAR}"
agent_tags = ["domain"]
"""


def sample(name: str) -> Any:
    """Return the payload of a sample."""
    return json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))["payload"]


class Stage:
    """A ledger with a frozen suite, and its daemon."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.console = Console(home).found().frozen()
        self.ledger = self.console.ledger
        (self.ledger / "daemon.toml").write_text(OPENING)
        self.environment = {**os.environ, "XDG_STATE_HOME": str(home / "state")}
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def ledger_id(self) -> str:
        """The id of entry 0."""
        return str(self.console.here("status", "--json").object["ledger"])

    @property
    def socket(self) -> str:
        """The agent's side."""
        return str(self.ledger / "agent.sock")

    def start(self) -> "Stage":
        """Start the daemon and wait until it answers."""
        words = (*PROGRAM, "daemon", "start", "--ledger", str(self.ledger))
        subprocess.run(words, check=True, env=self.environment, capture_output=True)
        return self

    def stop(self) -> None:
        """Stop the daemon."""
        words = (*PROGRAM, "daemon", "stop", "--ledger", str(self.ledger))
        subprocess.run(words, check=True, env=self.environment, capture_output=True)

    def log(self) -> list[Any]:
        """Return the payloads of all events, in order."""
        return [each["payload"] for each in self.console.here("log", "--json").objects]

    def about(self, unit_id: str) -> list[Any]:
        """Return the payloads of the events about one unit."""
        hashes = {
            each["question_hash"]
            for each in self.log()
            if each.get("question", {}).get("id") == unit_id
        }
        return [each for each in self.log() if each.get("question_hash") in hashes]

    def seal(self, unit_id: str, probability: str = "0.7", **more: object) -> None:
        """Open a unit and seal a forecast on it, as an agent does through the daemon.

        `more` is what else its payload says, such as the `task`.
        """
        named = {"event": "pre_dispatch", "dispatch_key": unit_id}
        self.installed().call({**named, "forecast": probability, **more})

    def installed(self, name: str = "piper", **said: object) -> "Installation":
        """Return an installation of the hook for this ledger's daemon."""
        settings = {
            "sockets": [self.socket],
            "ledger": self.ledger_id,
            "author": "forecaster",
            "forecaster": "native",
            "key": str(self.ledger / "keys" / "forecaster.key"),
        }
        return Installation(self.home / "hooks" / name, **{**settings, **said})


class Installation:
    """The settings of one installation, and how a runtime calls it."""

    def __init__(self, folder: Path, **said: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.state = folder
        self.file = folder / "hook.json"
        self.observed = folder / "observed"
        self.settings: dict[str, object] = {
            "format": "hook/1",
            "mode": "record",
            "fail": "closed",
            "sockets": [],
            "state": str(folder),
            "observed": str(self.observed),
            "suite": SUITE,
            "template": TEMPLATE,
            "horizon": HORIZON,
            "answers": ["pass", "fail"],
            "positive": "pass",
            "author": "forecaster",
            "forecaster": "native",
            "key": str(folder / "forecaster.key"),
            **said,
        }
        self.file.write_text(json.dumps(self.settings))

    def call(self, payload: object, *more: str) -> Answer:
        """Hand a payload to the hook, in this process."""
        content = (
            payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        )
        arguments = ("--config", str(self.file), *(more or ("--fail", "closed")))
        with piped(content) as stdin:
            return answer(arguments, stdin)

    def seen(self) -> list[Any]:
        """Return the observations that were left for the resolver."""
        return [
            json.loads(path.read_bytes()) for path in sorted(self.observed.glob("*"))
        ]


@contextmanager
def piped(content: bytes) -> Iterator[int]:
    """Give a descriptor that some bytes can be read from, however many."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            try:
                file.write(content)
            except BrokenPipeError:
                return  # The hook had read enough.

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield reading
    finally:
        os.close(reading)
        writer.join()


Reply = Callable[[dict[str, Any]], bytes]


@contextmanager
def fake_daemon(path: Path, reply: Reply | None) -> Iterator[list[dict[str, Any]]]:
    """Give the requests that come to a socket; `reply` returns the bytes of each answer.

    Without one nobody ever answers; no bytes mean that the daemon hangs up.
    """
    asked: list[dict[str, Any]] = []
    held: list[socket.socket] = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(16)

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            held.append(caller)
            if reply is not None:
                _converse(caller, reply, asked)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        server.join()
        for each in held:
            each.close()


def _converse(caller: socket.socket, reply: Reply, asked: list[dict[str, Any]]) -> None:
    with caller, caller.makefile("rb") as lines:
        try:
            for line in lines:
                asked.append(json.loads(line))
                said = reply(asked[-1])
                if not said:
                    return
                caller.sendall(said)
        except OSError:
            return  # The caller did not wait.


def result(found: object) -> Reply:
    """Return a daemon that gives every request the same result."""
    return lambda asked: _line(asked, result=found)


def forwarded(stage: Stage, asked: dict[str, Any]) -> bytes:
    """Return what the real daemon answers to a request."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.connect(stage.socket)
        caller.sendall(json.dumps(asked).encode() + b"\n")
        return caller.makefile("rb").readline()


def fault(code: int, kind: str, **more: object) -> Reply:
    """Return a daemon that answers every request with the same error."""
    error = {"code": code, "message": f"it is {kind}", "data": {"code": kind, **more}}
    return lambda asked: _line(asked, error=error)


def _line(asked: dict[str, Any], **said: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}).encode() + b"\n"
