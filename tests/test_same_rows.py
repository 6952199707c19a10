"""Rows are the same bytes wherever they are made (METRICS §0)."""

import os
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from tests.source_tree import REPOSITORY

IMPORTS = "import apsw, hypothesis, msgspec, nacl, numpy, polars, sqlite_utils"
VECTOR_UNITS = " ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"])
CIRCUMSTANCES = {
    "another hash seed": {"PYTHONHASHSEED": "1"},
    "one thread": {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
        "PYTHONHASHSEED": "2",
    },
    "a plain processor": {"NPY_DISABLE_CPU_FEATURES": VECTOR_UNITS},
    "another zone and language": {"LC_ALL": "C", "TZ": "Pacific/Chatham"},
}


def printed(program: str, **surroundings: str) -> list[str]:
    """Return the line of each row that a process of its own makes."""
    done = subprocess.run(
        [program, "-m", "tests.reproduced"],
        capture_output=True,
        check=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": "0", **surroundings},
        text=True,
    )
    return done.stdout.splitlines()


@cache
def usual() -> list[str]:
    return printed(sys.executable)


def python(version: str) -> str | None:
    """Return an interpreter of a version that has what the product needs."""
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    tried = subprocess.run([found, "-c", IMPORTS], capture_output=True, check=False)
    return found if tried.returncode == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize("surroundings", CIRCUMSTANCES.values(), ids=CIRCUMSTANCES)
def test_rows_do_not_depend_on_where_they_are_made(
    surroundings: dict[str, str],
) -> None:
    assert len(usual()) > len(CIRCUMSTANCES)
    assert printed(sys.executable, **surroundings) == usual()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_rows_do_not_depend_on_the_python_that_makes_them(version: str) -> None:
    other = python(version)
    if other is None:
        pytest.skip(f"no Python {version} here has the libraries of the product")
    assert printed(other) == usual()
