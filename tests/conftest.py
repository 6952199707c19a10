"""Where the suite finds its vectors and, where they are present, the real data."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data, or skip: it is not part of the repository."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not beside this checkout")
    return folder
