"""What `docs/bundles.md` says is done here, word for word."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ledger.projections.bundle import Manifest
from ledger.store_opening import open_store
from tests.publisher import Copy, publish
from tests.source_tree import REPOSITORY
from tests.workshop import Workshop, key_of

DOCUMENT = (REPOSITORY / "docs" / "bundles.md").read_text("utf-8")
EXAMPLE, CHECK = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle and the log as `ledger log --json` prints it."""
    workshop = Workshop(tmp_path / "home").found().tell()
    publish(workshop, tmp_path / "bundle")
    store = open_store(workshop.folder.log, read_only=True)
    lines = [b'{"payload":%b}\n' % row.payload for row in store.rows(0, 99)]
    store.close()
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(program, "docs/bundles.md", "exec"), names)
    return names


def test_a_mean_of_the_vectors_is_the_number_of_the_row(here: Path) -> None:
    rows = map(json.loads, (here / "bundle" / "rows.jsonl").read_bytes().splitlines())
    row = next(row for row in rows if row["forecaster"] == "native")
    assert run(EXAMPLE)["brier"] == Fraction(row["scores"]["brier"]["exact"])


@pytest.mark.usefixtures("here")
def test_the_check_in_the_document_passes_a_true_bundle() -> None:
    assert run(CHECK)["vouching"]


def test_the_check_in_the_document_fails_another_file(here: Path) -> None:
    path = here / "bundle" / "rows.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(AssertionError, match=r"rows\.csv"):
        run(CHECK)


def test_the_check_in_the_document_fails_another_signer(here: Path) -> None:
    copy = Copy(here / "bundle", here / "copy")
    copy.sign(key_of("forecaster"))
    (here / "bundle" / "manifest.sig").write_bytes(
        (copy.path / "manifest.sig").read_bytes()
    )
    with pytest.raises(AssertionError, match="nobody"):
        run(CHECK)


def test_every_key_of_a_manifest_is_documented() -> None:
    assert [n for n in Manifest.__struct_fields__ if f"| `{n}` |" not in DOCUMENT] == []


def test_every_column_of_the_vectors_is_documented(here: Path) -> None:
    schema = pl.read_parquet(here / "bundle" / "forecasts.parquet").schema
    _, _, table = DOCUMENT.partition("## Vectors")
    named = set(re.findall(r"`([a-z0-9_]+)`", table))
    assert {name for name in schema if not name.startswith("tag:")} <= named
