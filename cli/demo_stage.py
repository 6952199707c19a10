"""The demo's stage: a folder, the commands that are run in it, and what is said.

The commands are the ones that anybody would type, each a process of its own, so
that the demo shows nothing that its reader could not do.
"""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ledger.cli import render
from ledger.errors import LedgerError

_WIDTH, _WIDTH_OF_OUTPUT, _INDENT = 88, 160, "  "
_ENTRY = "from ledger.cli.main import main; main()"
LEDGER, KEPT_NOTE = "demo", "kept.note"


class DemoError(LedgerError):
    """A command of the demo ended otherwise than it must."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One command, how it ended, and what it printed."""

    command: str
    exit_status: int
    stdout: str

    def json(self) -> Any:  # noqa: ANN401 - each command has its own shape
        """Return the one JSON value that the command printed."""
        return msgspec.json.decode(self.stdout)


class Stage:
    """Runs commands in `folder` and tells about it, unless it is to be silent."""

    def __init__(self, folder: Path, *, silent: bool) -> None:
        self.folder = folder
        self.ran: list[Ran] = []
        self._silent = silent
        self._acts = 0
        # State of the ledger stays in the folder, and no setting of the caller's
        # own ledgers reaches in. The child finds the same modules as this process.
        kept = {k: v for k, v in os.environ.items() if not k.startswith("LEDGER_")}
        self._environment = {
            **kept,
            "XDG_STATE_HOME": str(folder / "state"),
            "LEDGER_DIR": LEDGER,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }

    def act(self, title: str, why: str) -> None:
        """Announce what comes next, and why it matters."""
        self._acts += 1
        heading = f"{self._acts}. {title}"
        self.say("\n" + render.styled(heading, "green", sys.stdout))
        self.say(textwrap.fill(why, _WIDTH))

    def say(self, text: str) -> None:
        """Print a line for the reader."""
        if not self._silent:
            render.document(text)
            sys.stdout.flush()

    def table(self, heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
        """Print a table for the reader."""
        if not self._silent:
            render.table(heads, rows)

    def write(self, name: str, drafts: Iterable[Mapping[str, Any]]) -> str:
        """Write drafts to a file of the folder, a line each; return its name."""
        lines = [msgspec.json.encode(draft) + b"\n" for draft in drafts]
        (self.folder / name).write_bytes(b"".join(lines))
        return name

    def ledger(self, *arguments: str, shown: int = 99, expected: int = 0) -> Ran:
        """Run a command and show its first lines; raise `DemoError` unless it ends so."""
        command = f"ledger {' '.join(arguments)}"
        self.say(render.styled(f"\n$ {command}", "cyan", sys.stdout))
        done = self._run(arguments)
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        for line in lines[:shown]:
            self.say("\n".join(_wrapped(line)))
        if len(lines) > shown > 0:
            self.say(f"  … {len(lines) - shown} more lines")
        return self._judged(command, done, expected)

    def report(self, *arguments: str, expected: int = 0) -> dict[str, Any]:
        """Show what a command prints, or return its JSON where nobody is shown it."""
        if not self._silent:
            self.ledger(*arguments, expected=expected)
            return {}
        found: dict[str, Any] = self.asked(*arguments, expected=expected).json()
        return found

    def asked(self, *arguments: str, expected: int = 0) -> Ran:
        """Run a command for its JSON, without showing it."""
        command = f"ledger {' '.join(arguments)} --json"
        return self._judged(command, self._run((*arguments, "--json")), expected)

    def _run(self, arguments: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", _ENTRY, *arguments],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
        )

    def _judged(
        self, command: str, done: "subprocess.CompletedProcess[str]", expected: int
    ) -> Ran:
        if done.returncode != expected:
            last = (done.stdout + done.stderr).strip().split("\n")[-1]
            msg = f"`{command}` ended with {done.returncode}, not {expected}: {last}"
            raise DemoError(msg)
        ran = Ran(command=command, exit_status=expected, stdout=done.stdout)
        self.ran.append(ran)
        return ran


def _wrapped(line: str) -> list[str]:
    """Return a line of output, indented, and broken where it is too long to read."""
    return textwrap.wrap(
        line,
        _WIDTH_OF_OUTPUT,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 4,
        replace_whitespace=False,
        drop_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
