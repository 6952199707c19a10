"""`ledger run`: a forecast is sealed, then the command runs, then its end is recorded."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ledger.cli import drafting, render
from ledger.cli.advice import with_option
from ledger.cli.context import KeyRing, clock, find_ledger, keys_folder, state_home
from ledger.cli.drafting import bar, option, pairs, spread
from ledger.cli.options import KeysFolder, LedgerDir
from ledger.cli.teaching import SETTINGS, TaughtCommand
from ledger.daemon.running import run as run_order
from ledger.daemon.running_child import NOT_FOUND, is_runnable
from ledger.daemon.running_desk import Place
from ledger.daemon.running_meaning import Said
from ledger.daemon.running_seal import Order
from ledger.errors import RefusedError, UsageError
from ledger.keys.keyfile import read_key
from ledger.keys.signing import SignerKey

# What stands after the command's name is the command's.
app = typer.Typer(add_completion=False, rich_markup_mode=None)
_SETTINGS = {**SETTINGS, "allow_interspersed_args": False}
_TIMEOUT_SECONDS_MAX = 365 * 86_400
_KEY = "A principal of the key folder, or a key file."

Command = Annotated[
    list[str],
    typer.Argument(metavar="CMD...", help="What to run.", show_default=False),
]
Probabilities = Annotated[
    list[str],
    typer.Option(
        "--probability",
        "-p",
        metavar="[ANSWER=]P",
        help="That it exits with 0; or of an answer by its name.",
        show_default=False,
    ),
]
Issuer = Annotated[str | None, option("--issuer", "KEY", f"Opens the question. {_KEY}")]
Resolver = Annotated[
    str | None, option("--resolver", "KEY", f"Records the outcome. {_KEY}")
]
Timeout = Annotated[
    int | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        max=_TIMEOUT_SECONDS_MAX,
        help="End it then; the unit is CENSORED.",
        show_default=False,
    ),
]
Duration = Annotated[
    str | None,
    option("--duration", "NUMBER", "How long it will take, in the suite's unit."),
]
Cost = Annotated[
    str | None, option("--cost", "NUMBER", "What it will cost, in the suite's unit.")
]


@app.command("run", cls=TaughtCommand, context_settings=_SETTINGS)
def run(
    command: Command,
    *,
    probabilities: Probabilities,
    suite: drafting.Suite = None,
    template: drafting.Template = None,
    id: drafting.Id = None,  # noqa: A002 - the field's name
    horizon: drafting.Horizon = None,
    forecaster: drafting.Forecaster = None,
    issuer: Issuer = None,
    resolver: Resolver = None,
    target: drafting.Target = None,
    cluster: drafting.Cluster = None,
    tags: drafting.Tags = None,
    acceptance: drafting.Acceptance = None,
    timeout: Timeout = None,
    duration: Duration = None,
    cost: Cost = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
) -> None:
    r"""Seal a forecast, run a command, and record how it ended.

    The forecast is durable before the command starts; where it is refused, nothing
    runs. The command's streams and signals are its own, and its exit status is this
    one's: 128 and more for a signal. Where an issuer opens the suite's questions, as in
    those of `suite new`, add --issuer, and --acceptance where they need a bar. Without
    --resolver, what was seen is left in inbox/observed/ for the resolver. docs/running.md
    has every case.

    For example:
      ledger run -p 0.8 --ledger demo -- make test
      ledger run -p 0.9 --issuer issuer --resolver resolver --tag domain=bugfix \
        --acceptance acceptance/run.sh --timeout 600 -- sh acceptance/run.sh
    """
    stated = locals()
    if not is_runnable(command[0]):
        msg = f"error: there is no program {command[0]} to run: nothing was sealed"
        render.note(msg)
        raise typer.Exit(NOT_FOUND)
    folder = find_ledger(ledger)
    order = _order(stated, KeyRing(keys_folder(folder, keys_at)))
    place = Place(
        folder=folder,
        environment=os.environ,
        state_home=state_home(),
        clock=clock(),
    )
    try:
        code = run_order(order, place, _tell)
    except RefusedError as refusal:
        raise with_option(refusal) from refusal
    raise typer.Exit(code)


def _tell(told: str) -> None:
    # Whoever closed stderr wants no notes; the command is run all the same.
    with suppress(OSError):
        render.note(f"ledger: {told}")


def _order(stated: Mapping[str, Any], ring: KeyRing) -> Order:
    """Return what a command's parameters order."""
    names = ("suite", "template", "id", "horizon", "forecaster")
    return Order(
        command=stated["command"],
        said=Said(**{name: stated[name] for name in names}),
        vector=partial(spread, stated["probabilities"]),
        bar=partial(_bar, stated["acceptance"]),
        signers=ring.all(),
        issuer=_key(stated["issuer"], ring),
        resolver=_key(stated["resolver"], ring),
        target=stated["target"],
        cluster=stated["cluster"],
        tags=pairs(stated["tags"] or []),
        quantities={
            name: stated[name] for name in ("duration", "cost") if stated[name]
        },
        timeout_seconds=stated["timeout"],
    )


def _bar(acceptance: str | None) -> str | None:
    if acceptance is None:
        return None
    path = Path(acceptance)
    if acceptance == "-" or (path.exists() and not path.is_file()):
        msg = f"--acceptance is {acceptance}, no file: a run reads its bar again at the end"
        raise UsageError(f"{msg}, so name a file, or its SHA-256")
    return bar(acceptance)


def _key(stated: str | None, ring: KeyRing) -> SignerKey | None:
    """Return the key of a principal, or that of a file."""
    if stated is None:
        return None
    if stated not in ring and Path(stated).is_file():
        return read_key(Path(stated))
    return ring.require(stated)
