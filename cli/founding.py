"""Founding a ledger: who will be who, which keys are made, and the folder itself."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ledger import codec
from ledger.cli.context import clock, state_home
from ledger.clock import steady_seconds
from ledger.errors import UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.ids import CHARTER
from ledger.keys.keyfile import write_key
from ledger.keys.roster import ROLES, Principal, Role
from ledger.keys.signing import (
    SignerKey,
    new_signer,
    parse_verifier,
    require_no_secret,
)
from ledger.log import create
from ledger.suite import CharterManifest
from ledger.suite_table import listed, repeated, suggestion
from ledger.writer import Receipt, Submission

CUSTODY = ("shared", "separate")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who takes a role: by their public key, or by one that is made here."""

    role: Role
    name: str
    key: str | None = None


class Founding(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is fixed before the folder exists."""

    log_key: SignerKey
    root: SignerKey
    principals: tuple[Principal, ...]
    # The private keys that this command makes and leaves in the folder.
    made: tuple[SignerKey, ...]
    custody: str


def plan(
    origin: str, stated: list[str], root: SignerKey | None, custody: str | None
) -> Founding:
    """Return who will be who; whoever brought no key gets one.

    Raises `UsageError` for a principal that cannot be read, for a custody that would
    not be true, and where nobody could sign the charter.
    """
    log_key = _log_key(origin)
    people = list(_people([parse_person(text) for text in stated], root))
    twice = next(repeated(each.name for each in people), None)
    if twice is not None:
        msg = (
            f"{twice} is named twice: a principal has one role, so give each a name of "
            "its own"
        )
        raise UsageError(msg)
    made = {
        (each.role, each.name): new_key(each.name) for each in people if not each.key
    }
    roots = [key for (role, _), key in made.items() if role == "root"]
    if root is None and not roots:
        msg = (
            "the charter is signed by a root: give one's key file with --root-key FILE"
        )
        raise UsageError(msg)
    return Founding(
        log_key=log_key,
        root=root or roots[0],
        principals=tuple(
            Principal(
                key=each.key or str(made[each.role, each.name].verifier),
                name=each.name,
                role=each.role,
            )
            for each in people
        ),
        made=tuple(made.values()),
        custody=_custody(custody, {role for role, _ in made}),
    )


def parse_person(text: str) -> Person:
    """Read ROLE:NAME or ROLE:NAME:VKEY; raise `UsageError` otherwise."""
    require_no_secret(text)
    stated, _, rest = text.partition(":")
    name, _, key = rest.partition(":")
    role = next((each for each in ROLES if each == stated), None)
    if role is None or not name:
        hint = (
            f"a name is missing, as in {role}:{role}"
            if role is not None
            else suggestion(stated, ROLES) or f"the roles are {listed(ROLES)}"
        )
        msg = f"{text} is not ROLE:NAME or ROLE:NAME:VKEY: {hint}"
        raise UsageError(msg)
    if key and parse_verifier(key).name != name:
        named = parse_verifier(key).name
        msg = f"the key of {name} is named {named}: principals go by their key's name"
        raise UsageError(msg)
    return Person(role=role, name=name, key=key or None)


def new_key(name: str) -> SignerKey:
    """Return a fresh key; refuse a name that its file could not have."""
    if "/" in name or name.startswith("."):
        msg = f"{name!r} cannot name a key file: leave out '/' and a leading '.'"
        raise UsageError(msg)
    return new_signer(name, secrets.token_bytes(32))


def _log_key(origin: str) -> SignerKey:
    try:
        return new_signer(origin, secrets.token_bytes(32))
    except UsageError as error:
        raise UsageError(f"--origin names the log's key, and {error}") from None


def _people(stated: list[Person], root: SignerKey | None) -> Iterator[Person]:
    """Yield the principals role after role; no role stays empty."""
    for role in ROLES:
        people = [person for person in stated if person.role == role]
        if role == "root" and root is not None:
            yield Person(role=role, name=root.name, key=str(root.verifier))
            people = [person for person in people if person.name != root.name]
        elif not people:
            yield Person(role=role, name=role)
        yield from people


def _custody(stated: str | None, roles_made: set[Role]) -> str:
    """Return `shared` if one user now holds several roles' keys, or says so."""
    actual = "shared" if roles_made - {"root"} else "separate"
    if stated is not None and stated not in CUSTODY:
        msg = f"--custody is {stated}: write {listed(CUSTODY)}"
        raise UsageError(msg)
    if stated == "separate" and actual == "shared":
        roles = listed(sorted(roles_made), last="and")
        msg = (
            f"custody is not separate while this command makes the keys of {roles}: let "
            "each make its own (`ledger keys new NAME`), and bring the public forms with "
            "--principal ROLE:NAME:VKEY"
        )
        raise UsageError(msg)
    return stated or actual


def found(folder: Path, founding: Founding) -> Receipt:
    """Make the ledger; a failure leaves nothing behind, and no ledger is replaced."""
    with _new_folder(folder, founding.log_key) as place:
        place.keys.mkdir(mode=0o700)
        for signer in founding.made:
            write_key(place.keys / f"{signer.name}.key", signer)
        return create(
            place,
            _charter(founding),
            founding.log_key,
            clock=clock(),
            state_home=state_home(),
            steady=steady_seconds,
        )


@contextmanager
def _new_folder(path: Path, log_key: SignerKey) -> Iterator[Folder]:
    """Give a folder that holds the log's key only, and remove it if the rest fails."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    folder = Folder(path)
    if path.exists() and not path.is_dir():
        msg = f"{path} is a file, and a ledger is a folder: choose another name"
        raise UsageError(msg)
    if path.exists() and any(path.iterdir()):
        what = "holds a ledger already" if folder.log.exists() else "is not empty"
        msg = f"{path} {what}: choose another folder"
        raise UsageError(msg)
    is_ours = False
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        # Whoever writes this file owns the folder: it is never overwritten.
        write_key(folder.log_key, log_key)
        is_ours = True
        yield folder
    except BaseException:
        for inside in path.iterdir() if is_ours else ():
            shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
        # What another process makes here meanwhile is not ours to remove.
        with suppress(OSError):
            for made in missing:
                made.rmdir()
        raise


def _charter(founding: Founding) -> Submission:
    payload = codec.encode(
        SuiteFrozen(
            author=founding.root.name,
            created_at=clock()(),
            suite=f"{CHARTER}@v1",
            manifest=CharterManifest(
                origin=founding.log_key.name,
                log_keys=(str(founding.log_key.verifier),),
                custody="shared" if founding.custody == "shared" else "separate",
                created_ahead_seconds=300,
                backdated_seconds=3600,
                clock_jump_seconds=60,
                principals=founding.principals,
            ),
        )
    )
    return Submission.signed_by(founding.root, payload)
