"""Every change that ForecastBench's round of 2025-12-07 went through, in a ledger.

500 questions, and the history of their resolutions in git: what was amended stands
beside what it was amended to. All expected values are counted from the files here.
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger.cli.forecastbench_plan import Plan, forecasters_of
from ledger.cli.forecastbench_suite import toml_of
from ledger.events import ResolutionRecorded
from ledger.log import open_reader
from ledger.projections.report import Report
from ledger.projections.stored import open_report
from ledger.spelling import PPM
from tests.archive import Archive
from tests.console import Console, Shown

SUITE = "forecastbench@v1"
ANSWER = {"0.0": "no", "1.0": "yes"}
# A unit of the round as the files name it: source, id, resolution date or "".
Key = tuple[str, str, str]
# Between the first resolutions of the round and their first amendment (TDY).
BETWEEN = "2025-12-22T12:00:00Z"


class Replayed(NamedTuple):
    """The ledger, what the import said, and the history as the file has it."""

    archive: Archive
    shown: Shown
    changes: list[dict[str, str]]


def later_question(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield a question of two weeks later, and a forecast on it."""
    unit = {"template": "dataset", "id": "2025-12-21/fred/NEW", "horizon": "7d"}
    yield {
        "type": "ResolutionRecorded",
        "author": plan.issuer,
        "created_at": "2025-12-21T00:00:00Z",
        "suite": SUITE,
        "status": "PENDING",
        "question": {
            **unit,
            "opened_at": "2025-12-21T00:00:00Z",
            "cutoff_at": "2025-12-22T23:59:59Z",
            "resolve_by": "2025-12-28T23:59:59Z",
            "tags": {"kind": "dataset", "round": "2025-12-21", "source": "fred"},
        },
    }
    yield {
        "type": "ForecastSealed",
        "author": plan.forecaster,
        "created_at": BETWEEN,
        "suite": SUITE,
        "forecaster": "half",
        **unit,
        "probabilities": {"yes": "0.5", "no": "0.5"},
    }


@pytest.fixture(scope="module")
def replayed(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    home = tmp_path_factory.mktemp("history")
    folder, out = shared_data / "forecastbench", home / "drafts.jsonl"
    stream = folder / "resolution_event_stream.2025-12-07.csv.gz"
    shown = Console(home).must(
        "import", "forecastbench", "--stream", stream,
        "--questions", folder / "2025-12-07-llm.question_set.json.gz",
        "--out", out, "--json",
    )  # fmt: skip
    plan = Plan(
        suite=SUITE,
        issuer="issuer",
        forecaster="forecaster",
        resolver="resolver",
        forecasters=forecasters_of(["half=0.5"]),
    )
    archive = Archive(home, toml_of(plan, "evaluator"))
    with out.open(encoding="utf-8") as lines:
        archive.append(map(json.loads, lines))
    archive.append(later_question(plan))
    with gzip.open(stream, "rt", encoding="utf-8") as lines:
        return Replayed(archive, shown, list(csv.DictReader(lines)))


def key(change: dict[str, str]) -> Key:
    return change["source"], change["id"], change["horizon_key"]


def histories(changes: list[dict[str, str]]) -> dict[Key, list[tuple[str, str | None]]]:
    """Return what each unit was said to be, in the order of the commits."""
    told: dict[Key, list[tuple[str, str | None]]] = {}
    for change in changes:
        said = (
            ("VOID", None)
            if change["event"].startswith("WITHDRAWN")
            else ("RESOLVED", ANSWER[change["new"]])
        )
        told.setdefault(key(change), []).append(said)
    return told


@pytest.fixture(scope="module")
def records(replayed: Replayed) -> list[tuple[int, str, ResolutionRecorded]]:
    """Return position, id and content of each record of the log."""
    with open_reader(replayed.archive.folder) as reader:
        return [
            (entry.seq, entry.event_id, entry.event)
            for entry in reader.events.read(0, reader.events.size())
            if isinstance(entry.event, ResolutionRecorded)
        ]


@pytest.fixture
def report(replayed: Replayed) -> Iterator[Report]:
    folder = replayed.archive.folder
    with open_reader(folder) as reader, open_report(folder, reader.store) as made:
        yield made


def selected(report: Report, sql: str) -> list[tuple[Any, ...]]:
    return report.tables.connection.execute(sql).fetchall()


def test_500_questions_are_opened_at_each_of_their_dates(
    replayed: Replayed, records: list[tuple[int, str, ResolutionRecorded]]
) -> None:
    told = replayed.shown.object
    opened = [event.question for _, _, event in records if event.question is not None]
    of_round = [each for each in opened if each.tags["round"] == "2025-12-07"]

    assert told["questions"] == 500
    assert len({each.target for each in of_round}) == 500
    # 248 series at eight dates, two at seven, and 250 markets.
    assert told["units"] == {"market": 250, "dataset": 248 * 8 + 2 * 7}
    assert told["drafts"]["PENDING"] == len(of_round) == 2_248
    # Longer texts than any other, of many lines, and none of them changed.
    assert max(len((each.text or "").encode()) for each in of_round) > 6_000


def test_every_change_is_one_record(
    replayed: Replayed, records: list[tuple[int, str, ResolutionRecorded]]
) -> None:
    events = Counter(change["event"] for change in replayed.changes)
    told = [event for _, _, event in records if event.status != "PENDING"]

    assert (
        events
        == replayed.shown.object["changes"]
        == {
            "RESOLVED": 1_076,
            "AMENDED": 18,
            "WITHDRAWN": 10,
            "WITHDRAWN_UNRESOLVED": 19,
        }
    )
    assert replayed.shown.object["skipped"] == {}
    assert (
        Counter(event.extensions["forecastbench"]["event"] for event in told) == events
    )
    assert Counter((event.status, event.reason_code) for event in told) == {
        ("RESOLVED", None): 1_076 + 18,
        ("VOID", "withdrawn"): 10,
        ("VOID", "withdrawn-unresolved"): 19,
    }


def test_every_amended_question_shows_its_history(
    replayed: Replayed, records: list[tuple[int, str, ResolutionRecorded]]
) -> None:
    told: dict[str, list[tuple[str, ResolutionRecorded]]] = {}
    names: dict[str, Key] = {}
    for _, event_id, event in records:
        told.setdefault(event.question_hash, []).append((event_id, event))
        if event.question is not None and event.question.target is not None:
            source, _, name = event.question.target.partition("/")
            day = event.question.resolve_by.date().isoformat()
            market = event.question.horizon == "market"
            names[event.question_hash] = (source, name, "" if market else day)
    expected = histories(replayed.changes)
    changed = {name for name, history in expected.items() if len(history) > 1}

    assert len(changed) == 23
    assert max(map(len, expected.values())) == 6
    for asked, history in told.items():
        if asked in names:
            (_, opening), *rest = history
            assert opening.status == "PENDING"
            said = [(event.status, event.outcome) for _, event in rest]
            assert said == expected.get(names[asked], [])
        for (before, _), (_, event) in pairwise(history):
            assert event.supersedes == before


def test_what_changed_an_outcome_is_found_to_be_amended(
    report: Report, records: list[tuple[int, str, ResolutionRecorded]]
) -> None:
    by_id = {event_id: event for _, event_id, event in records}
    amending = [
        seq
        for seq, _, event in records
        if event.supersedes and by_id[event.supersedes].status != "PENDING"
    ]
    found = selected(
        report, "SELECT seq FROM findings WHERE rule = 'amended' ORDER BY 1"
    )

    # Amendments and withdrawals, and one market that came back after it had gone.
    assert len(amending) == 18 + 10 + 1
    assert [seq for (seq,) in found] == amending


def test_the_tables_have_every_record_and_stand_at_the_last(
    replayed: Replayed, report: Report
) -> None:
    counted = dict(
        selected(report, "SELECT status, count(*) FROM resolutions GROUP BY status")
    )
    standing = Counter(
        history[-1][0] for history in histories(replayed.changes).values()
    )
    now = dict(
        selected(report, "SELECT status, count(*) FROM questions GROUP BY status")
    )

    assert counted == {"PENDING": 2_249, "RESOLVED": 1_094, "VOID": 29}
    assert now == {
        "RESOLVED": standing["RESOLVED"],
        "VOID": standing["VOID"],
        "PENDING": 2_249 - sum(standing.values()),
    }


def test_the_ledger_ends_where_the_published_resolutions_are(
    shared_data: Path, report: Report
) -> None:
    path = (
        shared_data
        / "forecastbench"
        / "2025-12-07_resolution_set.HEAD-9abcac9f.json.gz"
    )
    with gzip.open(path, "rt", encoding="utf-8") as content:
        published = {
            (each["source"], each["id"], each["resolution_date"]): each["resolved_to"]
            for each in json.load(content)["resolutions"]
            if each["resolved"]
        }
    found = selected(
        report,
        "SELECT target, horizon, date(resolve_by_us / 1000000, 'unixepoch'), outcome "
        "FROM questions WHERE status = 'RESOLVED'",
    )
    datasets = {
        (*target.split("/", 1), day): outcome
        for target, horizon, day, outcome in found
        if horizon != "market"
    }
    markets = {
        tuple(target.split("/", 1)): outcome
        for target, horizon, _, outcome in found
        if horizon == "market"
    }

    assert len(datasets) + len(markets) == len(published)
    for (source, name, day), value in published.items():
        answer = datasets.get((source, name, day)) or markets.get((source, name))
        assert answer == ANSWER[str(value)]


def test_a_baseline_keeps_what_was_known_when_its_forecast_was_sealed(
    replayed: Replayed, report: Report
) -> None:
    known = {
        key(change): change["new"]
        for change in replayed.changes
        if change["event"] == "RESOLVED" and change["commit_time"] < BETWEEN
    }
    amended_since = {
        key(change)
        for change in replayed.changes
        if change["event"] == "AMENDED" and key(change) in known
    }
    count, yes = len(known), sum(value == "1.0" for value in known.values())
    report.refresh()
    ((text,),) = selected(
        report,
        "SELECT b.probabilities_ppm FROM baselines b JOIN forecasts USING (seq) "
        "WHERE forecaster = 'half'",
    )

    assert len(amended_since) == 2
    # Jeffreys: half a count for each answer, beside all outcomes published by then.
    rate = (Fraction(yes) + Fraction(1, 2)) / (count + 1)
    assert text.split() == [str(rate * PPM), str((1 - rate) * PPM)]
