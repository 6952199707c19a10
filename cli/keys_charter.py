"""`ledger keys add`, `rotate` and `revoke`: who may sign, from the next charter on.

Each makes a charter from the one in force, signs it with a root's key, and says
what changed and what will not be possible any more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer

from ledger.cli import consequences, render
from ledger.cli.amending import (
    Amendment,
    RootKey,
    amending,
    key_file,
    print_amended,
    succession,
)
from ledger.cli.founding import new_key, parse_person
from ledger.cli.options import Json, LedgerDir
from ledger.cli.succession import Successor, retire
from ledger.errors import UsageError
from ledger.keys.keyfile import read_key
from ledger.keys.roster import Principal
from ledger.keys.signing import parse_verifier

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A principal's name.", show_default=False),
]
Since = Annotated[
    int | None,
    typer.Option(
        "--compromised-since",
        metavar="SEQ",
        min=0,
        help="The first entry that may not be the principal's own: from there on, what "
        "the key signed is flagged and never scored.",
        show_default=False,
    ),
]


def add(
    person: Annotated[
        str,
        typer.Argument(
            metavar="ROLE:NAME[:VKEY]",
            help="Who takes a role, by their verifier key; without one a key is made.",
            show_default=False,
        ),
    ],
    *,
    root_key: RootKey = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Let somebody new sign, by a new charter.

    For example:
      ledger keys add forecaster:rival:"$RIVAL" --ledger demo
    """
    stated = parse_person(person)
    name = stated.name
    with amending(ledger, root_key) as amendment:
        if amendment.principal_if_any(name) is not None:
            msg = f"the charter lists {name} already: `ledger keys rotate {name}` gives it another key"
            raise UsageError(msg)
        with _key(amendment, name, stated.key) as key:
            principal = Principal(key=key, name=name, role=stated.role)
            principals = (*amendment.charter.principals, principal)
            amended = amendment.freeze(principals=principals)
    print_amended(amended, consequences.added(principal), as_json=as_json)


@contextmanager
def _key(amendment: Amendment, name: str, stated: str | None) -> Iterator[str]:
    """Give the key that was stated, or make one where this user may hold it."""
    if stated is not None:
        yield stated
        return
    if amendment.charter.custody == "separate":
        msg = (
            f"custody is separate: let {name} make a key (`ledger keys new {name}`) and "
            f"give its public form, ROLE:{name}:VKEY"
        )
        raise UsageError(msg)
    file = key_file(amendment.folder, name)
    with succession(amendment, file, new_key(name)) as fresh:
        yield str(fresh.verifier)


def rotate(
    name: Name,
    *,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="VKEY",
            help="The new verifier key (default: a key is made where the old one is).",
            show_default=False,
        ),
    ] = None,
    compromised_since: Since = None,
    root_key: RootKey = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Give a principal another key; its chains go on under its name.

    A new key is made if the old one is in the ledger's keys/; that file is kept under
    another name. Whoever holds the key elsewhere makes one and sends its public form.

    For example:
      ledger keys rotate forecaster --ledger demo
      ledger keys rotate piper --key "$PIPER" --compromised-since 120 --ledger demo
    """
    with amending(ledger, root_key) as amendment:
        principal = amendment.principal(name)
        if key is None and _finished(amendment, principal, as_json=as_json):
            return
        with _next_key(amendment, principal, key) as now:
            amended = amendment.freeze(
                principals=_with_key(amendment, name, now),
                compromised_since=_since(amendment, name, compromised_since),
            )
        said = consequences.rotated(principal, amended.receipt.seq)
        said += _compromised(amendment, name, compromised_since)
    print_amended(amended, said, as_json=as_json)


def _finished(amendment: Amendment, principal: Principal, *, as_json: bool) -> bool:
    """Finish a rotation that was interrupted after its charter; tell if one was."""
    successor = Successor(key_file(amendment.folder, principal.name))
    waiting = successor.key()
    if waiting is None or str(waiting.verifier) != principal.key:
        return False
    successor.take_over(amendment.version)
    if as_json:
        render.json_line({"charter": amendment.version, "changed": []})
    render.note(
        f"{amendment.version} gave {principal.name} its new key before: it is now in "
        f"{successor.path}."
    )
    return True


@contextmanager
def _next_key(
    amendment: Amendment, principal: Principal, stated: str | None
) -> Iterator[str]:
    if stated is not None:
        yield stated
        return
    name, file = principal.name, key_file(amendment.folder, principal.name)
    if not file.exists() or str(read_key(file).verifier) != principal.key:
        msg = f"{file.parent} does not hold the key of {name}: whoever has it makes a new one (`ledger keys new {name}`), whose public form goes to --key VKEY"
        raise UsageError(msg)
    with succession(amendment, file, new_key(name)) as fresh:
        yield str(fresh.verifier)


def _with_key(amendment: Amendment, name: str, key: str) -> tuple[Principal, ...]:
    named = parse_verifier(key).name
    if named != name:
        msg = f"the key of {name} is named {named}: principals go by their key's name"
        raise UsageError(msg)
    return tuple(
        msgspec.structs.replace(each, key=key) if each.name == name else each
        for each in amendment.charter.principals
    )


def _since(amendment: Amendment, name: str, since: int | None) -> dict[str, int]:
    stated = amendment.charter.compromised_since
    return stated if since is None else {**stated, name: since}


def _compromised(amendment: Amendment, name: str, since: int | None) -> list[str]:
    if since is None:
        return []
    state = amendment.writer.state
    return consequences.compromised(amendment.folder, state, name, since)


def revoke(
    name: Name,
    *,
    compromised_since: Since = None,
    root_key: RootKey = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Let a principal sign nothing more; its name never comes back.

    With --compromised-since, what its key signed from there on is never scored; this
    can also be said of somebody who was revoked before.

    For example:
      ledger keys revoke rival --ledger demo
      ledger keys revoke rival --compromised-since 120 --ledger demo
    """
    with amending(ledger, root_key) as amendment:
        was_dropped = amendment.has_dropped(name) and compromised_since is not None
        principal = None if was_dropped else amendment.principal(name)
        amended = amendment.freeze(
            principals=tuple(
                each for each in amendment.charter.principals if each.name != name
            ),
            compromised_since=_since(amendment, name, compromised_since),
        )
        said = []
        if principal is not None:
            retire(key_file(amendment.folder, name), amended.version)
            state, seq = amendment.writer.state, amended.receipt.seq
            said += consequences.revoked(principal, state, seq)
        said += _compromised(amendment, name, compromised_since)
    print_amended(amended, said, as_json=as_json)
