"""Run the demo's tasks for real, and say what their resolver saw.

A task is a process of this interpreter. Its exit status, its output and its times
are all that the resolver goes by; nothing here knows what was forecast.
"""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ledger.cli.demo_drafts import acceptance_hash, unit
from ledger.cli.demo_tasks import SKIPPED, Task
from ledger.clock import Clock, instant_text
from ledger.ids import sha256_hex

_AT_ONCE = 4
# An operator lets a task start before it stops it.
_SECONDS_BEFORE_STOPPING = 0.5


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """How one task ended. `exit_status` is None where its time ran out."""

    task: Task
    started_at: datetime
    ended_at: datetime
    exit_status: int | None
    last_line: str
    evidence_hash: str

    @property
    def milliseconds(self) -> int:
        """How long it ran."""
        return (self.ended_at - self.started_at).seconds * 1000 + (
            self.ended_at - self.started_at
        ).microseconds // 1000


def run_all(tasks: tuple[Task, ...], folder: Path, clock: Clock) -> list[Observed]:
    """Run each task's program from `folder`; its output becomes a file there.

    Several run at a time, so the clock is read when each starts and ends.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda task: _run(task, folder, clock), tasks))


def _run(task: Task, folder: Path, clock: Clock) -> Observed:
    output = folder / "output" / f"{task.name}.txt"
    output.parent.mkdir(exist_ok=True)
    started_at = clock()
    with output.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, "-I", program_path(task)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
        exit_status = _await(process, task)
    said = output.read_bytes()
    return Observed(
        task=task,
        started_at=started_at,
        ended_at=clock(),
        exit_status=exit_status,
        last_line=said.decode(errors="replace").strip().rpartition("\n")[2],
        evidence_hash=sha256_hex(said),
    )


def _await(process: "subprocess.Popen[bytes]", task: Task) -> int | None:
    """Return the exit status; a negative one is the signal that ended the process."""
    stopped = task.fate == "stopped"
    try:
        return process.wait(_SECONDS_BEFORE_STOPPING if stopped else task.seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM if stopped else signal.SIGKILL)
        status = process.wait()
        return status if stopped else None


def program_path(task: Task) -> str:
    """Return where a task's program lies, as the suite pins it."""
    return f"tasks/{task.name}.py"


def resolution(seen: Observed) -> dict[str, Any]:
    """Return the draft of what is recorded: an outcome, or why there is none."""
    record: dict[str, Any] = {
        "type": "ResolutionRecorded",
        "author": "resolver",
        **unit(seen.task),
        "started_at": instant_text(seen.started_at),
        "occurred_at": instant_text(seen.ended_at),
        "published_at": instant_text(seen.ended_at),
        "source": "exit status",
        "acceptance_hash": acceptance_hash(seen.task),
        "evidence_hash": seen.evidence_hash,
        "run": {"runtime": "ledger demo", "key": seen.task.name},
    }
    if seen.last_line:
        record["note"] = seen.last_line
    return record | verdict(seen)


def verdict(seen: Observed) -> dict[str, str]:
    """Return the status that an exit status amounts to.

    What was not decided is no failure: a test that could not run is VOID, a task
    that was stopped CANCELED, one whose time ran out CENSORED.
    """
    match seen.exit_status:
        case None:
            return {"status": "CENSORED", "reason_code": "time-limit"}
        case 0:
            return {"status": "RESOLVED", "outcome": "pass"}
        case status if status == SKIPPED:
            return {"status": "VOID", "reason_code": "test-not-runnable"}
        case status if status < 0:
            name = signal.Signals(-status).name
            return {"status": "CANCELED", "reason_code": f"stopped-by-{name}"}
        case _:
            return {"status": "RESOLVED", "outcome": "fail"}
