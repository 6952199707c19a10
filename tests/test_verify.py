"""`ledger verify`: what it answers, with which exit code, and what it needs for that."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from sqlite3 import connect
from typing import Any

import msgspec
import pytest

from ledger.checkpoint import Checkpoint, cosign, sign_checkpoint
from ledger.errors import UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.keys.signing import COSIGNATURE, SignerKey, new_signer
from ledger.merkle import EMPTY_ROOT
from ledger.projections.audit import Options, Report, verify_ledger
from ledger.projections.audit_report import (
    ANCHORS,
    CHECKS,
    COVERED,
    CROSSCHECK,
    Check,
    holds,
    is_false,
    unasked,
    uncheckable,
)
from ledger.store_opening import open_store
from tests.console import Console, Shown
from tests.forger import Forger, copied
from tests.workshop import ORIGIN, Workshop, key_of, signed_bytes, suite_manifest

LOG_CHECKS = (
    "storage",
    "entries",
    "tree",
    "checkpoints",
    "signatures",
    "rules",
    "index",
)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


@pytest.fixture
def copy(workshop: Workshop, tmp_path: Path) -> Folder:
    """A copy of it."""
    return copied(workshop.folder, tmp_path / "copy")


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """A command line whose machine remembers no ledger."""
    return Console(tmp_path)


def said(report: Report, name: str) -> str:
    return report.check(name).detail


# --- The report -----------------------------------------------------------------------


def test_every_check_stands_in_the_report_in_its_order(workshop: Workshop) -> None:
    report = verify_ledger(workshop.folder)

    assert tuple(check.name for check in report.checks) == CHECKS
    assert all(report.check(name).ok is True for name in LOG_CHECKS)
    asked_for = set(CHECKS) - set(LOG_CHECKS)
    assert all(report.check(name).ok is None for name in asked_for)
    assert {name for name in CHECKS if report.check(name).covered} == set(LOG_CHECKS)


def test_the_report_s_json_is_the_contract(workshop: Workshop) -> None:
    options = Options(findings=True, genesis=workshop.ledger)
    found = json.loads(
        msgspec.json.encode(verify_ledger(workshop.folder, options).as_json())
    )

    assert list(found) == ["ok", "anchor", "entries", "root", "checks", "findings"]
    assert found["ok"] is True
    assert found["anchor"] == "genesis"
    assert found["entries"] == 12
    assert found["root"] == workshop.receipts[-1].checkpoint.splitlines()[2]
    for check in found["checks"]:
        assert list(check) == ["name", "ok", "covered", "detail"]
        assert check["ok"] in {True, False, None}
        assert isinstance(check["covered"], int)
        assert check["detail"]
    [finding] = found["findings"]
    assert list(finding) == ["seq", "rule", "subject", "message"]
    assert (finding["seq"], finding["rule"]) == (11, "amended")


def test_findings_are_facts_and_no_failures(workshop: Workshop, tmp_path: Path) -> None:
    late = Workshop(tmp_path).found()
    question = late.question(1)
    late.append(late.opened(question))
    late.wait(hours=3)
    late.append(late.sealed(late_hash(late), 40))
    report = verify_ledger(late.folder, Options(findings=True))

    assert report.exit_code == 0
    assert [finding.rule for finding in report.findings] == ["late"]
    assert verify_ledger(workshop.folder).findings == ()


def late_hash(workshop: Workshop) -> str:
    store = open_store(workshop.folder.log, read_only=True)
    (row,) = store.rows_at([2])
    store.close()
    found: str = json.loads(row.payload)["question_hash"]
    return found


def test_a_log_with_nothing_to_remark_has_no_findings(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().fill(2)
    assert verify_ledger(workshop.folder, Options(findings=True)).findings == ()


EXIT_CODES = {
    "all holds": (0, [holds("entries", 1), unasked("key")]),
    "nothing was asked": (0, [unasked("key")]),
    "something is false": (1, [holds("entries", 1), is_false("tree", 1, "why")]),
    "something could not be checked": (3, [uncheckable("rules", 1, "why")]),
    "what is false weighs more than what could not be checked": (
        1,
        [uncheckable("rules", 1, "why"), is_false("tree", 1, "why")],
    ),
}


@pytest.mark.parametrize(("code", "checks"), EXIT_CODES.values(), ids=EXIT_CODES)
def test_an_exit_code_says_the_worst(code: int, checks: list[Check]) -> None:
    report = Report(entries=1, root="", checks=tuple(checks))
    assert report.exit_code == code
    assert report.as_json()["ok"] is (code == 0)


@pytest.mark.parametrize("name", ANCHORS)
def test_an_anchor_counts_whether_it_held_or_not(name: str) -> None:
    for check in (holds(name, 1), is_false(name, 1, "why")):
        assert Report(entries=1, root="", checks=(check,)).anchor == name
    for check in (unasked(name), uncheckable(name, 0, "why")):
        assert Report(entries=1, root="", checks=(check,)).anchor == "none"


def test_each_check_says_what_it_counts() -> None:
    assert set(COVERED) == {*CHECKS, CROSSCHECK}


def test_progress_goes_from_the_first_entry_to_the_last(workshop: Workshop) -> None:
    seen: list[tuple[str, int, int]] = []
    verify_ledger(
        workshop.folder,
        Options(findings=True),
        lambda stage, done, whole: seen.append((stage, done, whole)),
    )
    assert ("entries", 12, 12) in seen
    assert ("events folded", 12, 12) in seen


# --- Anchors --------------------------------------------------------------------------


def test_all_four_anchors_hold_together(workshop: Workshop) -> None:
    report = verify_ledger(
        workshop.folder,
        Options(
            against=workshop.receipts[4].checkpoint,
            key=workshop.log_key.verifier,
            genesis=workshop.ledger,
            state_home=workshop.state_home,
        ),
    )
    assert report.exit_code == 0
    assert report.anchor == "against, key, genesis, local-mark"
    assert report.check("against").covered == 5
    assert report.check("local-mark").covered == 12


AGAINST = {
    "of another log": ("is of 'example.org/other'", False),
    "that this log's key never signed": ("no key of", False),
    "that is no note": ("no checkpoint note", None),
}


@pytest.mark.parametrize(("words", "ok"), AGAINST.values(), ids=AGAINST)
def test_a_checkpoint_to_compare_with(
    workshop: Workshop, words: str, *, ok: bool | None
) -> None:
    kept = workshop.receipts[4].checkpoint
    note = {
        "is of": kept.replace(ORIGIN, "example.org/other"),
        "no key": kept.partition("\n\n")[0] + "\n\n— somebody AAAAAAAA\n",
        "no che": "what did I keep?",
    }[words[:6].rstrip()]
    report = verify_ledger(workshop.folder, Options(against=note))

    assert report.check("against").ok is ok
    assert words in said(report, "against")
    assert report.exit_code == {False: 1, None: 3}[ok]


def test_the_empty_checkpoint_is_extended_by_every_log(workshop: Workshop) -> None:
    nothing = Checkpoint(origin=ORIGIN, size=0, root=EMPTY_ROOT)
    note = sign_checkpoint(nothing, workshop.log_key)
    assert verify_ledger(workshop.folder, Options(against=note)).exit_code == 0


@pytest.mark.parametrize(
    ("content", "code"), [(b"\xff\xfe", 3), (b"not a note", 3)], ids=["bytes", "text"]
)
def test_a_damaged_mark_is_reported_and_not_believed(
    workshop: Workshop, tmp_path: Path, content: bytes, code: int
) -> None:
    assert workshop.ledger is not None
    mark = tmp_path / "sealed-ledger" / workshop.ledger / "head"
    mark.parent.mkdir(parents=True)
    mark.write_bytes(content)
    report = verify_ledger(workshop.folder, Options(state_home=tmp_path))

    assert report.exit_code == code
    assert (report.anchor, report.check("local-mark").ok) == ("none", None)


# --- Witnesses ------------------------------------------------------------------------


def witnessed(copy: Folder, workshop: Workshop, witness: SignerKey) -> str:
    """Store a witness's line on the head; return the line."""
    note = workshop.receipts[-1].checkpoint
    line = cosign(note, witness, 1_793_610_000)
    with closing(connect(copy.log)) as log:
        log.execute("INSERT INTO cosignatures VALUES (12, ?)", (line,))
        log.commit()
    return line


def test_a_witness_s_line_is_checked_with_its_key(
    workshop: Workshop, copy: Folder
) -> None:
    witness = new_signer("witness.example", key_of("witness").seed, COSIGNATURE)
    witnessed(copy, workshop, witness)

    unknown = verify_ledger(copy)
    assert unknown.check("checkpoints").ok is True
    assert "0 of 1 witness lines" in said(unknown, "checkpoints")
    known = verify_ledger(copy, Options(witnesses=(witness.verifier,)))
    assert known.check("checkpoints").covered == 3
    assert "1 of 1 witness lines" in said(known, "checkpoints")


def test_a_witness_s_line_that_was_changed_is_found(
    workshop: Workshop, copy: Folder, tmp_path: Path
) -> None:
    witness = new_signer("witness.example", key_of("witness").seed, COSIGNATURE)
    line = witnessed(copy, workshop, witness)
    forger = Forger(workshop, tmp_path)
    forger.folder = copy
    body = line[:-10] + ("A" if line[-10] != "A" else "B") + line[-9:]
    with forger.editing() as log:
        log.execute("UPDATE cosignatures SET line = ?", (body,))
    report = verify_ledger(copy, Options(witnesses=(witness.verifier,)))

    assert report.exit_code == 1
    assert "witness.example" in said(report, "checkpoints")


def test_a_witness_s_line_without_its_checkpoint_is_found(
    copy: Folder,
) -> None:
    with closing(connect(copy.log)) as log:
        log.execute("INSERT INTO cosignatures VALUES (5, '— a AAAAAAAA\n')")
        log.commit()
    report = verify_ledger(copy)
    assert "where no checkpoint is stored" in said(report, "checkpoints")
    assert report.exit_code == 1


# --- Keys over time -------------------------------------------------------------------


def rotated(tmp_path: Path, *log_keys: SignerKey) -> Workshop:
    """Return a ledger whose second charter lists other keys of the log."""
    workshop = Workshop(tmp_path).found()
    charter = msgspec.structs.replace(
        workshop.charter(), log_keys=tuple(str(key.verifier) for key in log_keys)
    )
    workshop.append(
        SuiteFrozen(
            author="root",
            created_at=workshop.clock(),
            ledger=workshop.ledger,
            suite="charter@v2",
            supersedes="charter@v1",
            manifest=charter,
        )
    )
    return workshop


def test_a_rotated_log_key_signs_what_comes_after_it(tmp_path: Path) -> None:
    old, new = key_of(ORIGIN), new_signer(ORIGIN, key_of("new").seed)
    workshop = rotated(tmp_path, old, new)
    workshop.log_key = new
    workshop.append(workshop.opened(workshop.question(1)))
    report = verify_ledger(workshop.folder, Options(key=new.verifier))

    assert report.exit_code == 0, report
    assert report.check("key").ok is True


def test_a_log_key_that_is_gone_signs_nothing_any_more(tmp_path: Path) -> None:
    old, new = key_of(ORIGIN), new_signer(ORIGIN, key_of("new").seed)
    workshop = rotated(tmp_path, old, new)
    charter = msgspec.structs.replace(workshop.charter(), log_keys=(str(new.verifier),))
    workshop.log_key = new
    workshop.append(
        SuiteFrozen(
            author="root",
            created_at=workshop.clock(),
            ledger=workshop.ledger,
            suite="charter@v3",
            supersedes="charter@v2",
            manifest=charter,
        )
    )
    assert verify_ledger(workshop.folder).exit_code == 0
    forger = Forger(workshop, tmp_path)
    forger.resign(old)
    report = verify_ledger(forger.folder)

    assert report.exit_code == 1
    assert "no key of" in said(report, "checkpoints")


# --- What could not be checked --------------------------------------------------------


def test_a_missing_pinned_list_of_questions_is_not_checked(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    questions = b""
    digest = workshop.folder.blobs.keep(questions)
    template = msgspec.structs.replace(
        workshop.manifest.templates[0],
        question_owner="evaluator",
        questions="questions.jsonl",
    )
    pinned = msgspec.structs.replace(
        suite_manifest("pinned"),
        templates=(template,),
        pins={"questions.jsonl": digest},
    )
    workshop.append(workshop.frozen(pinned))
    assert verify_ledger(workshop.folder).exit_code == 0
    (workshop.folder.path / "blobs" / digest).unlink()
    report = verify_ledger(workshop.folder)

    assert report.exit_code == 3
    assert report.check("rules").ok is None
    assert digest in said(report, "rules")
    unreached = {"rules", "index"}
    assert all(report.check(name).ok for name in LOG_CHECKS if name not in unreached)


def test_a_manifest_of_a_newer_format_is_not_checked(
    workshop: Workshop, tmp_path: Path
) -> None:
    newer = Forger(workshop, tmp_path)
    submission = workshop.signed(workshop.frozen())
    payload = submission.payload.replace(b'"suite/1"', b'"suite/2"')
    newer.replace(1, signed_bytes(payload, workshop.keys["evaluator"]))
    newer.resign(workshop.log_key)
    report = verify_ledger(newer.folder)

    assert report.exit_code == 3
    assert "suite/2" in said(report, "entries")
    assert "not reached from entry 1" in said(report, "rules")
    assert report.check("signatures").ok is True
    assert report.check("tree").ok is True


def test_a_format_of_the_log_that_is_newer_is_not_checked(copy: Folder) -> None:
    with closing(connect(copy.log)) as log:
        log.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
        log.commit()
    report = verify_ledger(copy)

    assert report.exit_code == 3
    assert "format '2'" in said(report, "storage")
    assert said(report, "entries") == "not reached"


def test_a_ledger_without_its_log_is_not_checked(copy: Folder) -> None:
    copy.log.unlink()
    report = verify_ledger(copy)
    assert report.exit_code == 3
    assert "there is no log" in said(report, "storage")


def test_what_is_no_ledger_is_a_wrong_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no ledger"):
        verify_ledger(Folder(tmp_path))


# --- What is no log -------------------------------------------------------------------


def truncated(log: Path) -> None:
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def emptied(log: Path) -> None:
    log.write_bytes(b"")


def garbled(log: Path) -> None:
    log.write_bytes(sha256(b"garbage").digest() * 1_000)


def torn(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[4_096:] = bytes(len(content) - 4_096)
    log.write_bytes(content)


def stripped(log: Path) -> None:
    with closing(connect(log)) as database:
        database.execute("DROP TABLE entries")


def headless(log: Path) -> None:
    with closing(connect(log)) as database:
        database.execute("DELETE FROM head")
        database.commit()


def misread(log: Path) -> None:
    with closing(connect(log)) as database:
        database.execute("UPDATE meta SET value = CAST(x'ff' AS TEXT)")
        database.commit()


@pytest.mark.parametrize(
    "ruin", [truncated, emptied, garbled, torn, stripped, headless, misread]
)
def test_a_ruined_log_is_false_and_never_a_traceback(
    copy: Folder, ruin: Any, console: Console
) -> None:
    settle(copy)
    ruin(copy.log)
    shown = console.run("verify", copy.path, "--json")

    assert shown.code == 1, shown.stdout + shown.stderr
    assert [check for check in shown.object["checks"] if check["ok"] is False]


def settle(folder: Folder) -> None:
    """Bring what is still in the write-ahead log into the file."""
    store = open_store(folder.log, read_only=False)
    store.checkpoint_wal()
    store.close()


def test_no_byte_of_the_file_makes_a_traceback(copy: Folder) -> None:
    settle(copy)
    content = copy.log.read_bytes()
    # One byte in each stretch, at another place each time: headers, cells, pages.
    for at in range(0, len(content), 509):
        forged = bytearray(content)
        forged[at] ^= 1 << at % 8
        copy.log.write_bytes(forged)
        assert verify_ledger(copy).exit_code in {0, 1, 3}


def test_a_ledger_toml_that_is_gone_is_missed(copy: Folder) -> None:
    copy.settings_file.unlink()
    report = verify_ledger(copy)
    assert report.exit_code == 1
    assert "ledger.toml is missing" in said(report, "storage")
    assert "ledger doctor --ledger" in said(report, "storage")
    assert report.check("rules").ok is True


def test_a_ledger_toml_of_a_newer_format_is_not_checked(copy: Folder) -> None:
    text = copy.settings_file.read_text()
    copy.settings_file.write_text(text.replace("ledger/1", "ledger/2"))
    report = verify_ledger(copy)
    assert report.exit_code == 3
    assert "ledger/2" in said(report, "storage")


# --- Beside others --------------------------------------------------------------------


def test_it_verifies_while_a_writer_has_the_ledger_open(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    with workshop.writer() as writer:
        writer.stage(workshop.signed(workshop.opened(workshop.question(1))))
        staged = verify_ledger(workshop.folder)
        writer.commit()
        committed = verify_ledger(workshop.folder)

    assert (staged.exit_code, staged.entries) == (0, 2)
    assert (committed.exit_code, committed.entries) == (0, 3)


def test_nothing_is_written_into_the_folder(copy: Folder) -> None:
    settle(copy)
    before = contents(copy.path)
    assert verify_ledger(copy, Options(findings=True)).exit_code == 0
    after = contents(copy.path)

    # SQLite shares its memory with other readers through a file of its own.
    shared = {"log.db-shm", "log.db-wal"}
    assert {k: v for k, v in after.items() if k not in shared} == {
        k: v for k, v in before.items() if k not in shared
    }


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Take all rights to write in a folder away for a while."""
    folder.chmod(0o500)
    try:
        yield
    finally:
        folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_verified_for_others(copy: Folder) -> None:
    settle(copy)
    with locked(copy.path):
        assert verify_ledger(copy).exit_code == 0


# --- One process or several -----------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger that is long enough for a second process."""
    return Workshop(tmp_path_factory.mktemp("long")).found().fill(1_260)


def test_several_processes_find_what_one_does(long: Workshop, tmp_path: Path) -> None:
    assert verify_ledger(long.folder, Options(jobs=2)) == verify_ledger(
        long.folder, Options(jobs=1)
    )
    forger = Forger(long, tmp_path)
    with forger.editing() as log:
        log.execute(
            "UPDATE entries SET sig = zeroblob(64) WHERE seq IN (7, 3002, 5040)"
        )
    alone = verify_ledger(forger.folder, Options(jobs=1))
    together = verify_ledger(forger.folder, Options(jobs=3))

    assert alone == together
    assert said(alone, "signatures") == (
        "entry 7: the signature is not by its author's key (2 more signatures are bad)"
    )
    assert said(alone, "entries").startswith("entry 7: ")
    assert alone.check("signatures").covered == alone.entries == 5_042


# --- The command ----------------------------------------------------------------------


def run(console: Console, workshop: Workshop, *words: object) -> Shown:
    return console.run("verify", workshop.folder.path, *words)


def test_people_see_each_check_the_anchor_and_the_conclusion(
    console: Console, workshop: Workshop
) -> None:
    shown = run(console, workshop)

    assert shown.code == 0
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(CHECKS)]] == list(CHECKS)
    assert "findings, which are facts and no failures: 1 amended" in lines
    assert any(line.startswith("anchor: none. ") for line in lines)
    assert lines[-1] == "All that was asked holds."


def test_people_see_what_is_false(console: Console, copy: Folder) -> None:
    with closing(connect(copy.log)) as log:
        log.execute("DELETE FROM head")
        log.commit()
    shown = console.run("verify", "--ledger", copy.path)

    assert shown.code == 1
    assert "FALSE: tree." in shown.stdout.splitlines()


def test_a_kept_checkpoint_comes_from_a_file_or_from_stdin(
    console: Console, workshop: Workshop, tmp_path: Path
) -> None:
    note = workshop.receipts[5].checkpoint
    kept = tmp_path / "kept.note"
    kept.write_text(note)

    from_file = run(console, workshop, "--against", kept, "--json")
    assert (from_file.code, from_file.object["anchor"]) == (0, "against")
    from_stdin = console.run(
        "verify", workshop.folder.path, "--against", "-", "--json", stdin=note
    )
    assert (from_stdin.code, from_stdin.object["anchor"]) == (0, "against")


def test_this_machine_s_mark_is_an_anchor(console: Console, workshop: Workshop) -> None:
    console.home = workshop.state_home.parent
    shown = run(console, workshop, "--json")
    assert (shown.code, shown.object["anchor"]) == (0, "local-mark")


WRONG = {
    "a key that is none": (2, ["--key", "example.org+00000000+AAAA"]),
    "an id that is none": (2, ["--genesis", "abc"]),
    "no process at all": (2, ["--jobs", "0"]),
    "an option that is none": (2, ["--since-ever"]),
    "a checkpoint that is not there": (3, ["--against", "no-such-file"]),
}


@pytest.mark.parametrize(("code", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_command_is_told_from_what_is_missing(
    console: Console, workshop: Workshop, code: int, words: list[str]
) -> None:
    shown = run(console, workshop, *words)
    assert shown.code == code, shown.stdout + shown.stderr
    assert shown.stdout == ""
    assert shown.stderr


def test_a_folder_that_is_no_ledger_is_a_wrong_command(
    console: Console, tmp_path: Path
) -> None:
    shown = console.run("verify", tmp_path)
    assert shown.code == 2
    assert "is no ledger and no bundle" in shown.stderr


def test_all_that_an_auditor_knows_can_be_asked_at_once(
    console: Console, workshop: Workshop
) -> None:
    shown = run(
        console,
        workshop,
        *("--key", workshop.log_key.verifier),
        *("--genesis", workshop.ledger),
        *("--jobs", "1"),
        "--no-findings",
        "--json",
    )
    assert shown.code == 0
    assert shown.object["anchor"] == "key, genesis"
    assert shown.object["findings"] == []
