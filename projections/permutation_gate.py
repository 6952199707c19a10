"""The permutation gate: is the skill about this target, or about anybody's.

If forecasts for other targets score as well, the skill is not target-specific. The
observed skill is set among those of permuted forecasts (METRICS §12; S000 bar 4;
Phipson & Smyth 2010). The baseline stays with the outcome's target.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, prod

import msgspec
import numpy as np

from ledger.projections.cohort import INSUFFICIENT, MISMATCH
from ledger.projections.columns import Flags, Integers
from ledger.projections.exact import UNITS, exact_sum
from ledger.projections.permutation import (
    LABEL,
    Matched,
    Rows,
    Scores,
    Stratum,
    matched,
)

COLLAPSES, SURVIVES = "collapses", "survives"
# So many permutations are all looked at; of more, some are drawn. Eight targets alone
# have more.
ALL_MAX = 10_000
_TARGETS_TOO_MANY = 8
# So many of all rows are kept, or the gate would speak for those that are not.
KEPT_LEAST = Fraction(1, 2)
# So many draws move every target, or chance would decide what share of skill is left:
# whoever leaves out one unit draws others.
STRANGERS_LEAST = 20


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of permuted forecasts, beside those of the forecasts as they are.

    Sums over rows in picobits. `count` of the `size` permutations score at least as
    much. In `derangements` of them every target of every stratum has another one's
    forecasts; `wrong` is the mean sum of these, None where there are none.
    """

    observed: int
    wrong: Fraction | None
    count: int
    size: int
    derangements: int
    is_exact: bool

    @property
    def p_value(self) -> Fraction:
        """The share that scores as much; of draws, with the observed one added."""
        own = 0 if self.is_exact else 1
        return Fraction(self.count + own, self.size + own)

    @property
    def is_steady(self) -> bool:
        """Whether the mean over derangements is of all, or of enough of them."""
        least = 1 if self.is_exact else STRANGERS_LEAST
        return self.derangements >= least

    @property
    def p_least(self) -> Fraction:
        """The least p-value that there could have been."""
        return Fraction(1, self.size if self.is_exact else self.size + 1)


class Specificity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether skill collapses on the wrong target, and by how much; skills in bits.

    `retained` is the share of the skill that is left on wrong targets. `rows` and
    `targets` were permuted, within so many `strata`; the counts of what was left out
    are as in `Matched`, the others as in `Reference`. A decision that is `insufficient`
    has a reason.
    """

    decision: str
    reason: str | None
    rows: int
    targets: int
    strata: int
    unpartnered: int
    alone: int
    strata_alone: int
    p_value: Fraction | None = None
    count: int | None = None
    permutations: int | None = None
    derangements: int | None = None
    is_exact: bool | None = None
    observed: Fraction | None = None
    wrong: Fraction | None = None
    delta: Fraction | None = None
    retained: Fraction | None = None


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite declares: the largest p-value, and the largest share retained."""

    alpha: Fraction
    retained: Fraction
    permutations: int


def specificity(
    rows: Rows, baseline: Integers, names: Sequence[str], seed: bytes, gate: Gate
) -> Specificity:
    """Return the gate's decision: `collapses`, `survives` or `insufficient`.

    `baseline` is what the baseline scores on each row's own outcome, in picobits;
    `names` are those of the strata, by their codes. Fewer than two targets that can be
    exchanged, too few permutations for any p-value to reach alpha, or too few draws in
    which no target has its own forecasts, are insufficient; and so is a gate that keeps
    too few rows to speak for those that it left out (`cohort_mismatch`).
    """
    found = matched(rows, names)
    reason = None if speaks_for_all(found) else MISMATCH
    if not found.strata:
        # Whoever has nobody to exchange with is no part that others speak for.
        return _told(
            found, INSUFFICIENT, MISMATCH if found.unpartnered else INSUFFICIENT
        )
    reference = reference_set(found.strata, seed, gate.permutations)
    own = exact_sum(baseline[found.kept])
    scale = len(found.kept) * UNITS
    observed = Fraction(reference.observed - own, scale)
    wrong = None if reference.wrong is None else (reference.wrong - own) / scale
    retained = share_retained(observed, wrong)
    if not reference.is_steady or reference.p_least > gate.alpha:
        reason = reason or INSUFFICIENT
    decision = SURVIVES
    if reason is not None:
        decision = INSUFFICIENT
    elif (
        retained is not None
        and reference.p_value <= gate.alpha
        and retained <= gate.retained
    ):
        decision = COLLAPSES
    return msgspec.structs.replace(
        _told(found, decision, reason),
        p_value=reference.p_value,
        count=reference.count,
        permutations=reference.size,
        derangements=reference.derangements,
        is_exact=reference.is_exact,
        observed=observed,
        wrong=wrong,
        delta=None if wrong is None else observed - wrong,
        retained=retained,
    )


def speaks_for_all(found: Matched) -> bool:
    """Tell whether enough rows are kept to speak for those that were left out."""
    left_out = found.unpartnered + found.alone
    return len(found.kept) >= KEPT_LEAST * (len(found.kept) + left_out)


def share_retained(observed: Fraction, wrong: Fraction | None) -> Fraction | None:
    """Return the share of a skill that is left on wrong targets; None without skill."""
    return None if wrong is None or observed <= 0 else wrong / observed


def label_of(stratum: str, strata: int) -> str:
    """Return the label of the words that a stratum, one of so many, is permuted by."""
    return LABEL if strata <= 1 else f"{LABEL}/{stratum}"


def reference_set(strata: Sequence[Stratum], seed: bytes, draws: int) -> Reference:
    """Return the scores under all permutations, or under `draws` of them if too many.

    All are looked at up to 10,000; `label_of` says by which words others are drawn.
    """
    if _permutations(strata) <= ALL_MAX:
        return _all_permutations(strata)
    return _drawn_permutations(strata, seed, draws)


def _permutations(strata: Sequence[Stratum]) -> int:
    """Return how many there are, or some number that is too large as well."""
    return prod(factorial(min(each.targets, _TARGETS_TOO_MANY)) for each in strata)


def _all_permutations(strata: Sequence[Stratum]) -> Reference:
    """Return the scores of each stratum's permutations with each of the others'."""
    together: Scores = np.zeros(1, dtype=strata[0].scores.dtype)
    moves_all: Flags = np.ones(1, dtype=np.bool_)
    for stratum in strata:
        orders = stratum.all_orders()
        together = (together[:, None] + stratum.totals(orders)).ravel()
        moves_all = (moves_all[:, None] & _moves_all(orders)).ravel()
    return _reference(strata, together, moves_all, is_exact=True)


def _drawn_permutations(
    strata: Sequence[Stratum], seed: bytes, draws: int
) -> Reference:
    """Return the scores of draws, in each of which all strata are permuted at once."""
    together: Scores = np.zeros(draws, dtype=strata[0].scores.dtype)
    moves_all: Flags = np.ones(draws, dtype=np.bool_)
    for stratum in strata:
        label = label_of(stratum.name, len(strata))
        start = 0
        for orders in stratum.drawn_orders(seed, label, draws):
            block = slice(start, start + len(orders))
            together[block] += stratum.totals(orders)
            moves_all[block] &= _moves_all(orders)
            start += len(orders)
    return _reference(strata, together, moves_all, is_exact=False)


def _reference(
    strata: Sequence[Stratum], together: Scores, moves_all: Flags, *, is_exact: bool
) -> Reference:
    """Return what the sums of permutations say; a flag tells which spare no target."""
    observed = sum(
        int(each.totals(np.arange(each.targets)[None])[0]) for each in strata
    )
    strangers = together[moves_all].tolist()
    return Reference(
        observed=observed,
        wrong=Fraction(sum(strangers), len(strangers)) if strangers else None,
        count=int(np.count_nonzero(together >= observed)),
        size=len(together),
        derangements=len(strangers),
        is_exact=is_exact,
    )


def _moves_all(orders: Integers) -> Flags:
    """Tell which permutations leave no target its own forecasts."""
    moves_all: Flags = (orders != np.arange(orders.shape[1])).all(axis=1)
    return moves_all


def _told(found: Matched, decision: str, reason: str | None) -> Specificity:
    return Specificity(
        decision=decision,
        reason=reason,
        rows=len(found.kept),
        targets=found.targets,
        strata=len(found.strata),
        unpartnered=found.unpartnered,
        alone=found.alone,
        strata_alone=found.strata_alone,
    )
