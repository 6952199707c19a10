"""`ledger rows`: scores for people and for programs, from a ledger on disk."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.rows_table import FIGURE_OF
from ledger.projections.materialize import Tables
from tests.console import Console
from tests.court import BAR


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    """A ledger with one forecast that came true and one whose time is not up."""
    console = Console(tmp_path_factory.mktemp("rows")).found().frozen()
    asked = ("--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-1", "--cutoff", "+1s", *asked),
        ("seal", "--id", "d-1", "-p", "0.8"),
        ("resolve", "--status", "PENDING", "--id", "d-2", "--cutoff", "+2h", *asked),
    ):
        shown = console.here(*words)
        assert shown.code == 0, shown.stderr
    return console


def test_rows_are_one_array_of_json(console: Console) -> None:
    found = console.here("rows", "--json").object
    assert [(each["forecaster"], each["horizon"]) for each in found] == [
        ("native", None),
        ("native-calibrated", None),
        ("past-rate", None),
        ("own-routine", None),
    ]
    assert found[0]["counts"]["units"] == 0


def test_people_see_skill_first_and_forecasts_apart_from_targets(
    console: Console,
) -> None:
    heading, *lines = console.here("rows").stdout.splitlines()
    assert heading.startswith(
        "piper-self@v1, initial: track self, preregistered, pre_pilot"
    )
    scored, judged, standing = "\n".join(lines).split("\n\n")
    heads = [
        " ".join(each.split("\n")[0].split()) for each in (scored, judged, standing)
    ]
    assert heads == [
        "forecaster layer part vs R1 vs R2 skill Brier",
        "forecaster part calibration permutation credit labels",
        "forecaster part scored forecasts targets clusters coverage",
    ]
    for each in (scored, judged, standing):
        assert [line.split()[0] for line in each.split("\n")[1:]] == [
            "native",
            "native-calibrated",
            "past-rate",
            "own-routine",
        ]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--forecaster", "native"], [("native", "initial", None)]),
        (["--suite", "piper-self@v1", "--forecaster", "native"], [("native", "initial", None)]),
        (["--slot", "final", "--forecaster", "native"], [("native", "final", None)]),
        (["--slice", "tag:domain=code"], []),
        (["--by", "tag:domain", "--forecaster", "native"], [("native", "initial", None)]),
        (["--by", "tag:domain,slot", "--forecaster", "native"], [("native", "initial", None)]),
    ],
)  # fmt: skip
def test_rows_are_chosen(
    console: Console, words: list[str], kept: list[tuple[Any, ...]]
) -> None:
    found = console.here("rows", "--json", *words).object
    assert [(each["forecaster"], each["slot"], each["slice"]) for each in found] == kept


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--slot", "last"], "there is no slot 'last'"),
        (["--by", "repo"], "rows cannot be grouped by 'repo'"),
        (["--suite", "other@v1"], "'other@v1' was never frozen here"),
        (["--suite", "piper-sel"], "did you mean piper-self@v1?"),
        (["--forecaster", "nobody"], "'nobody' has no rows"),
        (["--by", "tag:nope"], "allows a tag 'nope': allowed are: domain"),
        (["--by", "tag:domian"], "did you mean domain?"),
        (["--slice", "tag:nope=a"], "allows a tag 'nope'"),
        (["--slice", "tag:domain"], "write WHAT=VALUE"),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(
    console: Console, words: list[str], sentence: str
) -> None:
    shown = console.here("rows", *words)
    assert (shown.code, shown.stdout) == (2, "")
    assert sentence in shown.stderr


def test_a_suite_without_a_version_is_its_latest(console: Console) -> None:
    named = console.here("rows", "--suite", "piper-self@v1").stdout
    assert console.here("rows", "--suite", "piper-self").stdout == named


def test_a_slice_that_no_unit_has_is_told(console: Console) -> None:
    shown = console.here("rows", "--slice", "tag:domain=zz")
    assert (shown.code, shown.stdout) == (0, "")
    assert shown.stderr.startswith("no unit that is counted has tag:domain=zz\n")


def test_units_whose_cut_off_is_ahead_are_told_of(console: Console) -> None:
    said = console.here("rows").stderr
    assert "piper-self@v1: 2 units are not counted yet" in said
    assert "after as_of" in said


def test_without_a_suite_there_are_no_rows_and_it_says_so(tmp_path: Path) -> None:
    console = Console(tmp_path).found()
    assert console.here("rows", "--json").object == []
    shown = console.here("rows")
    assert (shown.stdout, "no rows" in shown.stderr) == ("", True)


def test_tables_that_were_deleted_come_again(console: Console) -> None:
    before = console.here("rows", "--json").stdout
    (console.ledger / "projections.db").unlink()
    assert console.here("rows", "--json").stdout == before


def test_where_tables_cannot_be_written_they_are_made_in_memory(
    console: Console, tmp_path: Path
) -> None:
    before = console.here("rows", "--json").stdout
    path = console.ledger / "projections.db"
    path.rename(tmp_path / "kept.db")
    # A folder in the place of the file: nobody, root included, can write to it.
    path.mkdir()
    try:
        assert console.here("rows", "--json").stdout == before
    finally:
        path.rmdir()
        (tmp_path / "kept.db").rename(path)


def test_damaged_tables_are_named_with_the_remedy(console: Console) -> None:
    path = console.ledger / "projections.db"
    sound = path.read_bytes()
    path.write_bytes(b"no database at all" * 100)
    try:
        shown = console.here("rows")
    finally:
        path.write_bytes(sound)
    assert shown.code == 3
    assert "projections.db is damaged" in shown.stderr
    assert "delete it" in shown.stderr


def test_tables_on_a_full_disk_are_not_called_damaged(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = console.ledger / "projections.db"
    path.rename(tmp_path / "kept.db")
    made = Tables.__init__

    def cramped(self: Tables, at: Path | None = None) -> None:
        made(self, at)
        [(pages,)] = self.connection.execute("PRAGMA page_count")
        self.connection.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(Tables, "__init__", cramped)
    try:
        shown = console.here("rows")
    finally:
        path.unlink()
        (tmp_path / "kept.db").rename(path)
    assert shown.code == 3
    assert "is full: free space" in shown.stderr
    assert "damaged" not in shown.stderr


def test_the_kept_tables_have_the_rows_that_are_shown(console: Console) -> None:
    found = console.here("rows", "--json").object
    with sqlite3.connect(console.ledger / "projections.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM rows").fetchone()
    connection.close()
    assert count == len(found)


def test_a_figure_is_explained_by_its_column_in_the_table_too(console: Console) -> None:
    for column, figure in FIGURE_OF.items():
        said = console.here("rows", "--explain", column)
        assert said.code == 0, column
        assert said.stdout == console.here("rows", "--explain", figure).stdout
        assert said.stdout.splitlines()[0].split() == ["figure", figure]
    assert console.here("rows", "--front", "Brier", "--json").code == 0


def test_a_figure_that_no_row_has_is_explained_and_missed(console: Console) -> None:
    said = console.here("rows", "--explain", "utility.regret")
    assert said.code == 0
    assert said.stdout.startswith("figure")
    assert "no row that was asked for has it" in said.stderr
