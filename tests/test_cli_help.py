"""Help: every command has it, it teaches by an example, and it costs nothing to ask."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger import __version__
from ledger.cli.app import COMMANDS, app, load
from tests.source_tree import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "cli.md"


def every_command() -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, those of groups included."""
    for name in COMMANDS:
        found = load(name)
        inside: dict[str, Any] = getattr(found, "commands", {})
        yield from ((name, other) for other in inside)
        if not inside:
            yield (name,)


EVERY = list(every_command())


def shown(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="ledger")
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_help_with_an_example(words: tuple[str, ...]) -> None:
    text = shown(*words)
    _, heading, example = text.partition("For example:\n")
    assert heading
    assert f"ledger {' '.join(words)}" in example


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_says(name: str) -> None:
    first_line = (load(name).help or "").splitlines()[0]
    assert COMMANDS[name].summary == first_line


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_summary_of_a_command_is_shown_whole(words: tuple[str, ...]) -> None:
    assert "..." not in shown(*words[:-1]).replace("[ARGS]...", "")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_is_documented(words: tuple[str, ...]) -> None:
    assert f"ledger {' '.join(words)}" in DOCUMENT.read_text("utf-8")


def test_every_command_stands_in_a_section_of_the_list() -> None:
    text = shown()
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []


def test_a_misspelt_command_is_answered_with_the_likely_one() -> None:
    result = CliRunner().invoke(app, ["sael"])
    assert result.exit_code == 2
    assert "Did you mean 'seal'?" in result.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, check=True, text=True, cwd=REPOSITORY,
    )  # fmt: skip


@pytest.mark.parametrize("asked", ["--version", "--help"])
def test_help_and_version_import_nothing_that_they_do_not_need(asked: str) -> None:
    program = (
        "import sys\n"
        f"sys.argv = ['ledger', {asked!r}]\n"
        "from ledger.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('modules', *{name.split('.')[0] for name in sys.modules})\n"
    )
    text, _, modules = run("-c", program).stdout.rpartition("modules ")
    assert __version__ in text or "Usage" in text
    heavy = {"numpy", "polars", "sqlite_utils", "apsw", "nacl"}
    assert heavy & set(modules.split()) == set()


def test_the_version_is_printed_without_the_command_line_library() -> None:
    program = (
        "import sys\nsys.argv = ['ledger', '--version']\n"
        "from ledger.cli.main import main\nmain()\n"
        "print('typer' in sys.modules)\n"
    )
    assert run("-c", program).stdout == f"ledger {__version__}\nFalse\n"


def test_the_entry_point_is_the_one_that_is_installed() -> None:
    scripts = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    assert 'ledger = "ledger.cli.main:main"' in scripts
    assert Path(REPOSITORY / "cli" / "main.py").is_file()


BEFORE = {
    "--json rows": "ledger rows --json",
    "--json=1 rows": "ledger rows --json",
    "-p0.5 seal": "ledger seal -p",
    "--ledger rows --suite s@v1 export": "ledger export --suite",
    "--json keys list": "ledger keys list --json",
    "keys --json list": "ledger keys list --json",
}


@pytest.mark.parametrize(("words", "right"), BEFORE.items(), ids=BEFORE)
def test_an_option_before_its_command_is_told_its_place(words: str, right: str) -> None:
    result = CliRunner().invoke(app, words.split(), prog_name="ledger")
    assert result.exit_code == 2
    assert f"whose option it is: write `{right}`" in result.output


@pytest.mark.parametrize(
    "words", ["--json", "--json nope", "--jsn rows", "--json keys"]
)
def test_an_option_of_no_command_is_not_told_one(words: str) -> None:
    result = CliRunner().invoke(app, words.split(), prog_name="ledger")
    assert result.exit_code == 2
    assert "No such option" in result.output
