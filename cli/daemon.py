"""`ledger daemon`: run, start and stop the process that writes for everybody."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import typer

from ledger.cli import failure, render
from ledger.cli.context import LOG_KEY_LOST, clock, find_ledger, state_home
from ledger.cli.options import Json, LedgerDir
from ledger.cli.teaching import TaughtCommand, group
from ledger.clock import monotonic_seconds, steady_seconds
from ledger.daemon.calling import answering, reached, sockets_of
from ledger.daemon.calling_wire import BusyError
from ledger.daemon.doctor_disk import is_held, lock_holder
from ledger.daemon.holder import noted_daemon
from ledger.durable import require_no_pipe
from ledger.errors import LedgerError, UncheckableError, UsageError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key

_ANSWER_SECONDS = 5
_TICK_SECONDS = 0.02
_JOURNAL = "daemon.log"
_PROGRAM = (sys.executable, "-c", "from ledger.cli.main import main; main()")

_LEAST_BYTES = 65_536  # Without so many free, not even a journal says what is wrong.

app = group()


class _Failed(msgspec.Struct, tag_field="event", tag="failed"):
    """The journal's line of a daemon that could not be started."""

    message: str


Socket = Annotated[
    str | None,
    typer.Option(
        "--socket",
        metavar="PATH",
        help="The daemon's socket (default: those of daemon.toml, the ledger's folder "
        "and the runtime folder).",
        show_default=False,
    ),
]
Seconds = Annotated[
    int, typer.Option("--timeout", metavar="SECONDS", min=1, help="Wait so long.")
]


@app.callback()
def daemon() -> None:
    """Run the process that writes to a ledger for everybody, and look after it.

    While it runs, agents and commands hand their events to it (docs/daemon.md).

    For example:
      ledger daemon start --ledger demo
      ledger daemon status --ledger demo
    """


@app.command("run", cls=TaughtCommand)
def run(
    *,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="FILE", help="Where the journal goes (default: stderr)."
        ),
    ] = None,
    ledger: LedgerDir = None,
) -> None:
    """Serve a ledger in the foreground until SIGTERM or Ctrl-C.

    The journal is one JSON object a line. Exits with 1 where a commit failed: start it
    again, and it reads what is true.

    For example:
      ledger daemon run --ledger demo
    """
    from ledger.daemon.journal import Journal
    from ledger.daemon.server import Around
    from ledger.daemon.server import run as serve

    folder = find_ledger(ledger)
    log_key = read_key(folder.log_key, LOG_KEY_LOST)
    around = Around(
        environment=os.environ,
        pid=os.getpid(),
        clock=clock(),
        steady=steady_seconds,
        state_home=state_home(),
    )
    if log is not None and Path(log).is_fifo():
        msg = f"--log is {log}, a pipe that would be waited for: name a file"
        raise UsageError(f"{msg}, or leave it out for stderr")
    stream: IO[str] = sys.stderr if log is None else _journal_file(Path(log))
    journal = Journal(stream, clock())
    try:
        code = serve(folder, log_key, around, journal)
    except (LedgerError, OSError) as found:
        error = failure.of_system(found) if isinstance(found, OSError) else found
        journal.alarm("failed", **failure.described(error))
        if stream is sys.stderr and not sys.stderr.isatty():
            # Who reads the journal there expects objects alone.
            raise typer.Exit(failure.exit_code(error)) from found
        raise
    if code:
        raise typer.Exit(code)


def _journal_file(path: Path) -> IO[str]:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace")


@app.command("start", cls=TaughtCommand)
def start(
    *,
    timeout: Seconds = 60,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Start the daemon in the background; return once it answers.

    Its journal is daemon.log in the ledger's folder. A long log that was changed by
    hand may take it minutes to read: --timeout.

    For example:
      ledger daemon start --ledger demo
    """
    folder = find_ledger(ledger)
    sockets = sockets_of(folder, None, os.environ)
    running = _answer(folder, sockets)
    if running is not None:
        raise _runs_already(folder, running)
    path = folder.path / _JOURNAL
    require_no_pipe(path)
    with _journal_file(path) as journal:
        begins_at = path.stat().st_size
        child = subprocess.Popen(  # noqa: S603 - this program
            [*_PROGRAM, "daemon", "run", "--ledger", str(folder.path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=journal,
            start_new_session=True,
            cwd="/",
        )
    for _ in _ticks(timeout):
        if child.poll() is not None:
            _require_no_rival(folder, sockets)
            said = _last_words(path, begins_at)
            msg = f"the daemon ended with {child.returncode}: {said}"
            if child.returncode == failure.REFUSED:
                raise UsageError(msg)
            raise UncheckableError(msg)
        running = _answer(folder, sockets)
        if running is not None and running[1]["pid"] == child.pid:
            _print({"pid": child.pid, "socket": running[0]}, as_json=as_json)
            return
    msg = f"process {child.pid} does not answer within {timeout} s: see {path}"
    raise UncheckableError(msg)


@app.command("stop", cls=TaughtCommand)
def stop(
    *,
    timeout: Seconds = 60,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Have the daemon answer what it was asked, and end; return once it has.

    For example:
      ledger daemon stop --ledger demo
    """
    folder = find_ledger(ledger)
    holder = lock_holder(folder.lock)
    pid = _daemon_to_stop(folder, holder)
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        msg = f"process {pid} is gone: another daemon may have been started"
        raise UncheckableError(msg) from None
    except PermissionError:
        msg = f"process {pid} is another user's: have that user stop it"
        raise UsageError(msg) from None
    for _ in _ticks(timeout):
        if _is_gone(folder, pid, is_known=holder is not None):
            _print({"pid": pid, "stopped": True}, as_json=as_json)
            return
    msg = (
        f"process {pid} still has the ledger after {timeout} s: see {_JOURNAL}; "
        f"`kill -KILL {pid}` ends it at once, and nothing that was answered is lost"
    )
    raise UncheckableError(msg)


@app.command("status", cls=TaughtCommand)
def status(
    *,
    socket: Socket = None,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print metrics for Prometheus.")
    ] = False,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Tell whether the daemon answers, and how it is; exit with 3 where it does not.

    For example:
      ledger daemon status --ledger demo
      ledger daemon status --prometheus > /var/lib/node_exporter/ledger.prom
    """
    from ledger.daemon.gauges import exposition

    folder = find_ledger(ledger)
    sockets = sockets_of(folder, socket, os.environ)
    caller, _ = reached(folder, sockets, seconds=_ANSWER_SECONDS, is_any_side=True)
    with closing(caller):
        found = caller.ask("status")
    if prometheus:
        render.document(exposition(found).rstrip("\n"))
    else:
        if not as_json:
            found = {**found, "suites": list(map(_suite, found.get("suites", ())))}
        _print({"socket": caller.path, **found}, as_json=as_json)


def _daemon_to_stop(folder: Folder, holder: int | None) -> int:
    """Return the process of a ledger's daemon; `holder` is who writes, where that is known.

    A daemon that says in the lock file who it is needs to answer nothing. Raises
    `UncheckableError` where no daemon is known, or whoever writes may be none.
    """
    noted = noted_daemon(folder)
    if holder is not None and holder == noted:
        return holder
    running = _answer(folder, sockets_of(folder, None, os.environ))
    # The lock says who writes; an answer that it is the daemon and not a command.
    if running is not None:
        return holder or int(running[1]["pid"])
    msg = f"no daemon answers for {folder.path}, and "
    if holder is not None:
        msg += (
            f"process {holder}, which answers no ping, writes to it: where that is its "
            f"daemon, `kill {holder}` ends it"
        )
    elif noted is not None and _is_held(folder):
        msg += (
            "who writes to it cannot be told: where process "
            f"{noted} is its daemon still, `kill {noted}` ends it"
        )
    else:
        msg += "nobody writes to it"
    raise UncheckableError(msg)


def _is_held(folder: Folder) -> bool:
    """Tell whether somebody has the lock, or nobody can tell."""
    try:
        return is_held(folder.lock)
    except (OSError, UncheckableError):
        return True


def _answer(folder: Folder, sockets: list[str]) -> tuple[str, Mapping[str, Any]] | None:
    """Return where a ledger's daemon answers, and how; None where none does.

    That it lets nobody in is an answer too, which says as much as one to a ping.
    """
    try:
        return answering(folder, sockets, seconds=_ANSWER_SECONDS, busy_seconds=0)
    except BusyError as busy:
        return (busy.path, busy.greeting) if busy.greeting else None
    except UncheckableError:
        return None


def _runs_already(folder: Folder, running: tuple[str, Mapping[str, Any]]) -> UsageError:
    pid = running[1]["pid"]
    return UsageError(f"the daemon of {folder.path} runs already, as process {pid}")


def _require_no_rival(folder: Folder, sockets: list[str]) -> None:
    """Raise `UsageError` where another daemon took the lock, once that one answers."""
    for _ in _ticks(_ANSWER_SECONDS):
        if lock_holder(folder.lock) is None:
            return
        running = _answer(folder, sockets)
        if running is not None:
            raise _runs_already(folder, running)


def _is_gone(folder: Folder, pid: int, *, is_known: bool) -> bool:
    """Tell whether a process has let the ledger go.

    Where systemd listens, a ping would only start the next one: the lock is asked.
    """
    if is_known:
        return lock_holder(folder.lock) != pid
    return _answer(folder, sockets_of(folder, None, os.environ)) is None


def _ticks(seconds: int) -> Iterator[None]:
    """Yield again and again for so many seconds, at the end once more."""
    ends_at = monotonic_seconds() + seconds
    while monotonic_seconds() < ends_at:
        yield
        time.sleep(_TICK_SECONDS)
    yield


def _last_words(path: Path, begins_at: int) -> str:
    """Return why a process ended, from what it wrote to the journal from there on."""
    for line in reversed(path.read_bytes()[begins_at:].splitlines()):
        try:
            return str(msgspec.json.decode(line, type=_Failed).message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Another daemon's line, or a traceback's.
    if shutil.disk_usage(path.parent).free < _LEAST_BYTES:
        return f"free space on the disk of {path.parent}, then start"
    return f"see {path}"


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.json_line(found)
        return
    render.facts(
        [(name.replace("_", " "), _shown(value)) for name, value in found.items()]
    )


def _suite(found: dict[str, Any]) -> str:
    name = str(found["suite"])
    return name if found["in_force"] else f"{name} (superseded)"


def _shown(value: object) -> object:
    match value:
        case dict():
            return ", ".join(
                f"{name.replace('_', ' ')} {_within(each)}"
                for name, each in value.items()
            )
        case list():
            return "\n".join(str(_shown(each)) for each in value) or None
        case _:
            return value


def _within(value: object) -> object:
    """Return how a value shows that shares its line with others."""
    match value:
        case None | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return " ".join(str(_shown(each)) for each in value)
        case _:
            return value
