"""Two competitors on identical units: how far apart, and could it be chance.

The differences of their losses are averaged over units; clusters are what is resampled
and what changes sides (METRICS §11; Diebold & Mariano 1995). A p-value alone is never a
reason to keep anything.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ledger.projections import resampling_sums
from ledger.projections.cohort import DEGENERATE, EMPTY, INSUFFICIENT, Measure
from ledger.projections.columns import INT64_MAX, Integers
from ledger.projections.exact import CONTEXT, UNITS, exact_sum, sum_of_ratios
from ledger.projections.resampling import Interval, Resamples, Rule, intervals
from ledger.projections.rng import Words, draws

# Integers of 64 bits, or Python's own where those do not hold the sums.
Numbers = npt.NDArray[Any]

FLIPS = 9999
FLIP_LABEL = "flip"
# So many clusters change sides in all ways there are: 65,536 at most.
_CLUSTERS_EXACT_MAX = 16
_AT_ONCE = 200
_BITS = 64


class SignFlip(msgspec.Struct, frozen=True, kw_only=True):
    """How often as large a difference comes about when clusters change sides.

    `p_greater` asks for one as large, `p_two_sided` for one as far from zero. `flips`
    are all there are where `is_exact`, else the draws.
    """

    p_greater: Fraction
    p_two_sided: Fraction
    flips: int
    is_exact: bool


class StudentT(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of the clusters' means in its standard errors, or why there is none."""

    t: Decimal | None = None
    degrees: int = 0
    reason: str | None = None


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """A difference on identical units, its interval, and two tests that it is none."""

    difference: Measure
    interval: Interval
    sign_flip: SignFlip | None
    student: StudentT


def paired(
    differences: Integers,
    cluster: Integers,
    resamples: Resamples,
    rule: Rule,
) -> Paired:
    """Return how two competitors compare, from the difference of each unit's losses.

    `differences` are in units of 1e-12. Without units there is nothing to test.
    """
    clusters = resamples.clusters
    if not len(differences):
        reason = EMPTY
        return Paired(
            difference=Measure(value=None, n=0, reason=reason),
            interval=Interval(reason=reason),
            sign_flip=None,
            student=StudentT(reason=reason),
        )
    total, units = exact_sum(differences), len(differences)
    statistic = resampling_sums.mean(differences, cluster, clusters)
    sums = resampling_sums.cluster_sums(differences, cluster, clusters)
    sizes = np.bincount(cluster, minlength=clusters).tolist()
    return Paired(
        difference=Measure(value=Fraction(total, units * UNITS), n=units),
        interval=intervals(resamples, {"difference": statistic}, rule)["difference"],
        sign_flip=sign_flip(sums, resamples.seed),
        student=student(sums, sizes),
    )


def sign_flip(sums: Sequence[int], seed: bytes, flips: int = FLIPS) -> SignFlip:
    """Return the p-values of a sum whose summands, one a cluster, may change sign.

    Up to sixteen clusters change sides in every way there is, the observed one
    included. More do so at random, by the label `flip`: draw b takes the words from
    b * w on, where w words have a bit for each cluster, the least significant first; a
    one changes sides. There the observed one is added to the draws (Phipson & Smyth
    2010: a p-value is never zero).
    """
    observed = sum(sums)
    summands = _exact(sums)
    is_exact = len(sums) <= _CLUSTERS_EXACT_MAX
    if is_exact:
        blocks = [_all_flips(summands)]
    else:
        words = -(-len(sums) // _BITS)
        blocks = [
            observed - 2 * (_bits(block, len(sums)) @ summands)
            for block in draws(
                seed, FLIP_LABEL, replicates=flips, words=words, at_once=_AT_ONCE
            )
        ]
    found: Numbers = np.concatenate(blocks)
    own = 0 if is_exact else 1
    of = len(found) + own
    greater = int(np.count_nonzero(found >= observed)) + own
    farther = int(np.count_nonzero(abs(found) >= abs(observed))) + own
    return SignFlip(
        p_greater=Fraction(greater, of),
        p_two_sided=Fraction(farther, of),
        flips=len(found),
        is_exact=is_exact,
    )


def student(sums: Sequence[int], sizes: Sequence[int]) -> StudentT:
    """Return Student's t of the clusters' means; each cluster has at least one unit.

    Undefined for one cluster (`insufficient`) and for means that are all the same
    (`degenerate_variance`).
    """
    clusters = len(sums)
    if clusters - 1 < 1:
        return StudentT(reason=INSUFFICIENT)
    each = list(zip(sums, sizes, strict=True))
    total = sum_of_ratios(each)
    squares = sum_of_ratios((own * own, size * size) for own, size in each)
    deviations = squares - total * total / clusters
    if not deviations:
        return StudentT(degrees=clusters - 1, reason=DEGENERATE)
    squared = total * total * (clusters - 1) / (clusters * deviations)
    ratio = CONTEXT.divide(Decimal(squared.numerator), Decimal(squared.denominator))
    t = CONTEXT.sqrt(ratio)
    # A minus sign would round to the digits of whatever context is current.
    return StudentT(t=t if total >= 0 else t.copy_negate(), degrees=clusters - 1)


def _exact(sums: Sequence[int]) -> Numbers:
    """Return summands in 64 bits where those hold thrice what they can add up to."""
    fits = 3 * sum(map(abs, sums)) <= INT64_MAX
    return np.array(sums, dtype=np.int64 if fits else np.object_)


def _all_flips(summands: Numbers) -> Numbers:
    found: Numbers = np.zeros(1, dtype=summands.dtype)
    for summand in summands:
        found = np.concatenate([found + summand, found - summand])
    return found


def _bits(words: Words, clusters: int) -> Integers:
    octets = words.astype("<u8").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=clusters, bitorder="little")
    return bits.astype(np.int64)
