"""Murphy's decomposition of the Brier score, by groups of probabilities (METRICS §9).

Brier = reliability - resolution + uncertainty + variance - covariance within groups.
The last two vanish where each distinct probability is a group of its own (Murphy
1973); without them the identity of binned forecasts does not hold (Stephenson, Coelho
& Jolliffe 2008, WAF 23:752).
"""

from fractions import Fraction

import msgspec
import numpy as np

from ledger.projections.columns import Integers
from ledger.projections.exact import PPM, UNITS, sum_of_ratios
from ledger.projections.tally import Tally, brier, grouped, squares


class Murphy(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a Brier score; reliability is a loss, resolution a gain."""

    brier: Fraction
    reliability: Fraction
    resolution: Fraction
    uncertainty: Fraction
    within_variance: Fraction
    within_covariance: Fraction


def by_distinct_values(counts: Tally) -> Murphy | None:
    """Return the decomposition with a group for each probability; None if empty."""
    return by_groups(counts, np.arange(len(counts.p_ppm)))


def by_groups(counts: Tally, group: Integers) -> Murphy | None:
    """Return the decomposition by the groups 0, 1, ... of the distinct probabilities.

    None of an empty cohort. The identity is asserted exactly.
    """
    if not counts.units:
        return None
    units, events = counts.units, counts.events
    cells = _cells(counts, group)
    gaps = sum_of_ratios(((p - PPM * k) ** 2, n) for n, k, p in cells)
    of_means = sum_of_ratios((p * p, n) for n, _, p in cells)
    of_rates = sum_of_ratios((k * k, n) for n, k, _ in cells)
    crossed = sum_of_ratios((p * k, n) for n, k, p in cells)
    both = int((counts.happened * counts.p_ppm).sum())
    found = Murphy(
        brier=brier(counts),
        reliability=gaps / (units * UNITS),
        resolution=of_rates / units - Fraction(events * events, units * units),
        uncertainty=Fraction(events * (units - events), units * units),
        within_variance=(squares(counts) - of_means) / (units * UNITS),
        within_covariance=2 * (both - crossed) / (units * PPM),
    )
    between = found.reliability - found.resolution + found.uncertainty
    within = found.within_variance - found.within_covariance
    assert found.brier == between + within, "the parts of a score sum to the score"
    return found


def _cells(counts: Tally, group: Integers) -> list[tuple[int, int, int]]:
    """Return of each group that was used: units, events, sum of probabilities."""
    size = int(group.max()) + 1
    columns = (counts.said, counts.happened, counts.said * counts.p_ppm)
    sums = (grouped(size, group, column).tolist() for column in columns)
    return [(n, k, p) for n, k, p in zip(*sums, strict=True) if n]
