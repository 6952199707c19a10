"""What one forecast of a number cost, by each metric that it allows (METRICS §16)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

import msgspec

from ledger.projections.quantities import (
    Quantile,
    critical_fractile,
    crps_ensemble,
    crps_fair,
    mean_pinball,
    newsvendor_cost,
    quantile_at,
    weighted_interval_score,
)
from ledger.suite import QuantityRule

# In the order in which rows show them.
METRICS = (
    "absolute_error",
    "pinball",
    "wis",
    "wis_dispersion",
    "wis_overprediction",
    "wis_underprediction",
    "crps_ecdf",
    "crps_fair",
    "newsvendor_cost",
)
Losses = Mapping[str, Fraction]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A forecast of a number: a point, quantiles with ascending levels, samples."""

    point: Fraction | None = None
    quantiles: tuple[Quantile, ...] = ()
    samples: tuple[Fraction, ...] = ()


_SPELLED = msgspec.json.Decoder(
    tuple[str | None, dict[str, str] | None, tuple[str, ...] | None]
)


def read_said(text: str) -> Said:
    """Return a forecast that is spelled as JSON: `[point, {level: value}, [sample]]`."""
    point, quantiles, samples = _SPELLED.decode(text)
    by_level = [
        (_level(level), Fraction(value)) for level, value in (quantiles or {}).items()
    ]
    return Said(
        point=None if point is None else Fraction(point),
        quantiles=tuple(sorted(by_level)),
        samples=tuple(map(Fraction, samples or ())),
    )


# Every forecast of a suite states the same few levels.
_level = lru_cache(1_024)(Fraction)


def losses(said: Said, observed: Fraction, rule: QuantityRule) -> Losses:
    """Return what a forecast cost, divided by the declared scale.

    Metrics that it does not state enough for are absent: the quantile losses where it
    lacks a declared level, `newsvendor_cost` where nothing says what to order.
    """
    scale = Fraction(rule.scale)
    return {name: loss / scale for name, loss in _losses(said, observed, rule)}


def _losses(
    said: Said, observed: Fraction, rule: QuantityRule
) -> Iterator[tuple[str, Fraction]]:
    if said.point is not None:
        yield "absolute_error", abs(observed - said.point)
    yield from _quantile_losses(_at_declared_levels(said, rule), observed)
    if said.samples:
        yield "crps_ecdf", crps_ensemble(said.samples, observed)
        fair = crps_fair(said.samples, observed)
        if fair is not None:
            yield "crps_fair", fair
    order = _order(said, rule)
    if order is not None:
        cost = newsvendor_cost(
            order,
            observed,
            underage=Fraction(rule.underage),
            overage=Fraction(rule.overage),
        )
        yield "newsvendor_cost", cost


def _at_declared_levels(said: Said, rule: QuantityRule) -> list[Quantile]:
    """Return the quantiles at exactly the declared levels; none where one is lacking.

    Who stated more levels would else be compared on other ones than the others are.
    """
    levels = [_level(level) for level in rule.levels]
    if [level for level, _ in said.quantiles] == levels:
        return list(said.quantiles)
    stated = dict(said.quantiles)
    if not all(level in stated for level in levels):
        return []
    return [(level, stated[level]) for level in levels]


def _quantile_losses(
    quantiles: list[Quantile], observed: Fraction
) -> Iterator[tuple[str, Fraction]]:
    if not quantiles:
        return
    loss = mean_pinball(quantiles, observed)
    yield "pinball", loss
    score = weighted_interval_score(quantiles, observed)
    if score is not None:
        assert score.score == 2 * loss, "it is the mean of twice the quantile loss"
        yield "wis", score.score
        yield "wis_dispersion", score.dispersion
        yield "wis_overprediction", score.overprediction
        yield "wis_underprediction", score.underprediction


def _order(said: Said, rule: QuantityRule) -> Fraction | None:
    """Return what a newsvendor orders who believes a forecast; None for unknown.

    Of quantiles, the one at the critical fractile; a point without any is an order.
    """
    if not said.quantiles:
        return said.point
    level = critical_fractile(Fraction(rule.underage), Fraction(rule.overage))
    return quantile_at(said.quantiles, level, interpolates=rule.interpolate)
