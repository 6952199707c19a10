"""What a row claims explained: the bars, the permutation gate, credit and promotion.

`ledger rows --explain` shows an entry as it shows that of a score.
"""

from ledger.projections.glossary import HIGHER, LOWER, NEITHER, Entry

_BAR = "METRICS §14; S000"
_GATE = "METRICS §12; S000 bar 4; Phipson & Smyth 2010"
_PROMOTION = "METRICS §22; S001 §5.5"
_EXCHANGED = (
    "gates.permutation.against",
    "gates.permutation.permutations",
    "gates.permutation.derangements",
    "gates.permutation.count",
    "gates.permutation.is_exact",
    "gates.permutation.rows",
    "gates.permutation.targets",
    "gates.permutation.unpartnered",
    "gates.permutation.alone",
    "gates.permutation.strata_alone",
    "gates.permutation.inference",
    "gates.permutation.vs_r2.inference",
)

_BARS = {
    "calibration": Entry(
        NEITHER,
        "the calibration bar: insufficient, fail, pass or warn",
        "insufficient: too few units of a class; fail: the interval of slope or intercept "
        "wholly outside `gates.calibration`; pass: both estimates inside; else warn",
        "METRICS §9; S000 bar 3",
        (
            "gates.calibration.reason",
            "scores.calibration_slope",
            "scores.calibration_intercept",
            "scores.event_rate",
            "counts.scored",
        ),
        paths=("gates.calibration.status",),
        declared=("gates.calibration", "statistics.min_class_gate"),
    ),
    "four_bar": Entry(
        NEITHER,
        "which of the four bars hold; null for one that is undecided",
        "lower end of skill vs R1 > 0; the same vs R2; calibration pass or, if allowed, "
        "warn; permutation collapses",
        _BAR,
        (
            "scores.skill_vs_r1_bits",
            "scores.skill_vs_r2_bits",
            "gates.r2_admitted",
            "gates.calibration",
            "gates.permutation.status",
        ),
        paths=("gates.four_bar",),
        declared=("gates.four_bar.allow_calibration_warn",),
    ),
    "r2_admitted": Entry(
        NEITHER,
        "whether the own routine beats the population; if not, the stronger one is the bar",
        "r2_vs_r1_bits > 0",
        "METRICS §7; S000",
        ("scores.r2_vs_r1_bits",),
        paths=("gates.r2_admitted",),
    ),
    "credit": Entry(
        NEITHER,
        "target_specific where all bars hold, else what the first that fails leaves; "
        "insufficient where any is undecided, or something of credit_needs is lacking",
        "the first failed bar: none_or_unproven, routine_replay_or_unproven, uncalibrated, "
        "generic_prediction",
        _BAR,
        (
            "gates.four_bar",
            "gates.credit_reason",
            "gates.credit_needs",
            "gates.in_the_way",
        ),
        paths=("gates.credit",),
    ),
}


_EXCHANGES = (
    "S(π) and S of single units: of the vectors in forecasts.parquet of a bundle, exchanged "
    "as docs/rows.md says"
)


def _effect(
    name: str, better: str, meaning: str, formula: str, *beside: str
) -> dict[str, Entry]:
    """Return an effect of exchanging; `beside` are the effects that it is made of."""
    places = ("gates.permutation", "gates.permutation.vs_r2")
    return {
        name: Entry(
            better,
            meaning,
            formula,
            _GATE,
            (*(f"./{each}" for each in beside), *_EXCHANGED),
            paths=tuple(f"{place}.{name}" for place in places),
            declared=() if beside else ("scoring.clip",),
            elsewhere="" if beside else _EXCHANGES,
        )
    }


_PERMUTATION = {
    "permutation": Entry(
        NEITHER,
        "whether skill is lost on the wrong target: collapses, survives or insufficient",
        "collapses if observed_bits > 0, p_value ≤ alpha and retained at most the share of "
        "`gates.permutation`; else survives, which withdraws the credit",
        _GATE,
        (
            "gates.permutation.reason",
            "gates.permutation.observed_bits",
            "gates.permutation.p_value",
            "gates.permutation.retained",
        ),
        paths=("gates.permutation.status",),
        declared=("gates.permutation",),
    ),
    "p_value": Entry(
        NEITHER,
        "how rarely whole targets that exchange their forecasts do as well by chance",
        "#{S(π) ≥ S} / M over all M permutations; (b + 1) / (B + 1), of B draws b as good",
        _GATE,
        ("gates.permutation.p_exact", *_EXCHANGED),
        paths=("gates.permutation.p_value",),
        elsewhere=_EXCHANGES,
    ),
    "permutations": Entry(
        NEITHER,
        "how many exchanges of whole targets were looked at",
        "Π m_s!, m_s targets in stratum s, up to 10 000; else the declared draws",
        _GATE,
        _EXCHANGED,
        paths=("gates.permutation.permutations",),
        declared=("statistics.permutations",),
    ),
    **_effect(
        "observed_bits",
        HIGHER,
        "the mean skill over the baseline where every target has its own forecasts",
        "S = mean over rows of log2 f(y) - log2 r(y), both clipped",
    ),
    **_effect(
        "wrong_target_bits",
        NEITHER,
        "the mean skill where every target has somebody else's forecasts",
        "W = mean of S(π) over permutations without a fixed target",
    ),
    **_effect(
        "delta_bits",
        HIGHER,
        "what skill is about the target: lost with somebody else's forecasts",
        "S - W, S `observed_bits` and W `wrong_target_bits`",
        "observed_bits",
        "wrong_target_bits",
    ),
    **_effect(
        "retained",
        LOWER,
        "the share of the skill that is left with somebody else's forecasts",
        "W / S, S `observed_bits` and W `wrong_target_bits`; null unless S > 0",
        "observed_bits",
        "wrong_target_bits",
    ),
}
_LOSSES = (
    "the losses of single units, in forecasts.parquet of a bundle; of a computed baseline, by "
    "its vectors in table `baselines` of projections.db"
)
_PROMOTED = {
    "promotion": Entry(
        NEITHER,
        "whether the competitor should take over: PROMOTE, HOLD, REJECT or INCONCLUSIVE",
        "REJECT if brier_gain ≤ 0; INCONCLUSIVE if anything needed is unknown; PROMOTE if "
        "every part holds; else HOLD",
        _PROMOTION,
        (
            "gates.promotion.against",
            "gates.promotion.brier_gain",
            "gates.promotion.trivial_gain",
            "gates.promotion.loss_increase",
            "gates.promotion.loss_margin",
            "gates.promotion.is_forward",
            "gates.promotion.leak_tests",
            "gates.promotion.holds",
            "utility.regret",
        ),
        paths=("gates.promotion.decision",),
    ),
    "verdict": Entry(
        NEITHER,
        "what an evaluator signs: KEEP, REVERT or INCONCLUSIVE",
        "KEEP if promoted; INCONCLUSIVE if undecided, or if nothing but the lower end of "
        "brier_gain fails; else REVERT",
        _PROMOTION,
        ("gates.promotion.decision", "gates.promotion.holds"),
        paths=("gates.promotion.verdict",),
    ),
    "brier_gain": Entry(
        HIGHER,
        "how much less Brier loss there was than of the strongest past rate, reference, "
        "holder of a role or incumbent",
        "(1/n) Σ (loss of the baseline - loss), the same units; its lower end has to be "
        "above trivial_gain",
        _PROMOTION,
        ("gates.promotion.against", "gates.promotion.trivial_gain", "scores.brier"),
        is_mean=True,
        paths=("gates.promotion.brier_gain", "gates.promotion.native.brier_gain"),
        elsewhere=_LOSSES,
    ),
    "loss_increase": Entry(
        LOWER,
        "by how much the log loss, and the primary loss in each frozen slice, has grown; the "
        "upper end of no interval may be above loss_margin",
        "(1/n) Σ (loss - loss of the baseline)",
        _PROMOTION,
        ("gates.promotion.against", "gates.promotion.loss_margin"),
        is_mean=True,
        paths=("gates.promotion.loss_increase.*",),
        elsewhere=_LOSSES,
    ),
    "native_skill": Entry(
        NEITHER,
        "whether the native forecaster that the competitor is, or was made from, gains "
        "more than what is trivial itself, by vectors that no leak test fails",
        "brier_gain of the native forecaster > 0, its lower end above trivial_gain, and "
        "no leak in as many of its vectors as are to be tested",
        _PROMOTION,
        ("gates.promotion.native", "gates.promotion.trivial_gain"),
        paths=("gates.promotion.native_skill",),
    ),
}

OF_GATES: dict[str, Entry] = {**_BARS, **_PERMUTATION, **_PROMOTED}
