"""One append under strace, which has a system call of it fail, or kills the writer there.

The traced program is this interpreter itself, not a script that starts one. It imports
everything once and forks for each append, so that a case costs no start.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from ledger.errors import LedgerError
from ledger.log import open_reader
from ledger.writer import Receipt, Submission
from tests.console import Console
from tests.workshop import Workshop

FAULTS = {
    "EIO": "error=EIO",
    "ENOSPC": "error=ENOSPC",
    "SIGKILL": "signal=SIGKILL",
}
# What changes a file, or makes a change last.
WRITING = frozenset(
    ["fdatasync", "fsync", "ftruncate", "mkdir", "openat", "pwrite64", "rename",
     "unlink", "write"]
)  # fmt: skip
_EVENTS = "events.json"
_CALL = re.compile(r"\d+ +(\w+)\(")
_MARK = re.compile(r'access\("mark:(\w+)"')


class NeverCameError(AssertionError):
    """A call that was to be struck was not made: what is read elsewhere has changed."""


class Call(msgspec.Struct, frozen=True):
    """A system call on the ledger's files: the `nth` of its name since the start."""

    part: str
    name: str
    nth: int

    def __str__(self) -> str:
        return f"{self.part}-{self.name}-{self.nth}"


def strace_is_missing() -> str:
    """Return why nothing can be traced here, or nothing."""
    if shutil.which("strace") is None:
        return "there is no strace here: apt-get install strace"
    tried = subprocess.run(
        ["strace", "-o", os.devnull, "-e", "inject=getpid:error=EIO", "true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"strace may not trace: {tried.stderr}"


class Stage:
    """A ledger with three entries, and a process that appends two more to copies of it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._copies = 0
        shop = Workshop(home / "sound").found()
        first, second = (shop.opened(shop.question(number)) for number in range(2))
        events = [
            shop.signed(first),
            shop.signed(shop.sealed(first.question_hash, 70)),
            shop.signed(second),
        ]
        (home / "sound" / _EVENTS).write_bytes(msgspec.json.encode(events))
        with shop.writer() as writer:
            [receipt] = writer.append(events[:1])
        assert isinstance(receipt, Receipt)
        self.told = {each.event_id: each.seq for each in [*shop.receipts, receipt]}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.traced"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).resolve().parents[1],
        )  # fmt: skip

    def close(self) -> None:
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def calls(self) -> list[Call]:
        """Return every call that an undisturbed append makes on the ledger's files."""
        home, trace = self._copy(), self._home / "trace"
        said = self._append(home, ["-y", "-o", str(trace)])
        assert [each["said"] for each in said] == ["told", "told", "closed"], said
        return list(_calls(trace.read_text("utf-8", "replace"), home))

    def strike(self, call: Call, fault: str) -> list[str]:
        """Append with one call struck; return what the writer said.

        Whatever it said, no receipt is lost, nothing stands twice, the ledger verifies,
        and the next writer takes the same events.
        """
        home = self._copy()
        trace = home / "trace"
        inject = f"-einject={call.name}:{FAULTS[fault]}:when={call.nth}"
        said = self._append(
            home, ["-y", "-o", str(trace), f"-etrace={call.name}", inject]
        )
        struck = trace.read_text("utf-8", "replace")
        if "INJECTED" not in struck and "killed by SIGKILL" not in struck:
            raise NeverCameError(call)
        told = {each["event_id"]: each["seq"] for each in said if "seq" in each}
        _check(home, self.told | told)
        shutil.rmtree(home)
        return [each["said"] for each in said]

    def _copy(self) -> Path:
        self._copies += 1
        home = self._home / f"copy-{self._copies}"
        shutil.copytree(self._home / "sound", home)
        return home

    def _append(self, home: Path, options: list[str]) -> list[dict[str, Any]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(home), options]) + "\n")
        self._process.stdin.flush()
        said = []
        for line in self._process.stdout:
            each = json.loads(line)
            if each["said"] == "ended":
                break
            said.append(each)
        return said


def _calls(trace: str, home: Path) -> Iterator[Call]:
    """Yield the calls of a trace that name a file under `home`, by the writer's part."""
    part, seen = "", Counter[str]()
    for line in trace.splitlines():
        mark = _MARK.search(line)
        if mark is not None:
            part = mark[1]
        found = _CALL.match(line)
        if found is None:
            continue
        seen[found[1]] += 1
        if str(home) in line:
            yield Call(part, found[1], seen[found[1]])


def _check(home: Path, told: dict[str, int]) -> None:
    """Find every receipt kept, nothing doubled, all verified, and the next writer fit."""
    shop = Workshop(home)
    assert Console(home).here("verify", "--json").code == 0
    with shop.writer() as writer:
        again = writer.append(_events(home))
    assert all(isinstance(each, Receipt) for each in again), again
    with open_reader(shop.folder) as reader:
        ids = [row.event_id.hex() for row in reader.store.rows(0, 1_000)]
    assert len(ids) == len(set(ids)) == 5
    assert {each: ids.index(each) for each in told} == told


def _events(home: Path) -> list[Submission]:
    return msgspec.json.decode((home / _EVENTS).read_bytes(), type=list[Submission])


# What follows runs in the traced process.


def main() -> None:
    """Append to one ledger after the other, as the lines of stdin say."""
    for line in sys.stdin:
        home, options = json.loads(line)
        go, ready = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(go, 1)
            _append(Path(home))
            os._exit(0)
        command = ["strace", "-f", *options, "-p", str(child)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as tracer:
            assert tracer.stderr is not None
            attached = tracer.stderr.readline()
            assert b"attached" in attached, attached
            os.write(ready, b".")
            os.waitpid(child, 0)
        os.close(go)
        os.close(ready)
        _say("ended")


def _append(home: Path) -> None:
    """Append two events, a commit for each, and say what came of it."""
    try:
        _append_each(home)
    except Exception as error:  # noqa: BLE001 - whatever it is, a test is to see it
        _say(type(error).__name__, message=str(error))


def _append_each(home: Path) -> None:
    _mark("open")
    with Workshop(home).writer() as writer:
        for event in _events(home)[1:]:
            _mark("append")
            try:
                writer.stage(event)
                [receipt] = writer.commit()
                _say("told", event_id=receipt.event_id, seq=receipt.seq)
            except (LedgerError, OSError) as error:
                _say(type(error).__name__, message=str(error))
        _mark("close")
    _mark("closed")
    _say("closed")


def _mark(part: str) -> None:
    """Have a call in the trace that says what comes next."""
    os.access(f"mark:{part}", os.F_OK)


def _say(what: str, **facts: object) -> None:
    os.write(1, json.dumps({"said": what, **facts}).encode() + b"\n")


if __name__ == "__main__":
    main()
