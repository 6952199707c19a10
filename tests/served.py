"""A real daemon on a real ledger, and clients that say exactly what a test wants said."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from ledger.clock import monotonic_seconds, system_clock
from ledger.daemon.sockets import AGENT, EVALUATOR, file_name
from ledger.envelope import envelope
from ledger.events import LedgerEvent
from ledger.keys.keyfile import write_key
from ledger.keys.signing import SignerKey
from ledger.writer import Submission
from tests.workshop import Workshop

PROGRAM = (sys.executable, "-c", "from ledger.cli.main import main; main()")
# A daemon that looks at what nobody told it of every second.
HURRIED = (
    *PROGRAM[:2],
    f"from ledger.daemon import rounds; rounds.LOOK_SECONDS = 1; {PROGRAM[2]}",
)
SECONDS = 60  # that anything may take on a busy machine


class Present(Workshop):
    """A workshop at this machine's time, as a daemon will see it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._now = system_clock()

    def clock(self) -> datetime:
        self._now = system_clock()
        return self._now

    def keep_keys(self) -> "Present":
        """Write everybody's keys where commands and daemons look for them."""
        write_key(self.folder.log_key, self.log_key)
        for name, key in self.keys.items():
            write_key(self.folder.keys / f"{name}.key", key)
        return self

    def sealable(self, number: int) -> list[Submission]:
        """Return the signed opening of a unit, and a forecast on it."""
        self.clock()
        opening = self.opened(self.question(number))
        sealed = self.sealed(opening.question_hash, 1 + number % 99)
        return [self.signed(opening), self.signed(sealed)]


def wire(*submissions: Submission) -> list[dict[str, Any]]:
    """Return signed events as a request has them."""
    return [msgspec.to_builtins(envelope(each)) for each in submissions]


class Talk:
    """One connection."""

    def __init__(self, path: Path | str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(SECONDS)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self._file = self.socket.makefile("rb")
        self._id = 0

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def read(self) -> dict[str, Any] | None:
        """Return the next answer, or None at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def request(self, method: str, **params: Any) -> bytes:
        self._id += 1
        asked = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        return json.dumps(asked).encode() + b"\n"

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the whole answer to a request."""
        self.send(self.request(method, **params))
        answer = self.read()
        assert answer is not None, f"hung up on {method}"
        assert answer["id"] == self._id
        return answer

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request that is to be done."""
        answer = self.call(method, **params)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def fault(self, method: str, **params: Any) -> tuple[int, str]:
        """Return the code and the kebab-case code of a request that is not to be done."""
        error = self.call(method, **params)["error"]
        assert "Traceback" not in error["message"]
        return error["code"], error["data"]["code"]

    def append(self, *submissions: Submission, atomic: bool = False) -> dict[str, Any]:
        return self.ask("append", events=wire(*submissions), atomic=atomic)

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Served:
    """A ledger whose daemon a test starts, talks to and kills."""

    program = PROGRAM

    def __init__(self, home: Path) -> None:
        self.home = home
        self.shop = Present(home)
        self.shop.found()
        self.shop.keep_keys()
        self.folder = self.shop.folder
        self.journal = home / "journal"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.shop.state_home),
            "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        }
        for name in ("XDG_RUNTIME_DIR", "LEDGER_SOCKET", "LEDGER_DIR", "NOTIFY_SOCKET"):
            self.environment.pop(name, None)
        self.process: subprocess.Popen[bytes] | None = None

    def socket(self, side: str = EVALUATOR) -> Path:
        return self.folder.path / file_name(side)

    def configure(self, text: str) -> None:
        (self.folder.path / "daemon.toml").write_text(text)

    def open_questions(self, more: str = "") -> None:
        """Have the daemon open questions for agents, with the dispatcher's key."""
        self.configure(
            '[[openings]]\nsuite = "workshop@v1"\ntemplate = "dispatch-pass"\n'
            'horizon = "24h"\nissuer = "dispatcher"\ncutoff_seconds = 600\n'
            f'resolve_seconds = 86400\nacceptance_hash = "{"ab" * 32}"\n'
            f'agent_tags = ["domain"]\n{more}'
        )

    def begin(self, *before: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a daemon and do not wait; `before` are words before its command."""
        with self.journal.open("ab") as journal:
            words = ("daemon", "run", "--ledger", str(self.folder.path))
            self.process = subprocess.Popen(
                [*before, *self.program, *words],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stderr=journal,
                **more,
            )
        return self.process

    def start(self, *before: str, **more: Any) -> "Served":
        """Start a daemon and wait until it answers."""
        process = self.begin(*before, **more)
        until(lambda: process.poll() is not None or self.answers())
        assert process.poll() is None, self.journal.read_text()
        return self

    def answers(self, side: str = EVALUATOR) -> bool:
        try:
            with Talk(self.socket(side)) as talk:
                return bool(talk.ask("ping"))
        except OSError:
            return False

    def stop(self) -> int:
        """Stop the daemon as a supervisor does; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(SECONDS)

    def talk(self, side: str = EVALUATOR) -> Talk:
        return Talk(self.socket(side))

    def notes(self) -> list[dict[str, Any]]:
        """Return the journal so far: each of its lines is an object."""
        whole, _, _ = self.journal.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def noted(self, what: str) -> list[dict[str, Any]]:
        """Return what the journal says so far of one kind of event."""
        return [note for note in self.notes() if note["event"] == what]

    def command(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of the command line on this ledger."""
        return subprocess.run(
            [*PROGRAM, *words, "--ledger", str(self.folder.path)],
            input=stdin, env=self.environment, capture_output=True, text=True,
            check=False, timeout=SECONDS,
        )  # fmt: skip

    def verify(self) -> dict[str, Any]:
        """Return what `ledger verify` says; it must find nothing false."""
        done = self.command("verify", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def log(self) -> list[dict[str, Any]]:
        """Return the entries of the log."""
        done = self.command("log", "--json")
        return [json.loads(line) for line in done.stdout.splitlines()]


S = TypeVar("S", bound=Served)


def served() -> AbstractContextManager[Served]:
    """Give a ledger in a folder whose path is short enough for sockets."""
    return served_as(Served)


@contextmanager
def served_as(kind: type[S]) -> Iterator[S]:
    """Give such a ledger with what a test adds to it."""
    home = Path(tempfile.mkdtemp(prefix="sl-"))
    found = kind(home)
    try:
        yield found
    finally:
        if found.process is not None and found.process.poll() is None:
            found.kill()
        shutil.rmtree(home)


def until(is_so: Any) -> None:
    """Wait for something that will be so soon."""
    ends_at = monotonic_seconds() + SECONDS
    while not is_so():
        assert monotonic_seconds() < ends_at, "it never became so"
        time.sleep(0.005)


def seal(
    shop: Present,
    proposed: Mapping[str, Any],
    hundredths: int,
    key: SignerKey | None = None,
) -> Submission:
    """Return a forecast on the question that a daemon proposed."""
    event: LedgerEvent = shop.sealed(proposed["question_hash"], hundredths)
    return shop.signed(event, key)


SIDES = (AGENT, EVALUATOR)
