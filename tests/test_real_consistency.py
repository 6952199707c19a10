"""242 questions and six forecasters of others, with the scores that they published.

Source: dpaleka/consistency-forecasting (see the data's own README).
"""

import csv
import gzip
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ledger.clock import instant_text
from ledger.events import ForecastSealed, ResolutionRecorded
from ledger.log import open_reader
from ledger.projections.columns import integers
from ledger.projections.exact import PPM
from ledger.projections.murphy import Murphy, by_distinct_values, by_groups
from ledger.projections.tally import Tally, tally
from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "consistency@v1"
THOUSANDTHS = Decimal("0.001")
# They put a probability into the bin of the nearest of these hundredths.
ANCHORS = (1, 3, 5, *range(10, 100, 10), 95, 97, 99)


def instant(text: str) -> str:
    """Return an instant of the data, whose times without a zone are UTC."""
    return instant_text(datetime.fromisoformat(text).replace(tzinfo=UTC))


def drafts(
    questions: list[dict[str, Any]], forecasts: list[dict[str, str]]
) -> Iterator[dict[str, Any]]:
    by_id = {each["id"]: each for each in questions}
    for line in forecasts:
        question = by_id[line["question_id"]]
        created, resolved = (
            instant(question["created_date"]),
            instant(question["resolution_date"]),
        )
        unit = {"suite": SUITE, "template": "binary", "id": question["id"]}
        yield {
            "type": "ResolutionRecorded",
            "author": "issuer",
            "created_at": created,
            "suite": SUITE,
            "status": "PENDING",
            "question": {
                "template": "binary",
                "id": question["id"],
                "opened_at": created,
                "cutoff_at": resolved,
                "resolve_by": resolved,
                "horizon": "open",
                "text": question["title"],
                "tags": {"source": question["data_source"]},
            },
        }
        for forecaster in forecasters(forecasts):
            yield {
                "type": "ForecastSealed",
                "author": "forecaster",
                "created_at": created,
                "forecaster": forecaster,
                **unit,
                "probabilities": {
                    "yes": float(line[forecaster]),
                    "no": 1 - float(line[forecaster]),
                },
            }
        yield {
            "type": "ResolutionRecorded",
            "author": "resolver",
            "created_at": resolved,
            **unit,
            "status": "RESOLVED",
            "outcome": "yes" if line["resolution"] == "1" else "no",
            "published_at": resolved,
            "source": question["data_source"],
        }


def forecasters(forecasts: list[dict[str, str]]) -> list[str]:
    return [name for name in forecasts[0] if name not in {"question_id", "resolution"}]


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, Any]:
    path = shared_data / "consistency_forecasting" / "published_summaries.json"
    summaries: dict[str, Any] = json.loads(path.read_text())
    return summaries


@pytest.fixture(scope="module")
def archive(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = shared_data / "consistency_forecasting"
    with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    with (folder / "forecasts_wide.csv").open(encoding="utf-8") as lines:
        forecasts = list(csv.DictReader(lines))
    toml = imported_suite(
        SUITE,
        template="binary",
        answers=("yes", "no"),
        positive="yes",
        horizon="open",
        forecasters=forecasters(forecasts),
    )
    made = Archive(tmp_path_factory.mktemp("consistency"), toml)
    assert made.append(drafts(questions, forecasts)) == 242 * 8
    return made


def test_every_forecaster_has_the_brier_score_that_was_published(
    archive: Archive, published: dict[str, Any]
) -> None:
    rows = {row["forecaster"]: row for row in archive.rows()}

    assert len(published) == 6
    for name, summary in published.items():
        row = rows[name]
        brier = Decimal(row["scores"]["brier"]["value"])
        assert row["counts"]["scored"] == summary["total_questions"] == 242
        assert brier.quantize(THOUSANDTHS, ROUND_HALF_EVEN) == Decimal(
            str(summary["avg_brier_score"])
        )


def test_the_log_holds_the_vectors_that_their_log_scores_were_made_of(
    archive: Archive, published: dict[str, Any]
) -> None:
    """Their log score adds 1e-8 to the outcome's probability and counts bits."""
    outcomes: dict[str, str] = {}
    vectors: list[tuple[str, str, dict[str, str]]] = []
    with open_reader(archive.folder) as reader:
        for entry in reader.events.read(0, reader.events.size()):
            match entry.event:
                case ForecastSealed(question_hash=str(asked)) as event:
                    vectors.append((event.forecaster, asked, event.probabilities))
                case ResolutionRecorded(outcome=str(outcome)) as event:
                    outcomes[event.question_hash] = outcome
    bits: dict[str, list[float]] = {}
    for forecaster, asked, vector in vectors:
        probability = float(vector[outcomes[asked]])
        bits.setdefault(forecaster, []).append(-math.log2(probability + 1e-8))

    assert {name: round(sum(each) / 242, 3) for name, each in bits.items()} == {
        name: summary["avg_log_score"] for name, summary in published.items()
    }


@pytest.fixture(scope="module")
def counts(shared_data: Path) -> dict[str, Tally]:
    """Return what each forecaster said and what happened, rounded to millionths."""
    path = shared_data / "consistency_forecasting" / "forecasts_wide.csv"
    with path.open(encoding="utf-8") as lines:
        forecasts = list(csv.DictReader(lines))
    y = integers([int(line["resolution"]) for line in forecasts])
    return {
        name: tally(integers([round(Fraction(f[name]) * PPM) for f in forecasts]), y)
        for name in forecasters(forecasts)
    }


def parts(found: Murphy | None) -> Murphy:
    assert found is not None
    return found


def test_the_parts_of_every_score_sum_to_it_where_the_published_ones_do_not(
    counts: dict[str, Tally], published: dict[str, Any]
) -> None:
    """Their uncertainty is right, and their reliability too large (a bug of theirs)."""
    for name, summary in published.items():
        found = parts(by_distinct_values(counts[name]))
        theirs = {
            part: Fraction(str(value))
            for part, value in summary["brier_score_decomposition"].items()
        }
        brier = found.uncertainty - found.resolution + found.reliability
        assert found.brier == brier
        assert round(brier, 3) == Fraction(str(summary["avg_brier_score"]))
        assert round(found.uncertainty, 3) == theirs["uncertainty"]
        assert found.reliability <= theirs["reliability"] + Fraction(1, 2_000)
        summed = theirs["uncertainty"] - theirs["resolution"] + theirs["reliability"]
        is_constant = len(counts[name].p_ppm) == 1
        # Three rounded numbers and a rounded sum are off by two thousandths at most.
        assert (abs(summed - brier) <= Fraction(2, 1_000)) == is_constant


def test_the_published_calibration_errors_are_those_of_their_own_bins(
    counts: dict[str, Tally], published: dict[str, Any]
) -> None:
    """Theirs is an unweighted mean over bins; ours weighs them by their units."""
    for name, summary in published.items():
        bins: dict[int, list[int]] = {}
        columns = (counts[name].p_ppm, counts[name].said, counts[name].happened)
        for p, n, ones in zip(*(each.tolist() for each in columns), strict=True):
            # In floats, as they do: .65 is nearer to .7 than to .6 by the last bit.
            nearest = min(ANCHORS, key=lambda each: abs(each / 100 - p / PPM))
            sums = bins.setdefault(nearest, [0, 0, 0])
            bins[nearest] = [sums[0] + n, sums[1] + ones, sums[2] + n * p]
        errors = [
            abs(Fraction(ones, n) - Fraction(said, n * PPM))
            for n, ones, said in bins.values()
        ]
        found = round(sum(errors, Fraction(0)) / len(errors), 3)
        assert found == Fraction(str(summary["calibration_error"])), name


def test_binned_forecasts_need_the_parts_within_bins(
    counts: dict[str, Tally],
) -> None:
    for name, each in counts.items():
        found = parts(by_groups(each, each.p_ppm * 10 // (PPM + 1)))
        between = found.uncertainty - found.resolution + found.reliability
        within = found.within_variance - found.within_covariance
        assert between + within == found.brier, name
        is_constant = len(each.p_ppm) == 1
        assert (within == 0) == is_constant, name
