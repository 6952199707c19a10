"""`ledger doctor`: is the ledger well, and if not, what to do."""

import os
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ledger.cli import render
from ledger.cli.context import clock, find_ledger, state_home
from ledger.cli.failure import FALSE
from ledger.cli.options import Json, LedgerDir
from ledger.clock import steady_seconds
from ledger.daemon.diagnosis import Diagnosis
from ledger.daemon.doctor import diagnose
from ledger.daemon.doctor_clock import accept_clock
from ledger.daemon.patient import Surroundings
from ledger.folder import Folder

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "yellow"}
_STATUS_WIDTH, _NAME_WIDTH = 4, 11


def doctor(
    *,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept-clock",
            help="First take the clock as it stands, after a jump: you have looked at it.",
        ),
    ] = False,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Tell whether all is well, and what to do where not.

    Looks at the ledger and its machine and changes nothing; works beside whoever writes.
    Exits with 1 if anything fails. The lines are explained in docs/operating.md.

    For example:
      ledger doctor --ledger demo
    """
    folder = _folder(ledger)
    around = Surroundings(
        uid=os.geteuid(), clock=clock(), steady=steady_seconds, state_home=state_home()
    )
    if accept:
        render.note(accept_clock(folder, around))
    found = diagnose(folder, around)
    is_well = all(each.status != "fail" for each in found)
    if as_json:
        render.json_line({"ok": is_well, "checks": msgspec.to_builtins(found)})
    else:
        for each in found:
            _print(each)
        render.note(_summary(found))
    if not is_well:
        raise typer.Exit(FALSE)


def _folder(stated: str | None) -> Folder:
    """Return a ledger's folder, sound or not; raise `UsageError` for no ledger."""
    folder = Folder(Path(stated or "."))
    return folder if os.access(folder.log, os.F_OK) else find_ledger(stated)


def _print(found: Diagnosis) -> None:
    word = render.styled(
        found.status.ljust(_STATUS_WIDTH), _COLOURS[found.status], sys.stdout
    )
    render.line(f"{word}  {found.name.ljust(_NAME_WIDTH)}  {found.detail}")
    if found.remedy:
        indent = " " * (_STATUS_WIDTH + _NAME_WIDTH + 4)
        render.line(f"{indent}do: {found.remedy}")


def _summary(found: list[Diagnosis]) -> str:
    counts = {
        status: sum(each.status == status for each in found)
        for status in ("fail", "warn", "skip")
    }
    said = [f"{count} {status}" for status, count in counts.items() if count]
    return f"{len(found)} checks: {', '.join(said) or 'all is well'}."
