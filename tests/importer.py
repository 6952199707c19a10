"""The imports of tables as a person runs them, and what they say came of it."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.console import Console

TIMES = (
    "--set", "opened_at==2025-03-01T00:00:00Z",
    "--set", "cutoff_at==2025-03-02T00:00:00Z",
    "--set", "resolve_by==2025-04-01T00:00:00Z",
)  # fmt: skip
PUBLISHED = ("--set", "published_at==2025-04-02T00:00:00Z")
BINARY = ("--set", "id=id", *TIMES, "--forecaster", "model=p")


class Imported(NamedTuple):
    """The drafts, and the report of every row."""

    drafts: list[dict[str, Any]]
    report: dict[str, Any]

    @property
    def vectors(self) -> list[dict[str, str]]:
        """The probabilities of each forecast."""
        return [each["probabilities"] for each in self.drafts if "forecaster" in each]

    @property
    def questions(self) -> list[dict[str, Any]]:
        """Each question that is opened."""
        return [each["question"] for each in self.drafts if "question" in each]

    @property
    def outcomes(self) -> list[tuple[str, str | None]]:
        """Status and outcome, or reason, of each record that is not PENDING."""
        return [
            (each["status"], each.get("outcome", each.get("reason_code")))
            for each in self.drafts
            if each.get("status", "PENDING") != "PENDING"
        ]

    @property
    def skipped(self) -> dict[str, list[str]]:
        """The places of all that was left out, by reason."""
        return {
            reason: each["places"]
            for kind in ("skipped", "skipped_forecasts", "skipped_outcomes")
            for reason, each in self.report[kind].items()
        }


def imported(home: Path, kind: str, content: str | bytes, *options: str) -> Imported:
    """Import a file of this content, which has to leave some draft."""
    file = home / f"table.{kind}"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    shown = Console(home).must("import", kind, file, *options, "--json")
    return Imported(shown.objects, json.loads(shown.stderr))


def from_csv(home: Path, content: str | bytes, *options: str) -> Imported:
    """Import a CSV file."""
    return imported(home, "csv", content, *options)


def from_objects(home: Path, rows: list[dict[str, Any]], *options: str) -> Imported:
    """Import JSON lines of these objects."""
    return imported(home, "jsonl", "\n".join(map(json.dumps, rows)), *options)


def refusal(home: Path, kind: str, content: str | bytes, *options: str) -> str:
    """Return why an import was refused as a whole."""
    file = home / f"table.{kind}"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    shown = Console(home).run("import", kind, file, *options)
    assert shown.code == 2, shown.stdout + shown.stderr
    return shown.stderr
