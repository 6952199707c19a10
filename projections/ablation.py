"""What each kind of evidence adds, on the very same units (METRICS §13).

Every tier is a forecaster of its own. `cumulative` goes up the frozen order and
measures what each tier gains over the one before; `leave_one_out` compares the first,
which has all evidence, with each that lacks one stream.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import Literal

import msgspec
import numpy as np

from ledger.projections.cohort import EMPTY, Measure
from ledger.projections.columns import Flags, Integers
from ledger.projections.exact import UNITS, exact_sum

Kind = Literal["cumulative", "leave_one_out"]


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecaster scored: higher is better, in units of 1e-12, a row a unit.

    The score says nothing where `is_scored` is false.
    """

    name: str
    score: Integers
    is_scored: Flags


class Lift(msgspec.Struct, frozen=True, kw_only=True):
    """How much better `tier` scored than `without`, as a mean over the common units.

    `gains` are the differences of which it is the mean, one a common unit: what an
    interval resamples.
    """

    tier: str
    without: str
    gain: Measure
    gains: Integers


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """The lifts of an order, all on the `units` (rows) that every tier has a score on.

    `scored` is how many each tier has one on: more than the common units where some
    tier was not run on all. `total` is what the last has over the first; where the
    tiers are cumulative, the lifts sum to it.
    """

    kind: Kind
    units: Integers
    scored: dict[str, int]
    lifts: tuple[Lift, ...]
    total: Lift | None


def ablation(tiers: Sequence[Tier], kind: Kind) -> Ablation:
    """Return the lifts of at least one tier, in the frozen order."""
    units = np.flatnonzero(reduce(np.logical_and, (each.is_scored for each in tiers)))
    lifts = tuple(
        _lift(better, worse, units) for better, worse in _compared(tiers, kind)
    )
    total = None
    if kind == "cumulative":
        total = _lift(tiers[-1], tiers[0], units)
        summed = sum((each.gain.value or Fraction(0) for each in lifts), Fraction(0))
        assert summed == (total.gain.value or 0), "cumulative lifts telescope"
    return Ablation(
        kind=kind,
        units=units,
        scored={each.name: int(np.count_nonzero(each.is_scored)) for each in tiers},
        lifts=lifts,
        total=total,
    )


def _compared(tiers: Sequence[Tier], kind: Kind) -> Iterator[tuple[Tier, Tier]]:
    """Yield which tier is compared with which one that has less evidence."""
    if kind == "cumulative":
        return zip(tiers[1:], tiers[:-1], strict=True)
    return ((tiers[0], without) for without in tiers[1:])


def _lift(better: Tier, worse: Tier, units: Integers) -> Lift:
    gains = better.score[units] - worse.score[units]
    n = len(units)
    mean = Fraction(exact_sum(gains), n * UNITS) if n else None
    return Lift(
        tier=better.name,
        without=worse.name,
        gain=Measure(value=mean, n=n, reason=None if n else EMPTY),
        gains=gains,
    )
