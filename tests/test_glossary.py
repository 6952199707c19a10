"""Every figure of a row is explained, and the page says what the program says."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.projections.explaining import FIGURES, standing_at
from ledger.projections.glossary import GLOSSARY
from ledger.projections.glossary_blocks import OF_BLOCKS
from ledger.projections.glossary_gates import OF_GATES
from ledger.projections.glossary_units import OF_UNITS
from ledger.projections.glossary_worth import OF_WORTH
from tests.reporting import Row, row, suite_of, template
from tests.simulator import History, suite
from tests.whole_row import row_of_many_answers, row_that_recalibrates, whole_row

DOCS = (Path(__file__).parents[1] / "docs" / "rows.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| `(?P<score>[a-z0-9_]+)` \| (?P<better>lower|higher|) ?\| (?P<meaning>.+) \|$"
)
# What a row states and does not compute: what it is of, and what its suite declares.
STATED = (
    *("principal_entries", "window", "look"),
    *("coverage.minimum", "reliability.min_bin"),
    *("gates.promotion.trivial_gain", "gates.promotion.loss_margin"),
)
# How what is random was drawn, wherever it stands.
DRAWN = ("inference", "drawn")
NUMBER = re.compile(r"-?[0-9]+\.[0-9]{9,12}|-inf")


def section(title: str) -> list[str]:
    """Return the lines of a section of the page."""
    return DOCS.partition(f"\n## {title}\n")[2].partition("\n## ")[0].splitlines()


def figures(value: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Yield where anything is computed, a measure as a whole, and whether it is a count."""
    if isinstance(value, dict) and {"value", "lo"} & value.keys():
        yield path, False
    elif isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in named:
            if name not in DRAWN:
                yield from figures(inner, f"{path}.{name}".lstrip("."))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, True
    elif isinstance(value, str) and NUMBER.fullmatch(value):
        yield path, False


def unexplained(found: Row) -> list[str]:
    """Return the paths of figures that nothing explains.

    A count may also be explained by being an input of some other figure.
    """
    entries = FIGURES.values()
    told = {path for entry in entries for path in places(found, entry.paths)}
    given = {path for entry in entries for path in places(found, entry.inputs)}
    return [
        path
        for path, is_count in figures(found)
        if not any(
            f"{path}.".startswith(f"{each}.")
            for each in (*STATED, *told, *(given if is_count else ()))
        )
    ]


def places(found: Row, paths: Sequence[str]) -> set[str]:
    return {".".join(steps) for path in paths for steps, _ in standing_at(found, path)}


def places_of(paths: Sequence[str], stated: str) -> list[str]:
    """Return the paths that an input means: `./` is beside each place of its figure."""
    if not stated.startswith("./"):
        return [stated]
    return [f"{path.rpartition('.')[0]}.{stated.removeprefix('./')}" for path in paths]


@pytest.fixture(scope="module")
def everything() -> list[Row]:
    return [
        whole_row(),
        whole_row("time_weighted"),
        row_of_many_answers(),
        row_that_recalibrates(),
    ]


def test_every_figure_of_a_row_is_explained(everything: list[Row]) -> None:
    assert [unexplained(each) for each in everything] == [[], [], [], []]


@pytest.mark.parametrize(
    "of",
    [
        {"scores": {"charm": {"value": "0.100000000000", "n": 3}}},
        {"gates": {"charm": "0.100000000000"}},
        {"counts": {"charm": 3}},
        {"prequential": {"charm": [{"lo": None}]}},
    ],
)
def test_a_figure_without_an_explanation_is_found(of: Row) -> None:
    assert len(unexplained(of)) == 1


def test_everything_that_is_explained_stands_in_some_row(everything: list[Row]) -> None:
    nowhere = [
        name
        for name, entry in FIGURES.items()
        if not any(
            standing_at(each, path) for each in everything for path in entry.paths
        )
    ]
    assert nowhere == []


def test_no_two_explanations_are_of_one_place(everything: list[Row]) -> None:
    for each in everything:
        places = [
            steps
            for entry in FIGURES.values()
            for path in entry.paths
            for steps, _ in standing_at(each, path)
        ]
        assert len(places) == len(set(places))


def test_no_two_figures_have_one_name() -> None:
    parts = (GLOSSARY, OF_GATES, OF_WORTH, OF_BLOCKS, OF_UNITS)
    assert len(FIGURES) == sum(map(len, parts))


def test_what_an_explanation_refers_to_stands_in_some_row(
    everything: list[Row],
) -> None:
    # A gate says why it is undecided only where it is.
    reasons = {"gates.calibration.reason", "gates.permutation.reason"}
    reasons |= {"gates.credit_reason", "decomposition.corp.reason"}
    nowhere = {
        path
        for entry in FIGURES.values()
        for stated in entry.inputs
        for path in places_of(entry.paths, stated)
        if not any(standing_at(each, path) for each in everything)
    }
    assert nowhere <= reasons


def test_the_page_defines_each_score_as_the_program_does() -> None:
    found = [match for line in section("Scores") if (match := ROW.match(line))]
    assert [(each["score"], each["better"], each["meaning"]) for each in found] == [
        (score, entry.better, entry.meaning) for score, entry in GLOSSARY.items()
    ]


def test_the_page_lists_every_other_figure_and_where_it_stands() -> None:
    rows = [
        re.findall(r"`([^`]+)`", line)
        for line in section("Explanations")
        if line.startswith("| `")
    ]
    assert {name: tuple(paths) for name, *paths in rows} == {
        name: entry.paths
        for name, entry in FIGURES.items()
        if name not in GLOSSARY and not entry.paths[0].startswith("counts.")
    }


@pytest.mark.parametrize("answers", [("pass", "fail"), ("a", "b", "c")])
def test_every_score_of_a_row_is_explained(answers: tuple[str, ...]) -> None:
    history = History(suite_of(template(suite(), answers)))
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, answers[0])
    assert set(row(history)["scores"]) <= GLOSSARY.keys()


def test_an_explanation_says_what_by_which_formula_and_names_its_source() -> None:
    short = [
        name
        for name, each in FIGURES.items()
        if not (each.meaning and each.formula and "METRICS §" in each.source)
    ]
    assert short == []
