"""Ctrl-C reaches a whole group of processes, and ends those that work for one quietly."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ledger.shielding import shielded
from tests.served import until
from tests.source_tree import REPOSITORY
from tests.workshop import Workshop

# A program that has a process of its own and is interrupted while it starts it.
PROGRAM = """
import multiprocessing, os, signal, sys, threading
from ledger.shielding import shielded
from ledger.ids import sha256_hex

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    work = context.Process(target=sha256_hex, args=(b"x" * 300_000,))
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    try:
        with shielded():
            os.killpg(0, signal.SIGINT)
            work.start()
            os.killpg(0, signal.SIGINT)
            print("started", flush=True)
        print("not interrupted", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    work.join()
    print("it ended with", work.exitcode, flush=True)
"""


def test_a_process_is_started_whole_and_its_parent_interrupted_afterwards(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ran = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        check=True,
        start_new_session=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == ["started", "interrupted", "it ended with 0"]


def test_what_was_blocked_and_who_is_told_are_as_before() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with shielded():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        with pytest.raises(ZeroDivisionError), shielded():
            raise ZeroDivisionError
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.getsignal(signal.SIGINT) is handler


# An audit that is ended while a process works for it.
AUDIT = """
import os, signal, sys
from pathlib import Path
from ledger.projections.audit_signatures import PooledSignatures
from ledger.projections.audit_storage import Entries
from ledger.store_opening import open_store

if __name__ == "__main__":
    log = Path(sys.argv[1])
    entries = Entries(open_store(log, read_only=True), is_sound=True)
    signatures = PooledSignatures(log, entries, 1)
    batch = entries.read(0, 11, 12)
    signatures.take(batch)
    assert signatures._given[0][1].result().count == 12
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_checks_signatures_ends_with_its_audit(tmp_path: Path) -> None:
    shop = Workshop(tmp_path).found().tell()
    program = tmp_path / "program.py"
    program.write_text(AUDIT)
    with subprocess.Popen(
        [sys.executable, str(program), str(shop.folder.log)],
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as audit:
        assert audit.wait() == -signal.SIGKILL
        until(lambda: not is_there(audit.pid))


def is_there(group: int) -> bool:
    """Tell whether a group of processes has one left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
