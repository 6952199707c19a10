"""What goes wrong: one sentence, one exit code, and never a traceback."""

import errno
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.anchor import HighWaterMark
from ledger.cli import failure
from ledger.cli.context import find_ledger, state_home
from ledger.cli.main import main
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.writer import Writer
from tests.console import Console
from tests.court import BAR
from tests.source_tree import REPOSITORY

PROGRAM = "from ledger.cli.main import main; main()"
ERRORS: dict[str, tuple[LedgerError, int, str]] = {
    "a refusal": (RefusedError("sum-not-one", "it sums to 2"), 2, "sum-not-one"),
    "a misuse": (UsageError("no such ledger"), 2, "usage"),
    "a falsehood": (CorruptLogError("a hash is wrong", seq=3), 1, "corrupt-log"),
    "the unknown": (WriterStoppedError("restart"), 1, "writer-stopped"),
    "the unchecked": (UncheckableError("a key is missing"), 3, "uncheckable"),
}


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found()


@pytest.mark.parametrize(("error", "code", "name"), ERRORS.values(), ids=ERRORS)
def test_every_error_has_an_exit_code_and_a_name(
    error: LedgerError, code: int, name: str
) -> None:
    assert failure.exit_code(error) == code
    assert failure.described(error)["code"] == name


@pytest.mark.parametrize(("error", "code", "name"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_a_sentence_for_people_and_an_object_for_programs(
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
    error: LedgerError,
    code: int,
    name: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("ledger.cli.status.standing", fail)
    shown = console.here("status")
    assert (shown.code, shown.stdout) == (code, "")
    assert len(shown.stderr.splitlines()) == 1
    assert str(error) in shown.stderr
    told = console.here("status", "--json")
    assert (told.code, told.stderr) == (code, "")
    assert told.object["error"]["code"] == name
    assert told.object["error"]["message"] in str(error)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sael"], "Did you mean 'seal'?"),
        (["rows", "--sute", "x"], "--sute"),
        (["log", "--since", "x"], "--since"),
        (["daemon", "strat"], "Did you mean 'start'"),
        (["init", "demo"], "Missing option '--origin'"),
        (["checkpoint", "extra"], "(extra)"),
    ],
)
def test_a_misspelt_word_is_an_object_with_json_and_a_sentence_without(
    console: Console, words: list[str], says: str
) -> None:
    told = console.run(*words, "--json")
    assert (told.code, told.stderr) == (2, "")
    assert told.object["error"]["code"] == "usage"
    assert says in told.object["error"]["message"]
    shown = console.run(*words)
    assert (shown.code, shown.stdout) == (2, "")
    assert says in shown.stderr


def test_the_json_of_the_command_that_is_run_is_not_this_ones(
    console: Console,
) -> None:
    shown = console.run("run", "--sute", "x", "--", "program", "--json")
    assert (shown.code, shown.stdout) == (2, "")
    assert "--sute" in shown.stderr


def test_an_error_of_the_system_is_a_sentence_too(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "log.db")

    monkeypatch.setattr("ledger.cli.status.standing", fail)
    shown = console.here("status")
    assert (shown.code, shown.stderr) == (2, "error: log.db: Permission denied\n")


HALF = "a\udcffb"  # what Python makes of an argument b"a\xffb"
NO_TEXT: dict[str, tuple[str, ...]] = {
    "an id that is recorded": (
        "resolve", "--status", "PENDING", "--id", HALF, "--cutoff", "+1h",
        "--resolve-by", "+2h", "--acceptance", BAR,
    ),
    "an id that is looked up": ("lineage", HALF),
    "a horizon": ("lineage", "--horizon", HALF),
    "a bundle's folder": ("export", HALF),
    "a new ledger": ("init", HALF, "--origin", "example.org/x"),
    "a ledger": ("status", "--ledger", HALF),
    "a ledger to write to": ("append", "-", "--ledger", HALF),
}  # fmt: skip


@pytest.mark.parametrize("words", NO_TEXT.values(), ids=NO_TEXT)
def test_an_argument_that_is_no_utf_8_is_shown_and_changes_nothing(
    console: Console, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    console.frozen()
    if words[-2] == "--ledger":
        shutil.copytree(console.ledger, console.home / HALF)
    monkeypatch.chdir(console.home)
    before = {*console.home.iterdir()}
    where = () if {"init", "--ledger"} & {*words} else ("--ledger", console.ledger)
    shown = console.run(*words, *where)
    assert (shown.code, shown.stdout) == (2, "")
    assert len(shown.stderr.splitlines()) == 1
    assert r"'a\udcffb" in shown.stderr
    assert "is no UTF-8" in shown.stderr
    told = console.run(*words, *where, "--json")
    assert (told.code, told.stderr) == (2, "")
    assert told.object["error"]["code"] == "usage"
    assert "is no UTF-8" in told.object["error"]["message"]
    assert {*console.home.iterdir()} == before
    assert console.here("status", "--json").object["entries"] == 2


def test_a_file_whose_name_is_no_utf_8_is_read_and_written(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(console.frozen().home)
    (console.home / "piper-self.toml").rename(HALF)
    assert console.here("suite", "check", HALF).code == 0
    assert console.here("export", f"{HALF}.jsonl", "--format", "rows").code == 0
    assert (console.home / f"{HALF}.jsonl").is_file()


def test_text_of_the_program_s_own_that_is_no_utf_8_is_a_fault(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        "\ud800".encode()

    monkeypatch.setattr("ledger.cli.status.standing", crash)
    with pytest.raises(UnicodeEncodeError):
        console.here("status")


TWICE: dict[str, tuple[tuple[str, ...], str]] = {
    "two values": (("rows", "--suite", "a", "--suite=b"), "--suite stands twice"),
    "the same value": (("seal", "--id", "a", "--id", "a"), "--id stands twice"),
    "a number": (("log", "--limit", "1", "--limit", "2"), "--limit stands twice"),
    "in a group": (
        ("suite", "new", "x", "--track", "self", "--track", "world"),
        "--track stands twice",
    ),
    "after the command": (("rows", "--ledger", "a", "--ledger", "b"), "--ledger"),
    "a flag and its opposite": (
        ("hook", "install", "claude", "--gate", "--record"),
        "--record and --gate exclude each other",
    ),
    "two ways to print": (
        ("rows", "--front", "brier", "--explain", "brier"),
        "--front and --explain print different things",
    ),
}


@pytest.mark.parametrize(("words", "says"), TWICE.values(), ids=TWICE)
def test_of_two_words_none_is_dropped_in_silence(
    console: Console, words: tuple[str, ...], says: str
) -> None:
    shown = console.run(*words)
    assert (shown.code, shown.stdout) == (2, "")
    assert says in shown.stderr
    told = console.run(*words, "--json")
    assert (told.code, told.stderr) == (2, "")
    assert says in told.object["error"]["message"]


def test_what_may_be_repeated_is_heard_each_time(console: Console) -> None:
    console.frozen()
    assert console.here("rows", "--by", "slot", "--by", "target").code == 0
    assert console.here("status", "--json", "--json").object["entries"] == 2
    assert "Usage" in console.must("rows", "--suite", "a", "--suite", "b", "-h").stdout
    # What stands behind `--` is another program's.
    shown = console.here("run", "-p", "0.8", "--", "x", "--suite", "a", "--suite", "b")
    assert "stands twice" not in shown.stderr
    shown = console.run("--ledger", "a", "--ledger", "b", "rows")
    assert "--ledger stands twice, and takes one value" in shown.stderr


def test_an_interrupt_ends_quietly(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ledger.cli.status.standing", interrupt)
    shown = console.here("status")
    assert (shown.code, shown.stdout, shown.stderr) == (130, "", "")


def test_a_fault_of_the_program_is_not_hidden(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("ledger.cli.status.standing", crash)
    with pytest.raises(AssertionError):
        console.here("status")


def test_no_receipt_is_printed_for_what_may_not_be_durable(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = console.must("suite", "new", "w", "--track", "world").stdout
    (console.home / "w.toml").write_text(text)
    draft = '{"type":"SuiteFrozen","author":"evaluator","file":"w.toml"}\n'
    (console.home / "drafts.jsonl").write_text("nonsense\n" + draft)

    def fail(_: Writer) -> None:
        msg = "the disk failed"
        raise WriterStoppedError(msg)

    monkeypatch.setattr(Writer, "commit", fail)
    shown = console.here("append", console.home / "drafts.jsonl", "--json")
    assert shown.code == 1
    error = shown.object["error"]
    assert error["code"] == "writer-stopped"
    assert (
        error["message"] == "lines 1 to 2 may or may not be in the log: the disk failed"
    )


def test_a_mark_that_may_not_be_written_is_named_and_no_disk_is_blamed(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "state/head")

    monkeypatch.setattr(HighWaterMark, "raise_to", fail)
    text = console.must("suite", "new", "other", "--track", "world").stdout
    shown = console.here("suite", "freeze", "-", stdin=text)
    assert shown.code == 1
    assert "state/head cannot be written (Permission denied)" in shown.stderr
    assert "let this user write there, then try again; `ledger log`" in shown.stderr


def test_a_second_writer_is_told_that_there_is_one(console: Console) -> None:
    from ledger.cli.context import writing
    from ledger.folder import Folder

    with writing(Folder(console.ledger)):
        shown = console.here("append", "-", stdin="{}")
    assert shown.code == 2
    assert "another process writes to" in shown.stderr


# --- Which ledger ---------------------------------------------------------------------


def test_a_ledger_is_named_before_or_after_the_command(console: Console) -> None:
    after = console.must("status", "--ledger", console.ledger, "--json")
    before = console.must("--ledger", console.ledger, "status", "--json")
    group = console.must("--ledger", console.ledger, "suite", "list", "--json")
    assert before.stdout == after.stdout
    assert group.stdout == ""


def test_what_is_said_after_the_command_counts(console: Console) -> None:
    nowhere = console.home / "none"
    console.must("--ledger", nowhere, "status", "--ledger", console.ledger)
    assert console.run("--ledger", nowhere, "status").code == 2


def test_the_environment_and_the_current_folder_name_a_ledger(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(console.ledger)
    assert console.run("status").code == 0
    assert find_ledger(None).path == Path()
    monkeypatch.chdir(console.home)
    shown = console.run("status")
    assert shown.code == 2
    assert "--ledger DIR or LEDGER_DIR" in shown.stderr


def test_an_empty_name_of_a_ledger_means_no_other_one(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(console.ledger)
    for words in (("status", "--ledger", ""), ("--ledger", "", "status")):
        shown = console.run(*words)
        assert (shown.code, shown.stdout) == (2, "")
        assert "name the ledger's folder, or leave --ledger out" in shown.stderr
        told = console.run(*words, "--json")
        assert "it is empty" in told.object["error"]["message"]
    console.must("--ledger", "", "status", "--ledger", console.ledger)


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ledger.cli.main import main; main()", *words],
        capture_output=True, check=False, text=True, cwd=REPOSITORY,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_a_process_reads_its_environment(console: Console) -> None:
    done = run("status", "--json", LEDGER_DIR=str(console.ledger))
    assert done.returncode == 0
    assert done.stderr == ""
    assert '"entries":1' in done.stdout


def test_a_closed_pipe_ends_a_command_quietly(console: Console) -> None:
    console.frozen()
    opened = {
        "type": "ResolutionRecorded", "author": "issuer", "suite": "piper-self@v1",
        "status": "PENDING",
    }  # fmt: skip
    drafts = [
        {
            **opened,
            "question": {
                "template": "dispatch-pass", "id": f"d-{number}", "horizon": "24h",
                "opened_at": "now", "cutoff_at": "+1h", "resolve_by": "+2h",
                "acceptance_hash": BAR,
            },
        }
        for number in range(400)
    ]  # fmt: skip
    assert console.append(*drafts).code == 0
    program = "from ledger.cli.main import main; main()"
    command = [sys.executable, "-c", program, "log", "--json"]
    with subprocess.Popen(
        [*command, "--ledger", str(console.ledger)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


@pytest.mark.parametrize("words", ["--help", "--version", "keys --help", "rows --help"])
def test_a_closed_pipe_ends_help_quietly(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words.split()],
            stdout=writer, stderr=subprocess.PIPE, check=False, cwd=REPOSITORY,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


FULL = Path("/dev/full")


def into_full(
    console: Console, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the console's ledger; what it prints is taken by nobody."""
    with FULL.open("w") as full:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            input="{}\n", stdout=full, stderr=subprocess.PIPE, check=False, text=True,
            cwd=REPOSITORY,
            env={**os.environ, "LEDGER_DIR": str(console.ledger), **environment},
        )  # fmt: skip


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
@pytest.mark.parametrize("is_buffered", [True, False])
@pytest.mark.parametrize(
    "words",
    [
        ["rows", "--json"],
        ["append", "-", "--json"],
        ["append", "-"],
        ["log"],
        ["log", "--json"],
        ["suite", "show", "none", "--json"],
        ["suite", "new", "longer-than-the-buffer"],
        ["--version"],
        ["--help"],
        ["rows", "--help"],
    ],
)
def test_an_output_that_is_full_is_one_sentence(
    console: Console, words: list[str], *, is_buffered: bool
) -> None:
    done = into_full(console, *words, PYTHONUNBUFFERED="" if is_buffered else "1")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    if not {"--help", "--version", "none"} & {*words}:
        assert "the output cannot be written" in done.stderr


GREW = "{} has 1 entry more than before, which `ledger log` shows"


def suite_file(console: Console) -> Path:
    file = console.home / "new.toml"
    file.write_text(console.must("suite", "new", "new", "--track", "self").stdout)
    return file


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
def test_who_gets_no_receipt_is_told_that_it_was_written(
    console: Console, more: tuple[str, ...]
) -> None:
    words = ["suite", "freeze", str(suite_file(console)), *more]
    said = []
    for _ in range(2):
        done = into_full(console, *words, XDG_STATE_HOME=str(console.home))
        said.append((done.returncode, GREW.format(console.ledger) in done.stderr))
    # The second time it is frozen already: nothing is written.
    assert said == [(1, True), (2, False)]


def test_who_interrupts_between_commit_and_receipt_is_told_that_it_was_written(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    file = suite_file(console)
    with monkeypatch.context() as patched:
        patched.setattr("ledger.cli.suite.submit", interrupt)
        before = console.here("suite", "freeze", file)
    with monkeypatch.context() as patched:
        patched.setattr("ledger.cli.suite.print_receipt", interrupt)
        after = console.here("suite", "freeze", file)

    grew = GREW.format(console.ledger)
    assert (before.code, grew in before.stderr) == (130, False)
    assert (after.code, grew in after.stderr) == (130, True)
    assert console.here("status").code == 0


def test_a_writer_that_stops_after_its_commit_says_that_it_was_written(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "mark")

    monkeypatch.setattr(HighWaterMark, "raise_to", fail)
    shown = console.here("suite", "freeze", suite_file(console))

    assert shown.code == 1
    assert GREW.format(console.ledger) in shown.stderr


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
def test_what_fails_after_a_commit_says_that_it_was_written(
    console: Console, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link", "a.json")

    monkeypatch.setattr("ledger.cli.suite.print_receipt", fail)
    shown = console.here("suite", "freeze", suite_file(console), *more)

    said = f"a.json: Invalid cross-device link; {GREW.format(console.ledger)}"
    assert shown.code == 1
    if more:
        assert shown.object["error"] == {"code": "writer-stopped", "message": said}
    else:
        assert said in shown.stderr


@pytest.mark.parametrize("words", ["checkpoint", "rows --json", "--version", "--help"])
def test_a_closed_output_is_refused_before_anything_is_done(
    console: Console, words: str
) -> None:
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)} {words} >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        stderr=subprocess.PIPE, check=False, text=True, cwd=REPOSITORY,
        env={**os.environ, "LEDGER_DIR": str(console.ledger)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "error: standard output is closed: send it to a file or /dev/null\n"
    )


def test_an_interrupt_of_the_start_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "ledger.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "ledger.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    monkeypatch.setattr(sys, "argv", ["ledger", "status"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("stated", "is_taken"), [("/somewhere", True), ("somewhere", False), ("", False)]
)
def test_only_an_absolute_state_home_counts(
    monkeypatch: pytest.MonkeyPatch, stated: str, *, is_taken: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", stated)
    assert (state_home() == Path(stated)) is is_taken
    assert state_home().is_absolute()
