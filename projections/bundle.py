"""What a bundle is: its files, and what its manifest states of them.

Rows are published with the checkpoint that they were computed at, so that whoever
has the log can compute each of them again. `export` writes bundles, `audit_bundle`
judges them, and `docs/bundles.md` describes them for readers in other languages.
"""

from pathlib import Path
from typing import Annotated

import msgspec

from ledger.canonical import encode
from ledger.errors import CorruptLogError, UncheckableError

FORMAT = "bundle/1"
MANIFEST, SIGNATURES = "manifest.json", "manifest.sig"
ROWS, ROWS_CSV, ROWS_PARQUET = "rows.jsonl", "rows.csv", "rows.parquet"
FORECASTS = "forecasts.parquet"
TABLES = (ROWS, ROWS_CSV, ROWS_PARQUET, FORECASTS)
BLOBS = "blobs"
# How many slots, or groupings, one bundle may ask for: each computes all rows again.
ASKED_MAX = 64


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows a bundle has, so that nobody has to guess which were left out.

    `suites` are all those that are meant, in order; without `slots` each suite's
    headline; `by` are groupings beyond those that the suites declare.
    """

    suites: tuple[str, ...]
    slots: tuple[str, ...]
    by: tuple[str, ...]


class RowHashes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many rows there are, and the SHA-256 of each one's canonical JSON."""

    count: int
    sha256: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`manifest.json`: at which head of which log the rows were computed, and from what.

    `checkpoint` is the signed note of the first `size` entries, of which the last
    was received at `received_at`. `files` are all other files but the signatures, by
    their SHA-256.
    """

    format: str
    ledger: str
    origin: str
    checkpoint: str
    size: Annotated[int, msgspec.Meta(ge=1)]
    received_at: str
    suites: dict[str, str]
    query: Query
    rows: RowHashes
    files: dict[str, str]
    scorer: str
    program: str


class _Versioned(msgspec.Struct):
    format: str


def is_bundle(path: Path) -> bool:
    """Tell whether a folder is meant as a bundle: it has one of a bundle's own files."""
    return any((path / name).is_file() for name in (MANIFEST, SIGNATURES, *TABLES))


def read_manifest(content: bytes) -> Manifest:
    """Return what the bytes of `manifest.json` state, in their one spelling.

    Raises `UncheckableError` for a newer format, `CorruptLogError` for no manifest.
    """
    try:
        found = msgspec.json.decode(content, type=_Versioned)
        if found.format != FORMAT:
            msg = f"{MANIFEST} has format {found.format!r}, and this program reads {FORMAT!r}"
            raise UncheckableError(msg)
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{MANIFEST} is no manifest of a bundle: {error}"
        raise CorruptLogError(msg) from None
    if encode(manifest) != content:
        msg = f"{MANIFEST} is not spelled as canonical JSON (RFC 8785)"
        raise CorruptLogError(msg)
    return manifest
