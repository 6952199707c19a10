"""The numbers that a suite asks for, as columns: what was said of each, and observed."""

import apsw
import msgspec
import numpy as np

from ledger.projections.board_units import RESOLVED, STATUSES, Units
from ledger.projections.columns import Integers
from ledger.projections.fetching import Texts, batches, gather
from ledger.projections.suites import SuiteVersion
from ledger.suite import QuantityRule


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """One declared quantity on a board.

    `said` has a row for each of the board's vectors and `observed` one for each of its
    units; a code of -1 stands for nothing. What a vector said is JSON text: a list of
    its point, its quantiles by level and its samples, each null where there is none.
    """

    rule: QuantityRule
    said: Texts
    observed: Texts


_SAID = """SELECT x.seq, x.quantity,
    json_array(x.point, json(x.quantiles), json(x.samples))
    FROM quantities x JOIN questions q USING (unit) WHERE q.suite = ?"""
# The values that count are those of the record that stands.
_OBSERVED = f"""SELECT q.unit, o.quantity, o.value
    FROM questions q JOIN observations o ON o.seq = q.resolved_seq
    WHERE q.suite = ? AND q.status = '{STATUSES[RESOLVED]}'"""  # noqa: S608 - a constant


def read_quantities(
    connection: apsw.Connection, suite: SuiteVersion, units: Units, seq: Integers
) -> dict[str, Quantity]:
    """Return the quantities that a suite declares, by name; nothing is read for none.

    `seq` are the positions of the board's vectors, in the order of their rows.
    """
    rules = suite.manifest.quantities
    if not rules:
        return {}
    said = _by_name(connection, _SAID, suite, seq)
    observed = _by_name(connection, _OBSERVED, suite, units.number)
    return {
        name: Quantity(
            rule=rule,
            said=said.get(name) or _nothing(len(seq)),
            observed=observed.get(name) or _nothing(len(units.number)),
        )
        for name, rule in rules.items()
    }


def _by_name(
    connection: apsw.Connection, sql: str, suite: SuiteVersion, keys: Integers
) -> dict[str, Texts]:
    """Return the texts of a query by the quantity's name, one row a key."""
    found = gather(batches(connection, sql, (suite.name,)), "key", "quantity text")
    order = np.argsort(keys)
    rows = order[np.searchsorted(keys[order], found["key"])]
    quantity, text = found["quantity"], found["text"]
    columns = {}
    for code, name in enumerate(quantity.names):
        chosen = quantity.code == code
        codes = np.full(len(keys), -1, dtype=np.int64)
        codes[rows[chosen]] = text.code[chosen]
        columns[name] = Texts(text.names, codes)
    return columns


def _nothing(size: int) -> Texts:
    return Texts([], np.full(size, -1, dtype=np.int64))
