"""How far a reliability curve may stray by chance."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from ledger.projections.columns import Integers, integers
from ledger.projections.corp import pooled
from ledger.projections.corp_bands import Place, confidence_band, consistency_band
from ledger.projections.exact import PPM
from ledger.projections.resampling import Resamples, Rule
from ledger.projections.rng import stream
from ledger.projections.tally import tally
from tests.tallies import LEVEL, case, medium, tally_of, told

SEED = bytes(range(32))
RULE = Rule(level=LEVEL, min_clusters=10, max_undefined=Fraction(1, 100))
REPLICATES = 60


def band_of_words(p_ppm: Integers, y: Integers) -> tuple[Place, ...]:
    blocks = pooled(tally(p_ppm, y))
    return consistency_band(blocks, p_ppm, seed=SEED, resamples=REPLICATES)


def rate_at(p_ppm: int, units: list[tuple[int, int]]) -> Fraction:
    """Return the curve at a probability; between blocks it stays as on the left."""
    blocks = pooled(tally_of(units))
    below = [each for each in blocks if each.p_min_ppm <= p_ppm]
    return (below[-1] if below else blocks[0]).rate


def ends(rates: list[Fraction], level: Fraction) -> tuple[Fraction, Fraction]:
    ranked, below = sorted(rates), (1 - level) / 2
    lo, hi = (ceil(len(ranked) * share) for share in (below, 1 - below))
    return ranked[lo - 1], ranked[hi - 1]


def test_a_band_is_told_at_the_ends_of_the_curves_blocks() -> None:
    p_ppm, y = told(case("corp-tiny")[0])
    found = [each.p_ppm for each in band_of_words(p_ppm, y)]
    assert found == [100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000]


def test_the_consistency_band_is_that_of_curves_drawn_unit_by_unit() -> None:
    p_ppm, y = told(case("corp-medium")[0])
    words = stream(SEED, "consistency", REPLICATES * 200).tolist()
    said = p_ppm.tolist()
    drawn = [
        [(p, int(words[b * 200 + i] % PPM < p)) for i, p in enumerate(said)]
        for b in range(REPLICATES)
    ]
    for place in band_of_words(p_ppm, y):
        rates = [rate_at(place.p_ppm, units) for units in drawn]
        found = (place.interval.lo, place.interval.hi)
        assert found == ends(rates, Fraction(9, 10))


def test_the_confidence_band_is_that_of_curves_of_repeated_clusters() -> None:
    p_ppm, y = told(case("corp-medium")[0])
    names = [each["cluster"] for each in medium()]
    order = sorted(set(names))
    cluster = integers([order.index(name) for name in names])
    resamples = Resamples(seed=SEED, clusters=len(order), resamples=REPLICATES)
    found = confidence_band(
        pooled(tally(p_ppm, y)), p_ppm, y, cluster, resamples=resamples, rule=RULE
    )
    units = list(zip(p_ppm.tolist(), y.tolist(), cluster.tolist(), strict=True))
    words = stream(SEED, "boot", REPLICATES * len(order)).tolist()
    drawn = []
    for b in range(REPLICATES):
        chosen = [w % len(order) for w in words[b * len(order) : (b + 1) * len(order)]]
        drawn.append([(p, e) for each in chosen for p, e, c in units if c == each])
    for place in found:
        rates = [rate_at(place.p_ppm, replicate) for replicate in drawn]
        assert (place.interval.lo, place.interval.hi) == ends(rates, LEVEL)


@pytest.mark.parametrize("clusters", [9, 10])
def test_a_confidence_band_needs_its_clusters(clusters: int) -> None:
    p_ppm, y = told(case("corp-medium")[0])
    found = confidence_band(
        pooled(tally(p_ppm, y)),
        p_ppm,
        y,
        np.arange(200) % clusters,
        resamples=Resamples(seed=SEED, clusters=clusters, resamples=3),
        rule=RULE,
    )
    reasons = {each.interval.reason for each in found}
    assert reasons == ({"clusters_lt_min"} if clusters < 10 else {None})
    assert (found[0].told()["lo"] is None) == (clusters < 10)


def test_what_is_certain_has_a_band_of_no_width() -> None:
    p_ppm, y = integers([0, 0, PPM, PPM]), integers([0, 0, 1, 1])
    assert [each.told() for each in band_of_words(p_ppm, y)] == [
        {"p": "0.000000000000", "lo": "0.000000000000", "hi": "0.000000000000"},
        {"p": "1.000000000000", "lo": "1.000000000000", "hi": "1.000000000000"},
    ]


def test_a_right_forecaster_lies_within_and_a_wrong_one_without() -> None:
    p_ppm = np.repeat(integers([200_000, 800_000]), 100)
    right, wrong = np.arange(200) % 5 == 0, np.arange(200) % 5 != 0
    y_right = np.where(p_ppm == 200_000, right, wrong).astype(np.int64)
    y_wrong = np.where(p_ppm == 200_000, np.arange(200) % 2, 1).astype(np.int64)
    for y, is_within in ((y_right, True), (y_wrong, False)):
        first = band_of_words(p_ppm, y)[0]
        rate = pooled(tally(p_ppm, y))[0].rate
        assert first.interval.lo is not None
        assert first.interval.hi is not None
        assert (first.interval.lo <= rate <= first.interval.hi) is is_within
