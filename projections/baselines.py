"""Computed competitors: what the past alone would have said, and when (METRICS §7).

The past of a place are the outcomes of the suite's `baseline_pool` that were known
just before it: each unit once, as it stood then, so that no later amendment changes
what was said. A place is a position in the log or, by claimed times, an instant;
what was published at that very instant was not known. Only questions with the very
same answers are counted together. All counts are integers and all rates fractions of
integers; a rate becomes parts per million by the largest remainder.

With a half-life an outcome counts less as it ages (`decay`). What is drawn towards an
R1 that is not itself a past rate has no row.
"""

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from ledger.projections.columns import (
    INT64_MAX,
    NEVER,
    Flags,
    Integers,
    coded,
    counted_earlier,
)
from ledger.projections.decay import Asked, Turns, weighed
from ledger.projections.exact import PPM, UNITS
from ledger.projections.fetching import Texts
from ledger.suite import Competitor, SuiteManifest

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
    after `known` until `until`, both places. The days of these, counted from 1970 on,
    are None in a suite of which no rate decays.
    """

    unit: Integers
    outcome: Integers
    known: Integers
    until: Integers
    known_day: Integers | None = None
    until_day: Integers | None = None


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


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where rates are asked for: of which unit, at which place, on which day."""

    unit: Integers
    place: Integers
    day: Integers


class Walk:
    """A walk forward through time: what was known at each of some places.

    All units have the same answers.
    """

    def __init__(self, traits: Traits, past: Past, answers: int, where: Where) -> None:
        self._traits = traits
        self._past = past
        self._answers = answers
        self._where = where
        self._counted: dict[tuple[int, tuple[str, ...]], Integers] = {}

    def rates(self, competitor: Competitor, manifest: SuiteManifest) -> Rates:
        """Return what a competitor says of each answer at each place.

        Without `prior_weight`: (n_k + a) / (N + aK), n within equal `by` keys. With
        it: (n_k + w R1_k) / (N + w), R1 the exact rate of the competitor of role r1.
        """
        counts = self._within(competitor)
        total = counts.sum(axis=1)
        half_life = competitor.half_life_days or 0
        # A decaying count is in units of 1e-12, and so has to be what it is added to.
        one = UNITS if half_life else 1
        weight = Fraction(competitor.prior_weight or 0) * one
        if not weight:
            prior = Fraction(competitor.prior_count or 0) * one
            return self._unweighted(counts, total, prior, one)
        r1 = self.rates(population(manifest), manifest)
        # One more than was counted, since a factor has to fit even without any count.
        most = (len(self._past.outcome) + 1) * one
        longest = most * weight.denominator + weight.numerator
        width = _width(longest * int(r1.denominator.max(initial=1)))
        counts, total = counts.astype(width), total.astype(width)
        below = r1.denominator.astype(width)
        own = counts * (below * weight.denominator)[:, None]
        return Rates(
            numerators=own + r1.numerators * weight.numerator,
            denominator=(total * weight.denominator + weight.numerator) * below,
        )

    def has_past(self, competitor: Competitor) -> Flags:
        """Mark the places at which a competitor knew an outcome within its own keys.

        At any other it says what its prior does, and nothing of its own.
        """
        marked: Flags = self._within(competitor).sum(axis=1) > 0
        return marked

    def _within(self, competitor: Competitor) -> Integers:
        """Return the counts that a competitor's rates are of, without what it draws on."""
        half_life, by = competitor.half_life_days or 0, competitor.by
        counts = self._counts(by, half_life)
        if competitor.exclude_own_target:
            counts = counts - self._counts((*by, "target"), half_life)
        return counts

    def _unweighted(
        self, counts: Integers, total: Integers, prior: Fraction, one: int
    ) -> Rates:
        added, most = prior.numerator * self._answers, len(self._past.outcome) + 1
        width = _width(most * one * prior.denominator + added)
        counts, total = counts.astype(width), total.astype(width)
        return Rates(
            numerators=counts * prior.denominator + prior.numerator,
            denominator=total * prior.denominator + added,
        )

    def _counts(self, by: tuple[str, ...], half_life_days: int) -> Integers:
        """Return how often each answer was known before each place, in equal keys.

        With a half-life, what these outcomes weigh, in units of 1e-12.
        """
        what = (half_life_days, by)
        if what not in self._counted:
            keys = self._traits.keys(by)
            columns = [
                self._weighed(keys, answer, half_life_days)
                if half_life_days
                else self._count(keys, answer)
                for answer in range(self._answers)
            ]
            self._counted[what] = np.stack(columns, axis=1)
        return self._counted[what]

    def _count(self, keys: Integers, answer: int) -> Integers:
        past, place = self._past, self._where.place
        came = past.outcome == answer
        # What no record superseded never ceased to be known: there are few others.
        went = came & (past.until != NEVER)
        of, asked = keys[past.unit], keys[self._where.unit]
        return counted_earlier(
            of[came], past.known[came], asked, place
        ) - counted_earlier(of[went], past.until[went], asked, place)

    def _weighed(self, keys: Integers, answer: int, half_life_days: int) -> Integers:
        past, where = self._past, self._where
        asked = Asked(key=keys[where.unit], place=where.place, day=where.day)
        came = past.outcome == answer
        went = came & (past.until != NEVER)
        if past.known_day is None or past.until_day is None:
            assert not len(past.outcome), "a suite with a half-life reads the days"
            return np.zeros(len(where.unit), dtype=np.int64)
        of, since = keys[past.unit], past.known_day
        known, gone = (
            Turns(key=of[rows], place=place[rows], day=day[rows], since=since[rows])
            for rows, place, day in (
                (came, past.known, past.known_day),
                (went, past.until, past.until_day),
            )
        )
        return weighed(known, asked, half_life_days) - weighed(
            gone, asked, half_life_days
        )


def _divided(numerators: Any, denominators: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Return quotients and rests; numpy's own divmod takes no long integers."""
    return numerators // denominators, numerators % denominators


def _width(longest: int) -> type:
    """Return int64 where every intermediate fits into it, else Python's integers."""
    return np.int64 if longest * _STEP < INT64_MAX else object


def is_computed(competitor: Competitor, manifest: SuiteManifest) -> bool:
    """Tell whether this module computes what a competitor says."""
    if competitor.method != "past_rate":
        return False
    if not Fraction(competitor.prior_weight or 0):
        return True
    r1 = population(manifest)
    # The R1 rate cannot be drawn towards itself.
    return r1 is not competitor and is_computed(r1, manifest)


def decays(manifest: SuiteManifest) -> bool:
    """Tell whether some rate of a suite has a half-life."""
    return any(each.half_life_days for each in manifest.competitors)


def population(manifest: SuiteManifest) -> Competitor:
    """Return the competitor of role r1; none that is drawn is frozen without it."""
    return next(each for each in manifest.competitors if each.role == "r1")
