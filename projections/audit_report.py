"""What an audit reports: checks by name, the anchors that it had, findings.

A check holds, is false, could not be made, or was not asked for. The first three
decide the exit code; the anchors decide how much the whole is worth.
"""

from typing import Any, Literal

import msgspec

from ledger.errors import Finding

Verdict = Literal["holds", "false", "uncheckable", "unasked"]

# In the order of the report: from the bytes on disk to what the auditor brought.
CHECKS = (
    "storage",
    "entries",
    "tree",
    "checkpoints",
    "signatures",
    "rules",
    "index",
    "projections",
    "bundles",
    "against",
    "key",
    "genesis",
    "local-mark",
)
# The check that stands in a report only where it was asked for.
CROSSCHECK = "crosscheck"
# What one thing is that a check covers, for people.
COVERED = {
    "storage": "tables",
    "entries": "entries",
    "tree": "roots",
    "checkpoints": "signatures",
    "signatures": "signatures",
    "rules": "entries",
    "index": "entries",
    "projections": "tables",
    "bundles": "rows",
    "against": "entries",
    "key": "signatures",
    "genesis": "entries",
    "local-mark": "entries",
    CROSSCHECK: "scores",
}
ANCHORS = ("against", "key", "genesis", "local-mark")
NO_ANCHOR = (
    "anchor: none. Whoever holds the log's key could have written all of it anew, and "
    "it would look like this; bring a checkpoint that you kept: --against FILE"
)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check's answer: `covered` counts what it looked at, `detail` is a sentence."""

    name: str
    verdict: Verdict
    covered: int
    detail: str

    @property
    def ok(self) -> bool | None:
        """True, false, or None where it was not asked for or could not be made."""
        return {"holds": True, "false": False}.get(self.verdict)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An audit's result. `root` is in base64, as checkpoints spell it."""

    entries: int
    root: str
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: all that was asked holds; 1: something is false; 3: could not be checked."""
        verdicts = {check.verdict for check in self.checks}
        if "false" in verdicts:
            return 1
        return 3 if "uncheckable" in verdicts else 0

    @property
    def anchors(self) -> tuple[str, ...]:
        """What tied the log to something outside it: any of `ANCHORS`, used or failed."""
        return tuple(
            check.name
            for check in self.checks
            if check.name in ANCHORS and check.ok is not None
        )

    @property
    def anchor(self) -> str:
        """The anchors as one text, `none` without any."""
        return ", ".join(self.anchors) or "none"

    def check(self, name: str) -> Check:
        """Return the check of that name."""
        return next(check for check in self.checks if check.name == name)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `ledger verify --json` prints."""
        return {
            "ok": self.exit_code == 0,
            "anchor": self.anchor,
            "entries": self.entries,
            "root": self.root,
            "checks": [
                {
                    "name": check.name,
                    "ok": check.ok,
                    "covered": check.covered,
                    "detail": check.detail,
                }
                for check in self.checks
            ],
            "findings": msgspec.to_builtins(self.findings),
        }


def holds(name: str, covered: int, detail: str = "") -> Check:
    """Return a check whose claim is true of all that it covered."""
    return Check(name=name, verdict="holds", covered=covered, detail=detail)


def is_false(name: str, covered: int, detail: str) -> Check:
    """Return a check whose claim is not true; `detail` names the place."""
    return Check(name=name, verdict="false", covered=covered, detail=detail)


def uncheckable(name: str, covered: int, detail: str) -> Check:
    """Return a check that lacks something: a file, a key, a newer program."""
    return Check(name=name, verdict="uncheckable", covered=covered, detail=detail)


def unasked(name: str, detail: str = "not asked") -> Check:
    """Return a check that nobody asked for, or that nothing was there for."""
    return Check(name=name, verdict="unasked", covered=0, detail=detail)
