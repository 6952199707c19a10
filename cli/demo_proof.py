"""The second half of the demo: what anybody can read, check and take away."""

import shutil
from pathlib import Path
from typing import Any

from ledger.cli.demo_stage import KEPT_NOTE, LEDGER, Stage

_LINES_OF_EXPORT = 5
# The one vector that is forged: its forecaster would rather have been more doubtful.
_BYTES, _FORGED = b'"pass":"0.8"', b'"pass":"0.1"'


def score(stage: Stage) -> list[dict[str, Any]]:
    """Show the rows and what they stand on; return them."""
    stage.act(
        "Scores, and what they stand on",
        "Rows are a fold over the log: integers, fractions, no floats, no clock, so "
        "every machine computes the same digits. The baseline `past-rate` knew nothing "
        "yet and says 1/2. What is undefined is empty and has a reason, never 0.",
    )
    stage.ledger("rows")
    rows: list[dict[str, Any]] = stage.asked("rows").json()
    native = next(row for row in rows if row["forecaster"] == "native")
    stage.say(
        "\nThe integrity strip of the first row, beside every score that it shows:"
    )
    stage.table(
        ("rate", "count", "of", "value"),
        (
            (name, rate["count"], rate["of"], rate["value"])
            for name, rate in native["integrity"].items()
            if {"count", "of", "value"} <= rate.keys()
        ),
    )
    stage.say(
        "\nWhat these scores do not prove: skill. A handful of tasks, made up by one "
        "author, are\nno sample of anything; hence no interval, and the label "
        "`synthetic_demo`."
    )
    return rows


def lineage(stage: Stage, task: str) -> dict[str, Any]:
    """Show one unit from its announcement to its outcome; return what it tells."""
    stage.act(
        "One lineage",
        f"All that was ever said about {task}. Nothing was overwritten: a later forecast "
        "names its parent, an outcome names the record that it supersedes.",
    )
    return stage.report("lineage", task)


def verify(stage: Stage) -> dict[str, Any]:
    """Verify the ledger against the auditor's checkpoint; return the report."""
    stage.act(
        "Verification, by somebody who trusts nobody",
        "Every hash, signature and rule again, from the log and public keys alone, and "
        "against the checkpoint that the auditor kept before the outcomes: a history "
        "that was cut short or rewritten since would not fit it.",
    )
    return stage.report("verify", "--against", KEPT_NOTE)


def export(stage: Stage) -> dict[str, Any]:
    """Export a bundle and verify it; return the report."""
    stage.act(
        "A bundle to publish",
        "Rows as JSON, CSV and Parquet with the checkpoint that they were computed at, "
        "signed by the evaluator. Whoever receives it recomputes each row from the log.",
    )
    stage.ledger("export", "bundle", shown=_LINES_OF_EXPORT)
    return stage.report("verify", "bundle")


def forge(stage: Stage) -> dict[str, Any]:
    """Change one byte in a copy, and let verification name it; return the report."""
    stage.act(
        "One byte, changed in a copy",
        "binary-search was thought to pass at 0.8 and failed. In a copy of the ledger "
        "that forecast becomes 0.1, straight on the disk, as somebody with all rights "
        "on this machine could do it.",
    )
    copy = stage.folder / "forged"
    shutil.copytree(stage.folder / LEDGER, copy)
    place = _change_a_byte(copy)
    stage.say(f"\n  {place}: {_BYTES.decode()} is now {_FORGED.decode()}")
    report = stage.report("verify", "--ledger", "forged", expected=1)
    stage.say(
        "\nThe honest ledger still verifies, and whoever holds a receipt or a checkpoint "
        "can tell\nthe two apart."
    )
    return report


def _change_a_byte(folder: Path) -> str:
    """Write the forged vector over the sealed one; return the file and the place."""
    for name in ("log.db-wal", "log.db"):
        path = folder / name
        content = path.read_bytes() if path.exists() else b""
        place = content.rfind(_BYTES)
        if place >= 0:
            with path.open("r+b") as file:
                file.seek(place)
                file.write(_FORGED)
            return f"{name}, byte {place + _BYTES.index(b'8')}"
    msg = "the demo's own forecast is not on the disk"
    raise AssertionError(msg)
