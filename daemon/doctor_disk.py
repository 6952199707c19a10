"""The ground that a ledger stands on: SQLite, modes, file system, space, lock."""

import fcntl
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ledger.daemon.diagnosis import (
    Diagnosis,
    Problem,
    command,
    fail,
    ok,
    skip,
    together,
    warn,
)
from ledger.daemon.patient import Patient, Readable
from ledger.durable import file_system, require_local, require_no_pipe
from ledger.errors import UncheckableError, UsageError
from ledger.store_opening import DURABLE, settings_of, sqlite_version

# SQLite 3.7.0 to 3.51.2 can lose committed data when two connections reset a WAL.
SQLITE_SOUND = (3, 51, 3)
_LOCKS = Path("/proc/locks")
MIB = 1024 * 1024
FREE_BYTES_MIN = 64 * MIB
FREE_BYTES_WANTED = 1024 * MIB
# A log that grows on needs room for itself, its copies and its projections.
FREE_LOGS_WANTED = 10
WAL_BYTES_MAX = 64 * MIB
_OTHERS = 0o077


def sqlite(_: Patient) -> Diagnosis:
    """Tell whether the SQLite that opens the log keeps what it committed."""
    version = sqlite_version()
    if tuple(map(int, version.split("."))) < SQLITE_SOUND:
        return fail(
            "sqlite",
            f"SQLite {version} opens the log, and versions before 3.51.3 can lose data",
            "install a newer apsw, which brings its SQLite along: apsw>=3.51.3",
        )
    return ok("sqlite", f"SQLite {version} opens the log")


def settings(patient: Patient, _: Readable) -> Diagnosis:
    """Tell whether SQLite answers what a durable log needs."""
    log = patient.folder.log
    if not os.access(log.parent, os.W_OK):
        # SQLite then reads the file alone, and answers as if it had no mode.
        return skip("settings", "the folder cannot be written", "see filesystem")
    found = settings_of(log)
    wrong = [
        f"{name} is {found[name]!r} instead of {value!r}"
        for name, value in DURABLE.items()
        if found[name] != value
    ]
    if wrong:
        remedy = command("ledger", "append", "/dev/null", "--ledger", log.parent)
        return warn("settings", f"{'; '.join(wrong)}: the next writer sets it", remedy)
    return ok("settings", "journal_mode wal, synchronous full, as read back")


def permissions(patient: Patient) -> Diagnosis:
    """Tell whether the folder and the log are this user's, and nobody else's."""
    folder = patient.folder
    files = [*folder.path.glob("log.db*"), *folder.path.glob("log.key*")]
    places = [each for each in (folder.path, folder.keys) if each.is_dir()]
    problems = [
        *_foreign([*places, *files], patient.around.uid),
        *_open_to_others(places, "700"),
        *_open_to_others(files, "600"),
    ]
    return together("permissions", problems, "the folder and the log are yours alone")


def _open_to_others(paths: list[Path], mode: str) -> Iterator[Problem]:
    found = [path for path in sorted(paths) if path.stat().st_mode & _OTHERS]
    if found:
        modes = [f"{path} has mode {mode_of(path)}" for path in found]
        yield Problem(detail="; ".join(modes), remedy=command("chmod", mode, *found))


def mode_of(path: Path) -> str:
    """Return a file's mode as `chmod` takes it."""
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def _foreign(paths: list[Path], uid: int) -> Iterator[Problem]:
    found = [path for path in sorted(paths) if path.stat().st_uid != uid]
    if found:
        me, owner = user_name(uid), user_name(found[0].stat().st_uid)
        yield Problem(
            detail=f"{found[0]} belongs to {owner}, and you are {me}",
            remedy=f"work as {owner}, or take all of it over: {command('chown', '-R', me, paths[0])}",
        )


def user_name(uid: int) -> str:
    """Return a user's name, or the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def filesystem(patient: Patient) -> Diagnosis:
    """Tell whether the folder is on a local disk that can be written."""
    path = patient.folder.path
    try:
        require_local(path)
    except UsageError as error:
        remedy = "copy the whole folder to a local disk while nothing writes to it"
        return fail("filesystem", str(error), remedy)
    kind = file_system(path) or "a file system of unknown kind"
    if not os.access(path, os.W_OK | os.X_OK):
        remedy = "mount the disk for writing, or work as the user who may write there"
        return fail("filesystem", f"{path} on {kind} cannot be written", remedy)
    return ok("filesystem", f"{kind}, local and writable")


def disk(patient: Patient) -> Diagnosis:
    """Tell whether there is room for the log to grow."""
    folder = patient.folder
    free = shutil.disk_usage(folder.path).free
    log = folder.log.stat().st_size if folder.log.exists() else 0
    wanted = max(FREE_BYTES_WANTED, FREE_LOGS_WANTED * log)
    found = f"{free // MIB:,} MiB free, and the log has {-(-log // MIB):,} MiB"
    remedy = f"make room on the disk of {folder.path}: {wanted // MIB:,} MiB are wanted"
    if free < FREE_BYTES_MIN:
        return fail("disk", f"{found}: appends will soon fail", remedy)
    if free < wanted:
        return warn("disk", found, remedy)
    return ok("disk", found)


def lock(patient: Patient) -> Diagnosis:
    """Tell whether somebody is writing; either is well."""
    path = patient.folder.lock
    if not path.exists():
        return ok("lock", "free")
    try:
        if is_held(path):
            holder = lock_holder(path)
            who = "another process" if holder is None else f"process {holder}"
            return ok("lock", f"held: {who} writes to this ledger")
    except UncheckableError as error:
        return fail("lock", str(error), command("rm", path))
    except OSError as error:
        remedy = f"work as {user_name(path.stat().st_uid)}, whose file it is"
        if path.is_dir():
            remedy = command("rmdir", path)
        return fail("lock", f"{path} cannot be opened: {error.strerror}", remedy)
    return ok("lock", "free")


def is_held(path: Path) -> bool:
    """Tell whether somebody holds a ledger's lock.

    Raises `UncheckableError` for a pipe, and `OSError` for what cannot be opened.
    """
    require_no_pipe(path)
    with path.open("rb") as file:
        try:
            # Shared and let go at once, so that it keeps no writer out.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def lock_holder(path: Path) -> int | None:
    """Return the process that holds a ledger's lock, as far as Linux tells; else None.

    Another disk may have a locked file of the same number, and file systems differ in
    which disk they name there: so it is a process that has this very file open or,
    where nobody is known to, one of another user, of which that cannot be told.
    """
    if not _LOCKS.exists() or not path.exists():
        return None
    there, unknown = path.stat(), None
    for line in _LOCKS.read_text().splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF
        words = line.split()
        is_like_it = words[1] == "FLOCK" and words[-3].endswith(f":{there.st_ino}")
        if not is_like_it:
            continue
        pid = int(words[4])
        has_open = _has_open(pid, there)
        if has_open:
            return pid
        if has_open is None and unknown is None:
            unknown = pid
    return unknown


def _has_open(pid: int, there: os.stat_result) -> bool | None:
    """Tell whether a process has a file open; None where it is another user's."""
    try:
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # It was closed meanwhile.
                if os.path.samestat(each.stat(), there):
                    return True
    except PermissionError:
        return None
    except OSError:
        return False  # It is gone.
    return False


def wal(patient: Patient) -> Diagnosis:
    """Tell whether the write-ahead log is small, as it is when no reader dawdles."""
    log = patient.folder.log
    path = log.with_name(f"{log.name}-wal")
    size = path.stat().st_size if path.exists() else 0
    if size > WAL_BYTES_MAX:
        return warn(
            "wal",
            f"the write-ahead log has {size // MIB:,} MiB: a reader keeps it from being emptied",
            "end the programs that read this ledger for long; when the last one is gone, the next command empties it",
        )
    return ok("wal", f"the write-ahead log has {size // 1024:,} KiB")
