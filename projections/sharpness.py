"""How decided forecasts are, whatever happened (METRICS §15).

Never a score of its own: sharpness is worth something subject to calibration only
(Gneiting, Balabdaoui & Raftery 2007). A constant .80 can be calibrated and is useless.
"""

from fractions import Fraction
from typing import Any

import msgspec

from ledger.projections.cohort import EMPTY, Measure, undefined
from ledger.projections.exact import PPM
from ledger.projections.tally import Tally, squares


class Sharpness(msgspec.Struct, frozen=True, kw_only=True):
    """The distribution of probabilities; the variance divides by the number of units.

    Decisive ones are at most or at least the declared thresholds; a decisive one
    hits where the event did not happen, or did. The rate of hits counts these alone,
    and is undefined (`empty`) where there are none.
    """

    mean_p: Measure
    variance_p: Measure
    mean_abs_from_half: Measure
    decisive_fraction: Measure
    decisive_hit_rate: Measure
    distinct_values: int

    def told(self) -> dict[str, Any]:
        """Return the distribution as rows show it."""
        return {
            "mean_p": self.mean_p.told(),
            "variance_p": self.variance_p.told(),
            "mean_abs_from_half": self.mean_abs_from_half.told(),
            "decisive_fraction": self.decisive_fraction.told(),
            "decisive_hit_rate": self.decisive_hit_rate.told(),
            "distinct_values": self.distinct_values,
        }


def sharpness(counts: Tally, decisive: tuple[Fraction, Fraction]) -> Sharpness:
    """Return how sharp a cohort's probabilities are; undefined (`empty`) of none.

    `decisive` are the largest low probability and the smallest high one, which is
    larger.
    """
    low, high = (threshold * PPM for threshold in decisive)
    assert low < high, "no probability is decisive in both ways"
    p, said = counts.p_ppm, counts.said
    # Of whole millionths, those from the next whole one on are at least `high`.
    is_low, is_high = p <= low // 1, p >= -(-high // 1)
    decided = int(said[is_low | is_high].sum())
    hits = int((said - counts.happened)[is_low].sum() + counts.happened[is_high].sum())
    units, total = counts.units, int((said * p).sum())
    around_mean = squares(counts) * units - total * total
    return Sharpness(
        mean_p=_share(total, units * PPM, units),
        variance_p=_share(around_mean, (units * PPM) ** 2, units),
        mean_abs_from_half=_share(
            int((said * abs(2 * p - PPM)).sum()), 2 * units * PPM, units
        ),
        decisive_fraction=_share(decided, units, units),
        decisive_hit_rate=_share(hits, decided, decided),
        distinct_values=len(p),
    )


def _share(part: int, whole: int, n: int) -> Measure:
    return Measure(value=Fraction(part, whole), n=n) if n else undefined(EMPTY, 0)
