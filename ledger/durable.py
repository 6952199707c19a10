"""Files that survive a crash, and folders that a ledger may live in."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ledger.errors import HeldError, UncheckableError, UsageError

# Locks and shared memory cannot be trusted across machines.
_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "fuse.ceph",
        "glusterfs",
        "fuse.glusterfs",
        "lustre",
        "fuse.sshfs",
        "9p",
        "beegfs",
        "gfs2",
        "ocfs2",
    ],
)
SMALL = 1_048_576
_OTHERS = 0o077
# What the system says where a disk, or a user's share of it, has no room left.
FULL = (errno.ENOSPC, errno.EDQUOT)
# Where Linux says what is mounted where; other systems have no such file.
MOUNTS = Path("/proc/self/mounts")


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file in one step: after a crash it holds the old or the new bytes."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with naming(path):
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is not there yet: where that fails, it is still not there.

    Raises `FileExistsError` where it is, and that one stays as it is.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(path, flags, mode)
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        # Half of it would pass for all, and keep the next try from its name.
        path.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have the system's errors name a file: those of a write or a sync name none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def read_regular(path: Path, bytes_max: int = SMALL) -> bytes:
    """Return what a regular file of at most so many bytes holds.

    Raises `OSError` for anything else under that name: a pipe would wait for ever,
    and a device has no end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > bytes_max:
            limit = f"it is no regular file of at most {bytes_max:,} bytes"
            raise OSError(errno.EINVAL, limit, str(path))
        with naming(path), os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(handle)


def require_no_pipe(path: Path) -> None:
    """Raise `UncheckableError` where a pipe or device has a file's name.

    Whoever opens it would wait. That a folder cannot be opened is found at once.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        msg = f"{path} is no file: remove it, it is made again"
        raise UncheckableError(msg)


def require_disposable(path: Path) -> None:
    """Raise `UncheckableError` where something else has a disposable database's name.

    Or that of a file which SQLite keeps beside it: a link might lead to the log itself,
    and so does a second name of the log.
    """
    log = path.with_name("log.db")
    for ending in ("", "-wal", "-shm", "-journal"):
        each = path.with_name(path.name + ending)
        if each.is_symlink() or (each.exists() and log.exists() and log.samefile(each)):
            msg = f"{each} is a link: remove it, the file is made again in its place"
            raise UncheckableError(msg)
        require_no_pipe(each)


def make_private(path: Path) -> None:
    """Make a file that its owner alone may read, empty; close one there is to others.

    SQLite gives the files beside a database the mode that the database has. What
    cannot be made or closed stays as it is: whoever opens it says what is wrong.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if path.stat().st_mode & _OTHERS:
            path.chmod(0o600)


def remove_database(path: Path) -> None:
    """Remove a SQLite file with its write-ahead log; nothing there is fine."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def lock(path: Path) -> int:
    """Return a handle that holds the folder's writer lock until it is closed.

    Raises `HeldError` when another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        msg = f"another process writes to {path.parent}: use it, or stop it first"
        raise HeldError(msg) from None
    return handle


def is_locked(path: Path, handle: int) -> bool:
    """Tell whether the lock that a handle holds is still the file under that name.

    A lock file that was removed or replaced keeps nobody out.
    """
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(handle))


class HeldFile:
    """A file that is open for writing: what is written to it is gone if it is."""

    def __init__(self, path: Path) -> None:
        """Take where it is now."""
        self._path = path
        self._held = path.stat()

    def is_in_place(self) -> bool:
        """Tell whether it was neither removed nor replaced."""
        try:
            return os.path.samestat(self._held, self._path.stat())
        except OSError:
            return False


def require_local(folder: Path) -> None:
    """Raise `UsageError` for a folder on a network file system."""
    kind = file_system(folder)
    if kind in _NETWORK:
        msg = f"{folder} is on {kind}, a network file system: use a local disk"
        raise UsageError(msg)


def file_system(folder: Path) -> str:
    """Return the kind of file system that a folder is on, such as ext4; "" if unknown."""
    if not MOUNTS.exists():
        return ""
    here = str(folder.resolve())
    best = ("", "")
    for line in MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
        _, mount, kind, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        inside = here == mount or here.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]
