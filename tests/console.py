"""The command line as a person meets it, without starting a process for each command."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ledger.cli.app import app
from tests.shared import SHARED

EXAMPLES = SHARED / "examples"
# Who the example drafts are by.
CAST = ("issuer:dispatcher", "resolver:harness", "forecaster:piper")


@dataclass(frozen=True)
class Shown:
    """What one command printed, and how it ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def objects(self) -> list[Any]:
        """Each line of stdout, read as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def object(self) -> Any:
        """The one line of stdout, read as JSON."""
        [only] = self.objects
        return only


class Console:
    """Commands run in one folder of their own, with a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ledger = home / "ledger"

    def run(self, *words: object, stdin: str | bytes | None = None) -> Shown:
        """Run a command to its end."""
        result = CliRunner().invoke(
            app,
            [str(word) for word in words],
            input=stdin,
            env={"XDG_STATE_HOME": str(self.home / "state"), "LEDGER_DIR": None},
            catch_exceptions=False,
        )
        return Shown(result.exit_code, result.stdout, result.stderr)

    def must(self, *words: object, stdin: str | bytes | None = None) -> Shown:
        """Run a command that has to succeed."""
        shown = self.run(*words, stdin=stdin)
        assert shown.code == 0, shown.stdout + shown.stderr
        return shown

    def here(self, *words: object, stdin: str | bytes | None = None) -> Shown:
        """Run a command in the ledger."""
        return self.run(*words, "--ledger", self.ledger, stdin=stdin)

    def found(self, *people: str) -> "Console":
        """Make the ledger, some of its principals by other names."""
        chosen = [word for person in people for word in ("--principal", person)]
        self.must("init", self.ledger, "--origin", "example.org/test", *chosen)
        return self

    def frozen(self, name: str = "piper-self", track: str = "self") -> "Console":
        """Freeze a fresh suite."""
        file = self.home / f"{name}.toml"
        file.write_text(self.must("suite", "new", name, "--track", track).stdout)
        shown = self.here("suite", "freeze", file)
        assert shown.code == 0, shown.stderr
        return self

    def append(self, *drafts: dict[str, Any], more: tuple[str, ...] = ()) -> Shown:
        """Append drafts and read the answers as JSON."""
        lines = "".join(json.dumps(draft) + "\n" for draft in drafts)
        return self.here("append", "-", "--json", *more, stdin=lines)
