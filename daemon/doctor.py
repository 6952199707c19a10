"""What may be wrong with a ledger and the machine it is on, and what to do about it.

Looks, and changes nothing; it works beside whoever writes. Each check is a function
of the patient, and none depends on another's answer.

    diagnosis      what is said of one thing
    patient        what is looked at
    doctor_disk    SQLite, modes, file system, space, lock, write-ahead log
    doctor_log     log, index, projections, pinned files, anchor
    doctor_keys    private keys, and who can read them
    doctor_clock   the clock, and an operator's word on it
    doctor_hook    agents' hooks: a real round trip, and how often they were called
"""

from collections.abc import Callable

from ledger.daemon import (
    doctor_clock,
    doctor_disk,
    doctor_hook,
    doctor_keys,
    doctor_log,
)
from ledger.daemon.diagnosis import Diagnosis, skip
from ledger.daemon.patient import Patient, Readable, Surroundings, examined
from ledger.errors import LedgerError
from ledger.folder import Folder

Check = Callable[[Patient], Diagnosis]


def _of_log(name: str, check: Callable[[Patient, Readable], Diagnosis]) -> Check:
    """Return a check that is only made of a log that can be read."""

    def checked(patient: Patient) -> Diagnosis:
        if isinstance(patient.log, LedgerError):
            return skip(name, "the log cannot be read", "see log")
        return check(patient, patient.log)

    return checked


CHECKS: dict[str, Check] = {
    "sqlite": doctor_disk.sqlite,
    "settings": _of_log("settings", doctor_disk.settings),
    "permissions": doctor_disk.permissions,
    "filesystem": doctor_disk.filesystem,
    "disk": doctor_disk.disk,
    "lock": doctor_disk.lock,
    "log": doctor_log.log,
    "index": _of_log("index", doctor_log.index),
    "projections": _of_log("projections", doctor_log.projections),
    "blobs": _of_log("blobs", doctor_log.blobs),
    "log-key": doctor_keys.log_key,
    "keys": doctor_keys.keys,
    "custody": _of_log("custody", doctor_keys.custody),
    "clock": _of_log("clock", doctor_clock.clock),
    "anchor": _of_log("anchor", doctor_log.anchor),
    "wal": doctor_disk.wal,
    "hook": _of_log("hook", doctor_hook.hook),
}


def diagnose(folder: Folder, around: Surroundings) -> list[Diagnosis]:
    """Return every check's line, in the order of `CHECKS`."""
    with examined(folder, around) as patient:
        return [check(patient) for check in CHECKS.values()]
