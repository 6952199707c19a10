"""One suite's tables as columns: what its reporting rows are made from."""

import apsw
import msgspec
import numpy as np

from ledger.projections.baselines import Past, Traits
from ledger.projections.board_looks import Reached, read_reached
from ledger.projections.board_units import Pinned, Units, read_units
from ledger.projections.columns import NEVER, Flags, Integers, integers
from ledger.projections.costs_board import Costs, read_costs
from ledger.projections.eligibility import HIDDEN
from ledger.projections.fetching import Texts, batches, gather
from ledger.projections.lineage import KINDS, REVEAL
from ledger.projections.materialize import Tables
from ledger.projections.pool import read_pool
from ledger.projections.quantities_board import Quantity, read_quantities
from ledger.projections.suites import Frozen, SuiteVersion, periods


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
    budget: Texts
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
    rule: Texts
    forecaster: Integers
    forecasters: dict[str, int]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version, its units and vectors, its findings, and the past of its pool.

    `quantities` are the numbers that the suite asks for, by name, and `costs` what
    vectors say that they cost.
    `past` is by the answers of its questions. `traits` has the suite's own units
    first, row by row, and then those of the pool that are others'. `opened` is where
    each hidden vector was opened, by its position, if anything is recalibrated.
    `is_stolen` says that the key that froze it was compromised by then, `is_cold` that
    the pool leaves out an earlier version, whose outcomes whoever forecasts may know.
    `spent` are the periods that this version or an earlier one trained or tuned on,
    `reached` is how many declared units ever had an outcome. The first of these to have
    one only train, as many as `min_training` says: here they have none.
    """

    suite: SuiteVersion
    as_of_us: int
    superseded_us: int | None
    custody: str
    is_stolen: bool
    is_cold: bool
    units: Units
    vectors: Vectors
    quantities: dict[str, Quantity]
    costs: Costs
    findings: Findings
    traits: Traits
    past: dict[tuple[str, ...], Past]
    opened: dict[int, int]
    spent: tuple[tuple[int, int], ...]
    reached: Reached
    is_training: Flags


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
    traits, past = read_pool(connection, suite, units)
    is_training = _read_training(connection, suite, units)
    outcome = np.where(is_training, -1, units.outcome)
    vectors = _read_vectors(connection, suite, units)
    voided = max(frozen.charters.voiding, default=0)
    return Board(
        suite=suite,
        as_of_us=as_of_us,
        superseded_us=None if successor is None else successor.received_us,
        custody=frozen.charters.at(last_seq).custody,
        is_stolen=frozen.charters.is_void(suite),
        is_cold=any(
            each.name not in suite.manifest.baseline_pool.suites
            for each in frozen.versions(suite.name)
        ),
        units=msgspec.structs.replace(units, outcome=outcome),
        vectors=vectors,
        quantities=read_quantities(connection, suite, units, vectors.seq),
        costs=read_costs(connection, suite, vectors.seq),
        findings=_read_findings(connection, suite, units),
        traits=traits,
        past=past,
        opened=_read_opened(connection, suite),
        spent=tuple(
            period
            for each in frozen.versions(suite.name)
            for purpose in ("train", "tune")
            for period in periods(each.manifest, purpose)
        ),
        reached=read_reached(connection, suite.name, as_of_us, voided),
        is_training=is_training,
    )


def _rows_of(units: Units, numbers: Integers) -> Integers:
    """Return the rows of units by their numbers in the tables."""
    order = np.argsort(units.number)
    return order[np.searchsorted(units.number[order], numbers)].astype(np.int64)


_VECTORS = f"""SELECT f.unit, f.seq, f.created_us, f.received_us, f.eligible,
    f.is_hidden AND f.opened_seq IS NULL, ifnull(f.reason, '') = '{HIDDEN}',
    f.leaks_tested, f.leaks_found, ifnull(f.brier_sum, {NEVER}),
    ifnull(f.picobits, {NEVER}), ifnull(f.picobits_clipped, {NEVER}),
    ifnull(f.piconats_clipped, {NEVER}),
    f.forecaster, f.kind, ifnull(f.adaptation_budget, ''),
    ifnull(f.probabilities_ppm, '')
    FROM forecasts f JOIN questions q USING (unit)
    WHERE q.suite = ? AND f.kind <> ?"""  # noqa: S608 - a constant
_VECTOR_NUMBERS = (
    "unit seq created_us received_us eligible is_closed is_withheld leaks_tested "
    "leaks_found brier_sum picobits picobits_clipped piconats_clipped"
)


def _read_vectors(
    connection: apsw.Connection, suite: SuiteVersion, units: Units
) -> Vectors:
    found = gather(
        batches(connection, _VECTORS, (suite.name, KINDS[REVEAL])),
        _VECTOR_NUMBERS,
        "forecaster kind budget ppm",
    )
    forecaster, ppm, kinds = found["forecaster"], found["ppm"], found["kind"]
    unit = _rows_of(units, found["unit"])
    order = np.lexsort((found["seq"], forecaster.code, unit))
    sealed_us = found["created_us" if suite.is_claimed else "received_us"]
    codes = integers([KINDS.index(kind) for kind in kinds.names])

    def column(name: str) -> Integers:
        chosen: Integers = found[name][order]
        return chosen

    return Vectors(
        unit=unit[order],
        seq=column("seq"),
        place=(sealed_us if suite.is_claimed else found["seq"])[order],
        sealed_us=sealed_us[order],
        forecaster=forecaster.code[order],
        forecasters={name: code for code, name in enumerate(forecaster.names)},
        kind=codes[kinds.code[order]],
        eligible=column("eligible") > 0,
        is_closed=column("is_closed") > 0,
        is_withheld=column("is_withheld") > 0,
        budget=found["budget"].ordered(order),
        leaks_tested=column("leaks_tested"),
        leaks_found=column("leaks_found"),
        code=_vector_codes(ppm.names)[ppm.code[order]],
        distinct=[tuple(map(int, text.split())) for text in ppm.names if text],
        brier_sum=column("brier_sum"),
        picobits=column("picobits"),
        picobits_clipped=column("picobits_clipped"),
        piconats_clipped=column("piconats_clipped"),
    )


def _vector_codes(texts: list[str]) -> Integers:
    """Return the number of each text among those that state a vector; -1 for none."""
    stated = np.array([bool(text) for text in texts], dtype=np.bool_)
    return np.where(stated, np.cumsum(stated) - 1, -1)


def _read_training(
    connection: apsw.Connection, suite: SuiteVersion, units: Units
) -> Flags:
    """Mark the first units to be resolved, as many as the suite keeps for training.

    In the order in which their first outcomes were recorded; by claims, published.
    """
    marked = np.zeros(len(units.number), dtype=np.bool_)
    wanted = suite.manifest.statistics.min_training
    if wanted:
        known = "r.seq"
        if suite.is_claimed:
            known = "ifnull(r.published_us, r.created_us)"
        sql = (
            f"SELECT r.unit, min({known}), min(r.seq) FROM resolutions r "  # noqa: S608
            "JOIN questions q USING (unit) WHERE q.suite = ? AND q.status = 'RESOLVED' "
            "AND r.status = 'RESOLVED' AND r.counts "
            "GROUP BY r.unit ORDER BY 2, 3 LIMIT ?"
        )
        first = [unit for unit, *_ in connection.execute(sql, (suite.name, wanted))]
        marked[_rows_of(units, integers(first))] = True
    return marked


def _read_opened(connection: apsw.Connection, suite: SuiteVersion) -> dict[int, int]:
    if not any(each.of for each in suite.manifest.competitors):
        return {}
    place = "created_us" if suite.is_claimed else "seq"
    # Few vectors are ever hidden: one look through all is cheaper than one at each unit.
    sql = (
        f"SELECT f.seq, o.{place} FROM forecasts f "  # noqa: S608 - one of two columns
        "CROSS JOIN forecasts o ON o.seq = f.opened_seq "
        "CROSS JOIN questions q ON q.unit = f.unit "
        "WHERE f.opened_seq IS NOT NULL AND q.suite = ?"
    )
    return dict(connection.execute(sql, (suite.name,)))


_FINDINGS = """SELECT x.unit, x.rule, ifnull(f.forecaster, '')
    FROM findings x JOIN questions q USING (unit) LEFT JOIN forecasts f ON f.seq = x.seq
    WHERE q.suite = ?"""


def _read_findings(
    connection: apsw.Connection, suite: SuiteVersion, units: Units
) -> Findings:
    rows = batches(connection, _FINDINGS, (suite.name,))
    found = gather(rows, "unit", "rule forecaster")
    unit, names = _rows_of(units, found["unit"]), found["forecaster"].names
    order = np.argsort(unit, kind="stable")
    codes = integers([code if name else -1 for code, name in enumerate(names)])
    return Findings(
        unit=unit[order],
        rule=found["rule"].ordered(order),
        forecaster=codes[found["forecaster"].code[order]],
        forecasters={name: code for code, name in enumerate(names) if name},
    )
