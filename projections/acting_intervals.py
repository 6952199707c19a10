"""Intervals of what acting cost: whole clusters are drawn, and every cost added up anew.

What a policy costs is made of counts alone: of actions, of events, and of events on
which it did not act. So a replicate is a ratio of integers, the best constant policy of
that very replicate included.
"""

from fractions import Fraction
from math import lcm

import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.ground import Ground, Said
from ledger.projections.resampling import Ratio, Statistic
from ledger.projections.resampling_sums import OfSums
from ledger.projections.utility import reaches


def cost_statistics(
    ground: Ground, said: tuple[Said, Said | None], prices: tuple[Fraction, Fraction]
) -> dict[str, Statistic]:
    """Return what is resampled of a policy's costs, by the names that rows give them.

    `said` are what the policy acts on and, if there is one, its baseline's; `prices` are
    those of an action and of an event that is not met, the larger one.
    """
    mine, theirs = said
    scale = lcm(*(price.denominator for price in prices))
    cost, loss = (int(price * scale) for price in prices)
    threshold = prices[0] / prices[1]
    acted, missed = _counted(mine, threshold)
    columns = (acted, missed, mine.y, np.ones_like(acted))

    def paid(acts: int, misses: int) -> int:
        return cost * acts + loss * misses

    def regret(acts: int, misses: int, events: int, n: int) -> Ratio:
        return paid(acts, misses) - min(cost * n, loss * events), scale * n

    def net_benefit(acts: int, misses: int, events: int, n: int) -> Ratio:
        # Counted in events: what was saved, over what meeting one saves.
        return loss * events - paid(acts, misses), (loss - cost) * n

    ratios = {
        "cost": lambda acts, misses, _, n: (paid(acts, misses), scale * n),
        "extra_compute": lambda acts, _misses, _, n: (cost * acts, scale * n),
        "missed_failure_cost": lambda _acts, misses, _, n: (loss * misses, scale * n),
        "regret": regret,
        "net_benefit": net_benefit,
    }
    statistics: dict[str, Statistic] = {
        name: OfSums(columns, *ground.resampled, ratio)
        for name, ratio in ratios.items()
    }
    if theirs is not None:
        more = [
            a - b
            for a, b in zip((acted, missed), _counted(theirs, threshold), strict=True)
        ]
        statistics["regret_vs_baseline_policy"] = OfSums(
            [*more, columns[-1]],
            *ground.resampled,
            lambda acts, misses, n: (paid(acts, misses), scale * n),
        )
    return statistics


def _counted(said: Said, threshold: Fraction) -> tuple[Integers, Integers]:
    """Return where a policy acts, and where it does not although the event comes: 1."""
    acts = reaches(said.p_ppm, threshold)
    missed = ~acts & (said.y == 1)
    return acts.astype(np.int64), missed.astype(np.int64)
