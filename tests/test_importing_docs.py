"""What the page on imports says is run, and it leaves no option out."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.app import load
from tests.console import Console
from tests.source_tree import REPOSITORY

PAGE = (REPOSITORY / "docs" / "importing.md").read_text("utf-8")
IMPORTS: dict[str, Any] = vars(load("import"))["commands"]
FILES = dict(
    re.findall(
        r"^`([\w.-]+)`:\n\n```(?:csv|toml|jsonl)\n(.*?)^```$",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
)
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
# These read files that are published elsewhere.
RUN = [each for each in COMMANDS if " import " in each and "forecastbench" not in each]


@pytest.mark.parametrize("name", IMPORTS)
def test_the_page_names_every_option_of_an_import(name: str) -> None:
    options = {
        option
        for parameter in IMPORTS[name].params
        for option in parameter.opts
        if option.startswith("--")
    }

    said = set(re.findall(r"(?<![\w-])--[a-z-]+", PAGE))
    assert sorted(options - said) == []
    assert any(each.startswith(f"ledger import {name} ") for each in COMMANDS)


def test_the_page_has_an_example_that_runs_for_each_import_of_a_table() -> None:
    assert {each.split()[2] for each in RUN} == {"csv", "jsonl", "targetspace"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, line: str) -> str:
    """Run the import at the start of a line, and return its drafts or its suite."""
    _, *words = shlex.split(re.split(r" [|>] ", line, maxsplit=1)[0])
    return Console(folder).must(*words).stdout


@pytest.mark.parametrize("line", RUN)
def test_an_example_of_the_page_runs(folder: Path, line: str) -> None:
    assert run(folder, line)


def test_the_map_and_the_options_of_the_page_say_the_same(folder: Path) -> None:
    by_file, by_options = (
        line
        for line in RUN
        if line.startswith("ledger import csv") and "--suite-toml" not in line
    )

    assert run(folder, by_file) == run(folder, by_options)


@pytest.mark.parametrize("kind", ["csv", "targetspace"])
def test_what_the_page_imports_goes_into_a_ledger(folder: Path, kind: str) -> None:
    suite, drafts = (
        next(line for line in RUN if f"import {kind}" in line and end in line)
        for end in ("--suite-toml", "| ledger append")
    )
    (folder / "suite.toml").write_text(run(folder, suite))
    (folder / "drafts.jsonl").write_text(run(folder, drafts))
    console = Console(folder).found()

    assert console.here("suite", "freeze", folder / "suite.toml").code == 0
    appended = console.here("append", folder / "drafts.jsonl", "--json")
    assert appended.code == 0, appended.stdout
