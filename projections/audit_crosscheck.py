"""The check that other people's libraries compute the same scores (`--crosscheck`)."""

from contextlib import closing
from functools import cache
from pathlib import Path

import msgspec

from ledger.errors import LedgerError
from ledger.folder import Folder
from ledger.projections.audit_report import (
    CROSSCHECK,
    Check,
    holds,
    is_false,
    unasked,
    uncheckable,
)
from ledger.projections.bundle import MANIFEST, ROWS, Manifest
from ledger.projections.bundle_files import STATEMENT_MAX, WHOLE_MAX, read_bounded
from ledger.projections.crosscheck import Outcome, crosschecked
from ledger.projections.fold import Fold
from ledger.projections.materialize import tables_apart
from ledger.projections.report import Report
from ledger.projections.rows import Row
from ledger.projections.stored import StoredPayloads
from ledger.store_opening import open_store

_ABOVE_ALL = 3


def check_crosscheck(folder: Folder, bundle: Path | None = None) -> Check:
    """Return whether the rows of a ledger, or of a bundle of it, are what others make.

    The log is folded once more in a place of its own. `require_libraries` says whether
    the libraries are there; what cannot be folded or read cannot be checked.
    """
    try:
        with (
            closing(open_store(folder.log, read_only=True)) as store,
            tables_apart() as tables,
        ):
            size = None if bundle is None else _size(bundle)
            fold = Fold(tables, StoredPayloads(store, size))
            fold.catch_up()
            report = Report(tables, fold.frozen, folder.blobs.get)
            rows = report.rows() if bundle is None else published(bundle)
            return _check(crosschecked(rows, cache(report.field)))
    except (LedgerError, OSError, msgspec.DecodeError) as error:
        return uncheckable(CROSSCHECK, 0, f"nothing to compare with: {error}")


def _size(bundle: Path) -> int:
    """Return how many entries the log had when a bundle was computed."""
    content = read_bounded(bundle / MANIFEST, STATEMENT_MAX)
    return msgspec.json.decode(content, type=Manifest).size


def published(bundle: Path) -> list[Row]:
    """Return the rows of a bundle as they stand in its file."""
    lines = read_bounded(bundle / ROWS, WHOLE_MAX).splitlines()
    return [msgspec.json.decode(line) for line in lines]


def _check(found: Outcome) -> Check:
    if not found.scores:
        return unasked(CROSSCHECK, "no row has a score that these libraries have too")
    if not found.disagreements:
        detail = f"{found.rows} rows, by scikit-learn, scipy and statsmodels"
        return holds(CROSSCHECK, found.scores, detail)
    named = "; ".join(
        f"{each.row}: {each.score} is {each.ours}, and others make {each.theirs!r} of it"
        for each in found.disagreements[:_ABOVE_ALL]
    )
    more = len(found.disagreements) - _ABOVE_ALL
    rest = f"; and {more} more" if more > 0 else ""
    return is_false(CROSSCHECK, found.scores, f"{named}{rest}")
