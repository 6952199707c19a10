"""`ledger log`, `show`, `status` and `checkpoint`: what a ledger says of itself."""

import json
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from ledger.checkpoint import open_checkpoint
from ledger.ids import sha256_hex
from ledger.keys.keyfile import read_key
from ledger.keys.signing import payload_verifies
from tests.console import Console
from tests.court import BAR

ORIGIN = "example.org/test"


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """A ledger of six entries: charter, suite, question, forecast, update, outcome."""
    console = Console(tmp_path).found().frozen()
    opened = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", BAR)
    for words in (
        ("resolve", "--status", "PENDING", "--id", "d-1", *opened),
        ("seal", "--id", "d-1", "-p", "0.8"),
        ("update", "--id", "d-1", "-p", "0.6"),
        ("resolve", "--id", "d-1", "--outcome", "pass"),
    ):
        assert console.here(*words).code == 0
    return console


def test_the_log_has_a_line_an_event(console: Console) -> None:
    entries = console.here("log", "--json").objects
    assert [list(each) for each in entries] == [
        ["seq", "event_id", "received_at", "author", "payload"]
    ] * 6
    assert [each["seq"] for each in entries] == list(range(6))
    assert [each["payload"]["author"] for each in entries] == [
        each["author"] for each in entries
    ]


def test_people_read_what_happened(console: Console) -> None:
    lines = console.here("log").stdout.splitlines()
    said = [line.split("  ")[-1].strip() for line in lines]
    unit = "dispatch-pass/d-1/24h"
    assert said == [
        "freezes charter@v1",
        "freezes piper-self@v1",
        f"opens {unit}",
        f"seals {unit} as native: fail=0.2 pass=0.8",
        f"updates {unit} as native: fail=0.4 pass=0.6",
        f"resolves {unit}: pass",
    ]


@pytest.mark.parametrize(
    ("words", "seqs"),
    [
        (["--since", "4"], [4, 5]),
        (["--since", "6"], []),
        (["--limit", "2"], [0, 1]),
        (["--limit", "0"], []),
        (["--since", "1", "--limit", "2"], [1, 2]),
        (["--since", "5", "--limit", "9"], [5]),
    ],
)
def test_a_part_of_the_log_is_listed(
    console: Console, words: list[str], seqs: list[int]
) -> None:
    shown = console.here("log", "--json", *words)
    assert [each["seq"] for each in shown.objects] == seqs


@pytest.mark.parametrize("words", [["--since", "-1"], ["--limit", "-1"]])
def test_a_negative_part_is_refused(console: Console, words: list[str]) -> None:
    assert console.here("log", *words).code == 2


def test_an_entry_is_shown_by_its_position_and_by_its_id(console: Console) -> None:
    by_position = console.here("show", "3", "--json")
    entry = by_position.object
    assert (
        console.here("show", entry["event_id"], "--json").stdout == by_position.stdout
    )
    assert entry["signature_verifies"] is True
    assert entry["hashes_match"] is True
    assert (entry["is_included"], entry["size"]) == (True, 6)
    key = read_key(console.ledger / "keys" / "forecaster.key").verifier
    assert entry["author_key"] == key.public.hex()


def test_the_raw_payload_is_what_was_signed(console: Console) -> None:
    raw = console.here("show", "3", "--raw").stdout.encode()
    entry = console.here("show", "3", "--json").object
    assert sha256_hex(raw) == entry["event_id"]
    signature = b64decode(entry["signature"])
    assert payload_verifies(raw, signature, bytes.fromhex(entry["author_key"]))


def test_an_entry_is_shown_to_people(console: Console) -> None:
    text = console.here("show", "3").stdout
    assert "ForecastSealed" in text
    assert "yes, under the checkpoint of size 6" in text
    assert '"pass": "0.8"' in text


@pytest.mark.parametrize("which", ["6", "a" * 64, "x", "-", "9" * 40, "0x3"])
def test_an_entry_that_is_not_there_is_not_shown(console: Console, which: str) -> None:
    shown = console.here("show", which)
    assert shown.code == 2
    assert shown.stderr.startswith("error: ")


def test_a_checkpoint_is_printed_as_it_was_signed(console: Console) -> None:
    note = console.here("checkpoint").stdout
    key = read_key(console.ledger / "log.key").verifier
    checkpoint = open_checkpoint(note, [key], ORIGIN)
    told = console.here("checkpoint", "--json").object
    root = b64encode(checkpoint.root).decode()
    assert told == {"origin": ORIGIN, "size": 6, "root": root, "note": note}


def test_the_status_tells_what_the_ledger_holds(console: Console) -> None:
    told = console.here("status", "--json").object
    assert told["entries"] == 6
    assert told["root"] == console.here("checkpoint", "--json").object["root"]
    assert (
        told["last_received_at"]
        == console.here("log", "--json").objects[-1]["received_at"]
    )
    assert told["suites"] == [{"suite": "piper-self@v1", "in_force": True}]
    assert (told["charter"], told["custody"]) == ("charter@v1", "shared")
    assert {each["role"] for each in told["principals"]} == {
        "root", "evaluator", "issuer", "resolver", "forecaster",
    }  # fmt: skip
    assert told["projections"]["behind"] == 6


def test_the_status_is_told_to_people(console: Console) -> None:
    text = console.here("status").stdout
    assert "charter@v1, custody shared" in text
    assert "piper-self@v1" in text


def test_a_superseded_suite_is_called_so(console: Console) -> None:
    console.frozen("piper-self@v2")
    told = console.here("status", "--json").object
    assert told["suites"] == [
        {"suite": "piper-self@v1", "in_force": False},
        {"suite": "piper-self@v2", "in_force": True},
    ]
    assert "piper-self@v1 (superseded)" in console.here("status").stdout


def test_reading_needs_no_lock(console: Console) -> None:
    assert json.loads(console.here("status", "--json").stdout)["entries"] == 6
    (console.ledger / "lock").chmod(0o000)
    assert console.here("log", "--limit", "1").code == 0


# --- What people copy from one command into another -----------------------------------


@pytest.mark.parametrize("since", [3, 4, 5])
def test_a_part_of_the_log_calls_questions_by_their_names(
    console: Console, since: int
) -> None:
    lines = console.here("log", "--since", since).stdout.splitlines()
    assert len(lines) == 6 - since
    assert all(" dispatch-pass/d-1/24h" in line for line in lines)


@pytest.mark.parametrize("digits", [8, 9, 12, 63, 64])
def test_the_beginning_of_an_id_names_an_event(console: Console, digits: int) -> None:
    event = console.here("log", "--json").objects[4]
    shown = console.here("show", event["event_id"][:digits], "--json")
    assert shown.object["seq"] == 4


@pytest.mark.parametrize("digits", [8, 9, 12, 63, 64])
def test_the_beginning_of_a_hash_names_a_question(
    console: Console, digits: int
) -> None:
    asked = console.here("log", "--json").objects[2]["payload"]["question_hash"]
    [told] = console.here("lineage", asked[:digits], "--json").objects
    assert told["id"] == "d-1"


def test_a_beginning_that_is_too_short_or_nobodys_is_refused(console: Console) -> None:
    event = console.here("log", "--json").objects[4]["event_id"]
    asked = console.here("log", "--json").objects[2]["payload"]["question_hash"]
    for words in (
        ("show", f"x{event[:7]}"),
        ("show", "abcdef" if not event.startswith("abcdef") else "abcde0"),
        ("show", "0123abcd"),
        ("lineage", asked[:7]),
        ("lineage", "0123abcd"),
    ):
        assert console.here(*words).code == 2
