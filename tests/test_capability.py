"""Competitors side by side in named columns of their rows, and never in one number."""

from typing import Any

import pytest

from ledger.errors import UsageError
from ledger.projections.capability_rows import capability_table
from tests.reporting import rows
from tests.simulator import History

COLUMNS = ("max:scores.skill", "min:utility.regret")


def row(name: str, skill: str | None, regret: str, **changes: Any) -> dict[str, Any]:
    return {
        "forecaster": name,
        "layer": "native",
        "counts": {"unscored": 0},
        "scores": {"skill": {"value": skill, "n": 9}},
        "utility": {"regret": {"value": regret, "n": 9}},
        **changes,
    }


def test_the_front_is_who_is_not_beaten_in_every_column() -> None:
    found = capability_table(
        [row("sharp", "0.4", "2"), row("useful", "0.1", "1"), row("dull", "0.1", "3")],
        COLUMNS,
    )
    assert found["front"] == ["sharp", "useful"]
    assert found["incomparable"] == {}
    assert found["competitors"]["dull"]["scores.skill"]["exact"] == "1/10"
    assert not {"total", "composite", "rank"} & set(found)


def test_who_skipped_units_or_lacks_a_number_is_compared_with_nobody() -> None:
    found = capability_table(
        [
            row("whole", "0.1", "2"),
            row("picky", "0.9", "0", counts={"unscored": 1}),
            row("unknown", None, "0"),
        ],
        COLUMNS,
    )
    assert found["front"] == ["whole"]
    assert found["incomparable"] == {
        "picky": "cohort_mismatch",
        "unknown": "not_declared",
    }


def test_an_oracle_is_a_ceiling_and_beats_nobody() -> None:
    found = capability_table(
        [row("whole", "0.1", "2"), row("script", "1", "0", layer="oracle")], COLUMNS
    )
    assert (found["front"], found["ceilings"]) == (["whole"], ["script"])
    assert found["competitors"]["script"]["scores.skill"]["value"] == "1.000000000000"


def test_minus_infinity_is_no_number_to_compare() -> None:
    found = capability_table([row("sure", "-inf", "1")], COLUMNS)
    assert (found["front"], found["incomparable"]) == ([], {"sure": "not_declared"})


@pytest.mark.parametrize(
    "column",
    {
        "no direction": "scores.skill",
        "no path": "max:",
        "another direction": "top:scores.skill",
        "no such number": "max:scores.speed",
        "a part of a row": "max:scores",
        "a text of a row": "max:layer",
    }.values(),
)
def test_what_is_no_column_is_refused(column: str) -> None:
    with pytest.raises(UsageError):
        capability_table([row("whole", "0.1", "2")], [column])


def test_rows_of_a_log_make_a_table() -> None:
    history = History()
    question = history.question()
    history.seal(question, "0.9")
    history.seal(question, "0.6", forecaster="rival")
    history.wait(hours=3)
    history.resolve(question)
    found = capability_table(
        [each for each in rows(history) if each["horizon"] is each["slice"] is None],
        ["min:scores.brier", "max:coverage"],
    )
    # Without a past, a recalibrated competitor says what its source says.
    assert found["front"] == ["native", "native-calibrated"]
    assert found["competitors"]["native"]["coverage"]["exact"] == "1/1"
