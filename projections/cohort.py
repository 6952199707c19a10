"""Cohorts: which units a number is about, and what may be compared with what.

Two losses may be set in relation only if they are about exactly the same units;
otherwise a favourable score can be an artefact of the comparator.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256

import msgspec

from ledger.canonical import encode
from ledger.projections.exact import UNITS, dec12, exact_text

_HEAD = b"sealed-ledger/cohort/v1\n"
EMPTY, MISMATCH, BASELINE_ZERO = "empty", "cohort_mismatch", "baseline_zero"
NOT_DECLARED, ZERO_ON_OUTCOME = "not_declared", "prob_zero_on_outcome"
NO_FORECAST_AT_LEAD = "no_forecast_at_lead"
SINGLE_CLASS, CONSTANT, SEPARATION = "single_class", "constant_forecast", "separation"
DEGENERATE, CLUSTERS_LT_MIN = "degenerate_variance", "clusters_lt_min"
UNDEFINED_REPLICATES, INSUFFICIENT = "undefined_replicates", "insufficient"


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A sum of unit scores in units of 1e-12, and which units it is over."""

    cohort: str
    total: int
    units: int


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A number that may be undefined: the value, or the reason why there is none."""

    value: Fraction | None
    n: int
    reason: str | None = None
    # A sum that holds minus infinity has no value, and is not undefined either.
    is_infinite: bool = False

    def told(self) -> dict[str, str | int | None]:
        """Return the measure as rows show it: decimal text, never a JSON float."""
        shown: dict[str, str | int | None] = {"value": None, "n": self.n}
        if self.is_infinite:
            shown["value"] = "-inf"
        if self.value is not None:
            shown["value"] = dec12(self.value)
            exact = exact_text(self.value)
            if exact is not None:
                shown["exact"] = exact
        if self.reason is not None:
            shown["reason"] = self.reason
        return shown


def cohort_line(identity: str, status: str, outcome: str | None) -> bytes:
    """Return a unit as a cohort's hash reads it: its name, how it ended, a newline."""
    return identity[:-1].encode() + b"," + encode([status, outcome])[1:] + b"\n"


def cohort_hash(lines: Iterable[bytes]) -> str:
    """Return the SHA-256 of a cohort, in whatever order its units are given."""
    return hash_of_sorted(sorted(lines))


def hash_of_sorted(lines: Iterable[bytes]) -> str:
    """Return the SHA-256 of a cohort whose lines are in the order of their bytes."""
    digest = sha256(_HEAD)
    digest.update(b"".join(lines))
    return digest.hexdigest()


def loss_over(losses: Mapping[str, int]) -> Loss:
    """Return the sum of unit losses, which are given by their units' names."""
    lines = (name.encode() + b"\n" for name in losses)
    total = sum(losses.values())
    return Loss(cohort=cohort_hash(lines), total=total, units=len(losses))


def undefined(reason: str, n: int) -> Measure:
    """Return a measure without a value; where there are no units, for that reason."""
    return Measure(value=None, n=n, reason=reason if n else EMPTY)


def mean(loss: Loss) -> Measure:
    """Return the unit-weighted mean of a loss or score; undefined without units."""
    if not loss.units:
        return Measure(value=None, n=0, reason=EMPTY)
    return Measure(value=Fraction(loss.total, loss.units * UNITS), n=loss.units)


def skill(model: Loss, baseline: Loss) -> Measure:
    """Return 1 minus the model's loss relative to the baseline's; 0 is no skill.

    Undefined over different cohorts (`cohort_mismatch`), over none (`empty`), and
    where the baseline has no loss (`baseline_zero`).
    """
    if model.cohort != baseline.cohort or model.units != baseline.units:
        return Measure(value=None, n=model.units, reason=MISMATCH)
    if not model.units:
        return Measure(value=None, n=0, reason=EMPTY)
    if not baseline.total:
        return Measure(value=None, n=model.units, reason=BASELINE_ZERO)
    return Measure(value=1 - Fraction(model.total, baseline.total), n=model.units)


def climatology(outcomes: Sequence[int], *, binary: bool) -> Fraction:
    """Return the Brier loss of always saying the cohort's own rates.

    `outcomes` are how often each answer happened. It uses hindsight, and so is a
    hard comparator: descriptive only.

    >>> climatology([2, 2], binary=True), climatology([2, 2], binary=False)
    (Fraction(1, 4), Fraction(1, 2))
    """
    total = sum(outcomes)
    summed = 1 - Fraction(sum(count * count for count in outcomes), total * total)
    return summed / 2 if binary else summed


def skill_of_rates(model: Loss, outcomes: Sequence[int], *, binary: bool) -> Measure:
    """Return the skill against always saying the same cohort's own rates.

    `model` is a loss in the binary form where `binary`, else in the sum form.
    Undefined (`cohort_mismatch`) where `outcomes` count other units than the model's.
    """
    if sum(outcomes) != model.units:
        return Measure(value=None, n=model.units, reason=MISMATCH)
    if not model.units:
        return Measure(value=None, n=0, reason=EMPTY)
    baseline = climatology(outcomes, binary=binary)
    if not baseline:
        return Measure(value=None, n=model.units, reason=BASELINE_ZERO)
    loss = Fraction(model.total, model.units * UNITS)
    return Measure(value=1 - loss / baseline, n=model.units)


def official(skill_frozen: Measure) -> Measure:
    """Return the official component skill: 0 to 100, undefined where the skill is."""
    if skill_frozen.value is None:
        return skill_frozen
    clamped = min(max(skill_frozen.value, Fraction(0)), Fraction(1))
    return Measure(value=100 * clamped, n=skill_frozen.n)
