"""`ledger export`: a bundle of rows that others can recompute."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import render
from ledger.cli.context import LOG_KEY_LOST, KeyRing, keys_folder, reading
from ledger.cli.export_rows import BUNDLE, FORMATS, STDOUT, export_rows
from ledger.cli.options import At, AtLook, Json, KeysFolder, LedgerDir, several
from ledger.cli.past import Moment, moment
from ledger.cli.standing import Standing
from ledger.durable import lock
from ledger.errors import RefusedError, UsageError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.keys.signing import SignerKey
from ledger.log import Reader
from ledger.store_opening import open_store
from ledger.suite_table import listed
from ledger.unseen import whole

if TYPE_CHECKING:
    from ledger.projections.export import Written


Target = Annotated[
    str,
    typer.Argument(
        metavar="DIR",
        help="The bundle's folder, or the file of another format; it must not exist yet.",
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        metavar="NAME@vN",
        help="Only this suite version (repeatable; default: all).",
        show_default=False,
    ),
]
Slots = Annotated[
    list[str] | None,
    typer.Option(
        "--slot",
        metavar="SLOT",
        help="initial, final, at_lead:<hours>, time_weighted or all (repeatable; "
        "default: each suite's headline).",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        help="Rows for each horizon, target, template, slot, split, evidence_tier, "
        "adaptation_budget or tag:<name>, beside those that the suite declares "
        "(repeatable, or separated by commas).",
        show_default=False,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="bundle (a folder), rows (one a line), targetspace (a leaderboard of one "
        "suite version) or metrics (one point a line); all but the first are one file, "
        "- for stdout.",
    ),
]
Board = Annotated[
    str | None,
    typer.Option(
        "--leaderboard",
        metavar="LIST.toml",
        help="Only the rows of this list; one that no leaderboard takes is refused. "
        "For formats other than bundle.",
    ),
]
Evaluators = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="The evaluator who signs (repeatable; default: the only one whose key "
        "is at hand).",
        show_default=False,
    ),
]


def export(
    target: Target,
    *,
    suites: Suites = None,
    slots: Slots = None,
    by: By = None,
    form: Format = BUNDLE,
    board: Board = None,
    authors: Evaluators = None,
    at: At = None,
    look: AtLook = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Write a bundle that others can recompute.

    It holds the rows as JSON, CSV and Parquet, every forecast, the files that suites
    pin, and a manifest with the checkpoint that all of it was computed at, signed by an
    evaluator. The same size of the log gives the same bytes, also long after (--at).

    For example:
      ledger export bundle --ledger demo
      ledger export bundle --ledger demo --suite piper-self@v1 --slot initial --slot final
      ledger verify bundle --ledger demo
      ledger export look-10 --ledger demo --suite piper-self@v1 --look 10
      ledger export board.json --format targetspace --suite targetspace@v1
    """
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}: take {listed(FORMATS)}")
    if form != BUNDLE:
        export_rows(
            target,
            form,
            ledger=ledger,
            suites=suites or (),
            slots=slots or (),
            by=several(by),
            board=board,
            at=at,
            look=look,
            as_json=as_json,
        )
        return
    _require_bundle(target, board)
    with reading(ledger) as (folder, reader):
        then = moment(reader, at, look, suites or ())
        ring = KeyRing(keys_folder(folder, keys_at))
        written, is_kept = _bundle(
            Path(target),
            folder,
            reader,
            then.size,
            signers=_signers(then.standing, ring, authors or []),
            suites=_versions(then, suites or []),
            slots=slots or (),
            by=several(by),
        )
    _tell(target, written, is_kept=is_kept, as_json=as_json)


def _versions(then: Moment, named: Sequence[str]) -> list[str]:
    return [then.suite] if then.suite else list(map(then.standing.meant, named))


def _require_bundle(target: str, board: str | None) -> None:
    if board is not None:
        msg = "a bundle has all rows of its suites: add --format rows, targetspace or metrics"
        raise UsageError(msg)
    if whole(target) != target:
        msg = f"{target!a} is no UTF-8, as a bundle's folder has to be: name another"
        raise UsageError(msg)
    if target == STDOUT:
        msg = "a bundle is a folder, and - is stdout: name one, or add --format rows, targetspace or metrics"
        raise UsageError(msg)


def _bundle(
    target: Path,
    folder: Folder,
    reader: Reader,
    size: int | None,
    *,
    signers: list[SignerKey],
    suites: list[str] | None,
    slots: Sequence[str],
    by: Sequence[str],
) -> tuple["Written", bool]:
    """Write a bundle of the log now, or of a size; tell whether its checkpoint is kept."""
    # Imported here: polars takes longer to import than most commands to run.
    from ledger.projections.export import Past, write_bundle

    kept = []
    log_key = partial(read_key, folder.log_key, LOG_KEY_LOST)
    with _progress(size or reader.events.size()) as step:
        written = write_bundle(
            target,
            reader.store,
            blobs=folder.blobs.get,
            signers=signers,
            keep=lambda size, note: kept.append(_keep(folder, size, note)),
            suites=suites or None,
            slots=slots,
            by=by,
            past=None if size is None else Past(size=size, log_key=log_key),
            progress=lambda done: step.step(done, done),
        )
    return written, all(kept)


@contextmanager
def _progress(size: int) -> Iterator[render.Progress]:
    shown = render.Progress("events folded", size)
    try:
        yield shown
    finally:
        shown.close()


def _signers(then: Standing, ring: KeyRing, names: list[str]) -> list[SignerKey]:
    """Return the keys that were named, or that of the only evaluator at hand."""
    if names:
        return [ring.require(name) for name in dict.fromkeys(names)]
    evaluators = [name for name, role in then.roles.items() if role == "evaluator"]
    at_hand = [name for name in evaluators if name in ring]
    if len(at_hand) > 1:
        msg = f"{listed(at_hand, last='and')} could sign: say who with --as NAME"
        raise UsageError(msg)
    if not at_hand:
        known = (
            listed(evaluators)
            if evaluators
            else "an evaluator, which the charter lacks"
        )
        msg = (
            f"bundles are signed by an evaluator, and {ring.folder} holds no private "
            f"key of {known}: say where it is with --keys FOLDER"
        )
        raise RefusedError("key-missing", msg)
    return [ring.require(at_hand[0])]


def _keep(folder: Folder, size: int, note: str) -> bool:
    """Store a checkpoint that leaves this machine, unless somebody else writes."""
    try:
        handle = lock(folder.lock)
    except (UsageError, OSError):
        return False
    try:
        with closing(open_store(folder.log, read_only=False)) as store:
            store.keep_checkpoint(size, note)
    finally:
        os.close(handle)
    return True


def _tell(target: str, written: "Written", *, is_kept: bool, as_json: bool) -> None:
    manifest = written.manifest
    for each in written.missing:
        render.note(f"not in the bundle, since blobs/ has it no more: {each}")
    if not is_kept:
        render.note(
            f"the log is being written by another process or cannot be written here, so "
            f"the checkpoint of size {manifest.size} is in the bundle only: keep that"
        )
    if as_json:
        render.json_line(
            {
                "bundle": target,
                "ledger": manifest.ledger,
                "size": manifest.size,
                "checkpoint": manifest.checkpoint,
                "checkpoint_kept": is_kept,
                "suites": manifest.suites,
                "rows": manifest.rows.count,
                "files": manifest.files,
                "missing": written.missing,
            }
        )
        return
    pinned = [name for name in manifest.files if name.startswith("blobs/")]
    render.facts(
        [
            ("bundle", target),
            ("rows", manifest.rows.count),
            ("suites", "\n".join(manifest.suites) or None),
            ("entries", manifest.size),
            ("files", "\n".join(name for name in manifest.files if name not in pinned)),
            ("pinned files", len(pinned)),
        ]
    )
