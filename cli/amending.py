"""The next charter, from the one in force: made, signed by a root, and put in force."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ledger.cli import render
from ledger.cli.context import clock, find_ledger, writing
from ledger.cli.submitting import signed
from ledger.cli.succession import Successor
from ledger.errors import RefusedError, UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.ids import CHARTER
from ledger.keys.keyfile import read_key
from ledger.keys.roster import Principal
from ledger.keys.signing import SignerKey
from ledger.suite import CharterManifest
from ledger.suite_table import listed, suggestion
from ledger.writer import Receipt, Writer

RootKey = Annotated[
    Path | None,
    typer.Option(
        "--root-key",
        metavar="FILE",
        help="The key file of the root who signs (default: a root's in keys/).",
        show_default=False,
    ),
]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a charter says otherwise than the one before."""

    what: str
    was: str | None
    now: str | None


class Amended(msgspec.Struct, frozen=True, kw_only=True):
    """A charter that came into force, and in what it differs from the last."""

    version: str
    receipt: Receipt
    changes: tuple[Change, ...]


class Amendment:
    """A charter in force, at the writer's hand, and the root who may change it."""

    def __init__(self, folder: Folder, writer: Writer, root: SignerKey) -> None:
        """Take the open writer and a root's private key."""
        self.folder = folder
        self.writer = writer
        self._root = root

    @property
    def charter(self) -> CharterManifest:
        """The charter in force."""
        return charter_of(self.writer)

    @property
    def version(self) -> str:
        """The version of the charter in force."""
        return f"{CHARTER}@v{self.writer.state.charter_version}"

    def principal(self, name: str) -> Principal:
        """Return a principal of the charter; raise `UsageError` for a stranger."""
        found = self.principal_if_any(name)
        if found is None:
            names = [each.name for each in self.charter.principals]
            hint = suggestion(name, names) or f"it lists {listed(names, last='and')}"
            msg = f"the charter lists no {name}: {hint}"
            raise UsageError(msg)
        return found

    def principal_if_any(self, name: str) -> Principal | None:
        """Return a principal of the charter, or None."""
        return next((p for p in self.charter.principals if p.name == name), None)

    def has_dropped(self, name: str) -> bool:
        """Tell whether an earlier charter lists a principal that this one does not."""
        charters = [charter for _, charter in self.writer.state.charters]
        ever = {each.name for charter in charters for each in charter.principals}
        return name in ever and self.principal_if_any(name) is None

    def freeze(self, **changes: Any) -> Amended:  # noqa: ANN401 - any of the keys
        """Put the charter with `changes` in force; a refusal changes nothing."""
        before, last = self.charter, self.version
        # What the last one continued has been continued.
        after = msgspec.structs.replace(before, **{"continues": None, **changes})
        event = SuiteFrozen(
            author=self._root.name,
            created_at=clock()(),
            ledger=self.writer.state.ledger,
            suite=f"{CHARTER}@v{self.writer.state.charter_version + 1}",
            supersedes=last,
            manifest=after,
        )
        [answer] = self.writer.append([signed(event, self._root)])
        if isinstance(answer, RefusedError):
            raise answer
        return Amended(
            version=self.version,
            receipt=answer,
            changes=tuple(_changes(before, after)),
        )


def charter_of(writer: Writer) -> CharterManifest:
    """Return the charter in force; a writer's log always has one."""
    charter = writer.state.charter
    assert charter is not None
    return charter


@contextmanager
def amending(ledger: str | None, root_key: Path | None) -> Iterator[Amendment]:
    """Take the lock, and give the charter in force with a root's key beside it."""
    folder = find_ledger(ledger)
    with writing(folder) as writer:
        root = _root(folder, charter_of(writer), root_key)
        yield Amendment(folder, writer, root)


def _root(folder: Folder, charter: CharterManifest, root_key: Path | None) -> SignerKey:
    if root_key is not None:
        return read_key(root_key, "--root-key names the file of a root's key")
    roots = [each.name for each in charter.principals if each.role == "root"]
    for name in roots:
        if key_file(folder, name).exists():
            return read_key(key_file(folder, name))
    msg = (
        f"{folder.keys} holds no key of {listed(roots)}: a root signs charters, say where "
        "its key is with --root-key FILE"
    )
    raise UsageError(msg)


def key_file(folder: Folder, name: str) -> Path:
    """Return where a principal's private key lies, if it is here."""
    # Who makes a key elsewhere may take a name that would lead out of the folder.
    return folder.keys / f"{name.replace('/', '%2F')}.key"


@contextmanager
def succession(
    amendment: Amendment, file: Path, fresh: SignerKey
) -> Iterator[SignerKey]:
    """Give the key that is to be listed; once it is, it takes its place in `file`."""
    successor = Successor(file)
    with successor.waiting(fresh) as signer:
        yield signer
    successor.take_over(amendment.version)


def _changes(before: CharterManifest, after: CharterManifest) -> Iterator[Change]:
    """Yield what one charter says otherwise than another, the people first."""
    was = {each.name: each for each in before.principals}
    now = {each.name: each for each in after.principals}
    for name in {**was, **now}:
        old, new = was.get(name), now.get(name)
        if old != new:
            role = (old or now[name]).role
            yield Change(
                what=f"{role} {name}",
                was=None if old is None else old.key,
                now=None if new is None else new.key,
            )
    for key in {**dict.fromkeys(before.log_keys), **dict.fromkeys(after.log_keys)}:
        if (key in before.log_keys) != (key in after.log_keys):
            in_force = key in after.log_keys
            yield Change(
                what="log key",
                was=None if in_force else key,
                now=key if in_force else None,
            )
    for name, since in after.compromised_since.items():
        said = before.compromised_since.get(name)
        if said != since:
            yield Change(
                what=f"{name} compromised since entry",
                was=None if said is None else str(said),
                now=str(since),
            )
    if after.continues is not None:
        size = after.continues.split("\n")[1]
        yield Change(what="continues a log of size", was=None, now=size)


def print_amended(amended: Amended, said: list[str], *, as_json: bool) -> None:
    """Print where the charter stands and what it changes; tell what that means."""
    receipt = amended.receipt
    if as_json:
        render.json_line(
            {
                "charter": amended.version,
                "seq": receipt.seq,
                "event_id": receipt.event_id,
                "received_at": receipt.received_at,
                "checkpoint": receipt.checkpoint,
                "changed": msgspec.to_builtins(amended.changes),
            }
        )
    else:
        render.facts(
            [
                ("charter", amended.version),
                ("entry", receipt.seq),
                ("event id", receipt.event_id),
                ("received at", receipt.received_at),
            ]
        )
        render.line("")
        rows = [(each.what, each.was, each.now) for each in amended.changes]
        render.table(("what", "was", "is"), rows)
    for sentence in said:
        render.note(sentence)
