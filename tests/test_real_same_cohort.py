"""Forecast skill requires the same cohort baseline: the note's case, in a real suite.

Outcomes are zero, zero, one and one, and all forecasts a quarter: the Brier score is
five sixteenths and the skill minus one quarter. A baseline loss of one half, from
another comparison, would make the skill three eighths.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from ledger.projections.cohort import Loss, skill
from ledger.projections.exact import UNITS
from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "same-cohort@v1"
DAY = "2026-10-12"
# Each unit: which comparison it is of, and what happened.
UNITS_OF = {
    "note": ("no", "no", "yes", "yes"),
    "elsewhere": ("no", "yes"),
}


def drafts() -> Iterator[dict[str, Any]]:
    for comparison, outcomes in UNITS_OF.items():
        for number, outcome in enumerate(outcomes):
            unit = {
                "suite": SUITE,
                "template": "case",
                "id": f"{comparison}-{number}",
            }
            yield {
                "type": "ResolutionRecorded",
                "author": "issuer",
                "created_at": f"{DAY}T00:00:00Z",
                "suite": SUITE,
                "status": "PENDING",
                "question": {
                    "template": "case",
                    "id": unit["id"],
                    "opened_at": f"{DAY}T00:00:00Z",
                    "cutoff_at": f"{DAY}T01:00:00Z",
                    "resolve_by": f"{DAY}T02:00:00Z",
                    "horizon": "1h",
                    "tags": {"source": comparison},
                },
            }
            for forecaster, probability in (("quarter", 0.25), ("always-1", 1)):
                yield {
                    "type": "ForecastSealed",
                    "author": "forecaster",
                    "created_at": f"{DAY}T00:30:00Z",
                    "forecaster": forecaster,
                    **unit,
                    "probabilities": {"yes": probability, "no": 1 - probability},
                }
            yield {
                "type": "ResolutionRecorded",
                "author": "resolver",
                "created_at": f"{DAY}T02:00:00Z",
                **unit,
                "status": "RESOLVED",
                "outcome": outcome,
                "published_at": f"{DAY}T02:00:00Z",
                "source": "the note",
            }


@pytest.fixture(scope="module")
def rows(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[str, str], dict[str, Any]]:
    toml = imported_suite(
        SUITE,
        template="case",
        answers=("yes", "no"),
        positive="yes",
        horizon="1h",
        forecasters=("quarter", "always-1"),
        report_by=("tag:source",),
    )
    archive = Archive(tmp_path_factory.mktemp("same-cohort"), toml)
    archive.append(drafts())
    return {(row["forecaster"], row["slice"]): row for row in archive.rows()}


def loss(row: dict[str, Any]) -> Loss:
    """Return what a row lost in all, over the cohort that it names."""
    units = row["counts"]["scored"]
    total = Fraction(row["scores"]["brier"]["value"]) * units * UNITS
    return Loss(cohort=row["cohort_hash"], total=int(total), units=units)


def test_a_constant_quarter_loses_five_sixteenths_and_is_worse_than_its_cohort(
    rows: dict[tuple[str, str], dict[str, Any]],
) -> None:
    row = rows["quarter", "tag:source=note"]

    assert row["counts"]["scored"] == 4
    assert row["scores"]["brier"]["exact"] == "5/16"
    assert row["scores"]["bss_same_cohort"]["exact"] == "-1/4"
    assert row["scores"]["bss_same_cohort"]["value"] == "-0.250000000000"


def test_a_loss_of_another_comparison_is_refused_as_a_baseline(
    rows: dict[tuple[str, str], dict[str, Any]],
) -> None:
    model = loss(rows["quarter", "tag:source=note"])
    mutant = loss(rows["always-1", "tag:source=elsewhere"])
    assert Fraction(mutant.total, mutant.units * UNITS) == Fraction(1, 2)

    refused = skill(model, mutant)

    assert (refused.value, refused.reason) == (None, "cohort_mismatch")
    assert refused.told() == {"value": None, "n": 4, "reason": "cohort_mismatch"}


def test_the_same_loss_over_the_same_cohort_is_a_baseline(
    rows: dict[tuple[str, str], dict[str, Any]],
) -> None:
    model = loss(rows["quarter", "tag:source=note"])
    honest = loss(rows["always-1", "tag:source=note"])

    assert skill(model, honest).value == Fraction(3, 8)
