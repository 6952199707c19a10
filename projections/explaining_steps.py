"""What a formula takes that a row holds one exact step away: sums, pairs, losses.

A row has means and ratios; a formula has the sums that these were made from. Each
function returns them under the names that the formula gives them, and nothing where the
row has no such figure, or no exact fraction of it.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ledger.projections.exact import dec12, exact_text

Shown = dict[str, Any]
# Takes a row and a figure of it, in the parts that stand there.
Step = Callable[[Shown, Shown], Shown]


def losses(row: Shown, measure: Shown) -> Shown:
    """Return both sums of a skill, over the units that the baseline has too."""
    reference = row["scores"]["reference_brier"]
    theirs = _exact(reference)
    if theirs is None or reference["n"] != measure["n"]:
        return {}
    total = theirs * reference["n"]
    shown = {"Σ loss of the reference": _told(total)}
    skill = _exact(measure)
    return shown if skill is None else {"Σ loss": _told((1 - skill) * total), **shown}


def pairs(row: Shown, measure: Shown) -> Shown:
    """Return how many units there are of each class, and what the pairs sum to.

    Nothing for a mean over several answers.
    """
    rate, ranked = row["scores"]["event_rate"], _exact(measure)
    share = _exact(rate)
    if share is None or ranked is None or "auroc_by_answer" in row:
        return {}
    happened = share * rate["n"]
    others = rate["n"] - happened
    return {
        "#{p⁺ > p⁻} + ½ #{p⁺ = p⁻}": _told(ranked * happened * others),
        "n₁": int(happened),
        "n₀": int(others),
    }


def recalibrated(row: Shown, _: Shown) -> Shown:
    """Return the Brier score that the isotonic curve would have had."""
    score = _exact(row["scores"].get("brier"))
    gain = _exact(row["decomposition"]["corp"]["miscalibration"])
    if score is None or gain is None:
        return {}
    return {"S_pav": _told(score - gain)}


def events(row: Shown, _: Shown) -> Shown:
    """Return on how many units the event of `utility` came, and how many there are."""
    acting = row["utility"]
    cost, hindsight, action = (
        _exact(acting.get(name))
        for name in ("cost", "regret_vs_hindsight_unattainable", "cost_always")
    )
    if cost is None or hindsight is None or not action:
        return {}
    n = acting["cost"]["n"]
    return {"#{y = 1}": int((cost - hindsight) / action * n), "n": n}


def policy_of_reference(row: Shown, _: Shown) -> Shown:
    """Return what acting on the reference's probabilities cost a unit."""
    acting = row["utility"]
    cost, more = (
        _exact(acting.get(name)) for name in ("cost", "regret_vs_baseline_policy")
    )
    if cost is None or more is None:
        return {}
    return {"cost of the reference's policy": _told(cost - more)}


def total(_: Shown, measure: Shown) -> Shown:
    """Return the sum that a mean is of: over its units, or what it divides by."""
    value = _exact(measure)
    return {} if value is None else {"sum": _told(value * measure["n"])}


def _exact(measure: Shown | None) -> Fraction | None:
    text = (measure or {}).get("exact")
    return None if text is None else Fraction(text)


def _told(value: Fraction) -> Shown:
    exact = exact_text(value)
    return {"value": dec12(value), **({"exact": exact} if exact else {})}
