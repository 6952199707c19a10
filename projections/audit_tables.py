"""`projections.db` against the log: folded again elsewhere, and compared row by row.

The file may be deleted at any time, so that it is absent or behind is no fault.
What it says of the entries that it has folded in must be what they say. Rows and
baselines are compared where they are up to date: others are computed again before
anybody sees them.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ledger.errors import Finding
from ledger.projections.audit_report import (
    Check,
    holds,
    is_false,
    unasked,
    uncheckable,
)
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables, tables_apart
from ledger.projections.payloads import Payload, PayloadSource
from ledger.projections.report import Report
from ledger.projections.schema import (
    FORMAT,
    IN_THE_WAY,
    fresh_parts,
    parts,
    read_only,
)
from ledger.projections.tables import TABLES, Table
from ledger.state import Blobs

_NAME = "projections"
# What is computed when it is read, and whose it is.
_DERIVED = {
    "rows": "suite",
    "baselines": "(SELECT suite FROM questions q WHERE q.unit = baselines.unit)",
    "freshness": "suite",
}
_SHOWN_BEFORE, _SHOWN_AFTER = 24, 40
Connection = apsw.Connection


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """What folding the log again showed: whether the stored tables agree, findings."""

    check: Check
    findings: tuple[Finding, ...]


def fold_again(
    log: PayloadSource,
    path: Path,
    blobs: Blobs,
    *,
    wants_findings: bool,
    progress: Callable[[int], None],
) -> Folded:
    """Fold a lawful log anew and compare what is stored at `path` with it.

    Without stored tables the log is folded for its findings only, if they are wanted.
    """
    check = unasked(_NAME, "nothing stored")
    if not path.exists() and not wants_findings:
        return Folded(check=check, findings=())
    with tables_apart() as tables:
        again = _Again(log, tables, blobs, progress)
        if path.exists():
            check = _check(path, again)
        again.fold(log.size())
        return Folded(check=check, findings=tuple(again.findings()))


class _Again:
    """The log's tables made anew, in a place of their own."""

    def __init__(
        self,
        log: PayloadSource,
        tables: Tables,
        blobs: Blobs,
        progress: Callable[[int], None],
    ) -> None:
        self.size = log.size()
        self.connection = tables.connection
        self._log = log
        self._tables = tables
        self._blobs = blobs
        self._progress = progress

    def fold(self, size: int) -> Fold:
        """Fold in the first `size` entries."""
        fold = Fold(self._tables, _Part(self._log, size))
        fold.catch_up(self._progress)
        return fold

    def report(self, fold: Fold) -> None:
        """Compute baselines and rows of all suites."""
        Report(self._tables, fold.frozen, self._blobs).refresh()

    def findings(self) -> Iterator[Finding]:
        """Yield what the log shows about its forecasts, in log order."""
        rows = self.connection.execute(
            "SELECT seq, rule, subject, message FROM findings ORDER BY seq, rule"
        )
        for seq, rule, subject, message in rows:
            yield Finding(seq=seq, rule=rule, subject=subject, message=message)


class _Part:
    """The first entries of a log."""

    def __init__(self, log: PayloadSource, size: int) -> None:
        self._size = size
        self.payloads_at = log.payloads_at
        self._payloads = log.payloads

    def size(self) -> int:
        return self._size

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        return self._payloads(start, min(stop, self._size))


def _check(path: Path, again: _Again) -> Check:
    if not path.is_file():  # a pipe would wait for ever
        return is_false(_NAME, 0, f"{path.name} is no file: delete it")
    try:
        with _read_only(path) as stored:
            version = stored.pragma("user_version")
            if version != FORMAT:
                detail = f"the tables have format {version}: they will be made again"
                return unasked(_NAME, detail)
            problem = _wrong_schema(stored)
            if problem is not None:
                return is_false(_NAME, 0, problem)
            return _compared(stored, again)
    except apsw.FullError:
        raise  # Of the tables that are made: the stored ones are only read.
    except IN_THE_WAY as error:
        detail = f"{path.name} cannot be read now ({error}): `ledger rows` puts right what a program that was ended left half done"
        return uncheckable(_NAME, 0, detail)
    except (apsw.Error, UnicodeDecodeError) as error:
        return is_false(_NAME, 0, f"{path.name} is damaged ({error}): delete it")


@contextmanager
def _read_only(path: Path) -> Iterator[Connection]:
    with closing(read_only(path)) as connection:
        # One state of the tables, whoever folds in what is new meanwhile.
        connection.execute("BEGIN")
        yield connection


def _wrong_schema(stored: Connection) -> str | None:
    """Return what stored tables have that fresh ones do not, or the other way round."""
    has = {part[:2]: part[2:] for part in parts(stored)}
    needs = {part[:2]: part[2:] for part in fresh_parts()}
    for kind, name in sorted(has.keys() - needs.keys()):
        return f"there is a {kind} {name} that no fold makes"
    for kind, name in sorted(needs.keys() - has.keys()):
        return f"the {kind} {name} is missing"
    for kind, name in sorted(needs):
        if has[kind, name] != needs[kind, name]:
            return f"the {kind} {name} says something else than it should"
    sound = stored.execute("PRAGMA integrity_check(1)").get
    return None if sound == "ok" else f"its parts contradict each other: {sound}"


def _compared(stored: Connection, again: _Again) -> Check:
    row = stored.execute("SELECT position FROM state").fetchone()
    position = 0 if row is None else row[0]
    if not isinstance(position, int) or not 0 <= position <= again.size:
        detail = f"the tables stand at entry {position}, and the log has {again.size}"
        return is_false(_NAME, 0, detail)
    suites, problem = _up_to_date(stored, again, again.fold(position))
    if problem is not None:
        return is_false(_NAME, 0, problem)
    for count, table in enumerate(TABLES):
        problem = _difference(table, suites, stored, again.connection)
        if problem is not None:
            return is_false(_NAME, count, problem)
    behind = again.size - position
    later = f"; {behind} later ones are not folded in yet" if behind else ""
    return holds(_NAME, len(TABLES), f"folded again from {position} entries{later}")


def _up_to_date(
    stored: Connection, again: _Again, fold: Fold
) -> tuple[tuple[str, ...], str | None]:
    """Compute rows and baselines if any are stored; return whose are up to date.

    Rows can be older than what they depend on, and never newer: also returns how
    some claim to be, which would have them believed once the log is as long.
    """
    sql = "SELECT suite, through_seq FROM freshness ORDER BY suite"
    said = dict(stored.execute(sql))
    if not said:
        return (), None
    again.report(fold)
    now = dict(again.connection.execute(sql))
    for suite, seq in said.items():
        if suite not in now:
            return (), f"freshness: suite {suite} is not in the log"
        if seq > now[suite]:
            return (), (
                f"freshness: suite {suite} has through_seq {seq}, and the log gives "
                f"{now[suite]}"
            )
    return tuple(suite for suite, seq in said.items() if now[suite] == seq), None


def _difference(
    table: Table, suites: tuple[str, ...], stored: Connection, fresh: Connection
) -> str | None:
    """Return the first difference between a stored table and the fresh one."""
    where = ""
    values: tuple[str, ...] = ()
    if table.name in _DERIVED:
        marks = ", ".join("?" * len(suites))
        where, values = f"WHERE {_DERIVED[table.name]} IN ({marks})", suites
    columns, order = ", ".join(table.row.__struct_fields__), ", ".join(table.key)
    sql = f"SELECT {columns} FROM {table.name} {where} ORDER BY {order}"  # noqa: S608 - names of our own tables
    pairs = zip_longest(stored.execute(sql, values), fresh.execute(sql, values))
    for mine, right in pairs:
        if mine != right:
            return _named(table, mine, right)
    return None


def _named(
    table: Table, mine: tuple[Any, ...] | None, right: tuple[Any, ...] | None
) -> str:
    """Return which row of a table differs, and in what."""
    if mine is None or (right is not None and _key(table, right) < _key(table, mine)):
        assert right is not None
        return f"{table.name}: {_place(table, right)} is missing"
    if right is None or _key(table, mine) < _key(table, right):
        return f"{table.name}: {_place(table, mine)} is not in the log"
    names = table.row.__struct_fields__
    name, stored, folded = next(
        each for each in zip(names, mine, right, strict=True) if each[1] != each[2]
    )
    said, right_one = _shown(str(stored), str(folded))
    return (
        f"{table.name}: {_place(table, mine)} has {name} {said}, and the log gives "
        f"{right_one}"
    )


def _shown(one: str, other: str) -> tuple[str, str]:
    """Return two texts where they begin to differ: a whole row would fill a screen."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    part = slice(max(0, same - _SHOWN_BEFORE), same + _SHOWN_AFTER)
    return one[part], other[part]


def _key(table: Table, row: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Return what orders rows of a table, whatever somebody wrote into its columns."""
    names = table.row.__struct_fields__
    values = [row[names.index(name)] for name in table.key]
    return [(type(value).__name__, value) for value in values]


def _place(table: Table, row: tuple[Any, ...]) -> str:
    values = (value for _, value in _key(table, row))
    named = zip(table.key, values, strict=True)
    return ", ".join(f"{name} {value}" for name, value in named)
