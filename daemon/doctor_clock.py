"""The clock, as the next append will judge it; and an operator's word on it."""

import os

from ledger.clock import instant_text
from ledger.clock_watch import UNREADABLE, ClockWatch
from ledger.daemon.diagnosis import Diagnosis, command, fail, ok
from ledger.daemon.patient import Patient, Readable, Surroundings, examined
from ledger.durable import lock
from ledger.errors import LedgerError, RefusedError, UsageError
from ledger.folder import Folder
from ledger.log import clock_watch


def clock(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether the clock can be right, beside the steady one and the last entry."""
    folder = patient.folder
    try:
        watch = _watch(folder, patient.around)
    except UsageError as error:
        return fail("clock", str(error).removesuffix(f": {UNREADABLE}"), UNREADABLE)
    last, now = found.last_received, patient.around.clock()
    try:
        watch.now(last, found.charter.clock_jump_seconds)
    except RefusedError as refusal:
        remedy = command("ledger", "doctor", "--accept-clock", "--ledger", folder.path)
        return fail("clock", refusal.message, remedy)
    drift = f"the clock moved {watch.drift_seconds():+.1f} s against the steady one"
    if last > now:
        return ok(
            "clock", f"{drift}; entries keep {instant_text(last)} until it is past"
        )
    return ok(
        "clock",
        f"{drift}, and is {(now - last).total_seconds():.0f} s past the last entry",
    )


def _watch(folder: Folder, around: Surroundings) -> ClockWatch:
    return clock_watch(folder, around.clock, around.steady)


def accept_clock(folder: Folder, around: Surroundings) -> str:
    """Take the clocks as they stand, under the lock; return what was taken.

    Raises `UsageError` while another process writes, and what keeps the log from
    being read.
    """
    handle = lock(folder.lock)
    try:
        with examined(folder, around) as patient:
            if isinstance(patient.log, LedgerError):
                raise patient.log
            last = patient.log.last_received
        watch, now = _watch(folder, around), around.clock()
        drift = watch.drift_seconds()
        watch.accept(last)
    finally:
        os.close(handle)
    taken = f"The clock's {instant_text(now)} is accepted; it had moved {drift:+.0f} s against the steady clock."
    if last > now:
        taken += f" Entries keep {instant_text(last)} until the clock has passed it."
    return taken
