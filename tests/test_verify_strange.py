"""Rows that no writer of this program leaves in `log.db`: judged, never passed over."""

import sqlite3
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.checkpoint import cosign
from ledger.folder import Folder
from ledger.keys.signing import COSIGNATURE, new_signer
from ledger.projections.audit import Options, verify_ledger
from ledger.projections.audit_report import Report
from tests.workshop import Workshop, key_of

WITNESS = new_signer("witness.example", key_of("witness").seed, COSIGNATURE)
SIZE = 12
Editing = Callable[[sqlite3.Connection], object]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path).found().tell()


def edited(folder: Folder, edit: Editing) -> Report:
    """Return what an audit says of a log that somebody changed so."""
    with closing(sqlite3.connect(folder.log)) as log:
        edit(log)
        log.commit()
    return verify_ledger(folder, Options(witnesses=(WITNESS.verifier,)))


def stored(folder: Folder, line: str | bytes) -> Report:
    """Return what an audit says of a log with this witness's line on its head."""
    return edited(
        folder,
        lambda log: log.execute(
            "INSERT INTO cosignatures VALUES (?, CAST(? AS TEXT))", (SIZE, line)
        ),
    )


def good_line(workshop: Workshop) -> str:
    return cosign(workshop.receipts[-1].checkpoint, WITNESS, 1_793_610_000)


def unknown_line(signature: bytes = bytes(72)) -> str:
    return f"— other.example {b64encode(b'abcd' + signature).decode()}\n"


ODD: dict[str, Callable[[str], str | bytes]] = {
    "nothing": lambda _: "",
    "an empty line": lambda _: "\n",
    "junk": lambda _: "junk\n",
    "two lines": lambda line: line + unknown_line(),
    "the same line twice": lambda line: line * 2,
    "no newline": lambda line: line[:-1],
    "a newline more": lambda line: line + "\n",
    "junk before it": lambda line: "junk\n" + line,
    "junk and an empty line before it": lambda line: "junk\n\n" + line,
    "a hyphen for the dash": lambda line: "-" + line[1:],
    "a control": lambda line: line[:4] + "\x1b" + line[4:],
    "a NUL": lambda line: line + "\0",
    "bytes that are no text": lambda line: b"\xff" + line.encode(),
    "bytes that are no text for a name": lambda _: "— \udcff QUFBQUFB\n".encode(
        "utf-8", "surrogateescape"
    ),
    "a key's id alone": lambda _: unknown_line(b""),
    "base64 in another spelling": lambda line: line[:-1] + "=\n",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_row_that_is_not_one_signature_line_is_a_false_checkpoint(
    workshop: Workshop, odd: Callable[[str], str | bytes]
) -> None:
    report = stored(workshop.folder, odd(good_line(workshop)))
    check = report.check("checkpoints")
    assert (check.ok, report.exit_code) == (False, 1)
    assert f"size {SIZE}" in check.detail
    assert report.check("tree").ok is True


def test_one_line_of_a_witness_is_right_whether_it_is_known_or_not(
    workshop: Workshop,
) -> None:
    assert stored(workshop.folder, good_line(workshop)).exit_code == 0
    report = stored(workshop.folder, unknown_line())
    assert report.exit_code == 0
    assert "1 of 2 witness lines" in report.check("checkpoints").detail


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("INSERT INTO meta VALUES ('note', 'all is well')", "meta has 'note'"),
        ("INSERT INTO meta VALUES ('', '')", "meta has ''"),
        ("PRAGMA user_version = 7", "user_version is 7"),
        ("PRAGMA application_id = 252006674", "application_id is 252006674"),
    ],
)
def test_what_the_file_says_of_itself_is_ours_alone(
    workshop: Workshop, statement: str, said: str
) -> None:
    assert verify_ledger(workshop.folder).check("storage").ok is True
    report = edited(workshop.folder, lambda log: log.execute(statement))
    check = report.check("storage")
    assert (check.ok, report.exit_code) == (False, 1)
    assert said in check.detail
