"""What a row counts, scores, bounds and labels, from both sides of each edge."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.canonical import encode
from ledger.errors import UncheckableError, UsageError
from ledger.events import Evidence
from ledger.ids import sha256_hex
from ledger.projections import cohort
from ledger.projections.counts import DEFINITIONS, PARTITIONS
from ledger.projections.fold import Fold
from ledger.projections.glossary import GLOSSARY
from ledger.projections.labels import LABELS
from ledger.projections.materialize import Tables
from ledger.projections.report import Report
from ledger.suite import Competitor
from tests.reporting import LIVES, Row, report, row, rows, suite_of, template, value
from tests.simulator import History, suite
from tests.story import Step, tell

SLOTS = ("initial", "final", "all", "time_weighted", "at_lead:22", "at_lead:30")
DOCS = (Path(__file__).parents[1] / "docs" / "rows.md").read_text(encoding="utf-8")


def told(history: History, outcome: str = "pass", p: str = "0.8", **asked: Any) -> Any:
    """Forecast and resolve a question, three hours apart; return it."""
    question = history.question(**{"id": "d-1", **asked})
    history.seal(question, p)
    history.wait(hours=3)
    history.resolve(question, outcome)
    return question


# --- Counts ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=LIVES,
    slot=st.sampled_from(SLOTS),
)
def test_every_unit_is_in_exactly_one_class_of_each_division(
    chronology: str, steps: list[Step], slot: str
) -> None:
    history = tell(chronology, steps)
    found = rows(history, slot=slot, by=["target", "tag:domain", "template"])
    for each in found:
        counts = each["counts"]
        for classes in PARTITIONS:
            assert counts["units"] == sum(counts[name] for name in classes)
        assert counts["resolved"] == counts["scored"] + counts["unscored"]
        assert counts["unslotted"] <= counts["eligible"]
        assert counts["scored"] <= counts["eligible"] - counts["unslotted"]
        assert counts["forecasts"] <= counts["submitted"]
        assert counts["targets"] <= counts["clusters"] * counts["scored"]
        assert min(counts.values()) >= 0
        assert each["coverage"]["of"] == counts["units"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chronology=st.sampled_from(["received", "claimed"]), steps=LIVES)
def test_the_parts_of_a_grouping_that_all_units_have_add_up(
    chronology: str, steps: list[Step]
) -> None:
    history = tell(chronology, steps)
    found = rows(history, by=["target"])
    for whole in (each for each in found if each["slice"] is each["horizon"] is None):
        parts = [
            each
            for each in found
            if each["slice"] is not None
            and each["horizon"] is None
            and each["suite"] == whole["suite"]
            and each["forecaster"] == whole["forecaster"]
        ]
        for name in set(DEFINITIONS) - {"clusters"}:
            assert whole["counts"][name] == sum(each["counts"][name] for each in parts)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=LIVES,
    slot=st.sampled_from(SLOTS),
)
def test_a_row_holds_no_float_and_a_reason_for_every_null(
    chronology: str, steps: list[Step], slot: str
) -> None:
    for each in rows(tell(chronology, steps), slot=slot):
        assert b"." not in re.sub(rb'"[^"]*"', b'""', encode(each))
        for score in each["scores"].values():
            assert (score["value"] is None) <= ("reason" in score)
            assert ("lo" in score and score["lo"] is None) == ("ci_reason" in score)
        assert each["scores"].keys() <= GLOSSARY.keys()
        for bound in each["bounds"].values():
            assert (bound["lo"] is None) == ("reason" in bound)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=LIVES,
    slot=st.sampled_from(SLOTS),
)
def test_a_score_over_complete_cases_lies_within_its_bounds(
    chronology: str, steps: list[Step], slot: str
) -> None:
    """Where nothing is missing, both bounds are the score."""
    for each in rows(tell(chronology, steps), slot=slot):
        for name, bound in each["bounds"].items():
            score = each["scores"].get(name)
            if score is None or bound["n"] != score["n"] or not score["n"]:
                continue
            if score["value"] is not None and bound["lo"] is not None:
                assert bound["lo"] == bound["hi"] == score["value"], name


def test_a_unit_is_declared_from_the_instant_of_its_cut_off_on() -> None:
    history = History()
    question = history.question(cutoff_at=history.now + timedelta(seconds=2))
    history.seal(question)
    other = history.question("other")
    history.seal(other)
    assert row(history)["counts"]["units"] == 0
    # This entry is received at the very cut-off, and is the suite's last.
    history.seal(history.question("third"))
    assert row(history)["as_of"] == "2026-11-02T09:00:04Z"
    assert row(history)["counts"]["units"] == 1


@pytest.mark.parametrize(("seconds", "overdue"), [(0, 0), (1, 1)])
def test_a_unit_is_overdue_once_its_time_is_past(seconds: int, overdue: int) -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.now = question.resolve_by + timedelta(seconds=seconds)
    history.seal(history.question("later"))
    counts = row(history)["counts"]
    assert (counts["overdue"], counts["pending"]) == (overdue, 1 - overdue)


@pytest.mark.parametrize(("seconds", "late"), [(0, 0), (1, 1)])
def test_on_the_cut_off_is_on_time(seconds: int, late: int) -> None:
    history = History()
    question = history.question()
    history.now = question.cutoff_at + timedelta(seconds=seconds)
    history.seal(question)
    found = row(history)
    assert (found["counts"]["late"], found["counts"]["missing"]) == (late, late)
    assert found["integrity"]["late_forecast_rate"]["count"] == late


def test_what_becomes_of_units_is_counted_apart() -> None:
    history = History()
    statuses = ("VOID", "INVALID", "CENSORED", "CANCELED")
    asked = [history.question(status) for status in statuses]
    for question in asked:
        history.seal(question)
    history.wait(hours=3)
    for question, status in zip(asked, statuses, strict=True):
        history.record(question, status)
    found = row(history)
    counts, integrity = found["counts"], found["integrity"]
    assert [counts[status.lower()] for status in statuses] == [1, 1, 1, 1]
    assert integrity["void_rate"]["exact"] == "1/2"
    assert integrity["unresolved_rate"]["exact"] == "1/2"
    assert found["scores"]["brier"] == {"value": None, "n": 0, "reason": "empty"}


def test_void_units_show_by_the_probability_that_was_forecast() -> None:
    history = History()
    chances = {"certain": "1", "below": "0.899999", "at": "0.9", "never": "0"}
    asked = {name: history.question(name) for name in chances}
    for name, question in asked.items():
        history.seal(question, chances[name])
    history.wait(hours=3)
    history.record(asked["at"], "VOID")
    history.record(asked["never"], "INVALID")
    history.resolve(asked["certain"])
    history.resolve(asked["below"])
    deciles = row(history)["integrity"]["void_by_probability"]["deciles"]
    found = {at: (each["count"], each["of"]) for at, each in enumerate(deciles)}
    assert {at: each for at, each in found.items() if each != (0, 0)} == {
        0: (1, 1),
        8: (0, 1),
        9: (1, 2),
    }


def test_what_has_no_outcome_is_counted_by_its_reason_and_by_what_was_forecast() -> (
    None
):
    history = History()
    given = {
        "a": ("VOID", "flaky", "0.95"),
        "b": ("VOID", "flaky", "0.9"),
        "c": ("VOID", "broken", "0.1"),
        "d": ("INVALID", "flaky", None),
        "e": ("CENSORED", "time", "0.5"),
    }
    asked = {name: history.question(name) for name in given}
    for name, (_, _, chance) in given.items():
        forecaster = {} if chance else {"forecaster": "rival"}
        history.seal(asked[name], chance or "0.5", **forecaster)
    told(history, p="0.9", id="told")
    for name, (status, reason, _) in given.items():
        history.record(asked[name], status, reason_code=reason)
    found = row(history)["integrity"]["reasons"]
    tenths = [0] * 10
    assert found == {
        "void": [
            {
                "reason_code": "broken",
                "units": 1,
                "deciles": [0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            },
            {"reason_code": "flaky", "units": 2, "deciles": [*tenths[:9], 2]},
        ],
        "invalid": [{"reason_code": "flaky", "units": 1, "deciles": None}],
        "censored": [
            {
                "reason_code": "time",
                "units": 1,
                "deciles": [0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
            }
        ],
        "canceled": [],
    }


def test_the_reason_that_counts_is_that_of_the_record_that_stands() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    for status, reason in (("VOID", "first"), ("INVALID", "second")):
        history.record(question, status, reason_code=reason)
    found = row(history)["integrity"]["reasons"]
    assert found["void"] == []
    assert [each["reason_code"] for each in found["invalid"]] == ["second"]
    history.resolve(question)
    assert not any(row(history)["integrity"]["reasons"].values())


def test_skipped_units_are_missing_and_bounded_by_the_best_and_the_worst() -> None:
    history = History()
    skipped = history.question("skipped")
    history.seal(skipped, forecaster="rival")
    told(history, p="0.5")
    history.resolve(skipped)
    found = row(history)
    assert found["counts"]["missing"] == found["counts"]["unscored"] == 1
    assert found["coverage"]["exact"] == "1/2"
    assert found["bounds"]["brier"] == {
        "lo": "0.125000000000",
        "hi": "0.625000000000",
        "n": 2,
    }
    assert found["bounds"]["log_score_bits"]["lo"] == "-inf"


def test_a_missing_outcome_is_bounded_by_what_was_said_of_it() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.9")
    history.wait(hours=3)
    history.record(question, "CENSORED")
    found = row(history)
    assert found["bounds"]["brier"] == {
        "lo": "0.010000000000",
        "hi": "0.810000000000",
        "n": 1,
    }
    assert found["bounds"]["event_rate"]["hi"] == "1.000000000000"
    assert found["bounds"]["log_score_bits"]["hi"] == "-0.152003093445"
    assert found["bounds"]["bss_same_cohort"]["reason"] == "baseline_zero"


def test_what_may_still_come_in_time_is_not_missing() -> None:
    history = History()
    history.seal(history.question(), "0.9")
    history.wait(hours=3)
    history.seal(history.question("later"))
    found = row(history)
    assert found["counts"]["pending"] == 1
    assert found["bounds"]["brier"]["n"] == 0


def test_hidden_vectors_that_nobody_opened_are_counted_and_missing() -> None:
    history = History()
    question = history.question()
    history.seal(question, "", commitment="c" * 64)
    history.wait(hours=3)
    history.resolve(question)
    counts = row(history)["counts"]
    assert (counts["hidden"], counts["missing"], counts["submitted"]) == (1, 1, 1)


def test_mismatches_of_vectors_and_records_are_counted_of_both() -> None:
    history = History()
    question = history.question()
    history.seal(question, suite_hash="e" * 64)
    history.wait(hours=3)
    history.resolve(question, acceptance_hash="f" * 64)
    found = row(history)
    mismatch = found["integrity"]["hash_mismatch"]
    assert (mismatch["count"], mismatch["of"]) == (2, 2)
    assert found["integrity"]["findings"]["suite-hash-mismatch"] == 1
    # Another's vectors are not this forecaster's, but the record is everybody's.
    others = row(history, "rival")["integrity"]
    assert (others["hash_mismatch"]["count"], others["hash_mismatch"]["of"]) == (1, 1)


def test_a_leak_test_passes_where_both_sides_are_known() -> None:
    history = History()
    sound = Evidence(cutoff_at=history.now)
    leaking = Evidence(cutoff_at=history.now + timedelta(hours=1))
    history.seal(history.question("sound"), evidence=sound)
    history.seal(history.question("leaking"), evidence=leaking)
    history.seal(history.question("silent"))
    history.wait(hours=3)
    history.seal(history.question("last"))
    leaks = row(history)["integrity"]["feature_leak_tests"]
    assert (leaks["passed"], leaks["failed"]) == (1, 1)
    assert leaks["tests"]["evidence-after-sealing"]["exact"] == "1/2"
    assert leaks["tests"]["canary-leak"]["reason"] == "empty"


def test_confirmations_and_units_that_nobody_forecast_are_counted() -> None:
    history = History(suite_of(template(suite(), ("pass", "fail"))))
    question = history.question()
    history.open(question)
    history.wait(hours=3)
    record = history.resolve(question)
    history.record(
        question, "RESOLVED", author="reviewer", outcome="pass",
        supersedes=None, confirms=record,
    )  # fmt: skip
    counts = row(history)["counts"]
    assert (counts["reviewed"], counts["unforecast"], counts["unscored"]) == (1, 1, 1)


# --- Pinned questions -----------------------------------------------------------------


def listed() -> tuple[History, list[Any], bytes]:
    """Return a history of a suite that pins two questions, and the list's bytes."""
    plain = History()
    asked = [plain.question(f"listed-{number}") for number in range(2)]
    content = b"".join(encode(question) + b"\n" for question in asked)
    pins = {"questions.jsonl": sha256_hex(content)}
    first = template(
        suite(),
        ("pass", "fail"),
        question_owner="evaluator",
        questions="questions.jsonl",
    )
    manifest = msgspec.structs.replace(suite_of(first), pins=pins)
    history = History(manifest, blobs={sha256_hex(content): content})
    return history, asked, content


def test_a_pinned_question_that_nobody_spoke_of_is_missing_once_its_cut_off_is_past() -> (
    None
):
    history, asked, content = listed()
    files = {sha256_hex(content): content}.get
    history.seal(asked[0])
    history.now = asked[0].cutoff_at
    history.resolve(asked[0])
    counts = report(history, files).rows(forecaster="native")[0]["counts"]
    assert (counts["units"], counts["scored"], counts["missing"]) == (2, 1, 1)
    assert (counts["unforecast"], counts["pending"]) == (1, 1)


def test_without_the_pinned_list_there_are_no_rows() -> None:
    history, _, _ = listed()
    with pytest.raises(UncheckableError, match=r"questions\.jsonl"):
        rows(history)


# --- Slots ----------------------------------------------------------------------------


def test_the_initial_slot_is_empty_where_the_root_does_not_count() -> None:
    history = History()
    question = history.question()
    first = history.seal(question, "0.1", suite_hash="e" * 64)
    history.update(question, first, "0.8")
    history.wait(hours=3)
    history.resolve(question)
    initial, final = row(history), row(history, slot="final")
    assert value(initial, "brier") == "empty"
    assert initial["counts"]["unslotted"] == initial["counts"]["eligible"] == 1
    assert initial["coverage"]["exact"] == final["coverage"]["exact"] == "1/1"
    assert initial["coverage"]["in_slot"]["exact"] == "0/1"
    assert final["coverage"]["in_slot"]["exact"] == "1/1"
    assert (initial["coverage"]["is_met"], final["coverage"]["is_met"]) == (False, True)
    assert "under_covered" in initial["labels"]
    assert "under_covered" not in final["labels"]
    assert value(final, "brier") == "1/25"


def test_without_a_vector_at_that_lead_there_is_a_reason_for_it() -> None:
    history = History()
    told(history)
    on_time, too_late = (row(history, slot=f"at_lead:{h}") for h in (24, 25))
    assert value(too_late, "brier") == "no_forecast_at_lead"
    assert too_late["coverage"]["exact"] == "1/1"
    assert too_late["coverage"]["in_slot"]["exact"] == "0/1"
    # It was sealed one second after the question was opened, a day before.
    assert value(on_time, "brier") == "1/25"


def test_a_window_without_length_has_no_time_weighted_score() -> None:
    history = History()
    question = history.question()
    history.now = question.cutoff_at
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question)
    assert value(row(history, slot="time_weighted"), "brier") == "empty"
    assert value(row(history, slot="final"), "brier") == "1/25"


def test_the_start_of_work_ends_the_window() -> None:
    history = History()
    question = history.question(cutoff_at=history.now + timedelta(hours=4))
    began = history.now
    first = history.seal(question, "0")
    history.now = began + timedelta(hours=1)
    history.update(question, first, "1")
    history.now = began + timedelta(hours=5)
    history.resolve(question, started_at=began + timedelta(hours=2))
    # An hour at zero and an hour at one.
    assert value(row(history, slot="time_weighted"), "brier") == "1/2"


@pytest.mark.parametrize(
    "slot", ["first", "at_lead:", "at_lead:0", "at_lead:1h", "at_lead:1000000", ""]
)
def test_a_slot_that_there_is_not_is_refused(slot: str) -> None:
    with pytest.raises(UsageError, match="initial, final, all, time_weighted or"):
        rows(History(), slot=slot)


# --- Parts ----------------------------------------------------------------------------


def names(found: list[Row], forecaster: str = "native") -> list[tuple[Any, Any]]:
    return [
        (each["horizon"], each["slice"])
        for each in found
        if each["forecaster"] == forecaster
    ]


def parted() -> History:
    history = History()
    told(history, tags={"repo": "b"}, target="x")
    told(history, id="d-2", tags={"repo": "a"}, target="y", horizon="2h")
    told(history, id="d-3", target="y")
    return history


def test_rows_are_of_everything_then_of_horizons_then_of_slices() -> None:
    assert names(rows(parted(), by=["tag:repo"])) == [
        (None, None),
        ("24h", None),
        ("2h", None),
        (None, "tag:repo=a"),
        ("2h", "tag:repo=a"),
        (None, "tag:repo=b"),
        ("24h", "tag:repo=b"),
    ]


def test_units_without_a_tag_are_in_no_slice_of_it() -> None:
    found = rows(parted(), by=["tag:repo"])
    sizes = {
        each["slice"]: each["counts"]["units"] for each in found if not each["horizon"]
    }
    assert sizes == {None: 3, "tag:repo=a": 1, "tag:repo=b": 1}


@pytest.mark.parametrize(
    ("grouping", "slices"),
    [
        ("target", ["target=x", "target=y"]),
        ("template", ["template=dispatch-pass"]),
        ("slot", []),
        ("tag:domain", []),
        ("evidence_tier", []),
        ("adaptation_budget", []),
    ],
)
def test_units_are_grouped_by_what_they_have(grouping: str, slices: list[str]) -> None:
    found = [
        part for horizon, part in names(rows(parted(), by=[grouping])) if not horizon
    ]
    assert found == [None, *slices]


@pytest.mark.parametrize("grouping", ["repo", "cluster", "", "tag"])
def test_a_grouping_that_there_is_not_is_refused(grouping: str) -> None:
    with pytest.raises(UsageError, match="rows cannot be grouped by"):
        rows(History(), by=[grouping])


def test_a_competitors_tier_is_a_slice_of_its_own() -> None:
    tiered = Competitor(
        name="tiered", layer="native", principal="forecaster", evidence_tier="L0"
    )
    history = History(suite_of(competitors=[tiered]))
    found = rows(history, by=["evidence_tier"])
    assert names(found, "tiered") == [(None, None), (None, "evidence_tier=L0")]
    assert names(found) == [(None, None)]


def test_vectors_of_a_budget_are_rated_against_all_units() -> None:
    history = History(adaptation_budgets=["zero-shot", "few-shot"])
    for name, budget in (("d-1", "zero-shot"), ("d-2", "few-shot"), ("d-3", None)):
        question = history.question(name)
        history.seal(question, adaptation_budget=budget)
    history.wait(hours=3)
    history.seal(history.question("last"))
    found = {
        each["slice"]: each["counts"]
        for each in rows(history, by=["adaptation_budget"], forecaster="native")
        if each["horizon"] is None
    }
    assert sorted(found, key=str) == [
        None,
        "adaptation_budget=few-shot",
        "adaptation_budget=zero-shot",
    ]
    few = found["adaptation_budget=few-shot"]
    assert (few["units"], few["eligible"], few["missing"]) == (3, 1, 2)
    assert (few["submitted"], found[None]["submitted"]) == (1, 3)


def test_only_what_was_asked_for_is_returned() -> None:
    history = parted()
    assert {each["forecaster"] for each in rows(history, forecaster="rival")} == {
        "rival"
    }
    assert {each["suite"] for each in rows(history, suite="history@v1")} == {
        "history@v1"
    }


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"suite": "other@v1"},
            "'other@v1' was never frozen here; frozen are: history",
        ),
        ({"forecaster": "nobody"}, "'nobody' has no rows: of native, "),
    ],
)
def test_what_is_not_there_is_refused(asked: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        rows(History(), **asked)


# --- Identity and labels --------------------------------------------------------------


def test_a_row_says_what_it_is_of() -> None:
    history = History()
    told(history)
    found = row(history)
    identity = {
        "suite": "history@v1",
        "suite_hash": codec.suite_hash(history.manifest),
        "track": "self",
        "run_class": "preregistered",
        "run_purpose": "score",
        "tier": "live",
        "status": "pre_pilot",
        "chronology": "received",
        "question_owner": "forecaster",
        "custody": "shared",
        "forecaster": "native",
        "layer": "native",
        "horizon": None,
        "slot": "initial",
        "slice": None,
        "estimator": "mean",
        "superseded_at": None,
        "as_of": "2026-11-02T12:00:03Z",
        "window": {"from": "2026-11-02T09:00:02Z", "until": "2026-11-02T09:00:02Z"},
    }
    assert {name: found[name] for name in identity} == identity


def test_rows_of_a_version_say_when_the_next_one_superseded_it() -> None:
    history = History()
    history.freeze(suite("history@v2"))
    by_suite = {each["suite"]: each["superseded_at"] for each in rows(history)}
    assert by_suite == {"history@v1": "2026-11-02T09:00:02Z", "history@v2": None}


def test_custody_is_that_of_the_charter_at_the_suites_last_entry() -> None:
    history = History()
    told(history)
    history.add(history.charter(2, custody="separate"))
    assert row(history)["custody"] == "shared"
    told(history, id="d-2")
    assert row(history)["custody"] == "separate"
    assert "shared_custody" not in row(history)["labels"]


def many(history: History, units: int) -> None:
    asked = [history.question(f"u-{n}", cluster=f"c-{n}") for n in range(units)]
    for question in asked:
        history.seal(question)
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)


@pytest.mark.parametrize(
    ("units", "labels"),
    [
        (0, {"small_sample", "few_clusters", "off_look"}),
        (1, {"small_sample", "few_clusters", "single_cluster"}),
        (2, {"small_sample", "few_clusters"}),
        (29, {"small_sample", "few_clusters"}),
        (30, set()),
    ],
)
def test_a_small_sample_is_called_one(units: int, labels: set[str]) -> None:
    history = History(statistics__looks=[units or 1])
    many(history, units)
    always = {"forecaster_owned", "shared_custody"} if units else {"shared_custody"}
    assert set(row(history)["labels"]) == always | labels


def test_a_slice_is_exploratory_if_it_is_small_or_was_not_declared() -> None:
    history = History(slices=["template"])
    many(history, 30)
    found = {
        (each["horizon"], each["slice"]): "exploratory" in each["labels"]
        for each in rows(history, by=["target", "slot"], forecaster="native")
    }
    assert found[None, None] is found["24h", None] is False
    assert found[None, "template=dispatch-pass"] is False
    assert found[None, "target=u-1"] is True
    undeclared = History()
    many(undeclared, 30)
    by_template = rows(undeclared, by=["template"], forecaster="native")
    assert "exploratory" in by_template[-1]["labels"]


def test_what_weakens_a_row_is_said() -> None:
    oracle = Competitor(name="seer", layer="oracle", principal="forecaster")
    manifest = suite_of(
        competitors=[oracle],
        chronology="claimed",
        run_class="exploratory",
        run_purpose="debug",
        statistics__looks=[],
    )
    labels = row(History(manifest), "seer", slot="final")["labels"]
    weak = ["exploratory", "undeclared_slot", "claimed", "not_for_score", "oracle"]
    assert [label for label in labels if label in weak] == weak


@pytest.mark.parametrize(("skipped", "is_met"), [(1, True), (2, False)])
def test_coverage_is_met_at_the_very_minimum(skipped: int, *, is_met: bool) -> None:
    history = History()
    asked = [history.question(f"u-{number}") for number in range(20)]
    for question in asked:
        history.seal(question, forecaster="rival")
    for question in asked[skipped:]:
        history.seal(question)
    history.wait(hours=3)
    history.resolve(asked[0])
    found = row(history)
    assert found["coverage"]["minimum"] == "0.950000000000"
    assert found["coverage"]["is_met"] is is_met
    assert ("under_covered" in found["labels"]) is not is_met


# --- Scores ---------------------------------------------------------------------------


def test_a_suite_of_mixed_answers_has_the_sum_form_and_no_event_of_its_own() -> None:
    manifest = suite()
    first, weather = manifest.templates
    eventless = msgspec.structs.replace(weather, positive=None)
    history = History(suite_of(first, eventless))
    told(history)
    told(history, "rain", template="weather", id="d-2")
    found = row(history)
    assert "brier" not in found["scores"]
    assert value(found, "event_rate") == "not_declared"
    assert value(found, "bss_same_cohort") == "not_declared"
    assert value(found, "bss_frozen") is not None


def test_skill_against_a_sealed_reference_is_over_the_units_that_both_forecast() -> (
    None
):
    history = History(scoring__reference="rival")
    asked = [history.question(f"d-{number}") for number in range(3)]
    for question in asked:
        history.seal(question, "0.8")
    history.seal(asked[0], "0.6", forecaster="rival")
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    score = row(history)["scores"]
    assert score["brier"]["n"] == 3
    assert (score["bss_frozen"]["exact"], score["bss_frozen"]["n"]) == ("3/4", 1)


def test_where_the_reference_is_not_computed_there_is_no_frozen_skill() -> None:
    # What somebody seals is no rate that another could be drawn towards.
    roles = {"past-rate": None, "rival": "r1"}
    made = suite(scoring__reference="own-routine")
    competitors = tuple(
        msgspec.structs.replace(
            each,
            role=roles.get(each.name, each.role),
            layer="baseline" if each.name == "rival" else each.layer,
        )
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=competitors))
    told(history)
    assert value(row(history), "bss_frozen") == "not_declared"
    assert value(row(history), "skill_vs_r2_bits") == "not_declared"
    found = {each["forecaster"] for each in rows(history)}
    assert found == {"native", "native-calibrated", "past-rate", "rival"}


def test_interquartile_means_stand_beside_the_mean_with_the_extremes_of_clusters() -> (
    None
):
    history = History(estimator="iqm")
    asked = [history.question(f"u-{n}", cluster=f"c-{n // 2}") for n in range(8)]
    for number, question in enumerate(asked):
        history.seal(question, ("1", "0.5", "0", "0")[number // 2])
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    found = row(history)
    assert value(found, "brier") == "9/16"
    assert found["estimator"] == "iqm"
    # The clusters lost 0, 1/4, 1 and 1: without the ends, 5/8.
    assert found["iqm"]["brier"] == {
        "value": "0.625000000000",
        "exact": "5/8",
        "n": 4,
        "min": "0.000000000000",
        "max": "1.000000000000",
    }
    assert "iqm" not in row(History())


# --- Kept rows ------------------------------------------------------------------------


def test_rows_are_kept_and_computed_again_when_their_suite_is_touched() -> None:
    history = History()
    told(history)
    made = report(history)
    assert made.refresh() > 0
    assert made.refresh() == 0
    assert made.rows() == rows(history)


def test_kept_rows_are_canonical_json_of_what_is_returned() -> None:
    history = History()
    told(history)
    made = report(history)
    found = made.rows()
    stored = made.tables.connection.execute("SELECT row FROM rows ORDER BY place")
    assert [text.encode() for (text,) in stored] == [encode(each) for each in found]


def test_what_a_process_that_fell_behind_kept_is_computed_again(tmp_path: Path) -> None:
    history = History()
    question = told(history)
    before = history.size()
    history.freeze(suite("history@v2"))
    history.resolve(question, "fail", suite="history@v1")
    behind, ahead = Tables(tmp_path / "tables.db"), Tables(tmp_path / "tables.db")
    slow, quick = Fold(behind, history.until(before)), Fold(ahead, history)
    slow.catch_up()
    quick.catch_up()
    Report(behind, slow.frozen).refresh()
    assert Report(ahead, quick.frozen).rows() == rows(history)


def test_rows_that_are_asked_for_apart_are_not_kept() -> None:
    history = History()
    told(history)
    made = report(history)
    made.refresh()
    before = made.tables.digests()
    made.rows(slot="final", by=["target"])
    assert made.tables.digests() == before


# --- The page -------------------------------------------------------------------------


def table(heading: str) -> dict[str, str]:
    """Return the rows of the table under a heading of docs/rows.md."""
    section = DOCS.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE)
    return dict(found)


def test_the_page_defines_each_count_as_the_program_does() -> None:
    assert table("Counts") == DEFINITIONS


def test_the_page_explains_each_label_as_the_program_does() -> None:
    assert table("Labels") == LABELS


def test_the_page_explains_every_reason() -> None:
    reasons = {
        value
        for name, value in vars(cohort).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str)
    }
    assert {"empty", "clusters_lt_min", "separation"} <= reasons
    assert {each for each in reasons if f"`{each}`" not in DOCS} == set()


def test_the_page_names_every_field_of_a_row() -> None:
    history = History(estimator="iqm")
    told(history)
    found = row(history)
    blocks = (
        "scores",
        "bounds",
        "integrity",
        "inference",
        "decomposition",
        "sharpness",
        "gates",
        "prequential",
        "extremes",
    )
    fields = {*found, *(name for block in blocks for name in found[block])}
    unnamed = {name for name in fields if f"`{name}`" not in DOCS}
    assert unnamed == set()
