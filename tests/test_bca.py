from fractions import Fraction

import numpy as np
import pytest

from ledger.projections import resampling_sums as sums
from ledger.projections.bca import accelerated
from ledger.projections.columns import Integers
from ledger.projections.exact import PPM, UNITS
from ledger.projections.resampling import Resamples, Rule, intervals
from tests.oracle_cases import case, exactly
from tests.source_tree import imports, product_modules
from tests.test_resampling import RULE, SEED, medium


def resamples(clusters: int, size: int = 2000) -> Resamples:
    return Resamples(seed=SEED, clusters=clusters, resamples=size)


def mean_of(values: list[int]) -> sums.OfSums:
    column: Integers = np.array(values) * UNITS
    return sums.mean(column, np.arange(len(values)), len(values))


def test_ranks_and_ends_are_those_that_others_compute() -> None:
    _, expected = case("bca")
    units = medium()
    losses = (units["p_ppm"] - PPM * units["y"]) ** 2
    found = accelerated(sums.mean(losses, units["cluster"], 20), resamples(20), RULE)
    assert found.bias == pytest.approx(expected["z0"], abs=1e-9)
    assert found.acceleration == pytest.approx(expected["acceleration"], abs=1e-9)
    assert list(found.ranks or ()) == expected["order_stat"]
    assert found.interval.lo == exactly(expected["lo"])
    assert found.interval.hi == exactly(expected["hi"])


def test_where_nothing_varies_the_interval_is_the_percentile_one() -> None:
    statistic = mean_of([3] * 12)
    found = accelerated(statistic, resamples(12, 100), RULE)
    assert (found.reason, found.bias) == ("no_spread", None)
    assert found.interval.lo == found.interval.hi == 3


def test_where_all_replicates_are_on_one_side_it_is_the_percentile_one() -> None:
    class Lopsided:
        """More than its estimate, as soon as a cluster is drawn twice."""

        needs_spread = False

        def ratios(self, weights: Integers) -> list[tuple[int, int]]:
            return [(int(row.max()), 1) for row in weights]

    found = accelerated(Lopsided(), resamples(12, 100), RULE)
    assert (found.reason, found.ranks) == ("all_on_one_side", None)
    assert found.interval == intervals(resamples(12, 100), {"own": Lopsided()}, RULE)[
        "own"
    ]  # fmt: skip


def test_without_a_percentile_interval_there_is_none_either() -> None:
    class Undefined:
        needs_spread = False

        def ratios(self, weights: Integers) -> list[tuple[int, int]]:
            return [(0, 0) for _ in weights]

    strict = Rule(level=RULE.level, min_clusters=2, max_undefined=Fraction(0))
    found = accelerated(Undefined(), resamples(12, 100), strict)
    assert found.reason == found.interval.reason == "undefined_replicates"


def test_few_clusters_have_no_interval() -> None:
    found = accelerated(mean_of(list(range(9))), resamples(9, 100), RULE)
    assert found.reason == found.interval.reason == "clusters_lt_min"


def test_skewed_clusters_move_both_ends_to_the_long_tail() -> None:
    statistic = mean_of([0] * 8 + [1, 1, 2, 40])
    found = accelerated(statistic, resamples(12), RULE)
    plain = intervals(resamples(12), {"own": statistic}, RULE)["own"]
    assert found.acceleration is not None
    assert found.acceleration > 0
    assert found.interval.hi is not None
    assert plain.hi is not None
    assert found.interval.hi > plain.hi


def test_nothing_that_makes_rows_knows_it() -> None:
    modules = product_modules()
    names = frozenset(module.name for module in modules)
    knowing = [
        module.name
        for module in modules
        for use in imports(module, names)
        if use.name == "ledger.projections.bca"
    ]
    assert knowing == []
