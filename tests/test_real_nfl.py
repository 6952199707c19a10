"""NFL games of FiveThirtyEight: a tie is neither outcome, and so decides nothing.

Of 1,889 games seven ended in a tie, which the publisher counts as half a win. Here such
a game is VOID: it is counted, and leaves the mean.
"""

import csv
import gzip
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "nfl@v1"
Row = dict[str, Any]


def drafts(games: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    for game in games:
        name = f"{game['date']}/{game['team1']}-{game['team2']}"
        unit = {"suite": SUITE, "template": "game", "id": name, "horizon": "game"}
        starts, ends = f"{game['date']}T00:00:00Z", f"{game['date']}T23:59:59Z"
        yield {
            "type": "ResolutionRecorded",
            "author": "issuer",
            "created_at": starts,
            "suite": SUITE,
            "status": "PENDING",
            "question": {
                "template": "game",
                "id": name,
                "cluster": game["season"],
                "opened_at": starts,
                "cutoff_at": starts,
                "resolve_by": ends,
                "horizon": "game",
            },
        }
        first = float(game["prob1"])
        yield {
            "type": "ForecastSealed",
            "author": "forecaster",
            "created_at": starts,
            "forecaster": "elo",
            **unit,
            "probabilities": {"team1": first, "team2": 1 - first},
        }
        outcome = {"0": "team2", "1": "team1"}.get(game["prob1_outcome"])
        yield {
            "type": "ResolutionRecorded",
            "author": "resolver",
            "created_at": ends,
            **unit,
            "published_at": ends,
            "source": "NFL",
            **(
                {"status": "RESOLVED", "outcome": outcome}
                if outcome
                else {"status": "VOID", "reason_code": "tie"}
            ),
        }


@pytest.fixture(scope="module")
def row(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Row:
    path = shared_data / "fivethirtyeight" / "nfl_games.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        games = list(csv.DictReader(lines))
    toml = imported_suite(
        SUITE,
        template="game",
        answers=("team1", "team2"),
        positive="team1",
        horizon="game",
        forecasters=("elo",),
    )
    archive = Archive(tmp_path_factory.mktemp("nfl"), toml)
    assert archive.append(drafts(games)) == 3 * 1889
    found: Row = next(row for row in archive.rows() if row["forecaster"] == "elo")
    return found


def test_the_brier_score_of_decided_games_is_the_published_one(row: Row) -> None:
    brier = Decimal(row["scores"]["brier"]["value"])
    assert brier.quantize(Decimal("0.000001")) == Decimal("0.220826")


def test_ties_are_void_and_counted_and_nobody_s_success(row: Row) -> None:
    counts = row["counts"]
    assert (counts["units"], counts["scored"], counts["void"]) == (1889, 1882, 7)
    assert row["integrity"]["void_rate"]["exact"] == "7/1889"
    deciles = row["integrity"]["void_by_probability"]["deciles"]
    assert sum(each["count"] for each in deciles) == 7
    assert sum(each["of"] for each in deciles) == 1889
