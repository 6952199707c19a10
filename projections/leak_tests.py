"""Whether what stands for a row's units was tested for leaked knowledge, and passed.

Other vectors decide nothing: one that came too late to be scored harms no number, and
one that was tested says nothing of the others.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ledger.projections.columns import rows_among
from ledger.projections.ground import Ground
from ledger.projections.slotted import Chosen


class LeakTests(NamedTuple):
    """Of how many vectors how many were tested, and failed a test.

    `no_leakage` is False where one failed, True where the suite's share was tested, and
    else None.
    """

    vectors: int
    tested: int
    failed: int
    no_leakage: bool | None

    def told(self) -> dict[str, int]:
        """Return the counts as rows show them."""
        return {"vectors": self.vectors, "tested": self.tested, "failed": self.failed}


def leak_tests(ground: Ground, chosen: Chosen) -> LeakTests:
    """Return what the leak tests say of the vectors that stand for the row's units.

    Those are the `chosen` ones, which the slot takes, or, of what recalibrates another, the
    source's own. To hold, as large a share of them must have been tested as the suite's
    units are to be covered: whoever chose which to test would choose what passes.
    """
    board = ground.sample.board
    if chosen.origin is None:
        return LeakTests(0, 0, 0, None)
    rows = chosen.origin[rows_among(chosen.unit, ground.cohort.units)]
    rows = rows[rows >= 0]
    tested = int(np.count_nonzero(board.vectors.leaks_tested[rows]))
    failed = int(np.count_nonzero(board.vectors.leaks_found[rows]))
    minimum = Fraction(board.suite.manifest.coverage.minimum)
    is_enough = tested > 0 and tested >= minimum * len(rows)
    holds = False if failed else True if is_enough else None
    return LeakTests(len(rows), tested, failed, holds)
