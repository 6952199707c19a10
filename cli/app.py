"""The commands by name. Each is imported when it is called, and not before.

A line of `COMMANDS` is enough to add one: its module holds a function of that name,
or a `typer.Typer` called `app` for a group of commands. The first line of the help
stands here too, so that `ledger --help` imports none of them.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ledger import __version__
from ledger.cli import failure, growth, render
from ledger.cli.options import AS_JSON
from ledger.cli.teaching import MISUSE, SETTINGS, TaughtCommand, TaughtGroup
from ledger.errors import LedgerError, UsageError, WriterStoppedError


class Entry(NamedTuple):
    """Where a command stands in the help, where it is defined, and what it is for."""

    section: str
    place: str
    summary: str


SET_UP, WRITE, READ = "Set up", "Write", "Read"
SERVE, CHECK = "Serve", "Check and publish"
SECTIONS = (SET_UP, WRITE, READ, SERVE, CHECK)
COMMANDS = {
    "init": Entry(SET_UP, "init:init", "Make a ledger, its keys and its charter."),
    "keys": Entry(SET_UP, "keys:app", "Make and show keys, and change who may sign."),
    "suite": Entry(SET_UP, "suite:app", "Write, check, freeze and show suites."),
    "demo": Entry(
        SET_UP,
        "demo:demo",
        "Forecast a dozen real tasks, run them, score, verify, export, and forge a byte.",
    ),
    "append": Entry(
        WRITE, "append:append", "Append drafts or signed events, a line each."
    ),
    "sign": Entry(
        WRITE,
        "sign:sign",
        "Sign drafts for somebody else to append: one DSSE envelope a line.",
    ),
    "seal": Entry(
        WRITE, "seal:seal", "Seal a forecast before its question is resolved."
    ),
    "update": Entry(WRITE, "update:update", "Add a later forecast to a chain."),
    "resolve": Entry(
        WRITE, "resolve:resolve", "Open a question, or record what happened."
    ),
    "import": Entry(
        WRITE,
        "importing:app",
        "Turn files of other projects into drafts, which `ledger append` signs.",
    ),
    "run": Entry(
        WRITE,
        "run:app",
        "Seal a forecast, run a command, and record how it ended.",
    ),
    "log": Entry(READ, "log:log", "List the events of the log in order."),
    "show": Entry(
        READ, "show:show", "Show one event, its key and its place in the tree."
    ),
    "lineage": Entry(
        READ,
        "lineage:lineage",
        "Show each chain of a unit, what counts of it and why not, and its outcome.",
    ),
    "open": Entry(
        READ,
        "open:open_units",
        "List what is due, overdue and pending, and who has not forecast it.",
    ),
    "status": Entry(
        READ, "status:status", "Tell how far the ledger is and what it holds."
    ),
    "checkpoint": Entry(
        READ, "status:checkpoint", "Print the newest signed checkpoint."
    ),
    "rows": Entry(
        READ,
        "rows:rows",
        "Print the scores, a row for each forecaster, horizon, slot and slice.",
    ),
    "daemon": Entry(
        SERVE,
        "daemon:app",
        "Run the process that writes to a ledger for everybody, and look after it.",
    ),
    "inbox": Entry(
        SERVE,
        "inbox:inbox",
        "Take the signed events that were dropped into inbox/ as files, once.",
    ),
    "mcp": Entry(
        SERVE,
        "mcp:mcp",
        "Serve a forecaster's tools over the Model Context Protocol, on stdin and stdout.",
    ),
    "hook": Entry(
        SERVE, "hook:app", "Put the hook into an agent runtime, and see it at work."
    ),
    "curve": Entry(
        READ,
        "curve:curve",
        "Draw a forecaster's reliability curve, with bands for chance.",
    ),
    "compare": Entry(
        READ,
        "compare:compare",
        "Compare two competitors on the units that both forecast.",
    ),
    "verify": Entry(
        CHECK,
        "verify:verify_command",
        "Check everything that a ledger or a bundle claims, from its bytes up.",
    ),
    "doctor": Entry(
        CHECK, "doctor:doctor", "Tell whether all is well, and what to do where not."
    ),
    "export": Entry(
        CHECK, "export:export", "Write a bundle that others can recompute."
    ),
}


_WORDS = "ledger.words"


class Commands(TaughtGroup):
    """The table of commands, and the one place where errors become exit codes."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - typer's own
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.summary))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """List the commands in sections, in the order in which people need them."""
        for section in SECTIONS:
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name, entry.summary)
                        for name, entry in COMMANDS.items()
                        if entry.section == section
                    ]
                )

    def found(self, name: str) -> Any:  # noqa: ANN401
        """Return a command with its options, imported now."""
        return load(name)

    def resolve_command(self, ctx: Any, args: Any) -> Any:  # noqa: ANN401
        """Return the command that is called, imported now."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load(name), rest

    def parse_args(self, ctx: Any, args: Any) -> Any:  # noqa: ANN401
        """Remember the words, since a misspelt one keeps options from being read."""
        ctx.meta[_WORDS] = list(args)
        try:
            return super().parse_args(ctx, args)
        except BrokenPipeError as error:
            # Of the help or the version, which are printed here.
            raise typer.Exit(failure.report_of_system(error, as_json=False)) from None

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run a command; say what went wrong in one sentence and exit with its code."""
        growth.forget()
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except MISUSE as error:
            # What stands behind `--` is another program's.
            words = ctx.meta[_WORDS]
            if "--json" not in words[: (*words, "--").index("--")]:
                raise
            failure.report(UsageError(error.format_message()), as_json=True)
            raise typer.Exit(failure.REFUSED) from error
        except LedgerError as error:
            failure.report(error, as_json=ctx.meta.get(AS_JSON, False))
            failure.output_takes()
            if isinstance(error, WriterStoppedError):
                _tell_growth()
            raise typer.Exit(failure.exit_code(error)) from error
        except UnicodeEncodeError as error:
            told = failure.of_no_text(error)
            if told is None:
                raise
            failure.report(told, as_json=ctx.meta.get(AS_JSON, False))
            raise typer.Exit(failure.exit_code(told)) from error
        except KeyboardInterrupt:
            _tell_growth()
            raise typer.Exit(failure.INTERRUPTED) from None
        except OSError as error:
            as_json, done = ctx.meta.get(AS_JSON, False), growth.grown()
            code = failure.report_of_system(error, as_json=as_json, done=done)
            raise typer.Exit(code) from None


def _tell_growth() -> None:
    """Say that the log has more than before, where the command did not come to say so."""
    if done := growth.grown():
        render.note(done)


def load(name: str) -> TyperCommand | TyperGroup:
    """Return a command of the table, importing the module that holds it."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(import_module(f"ledger.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        found = alone(name, found)
    made = get_command(found)
    assert isinstance(made, TyperCommand | TyperGroup)
    made.name = name
    return made


def alone(name: str, function: Any) -> typer.Typer:  # noqa: ANN401 - any command
    """Return a Typer of one command."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(name, cls=TaughtCommand, context_settings=SETTINGS)(function)
    return made


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    context_settings=SETTINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"ledger {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger", metavar="DIR", help="The ledger's folder, for any command."
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            help="Print the version.",
            is_eager=True,
            callback=_say_version,
        ),
    ] = False,
) -> None:
    """Keep an append-only ledger of forecasts that are sealed before they are resolved.

    For example:
      ledger init demo --origin example.org/demo
      ledger suite new piper-self --track self > piper-self.toml
      ledger suite freeze piper-self.toml --ledger demo
      ledger rows --ledger demo

    Data goes to stdout, notes to stderr. Exit codes: 0 done, 1 something is false,
    2 refused or misused, 3 could not be checked.
    """
    del ledger, version  # Read from the context by the commands themselves.


def run(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and exit; without arguments, that of this process."""
    _require_streams()
    _require_no_secret(sys.argv[1:] if arguments is None else arguments)
    try:
        for stream in (sys.stdout, sys.stderr):
            # Output is UTF-8 wherever it goes: --json is read by programs.
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        try:
            get_command(app)(args=arguments, prog_name="ledger")
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Help is written before a command is invoked; some commands exit by themselves.
        raise SystemExit(failure.report_of_system(error, as_json=False)) from None


def _require_no_secret(arguments: Sequence[str]) -> None:
    """Refuse a private key among the arguments before anything could repeat it."""
    if any(map(failure.holds_secret, arguments)):
        told = UsageError(
            "an argument holds a private key: name the file that holds it. This key is "
            "in your shell's history now, and others saw it in the list of processes"
        )
        failure.report(told, as_json=False)
        raise SystemExit(failure.exit_code(told))


def _require_streams() -> None:
    """Refuse to work where stdout is closed; give closed others nothing to read or say.

    A closed stream's number would go to the next file that is opened, such as the log.
    """
    nowhere = Path(os.devnull)
    if sys.stdin is None:
        sys.stdin = nowhere.open(encoding="utf-8")
    is_closed = sys.stdout is None
    if is_closed:
        sys.stdout = nowhere.open("w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = nowhere.open("w", encoding="utf-8")
    if is_closed:
        closed = UsageError("standard output is closed: send it to a file or /dev/null")
        failure.report(closed, as_json=False)
        raise SystemExit(failure.exit_code(closed))
