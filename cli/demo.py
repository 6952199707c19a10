"""`ledger demo`: a whole ledger, from its keys to a forged byte, in half a minute."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ledger.cli import demo_drafts as drafts
from ledger.cli import demo_proof as proof
from ledger.cli import failure, render
from ledger.cli.context import clock
from ledger.cli.demo_stage import KEPT_NOTE, LEDGER, DemoError, Stage
from ledger.cli.demo_suite import suite_toml
from ledger.cli.demo_tasks import TASKS
from ledger.cli.demo_work import Observed, program_path, resolution, run_all, verdict
from ledger.cli.options import Json
from ledger.clock import monotonic_seconds
from ledger.errors import UsageError

# How many commands must fit between opening and cut-off, on a slow machine too.
_COMMANDS_BEFORE_CUTOFF = 4
_SECONDS_BEFORE_CUTOFF_MIN = 3
_REVISED = "flaky-upload"
_LINES_OF_RECEIPTS = 3


class Told(msgspec.Struct, kw_only=True):
    """What the demo found, for programs."""

    folder: str
    tasks: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    lineage: dict[str, Any] = {}
    verify: dict[str, Any] = {}
    bundle: dict[str, Any] = {}
    forged: dict[str, Any] = {}
    commands: list[dict[str, Any]] = []


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Work in this new folder and leave it there, to look around.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Forecast a dozen real tasks, run them, score, verify, export, and forge a byte.

    Everything happens in a temporary folder (or in --keep DIR), the state that is
    usually kept outside a ledger included; nothing else is touched. Each command
    that is shown is run as it stands.

    For example:
      ledger demo
      ledger demo --keep look-around
    """
    with _folder(keep) as folder:
        stage, told = Stage(folder, silent=as_json), Told(folder=str(folder))
        try:
            _tell(stage, told)
        except DemoError as error:
            failure.report(error, as_json=as_json)
            raise typer.Exit(failure.FALSE) from error
        told.commands = [
            {"command": ran.command, "exit_status": ran.exit_status}
            for ran in stage.ran
        ]
        if as_json:
            render.json_line(told)
        elif keep is not None:
            render.document(
                f"\nKept in {folder}: `ledger log --ledger {folder / LEDGER}`"
            )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="ledger-demo-") as made:
            yield Path(made).resolve()
        return
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        msg = f"{keep} cannot be made ({error.strerror}): --keep takes a new folder"
        raise UsageError(msg) from None
    yield keep.resolve()


def _tell(stage: Stage, told: Told) -> None:
    cutoff = _forecast(stage, _found(stage))
    seen = _work(stage, cutoff)
    told.tasks = [_summary(each) for each in seen]
    told.rows = proof.score(stage)
    told.lineage = proof.lineage(stage, _REVISED)
    told.verify = proof.verify(stage)
    told.bundle = proof.export(stage)
    told.forged = proof.forge(stage)


def _found(stage: Stage) -> timedelta:
    """Make the ledger and freeze the suite; return how long to wait for cut-off."""
    stage.act(
        "A ledger, and a key for each role",
        "Who forecasts cannot judge: each role signs with a key of its own, and entry 0 "
        "of the log says which key may sign what. (Here one user holds all of them, so "
        "custody is `shared`, and every row says so.)",
    )
    stage.ledger("init", LEDGER, "--origin", "example.org/demo")
    stage.act(
        "The rules, before the first outcome",
        "The suite fixes what is asked, who resolves it, how it is scored against which "
        "baseline, and the bytes of every program that will run. A change of any of it "
        "would be another version, for all to see.",
    )
    for task in TASKS:
        path = stage.folder / program_path(task)
        path.parent.mkdir(exist_ok=True)
        path.write_text(task.program, "utf-8")
    (stage.folder / "tasks.toml").write_text(suite_toml(), "utf-8")
    started = monotonic_seconds()
    stage.ledger("suite", "freeze", "tasks.toml")
    # On a slow machine the cut-off comes later, so that one forecast only is late.
    took = timedelta(seconds=monotonic_seconds() - started)
    enough = timedelta(seconds=_SECONDS_BEFORE_CUTOFF_MIN)
    return max(enough, took * _COMMANDS_BEFORE_CUTOFF)


def _forecast(stage: Stage, patience: timedelta) -> datetime:
    """Open and forecast the tasks; return the cut-off."""
    stage.act(
        "Forecasts, sealed before anything runs",
        f"The issuer announces {len(TASKS)} tasks, so that work which nobody forecasts "
        f"shows too; cut-off is in {patience.seconds} seconds. The forecaster commits. "
        "A receipt means: on disk, signed, in the tree, under a signed checkpoint.",
    )
    now = clock()()
    cutoff = now + patience
    lines = [drafts.opened(task, now, cutoff) for task in TASKS]
    lines += [drafts.sealed(task) for task in TASKS if task.fate in ("runs", "stopped")]
    stage.ledger(
        "append", stage.write("forecasts.jsonl", lines), shown=_LINES_OF_RECEIPTS
    )
    stage.say("\nThe forecaster changes its mind, twice. What it said first stands:")
    updates = [update for task in TASKS for update in drafts.updated(task)]
    stage.ledger("append", stage.write("updates.jsonl", updates))
    stage.say("\nAn auditor keeps the checkpoint of this moment:")
    note = stage.ledger("checkpoint").stdout
    (stage.folder / KEPT_NOTE).write_text(note, "utf-8")
    return cutoff


def _work(stage: Stage, cutoff: datetime) -> list[Observed]:
    stage.act(
        "Too late, then the work itself",
        "After the cut-off one more forecast arrives: it is kept, flagged and counted, "
        "and it will never be scored. Then every program runs, as a process of its own.",
    )
    time.sleep(max(0, (cutoff - clock()()).total_seconds()) + 0.1)
    late = [drafts.sealed(task) for task in TASKS if task.fate == "late"]
    stage.ledger("append", stage.write("late.jsonl", late))
    seen = run_all(TASKS, stage.folder, clock())
    stage.say("")
    stage.table(
        ("task", "forecast", "ran", "exit", "recorded as", "because"),
        (tuple(_summary(each).values()) for each in seen),
    )
    stage.say(
        "\nThe resolver signs what it saw, with its own key. Only an exit status makes an "
        "outcome;\nwhat was not decided is VOID, CANCELED or CENSORED, never a failure:"
    )
    records = [resolution(each) for each in seen]
    stage.ledger(
        "append", stage.write("resolutions.jsonl", records), shown=_LINES_OF_RECEIPTS
    )
    return seen


def _summary(seen: Observed) -> dict[str, Any]:
    judged = verdict(seen)
    return {
        "task": seen.task.name,
        "forecast": seen.task.passes,
        "ran": f"{seen.milliseconds} ms",
        "exit_status": seen.exit_status,
        "status": judged.get("outcome") or judged["status"],
        "because": judged.get("reason_code") or seen.last_line or None,
    }
