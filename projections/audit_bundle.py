"""A published bundle against the log: who signed it, and each of its rows again.

Needs the bundle, the log and the public keys that the log's charters list. The log
may be longer by now: rows are recomputed from its first entries, as many as the
bundle's checkpoint has. That the log itself is sound is for the other checks.
"""

import errno
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from ledger.canonical import encode
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    UncheckableError,
    UsageError,
)
from ledger.folder import Folder
from ledger.ids import sha256_hex
from ledger.projections.audit import verify_ledger
from ledger.projections.audit_log import Options, Progress, silent
from ledger.projections.audit_manifest import (
    Problems,
    check_files,
    check_head,
    check_signatures,
    is_of_log,
    strangers,
)
from ledger.projections.audit_report import (
    Check,
    Report,
    holds,
    is_false,
    uncheckable,
)
from ledger.projections.audit_rows import (
    IDENTITY,
    compare_csv,
    compare_hashes,
    compare_rows,
)
from ledger.projections.bundle import (
    ASKED_MAX,
    BLOBS,
    FORECASTS,
    MANIFEST,
    ROWS,
    ROWS_CSV,
    ROWS_PARQUET,
    Manifest,
    read_manifest,
)
from ledger.projections.bundle_content import Content, compute
from ledger.projections.bundle_files import (
    STATEMENT_MAX,
    WHOLE_MAX,
    hash_bounded,
    read_bounded,
)
from ledger.projections.export import (
    PROGRAM,
    SCORER,
    file_hash,
    read_charters,
    write_tables,
)
from ledger.projections.export_tables import difference, rows_frame
from ledger.projections.flat_rows import csv_bytes, flat
from ledger.projections.stored import StoredPayloads
from ledger.state import Blobs
from ledger.store import Store, legible
from ledger.store_opening import open_store

NAME = "bundles"
_NAMED_MAX = 5
# What rows may be longer by than those of the log, and are still compared with them.
_LONGER_MAX = 2**20


def verify_bundle(
    bundle: Path,
    folder: Folder,
    options: Options | None = None,
    progress: Progress = silent,
) -> Report:
    """Return what is true of a ledger, and of a bundle that was published from it.

    Raises `UsageError` where there is no ledger at all.
    """
    if not folder.log.exists():
        msg = (
            f"{bundle} is a bundle, and {folder.path} is no ledger to check it with: "
            "say where that is with --ledger DIR or LEDGER_DIR"
        )
        raise UsageError(msg)
    report = verify_ledger(folder, options, progress)
    is_lawful = report.check("rules").ok is True
    try:
        with closing(open_store(folder.log, read_only=True)) as store, legible():
            mine = check_bundle(
                bundle, store, folder.blobs.get, is_lawful=is_lawful, progress=progress
            )
    except LedgerError as error:
        mine = uncheckable(NAME, 0, f"the log cannot be read: {error}")
    checks = tuple(mine if each.name == NAME else each for each in report.checks)
    return msgspec.structs.replace(report, checks=checks)


def check_bundle(
    bundle: Path,
    store: Store,
    blobs: Blobs,
    *,
    is_lawful: bool = True,
    progress: Progress = silent,
) -> Check:
    """Return whether a bundle is true of a log, and what of it is not.

    It could not be checked where the log is shorter than its checkpoint or breaks its
    own rules, a file is missing, or a newer program wrote it. `blobs` returns pinned
    files; those in the bundle do as well. Raises `CorruptLogError` where the log
    cannot be read.
    """
    try:
        content = read_bounded(bundle / MANIFEST, STATEMENT_MAX)
        manifest = read_manifest(content)
    except OSError as error:
        return uncheckable(NAME, 0, f"{MANIFEST} cannot be read: {error.strerror}")
    except UncheckableError as error:
        return uncheckable(NAME, 0, str(error))
    except CorruptLogError as error:
        return is_false(NAME, 0, error.reason)
    problems, covered = Problems(), 0
    check_files(bundle, manifest, problems)
    if is_of_log(manifest, store, problems):
        charters = read_charters(store)
        is_signed = check_signatures(bundle, content, manifest, charters, problems)
        check_head(manifest, store, charters, problems)
        if not is_signed:
            # Anybody could have this program compute for hours otherwise.
            problems.lacking.append("its rows were not recomputed: nobody signed them")
        elif is_lawful:
            pinned = _either(blobs, bundle, manifest)
            found = _recompute(manifest, store, pinned, problems, progress)
            if found is not None:
                covered = len(found.rows)
                _compare(bundle, manifest, found, problems)
        else:
            problems.lacking.append("its rows rest on a log that breaks its own rules")
    return _conclusion(bundle, manifest, covered, problems)


def _either(blobs: Blobs, bundle: Path, manifest: Manifest) -> Blobs:
    """Return pinned files from where they are: by its hash a file is the same anywhere."""

    def own(digest: str) -> bytes | None:
        path = bundle / BLOBS / digest
        if f"{BLOBS}/{digest}" not in manifest.files:
            return None
        try:
            if hash_bounded(path, WHOLE_MAX)[0] != digest:
                return None
            return read_bounded(path, WHOLE_MAX)
        except OSError:
            return None  # It was noted before, as a file that cannot be read.

    return lambda digest: blobs(digest) or own(digest)


def _conclusion(
    bundle: Path, manifest: Manifest, covered: int, problems: Problems
) -> Check:
    for found, verdict in (
        (problems.wrong, is_false),
        (problems.lacking, uncheckable),
    ):
        if found:
            more = len(found) - _NAMED_MAX
            rest = f" ({more} more)" if more > 0 else ""
            return verdict(NAME, covered, "; ".join(found[:_NAMED_MAX]) + rest)
    others = ", ".join(strangers(bundle, manifest))
    detail = f"signed by an evaluator, recomputed at size {manifest.size}"
    return holds(
        NAME, covered, f"{detail}; not part of it: {others}" if others else detail
    )


def _recompute(
    manifest: Manifest,
    store: Store,
    blobs: Blobs,
    problems: Problems,
    progress: Progress,
) -> Content | None:
    """Return what the log says, or None where this program cannot tell."""
    query, size = manifest.query, manifest.size
    if manifest.scorer != SCORER:
        problems.lacking.append(
            f"its rows follow {manifest.scorer}, and this program knows {SCORER}"
        )
        return None
    for name, asked in (("slots", query.slots), ("by", query.by)):
        if len(asked) > ASKED_MAX:
            problems.lacking.append(
                f"its rows were not recomputed: its query has {len(asked)} {name}, "
                f"and a bundle has at most {ASKED_MAX}"
            )
            return None
    try:
        content = compute(
            StoredPayloads(store, size),
            blobs,
            suites=query.suites,
            slots=query.slots,
            by=query.by,
            progress=lambda done: progress("events folded", done, size),
        )
    except (UsageError, UncheckableError) as error:
        problems.lacking.append(f"its rows cannot be recomputed: {error}")
        return None
    rows = [
        # A row names the program that computed it.
        {**row, "scorer": row["scorer"].replace(PROGRAM, manifest.program, 1)}
        for row in content.rows
    ]
    return msgspec.structs.replace(content, rows=rows)


def _compare(
    bundle: Path, manifest: Manifest, content: Content, problems: Problems
) -> None:
    """Note what the bundle says and the log does not: suites, rows, tables."""
    wrong = problems.wrong
    for name in dict.fromkeys((*content.suites, *manifest.suites)):
        stated, frozen = manifest.suites.get(name), content.suites.get(name)
        if stated != frozen:
            wrong.append(f"{MANIFEST}: the hash of {name} is {stated}, not {frozen}")
    spelled = [encode(row) for row in content.rows]
    published = _published(bundle / ROWS, sum(map(len, spelled)), problems)
    if published is not None:
        wrong.extend(compare_rows(published, content.rows))
    hashes = [sha256_hex(each) for each in spelled]
    found = compare_hashes(manifest.rows, hashes)
    wrong.extend(f"{MANIFEST}: {each}" for each in found)
    rows = [flat(row) for row in content.rows]
    published = _published(bundle / ROWS_CSV, len(csv_bytes(rows)), problems)
    if published is not None:
        wrong.extend(compare_csv(published, rows))
    with TemporaryDirectory(prefix="ledger-bundle-") as made:
        write_tables(Path(made), content)
        for name, frame, by in (
            (ROWS_PARQUET, rows_frame(rows), IDENTITY),
            (FORECASTS, content.forecasts, ("seq",)),
        ):
            # Another version of the library spells the same table otherwise. A file
            # that nobody vouches for is not read: some damaged ones end the process.
            if not problems and file_hash(bundle / name) != file_hash(
                Path(made) / name
            ):
                wrong.extend(difference(bundle / name, frame, by))


def _published(path: Path, expected: int, problems: Problems) -> bytes | None:
    """Return what a table says, unless it is much longer than the one of the log.

    Its hash need not be that of the manifest, so that what was changed is named.
    """
    most = 2 * expected + _LONGER_MAX
    try:
        return read_bounded(path, most)
    except OSError as error:
        if error.errno == errno.EFBIG:
            problems.wrong.append(
                f"{path.name} is far longer than the {expected} bytes of the log's own"
            )
        return None  # Otherwise it was noted before, as a file that cannot be read.
