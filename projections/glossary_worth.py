"""What forecasts were worth explained: utility, numbers, evidence and adaptation.

`ledger rows --explain` shows an entry as it shows that of a score.
"""

from ledger.projections.explaining_steps import Step, events, policy_of_reference
from ledger.projections.glossary import HIGHER, LOWER, NEITHER, VECTORS, Entry

_C, _L = "utility.action_cost", "utility.avoidable_loss"


def _utility(
    name: str,
    meaning: str,
    formula: str,
    *inputs: str,
    better: str = LOWER,
    called: str | None = None,
    by: tuple[str, ...] = (),
    step: Step | None = None,
    is_mean: bool = False,
    elsewhere: str = "",
) -> dict[str, Entry]:
    """Return a figure of acting; `by` are the suite's costs that it goes by."""
    return {
        name: Entry(
            better,
            meaning,
            formula,
            "METRICS §17; S001 §9.3; Vickers & Elkin 2006",
            ("utility.event", "utility.action", *inputs),
            is_mean=is_mean,
            paths=(f"utility.{called or name}",),
            declared=by,
            step=step,
            elsewhere=elsewhere,
        )
    }


_UTILITY = {
    **_utility(
        "cost",
        "what acting on the probabilities cost a unit, in the suite's money",
        "(1/n) Σ (C 1{act} + L y 1{not act}), act iff p ≥ t = C / L: the sum of "
        "`extra_compute` and `missed_failure_cost`",
        "utility.missed_failure_cost",
        "utility.extra_compute",
        by=(_C, _L),
        is_mean=True,
        elsewhere=VECTORS,
    ),
    **_utility(
        "cost_always",
        "what it would have cost always to act",
        "C",
        better=NEITHER,
        by=(_C,),
    ),
    **_utility(
        "cost_never",
        "what it would have cost never to act",
        "L ō, ō = #{y = 1} / n",
        better=NEITHER,
        by=(_L,),
        step=events,
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
        by=(_C, _L, "scoring.reference"),
        step=policy_of_reference,
        elsewhere=VECTORS,
    ),
    **_utility(
        "regret_vs_hindsight_unattainable",
        "what it cost more than knowing what happens: nobody could have acted so",
        "cost - C ō, ō = #{y = 1} / n: acting where the event comes, and nowhere else",
        "utility.cost",
        by=(_C,),
        step=events,
    ),
    **_utility(
        "missed_failure_cost",
        "the part of the cost that is events on which it did not act",
        "(1/n) Σ L y 1{not act} = L missed / n",
        "utility.missed",
        by=(_L,),
        is_mean=True,
    ),
    **_utility(
        "extra_compute",
        "the part of the cost that is actions (Piper's name for it, S001 §9.3): what "
        "making the forecasts cost is under `costs`",
        "(1/n) Σ C 1{act} = C acted / n",
        "utility.acted",
        by=(_C,),
        is_mean=True,
    ),
    **_utility(
        "net_benefit",
        "events met, less what actions without an event cost, in events a unit",
        "TP / n - (FP / n) t / (1 - t), t = C / L, TP = #{y = 1} - missed, FP = acted - TP",
        "utility.acted",
        "utility.missed",
        better=HIGHER,
        by=(_C, _L),
        step=events,
    ),
    **_utility(
        "acted",
        "on how many units it acted",
        "#{p ≥ t}, t = C / L",
        better=NEITHER,
        by=(_C, _L),
        elsewhere=VECTORS,
    ),
    **_utility(
        "missed",
        "on how many units the event came and it did not act",
        "#{p < t, y = 1}, t = C / L",
        by=(_C, _L),
        elsewhere=VECTORS,
    ),
    **_utility(
        "decision_curve",
        "the decision curve: at each of `utility.thresholds` the net benefit, beside that "
        "of acting always and never",
        "TP / n - (FP / n) t / (1 - t); treat all: ō - (1 - ō) t / (1 - t), ō = #{y = 1} / n; "
        "none: 0",
        better=NEITHER,
        called="curve",
        by=("utility.thresholds",),
        step=events,
        elsewhere=VECTORS,
    ),
}


_NUMBERS_STATED = (
    "y, points, quantiles and samples of each unit: `values` of the outcomes in the log, and "
    "`quantities` in forecasts.parquet of a bundle"
)


def _number(
    name: str, meaning: str, formula: str, source: str, *inputs: str, by: str = ""
) -> dict[str, Entry]:
    """Return a score of a number; `by` are the parameters, beside its scale."""
    return {
        name: Entry(
            LOWER,
            meaning,
            formula,
            f"METRICS §16; {source}",
            inputs,
            is_mean=True,
            paths=(f"quantities.*.scores.{name}",),
            declared=tuple(f"quantities.*.{each}" for each in ("scale", *by.split())),
            elsewhere=_NUMBERS_STATED,
        )
    }


_NUMBERS = {
    **_number(
        "absolute_error",
        "how far the point lay from what was observed",
        "(1/n) Σ |y - point| / scale",
        "Gneiting & Raftery 2007",
    ),
    **_number(
        "pinball",
        "the quantile loss, averaged over the declared levels",
        "(1/n) Σ mean over τ of (y - q)(τ - 1{y < q}) / scale",
        "Koenker & Bassett 1978",
        by="levels",
    ),
    **_number(
        "wis",
        "the weighted interval score: how wide the intervals are, and how far outside the "
        "number lay",
        "(1/n) Σ of 1 / (K + ½) (½ |y - m| + Σ w_k IS_k) / scale, w_k half of what interval k "
        "leaves out: the sum of its three parts, and the mean of twice the quantile loss "
        "over 2K + 1 levels",
        "Bracher et al. 2021",
        "quantities.*.scores.wis_dispersion",
        "quantities.*.scores.wis_overprediction",
        "quantities.*.scores.wis_underprediction",
        by="levels",
    ),
    **_number(
        "wis_dispersion",
        "the part of the weighted interval score that is width",
        "(1/n) Σ of 1 / (K + ½) Σ w_k (u_k - l_k) / scale",
        "Bracher et al. 2021",
        by="levels",
    ),
    **_number(
        "wis_overprediction",
        "the part that is paid where the number stayed below the intervals",
        "(1/n) Σ of 1 / (K + ½) (½ max(m - y, 0) + Σ max(l_k - y, 0)) / scale",
        "Bracher et al. 2021",
        by="levels",
    ),
    **_number(
        "wis_underprediction",
        "the part that is paid where the number rose above the intervals",
        "(1/n) Σ of 1 / (K + ½) (½ max(y - m, 0) + Σ max(y - u_k, 0)) / scale",
        "Bracher et al. 2021",
        by="levels",
    ),
    **_number(
        "crps_ecdf",
        "the continuous ranked probability score of the samples' step function",
        "(1/n) Σ of (mean |x - y| - ½ mean |x - x'| over all pairs) / scale",
        "Gneiting & Raftery 2007",
    ),
    **_number(
        "crps_fair",
        "the same without punishing few samples",
        "(1/n) Σ of (mean |x - y| - ½ Σ |x - x'| / (M (M - 1))) / scale",
        "Ferro 2014",
    ),
    **_number(
        "newsvendor_cost",
        "what ordering the critical fractile of the forecast cost",
        "(1/n) Σ (p (y - q)⁺ + h (q - y)⁺) / scale, q the quantile at p / (h + p), p "
        "`underage` and h `overage`; the point where no quantile is stated",
        "S002",
        by="underage overage interpolate",
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
        declared=("scoring.clip",),
        elsewhere=VECTORS,
    ),
    "total_lift": Entry(
        HIGHER,
        "what all the evidence of a cumulative order gains: the sum of its lifts",
        "(1/n) Σ (LS_last - LS_first)",
        "METRICS §13; S000",
        (*_LIFT_INPUTS, "ablations.*.lifts"),
        is_mean=True,
        paths=("ablations.*.total",),
    ),
}


def _adaptation(
    name: str, meaning: str, formula: str, path: str, *inputs: str, elsewhere: str = ""
) -> dict[str, Entry]:
    return {
        name: Entry(
            HIGHER,
            meaning,
            formula,
            "METRICS §21; S002",
            inputs,
            paths=(f"adaptation.{path}",),
            declared=("adaptation_budgets", "scoring.reference"),
            elsewhere=elsewhere,
        )
    }


_ADAPTATION = {
    **_adaptation(
        "budget_skill",
        "the unclamped skill over `scoring.reference` under a budget",
        "1 - Σ loss / Σ loss of the reference, of vectors under the budget",
        "budgets.*",
        elsewhere="both sums: of the row of this budget, which --by adaptation_budget adds, "
        "by --explain bss_frozen",
    ),
    **_adaptation(
        "adaptation_auc",
        "how skill grows with the budget: the area under it, per unit of the axis",
        "Σ (b_(k+1) - b_k)(skill_k + skill_(k+1)) / 2 / (b_last - b_first), b the budgets in "
        "their order, one apart unless they are ascending numbers",
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
        elsewhere=VECTORS,
    ),
}

OF_WORTH: dict[str, Entry] = {**_UTILITY, **_NUMBERS, **_EVIDENCE, **_ADAPTATION}
