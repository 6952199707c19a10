"""Options that many commands share. They only take values down: `context` uses them."""

import os
from typing import Annotated, Any

import typer

from ledger.daemon.homes import LEDGER_DIR

# Where a context remembers that its command was called with --json.
AS_JSON = "ledger.as_json"


def _remember_json(ctx: typer.Context, value: Any) -> Any:  # noqa: ANN401 - a flag
    ctx.meta[AS_JSON] = bool(value)
    return value


def _ledger_of(ctx: typer.Context, value: str | None) -> str | None:
    """Return what was said after the command, before it, or in the environment."""
    before = ctx.find_root().params.get("ledger")
    stated = before if value is None else value
    if stated == "":
        # An unset variable of the shell, perhaps: no other ledger is meant by that.
        msg = "it is empty: name the ledger's folder, or leave --ledger out"
        raise typer.BadParameter(msg)
    return stated or os.environ.get(LEDGER_DIR) or None


Json = Annotated[
    bool,
    typer.Option(
        "--json", callback=_remember_json, help="Print JSON for programs, a line each."
    ),
]
LedgerDir = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="DIR",
        callback=_ledger_of,
        help=f"The ledger's folder (or {LEDGER_DIR}; default: the current folder).",
        show_default=False,
    ),
]
KeysFolder = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="FOLDER",
        help="Where the private keys are (default: keys/ in the ledger's folder).",
        show_default=False,
    ),
]


# Of a command that is about one suite, which need not be named where only one fits.
OneSuite = Annotated[
    str | None,
    typer.Option("--suite", metavar="NAME@vN", help="The suite version, if several."),
]
# Of a command that can be asked for the numbers of an earlier day.
At = Annotated[
    int | None,
    typer.Option(
        "--at",
        metavar="SIZE",
        help="As it was when the log had SIZE entries.",
        show_default=False,
    ),
]
AtLook = Annotated[
    int | None,
    typer.Option(
        "--look",
        metavar="N",
        help="As it was when a suite's look at N resolved units fell due.",
        show_default=False,
    ),
]


def several(values: list[str] | None) -> list[str]:
    """Return the values of an option that is repeated or separated by commas.

    >>> several(["horizon,tag:repo", "slot"])
    ['horizon', 'tag:repo', 'slot']
    """
    return [each for value in values or () for each in value.split(",") if each]
