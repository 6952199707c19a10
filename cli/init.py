"""`ledger init`: a folder, its keys, and the charter that says who may sign what."""

from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import render
from ledger.cli.founding import Founding, found, plan
from ledger.cli.options import Json
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.suite_table import listed
from ledger.writer import Receipt

SHARED = (
    "Custody is shared: the private keys of {names} lie in {place}, so whoever reads "
    "that folder can forecast, open questions and judge them. That is right for a trial, "
    "and every row says so. For real separation let each make a key of their own "
    "(`ledger keys new NAME`) and found the ledger with --principal ROLE:NAME:VKEY."
)


Dir = Annotated[
    Path, typer.Argument(metavar="DIR", help="The new folder.", show_default=False)
]
Origin = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The log's name for ever, such as example.org/forecasts.",
        show_default=False,
    ),
]
People = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE:NAME[:VKEY]",
        help="Who takes a role, by their verifier key; without one a key is made. "
        "May be repeated.",
        show_default=False,
    ),
]
RootKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The key file of the root who signs the charter; it is not copied.",
        show_default=False,
    ),
]
Custody = Annotated[
    str | None,
    typer.Option(
        metavar="shared|separate",
        help="Whether one user holds several roles' keys, where they were made "
        "elsewhere.",
        show_default=False,
    ),
]


def init(
    folder: Dir,
    *,
    origin: Origin,
    principal: People = None,
    root_key: RootKey = None,
    custody: Custody = None,
    as_json: Json = False,
) -> None:
    r"""Make a ledger, its keys and its charter.

    Each role gets a principal of its own name and a key in DIR/keys: root, evaluator,
    issuer, resolver, forecaster. --principal puts others in their place. Custody is
    separate if this command made no private key but root's, else it is shared.
    Keep what is printed: with the log's key and a checkpoint anyone can check the log.

    For example:
      ledger init demo --origin example.org/demo
      ledger init trial --origin example.org/trial --principal forecaster:piper
      ledger init real --origin example.org/real --root-key root.key \
        --principal evaluator:eve:"$EVE" --principal issuer:dispatcher:"$DISPATCHER" \
        --principal resolver:harness:"$HARNESS" --principal forecaster:piper:"$PIPER"
    """
    root = None if root_key is None else read_key(root_key)
    founding = plan(origin, principal or [], root, custody)
    receipt = found(folder, founding)
    if as_json:
        render.json_line(_described(folder, founding, receipt))
    else:
        _show(folder, founding, receipt)
    if founding.custody == "shared" and founding.made:
        names = listed([key.name for key in founding.made], last="and")
        render.note(SHARED.format(names=names, place=Folder(folder).keys))


def _described(folder: Path, founding: Founding, receipt: Receipt) -> dict[str, object]:
    made = {key.name for key in founding.made}
    return {
        "folder": str(folder),
        "ledger": receipt.event_id,
        "origin": founding.log_key.name,
        "log_key": str(founding.log_key.verifier),
        "checkpoint": receipt.checkpoint,
        "custody": founding.custody,
        "principals": [
            {
                "name": each.name,
                "role": each.role,
                "key": each.key,
                "file": str(_key_file(folder, each.name))
                if each.name in made
                else None,
            }
            for each in founding.principals
        ],
    }


def _show(folder: Path, founding: Founding, receipt: Receipt) -> None:
    made = {key.name for key in founding.made}
    render.facts(
        [
            ("ledger", receipt.event_id),
            ("log key", founding.log_key.verifier),
            ("checkpoint", receipt.checkpoint.rstrip("\n")),
            ("custody", founding.custody),
        ]
    )
    render.line("")
    render.table(
        ("role", "name", "private key"),
        [
            (
                each.role,
                each.name,
                _key_file(folder, each.name) if each.name in made else None,
            )
            for each in founding.principals
        ],
    )


def _key_file(folder: Path, name: str) -> Path:
    return Folder(folder).keys / f"{name}.key"
