"""Which moment of a log a command is about: now, or one of its earlier sizes.

`--at SIZE` names a size itself. `--look N` means the size at which look N of a suite
fell due: only there its rows are good for a claim, and anybody can have them later.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from ledger.cli import render
from ledger.cli.standing import Standing, standing
from ledger.errors import UsageError
from ledger.folder import Folder
from ledger.log import Reader
from ledger.suite_table import listed

if TYPE_CHECKING:
    from ledger.projections.report import Report


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """How many entries the log had, and what was frozen then.

    `size` is None for all that there are now. `suite` is the one whose look it is.
    """

    size: int | None
    standing: Standing
    suite: str | None = None


def moment(
    reader: Reader, at: int | None, look: int | None, suites: Sequence[str] = ()
) -> Moment:
    """Return the moment that was asked for; `suites` are those that were named.

    Raises `UsageError` for a size that the log never had, and for a look that the one
    suite has not, or that was not reached.
    """
    if at is not None and look is not None:
        msg = "--at and --look are two ways to name one size of the log: leave one out"
        raise UsageError(msg)
    now = reader.events.size()
    if look is not None:
        found = standing(reader)
        name = _only(found, suites)
        size = _due_at(reader, found, name, look, now)
        render.note(f"look {look} of {name} fell due at {size} entries, of {now} now")
        return Moment(size=size, standing=standing(reader, size), suite=name)
    if at is not None and not 1 <= at <= now:
        raise UsageError(
            f"the log has {now} entries: --at takes a size from 1 to {now}"
        )
    return Moment(size=at, standing=standing(reader, at))


def _only(found: Standing, suites: Sequence[str]) -> str:
    names = list(dict.fromkeys(map(found.meant, suites))) or list(found.suites)
    if len(names) == 1:
        return names[0]
    known = listed(names, last="and") if names else "none"
    msg = f"--look is about one suite version, and here are {known}: "
    raise UsageError(f"{msg}name one with --suite NAME@vN")


def _due_at(reader: Reader, found: Standing, name: str, look: int, now: int) -> int:
    from ledger.projections.looks_due import due_at
    from ledger.projections.stored import StoredPayloads

    counted = render.Progress("events searched", now)
    try:
        return due_at(
            lambda size: StoredPayloads(reader.store, size),
            now,
            found.suites[name].manifest,
            look,
            lambda done: counted.step(done, done),
        )
    finally:
        counted.close()


@contextmanager
def report_at(folder: Folder, reader: Reader, size: int | None) -> Iterator["Report"]:
    """Give the rows of a ledger now, or of the log's first `size` entries."""
    from ledger.projections.stored import open_report

    whole = reader.events.size() if size is None else size
    counted = render.Progress("events folded", whole)
    with open_report(
        folder, reader.store, lambda done: counted.step(done, done), size=size
    ) as report:
        counted.close()
        yield report
