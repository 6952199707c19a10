"""Looks: at how many resolved units a suite said that its results would be looked at.

Whoever looks whenever they like can stop when they like the result. The declared units
that ever had an outcome are counted over the whole suite, whoever forecast them, and
whatever became of the outcome: the number never falls, so that a look is due once. When
it fell due, `looks_due` finds in the log.
"""

from typing import Any

from ledger.projections.board import Board


def look(board: Board) -> dict[str, Any] | None:
    """Return at which look a suite's rows are; None where it declares none.

    `reached` is the last number of `statistics.looks` that was reached, `next` the one
    after; null where there is none. Results are due from the entry that reached one until
    the next outcome, and no longer once one of those outcomes has changed, or what is
    said of when it began or was published, nor once a charter called a key compromised.
    What was reached before outcomes were taken back so is not reached again.
    """
    looks, now = board.suite.manifest.statistics.looks, board.reached
    if not looks:
        return None
    reached = [each for each in looks if each <= now.resolved]
    ahead = [each for each in looks if each > now.resolved]
    return {
        "resolved": now.resolved,
        "reached": reached[-1] if reached else None,
        "next": ahead[0] if ahead else None,
        "is_due": any(each > max(now.before, now.spent) for each in reached)
        and not now.is_amended,
    }
