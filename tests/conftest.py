"""What tests of several files are given: the real data, a forger, a disk to fill."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forger import Forger
from tests.shared import SHARED
from tests.small_disk import small_disk
from tests.workshop import Workshop


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data, or skip: it is not part of the repository."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not beside this checkout")
    return folder


@pytest.fixture
def forger(workshop: Workshop, tmp_path: Path) -> Forger:
    """Somebody with a copy of the folder of the test's own `workshop`."""
    return Forger(workshop, tmp_path)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small disk; whoever asks for it needs root."""
    with small_disk("4m") as place:
        yield place
