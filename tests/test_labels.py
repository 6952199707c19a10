"""Which labels a row deserves: both sides of each edge, of units, seals and suites."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from ledger import codec
from ledger.events import Question
from ledger.suite import Competitor
from tests.knowing import knowing
from tests.reporting import Row, row, rows, suite_of
from tests.simulator import History, suite

SALT = "ab" * 32


def labelled(history: History, label: str, forecaster: str = "native") -> bool:
    return label in row(history, forecaster)["labels"]


def asked(history: History, units: int, **named: list[Any]) -> list[Question]:
    """Return so many questions that `native` has forecast; `named` by their numbers."""
    made = [
        history.question(
            f"u-{at:02}", **{field: names[at] for field, names in named.items()}
        )
        for at in range(units)
    ]
    for question in made:
        history.seal(question)
    return made


def told(history: History, questions: list[Question]) -> None:
    """Let the resolver record outcomes in this order, and `pass` for each."""
    for question in questions:
        history.resolve(question)


# --- Outcomes that lack ---------------------------------------------------------------

OUTCOMES: dict[str, tuple[tuple[str, ...], bool, bool]] = {
    "all are known": ((), False, False),
    "as many are void as may be": (("VOID",), False, False),
    "one more is void": (("VOID", "VOID"), True, False),
    "invalid ones are void": (("VOID", "INVALID"), True, False),
    "as are censored": (("VOID", "CENSORED"), True, False),
    "as are canceled": (("VOID", "CANCELED"), True, False),
    "as many are to come as may be": (("PENDING",), False, False),
    "one more is to come": (("PENDING", "PENDING"), False, True),
    "together they are too many": (("VOID", "PENDING"), False, True),
    "either are too many": (("VOID", "VOID", "PENDING"), True, True),
}


@pytest.mark.parametrize(
    ("statuses", "is_unsettled", "is_awaiting"), OUTCOMES.values(), ids=OUTCOMES
)
def test_a_row_whose_outcomes_lack_says_so(
    statuses: tuple[str, ...], *, is_unsettled: bool, is_awaiting: bool
) -> None:
    history = History()
    made = asked(history, 20)
    history.wait(hours=3)
    for question, status in zip(made, statuses, strict=False):
        if status != "PENDING":
            history.record(question, status, author="resolver")
    for question in made[len(statuses) :]:
        history.resolve(question)
    assert labelled(history, "unsettled") is is_unsettled
    assert labelled(history, "awaiting") is is_awaiting


@pytest.mark.parametrize(
    ("out_of_turn", "is_awaiting"), [(0, False), (1, False), (2, True)]
)
def test_younger_units_are_awaited_once_too_many_of_them_came_out_of_turn(
    out_of_turn: int, *, is_awaiting: bool
) -> None:
    history = History()
    older = asked(history, 19)
    history.wait(hours=1)
    younger = [history.question(f"younger-{at}") for at in range(4)]
    for question in younger:
        history.seal(question)
    history.wait(hours=3)
    for question in [*older, *younger[:out_of_turn]]:
        history.resolve(question)
    assert labelled(history, "awaiting") is is_awaiting


@pytest.mark.parametrize("are_resolved_by", ["earlier", "later"])
def test_an_outcome_is_out_of_turn_where_one_that_is_due_no_later_is_to_come(
    are_resolved_by: str,
) -> None:
    history = History()
    made = asked(history, 8)
    history.wait(hours=1)
    later = history.question("later")
    history.seal(later)
    history.wait(hours=3)
    pending = later if are_resolved_by == "earlier" else made[0]
    for question in [*made, later]:
        if question is not pending:
            history.resolve(question)
    assert labelled(history, "awaiting") is (are_resolved_by == "later")


@pytest.mark.parametrize(("microseconds", "is_overdue"), [(0, False), (1, True)])
def test_what_is_overdue_is_awaited_no_longer(
    microseconds: int, *, is_overdue: bool
) -> None:
    history = History()
    made = asked(history, 3)
    history.wait(hours=3)
    history.resolve(made[0])
    history.now = made[-1].resolve_by + timedelta(microseconds=microseconds)
    for question in made[1:2]:
        history.resolve(question)
    assert labelled(history, "unsettled") is is_overdue
    assert labelled(history, "awaiting") is not is_overdue


def test_a_suite_that_asks_for_no_coverage_lacks_no_outcome() -> None:
    history = History(coverage__minimum="0", run_class="exploratory")
    made = asked(history, 2)
    history.wait(hours=3)
    history.record(made[0], "VOID")
    assert not labelled(history, "unsettled")
    assert not labelled(history, "awaiting")


def test_of_no_units_no_outcome_lacks() -> None:
    history = History()
    asked(history, 1)
    assert not {"unsettled", "awaiting"} & set(row(history)["labels"])


# --- Hidden vectors -------------------------------------------------------------------


def hide(history: History, question: Question, **changes: Any) -> str:
    shown = history.vector(question, "0.8")
    forecaster = changes.get("forecaster", "native")
    draft = history.draft_seal(question, probabilities=shown, forecaster=forecaster)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    return history.seal(question, "", commitment=committed, **changes)


def closed(history: History, question: Question) -> None:
    hide(history, question)
    history.wait(hours=3)
    history.resolve(question)


def opened(history: History, question: Question) -> None:
    sealed = hide(history, question)
    history.wait(hours=3)
    history.resolve(question)
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT)


def of_another(history: History, question: Question) -> None:
    history.seal(question)
    hide(history, question, forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)


def without_an_outcome(history: History, question: Question) -> None:
    hide(history, question)
    history.wait(hours=3)
    history.record(question, "VOID")


def not_resolved_yet(history: History, question: Question) -> None:
    hide(history, question)
    history.wait(hours=3)
    history.seal(history.question("later"))


def late(history: History, question: Question) -> None:
    history.seal(question, forecaster="rival")
    history.wait(hours=3)
    hide(history, question)
    history.resolve(question)


def a_duplicate(history: History, question: Question) -> None:
    history.seal(question)
    hide(history, question)
    history.wait(hours=3)
    history.resolve(question)


HIDDEN: dict[str, tuple[Callable[[History, Question], None], bool]] = {
    "closed": (closed, True),
    "opened": (opened, False),
    "of another forecaster": (of_another, False),
    "of a void unit": (without_an_outcome, False),
    "of a unit whose outcome is to come": (not_resolved_yet, False),
    "that would not count, being late": (late, False),
    "that would not count, being second": (a_duplicate, False),
}


@pytest.mark.parametrize(("happens", "is_withheld"), HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_vector_that_would_count_is_withheld_from_its_outcome_on(
    happens: Callable[[History, Question], None], *, is_withheld: bool
) -> None:
    history = History()
    happens(history, history.question())
    assert labelled(history, "withheld") is is_withheld
    # What recalibrates it goes by the same vectors; what the past says hides nothing.
    assert labelled(history, "withheld", "native-calibrated") is is_withheld
    assert not labelled(history, "withheld", "past-rate")


def test_one_withheld_vector_of_many_stands_in_the_way_of_every_claim() -> None:
    history = knowing(utility=True, leak_tested=True, statistics__looks=[72, 73])
    extra = history.asked("hidden")
    sealed = hide(history, extra)
    history.wait(hours=3)
    history.resolve(extra, "pass")
    found = row(history)
    assert found["gates"]["in_the_way"] == ["withheld"]
    assert found["gates"]["promotion"]["decision"] == "INCONCLUSIVE"
    assert found["scores"]["official_skill"]["reason"] == "insufficient"
    history.update(extra, sealed, "0.8", opens=sealed, salt=SALT)
    assert row(history)["gates"]["promotion"]["decision"] == "PROMOTE"


# --- Units that only train ------------------------------------------------------------

TRAINING, JUDGED = 40, 40


def trained(*, void: int = 0, skipped: int = 0) -> Row:
    """Return the row of who was trained on a batch, and judged on another one.

    In the other some units are void, and some were not forecast.
    """
    history = History(statistics__min_training=TRAINING)
    for turn, units in enumerate((TRAINING, JUDGED)):
        made = [history.question(f"u-{turn}-{at:02}") for at in range(units)]
        for at, question in enumerate(made):
            who = "rival" if turn and at < skipped else "native"
            history.seal(question, forecaster=who)
        history.wait(hours=3)
        for at, question in enumerate(made):
            if turn and at < void:
                history.record(question, "VOID", author="resolver")
            else:
                history.resolve(question)
    return row(history)


@pytest.mark.parametrize(("count", "is_labelled"), [(2, False), (3, True)])
@pytest.mark.parametrize(
    ("lacking", "label"), [("void", "unsettled"), ("skipped", "under_covered")]
)
def test_units_that_only_train_allow_nothing_to_lack_where_units_are_scored(
    lacking: str, label: str, count: int, *, is_labelled: bool
) -> None:
    found = trained(**{lacking: count})
    assert found["counts"]["training"] == TRAINING
    assert found["counts"]["scored"] == JUDGED - count
    assert found["coverage"]["of"] == JUDGED
    assert (label in found["labels"]) is is_labelled


def test_where_every_unit_trains_no_share_of_others_is_covered() -> None:
    history = History(statistics__min_training=3)
    made = asked(history, 3)
    history.wait(hours=3)
    told(history, made)
    found = row(history)
    assert (found["counts"]["training"], found["coverage"]["of"]) == (3, 0)
    assert found["coverage"]["value"] is None
    assert not {"under_covered", "trained_out_of_turn"} & set(found["labels"])


@pytest.mark.parametrize(
    ("first", "is_labelled"),
    [
        ([], False),
        ([20], False),  # One of twenty that are scored.
        ([20, 21], True),
        ([39, 38], True),
    ],
)
def test_whoever_records_first_what_shall_only_train_is_seen(
    first: list[int], *, is_labelled: bool
) -> None:
    """Outcomes of forty units, of which twenty train, come as they are due otherwise."""
    history = History(statistics__min_training=20)
    due = [history.now + timedelta(hours=24, minutes=at) for at in range(40)]
    made = asked(history, 40, resolve_by=due)
    history.wait(hours=3)
    rest = [at for at in range(40) if at not in first]
    told(history, [made[at] for at in (*first, *rest)])
    found = row(history)
    assert (found["counts"]["training"], found["counts"]["scored"]) == (20, 20)
    assert ("trained_out_of_turn" in found["labels"]) is is_labelled


@pytest.mark.parametrize(("together", "is_labelled"), [(1, False), (2, True)])
def test_of_units_that_are_due_together_any_may_have_been_chosen_to_train(
    together: int, *, is_labelled: bool
) -> None:
    history = History(statistics__min_training=20)
    moment = history.now + timedelta(hours=24)
    made = [
        history.question(f"u-{at:02}", resolve_by=moment + timedelta(hours=hours))
        for hours, units in enumerate((20 - together, together + 1, 19))
        for at in range(40 * hours, 40 * hours + units)
    ]
    for question in made:
        history.seal(question)
    history.wait(hours=3)
    told(history, made)
    assert labelled(history, "trained_out_of_turn") is is_labelled


# --- Clusters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clusters", "label"),
    [
        ("aabb", None),
        ("aaab", "dominant_cluster"),
        ("aabc", None),
        ("aabbc", None),
        ("aaabc", "dominant_cluster"),
        ("aaaa", "single_cluster"),
    ],
)
def test_a_cluster_of_more_than_half_of_the_units_rules_a_row(
    clusters: str, label: str | None
) -> None:
    history = History()
    made = asked(history, len(clusters), cluster=list(clusters))
    history.wait(hours=3)
    for question in made:
        history.resolve(question)
    found = {"dominant_cluster", "single_cluster"} & set(row(history)["labels"])
    assert found == ({label} if label else set())


def test_a_cluster_rules_by_its_scored_units_alone() -> None:
    history = History()
    made = asked(history, 4, cluster=list("aaab"))
    history.wait(hours=3)
    for question in made[2:]:
        history.resolve(question)
    assert not labelled(history, "dominant_cluster")


# --- Lax gates ------------------------------------------------------------------------

TUNED = {
    "from": "2026-01-01T00:00:00Z",
    "until": "2026-02-01T00:00:00Z",
    "purpose": "tune",
}


def holdouts(number: int) -> list[dict[str, str]]:
    """Return so many splits of one period, each of which may promote somebody."""
    period = {"from": "2026-11-02T00:00:00Z", "until": "2027-01-01T00:00:00Z"}
    return [
        {**period, "name": f"held-{at}", "purpose": "holdout"} for at in range(number)
    ]


LAX: list[tuple[str, Any, Any]] = [
    ("statistics__level", "0.95", "0.949"),
    ("statistics__min_clusters", 10, 9),
    ("statistics__min_class_gate", 100, 99),
    ("statistics__min_slice", 30, 29),
    ("coverage__minimum", "0.95", "0.949"),
    ("gates__permutation__alpha", "0.05", "0.051"),
    ("gates__permutation__retained", "0.5", "0.501"),
    ("gates__calibration__slope", ["0.7", "1.4"], ["0.699", "1.4"]),
    ("gates__calibration__slope", ["0.7", "1.4"], ["0.7", "1.401"]),
    ("gates__calibration__intercept", ["-0.4", "0.4"], ["-0.401", "0.4"]),
    ("gates__calibration__intercept", ["-0.4", "0.4"], ["-0.4", "0.401"]),
    ("gates__promotion__trivial_gain", "0.005", "0.004"),
    ("gates__promotion__loss_margin", "0.01", "0.011"),
    ("scoring__clip", "0.001", "0.000999"),
    ("statistics__looks", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]),
    ("statistics__few_clusters", 30, 29),
    ("statistics__resamples", 2000, 1999),
    ("statistics__max_undefined", "0.01", "0.011"),
    (
        "statistics__splits",
        [*holdouts(5), {**TUNED, "name": "tuned"}],
        holdouts(6),
    ),
    *[
        (
            "gates__permutation__strata",
            ["tag:repo", "slot", "horizon", "template"],
            [each for each in ("template", "horizon", "slot") if each != without],
        )
        for without in ("template", "horizon", "slot")
    ],
]


@pytest.mark.parametrize(("key", "usual", "lax"), LAX)
def test_a_suite_that_asks_for_less_than_is_proposed_says_so_on_every_row(
    key: str, usual: Any, lax: Any
) -> None:
    assert not labelled(History(**{key: usual}), "lax_gates")
    found = rows(History(**{key: lax}))
    assert len(found) > 1
    assert all("lax_gates" in each["labels"] for each in found)


@pytest.mark.parametrize(
    ("name", "changes", "is_lax"),
    [
        ("own-routine", {"prior_weight": "10"}, False),
        ("own-routine", {"prior_weight": "10.001"}, True),
        ("own-routine", {"role": None, "prior_weight": "100"}, False),
        ("past-rate", {"prior_count": "1"}, False),
        ("past-rate", {"prior_count": "1.001"}, True),
        ("own-routine", {"half_life_days": 30}, False),
        ("own-routine", {"half_life_days": 29}, True),
        ("past-rate", {"half_life_days": 1}, True),
        ("past-rate", {"half_life_days": 0}, False),
        ("own-routine", {"role": None, "half_life_days": 29}, False),
        ("rival", {"layer": "baseline"}, False),
        ("rival", {"layer": "baseline", "role": "r1"}, True),
        ("rival", {"layer": "baseline", "role": "r2"}, True),
    ],
)
@pytest.mark.parametrize("custody", ["shared", "separate"])
def test_a_measure_that_its_author_may_weaken_is_lax(
    name: str, changes: dict[str, Any], custody: str, *, is_lax: bool
) -> None:
    made = suite()
    others = tuple(
        msgspec.structs.replace(each, **changes)
        if each.name == name
        else msgspec.structs.replace(each, role=None, by=(), prior_weight="0")
        if changes.get("role") == each.role is not None
        else msgspec.structs.replace(each, prior_weight="0")
        if changes.get("role") == "r1" and each.role == "r2"
        else each
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=others))
    history.add(history.charter(2, custody=custody))
    history.seal(history.question())
    assert labelled(history, "shared_custody") is (custody == "shared")
    # Where custody is separate, nobody else holds the key of who seals a measure.
    expected = is_lax and not (name == "rival" and custody == "separate")
    assert labelled(history, "lax_gates") is expected


@pytest.mark.parametrize("reference", ["rival", "past-rate"])
@pytest.mark.parametrize("custody", ["shared", "separate"])
def test_a_reference_that_somebody_seals_is_a_measure_as_well(
    reference: str, custody: str
) -> None:
    history = History(scoring__reference=reference)
    history.add(history.charter(2, custody=custody))
    history.seal(history.question())
    expected = (reference, custody) == ("rival", "shared")
    assert labelled(history, "lax_gates") is expected


@pytest.mark.parametrize(
    ("pool", "is_lax"),
    [
        (["history@v1", "history@v2"], False),
        (["history@v2"], True),
    ],
)
def test_a_past_that_leaves_out_an_earlier_version_is_an_easy_measure(
    pool: list[str], *, is_lax: bool
) -> None:
    history = History()
    history.freeze(suite("history@v2", baseline_pool__suites=pool))
    lax = {
        each["suite"]: "lax_gates" in each["labels"]
        for each in rows(history, forecaster="native")
    }
    assert lax == {"history@v1": False, "history@v2": is_lax}


def test_lax_gates_are_no_obstacle() -> None:
    found = row(knowing(utility=True, leak_tested=True))
    assert "lax_gates" in found["labels"]
    assert found["gates"]["promotion"]["decision"] == "PROMOTE"


# --- Whose rows are official ----------------------------------------------------------


@pytest.mark.parametrize("layer", ["oracle", "market"])
def test_an_oracle_has_no_official_skill(layer: str) -> None:
    made = suite(asks="issuer")
    others = tuple(
        msgspec.structs.replace(each, layer=layer) if each.name == "rival" else each
        for each in made.competitors
    )
    history = History(msgspec.structs.replace(made, competitors=others))
    made_of = [history.asked(f"u-{at}") for at in range(3)]
    for question in made_of:
        history.seal(question, forecaster="rival")
    history.wait(hours=3)
    for question in made_of:
        history.resolve(question)
    official = row(history, "rival")["scores"]["official_skill"]
    assert official.get("reason") == ("not_declared" if layer == "oracle" else None)


@pytest.mark.parametrize(
    ("without", "official"), [(3, (69, None)), (4, (68, "cohort_mismatch"))]
)
def test_skill_over_a_reference_that_lacks_units_is_official_where_the_rest_suffice(
    without: int, official: tuple[int, str | None]
) -> None:
    history = knowing(scoring__reference="rival", lacking=without)
    scores = row(history)["scores"]
    found = scores["official_skill"]
    assert (found["n"], found.get("reason")) == official
    assert scores["bss_frozen"]["n"] == official[0]
    assert scores["bss_frozen"]["value"] is not None


def test_a_label_is_the_first_reason_for_which_no_skill_is_official() -> None:
    history = knowing(scoring__reference="rival", lacking=4, run_purpose="debug")
    assert row(history)["scores"]["official_skill"]["reason"] == "not_declared"


# --- How many entries a principal has -------------------------------------------------


def test_a_row_says_how_many_competitors_its_principal_seals() -> None:
    second = Competitor(name="second", layer="market", principal="forecaster")
    found = rows(History(suite_of(competitors=[second])))
    assert {each["forecaster"]: each["principal_entries"] for each in found} == {
        "native": 2,
        "second": 2,
        "rival": 1,
        "native-calibrated": None,
        "past-rate": None,
        "own-routine": None,
    }
