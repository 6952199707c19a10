"""Leaderboards take listed rows alone, and none that needs more words to be believed."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import pytest

from ledger.errors import UsageError
from ledger.projections.labels import UNOFFICIAL
from ledger.projections.leaderboards import Listed, listed_rows, read_list
from ledger.projections.rows import Row
from tests.console import Console
from tests.court import BAR

NATIVE = Listed(suite="s@v1", forecaster="native")


def row(*labels: str, forecaster: str = "native", **of: str) -> Row:
    return {
        "forecaster": forecaster,
        "horizon": None,
        "slice": None,
        **of,
        "labels": list(labels),
    }


def test_rows_come_in_the_order_of_the_list() -> None:
    found = [row(), row(forecaster="rival")]
    listed = [Listed(suite="s@v1", forecaster=name) for name in ("rival", "native")]
    chosen = listed_rows(listed, lambda *_: found)
    assert [each["forecaster"] for each in chosen] == ["rival", "native"]


@pytest.mark.parametrize("label", UNOFFICIAL)
def test_a_row_that_no_board_takes_is_refused_with_its_label(label: str) -> None:
    with pytest.raises(UsageError, match=f"s@v1 native: it is {label}"):
        listed_rows([NATIVE], lambda *_: [row("shared_custody", label)])


def test_labels_that_only_explain_are_no_hindrance() -> None:
    (found,) = listed_rows([NATIVE], lambda *_: [row("few_clusters", "holdout")])
    assert found["forecaster"] == "native"


def test_a_slice_is_asked_for_by_its_grouping() -> None:
    asked: list[tuple[str, str | None, list[str]]] = []
    listed = Listed(suite="s@v1", forecaster="native", slot="final", slice="tag:repo=a")

    def rows_of(suite: str, slot: str | None, by: Sequence[str]) -> list[Row]:
        asked.append((suite, slot, list(by)))
        return [row(slice="tag:repo=a")]

    listed_rows([listed], rows_of)
    assert asked == [("s@v1", "final", ["tag:repo"])]


def test_a_row_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no row of s@v1 native"):
        listed_rows([NATIVE], lambda *_: [row(forecaster="rival")])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rows = 3", "is no list of rows"),
        ("[[rows]]\nsuite = 's@v1'", "is no list of rows"),
        (
            "[[rows]]\nsuite = 's@v1'\nforecaster = 'a'\nbest = true",
            "is no list of rows",
        ),
        ("[[rows", "is no list of rows"),
        ("[[rows]]\nsuite='s@v1'\nforecaster='a'\n" * 2, "names a row twice"),
    ],
)
def test_what_is_no_list_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_list(text, "list.toml")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    """Return a ledger whose only forecaster has a row that a leaderboard takes."""
    console = Console(tmp_path_factory.mktemp("boards")).found()
    text = console.must("suite", "new", "piper-self", "--track", "self").stdout
    file = console.home / "suite.toml"
    file.write_text(
        re.sub(r"(?m)^looks .*", "looks = [2]", text).replace(
            "min_slice      = 30", "min_slice = 1"
        )
    )
    assert console.here("suite", "freeze", file).code == 0
    asked = ("--cutoff", "+1s", "--resolve-by", "+24h", "--acceptance", BAR)
    for unit in ("d-1", "d-2"):
        opened = ("resolve", "--status", "PENDING", "--id", unit, *asked)
        for words in (opened, ("seal", "--id", unit, "-p", "0.8")):
            assert console.here(*words).code == 0
    # A unit is declared once its cut-off is past by the ledger's clock.
    time.sleep(1)
    for unit in ("d-1", "d-2"):
        shown = console.here("resolve", "--id", unit, "--outcome", "pass")
        assert shown.code == 0, shown.stderr
    return console


def board(folder: Path) -> str:
    path = folder / "list.toml"
    path.write_text("[[rows]]\nsuite = 'piper-self@v1'\nforecaster = 'native'\n")
    return str(path)


def test_the_command_writes_the_rows_of_a_list(
    console: Console, tmp_path: Path
) -> None:
    words = ("export", "-", "--format", "rows", "--leaderboard", board(tmp_path))
    shown = console.here(*words)
    assert shown.code == 0, shown.stderr
    (line,) = shown.stdout.splitlines()
    assert json.loads(line)["forecaster"] == "native"


def test_the_command_refuses_a_row_that_no_board_takes(
    console: Console, tmp_path: Path
) -> None:
    path = board(tmp_path)
    with Path(path).open("a") as file:
        file.write("slot = 'final'\n")
    shown = console.here("export", "-", "--format", "rows", "--leaderboard", path)
    assert (shown.code, shown.stdout) == (2, "")
    assert "no leaderboard takes the row of piper-self@v1 native final" in shown.stderr


def test_a_bundle_is_no_leaderboard(console: Console, tmp_path: Path) -> None:
    shown = console.here(
        "export", str(tmp_path / "b"), "--leaderboard", board(tmp_path)
    )
    assert (shown.code, "add --format rows" in shown.stderr) == (2, True)


def test_a_list_that_is_not_there_is_named(console: Console) -> None:
    words = ("export", "-", "--format", "rows", "--leaderboard", "nowhere.toml")
    shown = console.here(*words)
    assert (shown.code, "the list nowhere.toml cannot be read" in shown.stderr) == (
        2,
        True,
    )


# --- After a look ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def later(console: Console, tmp_path_factory: pytest.TempPathFactory) -> Console:
    """Return the same ledger with one resolved unit more: past the look at two."""
    home = tmp_path_factory.mktemp("later")
    copytree(console.ledger, home / "ledger")
    later = Console(home)
    asked = ("--cutoff", "+1s", "--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-3", *asked),
        ("seal", "--id", "d-3", "-p", "0.8"),
    ):
        assert later.here(*words).code == 0
    time.sleep(1)
    assert later.here("resolve", "--id", "d-3", "--outcome", "pass").code == 0
    return later


@pytest.mark.parametrize("form", ["rows", "targetspace", "metrics"])
def test_after_a_look_no_board_takes_a_row_but_that_of_the_look(
    console: Console, later: Console, tmp_path: Path, form: str
) -> None:
    words = ("export", "-", "--format", form, "--leaderboard", board(tmp_path))
    shown = later.here(*words)
    assert (shown.code, shown.stdout) == (2, "")
    assert "it is off_look; --look N takes the rows of a look" in shown.stderr
    assert later.here(*words, "--look", 2).stdout == console.here(*words).stdout != ""


def test_a_look_is_of_one_suite_whatever_a_list_says(
    later: Console, tmp_path: Path
) -> None:
    path = board(tmp_path)
    with Path(path).open("a") as file:
        file.write("[[rows]]\nsuite = 'other@v1'\nforecaster = 'native'\n")
    words = ("export", "-", "--format", "rows", "--leaderboard", path, "--look", 2)
    shown = later.here(*words)
    assert (shown.code, "'other@v1' was never frozen here" in shown.stderr) == (2, True)
