"""Looks: at how many resolved units a suite said that its results would be looked at.

Whoever looks whenever they like can stop when they like the result. The declared units
with an outcome are counted over the whole suite, whoever forecast them. When a look
fell due, `looks_due` finds in the log.
"""

from typing import Any

from ledger.projections.board import Board


def look(board: Board) -> dict[str, Any] | None:
    """Return at which look a suite's rows are; None where it declares none.

    `reached` is the last number of `statistics.looks` that was reached, `next` the one
    after; null where there is none. Results are due at exactly those numbers.
    """
    looks = board.suite.manifest.statistics.looks
    if not looks:
        return None
    reached = [each for each in looks if each <= board.resolved]
    ahead = [each for each in looks if each > board.resolved]
    return {
        "resolved": board.resolved,
        "reached": reached[-1] if reached else None,
        "next": ahead[0] if ahead else None,
        "is_due": board.resolved in looks,
    }
