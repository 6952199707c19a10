"""Cohorts: what is compared is about exactly the same units, or it is no number."""

from fractions import Fraction
from hashlib import sha256

import pytest

from ledger.projections.cohort import (
    Loss,
    Measure,
    cohort_hash,
    cohort_line,
    loss_over,
    mean,
    official,
    skill,
    skill_of_rates,
)
from ledger.projections.exact import UNITS
from ledger.unit import unit_name
from tests.reporting import row, rows
from tests.simulator import History

WHOLE = UNITS  # the worst that one unit can lose, in the binary form


def test_a_cohorts_hash_is_of_its_head_and_of_the_sorted_lines_of_its_units() -> None:
    lines = [
        cohort_line(unit_name("a@v1", "t", name, "24h"), "RESOLVED", outcome)
        for name, outcome in (("u-2", "no"), ("u-1", "yes"))
    ]
    text = (
        b"sealed-ledger/cohort/v1\n"
        b'["a@v1","t","u-1","24h","RESOLVED","yes"]\n'
        b'["a@v1","t","u-2","24h","RESOLVED","no"]\n'
    )
    assert cohort_hash(lines) == cohort_hash(lines[::-1]) == sha256(text).hexdigest()


def test_names_are_sorted_by_their_bytes_and_escaped_as_json_does() -> None:
    names = ("ä", "z", "😀", '"', "Z")
    lines = [
        cohort_line(unit_name("a@v1", "t", name, "24h"), "RESOLVED", "yes")
        for name in names
    ]
    told = "".join(
        f'["a@v1","t","{name}","24h","RESOLVED","yes"]\n'
        for name in ("Z", r"\"", "z", "ä", "😀")
    )
    content = b"sealed-ledger/cohort/v1\n" + told.encode()
    assert cohort_hash(lines) == sha256(content).hexdigest()


def test_a_row_names_the_hash_of_the_units_that_it_scored() -> None:
    history = History()
    scored, void = history.question("b"), history.question("a")
    history.seal(scored)
    history.seal(void)
    history.wait(hours=3)
    history.resolve(scored)
    history.record(void, "VOID")
    line = b'["history@v1","dispatch-pass","b","24h","RESOLVED","pass"]\n'
    assert row(history)["cohort_hash"] == cohort_hash([line])


def test_an_empty_cohort_has_the_hash_of_its_head() -> None:
    assert (
        row(History())["cohort_hash"]
        == sha256(b"sealed-ledger/cohort/v1\n").hexdigest()
    )


def test_an_unrelated_event_changes_no_row() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question)
    before = rows(history)
    history.add(history.charter(2))
    assert rows(history) == before


FIVE = loss_over({"a": 5 * WHOLE // 16, "b": 5 * WHOLE // 16})
SKILLS = {
    "a quarter of its baseline's loss": (
        loss_over({"a": WHOLE // 4, "b": 0}), loss_over({"b": WHOLE, "a": 0}), "3/4", None,
    ),
    "the loss of its baseline": (FIVE, FIVE, "0", None),
    "more than its baseline's loss": (FIVE, loss_over({"a": WHOLE // 4, "b": WHOLE // 4}), "-1/4", None),
    "other units, as many": (FIVE, loss_over({"a": WHOLE, "c": WHOLE}), None, "cohort_mismatch"),
    "a unit less": (FIVE, loss_over({"a": WHOLE}), None, "cohort_mismatch"),
    "a unit more": (FIVE, loss_over({"a": 0, "b": 0, "c": WHOLE}), None, "cohort_mismatch"),
    "a baseline without a loss": (FIVE, loss_over({"a": 0, "b": 0}), None, "baseline_zero"),
    "no units": (loss_over({}), loss_over({}), None, "empty"),
    "the same hash, but another number of units": (
        Loss(cohort="f", total=1, units=2), Loss(cohort="f", total=1, units=1), None, "cohort_mismatch",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "baseline", "value", "reason"), SKILLS.values(), ids=SKILLS
)
def test_skill_is_of_one_cohort_or_has_a_reason(
    model: Loss, baseline: Loss, value: str | None, reason: str | None
) -> None:
    found = skill(model, baseline)
    assert found.value == (None if value is None else Fraction(value))
    assert found.reason == reason


RATES = {
    "both classes": ((1, 1), "-1/4", None),
    "one class": ((0, 2), None, "baseline_zero"),
    "outcomes of fewer units": ((1, 0), None, "cohort_mismatch"),
    "outcomes of more units": ((1, 2), None, "cohort_mismatch"),
}


@pytest.mark.parametrize(("outcomes", "value", "reason"), RATES.values(), ids=RATES)
def test_a_cohorts_own_rate_is_of_the_same_units(
    outcomes: tuple[int, int], value: str | None, reason: str | None
) -> None:
    found = skill_of_rates(FIVE, outcomes, binary=True)
    assert found.value == (None if value is None else Fraction(value))
    assert found.reason == reason


def test_skill_is_the_same_in_both_forms_of_the_score() -> None:
    doubled = Loss(cohort=FIVE.cohort, total=2 * FIVE.total, units=2)
    binary = skill_of_rates(FIVE, (1, 1), binary=True)
    assert skill_of_rates(doubled, (1, 1), binary=False).value == binary.value


def test_what_is_undefined_is_shown_as_null_with_its_reason() -> None:
    assert mean(loss_over({})).told() == {"value": None, "n": 0, "reason": "empty"}


@pytest.mark.parametrize(
    ("value", "shown", "exact"),
    [
        (Fraction(5, 16), "0.312500000000", "5/16"),
        (Fraction(-1, 4), "-0.250000000000", "-1/4"),
        (Fraction(1, 10**18 - 1), "0.000000000000", f"1/{10**18 - 1}"),
        (Fraction(1, 10**18 + 1), "0.000000000000", None),
        (Fraction(-1, 10**13), "0.000000000000", "-1/10000000000000"),
    ],
)
def test_a_value_is_shown_to_twelve_places_and_exactly_if_that_is_short(
    value: Fraction, shown: str, exact: str | None
) -> None:
    found = Measure(value=value, n=3).told()
    assert (found["value"], found.get("exact"), found["n"]) == (shown, exact, 3)


@pytest.mark.parametrize(
    ("value", "clamped"), [("-1/9", "0"), ("0", "0"), ("1/3", "100/3"), ("1", "100")]
)
def test_the_official_skill_is_between_0_and_100(value: str, clamped: str) -> None:
    found = official(Measure(value=Fraction(value), n=9))
    assert (found.value, found.n) == (Fraction(clamped), 9)


def test_the_official_skill_is_null_for_the_skills_own_reason() -> None:
    refused = Measure(value=None, n=9, reason="baseline_zero")
    assert official(refused) == refused
