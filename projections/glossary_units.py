"""What a row says of its units explained: counts, coverage, bounds and integrity.

`ledger rows --explain` shows an entry as it shows that of a score.
"""

from ledger.projections.counts import DEFINITIONS, OF_VECTORS
from ledger.projections.glossary import HIGHER, LOWER, NEITHER, VECTORS, Entry

_COUNTS = {
    name: Entry(
        NEITHER,
        meaning,
        f"one for each such {'vector' if name in OF_VECTORS else 'unit'}",
        "METRICS §1; S001 §5.1",
        paths=(f"counts.{name}",),
    )
    for name, meaning in DEFINITIONS.items()
    if name not in {"targets", "clusters"}
}
_GROUPS = {
    name: Entry(
        NEITHER,
        DEFINITIONS[name],
        f"one for each of the {name} that a scored unit is of",
        "METRICS §1; S000 §6",
        ("counts.scored",),
        paths=(f"counts.{name}",),
    )
    for name in ("targets", "clusters")
}
_COVERAGE = {
    "coverage": Entry(
        HIGHER,
        "the share of declared units, but those that only train, on which the forecaster "
        "has a vector that counts; an official row needs `coverage.minimum`",
        "eligible units that do not train / (units - training)",
        "METRICS §1",
        (
            "counts.units",
            "counts.training",
            "coverage.count",
            "coverage.minimum",
            "coverage.is_met",
        ),
        paths=("coverage",),
    ),
    "coverage_in_slot": Entry(
        HIGHER,
        "the share of declared units, but those that only train, of which the row's slot "
        "has a vector",
        "units that do not train with a vector in the slot / (units - training)",
        "METRICS §§1, 19",
        (
            "counts.units",
            "counts.training",
            "coverage.in_slot.count",
            "coverage.minimum",
            "coverage.is_met",
        ),
        paths=("coverage.in_slot",),
    ),
    "coverage_in_time": Entry(
        HIGHER,
        "in the slot `time_weighted`, the share of time in which a vector was in force",
        "microseconds with a vector / microseconds in which there could have been one",
        "METRICS §19",
        paths=("coverage.in_time",),
    ),
}


def _rate(
    meaning: str, formula: str, *inputs: str, better: str = LOWER
) -> tuple[str, str, str, str, tuple[str, ...]]:
    return better, meaning, formula, "METRICS §24; S001 §9.3", inputs


_RATES = {
    "late_forecast_rate": _rate(
        "the share of submitted vectors that were sealed after the cut-off",
        "late / submitted",
        "counts.late",
        "counts.submitted",
    ),
    "duplicate_rate": _rate(
        "the share of submitted vectors that were a further first one on their unit",
        "duplicate / submitted",
        "counts.duplicate",
        "counts.submitted",
    ),
    "missing_rate": _rate(
        "the share of declared units on which the forecaster has no vector that counts",
        "missing / units",
        "counts.missing",
        "counts.units",
    ),
    "unresolved_rate": _rate(
        "the share of declared units whose outcome is missing",
        "(overdue + censored + canceled) / units",
        "counts.overdue",
        "counts.censored",
        "counts.canceled",
        "counts.units",
    ),
    "void_rate": _rate(
        "the share of declared units that left the denominator",
        "(void + invalid) / units",
        "counts.void",
        "counts.invalid",
        "counts.units",
        "integrity.reasons",
    ),
    "void_by_probability": _rate(
        "what share of units was voided, by the tenth that the probability of their "
        "positive answer was in: it should not depend on the forecast",
        "(void + invalid) / units with a vector, of each tenth",
        "counts.void",
        "counts.invalid",
        better=NEITHER,
    ),
    "reasons": _rate(
        "for which reasons units have no outcome, and in which tenths their "
        "probabilities were",
        "one for each unit, by the reason_code of the record that stands",
        "counts.void",
        "counts.invalid",
        "counts.censored",
        "counts.canceled",
        better=NEITHER,
    ),
    "hash_mismatch": _rate(
        "the share of vectors and outcome records that name another suite, question or "
        "acceptance test than the canonical one",
        "findings of the three mismatch rules / (submitted + outcome records)",
        "integrity.findings",
        "counts.submitted",
    ),
    "feature_leak_tests": _rate(
        "how many vectors passed and failed the tests for knowledge from after the "
        "sealing, and each test's share of failures",
        "failures of a test / vectors that it applies to",
    ),
    "findings": _rate(
        "how many findings of each rule there are about the forecaster's vectors and the "
        "units' records",
        "one for each finding",
        better=NEITHER,
    ),
}
_BOUNDS = Entry(
    NEITHER,
    "the least and the greatest that a score over more units could be, whatever the missing "
    "outcomes are, and the missing vectors too where its name says so or it has no baseline; "
    "what may still come in time (`counts.pending`) is in none",
    "min and max over every answer of each missing outcome, and over the best and the "
    "worst vector where one is missing, of a computed baseline as well",
    "METRICS §18; Manski 2003; Horowitz & Manski 2000",
    (
        "counts.scored",
        "counts.censored",
        "counts.canceled",
        "counts.overdue",
        "counts.pending",
        "counts.missing",
        "counts.unslotted",
    ),
    is_resampled=False,
    paths=("bounds.*",),
    declared=("scoring.clip", "scoring.reference"),
    elsewhere=VECTORS,
)

_COSTS = Entry(
    LOWER,
    "what the forecasts of a scored unit cost to make, by what their author says: `total` "
    "in all, `value` a unit that states it, `vectors` how many statements there are and "
    "`unreadable` how many of them are no decimal",
    "(1/n) Σ over units of Σ over the chain of the stated cost, units with an unreadable "
    "one left out",
    "METRICS §1; DESIGN §8; S001 §10.1",
    ("counts.scored", "counts.submitted"),
    paths=("costs.*",),
    elsewhere="what each vector states: `cost` in forecasts.parquet of a bundle",
)

_ENTRIES = Entry(
    NEITHER,
    "how many competitors of the suite the same principal seals, this one included: of many "
    "entries some look good by chance alone; null for what is computed",
    "one for each competitor of the suite that has the principal of this one",
    "METRICS §23; DESIGN §8",
    paths=("principal_entries",),
    elsewhere="the suite's competitors with their principals: `ledger suite show`",
)

OF_UNITS: dict[str, Entry] = {
    **_COUNTS,
    **_GROUPS,
    **_COVERAGE,
    **{
        name: Entry(*of_rate, paths=(f"integrity.{name}",))
        for name, of_rate in _RATES.items()
    },
    "bounds": _BOUNDS,
    "costs": _COSTS,
    "principal_entries": _ENTRIES,
}
