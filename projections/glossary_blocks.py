"""What lies behind a row's scores explained: calibration, spread and drift.

`ledger rows --explain` shows an entry as it shows that of a score.
"""

from ledger.projections.explaining_steps import recalibrated
from ledger.projections.glossary import HIGHER, LOWER, NEITHER, VECTORS, Entry

_STEPHENSON = "METRICS §9; Stephenson, Coelho & Jolliffe 2008"
_CORP = "METRICS §9; Dimitriadis, Gneiting & Jordan 2021"
_SHARP = "METRICS §15; Gneiting, Balabdaoui & Raftery 2007"

_DISTINCT = f"of murphy {VECTORS}"
_CLUSTERS = (
    "the mean loss of each cluster or target: of the units' losses and names in "
    "forecasts.parquet of a bundle"
)
_ORDERED = (
    "L_t: the loss of each unit, in forecasts.parquet of a bundle, in the order in which "
    "the log recorded the outcomes that stand"
)

_CALIBRATION = {
    "reliability_bins": Entry(
        NEITHER,
        "of each declared bin how many units there are, their mean probability, how often "
        "the event happened, and Wilson's bounds of that, which take units as independent",
        "p̄_b, ō_b, (k + z²/2 ± z √(k (n - k) / n + z²/4)) / (n + z²)",
        "METRICS §9; Wilson 1927",
        ("reliability.binning", "reliability.min_bin", "reliability.is_clustered"),
        paths=("reliability.bins",),
        declared=("statistics.level",),
        elsewhere=VECTORS,
    ),
    "reliability": Entry(
        LOWER,
        "how far probabilities lie from how often their event happened: 0 is calibrated",
        "Σ_k n_k (p̄_k - ō_k)² / n, k being distinct probabilities (murphy) or bins (binned), "
        "p̄_k and ō_k of these `mean_p` and `rate`",
        "METRICS §9; Murphy 1973",
        ("scores.brier", "reliability.binning", "reliability.bins"),
        paths=("decomposition.*.reliability",),
        elsewhere=_DISTINCT,
    ),
    "resolution": Entry(
        HIGHER,
        "how far the event's rate differs between probabilities: what there is to tell apart",
        "Σ_k n_k (ō_k - ō)² / n, k being distinct probabilities (murphy) or bins (binned), "
        "ō_k of these `rate`",
        "METRICS §9; Murphy 1973",
        (
            "scores.brier",
            "scores.event_rate",
            "reliability.binning",
            "reliability.bins",
        ),
        paths=("decomposition.*.resolution",),
        elsewhere=_DISTINCT,
    ),
    "uncertainty": Entry(
        NEITHER,
        "how uncertain the event was by its own rate, whatever was forecast",
        "ō (1 - ō)",
        "METRICS §9; Murphy 1973",
        ("scores.brier", "scores.event_rate"),
        paths=("decomposition.*.uncertainty",),
    ),
    "within_variance": Entry(
        NEITHER,
        "how far probabilities of a bin differ: without it the binned parts do not sum "
        "to the Brier score",
        "Σ (p - p̄_k)² / n",
        _STEPHENSON,
        ("scores.brier", "reliability.binning"),
        paths=("decomposition.binned.within_variance",),
        elsewhere=VECTORS,
    ),
    "within_covariance": Entry(
        NEITHER,
        "how far probabilities of a bin go along with what happened in it",
        "2 Σ (y - ō_k)(p - p̄_k) / n",
        _STEPHENSON,
        ("scores.brier", "reliability.binning"),
        paths=("decomposition.binned.within_covariance",),
        elsewhere=VECTORS,
    ),
    "miscalibration": Entry(
        LOWER,
        "what the Brier score would lose if the probabilities were recalibrated by "
        "isotonic regression on these very outcomes",
        "S - S_pav, never below 0; S the Brier score, S_pav = Σ_k n_k ō_k (1 - ō_k) / n "
        "over the blocks k of the curve",
        _CORP,
        ("scores.brier", "decomposition.corp.blocks", "decomposition.corp.curve"),
        paths=("decomposition.corp.miscalibration",),
        step=recalibrated,
        elsewhere=VECTORS,
    ),
    "discrimination": Entry(
        HIGHER,
        "what those recalibrated probabilities gain over the event's own rate",
        "S_ō - S_pav, never below 0; S_ō = ō (1 - ō), S_pav = Σ_k n_k ō_k (1 - ō_k) / n over "
        "the blocks k of the curve",
        _CORP,
        (
            "scores.base_rate_brier",
            "scores.event_rate",
            "decomposition.corp.blocks",
            "decomposition.corp.curve",
        ),
        paths=("decomposition.corp.discrimination",),
        step=recalibrated,
        elsewhere=VECTORS,
    ),
    "corp_curve": Entry(
        NEITHER,
        "the isotonic curve: of each block the probabilities that it spans and how often "
        "the event happened",
        "pool equal p, then adjacent blocks while the left mean is at least the right one",
        _CORP,
        ("decomposition.corp.blocks", "decomposition.corp.reason"),
        paths=("decomposition.corp.curve",),
        declared=("statistics.min_curve",),
        elsewhere=VECTORS,
    ),
    "recalibration": Entry(
        NEITHER,
        "of a competitor that recalibrates another, on how many scored units its fits "
        "spoke, and on how many the source's probability was passed on, and why",
        "fitted + passed_on = n; a unit is fitted if every vector is that the slot takes",
        "METRICS §7",
        ("source", "counts.scored"),
        paths=("recalibration",),
    ),
}


def _sharpness(
    name: str,
    meaning: str,
    formula: str,
    *inputs: str,
    better: str = NEITHER,
    declared: tuple[str, ...] = (),
) -> dict[str, Entry]:
    return {
        name: Entry(
            better,
            meaning,
            formula,
            _SHARP,
            inputs,
            is_mean=name != "distinct_values",
            paths=(f"sharpness.{name}",),
            declared=declared,
            elsewhere=VECTORS,
        )
    }


_DECISIVE = ("scoring.decisive",)
_SHARPNESS = {
    **_sharpness("mean_p", "the mean probability of the event", "(1/n) Σ p"),
    **_sharpness(
        "variance_p",
        "how widely probabilities are spread",
        "(1/n) Σ (p - p̄)²",
        "sharpness.mean_p",
    ),
    **_sharpness(
        "mean_abs_from_half",
        "how far probabilities lie from one half on average",
        "(1/n) Σ |p - ½|",
    ),
    **_sharpness(
        "decisive_fraction",
        "the share of units with a probability that `scoring.decisive` calls decisive",
        "#{p ≤ low or p ≥ high} / n",
        declared=_DECISIVE,
    ),
    **_sharpness(
        "decisive_hit_rate",
        "how often the decisive ones were on the right side",
        "#{p ≤ low, y = 0, or p ≥ high, y = 1} / #{p ≤ low or p ≥ high}",
        "sharpness.decisive_fraction",
        better=HIGHER,
        declared=_DECISIVE,
    ),
    **_sharpness(
        "distinct_values", "how many different probabilities were said", "#{p}"
    ),
}
_SPREAD = {
    "auroc_by_answer": Entry(
        HIGHER,
        "over more than two answers, the AUROC of each against the rest",
        "(#{p⁺ > p⁻} + ½ #{p⁺ = p⁻}) / (n₁ n₀), for each answer",
        "METRICS §8; Hanley & McNeil 1982",
        paths=("auroc_by_answer.*",),
        elsewhere=VECTORS,
    ),
    "iqm": Entry(
        NEITHER,
        "the mean of the middle half of the cluster means, beside the mean over units; "
        "`min` and `max` are those of clusters, `n` is how many there are",
        "drop ⌊n / 4⌋ cluster means from either end, and average; of fewer than 4 all",
        "METRICS §21; S004",
        ("counts.clusters", "scores.brier", "scores.brier_sum"),
        paths=("iqm.*",),
        elsewhere=_CLUSTERS,
    ),
    "extremes": Entry(
        NEITHER,
        "between which targets, and which clusters, the mean Brier loss lies",
        "min and max over cells of the mean loss of a cell",
        "METRICS §21; S004",
        ("counts.targets", "counts.clusters"),
        paths=("extremes",),
        elsewhere=_CLUSTERS,
    ),
}


def _drift(
    name: str,
    meaning: str,
    formula: str,
    *inputs: str,
    better: str = LOWER,
    by: tuple[str, ...] = (),
) -> dict[str, Entry]:
    """Return a figure of drift; `by` are the suite's parameters that it goes by."""
    return {
        name: Entry(
            better,
            meaning,
            formula,
            "METRICS §20; Dawid 1984; Gama et al. 2013; Page 1954",
            ("prequential.loss", "prequential.n", *inputs),
            is_mean=name in {"before", "after"},
            paths=(f"prequential.{name}",),
            declared=tuple(f"prequential.{each}" for each in by),
            elsewhere="" if name == "change" else _ORDERED,
        )
    }


_PREQUENTIAL = {
    **_drift(
        "cumulative",
        "the mean primary loss after the last outcome, in the order of the log",
        "(1/n) Σ L_t",
    ),
    **_drift(
        "fading",
        "the mean in which an outcome counts less with each that follows",
        "S_t / N_t, S_t = a S_(t-1) + L_t, N_t = a N_(t-1) + 1, a `prequential.fading`",
        by=("fading",),
    ),
    **_drift(
        "sliding",
        "the mean of the last `prequential.window` outcomes",
        "(1/w) Σ over the last w of L_t, w `prequential.window`, or all there are if fewer",
        by=("window",),
    ),
    **_drift(
        "rise",
        "the Page-Hinkley statistic after the last outcome: how far the loss has risen",
        "m_t - min(0, min m), m_t = Σ (L_s - mean of the first s - δ), δ `ph_delta`",
        by=("ph_delta",),
    ),
    **_drift(
        "alarm",
        "the outcome, counted from 0, at which the rise first passed `ph_lambda`",
        "the first t with rise above λ, λ `ph_lambda`",
        better=NEITHER,
        by=("ph_delta", "ph_lambda"),
    ),
    **_drift(
        "onset",
        "the outcome, counted from 0, at which the rise that led to the alarm began",
        "the outcome after the one at which m was least, up to the alarm",
        "prequential.alarm",
        better=NEITHER,
        by=("ph_delta", "ph_lambda"),
    ),
    **_drift(
        "before",
        "the mean loss before the onset",
        "mean of L_t, t < onset; of all where there is none",
        "prequential.onset",
    ),
    **_drift(
        "after",
        "the mean loss from the onset on",
        "mean of L_t, t ≥ onset",
        "prequential.onset",
    ),
    **_drift(
        "change",
        "how much larger the mean loss is after the onset",
        "after - before",
        "prequential.before",
        "prequential.after",
    ),
    **_drift(
        "recovery",
        "how many outcomes after the alarm the sliding mean was back near the mean before",
        "the first k with sliding mean ≤ before + `prequential.recovery`, the mean of the last "
        "w outcomes and of none before the onset",
        "prequential.alarm",
        "prequential.onset",
        "prequential.before",
        by=("window", "recovery"),
    ),
}

OF_BLOCKS: dict[str, Entry] = {
    **_CALIBRATION,
    **_SHARPNESS,
    **_SPREAD,
    **_PREQUENTIAL,
}
