"""What tests of several files are given: the real data where it is, and a forger."""

from pathlib import Path

import pytest

from tests.forger import Forger
from tests.shared import SHARED
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
