"""Each system call of a commit fails once, or is the last: no receipt is ever lost."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from ledger.daemon.protocol import STOPPED
from ledger.log import open_reader
from tests.served import SECONDS, Served, served, wire
from tests.traced import FAULTS, WRITING, Call, Stage, strace_is_missing
from tests.workshop import Workshop

pytestmark = [
    pytest.mark.skipif(bool(strace_is_missing()), reason=strace_is_missing()),
    pytest.mark.xdist_group("strace"),
]

ORDER = ("told", "WriterStoppedError", "closed")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.fixture(scope="module")
def writing(stage: Stage) -> list[Call]:
    """Return the calls by which two commits change files and make that last."""
    return [call for call in commits(stage) if call.name in WRITING]


def commits(stage: Stage) -> list[Call]:
    return [call for call in stage.calls() if call.part == "append"]


def test_a_commit_writes_and_syncs_before_its_receipt(writing: list[Call]) -> None:
    names = {call.name for call in writing}
    assert names >= {"pwrite64", "fdatasync", "fsync", "rename"}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_write_of_a_commit_loses_no_receipt_and_doubles_nothing(
    stage: Stage, writing: list[Call], fault: str
) -> None:
    outcomes = {call: stage.strike(call, fault) for call in writing}
    for call, said in outcomes.items():
        assert set(said) <= {"told", "WriterStoppedError", "closed"}, call
        # Who said that the outcome is unknown writes nothing more.
        assert sorted(said, key=ORDER.index) == said, call
    if fault != "SIGKILL":
        stopped = [said for said in outcomes.values() if "WriterStoppedError" in said]
        assert len(stopped) > len(outcomes) // 2


@pytest.mark.slow
def test_a_fault_at_any_look_at_the_files_is_said_and_loses_no_receipt(
    stage: Stage,
) -> None:
    # A lock that fails is tried again for seconds: `make soak` waits for those.
    passed_over = WRITING | {"fcntl"}
    looking = [call for call in commits(stage) if call.name not in passed_over]
    assert {call.name for call in looking} >= {"newfstatat", "fstat", "pread64"}
    for call in looking:
        said = stage.strike(call, "EIO")
        # Also that the index cannot be read, or that somebody seems to hold the log.
        assert set(said) <= {*ORDER, "CorruptLogError", "UsageError"}, (call, said)


def test_what_a_failed_sync_left_in_memory_is_written_anew_by_the_next_writer(
    tmp_path: Path,
) -> None:
    """The next sync of the same file would say that all is well, and it is not."""
    shop = Workshop(tmp_path / "live").found()
    crashed = Workshop(tmp_path / "crashed")
    with shop.writer() as writer:
        writer.append(list(shop.history(1)))
        shutil.copytree(tmp_path / "live", tmp_path / "crashed", dirs_exist_ok=True)
    wal = crashed.folder.log.with_name("log.db-wal")
    assert wal.stat().st_size > 0
    with crashed.writer():
        alone = Workshop(tmp_path / "alone")
        alone.folder.path.mkdir(parents=True)
        for path in (crashed.folder.log, crashed.folder.settings_file):
            shutil.copy(path, alone.folder.path)
        with open_reader(alone.folder) as reader:
            assert reader.events.size() == 6


# --- The daemon whose commit fails -----------------------------------------------------

STRUCK = {
    "its first write": "pwrite64:error=EIO:when=1",
    "a write for which there is no room": "pwrite64:error=ENOSPC:when=5",
    "a write, the disk having turned read-only": "pwrite64:error=EROFS:when=1+",
    "its sync": "fdatasync:error=EIO:when=1",
    "the mark outside the folder": "rename:error=EIO:when=1",
}


@contextmanager
def struck(daemon: Served, inject: str) -> Iterator[None]:
    """Have a system call of a running daemon fail, in whichever of its threads."""
    assert daemon.process is not None
    command = [
        "strace", "-f", "-o", str(daemon.home / "trace"),
        f"-einject={inject}", "-p", str(daemon.process.pid),
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE) as tracer:
        assert tracer.stderr is not None
        assert b"attached" in tracer.stderr.readline()
        try:
            yield
        finally:
            tracer.terminate()


@pytest.mark.parametrize("inject", STRUCK.values(), ids=STRUCK)
def test_a_daemon_whose_commit_fails_tells_everybody_and_ends(inject: str) -> None:
    with served() as daemon:
        shop = daemon.start().shop
        with daemon.talk() as talk, daemon.talk("agent") as agent:
            told = talk.append(*shop.sealable(0))["receipts"]
            assert agent.ask("ping")
            assert daemon.process is not None
            with struck(daemon, inject):
                for number in count(1):
                    events = shop.sealable(number)
                    answer = talk.call("append", events=wire(*events))
                    if "error" in answer:
                        break
                    told += answer["result"]["receipts"]
                assert answer["error"]["code"] == STOPPED
                remedy = ", then start" if "ENOSPC" in inject else "restart"
                assert remedy in answer["error"]["message"]
                assert daemon.process.wait(SECONDS) == 1
            assert agent.read() is None
        assert daemon.noted("writer-stopped")[0]["level"] == "error"
        daemon.start()
        with daemon.talk() as talk:
            told += talk.append(*events)["receipts"]
        ids = [each["event_id"] for each in daemon.log()]
        assert ids[2:] == [each["event_id"] for each in told]
        assert daemon.verify()["entries"] == len(ids)
