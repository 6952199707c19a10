"""Files of a ledger that somebody put in another's place, or wrote nonsense into.

No command waits for a pipe for ever or ends in a traceback, and what is disposable is
made again instead of being believed.
"""

import io
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.blobs import BLOB_BYTES_MAX, BlobFolder
from ledger.cli.app import run
from ledger.clock import system_clock
from ledger.daemon.journal import Journal
from ledger.errors import CorruptLogError
from ledger.keys.signing import new_signer
from ledger.projections.audit import verify_ledger
from tests.console import Console
from tests.forger import Forger
from tests.workshop import Workshop

OPENED = {
    "template": "dispatch-pass",
    "id": "d-1",
    "horizon": "24h",
    "opened_at": "now",
    "cutoff_at": "+1h",
    "resolve_by": "+24h",
    "acceptance_hash": "ab" * 32,
}
DRAFT = {
    "type": "ResolutionRecorded",
    "author": "issuer",
    "suite": "piper-self@v1",
    "status": "PENDING",
    "question": OPENED,
}


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.chdir(tmp_path)
    console = Console(tmp_path).found().frozen()
    assert console.append(DRAFT).code == 0
    assert console.here("rows", "--json").code == 0
    return console


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "workshop").found().fill(3)


# --- Pipes where files should be ------------------------------------------------------

PIPES: dict[str, Callable[[Console], Path]] = {
    "clock": lambda console: console.ledger / "clock",
    "lock": lambda console: console.ledger / "lock",
    "index.db": lambda console: console.ledger / "index.db",
    "projections.db": lambda console: console.ledger / "projections.db",
    "the high-water mark": lambda console: next(console.home.glob("state/*/*/head")),
    "a key file": lambda console: console.ledger / "keys" / "issuer.key",
}


@pytest.mark.parametrize("place", PIPES.values(), ids=PIPES)
def test_no_command_waits_for_a_pipe(
    console: Console, place: Callable[[Console], Path]
) -> None:
    path = place(console)
    path.unlink()
    os.mkfifo(path, 0o600)
    for words in (("status",), ("verify",), ("doctor",), ("rows",), ("keys", "list")):
        assert console.here(*words).code in {0, 1, 2, 3}
    assert console.append(DRAFT).code in {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["index.db", "projections.db"])
@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_link_to_the_log_in_the_place_of_a_disposable_file_is_refused(
    console: Console, name: str, beside: str, link: Callable[[Path, Path], None]
) -> None:
    log, path = console.ledger / "log.db", console.ledger / f"{name}{beside}"
    path.unlink(missing_ok=True)
    link(log, path)
    before = log.read_bytes()
    words = ("rows",) if name == "projections.db" else ("append", "-")
    done = console.here(*words, stdin=json.dumps(DRAFT))
    assert done.code == 3
    assert f"{path.name} is a link: remove it" in done.stdout + done.stderr
    assert log.read_bytes() == before
    path.unlink()
    assert console.here("verify").code == 0


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
def test_nobody_waits_for_a_pipe_beside_a_disposable_file(
    console: Console, beside: str
) -> None:
    path = console.ledger / f"projections.db{beside}"
    os.mkfifo(path, 0o600)
    done = console.here("rows")
    assert done.code == 3
    assert f"{path.name} is no file: remove it" in done.stdout + done.stderr


def test_a_pipe_for_a_key_is_refused_by_its_name(console: Console) -> None:
    path = PIPES["a key file"](console)
    path.unlink()
    os.mkfifo(path, 0o600)
    said = console.here("append", "-", stdin='{"type":"ResolutionRecorded"}')
    assert said.code == 2
    assert "issuer.key" in said.stdout + said.stderr


def test_a_pipe_for_a_pinned_file_is_named_and_not_waited_for(console: Console) -> None:
    text = console.must("suite", "new", "pinning", "--track", "self").stdout
    file = console.home / "pinning.toml"
    file.write_text(f'{text}\n[pins]\n"run.sh" = "{"ab" * 32}"\n')
    os.mkfifo(console.home / "run.sh")
    checked = console.here("suite", "check", file)
    assert (checked.code, "run.sh" in checked.stderr) == (0, True)
    refused = console.here("suite", "freeze", file)
    assert (refused.code, "run.sh" in refused.stderr) == (2, True)


def test_a_pipe_for_the_daemon_s_log_is_named_and_not_waited_for(
    console: Console,
) -> None:
    os.mkfifo(console.ledger / "daemon.log")
    refused = console.here("daemon", "start")
    assert (refused.code, "daemon.log" in refused.stderr) == (3, True)


def test_a_blob_that_is_longer_than_a_blob_may_be_is_not_read(tmp_path: Path) -> None:
    digest = BlobFolder(tmp_path).keep(b"bytes")
    assert BlobFolder(tmp_path).get(digest) == b"bytes"
    with (tmp_path / digest).open("r+b") as file:
        file.truncate(BLOB_BYTES_MAX + 1)
    assert BlobFolder(tmp_path).get(digest) is None


# --- projections.db -------------------------------------------------------------------

NOT_TEXT = "CAST(x'ff' AS TEXT)"
NONSENSE = {
    "a cell that is no text": f"UPDATE questions SET target = {NOT_TEXT}",
    "a row that is no text": f"UPDATE rows SET row = {NOT_TEXT}",
    "a row that is none": "UPDATE rows SET row = '{}'",
    "no suites": "DELETE FROM suites",
    "a suite that there is not": "INSERT INTO suites VALUES ('evil@v1', 3, 3, 3)",
    "a suite from elsewhere in the log": "UPDATE suites SET seq = 2 WHERE seq = 1",
    "a place before the log": "UPDATE state SET position = -1",
    "a place after the log": "UPDATE state SET position = 99",
}


def edited(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(sql)
        database.commit()


@pytest.mark.parametrize("sql", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_in_the_tables_is_named_and_never_a_traceback(
    console: Console, sql: str
) -> None:
    honest = console.here("rows", "--json").object
    edited(console.ledger / "projections.db", sql)
    verified = console.here("verify", "--json").object
    named = {each["name"]: each["ok"] for each in verified["checks"]}
    assert (named["projections"], named["rules"], named["tree"]) == (False, True, True)
    shown = console.here("rows", "--json")
    assert (shown.code, shown.code == 0) in {(0, True), (3, False)}
    if shown.code == 0:
        assert shown.object == honest
    assert console.here("status").code in {0, 3}


def test_damaged_pages_are_named_and_never_a_traceback(console: Console) -> None:
    path = console.ledger / "projections.db"
    content = bytearray(path.read_bytes())
    for place in range(8_192, len(content), 997):
        content[place] ^= 0xFF
    path.write_bytes(content)
    assert console.here("verify").code == 1
    for words in (("rows",), ("status",), ("doctor",)):
        assert console.here(*words).code in {0, 1, 3}


# --- index.db -------------------------------------------------------------------------

INDEX_EDITS = {
    "without any suite": "DELETE FROM frozen",
    "without one suite": "DELETE FROM frozen WHERE seq = 1",
    "with a table more": "CREATE TABLE more(one)",
    "with a view for a table": "DROP TABLE asked; CREATE VIEW asked AS SELECT 1 question, 2 name",
    "with a trigger": "CREATE TRIGGER t AFTER INSERT ON units BEGIN SELECT 1; END",
}


@pytest.mark.parametrize("sql", INDEX_EDITS.values(), ids=INDEX_EDITS)
def test_an_index_that_is_not_whole_is_made_again(workshop: Workshop, sql: str) -> None:
    with closing(sqlite3.connect(workshop.folder.index)) as database:
        database.executescript(sql)
    with workshop.writer() as writer:
        assert set(writer.state.suites) == {"workshop@v1"}
    workshop.fill(1, first=10)
    assert verify_ledger(workshop.folder).exit_code == 0


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE frozen SET seq = 2 WHERE seq = 1",
        "UPDATE frozen SET seq = 99 WHERE seq = 1",
    ],
    ids=["another entry for a suite", "an entry that there is not"],
)
def test_an_index_with_another_suite_says_what_to_delete(
    workshop: Workshop, sql: str
) -> None:
    edited(workshop.folder.index, sql)
    with pytest.raises(CorruptLogError, match="delete it"), workshop.writer():
        pass


def test_an_index_without_a_size_is_made_again(workshop: Workshop) -> None:
    edited(workshop.folder.index, "UPDATE position SET size = NULL")
    workshop.fill(1, first=10)
    assert verify_ledger(workshop.folder).exit_code == 0


UNITS_EDITS = {
    "without a unit": "DELETE FROM units WHERE name LIKE '%0000001%'",
    "without any": "DELETE FROM units; DELETE FROM asked",
    "with a unit more": "INSERT INTO units SELECT name || 'x', unit FROM units LIMIT 1",
    "with another unit's memory": "UPDATE units SET unit = (SELECT unit FROM units LIMIT 1)",
    "without a question": "DELETE FROM asked WHERE question = "
    "(SELECT max(question) FROM asked)",
}


@pytest.mark.parametrize("sql", UNITS_EDITS.values(), ids=UNITS_EDITS)
def test_an_audit_names_an_index_that_was_edited(workshop: Workshop, sql: str) -> None:
    before = verify_ledger(workshop.folder)
    assert before.check("index").ok
    with closing(sqlite3.connect(workshop.folder.index)) as database:
        database.executescript(sql)
    report = verify_ledger(workshop.folder)
    assert report.exit_code == 1
    assert [each.name for each in report.checks if each.ok is False] == ["index"]
    assert "delete it" in report.check("index").detail
    workshop.folder.index.unlink()
    assert verify_ledger(workshop.folder).exit_code == 0


def test_a_longer_fork_of_the_log_is_not_written_to(
    workshop: Workshop, tmp_path: Path
) -> None:
    short = Forger(workshop, tmp_path / "short").folder
    workshop.fill(1, first=20)
    fork = Workshop(tmp_path / "workshop")
    fork.folder, fork.ledger, fork.state_home = (
        short,
        workshop.ledger,
        tmp_path / "other",
    )
    fork.wait(days=1)
    fork.fill(3, first=30)
    fork.state_home = workshop.state_home
    with pytest.raises(CorruptLogError, match="was rewritten"), fork.writer():
        pass


def test_the_doctor_sees_a_longer_fork_too(console: Console, tmp_path: Path) -> None:
    copy, event_id = tmp_path / "copy", console.here("log", "--json").objects[-1]
    shutil.copytree(console.ledger, copy)
    again = {**DRAFT, "supersedes": event_id["event_id"]}
    assert console.append(again).code == 0
    other = Console(tmp_path / "elsewhere")
    for note in ("one", "two"):
        last = other.run("log", "--json", "--ledger", copy).objects[-1]["event_id"]
        draft = json.dumps({**DRAFT, "note": note, "supersedes": last})
        assert other.run("append", "-", "--ledger", copy, stdin=draft).code == 0
    shown = console.run("doctor", "--json", "--ledger", copy)
    assert shown.code == 1
    assert "this machine remembers another log of 4 entries" in shown.stdout
    assert console.run("append", "-", "--ledger", copy, stdin=draft).code == 1


def test_a_unit_that_the_index_cannot_read_says_what_to_delete(
    workshop: Workshop,
) -> None:
    edited(workshop.folder.index, "UPDATE units SET unit = x'00'")
    name = '["workshop@v1","dispatch-pass","dispatch-0000001","24h"]'
    with (
        workshop.writer() as writer,
        pytest.raises(CorruptLogError, match=r"index\.db is damaged .* delete it"),
    ):
        writer.state.units.named(name)


# --- log.db and the mark --------------------------------------------------------------


def test_a_head_that_is_no_text_is_named(console: Console) -> None:
    edited(console.ledger / "log.db", f"UPDATE head SET note = {NOT_TEXT}")
    for words in (("rows",), ("status",), ("append", "-")):
        shown = console.here(*words, stdin="")
        assert shown.code == 1
        assert "the head of log.db is no text" in shown.stderr


def test_a_mark_that_is_no_text_is_named(console: Console) -> None:
    PIPES["the high-water mark"](console).write_bytes(b"\xff\xfe")
    assert console.append(DRAFT).code in {1, 2, 3}
    assert console.here("verify").code == 3


def test_taking_out_the_stored_checkpoints_is_seen(
    workshop: Workshop, tmp_path: Path
) -> None:
    forger = Forger(workshop, tmp_path)
    assert verify_ledger(forger.folder).exit_code == 0
    with forger.editing() as log:
        log.execute("DELETE FROM checkpoints")
    report = verify_ledger(forger.folder)
    [found] = [each for each in report.checks if each.name == "checkpoints"]
    assert report.exit_code == 1
    assert found.detail.startswith("no checkpoint of size 1 is stored")


# --- What people see ------------------------------------------------------------------

LINE = new_signer("resolver", bytes(range(32))).line()


@pytest.mark.parametrize(
    "words",
    [
        (LINE,),
        ("rows", LINE),
        ("suite", LINE),
        (f"--{LINE}",),
        ("rows", "--json", LINE),
    ],
    ids=["a command", "an argument", "a subcommand", "an option", "with --json"],
)
def test_a_private_key_among_the_arguments_is_not_repeated(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        run(words)
    shown = capsys.readouterr()
    assert exited.value.code == 2
    assert "an argument holds a private key" in shown.err
    assert LINE.rpartition("+")[2] not in shown.out + shown.err


def test_a_private_key_is_never_sealed(console: Console) -> None:
    refused = console.append({**DRAFT, "note": f"mine is {LINE}"})
    assert refused.object["error"]["code"] == "secret-in-event"
    assert LINE not in refused.stdout + refused.stderr


@pytest.mark.parametrize("draft", [{"type": LINE}, {LINE: 1, **DRAFT}])
def test_signing_repeats_no_private_key_either(
    console: Console, draft: dict[str, object]
) -> None:
    shown = console.here("sign", "-", stdin=json.dumps(draft))
    assert shown.code == 2
    assert LINE[:60] not in shown.stdout + shown.stderr


STEERING = "\u009b31m \u202e \u2066 \u200b \u2028 \U000e0041"


def test_json_steers_no_terminal_and_is_the_same_value(console: Console) -> None:
    event_id = console.here("log", "--json").objects[-1]["event_id"]
    more = {**DRAFT, "note": STEERING, "supersedes": event_id}
    assert console.append(more).code == 0
    shown = console.here("log", "--json")
    assert shown.objects[-1]["payload"]["note"] == STEERING
    assert not any(char in shown.stdout for char in STEERING.replace(" ", "")[0:1])
    assert all(line.isprintable() for line in shown.stdout.splitlines())


@pytest.mark.parametrize("form", ["metrics", "targetspace"])
def test_rows_in_others_formats_steer_no_terminal(console: Console, form: str) -> None:
    at = {"opened_at": "-3h", "cutoff_at": "-1h"}
    question = {**OPENED, **at, "id": "d-2", "target": STEERING}
    assert console.append({**DRAFT, "question": question}).code == 0
    by = ("--by", "target") if form == "metrics" else ()
    shown = console.here("export", "-", "--format", form, *by)
    assert shown.code == 0
    assert all(line.isprintable() for line in shown.stdout.splitlines())
    if form == "metrics":
        assert any(STEERING in point["path"] for point in shown.objects)


def test_a_journal_s_lines_are_utf_8_and_steer_no_terminal() -> None:
    written = io.StringIO()
    half = os.fsdecode(b"n\xff")
    Journal(written, system_clock).warn("inbox-file", name=STEERING, kept_as=[half])
    assert written.getvalue().rstrip("\n").isprintable()
    noted = json.loads(written.getvalue().encode("utf-8"))
    assert (noted["name"], noted["kept_as"]) == (STEERING, [r"n\udcff"])
