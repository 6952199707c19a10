"""Between which bounds a number lies, whatever the missing outcomes are (METRICS §18).

Each unit with a missing outcome may have scored one of a few choices, one for each
answer; sums over units are then separable, and ratios of sums are found by iteration
in exact fractions.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from ledger.projections.exact import UNITS


class Bound(NamedTuple):
    """The least and the greatest that a number can be."""

    lo: Fraction
    hi: Fraction


class Losses(NamedTuple):
    """What a model and its baseline lose on a unit if one of its answers happens."""

    model: int
    baseline: int


class Unsaid(NamedTuple):
    """Units of which nothing was said: with an outcome, events among these, without."""

    units: int
    events: int
    open: int


def mean_bound(
    total: int, units: int, choices: Mapping[tuple[int, ...], int]
) -> Bound | None:
    """Return the bounds of a mean: `units` scored `total`, others one of some choices.

    `choices` says of how many units there are which, in units of 1e-12. None of nothing.

    >>> mean_bound(0, 1, {(10**12, 0): 1})
    Bound(lo=Fraction(0, 1), hi=Fraction(1, 2))
    """
    whole = (units + sum(choices.values())) * UNITS
    if not whole:
        return None
    least = sum(min(unit) * count for unit, count in choices.items())
    greatest = sum(max(unit) * count for unit, count in choices.items())
    return Bound(Fraction(total + least, whole), Fraction(total + greatest, whole))


def skill_bound(
    known: Losses, choices: Mapping[tuple[Losses, ...], int]
) -> Bound | None:
    """Return the bounds of 1 - (sum of model losses) / (sum of baseline losses).

    `known` are the sums over units with an outcome. None where the baseline may turn
    out without a loss: the skill may then be undefined.
    """
    least = sum(
        min(each.baseline for each in unit) * count for unit, count in choices.items()
    )
    if not known.baseline + least:
        return None
    return Bound(
        1 - _extreme_ratio(known, choices, sign=1),
        1 + _extreme_ratio(known, choices, sign=-1),
    )


def _extreme_ratio(
    known: Losses, choices: Mapping[tuple[Losses, ...], int], *, sign: int
) -> Fraction:
    """Return the greatest value of `sign` times the ratio of the sums (Dinkelbach)."""
    taken = [unit[0] for unit in choices]
    counts = list(choices.values())
    while True:
        ratio = _ratio(known, taken, counts)
        up, down = ratio.numerator, ratio.denominator
        taken = [
            max(unit, key=lambda each: sign * (each.model * down - each.baseline * up))
            for unit in choices
        ]
        if sign * _ratio(known, taken, counts) <= sign * ratio:
            return sign * ratio


def _ratio(known: Losses, taken: Sequence[Losses], counts: Sequence[int]) -> Fraction:
    model, baseline = known
    for each, count in zip(taken, counts, strict=True):
        model += each.model * count
        baseline += each.baseline * count
    return Fraction(model, baseline)


def own_rate_skill_bound(
    lost: int, events: int, units: int, missing: Sequence[tuple[int, int]]
) -> Bound | None:
    """Return the bounds of the skill against the cohort's own event rate.

    `units` with an outcome lost `lost`, and in `events` of them the event happened;
    `missing` are losses if it happened and if it did not, all in the binary form.
    None where all may turn out alike: the rate may then be without a loss.
    """
    if not 0 < events < units:
        return None
    size, lost = units + len(missing), lost + sum(other for _, other in missing)
    # With k more events, the least is lost if they are where they cost least.
    extra = sorted(event - other for event, other in missing)
    least = accumulate(extra, initial=lost)
    greatest = accumulate(reversed(extra), initial=lost)

    def skill(more: int, loss: int) -> Fraction:
        rate = Fraction(events + more, size)
        return 1 - Fraction(loss, size * UNITS) / (rate * (1 - rate))

    return Bound(
        min(skill(*each) for each in enumerate(greatest)),
        max(skill(*each) for each in enumerate(least)),
    )


def any_vector_skill_bound(
    lost: int,
    events: int,
    units: int,
    missing: Sequence[tuple[int, int]],
    unsaid: Unsaid,
) -> Bound | None:
    """Return the same bounds where anything could have been said of more units.

    Of each the loss would have been between none and the whole, whatever happened.
    """

    def bound(loss: int) -> Bound | None:
        return own_rate_skill_bound(
            lost + loss * unsaid.units,
            events + unsaid.events,
            units + unsaid.units,
            [*missing, *[(loss, loss)] * unsaid.open],
        )

    worst, best = bound(UNITS), bound(0)
    return worst and best and Bound(worst.lo, best.hi)
