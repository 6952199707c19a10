"""Private keys: whose they are, who can read them, and whether that is what was said."""

import os
from pathlib import Path

from ledger.daemon.diagnosis import (
    Diagnosis,
    Problem,
    command,
    fail,
    ok,
    skip,
    together,
)
from ledger.daemon.doctor_disk import mode_of, user_name
from ledger.daemon.patient import Patient, Readable
from ledger.durable import read_regular
from ledger.errors import LedgerError, UsageError
from ledger.keys.roster import Principal
from ledger.keys.signing import SignerKey, parse_signer

_OTHERS = 0o077


def log_key(patient: Patient) -> Diagnosis:
    """Tell whether the key that signs checkpoints is here and the charter's."""
    path, found = patient.folder.log_key, patient.log
    closed = _closed(path)
    if closed is not None:
        return fail("log-key", *closed)
    try:
        signer = _signer_at(path)
    except UsageError as error:
        remedy = f"restore {path} from your backup"
        return fail("log-key", f"{path} holds no key: {error}", remedy)
    if isinstance(found, LedgerError):
        return skip("log-key", "the log cannot be read", "see log")
    if str(signer.verifier) in found.charter.log_keys:
        return ok("log-key", f"{signer.verifier}, as the charter lists it")
    detail = f"{path} holds {signer.verifier}, which the charter does not list"
    return fail("log-key", detail, _listed_remedy(path, found))


def _closed(path: Path) -> tuple[str, str] | None:
    """Return why a file cannot be read, and what to do; None where it can."""
    if not path.exists():
        remedy = f"restore {path} from your backup: without it nothing can be appended"
        return f"{path} is missing", remedy
    if not os.access(path, os.R_OK):
        owner = user_name(path.stat().st_uid)
        return f"{path} is closed to you", f"work as {owner}, whose file it is"
    return None


def _listed_remedy(path: Path, found: Readable) -> str:
    """Return how the key that the charter lists gets to `path`."""
    others = sorted(path.parent.glob(f"{path.name}.*"))
    listed = [other for other in others if _is_listed(other, found)]
    if not listed:
        return f"put {' or '.join(found.charter.log_keys)} there, from your backup"
    aside = command("mv", path, f"{path}.unlisted")
    return f"{aside} && {command('mv', listed[-1], path)}"


def _signer_at(path: Path) -> SignerKey:
    """Return the key of a file, whoever may read that; raise `UsageError` for none."""
    try:
        return parse_signer(read_regular(path).decode().removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(str(error)) from error


def _is_listed(path: Path, found: Readable) -> bool:
    try:
        return str(_signer_at(path).verifier) in found.charter.log_keys
    except UsageError:
        return False


def keys(patient: Patient) -> Diagnosis:
    """Tell of each key file whether its owner alone reads it, and whose key it is."""
    found, folder = patient.log, patient.folder
    files = sorted(folder.keys.glob("*.key*"))
    if folder.keys.exists() and not os.access(folder.keys, os.R_OK | os.X_OK):
        return ok("keys", f"{folder.keys} is closed to you")
    if not files:
        return ok("keys", f"no private key lies in {folder.keys}")
    # Unread, a charter lists nobody: modes can be judged all the same.
    people = {} if isinstance(found, LedgerError) else _people(found)
    problems = [
        Problem(
            detail=f"{path} has mode {mode_of(path)}",
            remedy=command("chmod", "600", path),
        )
        for path in files
        if path.stat().st_mode & _OTHERS
    ]
    in_use = [path for path in files if path.suffix == ".key"]
    if people:
        problems += _misplaced(in_use, people, folder.path)
    roles = [
        f"{path.stem} ({people[path.stem].role})"
        for path in in_use
        if path.stem in people
    ]
    return together("keys", problems, f"the keys of {', '.join(roles) or 'nobody'}")


def _people(found: Readable) -> dict[str, Principal]:
    return {each.name: each for each in found.charter.principals}


def _misplaced(
    files: list[Path], people: dict[str, Principal], ledger: Path
) -> list[Problem]:
    """Return what is wrong with key files beside who can read them."""
    found = []
    for path in files:
        try:
            signer = _signer_at(path)
        except UsageError as error:
            remedy = f"restore {path} from your backup, or remove it"
            found.append(Problem(detail=f"{path} holds no key: {error}", remedy=remedy))
            continue
        problem = _misplaced_key(path, signer, people, ledger)
        if problem is not None:
            found.append(problem)
    return found


def _misplaced_key(
    path: Path, signer: SignerKey, people: dict[str, Principal], ledger: Path
) -> Problem | None:
    name = signer.name
    if path.name != f"{name}.key":
        right = path.with_name(f"{name}.key")
        detail = f"{path} holds the key of {name}"
        if right.exists():
            remedy = f"{right} is there too: move {path} away"
        else:
            remedy = command("mv", path, right)
        return Problem(status="warn", detail=detail, remedy=remedy)
    if name not in people:
        detail = f"the charter lists no {name}: its key signs nothing here"
        remedy = f"move {path} away, or let a root add {name} (`ledger keys add`)"
        return Problem(status="warn", detail=detail, remedy=remedy)
    if str(signer.verifier) == people[name].key:
        return None
    detail = f"{path} is not the key that the charter gives {name}"
    waiting = path.with_name(f"{path.name}.next")
    if _is_readable(waiting, people[name].key):
        remedy = command("ledger", "keys", "rotate", name, "--ledger", ledger)
    else:
        remedy = f"put {people[name].key} there, or let a root rotate it (`ledger keys rotate`)"
    return Problem(status="warn", detail=detail, remedy=remedy)


def custody(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether who forecasts can sign as somebody who judges, and what was said."""
    folder = patient.folder
    held = [
        each
        for each in found.charter.principals
        if _is_readable(folder.keys / f"{each.name}.key", each.key)
    ]
    forecasters = [each.name for each in held if each.role == "forecaster"]
    others = [
        f"{each.name} ({each.role})" for each in held if each.role != "forecaster"
    ]
    me = user_name(patient.around.uid)
    if found.charter.custody == "shared":
        detail = f"shared: whoever reads {folder.keys} can forecast and judge, and every row says so"
        return ok("custody", detail)
    if forecasters and others:
        detail = f"the charter says separate, and {me} can read the keys of {', '.join(forecasters)} (forecaster) and of {', '.join(others)}"
        remedy = f"move {folder.keys / forecasters[0]}.key to the user who forecasts, where {me} cannot read it"
        return fail("custody", detail, remedy)
    names = ", ".join(each.name for each in held) or "nobody"
    return ok("custody", f"separate: {me} can read the keys of {names} here")


def _is_readable(path: Path, key: str) -> bool:
    """Tell whether this user can sign with a principal's key."""
    try:
        return os.access(path, os.R_OK) and str(_signer_at(path).verifier) == key
    except UsageError:
        return False
