"""Published tables, imported as they lie there: in-game forecasts, and runs of agents."""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger.cli.import_suite import Shape, toml_for
from ledger.log import open_reader
from ledger.projections.report import Report
from ledger.projections.stored import open_report
from ledger.spelling import ppm
from tests.archive import Archive
from tests.console import Console

IN_GAME = """
answers = ["team1", "tie", "team2"]

[set]
template = "=match"
id = "{season}/{team1}-{team2}"
cluster = "season"
opened_at = "{season}-01-01T00:00:00Z"
cutoff_at = "{season}-12-31T00:00:00Z"
resolve_by = "{season}-12-31T00:00:00Z"
# Each period starts an hour of its own: added time overlaps the next one's minutes.
created_at = "{season}-07-01T1{period}:00:00Z+{mins}m"
forecaster = "=spi"
probability.team1 = "prob1"
probability.tie = "probtie"
probability.team2 = "prob2"
outcome = "{prob1_outcome}-{probtie_outcome}-{prob2_outcome}"
published_at = "{season}-12-31T00:00:00Z"
source = "=FIFA"

[outcomes]
1-0-0 = "team1"
0-1-0 = "tie"
0-0-1 = "team2"
"""
# One decided early, one with extra time and penalties, one that was a tie.
MATCHES = ("2018/Russia-Saudi Arabia", "2022/Argentina-France", "2018/Portugal-Spain")
COLUMNS = {"team1": "prob1", "tie": "probtie", "team2": "prob2"}


class Game(NamedTuple):
    """The report of an import, its drafts, and the file row by row."""

    report: dict[str, Any]
    drafts: list[dict[str, Any]]
    rows: dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module")
def game(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Game:
    home = tmp_path_factory.mktemp("game")
    file = shared_data / "fivethirtyeight" / "world_cup_matches_in_game_men.csv.gz"
    (home / "map.toml").write_text(IN_GAME)
    shown = Console(home).must(
        "import", "csv", file, "--map", home / "map.toml",
        "--out", home / "drafts.jsonl", "--json",
    )  # fmt: skip
    rows: dict[str, list[dict[str, str]]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            match = f"{row['season']}/{row['team1']}-{row['team2']}"
            rows.setdefault(match, []).append(row)
    with (home / "drafts.jsonl").open(encoding="utf-8") as drafts:
        return Game(shown.object, [json.loads(line) for line in drafts], rows)


def test_every_minute_of_every_match_is_a_forecast(game: Game) -> None:
    minutes = sum(map(len, game.rows.values()))

    assert (minutes, len(game.rows)) == (13_232, 128)
    assert game.report["used"] == game.report["rows"] == minutes
    assert game.report["skipped"] == game.report["skipped_forecasts"] == {}
    assert game.report["drafts"] == {
        "PENDING": 128,
        "ForecastSealed": 128,
        "ForecastUpdated": minutes - 128,
        "RESOLVED": 128,
    }
    assert game.report["rounded"] == game.report["without_forecast"] == {}


@pytest.fixture(scope="module")
def chains(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """Give the tables of a ledger of three matches."""
    drafts = [
        draft
        for draft in game.drafts
        if draft.get("question", draft).get("id") in MATCHES
    ]
    suite = toml_for(
        Shape(tuple(COLUMNS)).take(drafts),
        suite="imported@v1",
        owner="evaluator",
        resolver="resolver",
        principal="forecaster",
        track="world",
    )
    archive = Archive(tmp_path_factory.mktemp("chains"), suite)
    archive.append(drafts)
    with (
        open_reader(archive.folder) as reader,
        open_report(archive.folder, reader.store) as report,
    ):
        yield report


@pytest.mark.parametrize("match", MATCHES)
def test_the_chain_of_a_match_is_its_minutes(
    game: Game, chains: Report, match: str
) -> None:
    minutes = game.rows[match]
    found = chains.tables.connection.execute(
        "SELECT kind, probabilities_ppm, eligible, parent, seq FROM forecasts "
        "JOIN questions USING (unit) WHERE id = ? ORDER BY seq",
        [match],
    ).fetchall()
    kinds, vectors, eligible, parents, seqs = zip(*found, strict=True)

    # By hand, from the file: the first minute, the last, and all between.
    initial, final = (
        " ".join(str(ppm(f"{float(row[column]):g}")) for column in COLUMNS.values())
        for row in (minutes[0], minutes[-1])
    )
    assert vectors[0] == initial
    assert vectors[-1] == final
    assert Counter(kinds) == {"initial": 1, "update": len(minutes) - 1}
    assert set(eligible) == {1}
    assert parents == (None, *seqs[:-1])


def test_a_match_ends_as_the_file_says(game: Game, chains: Report) -> None:
    found = chains.tables.connection.execute("SELECT id, outcome FROM questions")

    for match, outcome in found:
        (row, *_) = game.rows[match]
        assert row[f"{COLUMNS[outcome]}_outcome"] == "1"
    assert len(MATCHES) == 3


# --- Runs of agents -------------------------------------------------------------------

KIMI = "kimi-k2-instruct-10132025"
RUNS = """
answers = ["pass", "fail"]

[set]
template = "=dispatch"
id = "{run}/{instance_id}"
target = "run"
cluster = "repo"
tag.repo = "repo"
opened_at = "=2025-10-13T00:00:00Z"
cutoff_at = "=2025-10-13T12:00:00Z"
resolve_by = "=2025-10-14T00:00:00Z"
outcome = "resolved"
published_at = "=2025-10-14T00:00:00Z"

[forecasters]
half = "=0.5"

[outcomes]
1 = "pass"
0 = "fail"
"""


@pytest.fixture(scope="module")
def runs(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return report and rows of one run: 730 tasks were given, 729 have a row."""
    home = tmp_path_factory.mktemp("runs")
    with gzip.open(
        shared_data / "swebench_pro" / "runs.csv.gz", "rt", encoding="utf-8"
    ) as lines:
        kept = [row for row in csv.DictReader(lines) if row["run"] == KIMI]
    # The task that was given, and of which nothing was heard.
    lost = {"run": KIMI, "instance_id": "lost", "repo": "unknown", "resolved": ""}
    with (home / "kimi.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lost))
        writer.writeheader()
        writer.writerows([*kept, lost])
    (home / "map.toml").write_text(RUNS)
    words = ("import", "csv", home / "kimi.csv", "--map", home / "map.toml")
    shown = Console(home).must(*words, "--out", home / "drafts.jsonl", "--json")
    archive = Archive(home, Console(home).must(*words, "--suite-toml").stdout)
    with (home / "drafts.jsonl").open(encoding="utf-8") as drafts:
        archive.append(map(json.loads, drafts))
    return shown.object, archive.rows()


def test_a_run_is_imported_with_the_task_that_is_missing(
    runs: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    report, _ = runs

    assert report["rows"] == report["used"] == 730
    assert report["drafts"] == {"PENDING": 730, "ForecastSealed": 730, "RESOLVED": 729}
    assert report["pending"] == 1


def dec12(numerator: int, denominator: int) -> str:
    return f"{Decimal(numerator) / Decimal(denominator):.12f}"


def test_the_missing_row_of_a_run_is_a_missing_outcome(
    runs: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    _, rows = runs
    (row,) = [row for row in rows if row["forecaster"] == "half"]
    counts = row["counts"]

    assert (counts["units"], counts["scored"], counts["resolved"]) == (730, 729, 729)
    assert counts["pending"] + counts["overdue"] == 1
    # The published rate, 27.67 %, counts what is missing as failed: the lower bound.
    rate = row["bounds"]["event_rate"]
    assert (rate["lo"], rate["hi"]) == (dec12(202, 730), dec12(203, 730))
    assert rate["lo"].startswith("0.2767")


# --- Questions in JSON ----------------------------------------------------------------

QUESTIONS = """
[set]
id = "id"
text = "{title}\\n\\n{body}"
tag.source = "data_source"
opened_at = "created_date"
cutoff_at = "metadata.close_time"
resolve_by = "resolution_date"
outcome = "resolution"
published_at = "resolution_date"

[forecasters]
market = "metadata.market_prob"

[outcomes]
true = "yes"
false = "no"
"""


def test_questions_whose_times_name_no_zone_are_refused_until_somebody_says_utc(
    shared_data: Path, tmp_path: Path
) -> None:
    file = shared_data / "consistency_forecasting" / "questions.jsonl.gz"
    (tmp_path / "map.toml").write_text(QUESTIONS)
    words = ("import", "jsonl", file, "--map", tmp_path / "map.toml")
    naive = Console(tmp_path).run(*words)
    shown = Console(tmp_path).must(*words, "--assume-utc", "--json")
    report = json.loads(shown.stderr)
    questions = {
        each["question"]["id"]: each["question"]
        for each in shown.objects
        if "question" in each
    }

    assert naive.code == 2
    assert "skipped: 242 rows with a time that names no zone" in naive.stderr
    assert "say --assume-utc" in naive.stderr
    # One market closed less than a second after it had resolved.
    assert report["skipped"]["times-out-of-order"]["count"] == 1
    assert (report["rows"], report["used"], len(questions)) == (242, 241, 241)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for written in map(json.loads, lines):
            if written["id"] in questions:
                text = f"{written['title']}\n\n{written['body']}"
                assert questions[written["id"]]["text"] == text
