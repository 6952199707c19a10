"""A forecaster's own past, as it is told before the next forecast."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from ledger.errors import UsageError
from ledger.log import open_reader
from ledger.projections.own_record import own_record
from ledger.projections.report import Report
from ledger.projections.stored import open_report
from tests.workshop import SUITE, Workshop

UNITS = 60


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    shop = Workshop(tmp_path_factory.mktemp("record")).found().fill(UNITS)
    with (
        open_reader(shop.folder) as reader,
        open_report(shop.folder, reader.store) as found,
    ):
        yield found


def said(number: int) -> int:
    """Return what the workshop first says of a unit, in hundredths."""
    return 1 + number * 37 % 99


def came(number: int) -> bool:
    return number * 29 % 99 < 60


def told(report: Report, **chosen: Any) -> dict[str, Any]:
    return own_record(report.field(SUITE), "native", **chosen)


def exact(found: dict[str, Any]) -> Fraction:
    return Fraction(found["exact"])


@pytest.mark.parametrize(
    ("chosen", "numbers"),
    [
        ({}, range(UNITS)),
        ({"template": "dispatch-pass"}, range(UNITS)),
        ({"tags": {"domain": "bugfix"}}, range(1, UNITS, 2)),
        (
            {"template": "dispatch-pass", "tags": {"domain": "feature"}},
            range(0, UNITS, 2),
        ),
        ({"tags": {"domain": "docs"}}, range(0)),
    ],
)
def test_a_record_is_what_one_would_count_by_hand(
    report: Report, chosen: dict[str, Any], numbers: range
) -> None:
    found, n = told(report, **chosen), len(numbers)
    assert (found["units"], found["scored"]) == (n, n)
    if not n:
        assert found["brier"] == {"value": None, "n": 0, "reason": "empty"}
        assert found["bins"] == []
        return
    rate = Fraction(sum(map(came, numbers)), n)
    assert exact(found["event_rate"]) == exact(found["base_rate"]) == rate
    assert exact(found["mean_probability"]) == Fraction(
        sum(map(said, numbers)), n * 100
    )
    losses = [(Fraction(said(each), 100) - came(each)) ** 2 for each in numbers]
    assert exact(found["brier"]) == sum(losses) / n


def test_each_bin_has_what_was_said_in_it_and_what_came(report: Report) -> None:
    bins = told(report)["bins"]
    assert sum(each["n"] for each in bins) == UNITS
    for each in bins:
        inside = [
            number for number in range(UNITS) if said(number) // 10 == each["bin"]
        ]
        assert each["n"] == len(inside)
        assert each["ones"] == sum(map(came, inside))


def test_who_has_no_vectors_is_refused_by_name(report: Report) -> None:
    with pytest.raises(UsageError, match="did you mean native"):
        own_record(report.field(SUITE), "natve")


NOT_THERE = {
    "a template": ({"template": "another"}, "no template 'another': it has dispatch"),
    "a template's slip": (
        {"template": "dispatch-pas"},
        f"{SUITE} has no template 'dispatch-pas': did you mean dispatch-pass?",
    ),
    "a tag": ({"tags": {"x": "y"}}, f"{SUITE} has no tag 'x': it has "),
    "a tag's slip": (
        {"template": "dispatch-pass", "tags": {"domian": "docs"}},
        "dispatch-pass has no tag 'domian': did you mean domain?",
    ),
}


@pytest.mark.parametrize(("chosen", "said"), NOT_THERE.values(), ids=NOT_THERE)
def test_what_the_suite_does_not_have_is_refused_by_name(
    report: Report, chosen: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        told(report, **chosen)
    assert said in str(refused.value)


def test_a_suite_that_there_is_not_is_refused_by_name(report: Report) -> None:
    with pytest.raises(UsageError, match=f"did you mean {SUITE}"):
        report.field("workshp@v1")


def test_a_class_says_by_what_it_was_chosen(report: Report) -> None:
    found = told(report, tags={"domain": "bugfix"}, template="dispatch-pass")
    assert found["class"] == {"tag:domain": "bugfix", "template": "dispatch-pass"}
