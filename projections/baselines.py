"""Computed competitors: what the past alone would have said, and when (METRICS §7).

The past of a vector are the outcomes of the suite's `baseline_pool` that were known
just before the vector's place in the log: each unit once, as it stood then. By
claimed times a place is an instant, and what was published at that very instant
was not known. All counts are integers and all rates fractions of integers; a rate
becomes parts per million by the largest remainder.

A rate is computed for `past_rate` competitors without a half-life. Recalibrated
competitors (`platt`, `isotonic`) and decaying rates have no row.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from ledger.projections.columns import Integers, flags, integers
from ledger.projections.exact import PPM
from ledger.suite import Competitor, SuiteManifest

_INT64_MAX = 2**63 - 1
_TAG = "tag:"


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What units are alike or different in: one row a unit."""

    targets: Sequence[str]
    tags: Sequence[dict[str, str]]

    def keys(self, by: Sequence[str]) -> list[tuple[str | None, ...]]:
        """Return the key of each unit; a unit without a tag has the key None."""
        columns = [
            self.targets
            if segment == "target"
            else [tags.get(segment.removeprefix(_TAG)) for tags in self.tags]
            for segment in by
        ]
        return list(zip(*columns, strict=True)) if by else [()] * len(self.targets)


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of a pool: what was known, from which place until which other."""

    traits: Traits
    outcomes: Sequence[str]
    known: Integers
    until: Integers


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where rates are asked for: units that share their answers, each at a place."""

    traits: Traits
    answers: tuple[str, ...]
    place: Integers


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of each answer (a column) at each place (a row), over one denominator."""

    numerators: Any
    denominator: Any

    def ppm(self) -> Integers:
        """Return the rates in parts per million; each row sums to one million."""
        scaled = self.numerators * PPM
        floors = scaled // self.denominator[:, None]
        left = scaled - floors * self.denominator[:, None]
        missing = PPM - floors.sum(axis=1)
        # The place of each remainder among those of its row, the largest first.
        order = np.argsort(-left, axis=1, kind="stable")
        ranks = np.argsort(order, axis=1, kind="stable")
        rounded: Integers = (floors + (ranks < missing[:, None])).astype(np.int64)
        return rounded


def is_computed(competitor: Competitor, manifest: SuiteManifest) -> bool:
    """Tell whether this module computes what a competitor says."""
    if competitor.method != "past_rate" or competitor.half_life_days:
        return False
    is_drawn = bool(Fraction(competitor.prior_weight or 0))
    return not is_drawn or is_computed(_population(manifest), manifest)


def _population(manifest: SuiteManifest) -> Competitor:
    """Return the competitor that serves as R1; a drawn rate is never frozen without."""
    return next(each for each in manifest.competitors if each.role == "r1")


def past_rates(
    competitor: Competitor, manifest: SuiteManifest, past: Past, places: Places
) -> Rates:
    """Return what a competitor says of each answer at each place.

    Without `prior_weight`: (n_k + a) / (N + aK), n within equal `by` keys. With it:
    (n_k + w R1_k) / (N + w), R1 the exact rate of the competitor of role r1.
    """
    counts = _counts(past, places, competitor.by)
    if competitor.exclude_own_target:
        counts = counts - _counts(past, places, (*competitor.by, "target"))
    total = counts.sum(axis=1)
    weight = Fraction(competitor.prior_weight or 0)
    if not weight:
        prior = Fraction(competitor.prior_count or 0)
        width = _width(len(past.outcomes), prior, counts.shape[1])
        counts, total = counts.astype(width), total.astype(width)
        return Rates(
            numerators=counts * prior.denominator + prior.numerator,
            denominator=total * prior.denominator + prior.numerator * counts.shape[1],
        )
    r1 = past_rates(_population(manifest), manifest, past, places)
    counts, total = counts.astype(object), total.astype(object)
    own = counts * (r1.denominator[:, None] * weight.denominator)
    return Rates(
        numerators=own + r1.numerators * weight.numerator,
        denominator=(total * weight.denominator + weight.numerator) * r1.denominator,
    )


def _width(outcomes: int, prior: Fraction, answers: int) -> type:
    """Return int64 where every intermediate fits into it, else Python's integers."""
    largest = (outcomes * prior.denominator + prior.numerator * answers) * PPM
    return np.int64 if largest < _INT64_MAX else object


def _counts(past: Past, places: Places, by: Sequence[str]) -> Integers:
    """Return how often each answer was known before each place, within equal keys."""
    codes: dict[tuple[str | None, ...], int] = {}
    of_past = _coded(past.traits.keys(by), codes)
    of_places = _coded(places.traits.keys(by), codes)
    moments = np.unique(np.concatenate([past.known, past.until]))
    before = np.searchsorted(moments, places.place)
    columns = []
    for answer in places.answers:
        chosen = np.flatnonzero(flags([each == answer for each in past.outcomes]))
        key = of_past[chosen]
        came = np.searchsorted(moments, past.known[chosen])
        went = np.searchsorted(moments, past.until[chosen])
        columns.append(
            _earlier(key, came, of_places, before)
            - _earlier(key, went, of_places, before)
        )
    return np.stack(columns, axis=1)


def _coded(
    keys: list[tuple[str | None, ...]], codes: dict[tuple[str | None, ...], int]
) -> Integers:
    return integers([codes.setdefault(key, len(codes)) for key in keys])


def _earlier(
    key: Integers, rank: Integers, asked_key: Integers, asked_rank: Integers
) -> Integers:
    """Return how many rows with the same key have a lower rank than each asked one."""
    # Ranks are numbers of moments, so that key and rank fit into one integer.
    highest = int(max(rank.max(initial=0), asked_rank.max(initial=0))) + 1
    ordered = np.sort(key * highest + rank)
    first = np.searchsorted(ordered, asked_key * highest)
    return np.searchsorted(ordered, asked_key * highest + asked_rank) - first
