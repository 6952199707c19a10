"""Three-way forecasts of the men's World Cup, 2014 to 2022, by FiveThirtyEight.

Their floats rarely sum to exactly 1: they are rounded to millionths by largest
remainder before they are signed, and the sum form of the Brier score stays.
"""

import csv
import gzip
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger.events import ForecastSealed
from ledger.log import open_reader
from ledger.spelling import PPM, ppm
from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "world-cup@v1"
ANSWERS = {"team1": "prob1", "tie": "probtie", "team2": "prob2"}


def drafts(matches: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    for match in matches:
        name = f"{match['date']}/{match['team1']}-{match['team2']}"
        unit = {"suite": SUITE, "template": "match", "id": name}
        starts, ends = f"{match['date']}T00:00:00Z", f"{match['date']}T23:59:59Z"
        yield {
            "type": "ResolutionRecorded",
            "author": "issuer",
            "created_at": starts,
            "suite": SUITE,
            "status": "PENDING",
            "question": {
                "template": "match",
                "id": name,
                "cluster": match["season"],
                "opened_at": starts,
                "cutoff_at": starts,
                "resolve_by": ends,
                "horizon": "match",
            },
        }
        yield {
            "type": "ForecastSealed",
            "author": "forecaster",
            "created_at": starts,
            "forecaster": "spi",
            **unit,
            "probabilities": {
                answer: float(match[column]) for answer, column in ANSWERS.items()
            },
        }
        (outcome,) = (
            answer
            for answer, column in ANSWERS.items()
            if float(match[f"{column}_outcome"]) == 1
        )
        yield {
            "type": "ResolutionRecorded",
            "author": "resolver",
            "created_at": ends,
            **unit,
            "status": "RESOLVED",
            "outcome": outcome,
            "published_at": ends,
            "source": "FIFA",
        }


@pytest.fixture(scope="module")
def matches(shared_data: Path) -> list[dict[str, str]]:
    path = shared_data / "fivethirtyeight" / "world_cup_matches_men.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def archive(
    matches: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Archive:
    toml = imported_suite(
        SUITE,
        template="match",
        answers=tuple(ANSWERS),
        positive=None,
        horizon="match",
        forecasters=("spi",),
    )
    made = Archive(tmp_path_factory.mktemp("world-cup"), toml)
    assert made.append(drafts(matches)) == 176 * 3
    return made


def test_176_three_way_vectors_have_the_published_brier_score(archive: Archive) -> None:
    (row,) = [row for row in archive.rows() if row["forecaster"] == "spi"]
    brier_sum = Decimal(row["scores"]["brier_sum"]["value"])

    assert row["counts"]["scored"] == 176
    assert brier_sum.quantize(Decimal("0.000001")) == Decimal("0.537532")
    # The binary form is defined for two answers only, and never stands beside it.
    assert row["scores"].get("brier", {}).get("value") is None


def test_a_rounded_vector_sums_to_1_and_stays_within_a_millionth(
    archive: Archive, matches: list[dict[str, str]]
) -> None:
    with open_reader(archive.folder) as reader:
        vectors = [
            entry.event.probabilities
            for entry in reader.events.read(0, reader.events.size())
            if isinstance(entry.event, ForecastSealed)
        ]

    assert len(vectors) == len(matches)
    for vector, match in zip(vectors, matches, strict=True):
        assert sum(map(ppm, vector.values())) == PPM
        for answer, column in ANSWERS.items():
            assert abs(ppm(vector[answer]) - Decimal(match[column]) * PPM) < 1
