"""Whoever misspells a name is told which one may be meant, or what there is."""

from pathlib import Path

import pytest

from tests.console import Console
from tests.court import BAR

FILE = "table.csv"
OPENED = (
    "resolve", "--status", "PENDING", "--id", "d-1", "--cutoff", "+2h",
    "--resolve-by", "+24h",
)  # fmt: skip


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    made = Console(tmp_path_factory.mktemp("misspelt")).found().frozen()
    assert made.here(*OPENED, "--acceptance", BAR).code == 0
    return made


MISSPELT: dict[str, tuple[tuple[str, ...], str]] = {
    "a forecaster in rows": (
        ("rows", "--forecaster", "natve"), "'natve' has no rows: did you mean native?"),
    "a forecaster in rows that looks like none": (
        ("rows", "--forecaster", "zed"),
        "own-routine and past-rate, those have some that seal"),
    "a forecaster of a curve": (
        ("curve", "natve"), "as a competitor: did you mean native?"),
    "a forecaster of a curve in a suite that was named": (
        ("curve", "natve", "--suite", "piper-self"), "did you mean native?"),
    "the second of two that are compared": (
        ("compare", "native", "past-rat"), "did you mean past-rate?"),
    "a principal whose key is lost": (
        ("keys", "rotate", "zed"), "issuer, resolver and forecaster"),
    "a status in small letters": (
        ("resolve", "--status", "void", "--id", "d-1"), "did you mean VOID?"),
    "a suite that looks like none": (
        ("suite", "show", "zed"), "was never frozen here: there is piper-self@v1"),
    "a forecaster of a lineage": (
        ("lineage", "d-1", "--forecaster", "natve"),
        "is no competitor of any suite: did you mean native?"),
    "a question without an id": (
        ("seal", "-p", "0.8"), "--id ID names the question"),
    "a record that is none": (
        ("resolve", "--id", "d-1", "--outcome", "pass", "--supersedes", "last"),
        "--supersedes standing means the record that stands"),
    "a quantity": (
        ("resolve", "--id", "d-1", "--outcome", "pass", "--value", "duraton=3"),
        "no quantity 'duraton': "),
    "an author": (
        ("seal", "--id", "d-1", "-p", "0.8", "--author", "forcaster"),
        "the charter lists no 'forcaster'"),
    "an author who seals for nobody": (
        ("seal", "--id", "d-1", "-p", "0.8", "--author", "resolver"),
        "for whom resolver seals are none"),
    "an event id that there is not": (
        ("show", "deadbeef"), "no event's id is deadbeef or begins so"),
    "a bar that is left out": (
        (*OPENED[:4], "d-2", *OPENED[5:]), "--acceptance FILE gives it"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "says"), MISSPELT.values(), ids=MISSPELT)
def test_what_is_misspelt_is_named_with_what_may_be_meant(
    console: Console, words: tuple[str, ...], says: str
) -> None:
    shown = console.here(*words)
    assert (shown.code, shown.stdout) == (2, "")
    assert says in shown.stderr


def test_a_position_beyond_the_log_is_told_how_long_it_is(console: Console) -> None:
    shown = console.here("log", "--since", "99")
    assert (shown.code, shown.stdout) == (0, "")
    assert shown.stderr == "The log has 3 entries, from 0 to 2.\n"
    assert console.here("log", "--since", "99", "--json").stderr == ""


def test_a_file_is_no_ledgers_folder(console: Console) -> None:
    shown = console.run("status", "--ledger", console.ledger / "log.db")
    assert shown.code == 2
    assert "log.db is a file: a ledger is a folder" in shown.stderr


@pytest.mark.parametrize("kind", ["csv", "jsonl", "forecastbench", "targetspace"])
def test_an_import_takes_no_suite_that_can_never_be_frozen(
    console: Console, kind: str
) -> None:
    shown = console.run("import", kind, FILE, "--suite", "My suite")
    assert (shown.code, shown.stdout) == (2, "")
    assert "--suite 'My suite' is not a suite version" in shown.stderr
    assert "then @v and a number" in shown.stderr


def test_of_what_is_no_table_not_everything_is_told(console: Console) -> None:
    file = console.home / FILE
    file.write_text(",".join([*map(str, range(90)), "x" * 9000]) + "\n")
    places = [f"--set={name}=id" for name in ("id", "opened_at", "cutoff_at")]
    shown = console.run("import", "csv", file, *places, "--set=resolve_by=id")
    assert shown.code == 2
    assert "has no column 'id'; it has 0, 1, 2" in shown.stderr
    assert len(shown.stderr) < 500 + len(str(file))


def test_an_origin_that_names_no_key_is_called_the_origin(tmp_path: Path) -> None:
    shown = Console(tmp_path).run("init", tmp_path / "new", "--origin", "my log")
    assert shown.code == 2
    assert "--origin names the log's key, and 'my log' cannot" in shown.stderr


def test_two_principals_of_one_name_are_told_apart_before_anything_is_made(
    tmp_path: Path,
) -> None:
    people = ("--principal", "issuer:bob", "--principal", "resolver:bob")
    shown = Console(tmp_path).run(
        "init", tmp_path / "new", "--origin", "example.org/b", *people
    )
    assert shown.code == 2
    assert "bob is named twice" in shown.stderr
    assert not (tmp_path / "new").exists()


def test_custody_that_would_not_be_separate_is_told_how_it_can_be(
    tmp_path: Path,
) -> None:
    words = ("--origin", "example.org/b", "--custody", "separate")
    shown = Console(tmp_path).run("init", tmp_path / "new", *words)
    assert shown.code == 2
    assert "bring the public forms with --principal ROLE:NAME:VKEY" in shown.stderr


def test_a_log_of_one_entry_is_counted_as_one(tmp_path: Path) -> None:
    shown = Console(tmp_path).found().here("verify")
    assert shown.code == 0
    assert "1 entry, root " in shown.stdout
    assert "holds        1 signature  " in shown.stdout
    assert "1 entries" not in shown.stdout


def test_a_seal_that_is_refused_is_not_called_a_duplicate(tmp_path: Path) -> None:
    console = Console(tmp_path).found().frozen()
    assert console.here(*OPENED, "--acceptance", BAR).code == 0
    assert console.here("seal", "--id", "d-1", "-p", "0.8").code == 0
    shown = console.here("seal", "--id", "d-1")
    assert shown.code == 2
    assert "duplicate" not in shown.stderr


def test_a_question_of_the_version_before_is_found_there(tmp_path: Path) -> None:
    console = Console(tmp_path).found().frozen()
    assert console.here(*OPENED, "--acceptance", BAR).code == 0
    file = console.home / "piper-self.toml"
    file.write_text(file.read_text().replace("piper-self@v1", "piper-self@v2"))
    assert console.here("suite", "freeze", file).code == 0
    latest = ("--suite", "piper-self@v2", "--id", "d-1", "--horizon", "24h")
    shown = console.here("seal", *latest, "-p", "0.8")
    assert shown.code == 2
    assert "it is open in piper-self@v1, which --suite names" in shown.stderr
    sealed = console.here("seal", "--id", "d-1", "-p", "0.8")
    assert "Taken as meant: --suite piper-self@v1, " in sealed.stderr
    assert sealed.code == 0
    # Who asks it again asks it in what is in force.
    again = console.here(*OPENED, "--acceptance", BAR)
    assert "Taken as meant: --suite piper-self@v2, " in again.stderr
    assert again.code == 0
    both = console.here("update", "--id", "d-1", "-p", "0.7").stderr
    assert "d-1 is open are piper-self@v1 and piper-self@v2" in both


def test_an_empty_stdin_is_called_empty(console: Console) -> None:
    shown = console.here("seal", "-", stdin="\n")
    assert shown.code == 2
    assert "nothing stands here, and a draft is one JSON object" in shown.stderr


def test_an_inbox_in_which_nothing_waits_says_so(console: Console) -> None:
    shown = console.here("inbox", "--json")
    assert (shown.code, shown.stdout) == (0, "")
    assert f"No file waits in {console.ledger / 'inbox'}." in shown.stderr
