"""Every score of a row explained: its formula, where that comes from, and its inputs.

`ledger rows --explain SCORE` shows an entry beside what a row has of it; the table of
`docs/rows.md` is the same. Inputs are paths into the row that the score is of, so that
a reader can do the sum again by hand. What a row says beside its scores is explained in
`glossary_units`, `glossary_blocks`, `glossary_gates` and `glossary_worth`.
"""

from typing import NamedTuple

from ledger.projections.explaining_steps import Step, losses, pairs

# Which way a score is better; some are neither, and only describe.
LOWER, HIGHER, NEITHER = "lower", "higher", ""


class Entry(NamedTuple):
    """A figure: what it says, how it is made, who says so, and what it is made from.

    `paths` are where in a row it stands, `*` being any name or place; of a score, which
    gives none, under `scores` by its own name. `inputs` are paths of the row too, and
    one that begins with `./` is beside the figure. `declared` are paths of the suite's
    manifest. `step` makes of the row what the formula takes and the row has in another
    form. `elsewhere` is where the rest stands: what no row has, one number a unit.
    `is_mean` is whether it is a mean over units, so that the sum can be told too, and
    `is_resampled` whether its interval, if it has one, comes from the row's resamples.
    """

    better: str
    meaning: str
    formula: str
    source: str
    inputs: tuple[str, ...] = ()
    is_mean: bool = False
    is_resampled: bool = True
    paths: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    step: Step | None = None
    elsewhere: str = ""


# Where the numbers of single units stand, which no row has.
VECTORS = (
    "p and y of each unit: the vectors and outcomes in forecasts.parquet of a bundle; "
    "of a computed competitor, table `baselines` of projections.db"
)
_BASELINE = (
    "{name} of each unit: in forecasts.parquet of a bundle if somebody seals it, else "
    "table `baselines` of projections.db, at the places of the forecaster's own vectors"
)
_GNEITING = "Gneiting & Raftery 2007"
_CLIP = ("scoring.clip",)
GLOSSARY: dict[str, Entry] = {
    "brier": Entry(
        LOWER,
        "mean of (p - y)², 0 to 1, where all questions of the row have two answers",
        "(1/n) Σ (p - y)²",
        "METRICS §4; Brier 1950",
        is_mean=True,
        elsewhere=VECTORS,
    ),
    "brier_sum": Entry(
        LOWER,
        "otherwise: mean of the squared distance over all answers, 0 to 2; a row has "
        "one of the two",
        "(1/n) Σ Σ_k (p_k - 1{y = k})²",
        "METRICS §4; Brier 1950",
        is_mean=True,
        elsewhere=VECTORS,
    ),
    "log_score_bits": Entry(
        HIGHER,
        'mean of log2 p of what happened; `"-inf"` if some p was 0',
        "(1/n) Σ log2 p(y)",
        f"METRICS §2; Good 1952; {_GNEITING}",
        ("counts.raw_infinite_count",),
        is_mean=True,
        elsewhere=VECTORS,
    ),
    "log_score_bits_clipped": Entry(
        HIGHER,
        "the same with p kept `scoring.clip` away from 0 and 1: a diagnostic",
        "(1/n) Σ log2 min(max(p(y), ε), 1 - ε)",
        f"METRICS §2; {_GNEITING}",
        ("counts.clipped_count",),
        is_mean=True,
        declared=_CLIP,
        elsewhere=VECTORS,
    ),
    "log_loss": Entry(
        LOWER,
        "minus the clipped mean, in nats",
        "-(1/n) Σ ln min(max(p(y), ε), 1 - ε)",
        f"METRICS §3; {_GNEITING}",
        ("counts.clipped_count",),
        is_mean=True,
        declared=_CLIP,
        elsewhere=VECTORS,
    ),
    "bss_frozen": Entry(
        HIGHER,
        "1 - loss / loss of `scoring.reference`, on the units where both have a vector",
        "1 - Σ loss / Σ loss of the reference",
        "METRICS §5; S001 §5.3",
        ("scores.reference_brier",),
        declared=("scoring.reference",),
        step=losses,
        elsewhere=VECTORS,
    ),
    "bss_same_cohort": Entry(
        HIGHER,
        "1 - loss / loss of always saying the cohort's own rate: hindsight, descriptive",
        "1 - BS / loss of the rate, which is ō (1 - ō), ō the cohort's own event rate; over "
        "more than two answers 1 - Σ ō_k²",
        "METRICS §5; S003; Mason 2004",
        ("scores.brier", "scores.brier_sum", "scores.base_rate_brier"),
    ),
    "reference_brier": Entry(
        NEITHER,
        "the loss of `scoring.reference` on the units of `bss_frozen`",
        "(1/n) Σ loss of the reference",
        "METRICS §§5, 7",
        is_mean=True,
        declared=("scoring.reference",),
        elsewhere=_BASELINE.format(name="the reference's vectors"),
    ),
    "base_rate_brier": Entry(
        NEITHER,
        "the loss of always saying the cohort's own rate",
        "ō (1 - ō); over more than two answers 1 - Σ ō_k²",
        "METRICS §5; S003",
        ("scores.event_rate",),
        elsewhere="over more than two answers ō_k, the share of outcomes: in forecasts.parquet of a bundle",
    ),
    "official_skill": Entry(
        HIGHER,
        "100 times `bss_frozen`, clamped to 0 and 100",
        "100 min(max(BSS, 0), 1)",
        "METRICS §6; S001 §5.5",
        ("scores.bss_frozen",),
    ),
    "skill_vs_r1_bits": Entry(
        HIGHER,
        "mean gain in clipped log score over the baseline of role `r1`",
        "(1/n) Σ [log2 p(y) - log2 r1(y)], both clipped, the same units",
        f"METRICS §7; S000; {_GNEITING}",
        is_mean=True,
        declared=_CLIP,
        elsewhere=_BASELINE.format(name="r1"),
    ),
    "skill_vs_r2_bits": Entry(
        HIGHER,
        "the same over the baseline of role `r2`",
        "(1/n) Σ [log2 p(y) - log2 r2(y)], both clipped, the same units",
        f"METRICS §7; S000; {_GNEITING}",
        is_mean=True,
        declared=_CLIP,
        elsewhere=_BASELINE.format(name="r2"),
    ),
    "r2_vs_r1_bits": Entry(
        NEITHER,
        "how much `r2` gains over `r1` on the units where the row has both: where it "
        "is negative, `r1` is the stronger baseline",
        "(1/n) Σ [log2 r2(y) - log2 r1(y)], both clipped, the same units",
        "METRICS §7; S000",
        is_mean=True,
        declared=_CLIP,
        elsewhere=_BASELINE.format(name="r1 and r2"),
    ),
    "event_rate": Entry(
        NEITHER,
        "how often the templates' `positive` answers happened",
        "(1/n) Σ y",
        "METRICS §1",
        is_mean=True,
        elsewhere=VECTORS,
    ),
    "auroc": Entry(
        HIGHER,
        "how often a unit where the event happened had the higher probability, of all "
        "pairs with one where it did not; ties count half. Ranking, not calibration. "
        "`is_official` where each class has `statistics.min_class` units; `delong` is the "
        "interval of DeLong, where every cluster has one unit",
        "(#{p⁺ > p⁻} + ½ #{p⁺ = p⁻}) / (n₁ n₀); over more than two answers the mean of "
        "`auroc_by_answer`",
        "METRICS §8; Hanley & McNeil 1982; DeLong et al. 1988; Obuchowski 1997",
        ("scores.event_rate", "auroc_by_answer.*"),
        declared=("statistics.min_class", "scoring.average_ovr"),
        step=pairs,
        elsewhere=VECTORS,
    ),
    "calibration_slope": Entry(
        NEITHER,
        "1 is calibrated; below, probabilities are too extreme, above, too timid",
        "b of the maximum likelihood fit logit P(y = 1) = a + b logit p, p clipped",
        "METRICS §9; Cox 1958; Van Calster et al. 2019",
        ("scores.event_rate", "gates.calibration"),
        is_resampled=False,
        declared=_CLIP,
        elsewhere=VECTORS,
    ),
    "calibration_intercept": Entry(
        NEITHER,
        "in the large: 0 is calibrated; below, the event is said too likely",
        "a of the maximum likelihood fit logit P(y = 1) = a + logit p, p clipped",
        "METRICS §9; Steyerberg 2010",
        ("scores.event_rate", "gates.calibration"),
        is_resampled=False,
        declared=_CLIP,
        elsewhere=VECTORS,
    ),
    "intercept_joint": Entry(
        NEITHER,
        "the intercept that is fitted together with the slope: no headline",
        "a of the maximum likelihood fit logit P(y = 1) = a + b logit p, p clipped",
        "METRICS §9; Miller, Hui & Tierney 1991",
        ("scores.calibration_slope",),
        is_resampled=False,
        declared=_CLIP,
        elsewhere=VECTORS,
    ),
    "ece": Entry(
        LOWER,
        "expected calibration error by the bins of `scoring.ece`: coarse, biased up in "
        "small samples, and never a gate",
        "Σ_b (n_b / n) |p̄_b - ō_b|, p̄_b and ō_b being `mean_p` and `rate` of bin b",
        "METRICS §9; Naeini 2015; Roelofs 2022",
        ("reliability.binning", "reliability.bins"),
    ),
    "mce": Entry(
        LOWER,
        "the largest of those gaps, whatever its bin's size",
        "max_b |p̄_b - ō_b|, p̄_b and ō_b being `mean_p` and `rate` of bin b",
        "METRICS §9; Naeini 2015",
        ("reliability.binning", "reliability.bins"),
    ),
}
