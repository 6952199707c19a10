"""The intervals of a row: from which clusters, and what leaves a row without any."""

from fractions import Fraction

import pytest

from ledger.projections.seeds import root_seed
from tests.oracle import medium, told
from tests.reporting import Row, row, rows
from tests.simulator import History, ppm_text

INTERVALS = (
    "brier",
    "log_score_bits_clipped",
    "log_loss",
    "bss_frozen",
    "bss_same_cohort",
    "official_skill",
    "event_rate",
    "auroc",
)


def clustered(clusters: int, units: int = 2, **changes: object) -> History:
    """Forecast and resolve so many units of each cluster, each differently."""
    history = History(**changes)
    asked = [
        history.question(f"u-{cluster:02}-{unit}", cluster=f"c-{cluster:02}")
        for cluster in range(clusters)
        for unit in range(units)
    ]
    for at, question in enumerate(asked):
        history.seal(question, ppm_text((at * 37 % 89 + 6) * 10_000))
    history.wait(hours=3)
    for at, question in enumerate(asked):
        history.resolve(question, "pass" if at % 3 else "fail")
    return history


@pytest.fixture(scope="module")
def two_hundred() -> Row:
    return row(medium())


@pytest.mark.parametrize("score", INTERVALS)
def test_a_score_lies_within_its_interval(two_hundred: Row, score: str) -> None:
    found = two_hundred["scores"][score]
    assert Fraction(found["lo"]) < Fraction(found["value"]) < Fraction(found["hi"])


def test_the_official_skill_is_clamped_at_both_ends(two_hundred: Row) -> None:
    scores = two_hundred["scores"]
    for end in ("lo", "hi"):
        unclamped = Fraction(scores["bss_frozen"][end])
        shown = Fraction(scores["official_skill"][end])
        clamped = min(max(unclamped, Fraction(0)), Fraction(1))
        assert abs(shown - 100 * clamped) < Fraction(1, 10**9)


@pytest.mark.parametrize(("clusters", "reason"), [(9, "clusters_lt_min"), (10, None)])
def test_the_declared_number_of_clusters_has_an_interval(
    clusters: int, reason: str | None
) -> None:
    found = row(clustered(clusters))["scores"]["brier"]
    assert found.get("ci_reason") == reason
    assert (found["lo"] is None) is (reason is not None)


def test_one_cluster_has_no_interval_with_the_least_that_a_suite_may_declare() -> None:
    history = clustered(1, units=12, statistics__min_clusters=2)
    found = row(history)
    assert found["scores"]["brier"]["ci_reason"] == "clusters_lt_min"
    assert "single_cluster" in found["labels"]


def test_an_infinite_score_has_no_interval() -> None:
    history = History()
    told(history, [0] * 10, [1] * 10)
    found = row(history)["scores"]["log_score_bits"]
    assert (found["value"], found["reason"]) == ("-inf", "prob_zero_on_outcome")
    assert "lo" not in found


def test_the_seed_is_the_suites_and_the_cohorts() -> None:
    history = clustered(10)
    found = row(history)["inference"]
    assert found["root_seed"] == root_seed(history.manifest).hex()
    other = row(clustered(11))["inference"]
    assert other["root_seed"] == found["root_seed"]
    assert other["row_seed"] != found["row_seed"]


def test_a_suite_that_states_its_seed_is_drawn_from_that() -> None:
    history = clustered(10, statistics__root_seed="07" * 32)
    assert row(history)["inference"]["root_seed"] == "07" * 32


def test_a_higher_level_has_a_longer_interval() -> None:
    narrow, wide = (
        row(clustered(12, statistics__level=level))["scores"]["brier"]
        for level in ("0.5", "0.99")
    )
    assert Fraction(wide["lo"]) < Fraction(narrow["lo"])
    assert Fraction(narrow["hi"]) < Fraction(wide["hi"])


def test_updates_add_neither_units_nor_clusters_nor_certainty() -> None:
    """Each unit is updated k times: the first vector's row stays what it was."""

    def updated(times: int) -> Row:
        history = History()
        asked = [history.question(f"u-{number:02}") for number in range(12)]
        for at, question in enumerate(asked):
            last = history.seal(question, ppm_text((at * 37 % 89 + 6) * 10_000))
            for _ in range(times):
                last = history.update(question, last, "0.5")
        history.wait(hours=3)
        for at, question in enumerate(asked):
            history.resolve(question, "pass" if at % 3 else "fail")
        return row(history)

    plain, often = updated(0), updated(3)
    assert often["counts"]["forecasts"] == 4 * plain["counts"]["forecasts"]
    for count in ("units", "scored", "targets", "clusters"):
        assert often["counts"][count] == plain["counts"][count], count
    for score in ("brier", "log_loss", "auroc", "bss_same_cohort"):
        assert often["scores"][score] == plain["scores"][score], score
    assert often["inference"] == plain["inference"]


def test_a_baseline_on_fewer_units_is_resampled_with_those() -> None:
    history = History(scoring__reference="rival")
    asked = [history.question(f"u-{number:02}") for number in range(12)]
    for at, question in enumerate(asked):
        history.seal(question, ppm_text((at * 37 % 89 + 6) * 10_000))
        if at < 9:
            history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    for at, question in enumerate(asked):
        history.resolve(question, "pass" if at % 3 else "fail")
    scores = row(history)["scores"]
    assert scores["brier"]["lo"] is not None
    assert scores["bss_frozen"]["ci_reason"] == "clusters_lt_min"


@pytest.mark.parametrize(
    ("first", "reason"), [("0.2", "degenerate_variance"), ("0.7", None)]
)
def test_a_perfect_ranking_has_no_interval_and_one_with_a_tie_has(
    first: str, reason: str | None
) -> None:
    history = History()
    asked = [history.question(f"u-{number:02}") for number in range(12)]
    for at, question in enumerate(asked):
        history.seal(question, first if not at else "0.7" if at % 2 else "0.2")
    history.wait(hours=3)
    for at, question in enumerate(asked):
        history.resolve(question, "pass" if at % 2 else "fail")
    found = row(history)["scores"]["auroc"]
    assert found.get("ci_reason") == reason
    assert (found["lo"] is None) is (reason is not None)
    # Each cluster has one unit here, and DeLong's interval is there or not alike.
    assert found["delong"].get("reason") == reason


def test_slices_of_one_cluster_claim_nothing() -> None:
    found = rows(clustered(10), by=["target"], forecaster="native")
    sliced = [each for each in found if each["slice"] is not None]
    assert {each["scores"]["brier"]["ci_reason"] for each in sliced} == {
        "clusters_lt_min"
    }


# --- Piper's fixtures for its first phase ---------------------------------------------


def test_without_a_positive_class_what_needs_both_is_undefined_and_the_rest_is_not() -> (
    None
):
    history = History()
    told(history, [800_000, 300_000, 600_000], [0, 0, 0])
    scores = row(history)["scores"]
    assert scores["event_rate"]["exact"] == "0/1"
    assert scores["brier"]["value"] is not None
    assert scores["auroc"]["reason"] == "single_class"
    assert scores["calibration_slope"]["reason"] == "single_class"
    assert scores["bss_same_cohort"]["reason"] == "baseline_zero"


def test_duplicate_late_and_censored_work_is_counted_and_not_scored() -> None:
    history = History()
    once, twice, late, censored = (
        history.question(name) for name in ("once", "twice", "late", "censored")
    )
    for question in (once, twice, censored):
        history.seal(question, "0.8")
    history.seal(twice, "0.9", lawful=True)
    history.open(late)
    history.wait(hours=3)
    history.seal(late, "0.8")
    for question in (once, twice, late):
        history.resolve(question)
    history.record(censored, "CENSORED")
    found = row(history)
    counts = found["counts"]
    assert (counts["units"], counts["scored"], counts["censored"]) == (4, 2, 1)
    assert (counts["late"], counts["duplicate"]) == (1, 1)
    assert found["integrity"]["late_forecast_rate"]["exact"] == "1/5"
    assert found["integrity"]["unresolved_rate"]["exact"] == "1/4"
    bound = found["bounds"]["brier"]
    assert Fraction(bound["lo"]) < Fraction(found["scores"]["brier"]["value"])
    assert Fraction(bound["hi"]) > Fraction(found["scores"]["brier"]["value"])
