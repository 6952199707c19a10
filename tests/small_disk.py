"""A disk that is small enough to be filled."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NEEDS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root makes a small disk to fill"
)


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Give an empty disk of this size, or skip where none may be mounted."""
    # A socket's path is short, which a test's own folder is not.
    place = Path(tempfile.mkdtemp(prefix="sl-"))
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        place.rmdir()
        pytest.skip(f"nothing may be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        place.rmdir()


def remount(disk: Path, mode: str) -> None:
    """Have a disk turn read-only, `ro`, or be written to again, `rw`."""
    subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room on a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast
