"""Rows in others' formats: a TargetSpace leaderboard, or one point a line."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ledger.canonical import encode
from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.past import moment, report_at
from ledger.cli.standing import Standing
from ledger.durable import write_new
from ledger.errors import UsageError
from ledger.suite_table import listed
from ledger.unseen import json_text

if TYPE_CHECKING:
    from ledger.projections.leaderboards import Listed
    from ledger.projections.report import Report

FORMATS = ("bundle", "rows", "targetspace", "metrics")
BUNDLE, ROWS, TARGETSPACE, METRICS = FORMATS
STDOUT = "-"
Rows = list[dict[str, Any]]


def export_rows(
    target: str,
    form: str,
    *,
    ledger: str | None,
    suites: Sequence[str],
    slots: Sequence[str],
    by: Sequence[str],
    board: str | None = None,
    at: int | None = None,
    look: int | None = None,
    as_json: bool = False,
) -> None:
    """Write rows to the new file `target`, or to stdout where that is `-`.

    `board` is the file of a list: then those rows are written, and no others. They are
    those of the log now, of its first `at` entries, or of a suite's `look`. Raises
    `UsageError` for a file that exists, and for suites, slots and groupings that do
    not; a leaderboard is of one suite version, and takes no slice from a list.
    """
    if target != STDOUT and Path(target).exists():
        raise UsageError(
            f"{target} exists: nothing is written over, choose another name"
        )
    with reading(ledger) as (folder, reader):
        wanted = None if board is None else _listed(board)
        if form == TARGETSPACE:
            _require_whole(wanted or [])
        named = suites if wanted is None else [each.suite for each in wanted]
        then = moment(reader, at, look, named)
        meant = [then.suite] if then.suite else named
        names = _suites(then.standing, meant, one_only=form == TARGETSPACE)
        with report_at(folder, reader, then.size) as report:
            if wanted is None:
                found = [
                    row
                    for name in names
                    for slot in (slots or (None,))
                    for row in report.rows(suite=name, slot=slot, by=by)
                ]
            else:
                found = _on_board(report, wanted)
            text = _leaderboard(report, names, found) if form == TARGETSPACE else None
    _write(target, text or (_lines(found) if form == ROWS else _points(found)))
    if target == STDOUT:
        return
    if as_json:
        render.json_line({"file": target, "format": form, "rows": len(found)})
    else:
        render.note(f"wrote {target}")


def _listed(board: str) -> "list[Listed]":
    from ledger.projections.leaderboards import read_list

    try:
        text = Path(board).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the list {board} cannot be read: {error}") from error
    return read_list(text, board)


def _require_whole(wanted: "list[Listed]") -> None:
    """Refuse a row of a slice: a TargetSpace leaderboard cannot say of which it is."""
    sliced = next((each for each in wanted if each.slice is not None), None)
    if sliced is not None:
        msg = (
            f"a TargetSpace leaderboard has no column for the slice of {sliced}: take "
            "that row off the list, or --format rows"
        )
        raise UsageError(msg)


def _on_board(report: "Report", wanted: "list[Listed]") -> Rows:
    from ledger.projections.leaderboards import listed_rows

    return listed_rows(
        wanted, lambda suite, slot, by: report.rows(suite=suite, slot=slot, by=by)
    )


def _suites(found: Standing, named: Sequence[str], *, one_only: bool) -> list[str]:
    meant = dict.fromkeys(found.meant(name) for name in named)
    names = list(meant or found.suites)
    if one_only and len(names) != 1:
        known = listed(names, last="and") if names else "none"
        msg = f"a leaderboard is of one suite version, and here are {known}: "
        raise UsageError(f"{msg}name one with --suite NAME@vN")
    return names


def _leaderboard(report: "Report", names: list[str], found: Rows) -> bytes:
    from ledger.projections.export_targetspace import leaderboard

    made = leaderboard(report.suite(names[0]).manifest, found)
    for each in made.left_out:
        render.note(f"not on the leaderboard: {each}")
    return made.text + b"\n"


def _lines(found: Rows) -> bytes:
    return b"".join(encode(row) + b"\n" for row in found)


def _points(found: Rows) -> bytes:
    from ledger.projections.export_points import points

    lines = (json_text(point) for row in found for point in points(row))
    return "".join(line + "\n" for line in lines).encode()


def _write(target: str, text: bytes) -> None:
    if target == STDOUT:
        sys.stdout.write(text.decode())
        return
    try:
        write_new(Path(target), text, 0o666)
    except FileExistsError:
        msg = f"{target} exists: nothing is written over, choose another name"
        raise UsageError(msg) from None
    except FileNotFoundError:
        msg = f"{Path(target).parent} is no folder: make it before the file in it"
        raise UsageError(msg) from None
