"""What a suite's vectors say that they cost, as columns."""

import re
from fractions import Fraction

import apsw
import msgspec
import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.fetching import Texts, batches, gather
from ledger.projections.suites import SuiteVersion

# Longer texts are no amounts, and would take minutes to add up.
_DECIMAL = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """One row a statement, by vector: which cost, and how much by `amounts`.

    `vector` is a row of the board's vectors. `code` is a place in `amounts`, -1 for a
    text that is no decimal.
    """

    vector: Integers
    name: Texts
    code: Integers
    amounts: list[Fraction]


_STATED = """SELECT c.seq, c.cost, c.stated
    FROM costs c JOIN questions q USING (unit) WHERE q.suite = ?"""


def read_costs(
    connection: apsw.Connection, suite: SuiteVersion, seq: Integers
) -> Costs:
    """Return what a suite's vectors say that they cost.

    `seq` are the positions of the board's vectors, in the order of their rows.
    """
    rows = batches(connection, _STATED, (suite.name,))
    found = gather(rows, "seq", "name stated")
    by_seq = np.argsort(seq)
    vector = by_seq[np.searchsorted(seq[by_seq], found["seq"])].astype(np.int64)
    order = np.argsort(vector, kind="stable")
    amounts, codes = _amounts(found["stated"].names)
    return Costs(
        vector=vector[order],
        name=found["name"].ordered(order),
        code=codes[found["stated"].code[order]],
        amounts=amounts,
    )


def _amounts(texts: list[str]) -> tuple[list[Fraction], Integers]:
    """Return the amounts among some texts, and for each text its place among these."""
    amounts: list[Fraction] = []
    codes = np.full(len(texts), -1, dtype=np.int64)
    for at, text in enumerate(texts):
        if _DECIMAL.fullmatch(text):
            codes[at] = len(amounts)
            amounts.append(Fraction(text))
    return amounts, codes
