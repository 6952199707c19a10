"""Rows as people see them: what a number is over, and what it stands on."""

from typing import Any

import pytest

from ledger.cli.rows_table import print_rows, shown
from tests.reporting import Row
from tests.whole_row import row_of_many_answers, row_that_recalibrates, whole_row

COLUMNS = 120


@pytest.fixture(scope="module")
def whole() -> Row:
    return whole_row()


def changed(row: Row, block: str, **fields: Any) -> Row:
    return {**row, block: {**row[block], **fields}}


def cut(measure: Row, end: str) -> Row:
    """Return one end of an interval as a number of its own."""
    return {"value": measure[end]}


def printed(capsys: pytest.CaptureFixture[str], *found: Row) -> tuple[list[str], str]:
    """Return what is printed of some rows, each run of spaces as one, and the notes."""
    print_rows(found)
    said = capsys.readouterr()
    return [" ".join(line.split()) for line in said.out.splitlines()], said.err


def test_a_row_is_told_with_its_layer_its_intervals_and_what_left_the_denominator(
    capsys: pytest.CaptureFixture[str], whole: Row
) -> None:
    lines, notes = printed(capsys, whole)
    skill = whole["scores"]["skill_vs_r2_bits"]
    ends = f"0.1675 [{shown(cut(skill, 'lo'))}, {shown(cut(skill, 'hi'))}]"
    assert lines[2] == f"native native all {ends} {ends} 0.2067 0.1983"
    assert lines[-2].endswith("clusters coverage void")
    assert lines[-1] == "native all 24 of 25 25 12 12 1.0000 0.0400"
    assert notes == ""


def test_no_table_is_wider_than_a_terminal_but_for_its_labels(
    capsys: pytest.CaptureFixture[str], whole: Row
) -> None:
    print_rows([whole, row_that_recalibrates()])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.partition("off_look")[0]) for line in lines) <= COLUMNS


def test_a_skill_over_fewer_units_says_over_how_many_and_where_its_interval_is(
    capsys: pytest.CaptureFixture[str], whole: Row
) -> None:
    partial = {"value": "6.629356620080", "lo": None, "ci_reason": "x", "n": 1}
    found = changed(whole, "scores", skill_vs_r2_bits=partial)
    lines, notes = printed(capsys, found)
    assert "6.6294 n=1 0.2067" in lines[2]
    assert "--explain skill_vs_r2_bits" in notes


def test_a_level_is_told_where_it_is_not_the_usual_one(
    capsys: pytest.CaptureFixture[str], whole: Row
) -> None:
    assert "intervals at" not in printed(capsys, whole)[0][0]
    found = changed(whole, "inference", alpha="0.100000000000")
    assert printed(capsys, found)[0][0].endswith(", intervals at 0.9")


def test_what_is_unresolved_has_a_column_only_where_something_is(
    capsys: pytest.CaptureFixture[str], whole: Row
) -> None:
    none = {"value": "0.000000000000", "count": 0, "of": 25}
    some = {"value": "0.080000000000", "count": 2, "of": 25}
    found = changed(whole, "integrity", void_rate=none, unresolved_rate=some)
    lines, _ = printed(capsys, found)
    assert lines[-2].endswith("coverage unresolved")
    assert lines[-1].endswith("1.0000 0.0800")
    found = changed(whole, "integrity", void_rate=none)
    assert printed(capsys, found)[0][-2].endswith("coverage")


def test_a_brier_score_over_many_answers_says_that_it_is_a_sum(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, row_of_many_answers())[0][2].endswith("-0.0700 0.7133 sum")


def test_whoever_recalibrates_another_names_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines, _ = printed(capsys, row_that_recalibrates())
    assert lines[2].startswith("native-calibrated of native calibrated all")


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        ({"value": None, "reason": "empty", "n": 0}, "empty"),
        ({"value": "-inf", "n": 3}, "-inf"),
        ({"value": "-inf", "n": 2}, "-inf n=2"),
        ({"value": "0.123450000000", "n": 3}, "0.1234"),
        ({"value": "0.1", "lo": "0", "hi": "1", "n": 3}, "0.1000 [0.0000, 1.0000]"),
        ({"value": "0.1", "lo": None, "n": 2}, "0.1000 n=2"),
    ],
)
def test_a_number_is_shown_to_four_places(measure: dict[str, Any], text: str) -> None:
    assert shown(measure, with_ends=True, of=3) == text
