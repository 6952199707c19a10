"""Rows of one adaptation budget beside rows of everything else."""

from tests.reporting import Row, rows
from tests.simulator import History

BUDGETS = ["zero-shot", "few-shot"]


def history(report_by: list[str]) -> History:
    """Return six units of two domains, each forecast under one of two budgets."""
    told = History(adaptation_budgets=BUDGETS, report_by=report_by)
    questions = [
        told.question(f"d-{number}", tags={"domain": "ab"[number % 2]})
        for number in range(6)
    ]
    for number, question in enumerate(questions):
        budget = BUDGETS[number // 3]
        told.seal(question, adaptation_budget=budget)
    told.wait(hours=30)
    for question in questions:
        told.resolve(question)
    return told


def of_domains(found: list[Row]) -> list[Row]:
    return [each for each in found if str(each["slice"]).startswith("tag:domain")]


def test_a_slice_is_the_same_whatever_was_reported_before_it() -> None:
    before, after = (
        rows(history(report_by), forecaster="native")
        for report_by in (
            ["adaptation_budget", "tag:domain"],
            ["tag:domain", "adaptation_budget"],
        )
    )
    counts = [each["counts"]["scored"] for each in of_domains(before)]

    assert counts == [3, 3]
    assert [each["counts"] for each in of_domains(after)] == [
        each["counts"] for each in of_domains(before)
    ]
    assert [each["scores"] for each in of_domains(after)] == [
        each["scores"] for each in of_domains(before)
    ]


def test_a_row_of_a_budget_has_that_budget_s_vectors_alone() -> None:
    found = rows(history(["adaptation_budget"]), forecaster="native")
    scored = {each["slice"]: each["counts"]["scored"] for each in found}

    assert scored[None] == 6
    assert scored["adaptation_budget=zero-shot"] == 3
    assert scored["adaptation_budget=few-shot"] == 3
