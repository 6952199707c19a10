"""One suite's tables as columns: what its reporting rows are made from."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ledger.projections.baselines import Past, Traits
from ledger.projections.board_units import FETCHED, Pinned, Units, read_units
from ledger.projections.columns import NEVER, Flags, Integers, coded, integers
from ledger.projections.eligibility import HIDDEN
from ledger.projections.lineage import KINDS, REVEAL
from ledger.projections.materialize import Tables
from ledger.projections.resolutions import spans
from ledger.projections.suites import Frozen, SuiteVersion


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """One row a vector; those of a chain stand together, in the order of the log.

    `unit` is a row of `Units`, `place` where it stands in the past (a position or,
    by claims, an instant). `code` is which of the `distinct` vectors it states, -1
    for a hidden one. `is_closed` marks what was hidden and not opened, `is_withheld`
    what would count then. Scores are `NEVER` where there is none.
    """

    unit: Integers
    seq: Integers
    place: Integers
    sealed_us: Integers
    forecaster: Integers
    forecasters: dict[str, int]
    kind: Integers
    eligible: Flags
    is_closed: Flags
    is_withheld: Flags
    budget: Integers
    budgets: list[str]
    leaks_tested: Integers
    leaks_found: Integers
    code: Integers
    distinct: list[tuple[int, ...]]
    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """One row a finding, by unit; `forecaster` is -1 where it is about a record."""

    unit: Integers
    rule: Integers
    rules: list[str]
    forecaster: Integers
    forecasters: dict[str, int]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version, its units and vectors, its findings, and the past of its pool.

    `past` is by the answers of its questions. `traits` has the suite's own units
    first, row by row, and then those of the pool that are others'.
    """

    suite: SuiteVersion
    as_of_us: int
    superseded_us: int | None
    custody: str
    units: Units
    vectors: Vectors
    findings: Findings
    traits: Traits
    past: dict[tuple[str, ...], Past]


def read_board(
    tables: Tables, frozen: Frozen, suite: SuiteVersion, pinned: Pinned
) -> Board:
    """Return what a suite's rows are made from.

    Raises `UncheckableError` where a pinned list of questions is not at hand.
    """
    connection = tables.connection
    units = read_units(connection, suite, pinned)
    successor = frozen.successor(suite.name)
    last_seq, as_of_us = tables.last_entries()[suite.name]
    traits, past = _read_pool(connection, suite, units)
    return Board(
        suite=suite,
        as_of_us=as_of_us,
        superseded_us=None if successor is None else successor.received_us,
        custody=frozen.charters.at(last_seq).custody,
        units=units,
        vectors=_read_vectors(connection, suite, units),
        findings=_read_findings(connection, suite, units),
        traits=traits,
        past=past,
    )


def _rows_of(units: Units, numbers: Integers) -> Integers:
    """Return the rows of units by their numbers in the tables."""
    order = np.argsort(units.number)
    return order[np.searchsorted(units.number[order], numbers)].astype(np.int64)


_VECTORS = f"""SELECT f.unit, f.seq, f.created_us, f.received_us, f.forecaster, f.kind,
    f.eligible, f.is_hidden AND f.opened_seq IS NULL, ifnull(f.reason, '') = '{HIDDEN}',
    ifnull(f.adaptation_budget, ''),
    f.leaks_tested, f.leaks_found, ifnull(f.probabilities_ppm, ''),
    ifnull(f.brier_sum, {NEVER}), ifnull(f.picobits, {NEVER}),
    ifnull(f.picobits_clipped, {NEVER}), ifnull(f.piconats_clipped, {NEVER})
    FROM forecasts f JOIN questions q USING (unit)
    WHERE q.suite = ? AND f.kind <> ?"""  # noqa: S608 - a constant


def _read_vectors(
    connection: sqlite3.Connection, suite: SuiteVersion, units: Units
) -> Vectors:
    found = _fetched(connection, _VECTORS, (suite.name, KINDS[REVEAL]), 17)
    unit, seq = _rows_of(units, integers(found[0])), integers(found[1])
    names, forecaster = coded(found[4])
    budgets, budget = coded(found[9])
    texts, text = coded(found[12])
    order = np.lexsort((seq, forecaster, unit))
    sealed_us = integers(found[2 if suite.is_claimed else 3])
    distinct = [tuple(map(int, each.split())) for each in texts if each]
    codes = np.cumsum([bool(each) for each in texts], dtype=np.int64) - 1
    codes[[not each for each in texts]] = -1
    kinds = {kind: at for at, kind in enumerate(KINDS)}

    def column(at: int) -> Integers:
        return integers(found[at])[order]

    return Vectors(
        unit=unit[order],
        seq=seq[order],
        place=(sealed_us if suite.is_claimed else seq)[order],
        sealed_us=sealed_us[order],
        forecaster=forecaster[order],
        forecasters={name: code for code, name in enumerate(names)},
        kind=integers([kinds[kind] for kind in found[5]])[order],
        eligible=column(6) > 0,
        is_closed=column(7) > 0,
        is_withheld=column(8) > 0,
        budget=budget[order],
        budgets=budgets,
        leaks_tested=column(10),
        leaks_found=column(11),
        code=codes[text[order]],
        distinct=distinct,
        brier_sum=column(13),
        picobits=column(14),
        picobits_clipped=column(15),
        piconats_clipped=column(16),
    )


_FINDINGS = """SELECT x.rule, x.unit, ifnull(f.forecaster, '')
    FROM findings x JOIN questions q USING (unit) LEFT JOIN forecasts f ON f.seq = x.seq
    WHERE q.suite = ?"""


def _read_findings(
    connection: sqlite3.Connection, suite: SuiteVersion, units: Units
) -> Findings:
    found = _fetched(connection, _FINDINGS, (suite.name,), 3)
    unit = _rows_of(units, integers(found[1]))
    order = np.argsort(unit, kind="stable")
    rules, rule = coded(found[0])
    names, forecaster = coded(found[2])
    nobody = names.index("") if "" in names else -1
    return Findings(
        unit=unit[order],
        rule=rule[order],
        rules=rules,
        forecaster=np.where(forecaster == nobody, -1, forecaster)[order],
        forecasters={name: code for code, name in enumerate(names) if name},
    )


def _read_pool(
    connection: sqlite3.Connection, suite: SuiteVersion, units: Units
) -> tuple[Traits, dict[tuple[str, ...], Past]]:
    """Return the traits of all units concerned, and while each outcome was known."""
    pool = suite.manifest.baseline_pool
    within = (
        f"q.suite IN ({','.join('?' * len(pool.suites))}) "
        f"AND q.template IN ({','.join('?' * len(pool.templates))})"
    )
    named = (*pool.suites, *pool.templates)
    others = _fetched(
        connection,
        "SELECT unit, target, ifnull(tags, '') FROM questions q "  # noqa: S608 - marks
        f"WHERE suite <> ? AND {within}",
        (suite.name, *named),
        3,
    )
    traits = Traits([*units.targets, *others[1]], [*units.tags, *others[2]])
    records = _fetched(
        connection,
        f"SELECT r.unit, r.seq, ifnull(r.published_us, {NEVER}), r.counts, "  # noqa: S608 - marks
        "CASE r.status WHEN 'RESOLVED' THEN r.outcome ELSE '' END, q.answers "
        f"FROM resolutions r JOIN questions q USING (unit) WHERE {within} "
        "ORDER BY r.unit, r.seq",
        named,
        6,
    )
    numbers = np.concatenate([units.number, integers(others[0])])
    return traits, _past(suite, numbers, records)


def _past(
    suite: SuiteVersion, numbers: Integers, records: list[list[Any]]
) -> dict[tuple[str, ...], Past]:
    unit, seq, published_us, counts = map(integers, records[:4])
    span = spans(unit, seq, published_us, counts > 0)
    known, until = (
        (span.known_us, span.known_until_us)
        if suite.is_claimed
        else (np.where(counts > 0, seq, NEVER), span.until_seq)
    )
    order = np.argsort(numbers)
    row = order[np.searchsorted(numbers[order], unit)]
    texts, asked = coded(records[5])
    found = {}
    for code, text in enumerate(texts):
        answers = tuple(msgspec.json.decode(text, type=list[str]))
        places = {answer: at for at, answer in enumerate(answers)}
        of_list = np.flatnonzero((asked == code) & (known != NEVER))
        outcome = integers(
            [places.get(records[4][each], -1) for each in of_list.tolist()]
        )
        chosen = of_list[outcome >= 0]
        found[answers] = Past(
            unit=row[chosen],
            outcome=outcome[outcome >= 0],
            known=known[chosen],
            until=until[chosen],
        )
    return found


def _fetched(
    connection: sqlite3.Connection, sql: str, values: Sequence[str], width: int
) -> list[list[Any]]:
    """Return the columns of a query; some thousand rows at a time become columns."""
    columns: list[list[Any]] = [[] for _ in range(width)]
    cursor = connection.execute(sql, values)
    while rows := cursor.fetchmany(FETCHED):
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(cells)
    return columns
