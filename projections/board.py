"""One suite's tables as columns: what its reporting rows are made from.

Units stand in the order of their names' bytes, vectors by unit, forecaster and
position. Nothing else orders anything, so that no sum and no hash can depend on
how a database or a dictionary happens to list things.
"""

# ruff: noqa: S608 - what is put into these statements are names and constants of ours

import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from ledger.projections.baselines import Past, Traits
from ledger.projections.cohort import cohort_line
from ledger.projections.columns import NEVER, Flags, Integers, flags, integers
from ledger.projections.integrity import MISMATCHES
from ledger.projections.resolutions import spans
from ledger.projections.suites import SuiteVersion

_FETCHED = 20_000
STATUSES = ("RESOLVED", "VOID", "INVALID", "CENSORED", "CANCELED", "PENDING")
_NULL = f"ifnull({{}}, {NEVER})"


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit of the suite, in the order of their names' bytes.

    `outcome` is the index of the answer that happened, -1 for none. `lines` are
    what a cohort's hash reads. `end_us` is when forecasting ended: the cut-off or
    the start of work. `own_place` is where computed competitors forecast.
    """

    number: Integers
    identities: list[str]
    templates: list[str]
    horizons: list[str]
    clusters: list[str]
    slots: list[str]
    traits: Traits
    answers: list[tuple[str, ...]]
    lines: list[bytes]
    status: Integers
    outcome: Integers
    cutoff_us: Integers
    resolve_by_us: Integers
    end_us: Integers
    own_seq: Integers
    own_place: Integers
    own_us: Integers
    own_eligible: Flags
    reviews: Integers
    vectors: Integers
    mismatches: Integers
    records: Integers


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """One row a vector or reveal; `unit` is a row of `Units`. `place` as for a past."""

    unit: Integers
    seq: Integers
    place: Integers
    names: list[str]
    kinds: list[str]
    eligible: Flags
    is_closed: Flags
    sealed_us: Integers
    budgets: list[str]
    leaks_tested: Integers
    leaks_found: Integers
    mismatches: Integers
    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version, its units and vectors, the past of its pool, and `as_of`."""

    suite: SuiteVersion
    as_of_us: int
    superseded_us: int | None
    custody: str
    units: Units
    vectors: Vectors
    past: Past


def read_units(connection: sqlite3.Connection, suite: SuiteVersion) -> Units:
    """Return the units of a suite."""
    rows = _fetched(
        connection,
        f"""SELECT unit, identity, template, horizon, cluster, ifnull(slot, ''),
            target, ifnull(tags, '{{}}'), answers, status, ifnull(outcome, ''),
            cutoff_us, resolve_by_us, min(cutoff_us, {_NULL.format("started_us")}),
            {_NULL.format("own_us" if suite.is_claimed else "own_seq")},
            {_NULL.format("own_us")}, {_NULL.format("own_seq")}, own_eligible, reviews, vectors
            FROM questions WHERE suite = ? ORDER BY identity""",
        (suite.name,),
        20,
    )
    number, identities, templates, horizons, clusters, slots, targets, tags = rows[:8]
    answers_json, statuses, outcomes, *numbers = rows[8:]
    answers = [_answers(text) for text in answers_json]
    unit = integers(number)
    return Units(
        number=unit,
        identities=identities,
        templates=templates,
        horizons=horizons,
        clusters=clusters,
        slots=slots,
        traits=Traits(targets=targets, tags=[_tags(text) for text in tags]),
        answers=answers,
        lines=[
            cohort_line(name, status, outcome) if outcome else b""
            for name, status, outcome in zip(
                identities, statuses, outcomes, strict=True
            )
        ],
        status=integers([STATUSES.index(status) for status in statuses]),
        outcome=integers(
            [
                of.index(outcome) if outcome else -1
                for of, outcome in zip(answers, outcomes, strict=True)
            ]
        ),
        cutoff_us=integers(numbers[0]),
        resolve_by_us=integers(numbers[1]),
        end_us=integers(numbers[2]),
        own_place=integers(numbers[3]),
        own_us=integers(numbers[4]),
        own_seq=integers(numbers[5]),
        own_eligible=flags(numbers[6]),
        reviews=integers(numbers[7]),
        vectors=integers(numbers[8]),
        mismatches=_counted(connection, unit, _RECORD_MISMATCHES, suite),
        records=_counted(connection, unit, _OUTCOME_RECORDS, suite),
    )


_RECORD_MISMATCHES = f"""SELECT r.unit, count(*) FROM findings x
    JOIN resolutions r USING (seq) JOIN questions q ON q.unit = r.unit
    WHERE q.suite = ? AND x.rule IN {MISMATCHES} GROUP BY r.unit"""
_OUTCOME_RECORDS = """SELECT r.unit, count(*) FROM resolutions r
    JOIN questions q USING (unit)
    WHERE q.suite = ? AND r.status <> 'PENDING' AND NOT r.is_review GROUP BY r.unit"""


def _counted(
    connection: sqlite3.Connection, unit: Integers, sql: str, suite: SuiteVersion
) -> Integers:
    """Return a count for each unit, 0 where the query names none."""
    counts = dict(connection.execute(sql, (suite.name,)))
    return integers([counts.get(number, 0) for number in unit.tolist()])


@lru_cache(1_024)
def _answers(text: str) -> tuple[str, ...]:
    return tuple(msgspec.json.decode(text, type=list[str]))


@lru_cache(16_384)
def _tags(text: str) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str])


def read_vectors(
    connection: sqlite3.Connection, suite: SuiteVersion, units: Units
) -> Vectors:
    """Return the vectors and reveals on a suite's units, a chain's together."""
    moment = "f.created_us" if suite.is_claimed else "f.received_us"
    place = "f.created_us" if suite.is_claimed else "f.seq"
    columns = _fetched(
        connection,
        f"""SELECT f.unit, f.seq, {place}, f.forecaster, f.kind, f.eligible,
            f.is_hidden AND f.opened_seq IS NULL, {moment},
            ifnull(f.adaptation_budget, ''), f.leaks_tested, f.leaks_found,
            {_NULL.format("f.brier_sum")}, {_NULL.format("f.picobits")},
            {_NULL.format("f.picobits_clipped")},
            {_NULL.format("f.piconats_clipped")}
            FROM forecasts f JOIN questions q USING (unit) WHERE q.suite = ?""",
        (suite.name,),
        15,
    )
    of, seq, names = integers(columns[0]), integers(columns[1]), columns[3]
    rows = np.argsort(units.number)
    unit = rows[np.searchsorted(units.number[rows], of)]
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    order = np.lexsort((seq, integers([codes[name] for name in names]), unit))
    flagged = dict(connection.execute(_VECTOR_MISMATCHES, (suite.name,)))
    mismatches = integers([flagged.get(each, 0) for each in seq.tolist()])
    chosen = order.tolist()

    def numbers(column: int) -> Integers:
        return integers(columns[column])[order]

    return Vectors(
        unit=unit[order],
        seq=seq[order],
        place=numbers(2),
        names=[names[row] for row in chosen],
        kinds=[columns[4][row] for row in chosen],
        eligible=numbers(5) > 0,
        is_closed=numbers(6) > 0,
        sealed_us=numbers(7),
        budgets=[columns[8][row] for row in chosen],
        leaks_tested=numbers(9),
        leaks_found=numbers(10),
        mismatches=mismatches[order],
        brier_sum=numbers(11),
        picobits=numbers(12),
        picobits_clipped=numbers(13),
        piconats_clipped=numbers(14),
    )


_VECTOR_MISMATCHES = f"""SELECT x.seq, count(*) FROM findings x
    JOIN forecasts f USING (seq) JOIN questions q ON q.unit = f.unit
    WHERE q.suite = ? AND x.rule IN {MISMATCHES} GROUP BY x.seq"""


def read_past(connection: sqlite3.Connection, suite: SuiteVersion) -> Past:
    """Return the outcomes of a suite's pool, and while each was known."""
    pool = suite.manifest.baseline_pool
    marks = ",".join("?" * len(pool.suites)), ",".join("?" * len(pool.templates))
    columns = _fetched(
        connection,
        f"""SELECT r.unit, r.seq, {_NULL.format("r.published_us")}, r.counts,
            CASE r.status WHEN 'RESOLVED' THEN r.outcome ELSE '' END,
            q.target, ifnull(q.tags, '{{}}')
            FROM resolutions r JOIN questions q USING (unit)
            WHERE q.suite IN ({marks[0]}) AND q.template IN ({marks[1]})
            ORDER BY r.unit, r.seq""",
        (*pool.suites, *pool.templates),
        7,
    )
    unit, seq, published, counts = map(integers, columns[:4])
    outcomes, targets, tags = columns[4:]
    span = spans(unit, seq, published, counts > 0)
    known = span.known_us if suite.is_claimed else np.where(counts > 0, seq, NEVER)
    until = span.known_until_us if suite.is_claimed else span.until_seq
    chosen = np.flatnonzero(flags([bool(each) for each in outcomes]) & (known != NEVER))
    rows = chosen.tolist()
    return Past(
        traits=Traits(
            targets=[targets[row] for row in rows],
            tags=[_tags(tags[row]) for row in rows],
        ),
        outcomes=[outcomes[row] for row in rows],
        known=known[chosen],
        until=until[chosen],
    )


def _fetched(
    connection: sqlite3.Connection, sql: str, values: Sequence[str], width: int
) -> list[list[Any]]:
    """Return the columns of a query; some thousand rows at a time become columns."""
    columns: list[list[Any]] = [[] for _ in range(width)]
    for rows in _batches(connection.execute(sql, values)):
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(cells)
    return columns


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    while rows := cursor.fetchmany(_FETCHED):
        yield rows
