"""`ledger keys`: private keys in files, their public halves, and who holds which."""

from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import render
from ledger.cli.context import (
    KeyRing,
    find_ledger_if_any,
    keys_folder,
    read_input,
    reading,
)
from ledger.cli.founding import new_key
from ledger.cli.keys_charter import add, revoke, rotate
from ledger.cli.keys_log import continue_log, rotate_log
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.standing import standing
from ledger.cli.teaching import TaughtCommand, group
from ledger.keys.keyfile import key_of, read_key, write_key
from ledger.keys.signing import VerifierKey

_NO_FILE = "FILE is the path of a key file, such as demo/keys/forecaster.key"

app = group()


@app.callback()
def keys() -> None:
    """Make and show keys, and change who may sign.

    A key file holds one private key, readable by its owner only; a principal signs with
    the file of its own name. What others need is the public form, the verifier key.

    For example:
      ledger keys new piper --out ~/.piper
      ledger keys show ~/.piper/piper.key
    """


@app.command(cls=TaughtCommand)
def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The principal's name.", show_default=False
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the file goes (default: keys/ of the ledger, else keys/ here).",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Make a key and print its public form.

    The file is FOLDER/NAME.key, readable by its owner only. It is never overwritten.

    For example:
      ledger keys new piper --out ~/.piper
    """
    if out is None:
        folder = find_ledger_if_any(ledger)
        out = Path("keys") if folder is None else folder.keys
    signer, path = new_key(name), out / f"{name}.key"
    write_key(path, signer)
    _print_key(signer.verifier, path, as_json=as_json)
    render.note(f"The private key is in {path}: whoever reads it can sign as {name}.")


@app.command(cls=TaughtCommand)
def show(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A key file, or - for stdin.", show_default=False
        ),
    ],
    *,
    as_json: Json = False,
) -> None:
    """Print a key file's public form, for others.

    For example:
      ledger keys show demo/keys/forecaster.key
    """
    if file == "-":
        # Lines may end as in a file.
        said = StringIO(read_input(file).decode("utf-8", "replace"), newline=None)
        text = said.read()
        signer = key_of(text, "what stdin gives", _NO_FILE)
    else:
        signer = read_key(Path(file), _NO_FILE)
    _print_key(signer.verifier, Path(file), as_json=as_json)


@app.command("list", cls=TaughtCommand)
def list_principals(
    *,
    ledger: LedgerDir = None,
    keys_at: KeysFolder = None,
    as_json: Json = False,
) -> None:
    """List the charter's principals, and whose key is at hand.

    For example:
      ledger keys list --ledger demo
    """
    with reading(ledger) as (folder, reader):
        principals = standing(reader).charter.principals
    ring = KeyRing(keys_folder(folder, keys_at))
    rows = []
    for each in principals:
        signer = ring.get(each.name)
        at_hand = signer is not None and str(signer.verifier) == each.key
        rows.append((each.name, each.role, each.key, at_hand))
    heads = ("name", "role", "key", "private_key_at_hand")
    if as_json:
        for row in rows:
            render.json_line(dict(zip(heads, row, strict=True)))
    else:
        render.table((*heads[:3], "private key at hand"), rows)


def _print_key(key: VerifierKey, path: Path, *, as_json: bool) -> None:
    if as_json:
        render.json_line(
            {
                "name": key.name,
                "key": str(key),
                "public": key.public.hex(),
                "key_id": key.key_id.hex(),
                "file": str(path),
            }
        )
    else:
        render.line(str(key))


app.command(cls=TaughtCommand)(add)
app.command(cls=TaughtCommand)(rotate)
app.command(cls=TaughtCommand)(revoke)
app.command("continue", cls=TaughtCommand)(continue_log)
app.command("rotate-log", cls=TaughtCommand)(rotate_log)
