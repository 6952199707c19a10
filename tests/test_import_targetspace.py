"""TargetSpace's records go in by the protocol's own schemas, and come out the same."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.cli.targetspace_records import Forecast, Outcome
from ledger.events import ResolutionRecorded
from ledger.log import open_reader
from tests.archive import Archive
from tests.console import Console
from tests.importer import Imported

FORECAST: dict[str, Any] = {
    "forecast_id": "R1:P001-1",
    "participant_id": "P001",
    "task_id": "P001-1",
    "task_type": "T2_event_realization",
    "forecast_time": "2026-07-01T08:00:00Z",
    "horizon": "24h",
    "resolution_time": "2026-07-02T08:00:00Z",
    "evidence_cutoff_time": "2026-07-01T07:00:00Z",
    "evidence_tier": "L0",
    "protocol_version": "PWM-0.1",
    "system_id": "R1",
    "model_name": "routine-3",
    "question": "Will it occur?",
    "answer_space": ["occurs", "moves", "cancels"],
    "probabilities": {"occurs": 0.7, "moves": 0.2, "cancels": 0.1},
    "metadata": {"synthetic": True, "seed": 0.25},
}
OUTCOME: dict[str, Any] = {
    "forecast_id": "P001-1",
    "participant_id": "P001",
    "task_id": "P001-1",
    "task_type": "T2_event_realization",
    "resolution_time": "2026-07-02T08:00:00Z",
    "observed_answer": "moves",
    "answer_space": ["moves", "occurs", "cancels"],
    "resolver": "federated_client",
    "resolution_method": "calendar",
    "confidence": 0.9,
}


def files(home: Path, *records: dict[str, Any]) -> tuple[object, ...]:
    """Write records into the two files that they belong to; return the arguments."""
    forecasts, outcomes = home / "forecasts.jsonl", home / "outcomes.jsonl"
    for file, key in ((forecasts, "probabilities"), (outcomes, "observed_answer")):
        lines = [json.dumps(record) for record in records if key in record]
        file.write_text("\n".join([*lines, ""]))
    return ("import", "targetspace", forecasts, "--outcomes", outcomes)


def imported(home: Path, *records: dict[str, Any]) -> Imported:
    shown = Console(home).must(*files(home, *records), "--json")
    return Imported(shown.objects, json.loads(shown.stderr))


def archived(home: Path, *records: dict[str, Any]) -> Archive:
    """Make a ledger of records, under the suite that the import prints."""
    suite = Console(home).must(*files(home, *records), "--suite-toml").stdout
    archive = Archive(home, suite)
    archive.append(imported(home, *records).drafts)
    return archive


def test_an_instance_is_opened_forecast_and_resolved(tmp_path: Path) -> None:
    opened, sealed, resolved = imported(tmp_path, FORECAST, OUTCOME).drafts
    unit = {"template": "T2_event_realization", "id": "P001-1", "horizon": "24h"}

    assert opened["question"] == {
        **unit,
        "target": "P001",
        "answers": ["occurs", "moves", "cancels"],
        "text": "Will it occur?",
        "opened_at": "2026-07-01T08:00:00Z",
        "cutoff_at": "2026-07-02T08:00:00Z",
        "resolve_by": "2026-07-02T08:00:00Z",
    }
    assert sealed == {
        "type": "ForecastSealed",
        "author": "forecaster",
        "created_at": "2026-07-01T08:00:00Z",
        "suite": "targetspace-imported@v1",
        **unit,
        "forecaster": "R1",
        "probabilities": {"occurs": "0.7", "moves": "0.2", "cancels": "0.1"},
        "evidence": {"cutoff_at": "2026-07-01T07:00:00Z", "tiers": ["L0"]},
        "model_version": "routine-3",
        "extensions": {
            "targetspace": {
                "forecast_id": "R1:P001-1",
                "protocol_version": "PWM-0.1",
                "metadata": '{"synthetic":true,"seed":0.25}',
            }
        },
    }
    assert resolved == {
        "type": "ResolutionRecorded",
        "author": "resolver",
        "created_at": "2026-07-02T08:00:00Z",
        "suite": "targetspace-imported@v1",
        **unit,
        "status": "RESOLVED",
        "outcome": "moves",
        "published_at": "2026-07-02T08:00:00Z",
        "source": "federated_client",
        "note": "calendar",
        "extensions": {"targetspace": {"forecast_id": "P001-1", "confidence": "0.9"}},
    }


def test_systems_are_competitors_and_each_has_its_tier(tmp_path: Path) -> None:
    other = FORECAST | {"system_id": "R2", "evidence_tier": "L3", "forecast_id": "R2"}
    mixed = FORECAST | {"system_id": "R2", "task_id": "P001-2"}
    words = files(tmp_path, FORECAST, other, OUTCOME)
    suite = Console(tmp_path).must(*words, "--suite-toml").stdout
    both = Console(tmp_path).must(
        *files(tmp_path, FORECAST, other, mixed), "--suite-toml"
    )

    assert suite.count('evidence_tier = "L0"') == 1
    assert suite.count('evidence_tier = "L3"') == 1
    assert 'track       = "target"' in suite
    assert 'evidence_tier = "L3"' not in both.stdout


def test_a_later_forecast_of_a_system_is_an_update(tmp_path: Path) -> None:
    later = FORECAST | {"forecast_time": "2026-07-01T12:00:00+02:00"}
    late = FORECAST | {"forecast_time": "2026-07-02T08:00:01Z"}
    made = imported(tmp_path, FORECAST, later, late)
    archive = archived(tmp_path, FORECAST, later, late)

    assert [each["type"] for each in made.drafts[1:]] == [
        "ForecastSealed",
        "ForecastUpdated",
        "ForecastUpdated",
    ]
    assert made.drafts[2]["created_at"] == "2026-07-01T10:00:00Z"
    assert made.report["converted"] == {"to-utc": 1}
    assert archive.folder.log.exists()


def test_what_comes_after_its_resolution_is_kept_and_late(tmp_path: Path) -> None:
    late = FORECAST | {"forecast_time": "2026-07-03T08:00:00Z"}
    made = imported(tmp_path, late)

    assert made.questions[0]["opened_at"] == "2026-07-02T08:00:00Z"
    assert made.drafts[1]["created_at"] == "2026-07-03T08:00:00Z"
    archived(tmp_path, late)


# What fails the protocol's own schemas: the record, and what the report says of it.
AGAINST_ITS_SCHEMA: dict[str, tuple[dict[str, Any], str]] = {
    "a field of another schema": (FORECAST | {"sha256": "0"}, "unknown field `sha256`"),
    "a field that is missing": (
        {key: FORECAST[key] for key in FORECAST if key != "horizon"},
        "missing required field `horizon`",
    ),
    "no name": (FORECAST | {"task_id": ""}, "length >= 1"),
    "a task type of its own": (FORECAST | {"task_type": "T7_mood"}, "T7_mood"),
    "a tier of its own": (FORECAST | {"evidence_tier": "L6"}, "L6"),
    "no time": (FORECAST | {"forecast_time": "tomorrow"}, "$.forecast_time"),
    "a time without a zone": (
        FORECAST | {"forecast_time": "2026-07-01T08:00:00"},
        "forecast_time names no zone",
    ),
    "one answer": (FORECAST | {"answer_space": ["occurs"]}, "length >= 2"),
    "an answer twice": (FORECAST | {"answer_space": ["a", "a"]}, "names an answer twice"),
    "a probability in words": (
        FORECAST | {"probabilities": {"occurs": "0.7", "moves": 0.2, "cancels": 0.1}},
        "occurs is '0.7', which is no number",
    ),
    "a truth for a probability": (
        FORECAST | {"probabilities": {"occurs": True, "moves": 0, "cancels": 0}},
        "$.probabilities",
    ),
    "a probability above 1": (
        FORECAST | {"probabilities": {"occurs": 1.1, "moves": 0, "cancels": 0}},
        "occurs is 1.1, outside 0 and 1",
    ),
    "an outcome without a resolver": (
        {key: OUTCOME[key] for key in OUTCOME if key != "resolver"},
        "missing required field `resolver`",
    ),
    "a confidence above 1": (OUTCOME | {"confidence": 2}, "confidence is 2, outside"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "fault"), AGAINST_ITS_SCHEMA.values(), ids=AGAINST_ITS_SCHEMA
)
def test_a_record_against_its_schema_is_skipped_and_named(
    tmp_path: Path, record: dict[str, Any], fault: str
) -> None:
    made = imported(tmp_path, FORECAST, record)
    (place,) = made.skipped["schema"]

    assert record["forecast_id"] in place
    assert fault in place
    assert len(made.drafts) == 2
    assert (made.report["rows"], made.report["used"]) == (2, 1)


# What no schema forbids, and no ledger can take: the record, and the reason.
UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "a vector over other answers": (
        FORECAST | {"probabilities": {"occurs": 0.7, "vanishes": 0.3}},
        "answers-differ",
    ),
    "a vector that misses 1": (
        FORECAST | {"probabilities": {"occurs": 0.7, "moves": 0.2, "cancels": 0.062}},
        "sum-not-one",
    ),
    "the same record again": (FORECAST, "repeated"),
    "the instance at another horizon": (
        FORECAST | {"horizon": "7d"},
        "question-differs",
    ),
    "the instance in other words": (FORECAST | {"question": "?"}, "question-differs"),
    "made before the last one": (
        FORECAST | {"forecast_time": "2026-07-01T07:59:59Z"},
        "made-earlier",
    ),
    "an outcome of nothing": (OUTCOME | {"task_id": "P009-1"}, "unknown-question"),
    "an outcome over other answers": (
        OUTCOME | {"answer_space": ["moves", "stays"]},
        "answers-differ",
    ),
    "an outcome outside its answers": (
        OUTCOME | {"observed_answer": "vanishes"},
        "answers-differ",
    ),
    "an outcome of another type": (
        OUTCOME | {"task_type": "T1_next_contact"},
        "question-differs",
    ),
}


@pytest.mark.parametrize(("record", "reason"), UNFIT.values(), ids=UNFIT)
def test_a_record_that_no_ledger_takes_is_skipped(
    tmp_path: Path, record: dict[str, Any], reason: str
) -> None:
    made = imported(tmp_path, FORECAST, record)

    assert list(made.skipped) == [reason]
    assert made.report["rows"] == made.report["used"] + 1
    assert made.report["pending"] == 1


def test_an_instance_resolves_once(tmp_path: Path) -> None:
    changed = OUTCOME | {"observed_answer": "occurs"}
    made = imported(tmp_path, FORECAST, OUTCOME, OUTCOME, changed)

    assert made.outcomes == [("RESOLVED", "moves")]
    assert list(made.skipped) == ["repeated", "outcome-differs"]


def test_lines_that_are_no_records_are_skipped(tmp_path: Path) -> None:
    words = files(tmp_path, FORECAST)
    with (tmp_path / "forecasts.jsonl").open("a") as more:
        more.write("\nno JSON\n")
    shown = Console(tmp_path).must(*words)

    assert "skipped: 1 row that cannot be read (line 3:" in shown.stderr


def test_forecasts_may_come_without_outcomes(tmp_path: Path) -> None:
    *words, _, _ = files(tmp_path, FORECAST)
    shown = Console(tmp_path).must(*words)

    assert "PENDING: 1 unit without an outcome in this file" in shown.stderr


# --- The protocol's own samples -------------------------------------------------------


@pytest.fixture(scope="module")
def samples(shared_data: Path) -> list[dict[str, Any]]:
    """Return 36 forecasts and 6 outcomes of the protocol's repository."""
    return [
        json.loads(line)
        for name in ("sample_forecasts.jsonl", "sample_outcomes.jsonl")
        for line in (shared_data / "targetspace" / name).read_text("utf-8").splitlines()
    ]


def test_every_field_of_the_published_schemas_is_read(shared_data: Path) -> None:
    for name, record in (("forecast", Forecast), ("outcome", Outcome)):
        path = shared_data / "targetspace" / f"{name}.schema.json"
        schema = json.loads(path.read_text("utf-8"))
        fields = msgspec.structs.fields(record)
        assert {field.name for field in fields} == set(schema["properties"])
        assert {field.name for field in fields if field.required} == set(
            schema["required"]
        )


def test_the_samples_go_in_whole(tmp_path: Path, samples: list[dict[str, Any]]) -> None:
    made = imported(tmp_path, *samples)

    # All of these samples satisfy the schemas that were published with them.
    assert made.report["skipped"] == {}
    assert made.report["rows"] == made.report["used"] == 42
    assert made.report["drafts"] == {"PENDING": 6, "ForecastSealed": 36, "RESOLVED": 6}
    assert made.report["pending"] == 0


def test_three_samples_that_fail_their_schemas_are_named(
    tmp_path: Path, samples: list[dict[str, Any]]
) -> None:
    broken = [dict(sample) for sample in samples]
    del broken[4]["evidence_tier"]
    broken[17]["sha256"] = "0" * 64
    broken[40]["resolver"] = None
    made = imported(tmp_path, *broken)
    names = [broken[at]["forecast_id"] for at in (4, 17, 40)]

    assert made.report["skipped"]["schema"]["count"] == 3
    for name, place in zip(names, made.skipped["schema"], strict=True):
        assert name in place
    assert made.report["drafts"] == {"PENDING": 6, "ForecastSealed": 34, "RESOLVED": 5}


def test_the_same_vectors_and_outcomes_come_out(
    tmp_path: Path, samples: list[dict[str, Any]]
) -> None:
    archive = archived(tmp_path, *samples)
    logged = Console(tmp_path).must("log", "--json", "--ledger", archive.folder.path)
    payloads = [each["payload"] for each in logged.objects]
    vectors = {
        each["extensions"]["targetspace"]["forecast_id"]: each["probabilities"]
        for each in payloads
        if each["type"] == "ForecastSealed"
    }
    given = {
        each["forecast_id"]: each["probabilities"]
        for each in samples
        if "probabilities" in each
    }

    assert vectors.keys() == given.keys()
    for name, vector in vectors.items():
        assert vector.keys() == given[name].keys()
        assert sum(round(float(each) * 1e6) for each in vector.values()) == 10**6
        for answer, probability in vector.items():
            assert abs(float(probability) - given[name][answer]) < 1e-6
    with open_reader(archive.folder) as reader:
        outcomes = [
            entry.event.outcome
            for entry in reader.events.read(0, reader.events.size())
            if isinstance(entry.event, ResolutionRecorded)
            and entry.event.status == "RESOLVED"
        ]
    assert outcomes == [
        each["observed_answer"] for each in samples if "observed_answer" in each
    ]
