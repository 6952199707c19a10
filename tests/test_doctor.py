"""`ledger doctor`: what is broken is named, and its remedy mends it."""

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ledger import codec
from ledger.anchor import mark_path
from ledger.clock import steady_seconds, system_clock
from ledger.daemon import doctor_disk
from ledger.daemon.diagnosis import is_command
from ledger.daemon.doctor import CHECKS
from ledger.daemon.doctor_clock import accept_clock
from ledger.daemon.doctor_disk import lock_holder
from ledger.daemon.hook_install import hooks_folder
from ledger.daemon.patient import Surroundings, examined
from ledger.errors import RefusedError, UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.keys.keyfile import read_key, write_key
from ledger.keys.signing import sign_payload
from ledger.log import open_writer
from ledger.writer import Receipt, Submission, Writer
from tests.console import Console
from tests.workshop import Workshop, key_of

REPOSITORY = Path(__file__).parents[1]
PIN = b"what the bar is\n"
MIB = 1024 * 1024


class Clinic(Console):
    """A ledger to break, and a shell to mend it with."""

    @property
    def folder(self) -> Folder:
        return Folder(self.ledger)

    @property
    def mark(self) -> Path:
        return mark_path(self.home / "state", self.folder.settings().ledger)

    @property
    def pin(self) -> Path:
        return self.ledger / "blobs" / sha256(PIN).hexdigest()

    def report(self) -> dict[str, dict[str, str]]:
        """Return the doctor's lines by their names."""
        shown = self.here("doctor", "--json")
        said = shown.object
        assert said["ok"] is (shown.code == 0)
        assert [each["name"] for each in said["checks"]] == list(CHECKS)
        return {each["name"]: each for each in said["checks"]}

    def line(self, name: str) -> tuple[str, str, str]:
        """Return a line's status, what was found, and what to do."""
        found = self.report()[name]
        return found["status"], found["detail"], found["remedy"]

    def shell(self, command: str) -> None:
        """Run a command as the doctor printed it."""
        tools = self.home / "bin"
        tools.mkdir(exist_ok=True)
        ledger = tools / "ledger"
        program = f'exec {sys.executable} -c "from ledger.cli.main import main; main()"'
        ledger.write_text(f'#!/bin/sh\n{program} "$@"\n')
        ledger.chmod(0o755)
        surroundings = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "PYTHONPATH": str(REPOSITORY),
        }
        subprocess.run(["sh", "-ec", command], env=surroundings, check=True)

    def sql(self, statement: str) -> None:
        """Change log.db behind the ledger's back."""
        with closing(sqlite3.connect(self.folder.log)) as database:
            database.execute(statement)
            database.commit()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a ledger with a suite that pins a file; return its home."""
    home = tmp_path_factory.mktemp("sound")
    clinic = Clinic(home)
    clinic.found()
    (home / "bar.txt").write_bytes(PIN)
    text = clinic.must("suite", "new", "pinned", "--track", "self").stdout
    pinned = f'pins = {{ "bar.txt" = "{sha256(PIN).hexdigest()}" }}'
    lines = [line for line in text.split("\n") if not line.startswith("pins")]
    first_table = next(at for at, line in enumerate(lines) if line.startswith("["))
    lines.insert(first_table, pinned)
    (home / "pinned.toml").write_text("\n".join(lines))
    shown = clinic.here("suite", "freeze", home / "pinned.toml")
    assert shown.code == 0, shown.stderr
    return home


@pytest.fixture
def clinic(sound: Path, tmp_path: Path) -> Clinic:
    shutil.copytree(sound, tmp_path / "home")
    return Clinic(tmp_path / "home")


def damage_hook(clinic: Clinic) -> None:
    """Leave the trace of an installation that nobody can read; others: test_doctor_hook."""
    record = hooks_folder(clinic.home / "state") / "claude-0" / "installed.json"
    record.parent.mkdir(parents=True)
    record.write_text("nothing")


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


Patch = pytest.MonkeyPatch
Break = Callable[[Clinic, Patch], object]


def test_a_sound_ledger_is_well_on_every_line(clinic: Clinic) -> None:
    before = {path: path.read_bytes() for path in clinic.ledger.rglob("*.key")}
    report = clinic.report()

    assert {name: each["status"] for name, each in report.items()} == dict.fromkeys(
        CHECKS, "ok"
    )
    assert all(each["remedy"] == "" for each in report.values())
    assert {p: p.read_bytes() for p in clinic.ledger.rglob("*.key")} == before


def steps(*breaks: Break) -> Break:
    """Return all of them, one after the other."""

    def step(clinic: Clinic, patch: Patch) -> None:
        for each in breaks:
            each(clinic, patch)

    return step


def backup(clinic: Clinic) -> bytes:
    """Return the log as it is now, all in one file."""
    clinic.must("append", "/dev/null", "--ledger", clinic.ledger)
    return clinic.folder.log.read_bytes()


def restore_older(clinic: Clinic, *_: Patch) -> None:
    """Put a copy of the log in place that is one charter shorter."""
    older = backup(clinic)
    clinic.must("keys", "rotate", "forecaster", "--ledger", clinic.ledger)
    clinic.folder.log.write_bytes(older)


def fall_behind(clinic: Clinic, *_: Patch) -> None:
    """Lose the mark's last second, as a crash does."""
    note = clinic.mark.read_text()
    clinic.must("keys", "rotate", "root", "--ledger", clinic.ledger)
    clinic.mark.write_text(note)


def rename_log_key(clinic: Clinic, *_: Patch) -> None:
    """Restore a log from before its key was rotated."""
    older = backup(clinic)
    clinic.must("keys", "rotate-log", "--ledger", clinic.ledger)
    clinic.folder.log.write_bytes(older)
    clinic.mark.unlink()


def interrupt_rotation(clinic: Clinic, *_: Patch) -> None:
    """Leave things as a crash does just after the charter came into force."""
    keys = clinic.folder.keys
    old = (keys / "resolver.key").read_bytes()
    clinic.must("keys", "rotate", "resolver", "--ledger", clinic.ledger)
    (keys / "resolver.key").rename(keys / "resolver.key.next")
    (keys / "resolver.key").write_bytes(old)
    (keys / "resolver.key").chmod(0o600)


def replace_key(clinic: Clinic, name: str, file: str | None = None) -> None:
    """Put another key under a principal's name."""
    path = clinic.folder.keys / (file or f"{name}.key")
    path.unlink(missing_ok=True)
    write_key(path, key_of(name))


def write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def say_separate(clinic: Clinic, *_: Patch) -> None:
    """Found a ledger whose charter says separate, and bring all keys together."""
    shutil.rmtree(clinic.ledger)
    keys = {role: key_of(role) for role in ("evaluator", "issuer", "resolver")}
    keys["forecaster"] = key_of("forecaster")
    people = [f"{role}:{role}:{key.verifier}" for role, key in keys.items()]
    clinic.found(*people)
    for name in ("forecaster", "resolver"):
        write_key(clinic.folder.keys / f"{name}.key", keys[name])


def move_clock(clinic: Clinic, *_: Patch, seconds: int = 3_600) -> None:
    """Make the clock look as if it had been set forward since the last entry."""
    reading = json.loads(clinic.folder.clock.read_bytes())
    reading["wall_micros"] -= seconds * 1_000_000
    clinic.folder.clock.write_text(json.dumps(reading))


def mount(clinic: Clinic, patch: Patch, kind: str) -> None:
    mounts = clinic.home / "mounts"
    mounts.write_text(f"server:/export / {kind} rw 0 0\n")
    patch.setattr("ledger.durable.MOUNTS", mounts)


def free(patch: Patch, count: int) -> None:
    usage = SimpleNamespace(total=0, used=0, free=count)
    patch.setattr("shutil.disk_usage", lambda _: usage)


def grow(path: Path, size: int) -> None:
    """Give a file a size; what is added are zeros that take no room."""
    with path.open("ab") as file:
        file.truncate(size)


# What is broken, which line says so, how bad it is, a word of what was found, and of
# the remedy.
Broken = tuple[Break, str, str, str, str]
BROKEN: dict[str, Broken] = {
    "an SQLite that loses data": (
        lambda c, p: p.setattr(
            "ledger.daemon.doctor_disk.sqlite_version", lambda: "3.51.2"
        ),
        "sqlite", "fail", "3.51.2", "apsw",
    ),
    "a log without a write-ahead log": (
        lambda c, p: c.sql("PRAGMA journal_mode = DELETE"),
        "settings", "warn", "journal_mode is 'delete'", "ledger append",
    ),
    "a folder that others may enter": (
        lambda c, p: c.ledger.chmod(0o750),
        "permissions", "fail", "0750", "chmod 700",
    ),
    "a log that others may read": (
        lambda c, p: c.folder.log.chmod(0o640),
        "permissions", "fail", "0640", "chmod 600",
    ),
    "the log's key, readable to others": (
        lambda c, p: c.folder.log_key.chmod(0o604),
        "permissions", "fail", "0604", "chmod 600",
    ),
    "keys and folder open to all": (
        steps(
            lambda c, p: c.ledger.chmod(0o777),
            lambda c, p: c.folder.keys.chmod(0o755),
            lambda c, p: c.folder.log.chmod(0o666),
        ),
        "permissions", "fail", "0666", "&&",
    ),
    "a folder on a network": (
        lambda c, p: mount(c, p, "nfs4"),
        "filesystem", "fail", "nfs4", "local disk",
    ),
    "a folder that cannot be written": (
        lambda c, p: p.setattr("os.access", lambda path, mode: mode in (0, os.R_OK)),
        "filesystem", "fail", "cannot be written", "mount",
    ),
    "hardly any room": (
        lambda c, p: free(p, 64 * MIB - 1),
        "disk", "fail", "63 MiB free", "make room",
    ),
    "little room": (
        lambda c, p: free(p, 64 * MIB),
        "disk", "warn", "64 MiB free", "1,024 MiB",
    ),
    "less than one gibibyte of room": (
        lambda c, p: free(p, 1024 * MIB - 1),
        "disk", "warn", "1,023 MiB free", "make room",
    ),
    "room for less than ten logs": (
        steps(
            lambda c, p: grow(c.folder.log, 200 * MIB),
            lambda c, p: free(p, 2000 * MIB - 1),
        ),
        "disk", "warn", "200 MiB", "2,000 MiB",
    ),
    "a folder in the place of the lock": (
        steps(
            lambda c, p: c.folder.lock.unlink(),
            lambda c, p: c.folder.lock.mkdir(),
        ),
        "lock", "fail", "cannot be opened", "rmdir",
    ),
    "no log": (
        lambda c, p: c.folder.log.unlink(),
        "log", "fail", "no log", "backup",
    ),
    "a log that is no database": (
        lambda c, p: c.folder.log.write_bytes(b"no database" * 1000),
        "log", "fail", "not a readable log", "backup",
    ),
    "a log of a newer format": (
        lambda c, p: c.sql("UPDATE meta SET value = '9' WHERE key = 'format'"),
        "log", "fail", "format '9'", "newest version",
    ),
    "a head that denies an entry": (
        lambda c, p: c.sql("UPDATE head SET size = 1"),
        "log", "fail", "2 entries, and its head says 1", "backup",
    ),
    "a head that nobody signed": (
        lambda c, p: c.sql("UPDATE head SET note = replace(note, char(10) || '2' || "
                           "char(10), char(10) || '3' || char(10))"),
        "log", "fail", "signature", "ledger verify",
    ),
    "a log without a charter": (
        steps(
            lambda c, p: c.sql("DROP TRIGGER entries_refuse_delete"),
            lambda c, p: c.sql("DELETE FROM entries"),
        ),
        "log", "fail", "no charter", "backup",
    ),
    "no ledger.toml": (
        lambda c, p: c.folder.settings_file.unlink(),
        "log", "fail", "ledger.toml is missing", "printf",
    ),
    "no ledger.toml of a ledger whose name has quotes": (
        steps(
            lambda c, p: shutil.rmtree(c.ledger),
            lambda c, p: c.must("init", c.ledger, "--origin", 'a"b\\c%s'),
            lambda c, p: c.folder.settings_file.unlink(),
        ),
        "log", "fail", "ledger.toml is missing", "printf",
    ),
    "the ledger.toml of another ledger": (
        lambda c, p: c.folder.write_settings("example.org/test", "f" * 64),
        "log", "fail", "another ledger", "printf",
    ),
    "a damaged index": (
        lambda c, p: c.folder.index.write_bytes(b"damaged" * 1000),
        "index", "warn", "damaged", "rm",
    ),
    "the index of a longer log": (
        restore_older,
        "index", "warn", "another log of 3 entries than this of 2", "rm",
    ),
    "damaged projections": (
        lambda c, p: c.folder.projections.write_bytes(b"damaged" * 1000),
        "projections", "warn", "damaged", "rm",
    ),
    "a pinned file that was changed": (
        lambda c, p: c.pin.write_bytes(b"an easier bar"),
        "blobs", "fail", "bar.txt, pinned by pinned@v1, was changed", "blobs/",
    ),
    "a pinned file that was erased": (
        lambda c, p: c.pin.unlink(),
        "blobs", "warn", "is missing", "blobs/",
    ),
    "no key of the log": (
        lambda c, p: c.folder.log_key.unlink(),
        "log-key", "fail", "missing", "backup",
    ),
    "a key of the log that is none": (
        lambda c, p: c.folder.log_key.write_text("PRIVATE\n"),
        "log-key", "fail", "no key", "backup",
    ),
    "a key of the log that is not the charter's": (
        steps(
            lambda c, p: c.folder.log_key.unlink(),
            lambda c, p: write_key(c.folder.log_key, key_of("example.org/test")),
        ),
        "log-key", "fail", "does not list", "backup",
    ),
    "the log's next key, over the log from before": (
        rename_log_key,
        "log-key", "fail", "does not list", "mv",
    ),
    "a key that others may read": (
        lambda c, p: (c.folder.keys / "resolver.key").chmod(0o644),
        "keys", "fail", "0644", "chmod 600",
    ),
    "a key that is none": (
        lambda c, p: (c.folder.keys / "resolver.key").write_text("nothing\n"),
        "keys", "fail", "no key", "backup",
    ),
    "a key under another name": (
        lambda c, p: (c.folder.keys / "resolver.key").rename(
            c.folder.keys / "harness.key"),
        "keys", "warn", "holds the key of resolver", "mv",
    ),
    "a copy of a key under another name": (
        lambda c, p: shutil.copy2(c.folder.keys / "resolver.key",
                                  c.folder.keys / "harness.key"),
        "keys", "warn", "holds the key of resolver", "move",
    ),
    "a stranger's key": (
        lambda c, p: replace_key(c, "stranger"),
        "keys", "warn", "lists no stranger", "ledger keys add",
    ),
    "a key that is not the charter's": (
        lambda c, p: replace_key(c, "resolver"),
        "keys", "warn", "not the key that the charter gives", "ledger keys rotate",
    ),
    "a waiting key that is none": (
        steps(
            lambda c, p: replace_key(c, "resolver"),
            lambda c, p: write_private(
                c.folder.keys / "resolver.key.next", b"nothing\n"),
        ),
        "keys", "warn", "not the key that the charter gives", "ledger keys rotate",
    ),
    "a rotation that was interrupted": (
        interrupt_rotation,
        "keys", "warn", "not the key that the charter gives", "ledger keys rotate",
    ),
    "separate custody, and one who can read both": (
        say_separate,
        "custody", "fail", "forecaster (forecaster) and of root (root)", "move",
    ),
    "a clock that was set": (
        move_clock,
        "clock", "fail", "moved +3600 s", "--accept-clock",
    ),
    "a folder in the place of the clock": (
        steps(
            lambda c, p: c.folder.clock.unlink(),
            lambda c, p: c.folder.clock.mkdir(),
        ),
        "clock", "fail", "clock cannot be read", "move it away",
    ),
    "a machine without memory of the log": (
        lambda c, p: c.mark.unlink(),
        "anchor", "warn", "no high-water mark", "the next commit writes one",
    ),
    "a mark that is ahead of the log": (
        restore_older,
        "anchor", "fail", "remembers 3 entries, and the log has 2",
        "ledger keys continue",
    ),
    "a mark that nobody signed": (
        lambda c, p: c.mark.write_text("nothing\n"),
        "anchor", "fail", "unfit", "ledger verify --against",
    ),
    "a hook whose record is damaged": (
        lambda c, p: damage_hook(c), "hook", "fail", "damaged", "rm",
    ),
    "a write-ahead log that grew": (
        lambda c, p: grow(Path(f"{c.folder.log}-wal"), 64 * MIB + 1),
        "wal", "warn", "64 MiB", "end the programs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_named_and_its_remedy_mends_it(
    clinic: Clinic, patch: Patch, case: Broken
) -> None:
    broken, name, status, found, remedy = case
    broken(clinic, patch)
    was, detail, to_do = clinic.line(name)

    assert was == status, detail
    assert found in detail
    assert remedy in to_do
    if is_command(to_do):
        clinic.shell(to_do)
        assert clinic.line(name)[0] == "ok"


def test_a_log_that_is_written_to_meanwhile_is_called_broken_nowhere(
    clinic: Clinic,
) -> None:
    around = Surroundings(
        uid=os.getuid(),
        clock=system_clock,
        steady=steady_seconds,
        state_home=clinic.home / "state",
    )
    with examined(clinic.folder, around) as patient:
        clinic.frozen("more")
        clinic.must("rows", "--ledger", clinic.ledger)
        found = [check(patient) for check in CHECKS.values()]
    assert {each.name: each.detail for each in found if each.status != "ok"} == {}


def test_every_line_was_broken() -> None:
    assert {name for _, name, *_ in BROKEN.values()} == set(CHECKS)


# The other side of each edge, and what is as it should be though it is not usual.
SOUND: dict[str, tuple[Break, str, str]] = {
    "the first SQLite without the fault": (
        lambda c, p: p.setattr(
            "ledger.daemon.doctor_disk.sqlite_version", lambda: "3.51.3"
        ),
        "sqlite", "3.51.3",
    ),
    "a gibibyte of room": (lambda c, p: free(p, 1024 * MIB), "disk", "1,024 MiB free"),
    "room for ten logs": (
        steps(
            lambda c, p: grow(c.folder.log, 200 * MIB),
            lambda c, p: free(p, 2000 * MIB),
        ),
        "disk", "2,000 MiB free",
    ),
    "a local disk": (lambda c, p: mount(c, p, "xfs"), "filesystem", "xfs"),
    "no lock file": (lambda c, p: c.folder.lock.unlink(), "lock", "free"),
    "no index": (lambda c, p: c.folder.index.unlink(), "index", "absent"),
    "the other keys elsewhere": (
        lambda c, p: shutil.rmtree(c.folder.keys), "keys", "no private key",
    ),
    "a key that was rotated": (
        lambda c, p: c.must("keys", "rotate", "root", "--ledger", c.ledger),
        "keys", "root (root)",
    ),
    "separate custody, and one who reads his own": (
        steps(
            lambda c, p: say_separate(c),
            lambda c, p: (c.folder.keys / "forecaster.key").unlink(),
        ),
        "custody", "separate",
    ),
    "separate custody, and a forecaster alone": (
        steps(
            lambda c, p: say_separate(c),
            lambda c, p: (c.folder.keys / "root.key").unlink(),
            lambda c, p: (c.folder.keys / "resolver.key").unlink(),
        ),
        "custody", "can read the keys of forecaster here",
    ),
    "a clock that moved by a minute": (
        lambda c, p: move_clock(c, seconds=59), "clock", "moved +59",
    ),
    "a clock file of another boot": (
        lambda c, p: c.folder.clock.write_text(
            '{"boot":"other","wall_micros":0,"steady_seconds":0}'
        ),
        "clock", "moved +0.0 s",
    ),
    "a mark that is behind the log": (
        fall_behind,
        "anchor", "remembers 2 of 3 entries",
    ),
    "a write-ahead log of 64 MiB": (
        lambda c, p: grow(Path(f"{c.folder.log}-wal"), 64 * MIB), "wal", "65,536 KiB",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "name", "found"), SOUND.values(), ids=SOUND)
def test_what_is_unusual_is_not_called_broken(
    clinic: Clinic, patch: Patch, change: Break, name: str, found: str
) -> None:
    change(clinic, patch)
    status, detail, remedy = clinic.line(name)

    assert (status, remedy) == ("ok", "")
    assert found in detail


def test_a_lock_that_is_held_is_said_and_is_no_failure(clinic: Clinic) -> None:
    with clinic.folder.lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        status, detail, _ = clinic.line("lock")

    assert status == "ok"
    assert "held: " in detail
    assert "writes to this ledger" in detail


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's /proc")
def test_who_has_locked_a_file_of_the_same_number_elsewhere_is_not_the_holder(
    clinic: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inode = clinic.folder.lock.stat().st_ino
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        lines = [
            f"{number}: FLOCK  ADVISORY  WRITE {pid} 00:29:{inode} 0 EOF"
            for number, pid in enumerate((bystander.pid, os.getpid()))
        ]
        locks = tmp_path / "locks"
        monkeypatch.setattr(doctor_disk, "_LOCKS", locks)
        with clinic.folder.lock.open("rb"):
            locks.write_text("\n".join(lines))
            assert lock_holder(clinic.folder.lock) == os.getpid()
            locks.write_text(lines[0])
            assert lock_holder(clinic.folder.lock) is None
    finally:
        bystander.kill()
        bystander.wait()


def test_what_rests_on_a_log_that_cannot_be_read_is_skipped(clinic: Clinic) -> None:
    clinic.folder.log.write_bytes(b"no database" * 1000)
    report = clinic.report()

    skipped = {name for name, each in report.items() if each["status"] == "skip"}
    assert skipped == {
        "settings", "index", "projections", "blobs",
        "log-key", "custody", "clock", "anchor", "hook",
    }  # fmt: skip
    assert {report[name]["remedy"] for name in skipped} == {"see log"}


def test_a_folder_without_a_ledger_is_no_patient(tmp_path: Path) -> None:
    shown = Console(tmp_path).run("doctor", "--ledger", tmp_path / "nothing")

    assert shown.code == 2
    assert "no ledger" in shown.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_named_with_the_owner(clinic: Clinic) -> None:
    os.chown(clinic.ledger, 12_345, -1)
    status, detail, remedy = clinic.line("permissions")

    assert (status, "belongs to 12345" in detail) == ("fail", True)
    clinic.shell(remedy.partition("take all of it over: ")[2])
    assert clinic.line("permissions")[0] == "ok"


def test_the_report_for_people_has_a_line_a_check_and_says_what_to_do(
    clinic: Clinic,
) -> None:
    clinic.folder.log.chmod(0o644)
    shown = clinic.here("doctor")
    lines = shown.stdout.splitlines()

    assert shown.code == 1
    assert [line.split()[1] for line in lines if line[0] != " "] == list(CHECKS)
    [to_do] = [line.strip() for line in lines if line[0] == " "]
    assert to_do.startswith(f"do: chmod 600 {clinic.folder.log}")
    assert "1 fail" in shown.stderr


def test_a_clock_that_jumped_stops_appends_until_it_is_accepted(clinic: Clinic) -> None:
    move_clock(clinic)
    refused = clinic.here("keys", "rotate", "root")
    assert refused.code == 2
    assert "clock-jumped" in refused.stderr
    assert "--accept-clock" in refused.stderr

    accepted = clinic.here("doctor", "--accept-clock")
    assert accepted.code == 0
    assert "had moved +3600 s" in accepted.stderr
    assert clinic.here("keys", "rotate", "root").code == 0


def test_a_jump_of_either_clock_stops_a_writer_until_it_is_accepted(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found()
    steady = [1_000.0]

    @contextmanager
    def writer() -> Iterator[Writer]:
        with open_writer(
            workshop.folder,
            workshop.log_key,
            clock=workshop.clock,
            state_home=workshop.state_home,
            steady=lambda: steady[0],
        ) as opened:
            yield opened

    history = list(workshop.history(1))[:3]
    with writer() as first:
        [receipt] = first.append(history[:1])
        assert isinstance(receipt, Receipt)
        # Asleep for a minute: the wall clock alone knows.
        workshop.wait(seconds=61)
        [refused] = first.append(history[1:2])
        assert isinstance(refused, RefusedError)
        assert refused.code == "clock-jumped"
    around = Surroundings(
        uid=os.geteuid(),
        clock=workshop.clock,
        steady=lambda: steady[0],
        state_home=workshop.state_home,
    )
    with writer() as second, pytest.raises(UsageError, match="another process"):
        accept_clock(workshop.folder, around)
    said = accept_clock(workshop.folder, around)
    assert "it had moved +61 s" in said
    with writer() as third:
        [receipt] = third.append(history[1:2])
        assert isinstance(receipt, Receipt)
    assert second.size == 3


def append_in_two_days(clinic: Clinic) -> str:
    """Append with a clock that is two days ahead; return when that was received."""
    folder, root = clinic.folder, read_key(clinic.folder.keys / "root.key")
    with open_writer(
        folder,
        read_key(folder.log_key),
        clock=lambda: system_clock() + timedelta(days=2),
        state_home=clinic.home / "state",
    ) as writer:
        next_charter = SuiteFrozen(
            author="root",
            created_at=writer.now(),
            ledger=writer.state.ledger,
            suite="charter@v2",
            supersedes="charter@v1",
            manifest=writer.state.charter,
        )
        payload = codec.encode(next_charter)
        signature = sign_payload(payload, root)
        public = root.verifier.public
        submission = Submission(payload=payload, author_key=public, signature=signature)
        [receipt] = writer.append([submission])
    assert isinstance(receipt, Receipt)
    return receipt.received_at


def test_after_an_entry_of_the_future_an_operator_lets_appends_go_on(
    clinic: Clinic,
) -> None:
    future = append_in_two_days(clinic)
    status, detail, remedy = clinic.line("clock")
    assert status == "fail"
    assert f"the last entry was received {future}" in detail
    assert "clock-jumped" in clinic.here("keys", "rotate", "root").stderr

    clinic.shell(remedy)
    status, detail, _ = clinic.line("clock")
    assert status == "ok"
    assert f"entries keep {future} until it is past" in detail
    rotated = clinic.here("keys", "rotate", "root", "--json").object
    assert rotated["received_at"] == future


def test_the_clock_is_not_accepted_behind_a_writer_s_back(clinic: Clinic) -> None:
    move_clock(clinic)
    before = clinic.folder.clock.read_bytes()
    with clinic.folder.lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        shown = clinic.here("doctor", "--accept-clock")

    assert shown.code == 2
    assert "another process writes" in shown.stderr
    assert clinic.folder.clock.read_bytes() == before


def names_in(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("| `"):
            yield line.split("`")[1]


def test_every_line_of_the_report_is_explained() -> None:
    text = (REPOSITORY / "docs" / "operating.md").read_text("utf-8")
    section = text.partition("## What the doctor says")[2].partition("\n## ")[0]

    assert list(names_in(section)) == list(CHECKS)


def test_a_report_is_one_object(clinic: Clinic) -> None:
    said: dict[str, Any] = clinic.here("doctor", "--json").object

    assert set(said) == {"ok", "checks"}
    assert all(
        set(each) == {"name", "status", "detail", "remedy"} for each in said["checks"]
    )
