"""What the README says is run: in a fresh copy, with an empty environment.

In a `console` block a line that starts with `$` is a command, and the lines below it
are what it prints, `…` standing for whatever differs from run to run: within a line
for a part of it, alone on a line for any number of lines.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.cli.app import COMMANDS

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|console)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
MAKEFILE = (REPOSITORY / "Makefile").read_text("utf-8")
MADE = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]


def tracked_files() -> list[str]:
    """Return the files of the repository, or skip where this is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this is no checkout: there is nothing to make a fresh copy of")
    # A tracked file may have been removed, and the removal not yet committed.
    names = filter(None, listed.stdout.decode().split("\0"))
    return [
        name
        for name in names
        if (path := REPOSITORY / name).is_symlink() or path.is_file()
    ]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what is tracked; give it an environment as `make` would have made it.

    Its `ledger` is the copy's own, run by the present interpreter, so that nothing
    is installed and no registry is asked.
    """
    copy = tmp_path_factory.mktemp("fresh") / "sealed-ledger"
    for name in tracked_files():
        place = copy / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, place, follow_symlinks=False)
    environment = copy / ".venv"
    (environment / "bin").mkdir(parents=True)
    command = environment / "bin" / "ledger"
    command.write_text(
        f"#!{sys.executable} -P\n"
        f"import sys\nsys.path.insert(0, {str(copy)!r})\n"
        "from ledger.cli.main import main\nmain()\n"
    )
    command.chmod(0o755)
    (environment / "bin" / "python").symlink_to(sys.executable)
    # Newer than pyproject.toml: make finds its environment up to date.
    (environment / "runtime").touch()
    return copy


def run(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a shell script in `folder` with nothing in the environment but a PATH."""
    return subprocess.run(
        ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "bash", "-eu"],
        input=script,
        cwd=folder,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


def conversation() -> list[tuple[str, str]]:
    """Return each command of the console blocks with what is printed below it."""
    said: list[tuple[str, str]] = []
    for line in "".join(
        text for kind, text in BLOCKS if kind == "console"
    ).splitlines():
        if line.startswith("$ "):
            said.append((line.removeprefix("$ "), ""))
        elif said[-1][0].endswith("\\"):
            command, _ = said[-1]
            said[-1] = (f"{command}\n{line.removeprefix('> ')}", "")
        else:
            command, printed = said[-1]
            said[-1] = (command, f"{printed}{line}\n")
    return said


def pattern(shown: str) -> re.Pattern[str]:
    """Return what a shown output stands for."""
    lines = [
        r"(?:.*\n)*?"
        if line.strip() == "…"
        else ".*?".join(map(re.escape, line.rstrip().split("…"))) + r" *\n"
        for line in shown.splitlines()
    ]
    return re.compile("".join(lines))


def test_the_readme_shows_make_targets_that_are_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert MADE == ["make demo", "make test", "make check"]
    assert {line.removeprefix("make ") for line in MADE} <= targets


def test_make_demo_runs_in_a_fresh_copy_without_an_environment(fresh: Path) -> None:
    done = run("make demo", fresh)
    shown = README.split("From its output:\n\n```text\n")[1].split("```")[0]

    assert done.returncode == 0, done.stderr
    for passage in re.split(r"^…\n", shown, flags=re.MULTILINE):
        assert pattern(passage).search(done.stdout), passage
    untouched = {path.name for path in fresh.iterdir()}
    assert untouched == {name.split("/")[0] for name in tracked_files()} | {".venv"}


def test_the_quick_start_prints_what_the_readme_shows(fresh: Path) -> None:
    """Run all commands in one shell, in order, and compare what each prints."""
    said = conversation()
    mark = "-- next --"
    script = "".join(
        f"{command}\nprintf '%s\\n' {shlex.quote(mark)}\n" for command, _ in said
    )
    done = run("exec 2>&1\n" + script, fresh)

    assert done.returncode == 0, done.stdout
    printed = done.stdout.split(mark + "\n")
    for (command, shown), actual in zip(said, printed, strict=False):
        assert pattern(shown).fullmatch(actual), f"$ {command}\n{actual}"


def test_every_command_stands_in_the_readmes_table() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| ")]
    named = set(re.findall(r"`ledger ([a-z]+)`", "\n".join(rows)))
    assert named == set(COMMANDS)


PAGES = sorted((REPOSITORY / "docs").glob("**/*.md"))
LINKS = [
    (page, link)
    for page in (REPOSITORY / "README.md", *PAGES)
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8"))
]


@pytest.mark.parametrize(
    ("page", "link"), LINKS, ids=[f"{page.name}-{link}" for page, link in LINKS]
)
def test_a_link_between_pages_leads_somewhere(page: Path, link: str) -> None:
    assert (page.parent / link).exists()


def test_the_architecture_names_modules_that_are_there() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"\bledger\.[a-z_]+(?:\.[a-z_]+)*", page))
    named -= {"ledger.toml", "ledger.replay.step"}
    places = {name: REPOSITORY.joinpath(*name.split(".")) for name in named}

    missing = [
        name
        for name, place in places.items()
        if not (place.is_dir() or place.with_suffix(".py").is_file())
    ]
    assert named
    assert missing == []
