"""Bundles: rows published with everything that others need to recompute them.

A bundle appears as a whole or not at all, and the same head of the same log gives
the same bytes again: no clock is read.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from shutil import rmtree

import msgspec

from ledger import __version__
from ledger.canonical import encode
from ledger.charters import Charters
from ledger.checkpoint import parse_checkpoint, split_note
from ledger.checkpoint_past import LogKey, past_checkpoint
from ledger.durable import naming, sync_folder
from ledger.errors import CorruptLogError, UsageError
from ledger.ids import sha256_hex
from ledger.projections.bundle import (
    ASKED_MAX,
    BLOBS,
    FORECASTS,
    FORMAT,
    MANIFEST,
    ROWS,
    ROWS_CSV,
    ROWS_PARQUET,
    SIGNATURES,
    Manifest,
    RowHashes,
)
from ledger.projections.bundle_content import Content, compute
from ledger.projections.bundle_signatures import Signer, require_signers, sign
from ledger.projections.export_tables import parquet_bytes, rows_frame
from ledger.projections.flat_rows import csv_bytes, flat
from ledger.projections.fold import Progress
from ledger.projections.stored import StoredPayloads
from ledger.replay import StoredEvents
from ledger.state import Blobs
from ledger.store import Store
from ledger.suite import CharterManifest

PROGRAM = f"sealed-ledger/{__version__}"
SCORER = "metrics/1"

# Stores a checkpoint for ever, given its size and its note.
Keep = Callable[[int, str], None]


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A log at one signed head: its name, its length, and the charters until now."""

    ledger: str
    origin: str
    note: str
    size: int
    received_at: str
    charters: Charters


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A size that the log had before, and how to get the log's key if it must sign."""

    size: int
    log_key: LogKey


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that is on disk; `missing` are pinned files that nobody has any more."""

    manifest: Manifest
    missing: tuple[str, ...]


def write_bundle(
    target: Path,
    store: Store,
    *,
    blobs: Blobs,
    signers: Sequence[Signer],
    keep: Keep,
    suites: Sequence[str] | None = None,
    slots: Sequence[str] = (),
    by: Sequence[str] = (),
    past: Past | None = None,
    progress: Progress | None = None,
) -> Written:
    """Write the bundle of a log's head, or of a `past` size, into the new folder `target`.

    Without `suites` all are meant, without `slots` each suite's headline. `keep` is
    called before the checkpoint leaves. Raises `UsageError` for a target that
    exists and for a suite, slot or grouping that does not, `RefusedError` for
    signers who may not sign, `UncheckableError` for a size without a checkpoint;
    nothing is left behind then.
    """
    require_free(target)
    for name, asked in (("slots", slots), ("groupings", by)):
        if len(asked) > ASKED_MAX:
            msg = f"a bundle has at most {ASKED_MAX} {name}, not {len(asked)}: write several"
            raise UsageError(msg)
    moment = read_moment(store, past)
    require_signers(signers, moment.charters, moment.size)
    content = compute(
        StoredPayloads(store, moment.size),
        blobs,
        suites=suites,
        slots=slots,
        by=by,
        progress=progress,
    )
    with _appearing(target) as folder:
        write_tables(folder, content)
        missing = _write_pins(folder / BLOBS, content.pins, blobs)
        manifest = _manifest(folder, moment, content)
        spelled = encode(manifest)
        _write(folder / MANIFEST, spelled)
        _write(folder / SIGNATURES, sign(spelled, signers))
        keep(moment.size, moment.note)
    return Written(manifest=manifest, missing=missing)


def require_free(target: Path) -> None:
    """Raise `UsageError` unless `target` can become a new folder."""
    if os.path.lexists(target):
        msg = f"{target} exists: a bundle is never written over, choose another name"
        raise UsageError(msg)
    if not target.parent.is_dir():
        msg = f"{target.parent} is no folder: make it before the bundle in it"
        raise UsageError(msg)


def read_moment(store: Store, past: Past | None = None) -> Moment:
    """Return a log's present head, or a past one, with the charters of the whole log."""
    head, charters = store.head(), read_charters(store)
    size, note = head.size, head.note
    if past is not None:
        size = past.size
        note = past_checkpoint(store, size, charters, past.log_key)
    stated = parse_checkpoint(split_note(note)[0])
    first, last = next(store.rows(0, 1)), next(store.rows(size - 1, size))
    if stated.size != size:
        msg = f"the head has {size} entries, and its checkpoint {stated.size}"
        raise CorruptLogError(msg)
    return Moment(
        ledger=first.event_id.hex(),
        origin=stated.origin,
        note=note,
        size=size,
        received_at=last.received_at,
        charters=charters,
    )


def read_charters(store: Store) -> Charters:
    """Return all charters of a log by the positions that they stand at."""
    found = []
    for each, event in StoredEvents(store).frozen():
        if isinstance(event.manifest, CharterManifest):
            found.append((each.seq, event.manifest))
    return tuple(found)


def write_tables(folder: Path, content: Content) -> None:
    """Write the rows in their three forms, and the vectors."""
    rows = [flat(row) for row in content.rows]
    _write(folder / ROWS, b"".join(encode(row) + b"\n" for row in content.rows))
    _write(folder / ROWS_CSV, csv_bytes(rows))
    _write(folder / ROWS_PARQUET, parquet_bytes(rows_frame(rows)))
    _write(folder / FORECASTS, parquet_bytes(content.forecasts))


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, however large it is."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _write_pins(folder: Path, pins: dict[str, str], blobs: Blobs) -> tuple[str, ...]:
    """Write pinned files by their hashes; return those that are not there any more."""
    missing = []
    for digest, called in sorted(pins.items()):
        content = blobs(digest)
        if content is None:
            missing.append(f"{called} ({digest})")
            continue
        folder.mkdir(exist_ok=True)
        _write(folder / digest, content)
    return tuple(missing)


def _manifest(folder: Path, moment: Moment, content: Content) -> Manifest:
    spelled = [encode(row) for row in content.rows]
    return Manifest(
        format=FORMAT,
        ledger=moment.ledger,
        origin=moment.origin,
        checkpoint=moment.note,
        size=moment.size,
        received_at=moment.received_at,
        suites=content.suites,
        query=content.query,
        rows=RowHashes(count=len(spelled), sha256=tuple(map(sha256_hex, spelled))),
        files={
            path.relative_to(folder).as_posix(): file_hash(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
        scorer=SCORER,
        program=PROGRAM,
    )


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Give a new folder beside `target` that takes its name once all is written."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    with naming(target):
        partial.mkdir()
        try:
            yield partial
            for folder in (partial, partial / BLOBS):
                if folder.is_dir():
                    sync_folder(folder)
            # Somebody else may have taken the name meanwhile.
            require_free(target)
            partial.rename(target)
        except BaseException:
            rmtree(partial)
            raise
        sync_folder(target.parent)
