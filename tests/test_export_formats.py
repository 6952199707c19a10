"""Rows in others' formats: TargetSpace's leaderboard and Piper's metric paths."""

import json
import os
import resource
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.projections.export_points import points
from ledger.projections.export_targetspace import UNITS, leaderboard
from ledger.projections.labels import UNOFFICIAL
from ledger.projections.rows import Row
from tests.console import Console
from tests.reporting import row, rows, template
from tests.shared import SHARED
from tests.simulator import History, suite
from tests.whole_row import whole_row

TARGETSPACE = SHARED / "data" / "targetspace"
KINDS = {
    "string": str,
    "object": dict,
    "array": list,
    "integer": int,
    "null": type(None),
    "number": (int, float),
}


def offences(value: Any, schema: dict[str, Any], whole: dict[str, Any]) -> list[str]:
    """Return what a value offends of a JSON Schema, as far as the leaderboard's goes."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", [])
    allowed = [KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if allowed and not any(isinstance(value, each) for each in allowed):
        return [f"{value!r} is no {kinds}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{value!r} is none of {schema['enum']}")
    if (
        value is not None and value < schema["minimum"]
        if "minimum" in schema
        else False
    ):
        found.append(f"{value!r} is too small")
    if isinstance(value, list):
        return [
            *found,
            *(o for each in value for o in offences(each, schema["items"], whole)),
        ]
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        found += [
            f"{name} is missing"
            for name in schema.get("required", [])
            if name not in value
        ]
        if schema.get("additionalProperties") is False:
            found += [f"{name} is unknown" for name in value if name not in inner]
        for name, each in value.items():
            found += offences(each, inner[name], whole) if name in inner else []
    return found


def tiered(**changes: Any) -> History:
    """Return a history whose `native` has a tier of evidence, and whose `rival` has none."""
    made = suite(**changes)
    competitors = tuple(
        msgspec.structs.replace(
            each, evidence_tier="L0+L1" if each.name == "native" else None
        )
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=competitors))
    asked = [
        history.question(f"u-{number}", target=f"t-{number}") for number in range(3)
    ]
    for question in asked:
        history.seal(question, "0.8")
        history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    for question, outcome in zip(asked, ("pass", "pass", "fail"), strict=True):
        history.resolve(question, outcome)
    return history


def board(history: History) -> dict[str, Any]:
    return json.loads(leaderboard(history.manifest, rows(history)).text)


# --- TargetSpace ----------------------------------------------------------------------


@pytest.mark.skipif(
    not TARGETSPACE.exists(), reason="TargetSpace's schema is not at hand"
)
@pytest.mark.parametrize("status", ["pre_pilot", "synthetic_demo"])
def test_a_leaderboard_is_valid_against_the_protocols_own_schema(status: str) -> None:
    schema = json.loads((TARGETSPACE / "leaderboard.schema.json").read_text("utf-8"))
    assert offences(board(tiered(status=status)), schema, schema) == []
    theirs = json.loads((TARGETSPACE / "leaderboard_pre_pilot.json").read_text("utf-8"))
    assert offences(theirs, schema, schema) == []
    assert offences({**theirs, "rows": [{}]}, schema, schema) != []


def test_each_column_has_the_unit_that_the_file_declares() -> None:
    history = tiered()
    found = board(history)
    assert found["meta"]["units"] == UNITS
    shown = next(each for each in found["rows"] if each["system_id"] == "native")
    scores = row(history)["scores"]
    # Theirs are in nats and summed over the answers; ours in bits, and of one answer.
    assert shown["log_score"] == -float(scores["log_loss"]["value"])
    assert shown["brier_score"] == float(2 * Decimal(scores["brier"]["value"]))
    skill = scores["skill_vs_r2_bits"]["value"]
    assert shown["personal_skill_vs_r2_bits"] == float(skill)
    assert (shown["n_participants"], shown["n_forecasts"]) == (3, 3)


def test_numbers_are_spelled_as_rows_spell_them() -> None:
    history = tiered()
    text = leaderboard(history.manifest, rows(history)).text.decode()
    assert f'"ece": {row(history)["scores"]["ece"]["value"]}' in text


def test_more_than_two_answers_keep_the_sum_as_it_is() -> None:
    made = suite()
    templates = [template(made, ("a", "b", "c")), *made.templates[1:]]
    competitors = tuple(
        msgspec.structs.replace(each, evidence_tier="L0") for each in made.competitors
    )
    manifest = msgspec.structs.replace(
        made, templates=tuple(templates), competitors=competitors
    )
    history = History(manifest)
    question = history.question()
    history.seal(question, {"a": "0.5", "b": "0.3", "c": "0.2"})
    history.wait(hours=3)
    history.resolve(question, "a")
    shown = board(history)["rows"]
    assert shown[0]["brier_score"] == 0.38
    assert shown[0]["calibration_status"] == "n/a"


def test_whoever_has_no_tier_is_left_out_and_told_of() -> None:
    history = tiered()
    made = leaderboard(history.manifest, rows(history))
    assert made.left_out == ["rival has no evidence tier from L0 to L5"]
    shown = {each["system_id"]: each for each in json.loads(made.text)["rows"]}
    assert set(shown) == {"native", "native-calibrated", "past-rate", "own-routine"}
    assert shown["native"]["evidence_tier"] == "L1"
    assert shown["native-calibrated"]["evidence_tier"] == "L1"


Change = Callable[[Row], None]


def changed(change: Change, system: str = "native") -> dict[str, dict[str, Any]]:
    """Return a board of rows that passed their gates, that of one system changed."""
    history = tiered()
    found = rows(history)
    for each in found:
        each["labels"] = ["shared_custody", "few_clusters"]
        each["gates"]["calibration"]["status"] = "pass"
        each["gates"]["permutation"]["status"] = "collapses"
        each["gates"]["credit_needs"]["routine_has_past"] = True
        if each["forecaster"] == system:
            change(each)
    shown = json.loads(leaderboard(history.manifest, found).text)["rows"]
    return {each["system_id"]: each for each in shown}


def nothing(found: Row) -> None:
    """Leave a row as it is."""


def of_gate(gate: str, status: str) -> Change:
    return lambda found: found["gates"][gate].update(status=status)


def of_need(need: str, *, holds: bool | None) -> Change:
    return lambda found: found["gates"]["credit_needs"].update({need: holds})


def of_skill(**measure: Any) -> Change:
    return lambda found: found["scores"]["skill_vs_r2_bits"].update(measure)


def of_row(**fields: Any) -> Change:
    return lambda found: found.update(fields)


def test_baselines_are_shown_without_a_rank() -> None:
    shown = changed(nothing)
    found = {name: each["rank"] for name, each in shown.items()}
    assert found == {
        "native": 1,
        "native-calibrated": 1,
        "past-rate": None,
        "own-routine": None,
    }
    assert "no rank: layer is baseline" in shown["past-rate"]["notes"]
    assert "no rank" not in shown["native"]["notes"]


UNRANKED: dict[str, tuple[Change, str]] = {
    "a calibration that fails": (of_gate("calibration", "fail"), "calibration is fail"),
    "too little to judge it": (
        of_gate("calibration", "insufficient"),
        "calibration is insufficient",
    ),
    "skill on the wrong target": (
        of_gate("permutation", "survives"),
        "permutation is survives",
    ),
    "targets too few to tell": (
        of_gate("permutation", "insufficient"),
        "permutation is insufficient",
    ),
    "a skill over some units": (of_skill(n=2), "skill vs R2 is over 2 of 3 units"),
    "no skill": (
        of_skill(value=None, reason="not_declared"),
        "skill vs R2 is not_declared",
    ),
    "a routine without a past": (
        of_need("routine_has_past", holds=False),
        "R2 has no past of its own",
    ),
    "several horizons": (
        of_need("is_one_horizon", holds=False),
        "it is over several horizons",
    ),
    "baselines on other units": (
        of_need("is_one_cohort", holds=False),
        "R1 and R2 are not on all scored units",
    ),
    "a role": (of_row(role="r2"), "role is r2"),
    "an oracle": (of_row(layer="oracle"), "layer is oracle"),
    **{
        f"label {label}": (of_row(labels=["few_clusters", label]), f"it is {label}")
        for label in UNOFFICIAL
    },
}


@pytest.mark.parametrize(("change", "why"), UNRANKED.values(), ids=UNRANKED)
def test_what_misses_anything_is_shown_without_a_rank(change: Change, why: str) -> None:
    shown = changed(change)
    assert shown["native"]["rank"] is None
    assert shown["native"]["notes"].endswith(f"; no rank: {why}")
    # Whoever it would have stood beside is ranked all the same, and above it.
    assert shown["native-calibrated"]["rank"] == 1
    assert next(iter(shown)) == "native-calibrated"


def test_a_sealed_routine_whose_past_nobody_can_tell_is_ranked_over() -> None:
    assert changed(of_need("routine_has_past", holds=None))["native"]["rank"] == 1


def test_a_warned_calibration_is_ranked_where_the_suite_allows_it_and_says_so() -> None:
    history = tiered()
    four_bar = history.manifest.gates.four_bar
    for allows, rank in ((True, 1), (False, None)):
        gates = msgspec.structs.replace(
            history.manifest.gates,
            four_bar=msgspec.structs.replace(four_bar, allow_calibration_warn=allows),
        )
        manifest = msgspec.structs.replace(history.manifest, gates=gates)
        native = row(history)
        native["labels"] = []
        native["gates"]["calibration"]["status"] = "warn"
        native["gates"]["permutation"]["status"] = "collapses"
        of_need("routine_has_past", holds=True)(native)
        found = json.loads(leaderboard(manifest, [native]).text)
        assert found["rows"][0]["rank"] == rank
        for name in ("sota_definition", "ranked"):
            assert (
                "pass (or warn, as this suite allows)" in found["meta"][name]
            ) is allows


def test_the_better_of_one_tier_is_first_and_equals_share_a_place() -> None:
    def ahead(found: Row) -> None:
        of_skill(value="9.000000000000")(found)

    assert changed(ahead)["native-calibrated"]["rank"] == 2
    assert changed(nothing)["native-calibrated"]["rank"] == 1


def test_no_tier_or_horizon_is_ranked_among_another() -> None:
    history = tiered()
    found = []
    for tier, horizon, skill in (
        ("L0", None, "1"),
        ("L1", None, "3"),
        ("L1", "24h", "2"),
        ("L1", None, "4"),
    ):
        native = row(history)
        native["forecaster"] = f"{tier}-{horizon}-{skill}"
        native["horizon"], native["labels"] = horizon, []
        native["gates"]["calibration"]["status"] = "pass"
        native["gates"]["permutation"]["status"] = "collapses"
        of_need("routine_has_past", holds=True)(native)
        native["scores"]["skill_vs_r2_bits"]["value"] = f"{skill}.000000000000"
        found.append((native, tier))
    named = {each.name: each for each in history.manifest.competitors}
    competitors = tuple(
        msgspec.structs.replace(
            named["native"], name=each["forecaster"], evidence_tier=tier
        )
        for each, tier in found
    )
    manifest = msgspec.structs.replace(history.manifest, competitors=competitors)
    made = json.loads(leaderboard(manifest, [each for each, _ in found]).text)
    assert {each["system_id"]: each["rank"] for each in made["rows"]} == {
        "L0-None-1": 1,
        "L1-None-4": 1,
        "L1-None-3": 2,
        "L1-24h-2": 1,
    }


def test_what_keeps_a_row_from_a_rank_stands_in_its_notes() -> None:
    native = board(tiered())["rows"][0]
    assert native["rank"] is None
    assert {"forecaster_owned", "small_sample"} < set(native["notes"].split())


def test_no_layer_passes_for_another_by_its_name() -> None:
    for layer in ("native", "calibrated", "fitted", "retrieval"):
        notes = changed(of_row(layer=layer))["native"]["notes"].split()
        assert f"layer={layer}" in notes


def test_rows_of_slices_are_left_out_and_told_of() -> None:
    history = tiered()
    found = rows(history, by=["target"])
    made = leaderboard(history.manifest, found)
    sliced = sum(each["slice"] is not None for each in found)
    assert f"{sliced} rows of slices: its schema has no column" in made.left_out[-1]
    assert made.text == leaderboard(history.manifest, rows(history)).text


def test_what_recalibrates_another_names_it() -> None:
    named = {each["system_id"]: each["system_name"] for each in board(tiered())["rows"]}
    assert named["native"] == "native"
    assert named["native-calibrated"] == "native-calibrated (recalibrates native)"


# --- Points ---------------------------------------------------------------------------


def paths(found: Row) -> dict[str, dict[str, Any]]:
    return {each["path"]: each for each in points(found)}


def test_points_stand_under_the_paths_of_the_paper() -> None:
    found = paths(row(tiered()))
    for name in ("brier", "logloss", "bss", "auroc", "calibration", "coverage"):
        assert f"self/{name}" in found
    for name in ("late_forecast_rate", "unresolved_rate", "void_rate", "hash_mismatch"):
        assert f"integrity/{name}" in found
    assert "integrity/feature_leak_tests/canary-leak" in found


def test_a_point_carries_its_n_its_window_its_versions_and_its_interval() -> None:
    point = paths(row(tiered()))["self/brier"]
    assert (point["n"], point["ci_reason"]) == (3, "clusters_lt_min")
    for name in ("window", "suite", "suite_hash", "scorer", "cohort_hash", "as_of"):
        assert point[name] is not None


def test_parts_stand_under_what_they_are_parts_by() -> None:
    found = rows(tiered(), by=["target", "horizon"], forecaster="native")
    shown = {path for each in found for path in paths(each)}
    assert "self/by_horizon/24h/brier" in shown
    assert "self/by_target/t-0/brier" in shown
    assert "self/by_horizon/24h/by_target/t-0/brier" in shown


def test_what_acting_was_worth_stands_under_utility() -> None:
    declared = {
        "event": "fail",
        "action": "look at it",
        "action_cost": "1",
        "avoidable_loss": "4",
        "thresholds": ["0.1"],
    }
    found = paths(row(tiered(utility=declared)))
    for name in ("regret", "net_benefit", "extra_compute", "missed_failure_cost"):
        assert found[f"utility/{name}"]["value"] is not None


def test_what_forecasts_cost_stands_beside_what_acting_on_them_cost() -> None:
    found = paths(whole_row())
    cost = found["utility/costs/usd"]
    assert (cost["value"], cost["total"], cost["n"]) == (
        *("0.250000000000", "6.000000000000"),
        24,
    )
    assert found["utility/costs/model"]["reason"] == "empty"
    assert found["utility/extra_compute"]["value"] == "0.833333333333"
    assert not any("costs" in path for path in paths(row(tiered())))


def test_a_point_says_how_many_entries_its_forecaster_has() -> None:
    made = row(tiered())
    assert paths(made)["self/brier"]["principal_entries"] == made["principal_entries"]


# --- The command ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    return Console(tmp_path_factory.mktemp("formats")).found().frozen()


def test_points_are_one_a_line_on_stdout(console: Console) -> None:
    lines = console.here("export", "-", "--format", "metrics").stdout.splitlines()
    assert json.loads(lines[0])["path"].startswith("self/")


def test_a_leaderboard_is_a_file_that_was_not_there(
    console: Console, tmp_path: Path
) -> None:
    target = tmp_path / "board.json"
    words = ("export", str(target), "--format", "targetspace")
    assert console.here(*words).code == 0
    assert (
        json.loads(target.read_text("utf-8"))["meta"]["protocol_version"] == "PWM-0.1"
    )
    again = console.here(*words)
    assert (again.code, "nothing is written over" in again.stderr) == (2, True)


def test_a_file_that_could_not_be_written_to_its_end_is_taken_away(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it would pass for all of it, and keep the next try from its name."""
    target = tmp_path / "rows.jsonl"
    whole = console.here("export", "-", "--format", "rows").stdout
    opened = os.open

    def full(path: Any, *how: int, **more: Any) -> int:
        if path == target:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, limits[1]))
        return opened(path, *how, **more)

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(os, "open", full)
    try:
        shown = console.here("export", target, "--format", "rows")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert shown.code != 0
    assert not target.exists()
    monkeypatch.undo()
    assert console.here("export", target, "--format", "rows").code == 0
    assert target.read_text("utf-8") == whole


def test_a_list_with_a_slice_makes_no_leaderboard(
    console: Console, tmp_path: Path
) -> None:
    listed = tmp_path / "list.toml"
    listed.write_text(
        "[[rows]]\nsuite = 'piper-self@v1'\nforecaster = 'native'\nslice = 'target=a'\n"
    )
    words = ("export", "-", "--format", "targetspace", "--leaderboard", str(listed))
    shown = console.here(*words)
    assert (shown.code, shown.stdout) == (2, "")
    assert "no column for the slice of piper-self@v1 native target=a" in shown.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-", "--format", "xml"], "there is no format 'xml'"),
        (["-", "--format", "metrics", "--suite", "other@v1"], "other@v1"),
        (["nowhere/board.json", "--format", "metrics"], "is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused(
    console: Console, words: list[str], sentence: str
) -> None:
    shown = console.here("export", *words)
    assert (shown.code, sentence in shown.stderr) == (2, True)


@pytest.mark.parametrize("form", ["rows", "metrics"])
def test_programs_are_told_what_file_was_written(tmp_path: Path, form: str) -> None:
    console = Console(tmp_path).found().frozen()
    file = tmp_path / "out"
    shown = console.here("export", file, "--format", form, "--json")
    assert (shown.code, shown.stderr) == (0, "")
    rows = len(console.here("rows", "--json").object)
    assert shown.object == {"file": str(file), "format": form, "rows": rows}
    assert file.exists()
    shown = console.here("export", tmp_path / "more", "--format", form)
    assert (shown.stdout, shown.stderr) == ("", f"wrote {tmp_path / 'more'}\n")
