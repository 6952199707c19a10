"""`ledger hook`: put the hook into an agent runtime, take it out, and see it at work.

What runtimes call is `ledger hook --config FILE`, which `ledger.cli.main` answers
before any of this is imported.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ledger.cli import render
from ledger.cli.context import find_ledger_if_any, state_home
from ledger.cli.drafting import Forecaster, Horizon, Suite, Template, option
from ledger.cli.hook_choice import (
    by_itself,
    completed,
    require_complete,
    unopened,
)
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.teaching import TaughtCommand, group
from ledger.daemon.hook_disabled import disabling
from ledger.daemon.hook_install import (
    RUNTIMES,
    Place,
    Runtime,
    hooks_folder,
    install,
    is_installed,
    program_of,
    read_record,
    runtime_file,
    uninstall,
)
from ledger.daemon.hook_settings import CLOSED, DEADLINE_MS, GATE, RECORD, counted
from ledger.errors import UsageError
from ledger.suite_table import listed

app = group()
SCOPES = ("user", "project")

Name = Annotated[
    str,
    typer.Argument(metavar="RUNTIME", help="claude or codex.", show_default=False),
]
Scope = Annotated[
    str, typer.Option("--scope", metavar="user|project", help="Whose configuration.")
]
File = Annotated[
    str | None, option("--file", "FILE", "The runtime's file, if it is another.")
]
Recording = Annotated[
    bool | None,
    typer.Option(
        "--record/--gate",
        help="Seal the forecast that a payload carries, or only want one (default).",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    option("--fail", "open|closed", "What to do while the ledger is out of reach."),
]
Key = Annotated[
    str | None, option("--key", "FILE", "The forecaster's private key (--record).")
]
Socket = Annotated[
    str | None, option("--socket", "PATH", "The daemon's socket, if it is another.")
]
Answers = Annotated[
    list[str] | None, option("--answer", "NAME", "The answers, the positive one first.")
]
Program = Annotated[
    str | None, option("--program", "FILE", "The `ledger` that is to be called.")
]


@app.callback()
def hook() -> None:
    """Put the hook into an agent runtime, and see it at work.

    It sees to it that a forecast is sealed before a dispatch starts. Runtimes call
    `ledger hook --config FILE` with their payload on stdin; how each is answered is in
    docs/hooks.md.

    For example:
      ledger hook install claude --ledger demo
      ledger hook status
    """


@app.command("install", cls=TaughtCommand)
def install_command(
    runtime: Name,
    *,
    scope: Scope = "user",
    file: File = None,
    record: Recording = None,
    fail: Policy = None,
    suite: Suite = None,
    template: Template = None,
    horizon: Horizon = None,
    forecaster: Forecaster = None,
    key: Key = None,
    socket: Socket = None,
    answers: Answers = None,
    program: Program = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Put the hook into a runtime's configuration; all else in it is kept.

    A second time it replaces itself, and keeps what is not said anew. Where the ledger's
    folder can be read, what is left out is taken from it; elsewhere name the suite, the
    template, the horizon, the socket, and for --record who forecasts, --key, --answer.

    For example:
      ledger hook install claude --ledger demo
      ledger hook install codex --record --fail open --ledger demo
    """
    chosen, path = _runtime(runtime), _file(runtime, scope, file)
    place = Place(state_home(), chosen, path)
    earlier = place.read_settings()
    said = {
        "suite": suite,
        "template": template,
        "horizon": horizon,
        "forecaster": forecaster,
        "key": None if key is None else str(Path(key).absolute()),
        "sockets": None if socket is None else [str(Path(socket).absolute())],
        "answers": answers or None,
        "positive": answers[0] if answers else None,
        "fail": fail,
        "mode": None if record is None else (GATE, RECORD)[record],
    }
    stated = {name: value for name, value in said.items() if value is not None}
    known = {"mode": GATE, "fail": CLOSED, **earlier, **stated}
    folder = find_ledger_if_any(ledger)
    known = completed(known, folder, keys_at) if folder else by_itself(known)
    rest = {"deadline_ms": DEADLINE_MS, "observed": str(place.folder / "observed")}
    known = {**rest, **known}
    require_complete(known)
    called = program_of(program or sys.argv[0], sys.executable)
    is_new = install(chosen, path, place, called, known)
    warning = unopened(known, folder) if folder else None
    if warning is not None:
        render.note(warning)
    _tell_installed(chosen, path, place, known, is_new=is_new, as_json=as_json)


@app.command("uninstall", cls=TaughtCommand)
def uninstall_command(
    runtime: Name, *, scope: Scope = "user", file: File = None, as_json: Json = False
) -> None:
    """Take the hook out of a runtime's configuration; what it counted is kept.

    Where nothing else was changed since, the file's bytes are those of before.

    For example:
      ledger hook uninstall claude
    """
    chosen, path = _runtime(runtime), _file(runtime, scope, file)
    was_there = uninstall(path, Place(state_home(), chosen, path))
    if as_json:
        render.json_line({"file": str(path), "removed": was_there})
    elif was_there:
        render.facts([("removed from", path)])
    else:
        render.note(f"{path} had no hook of this ledger's.")


@app.command("status", cls=TaughtCommand)
def status(*, as_json: Json = False) -> None:
    """Tell which runtimes call the hook, and what became of what they delivered.

    Deliveries that never come are the sign of a hook that is not called.

    For example:
      ledger hook status
    """
    folder = hooks_folder(state_home())
    records = sorted(folder.glob("*/installed.json")) if folder.is_dir() else []
    for path in records:
        known = read_record(path)
        if known is None:
            continue
        chosen = RUNTIMES[known.runtime]
        place = Place(state_home(), chosen, Path(known.file))
        settings = place.read_settings()
        shown = {
            "runtime": known.runtime,
            "file": known.file,
            "installed": is_installed(Path(known.file), place),
            "disabled": disabling(chosen, Path(known.file), os.environ),
            "mode": settings.get("mode"),
            "fail": settings.get("fail"),
            "suite": settings.get("suite"),
            "deliveries": counted(str(place.folder)),
        }
        if as_json:
            render.json_line(shown)
        else:
            _print(shown)
    if not records:
        render.note("No hook is installed: `ledger hook install claude --ledger DIR`.")


def _print(shown: dict[str, Any]) -> None:
    counts = shown.pop("deliveries")
    probes = counts.pop("probe")  # The doctor's own, and no delivery.
    words = [f"{count} {name}" for name, count in counts.items() if count]
    shown["installed"] = "yes" if shown["installed"] else "no: install it again"
    facts = [(name, value) for name, value in shown.items() if value != ""]
    said = ("deliveries", ", ".join(words) or "none yet")
    render.facts([*facts, said, *([("probes", probes)] if probes else [])])


def _runtime(name: str) -> Runtime:
    found = RUNTIMES.get(name)
    if found is None:
        msg = (
            f"{name} is no runtime that the hook is put into by itself: write "
            f"{listed(RUNTIMES)}; for others see docs/hooks.md"
        )
        raise UsageError(msg)
    return found


def _file(runtime: str, scope: str, stated: str | None) -> Path:
    if scope not in SCOPES:
        msg = f"--scope {scope}: write {listed(SCOPES)}"
        raise UsageError(msg)
    if stated is not None:
        return Path(stated).absolute()
    return runtime_file(_runtime(runtime), scope, os.environ)


def _tell_installed(
    runtime: Runtime,
    path: Path,
    place: Place,
    known: dict[str, Any],
    *,
    is_new: bool,
    as_json: bool,
) -> None:
    why = disabling(runtime, path, os.environ)
    facts = {
        "file": str(path),
        "settings": str(place.settings),
        "mode": known["mode"],
        "fail": known["fail"],
        "disabled": why,
        "changed": is_new,
    }
    if as_json:
        render.json_line(facts)
        return
    shown = {name: value for name, value in facts.items() if name != "changed"}
    render.facts([each for each in shown.items() if each[1] != ""])
    render.note(runtime.after if is_new else "It was there already, as it is now.")
    if why:
        render.note(
            f"{runtime.name} calls no hook at all as long as that setting stands: take "
            "it out."
        )
