"""A bundle's manifest against its files, its signatures and the log's head.

Everything but the rows: whether the files are those that were signed, whether an
evaluator signed them, and whether the checkpoint is one of this log.
"""

from pathlib import Path

import msgspec

from ledger.charters import Charters
from ledger.checkpoint import open_checkpoint
from ledger.errors import CorruptLogError
from ledger.merkle import Tree
from ledger.projections.audit_notes import LogKeys
from ledger.projections.bundle import BLOBS, MANIFEST, SIGNATURES, TABLES, Manifest
from ledger.projections.bundle_files import (
    STATEMENT_MAX,
    WHOLE_MAX,
    hash_bounded,
    read_bounded,
)
from ledger.projections.bundle_signatures import signature_problems
from ledger.store import Store

_LEAVES = 10_000


class Problems(msgspec.Struct, frozen=True):
    """What was found out about a bundle: what is false, and what could not be seen."""

    wrong: list[str] = []
    lacking: list[str] = []

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.wrong or self.lacking)


def check_files(bundle: Path, manifest: Manifest, problems: Problems) -> None:
    """Note files that the manifest lacks, that are missing, or that are others."""
    stated, left = manifest.files, WHOLE_MAX
    problems.wrong.extend(
        f"{MANIFEST} lists no {name}" for name in TABLES if name not in stated
    )
    for name, digest in sorted(stated.items()):
        path = bundle / name
        # Nothing outside of the bundle is looked at, whatever a manifest lists.
        if name not in TABLES and name != f"{BLOBS}/{digest}":
            problems.wrong.append(f"{MANIFEST} lists {name!r}, which no bundle has")
            continue
        try:
            found, size = hash_bounded(path, left)
        except OSError as error:
            gone = isinstance(error, FileNotFoundError | NotADirectoryError)
            why = "is missing" if gone else f"cannot be read: {error.strerror}"
            problems.lacking.append(f"{name} {why}")
            continue
        left -= size
        if found != digest:
            problems.wrong.append(
                f"{name} has the SHA-256 {found}, and {MANIFEST} says {digest}"
            )


def strangers(bundle: Path, manifest: Manifest) -> list[str]:
    """Return the files of the folder that nobody vouches for."""
    known = {MANIFEST, SIGNATURES, *manifest.files}
    found = (
        path.relative_to(bundle).as_posix()
        for path in bundle.rglob("*")
        if not path.is_dir()
    )
    return sorted(set(found) - known)


def is_of_log(manifest: Manifest, store: Store, problems: Problems) -> bool:
    """Tell whether this is the log that a bundle is about, and long enough."""
    first = next(store.rows(0, 1), None)
    if first is None:
        problems.lacking.append("the log has no entry 0 to compare it with")
        return False
    ledger, size = first.event_id.hex(), store.head().size
    if manifest.ledger != ledger:
        problems.wrong.append(
            f"the bundle is of ledger {manifest.ledger}, and this one is {ledger}"
        )
        return False
    if manifest.size > size:
        problems.lacking.append(
            f"the bundle is about {manifest.size} entries, and the log has {size}: "
            "bring the log as it was then, or find out who shortened it"
        )
        return False
    return True


def check_signatures(
    bundle: Path,
    content: bytes,
    manifest: Manifest,
    charters: Charters,
    problems: Problems,
) -> bool:
    """Tell whether an evaluator signed the manifest's bytes, and nobody did wrongly."""
    try:
        envelope = read_bounded(bundle / SIGNATURES, STATEMENT_MAX)
    except FileNotFoundError:
        problems.lacking.append(f"{SIGNATURES} is missing: nobody vouches for it")
        return False
    except OSError as error:
        problems.lacking.append(f"{SIGNATURES} cannot be read: {error.strerror}")
        return False
    found = signature_problems(envelope, content, charters, manifest.size)
    problems.wrong.extend(f"{SIGNATURES}: {each}" for each in found)
    return not found


def check_head(
    manifest: Manifest, store: Store, charters: Charters, problems: Problems
) -> None:
    """Note whether the checkpoint is not the log's own at that size."""
    keys, size = LogKeys(charters), manifest.size
    if keys.origin is None:
        problems.lacking.append("the log has no charter, so no key of it is known")
        return
    if manifest.origin != keys.origin:
        problems.wrong.append(
            f"{MANIFEST} names the origin {manifest.origin!r}, not {keys.origin!r}"
        )
    try:
        checkpoint = open_checkpoint(manifest.checkpoint, keys.at(size), keys.origin)
    except CorruptLogError as error:
        problems.wrong.append(f"its checkpoint: {error.reason}")
        return
    if checkpoint.size != size:
        problems.wrong.append(
            f"its checkpoint has {checkpoint.size} entries, and {MANIFEST} says {size}"
        )
    elif checkpoint.root != _root(store, size):
        problems.wrong.append(
            f"the first {size} entries are not those that its checkpoint signed"
        )
    _check_instant(manifest, store, problems)


def _root(store: Store, size: int) -> bytes:
    tree = Tree()
    for start in range(0, size, _LEAVES):
        for leaf in store.leaves(start, min(start + _LEAVES, size)):
            tree.append(leaf)
    return tree.root()


def _check_instant(manifest: Manifest, store: Store, problems: Problems) -> None:
    last = manifest.size - 1
    row = next(store.rows(last, last + 1), None)
    if row is None or row.received_at != manifest.received_at:
        found = "is not there" if row is None else f"was received at {row.received_at}"
        problems.wrong.append(
            f"entry {last} {found}, and {MANIFEST} says {manifest.received_at}"
        )
