"""Computed competitors: what the past alone would have said, and when (METRICS §7).

The past of a place are the outcomes of the suite's `baseline_pool` that were known
just before it: each unit once, as it stood then, so that no later amendment changes
what was said. A place is a position in the log or, by claimed times, an instant;
what was published at that very instant was not known. Only questions with the very
same answers are counted together. All counts are integers and all rates fractions of
integers; a rate becomes parts per million by the largest remainder.

A rate is computed for `past_rate` competitors without a half-life. Recalibrated
competitors (`platt`, `isotonic`), decaying rates and what is drawn towards one of
these have no row.
"""

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from ledger.projections.columns import NEVER, Integers, coded
from ledger.projections.exact import PPM
from ledger.projections.fetching import Texts
from ledger.suite import Competitor, SuiteManifest

_INT64_MAX = 2**63 - 1
# A million is reached in two steps of a thousand, so that longer counts fit int64.
_STEP = 1_000
TAG = "tag:"
_TAGS = msgspec.json.Decoder(dict[str, str])


class Traits:
    """What units are alike or different in: the target and the tags, one row a unit."""

    def __init__(self, targets: Texts, tags: Texts) -> None:
        """Take the targets, and the tags as JSON objects; "" for no tags."""
        self._targets = targets
        self._tags = tags
        self._keys: dict[tuple[str, ...], Integers] = {}

    def values(self, segment: str) -> Texts:
        """Return each unit's target or tag; "" is the tag of a unit that has none."""
        if segment == "target":
            return self._targets
        return tag_of(self._tags, segment.removeprefix(TAG))

    def keys(self, by: tuple[str, ...]) -> Integers:
        """Return a number for each unit, equal where all segments are equal."""
        if by not in self._keys:
            self._keys[by] = self._numbered(by)
        return self._keys[by]

    def _numbered(self, by: tuple[str, ...]) -> Integers:
        numbers = np.zeros(len(self._targets.code), dtype=np.int64)
        for segment in by:
            values = self.values(segment)
            numbers = numbers * len(values.names) + values.code
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        return numbers


def tag_of(tags: Texts, name: str) -> Texts:
    """Return what one tag of each unit says; "" where there is none."""
    read = [_TAGS.decode(text).get(name, "") if text else "" for text in tags.names]
    names, codes = coded(read)
    return Texts(names, codes[tags.code])


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of questions with the same answers: one row for each that was known.

    `unit` is a row of `Traits`, `outcome` the index of the answer; it was known from
    after `known` until `until`, both places.
    """

    unit: Integers
    outcome: Integers
    known: Integers
    until: Integers


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of each answer (a column) at each place (a row), over one denominator."""

    numerators: Any
    denominator: Any

    def ppm(self) -> Integers:
        """Return the rates in parts per million; each row sums to one million."""
        below = self.denominator[:, None]
        thousands, rest = _divided(self.numerators * _STEP, below)
        ones, left = _divided(rest * _STEP, below)
        floors = (thousands * _STEP + ones).astype(np.int64)
        missing = PPM - floors.sum(axis=1)
        # The place of each remainder among those of its row, the largest first.
        order = np.argsort(-left, axis=1, kind="stable")
        ranks = np.argsort(order, axis=1, kind="stable")
        whole: Integers = floors + (ranks < missing[:, None])
        return whole

    def fractions(self) -> list[tuple[Fraction, ...]]:
        """Return the rates of each place, exactly."""
        return [
            tuple(Fraction(each, below) for each in row)
            for row, below in zip(
                self.numerators.tolist(), self.denominator.tolist(), strict=True
            )
        ]


class Walk:
    """A walk forward through time: what was known at each of some places.

    All units have the same answers. `unit` and `place` say where rates are asked for.
    """

    def __init__(
        self, traits: Traits, past: Past, answers: int, unit: Integers, place: Integers
    ) -> None:
        self._traits = traits
        self._past = past
        self._answers = answers
        self._unit = unit
        self._place = place
        self._counted: dict[tuple[str, ...], Integers] = {}

    def rates(self, competitor: Competitor, manifest: SuiteManifest) -> Rates:
        """Return what a competitor says of each answer at each place.

        Without `prior_weight`: (n_k + a) / (N + aK), n within equal `by` keys. With
        it: (n_k + w R1_k) / (N + w), R1 the exact rate of the competitor of role r1.
        """
        counts = self._counts(competitor.by)
        if competitor.exclude_own_target:
            counts = counts - self._counts((*competitor.by, "target"))
        total = counts.sum(axis=1)
        weight = Fraction(competitor.prior_weight or 0)
        if not weight:
            return self._unweighted(
                counts, total, Fraction(competitor.prior_count or 0)
            )
        r1 = self.rates(population(manifest), manifest)
        # One more than was counted, since a factor has to fit even without any count.
        most = len(self._past.outcome) + 1
        longest = most * weight.denominator + weight.numerator
        width = _width(longest * int(r1.denominator.max(initial=1)))
        counts, total = counts.astype(width), total.astype(width)
        below = r1.denominator.astype(width)
        own = counts * (below * weight.denominator)[:, None]
        return Rates(
            numerators=own + r1.numerators * weight.numerator,
            denominator=(total * weight.denominator + weight.numerator) * below,
        )

    def _unweighted(self, counts: Integers, total: Integers, prior: Fraction) -> Rates:
        added = prior.numerator * self._answers
        width = _width((len(self._past.outcome) + 1) * prior.denominator + added)
        counts, total = counts.astype(width), total.astype(width)
        return Rates(
            numerators=counts * prior.denominator + prior.numerator,
            denominator=total * prior.denominator + added,
        )

    def _counts(self, by: tuple[str, ...]) -> Integers:
        """Return how often each answer was known before each place, in equal keys."""
        if by not in self._counted:
            keys = self._traits.keys(by)
            columns = [self._count(keys, answer) for answer in range(self._answers)]
            self._counted[by] = np.stack(columns, axis=1)
        return self._counted[by]

    def _count(self, keys: Integers, answer: int) -> Integers:
        past, asked = self._past, keys[self._unit]
        came = past.outcome == answer
        # What no record superseded never ceased to be known: there are few others.
        went = came & (past.until != NEVER)
        of = keys[past.unit]
        return _earlier(of[came], past.known[came], asked, self._place) - _earlier(
            of[went], past.until[went], asked, self._place
        )


def _earlier(
    key: Integers, place: Integers, asked_key: Integers, asked_place: Integers
) -> Integers:
    """Return how many rows with the same key have a lower place than each asked one."""
    if not len(key):
        return np.zeros(len(asked_key), dtype=np.int64)
    # Places become ranks, so that key and rank fit into one integer.
    moments = np.unique(place)
    span = len(moments) + 1
    ordered = np.sort(key * span + np.searchsorted(moments, place))
    asked = asked_key * span
    found = np.searchsorted(ordered, asked + np.searchsorted(moments, asked_place))
    return found - np.searchsorted(ordered, asked)


def _divided(numerators: Any, denominators: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Return quotients and rests; numpy's own divmod takes no long integers."""
    return numerators // denominators, numerators % denominators


def _width(longest: int) -> type:
    """Return int64 where every intermediate fits into it, else Python's integers."""
    return np.int64 if longest * _STEP < _INT64_MAX else object


def is_computed(competitor: Competitor, manifest: SuiteManifest) -> bool:
    """Tell whether this module computes what a competitor says."""
    if competitor.method != "past_rate" or competitor.half_life_days:
        return False
    if not Fraction(competitor.prior_weight or 0):
        return True
    r1 = population(manifest)
    # The R1 rate cannot be drawn towards itself.
    return r1 is not competitor and is_computed(r1, manifest)


def population(manifest: SuiteManifest) -> Competitor:
    """Return the competitor of role r1; none that is drawn is frozen without it."""
    return next(each for each in manifest.competitors if each.role == "r1")
