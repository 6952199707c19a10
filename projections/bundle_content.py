"""What a bundle says: rows and vectors, computed from a log's first entries alone.

Exporting and auditing compute them by the same function. Nothing is taken from
`projections.db`, which whoever has the folder can edit.
"""

from collections.abc import Sequence

import msgspec

from ledger.projections.bundle import Query
from ledger.projections.bundle_forecasts import read_forecasts
from ledger.projections.export_tables import Frame
from ledger.projections.fold import Fold, Progress
from ledger.projections.materialize import tables_apart
from ledger.projections.payloads import PayloadSource
from ledger.projections.report import Report
from ledger.projections.rows import Row
from ledger.projections.suites import Frozen
from ledger.state import Blobs


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that a query asks for, in order, and the vectors of its suites."""

    query: Query
    suites: dict[str, str]
    pins: dict[str, str]
    rows: list[Row]
    forecasts: Frame


def compute(
    source: PayloadSource,
    blobs: Blobs,
    *,
    suites: Sequence[str] | None = None,
    slots: Sequence[str] = (),
    by: Sequence[str] = (),
    progress: Progress | None = None,
) -> Content:
    """Fold a log from its first event on and return what a bundle says of it.

    `blobs` returns pinned files. Without `suites` all that were frozen are meant.
    Raises `UsageError` for a suite, slot or grouping that there is not.
    """
    with tables_apart() as tables:
        fold = Fold(tables, source)
        fold.catch_up(progress)
        names = tuple(dict.fromkeys(fold.frozen.suites if suites is None else suites))
        query = Query(
            suites=names,
            slots=tuple(dict.fromkeys(slots)),
            by=tuple(dict.fromkeys(by)),
        )
        rows = _rows(Report(tables, fold.frozen, blobs), query)
        return Content(
            query=query,
            suites={name: fold.frozen.suites[name].suite_hash for name in names},
            pins=_pins(fold.frozen, names),
            rows=rows,
            forecasts=read_forecasts(tables, source, names),
        )


def _rows(report: Report, query: Query) -> list[Row]:
    return [
        row
        for suite in query.suites
        for slot in query.slots or (None,)
        for row in report.rows(suite=suite, slot=slot, by=query.by)
    ]


def _pins(frozen: Frozen, suites: Sequence[str]) -> dict[str, str]:
    """Return the files that suites pin: what they are called, by their SHA-256."""
    return {
        digest: f"{pin} of {name}"
        for name in suites
        for pin, digest in frozen.suites[name].manifest.pins.items()
    }
