import csv
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.projections import resampling_sums as sums
from ledger.projections.columns import Integers, integers
from ledger.projections.exact import PPM, UNITS
from ledger.projections.resampling import (
    Interval,
    Resamples,
    Rule,
    in_order,
    interval,
    intervals,
    recorded,
    replicates,
)
from ledger.projections.resampling_auroc import Auroc
from ledger.projections.rng import bounded, stream
from tests.oracle_cases import case, exactly

SEED = b"\1" * 32
RULE = Rule(level=Fraction(95, 100), min_clusters=10, max_undefined=Fraction(1, 100))
MEDIUM = Path(__file__).parent / "oracles" / "medium_a.csv"


@cache
def medium() -> dict[str, Integers]:
    """Return the columns of the shared sample; clusters in the order of their names."""
    with MEDIUM.open() as lines:
        units = list(csv.DictReader(lines))
    names = sorted({unit["cluster"] for unit in units}, key=str.encode)
    return {
        "cluster": integers([names.index(unit["cluster"]) for unit in units]),
        **{
            name: integers([int(unit[name]) for unit in units])
            for name in ("p_ppm", "q_ppm", "base_ppm", "y")
        },
    }


def squared(p_ppm: Integers, y: Integers) -> Integers:
    return (p_ppm - PPM * y) ** 2


def test_intervals_of_all_statistics_are_those_that_others_compute() -> None:
    _, expected = case("cluster-bootstrap")
    units = medium()
    y, cluster, clusters = units["y"], units["cluster"], expected["clusters"]
    own, other, base = (
        squared(units[name], y) for name in ("p_ppm", "q_ppm", "base_ppm")
    )
    statistics = {
        "auroc": Auroc(units["p_ppm"], y, cluster, clusters),
        "brier": sums.mean(own, cluster, clusters),
        "brier_diff_p_minus_q": sums.mean(own - other, cluster, clusters),
        "bss_frozen_base": sums.skill(own, base, cluster, clusters),
        "bss_same_cohort_recomputed": sums.same_cohort_skill(
            own, (y, 1 - y), cluster, clusters, binary=True
        ),
    }
    resamples = Resamples(seed=SEED, clusters=clusters, resamples=2000)
    found = intervals(resamples, statistics, RULE)
    for name in statistics:
        assert found[name].lo == exactly(expected[name]["lo"]), name
        assert found[name].hi == exactly(expected[name]["hi"]), name
        assert found[name].undefined == 0
    first = replicates(Resamples(seed=SEED, clusters=clusters, resamples=1), statistics)
    assert Fraction(*first["brier"][0]) == exactly(expected["first_replicate_brier"])


def test_what_was_drawn_can_be_drawn_again_from_what_is_recorded() -> None:
    resamples = Resamples(seed=SEED, clusters=20, resamples=2000)
    assert recorded(resamples, RULE) == {
        "rng_id": "fl-rng-1",
        "label": "boot",
        "resamples": 2000,
        "clusters": 20,
        "quantile_rule": "inverted_cdf",
        "alpha": "1/20",
    }


# --- Against whoever draws rows, one replicate at a time ------------------------------


def drawn_rows(cluster: Sequence[int], clusters: int, replicate: int) -> list[int]:
    """Return the rows of a replicate, each as often as its cluster was drawn."""
    words = stream(SEED, "boot", (replicate + 1) * clusters)[-clusters:]
    return [
        row
        for drawn in bounded(words, clusters).tolist()
        for row, own in enumerate(cluster)
        if own == drawn
    ]


def plain_auroc(p: Sequence[int], y: Sequence[int]) -> Fraction | None:
    won = [
        Fraction((high > low) - (high < low) + 1, 2)
        for high, came in zip(p, y, strict=True)
        if came
        for low, other in zip(p, y, strict=True)
        if not other
    ]
    return sum(won, Fraction(0)) / len(won) if won else None


def plain_mean(p: Sequence[int], y: Sequence[int]) -> Fraction | None:
    losses = [Fraction(s - PPM * o, PPM) ** 2 for s, o in zip(p, y, strict=True)]
    return sum(losses, Fraction(0)) / len(losses) if losses else None


def plain_skill(p: Sequence[int], y: Sequence[int], base: Any) -> Fraction | None:
    loss = plain_mean(p, y)
    theirs = plain_mean([base] * len(y) if isinstance(base, int) else base, y)
    return 1 - loss / theirs if loss is not None and theirs else None


def plain_same_cohort(p: Sequence[int], y: Sequence[int]) -> Fraction | None:
    if not y:
        return None
    rate, loss = Fraction(sum(y), len(y)), plain_mean(p, y)
    assert loss is not None
    return 1 - loss / (rate * (1 - rate)) if 0 < rate < 1 else None


COHORTS = st.integers(1, 5).flatmap(
    lambda clusters: st.tuples(
        st.just(clusters),
        st.lists(
            st.tuples(
                st.integers(0, clusters - 1),
                st.sampled_from([0, 1, 400_000, 500_000, 999_999, PPM]),
                st.integers(0, 1),
            ),
            min_size=1,
            max_size=12,
        ),
    )
)


@settings(max_examples=80, deadline=None)
@given(cohort=COHORTS)
def test_every_replicate_is_the_statistic_of_the_rows_that_were_drawn(
    cohort: tuple[int, list[tuple[int, int, int]]],
) -> None:
    clusters, units = cohort
    codes, p_ppm, happened = map(list, zip(*units, strict=True))
    cluster, p, y = integers(codes), integers(p_ppm), integers(happened)
    losses = squared(p, y)
    statistics = {
        "mean": sums.mean(losses, cluster, clusters),
        "rate": sums.rate(y, cluster, clusters),
        "skill": sums.skill(
            losses, squared(np.full(len(y), 400_000), y), cluster, clusters
        ),
        "same": sums.same_cohort_skill(
            losses, (y, 1 - y), cluster, clusters, binary=True
        ),
        "sum form": sums.same_cohort_skill(
            2 * losses, (y, 1 - y), cluster, clusters, binary=False
        ),
        "auroc": Auroc(p, y, cluster, clusters),
    }
    plainly: dict[str, Callable[..., Fraction | None]] = {
        "mean": plain_mean,
        "rate": lambda _, y: Fraction(sum(y), len(y)) if y else None,
        "skill": lambda p, y: plain_skill(p, y, 400_000),
        "same": plain_same_cohort,
        "sum form": plain_same_cohort,
        "auroc": plain_auroc,
    }
    resamples = Resamples(seed=SEED, clusters=clusters, resamples=6)
    found = replicates(resamples, statistics)
    for number in range(6):
        rows = drawn_rows(codes, clusters, number)
        own = [p_ppm[row] for row in rows], [happened[row] for row in rows]
        for name, ratios in found.items():
            above, below = ratios[number]
            shown = Fraction(above, below) if below else None
            assert shown == plainly[name](*own), (name, number)


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-(2**63) + 1, 2**63 - 1)),
        min_size=1,
        max_size=9,
    )
)
def test_sums_that_64_bits_do_not_hold_are_exact(values: list[tuple[int, int]]) -> None:
    codes, column = map(list, zip(*values, strict=True))
    cluster = integers(codes)
    plainly = [sum(v for c, v in values if c == own) for own in range(4)]
    assert sums.cluster_sums(integers(column), cluster, 4) == plainly
    found = sums.mean(integers(column), cluster, 4)
    weights = np.array([[4, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 3]])
    totals = [
        sum(w * own for w, own in zip(row, plainly, strict=True))
        for row in weights.tolist()
    ]
    assert [above for above, _ in found.ratios(weights)] == totals


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([3, 50, PPM]),
    heaviest=st.sampled_from([1, 5, 45, 46, 2000]),
)
def test_a_large_aurocs_pairs_are_counted_by_their_weights(
    seed: int, levels: int, heaviest: int
) -> None:
    """More units of each class than are looked at in one piece, and heavy clusters."""
    chance = np.random.default_rng(seed)
    size, clusters = 5_000, 40
    cluster = chance.integers(0, clusters, size)
    p = chance.integers(0, levels, size)
    y = (chance.random(size) < 0.4).astype(np.int64)
    weights = chance.integers(0, heaviest + 1, (3, clusters))
    weights[:, 0] = heaviest
    found = Auroc(p, y, cluster, clusters).ratios(weights)
    for row, (won, pairs) in zip(weights, found, strict=True):
        came = np.bincount(p[y == 1], row[cluster[y == 1]], levels).astype(np.int64)
        missed = np.bincount(p[y == 0], row[cluster[y == 0]], levels).astype(np.int64)
        below = np.cumsum(missed) - missed
        assert won == int((came * (2 * below + missed)).sum())
        assert pairs == 2 * int(came.sum()) * int(missed.sum())


@pytest.mark.parametrize("clusters", [1, 7, 20_000])
def test_every_resample_draws_as_many_clusters_as_there_are(clusters: int) -> None:
    resamples = Resamples(seed=SEED, clusters=clusters, resamples=201)
    blocks = list(resamples.weights())
    assert sum(map(len, blocks)) == 201
    assert all((block.sum(axis=1) == clusters).all() for block in blocks)
    assert all(block.size <= 2**21 for block in blocks)


# --- Ends ------------------------------------------------------------------------------


def test_the_ends_are_the_fiftieth_and_the_nineteen_hundred_and_fiftieth_of_2000() -> (
    None
):
    ratios = [(rank, 7) for rank in range(2000, 0, -1)]
    assert interval(ratios, RULE) == Interval(lo=Fraction(50, 7), hi=Fraction(1950, 7))


@pytest.mark.parametrize(
    ("defined", "ranks"),
    {10: (1, 10), 40: (1, 39), 41: (2, 40), 1999: (50, 1950)}.items(),
    ids=str,
)
def test_a_rank_that_is_no_whole_number_is_rounded_up(
    defined: int, ranks: tuple[int, int]
) -> None:
    found = interval([(rank, 1) for rank in range(1, defined + 1)], RULE)
    assert found == Interval(lo=Fraction(ranks[0]), hi=Fraction(ranks[1]))


@given(
    ratios=st.lists(
        st.tuples(
            st.integers(-(10**20), 10**20),
            st.one_of(st.integers(0, 5), st.integers(1, 10**20)),
        )
    )
)
def test_fractions_are_put_in_order_exactly(ratios: list[tuple[int, int]]) -> None:
    ordered = [Fraction(*ratio) for ratio in in_order(ratios)]
    assert ordered == sorted(Fraction(*ratio) for ratio in ratios if ratio[1])


def test_neighbours_that_floats_do_not_tell_apart_are_in_order() -> None:
    large = 10**18
    below, above = (large - 1, large), (large, large + 1)
    assert below[0] / below[1] == above[0] / above[1]
    assert in_order([above, below]) == [below, above]


def test_undefined_replicates_are_dropped_and_counted_up_to_the_declared_share() -> (
    None
):
    defined = [(rank, 1) for rank in range(1, 2001)]
    at_most = interval([(0, 0)] * 20 + defined[:1980], RULE)
    assert at_most == Interval(lo=Fraction(50), hi=Fraction(1931), undefined=20)
    too_many = interval([(0, 0)] * 21 + defined[:1979], RULE)
    assert too_many == Interval(reason="undefined_replicates", undefined=21)
    lenient = Rule(level=RULE.level, min_clusters=2, max_undefined=Fraction(1))
    assert interval([(0, 0)] * 3, lenient).reason == "undefined_replicates"


SPREAD = {
    "all alike, written differently": ([(1, 1), (2, 2), (3, 3)], "degenerate_variance"),
    "all that are defined alike": ([(1, 2)] * 199 + [(0, 0)], "degenerate_variance"),
    "one that differs": ([(1, 1)] * 199 + [(0, 1)], None),
}


@pytest.mark.parametrize(("ratios", "reason"), SPREAD.values(), ids=SPREAD)
def test_what_needs_a_spread_has_no_interval_without_one(
    ratios: list[tuple[int, int]], reason: str | None
) -> None:
    found = interval(ratios, RULE, needs_spread=True)
    assert found.reason == reason
    assert (found.lo is None) is (reason is not None)
    # A mean that no resample moves is what all of them say.
    of_mean = interval(ratios, RULE)
    assert of_mean.lo == of_mean.hi == Fraction(*ratios[0])


@pytest.mark.parametrize(
    ("p", "reason"),
    {
        "ranked perfectly": ((200_000, 700_000), "degenerate_variance"),
        "ranked the wrong way round": ((700_000, 200_000), "degenerate_variance"),
        "not ranked at all": ((500_000, 500_000), "degenerate_variance"),
        "ranked perfectly but for one pair": ((200_000, 700_000), None),
    }.values(),
    ids=str,
)
def test_a_ranking_that_no_resample_shakes_has_no_interval(
    p: tuple[int, int], reason: str | None
) -> None:
    cluster = np.repeat(np.arange(10), 2)
    y = np.tile(integers([0, 1]), 10)
    said = np.tile(integers(list(p)), 10)
    if reason is None:
        said[:2] = said[:2][::-1]
    statistics = {
        "auroc": Auroc(said, y, cluster, 10),
        "brier": sums.mean(squared(np.full(20, 500_000), y), cluster, 10),
    }
    resamples = Resamples(seed=SEED, clusters=10, resamples=200)
    found = intervals(resamples, statistics, RULE)
    assert found["auroc"].reason == reason
    assert found["brier"].lo == found["brier"].hi == Fraction(1, 4)


@pytest.mark.parametrize(
    ("clusters", "least", "reason"),
    [
        (9, 10, "clusters_lt_min"),
        (10, 10, None),
        (1, 1, "clusters_lt_min"),
        (2, 1, None),
        (0, 0, "clusters_lt_min"),
    ],
)
def test_few_clusters_have_no_interval_and_one_never_has(
    clusters: int, least: int, reason: str | None
) -> None:
    cluster = np.arange(clusters)
    statistics = {"mean": sums.mean(cluster * UNITS, cluster, clusters)}
    resamples = Resamples(seed=SEED, clusters=clusters, resamples=50)
    rule = Rule(level=RULE.level, min_clusters=least, max_undefined=Fraction(0))
    assert intervals(resamples, statistics, rule)["mean"].reason == reason


def test_a_baseline_that_loses_nothing_in_a_resample_leaves_it_undefined() -> None:
    cluster = integers([0, 1])
    statistic = sums.skill(integers([1, 3]), integers([0, 4]), cluster, 2)
    assert statistic.ratios(np.array([[2, 0], [1, 1], [0, 2]])) == [
        (-2, 0),
        (0, 4),
        (2, 8),
    ]


def test_a_forecaster_that_is_better_in_every_cluster_is_so_in_every_resample() -> None:
    units = medium()
    cluster, y = units["cluster"], units["y"]
    losses = squared(units["p_ppm"], y)
    difference = sums.mean(np.full(len(y), -UNITS // 4), cluster, 20)
    resamples = Resamples(seed=SEED, clusters=20, resamples=100)
    found = intervals(
        resamples,
        {"difference": difference, "loss": sums.mean(losses, cluster, 20)},
        RULE,
    )
    assert found["difference"].lo == found["difference"].hi == Fraction(-1, 4)


def test_a_statistic_has_the_same_interval_whatever_stands_beside_it() -> None:
    units = medium()
    own = sums.mean(squared(units["p_ppm"], units["y"]), units["cluster"], 20)
    rate = sums.rate(units["y"], units["cluster"], 20)
    resamples = Resamples(seed=SEED, clusters=20, resamples=300)
    alone = intervals(resamples, {"own": own}, RULE)
    beside = intervals(resamples, {"rate": rate, "own": own}, RULE)
    assert alone["own"] == beside["own"]
