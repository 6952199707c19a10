"""What forecasts were worth explained: utility, numbers, evidence and adaptation.

`ledger rows --explain` shows an entry as it shows that of a score.
"""

from ledger.projections.glossary import HIGHER, LOWER, NEITHER, Entry


def _utility(
    name: str,
    meaning: str,
    formula: str,
    *inputs: str,
    better: str = LOWER,
    called: str | None = None,
) -> dict[str, Entry]:
    source = "METRICS §17; S001 §9.3; Vickers & Elkin 2006"
    about = ("utility.event", "utility.action", *inputs)
    paths = (f"utility.{called or name}",)
    return {name: Entry(better, meaning, formula, source, about, paths=paths)}


_UTILITY = {
    **_utility(
        "cost",
        "what acting on the probabilities cost a unit, in the suite's money",
        "(1/n) Σ (C 1{act} + L y 1{not act}), act iff p ≥ t = C / L",
        "utility.missed_failure_cost",
        "utility.extra_compute",
    ),
    **_utility(
        "cost_always", "what it would have cost always to act", "C", better=NEITHER
    ),
    **_utility(
        "cost_never", "what it would have cost never to act", "L ō", better=NEITHER
    ),
    **_utility(
        "regret",
        "what the policy cost more than the better of always and never acting: below 0 "
        "where the forecasts were worth something",
        "cost - min(cost_always, cost_never)",
        "utility.cost",
        "utility.cost_always",
        "utility.cost_never",
    ),
    **_utility(
        "regret_vs_baseline_policy",
        "what it cost more than acting on the probabilities of `scoring.reference`",
        "cost - cost of the reference's policy, the same units",
        "utility.cost",
    ),
    **_utility(
        "regret_vs_hindsight_unattainable",
        "what it cost more than knowing what happens: nobody could have acted so",
        "cost - C ō: acting where the event comes, and nowhere else",
        "utility.cost",
    ),
    **_utility(
        "missed_failure_cost",
        "the part of the cost that is events on which it did not act",
        "(1/n) Σ L y 1{not act}",
        "utility.missed",
    ),
    **_utility(
        "extra_compute",
        "the part of the cost that is actions",
        "(1/n) Σ C 1{act}",
        "utility.acted",
    ),
    **_utility(
        "net_benefit",
        "events met, less what actions without an event cost, in events a unit",
        "TP / n - (FP / n) t / (1 - t)",
        "utility.acted",
        "utility.missed",
        better=HIGHER,
    ),
    **_utility("acted", "on how many units it acted", "#{p ≥ t}", better=NEITHER),
    **_utility(
        "missed",
        "on how many units the event came and it did not act",
        "#{p < t, y = 1}",
    ),
    **_utility(
        "decision_curve",
        "the decision curve: at each of `utility.thresholds` the net benefit, beside that "
        "of acting always and never",
        "TP / n - (FP / n) t / (1 - t); treat all: ō - (1 - ō) t / (1 - t); none: 0",
        better=NEITHER,
        called="curve",
    ),
}


def _number(
    name: str, meaning: str, formula: str, source: str, *inputs: str
) -> dict[str, Entry]:
    paths = (f"quantities.*.scores.{name}",)
    cited = f"METRICS §16; {source}"
    return {
        name: Entry(LOWER, meaning, formula, cited, inputs, is_mean=True, paths=paths)
    }


_NUMBERS = {
    **_number(
        "absolute_error",
        "how far the point lay from what was observed",
        "(1/n) Σ |y - point|",
        "Gneiting & Raftery 2007",
    ),
    **_number(
        "pinball",
        "the quantile loss, averaged over the declared levels",
        "(1/n) Σ mean over τ of (y - q)(τ - 1{y < q})",
        "Koenker & Bassett 1978",
    ),
    **_number(
        "wis",
        "the weighted interval score: how wide the intervals are, and how far outside the "
        "number lay",
        "1 / (K + ½) (½ |y - m| + Σ w_k IS_k), w_k half of what interval k leaves out: the "
        "mean of twice the quantile loss over 2K + 1 levels",
        "Bracher et al. 2021",
        "quantities.*.scores.wis_dispersion",
        "quantities.*.scores.wis_overprediction",
        "quantities.*.scores.wis_underprediction",
    ),
    **_number(
        "wis_dispersion",
        "the part of the weighted interval score that is width",
        "1 / (K + ½) Σ w_k (u_k - l_k)",
        "Bracher et al. 2021",
    ),
    **_number(
        "wis_overprediction",
        "the part that is paid where the number stayed below the intervals",
        "1 / (K + ½) (½ max(m - y, 0) + Σ max(l_k - y, 0))",
        "Bracher et al. 2021",
    ),
    **_number(
        "wis_underprediction",
        "the part that is paid where the number rose above the intervals",
        "1 / (K + ½) (½ max(y - m, 0) + Σ max(y - u_k, 0))",
        "Bracher et al. 2021",
    ),
    **_number(
        "crps_ecdf",
        "the continuous ranked probability score of the samples' step function",
        "mean |x - y| - ½ mean |x - x'| over all pairs",
        "Gneiting & Raftery 2007",
    ),
    **_number(
        "crps_fair",
        "the same without punishing few samples",
        "mean |x - y| - ½ Σ |x - x'| / (M (M - 1))",
        "Ferro 2014",
    ),
    **_number(
        "newsvendor_cost",
        "what ordering the critical fractile of the forecast cost",
        "(1/n) Σ (p (y - q)⁺ + h (q - y)⁺), q the quantile at p / (h + p)",
        "S002",
    ),
}
_LIFT_INPUTS = ("ablations.*.kind", "ablations.*.units", "ablations.*.scored")
_EVIDENCE = {
    "lift": Entry(
        HIGHER,
        "what `tier` gains over `without`, on the units that all of the order have",
        "(1/n) Σ (LS_k - LS_(k-1)), LS the clipped log score in bits",
        "METRICS §13; S000",
        _LIFT_INPUTS,
        is_mean=True,
        paths=("ablations.*.lifts.*",),
    ),
    "total_lift": Entry(
        HIGHER,
        "what all the evidence of a cumulative order gains: the sum of its lifts",
        "(1/n) Σ (LS_last - LS_first)",
        "METRICS §13; S000",
        _LIFT_INPUTS,
        is_mean=True,
        paths=("ablations.*.total",),
    ),
}


def _adaptation(
    name: str, meaning: str, formula: str, path: str, *inputs: str
) -> dict[str, Entry]:
    source, paths = "METRICS §21; S002", (f"adaptation.{path}",)
    return {name: Entry(HIGHER, meaning, formula, source, inputs, paths=paths)}


_ADAPTATION = {
    **_adaptation(
        "budget_skill",
        "the unclamped skill over `scoring.reference` under a budget",
        "1 - Σ loss / Σ loss of the reference, of vectors under the budget",
        "budgets.*",
    ),
    **_adaptation(
        "adaptation_auc",
        "how skill grows with the budget: the area under it, per unit of the axis",
        "Σ (b_(k+1) - b_k)(skill_k + skill_(k+1)) / 2 / (b_last - b_first)",
        "auc",
        "adaptation.budgets",
        "adaptation.is_single",
    ),
    **_adaptation(
        "best_adapted",
        "the largest of the skills under a budget",
        "max over budgets",
        "best",
        "adaptation.budgets",
    ),
    **_adaptation(
        "least_adapted",
        "the skill under the least budget",
        "skill of the first budget",
        "least_adapted",
        "adaptation.budgets",
    ),
    **_adaptation(
        "robustness",
        "the skill under the least budget on units that are tagged `event` or `ood`",
        "1 - Σ loss / Σ loss of the reference, of those units",
        "robustness",
        "adaptation.least_adapted",
    ),
}

OF_WORTH: dict[str, Entry] = {**_UTILITY, **_NUMBERS, **_EVIDENCE, **_ADAPTATION}
