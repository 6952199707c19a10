"""The bytes that `docs/wire-format.md` shows are the bytes that the ledger makes."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from ledger import codec
from ledger.canonical import canonical_text
from ledger.checkpoint import open_checkpoint
from ledger.clock import parse_instant
from ledger.entry import Entry, leaf_hash
from ledger.events import ForecastSealed
from ledger.folder import Folder
from ledger.ids import event_id, sha256_hex
from ledger.keys.signing import SignerKey, new_signer, pae, sign_payload
from ledger.log import create, open_reader
from ledger.merkle import root_of
from ledger.writer import Submission

PAGE = (Path(__file__).parents[1] / "docs" / "wire-format.md").read_text("utf-8")
SHOWN = dict(
    re.findall(r"<!-- example: (.+?) -->\n```[a-z]+\n(.*?)\n```\n", PAGE, re.DOTALL)
)
VECTORS = json.loads((Path(__file__).parent / "vectors" / "log-v1.json").read_text())


def key(name: str, words: str) -> SignerKey:
    return new_signer(name, sha256(words.encode()).digest())


LOG = key("example.org/log", "example log")
ROOT = key("root", "example root")
FORECASTER = key("forecaster", "example forecaster")


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """Found the ledger of the page; return entry 0 as stored, and the checkpoint."""
    home = tmp_path_factory.mktemp("page")
    payload = SHOWN["entry 0, payload"].encode()
    receipt = create(
        Folder(home / "ledger"),
        Submission(
            payload=payload,
            author_key=ROOT.verifier.public,
            signature=sign_payload(payload, ROOT),
        ),
        LOG,
        clock=lambda: parse_instant("2026-11-02T09:00:01.500000Z"),
        state_home=home,
    )
    assert receipt.event_id == SHOWN["entry 0, event id"]
    with open_reader(Folder(home / "ledger")) as reader:
        row = next(reader.store.rows(0, 1))
    entry = Entry(
        received_at=parse_instant(row.received_at),
        author_key=row.author,
        signature=row.sig,
        payload=row.payload,
    )
    return entry.to_bytes(), receipt.checkpoint


def forecast() -> tuple[bytes, ForecastSealed]:
    payload = SHOWN["forecast, payload"].encode()
    event = codec.decode(payload)
    assert isinstance(event, ForecastSealed)
    return payload, event


def test_every_example_of_the_page_is_checked_here() -> None:
    source = Path(__file__).read_text("utf-8")
    assert len(SHOWN) == PAGE.count("<!-- example:")
    assert [name for name in SHOWN if f'SHOWN["{name}"]' not in source] == []


def test_the_keys_have_the_forms_that_the_page_shows() -> None:
    verifiers = [str(each.verifier) for each in (LOG, ROOT, FORECASTER)]
    assert SHOWN["verifier keys"].splitlines() == verifiers
    assert SHOWN["signer key"] == FORECASTER.line()


def test_the_forecast_has_the_id_encoding_signature_and_entry_of_the_page() -> None:
    payload, event = forecast()
    signature = sign_payload(payload, FORECASTER)
    entry = SHOWN["forecast, entry"].encode()

    assert codec.encode(event) == payload
    assert event_id(payload) == SHOWN["forecast, event id"]
    assert event.ledger == SHOWN["entry 0, event id"]
    shown = SHOWN["forecast, PAE without its payload"].encode()
    assert pae(payload) == shown + b" " + payload
    assert b64encode(signature).decode() == SHOWN["forecast, signature"]
    assert Entry.from_bytes(entry) == Entry(
        received_at=parse_instant("2026-11-02T09:11:00.750000Z"),
        author_key=FORECASTER.verifier.public,
        signature=signature,
        payload=payload,
    )


def test_the_tree_and_the_checkpoints_are_those_of_the_page(
    founded: tuple[bytes, str],
) -> None:
    first, note = founded
    leaves = [leaf_hash(first), leaf_hash(SHOWN["forecast, entry"].encode())]

    assert [leaf.hex() for leaf in leaves] == SHOWN["leaves"].splitlines()
    assert root_of(leaves).hex() == SHOWN["root of both"]
    assert note == SHOWN["checkpoint of size 1"] + "\n"
    checkpoint = open_checkpoint(
        SHOWN["checkpoint of size 2"] + "\n", [LOG.verifier], "example.org/log"
    )
    assert (checkpoint.size, checkpoint.root) == (2, root_of(leaves))


def test_the_hashes_of_parts_are_those_of_slices_of_the_payload() -> None:
    payload, event = forecast()
    question = SHOWN["question"]

    assert question.encode() in payload
    assert event.question is not None
    assert canonical_text(event.question) == question
    assert sha256_hex(question.encode()) == SHOWN["question hash"]
    assert codec.question_hash(event.question) == SHOWN["question hash"]
    assert event.suite_hash == sha256_hex(b"a manifest")


def test_a_hidden_forecast_commits_to_the_text_of_the_page() -> None:
    _, event = forecast()
    salt = sha256_hex(b"example salt")

    assert json.loads(SHOWN["committed text"])["salt"] == salt
    assert sha256_hex(SHOWN["committed text"].encode()) == SHOWN["commitment"]
    assert codec.commitment(event, parent=None, salt=salt) == SHOWN["commitment"]


def test_the_page_names_every_code_of_the_refused_vectors() -> None:
    table = PAGE.split("## What is refused")[1]
    named = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))
    assert named == {case["code"] for case in VECTORS["refused"]} | {"too-large"}


def test_the_page_names_every_field_of_every_event() -> None:
    fields = {
        field
        for kind in codec.__dict__.values()
        if isinstance(kind, type) and kind.__module__ == "ledger.events"
        for field in getattr(kind, "__struct_fields__", ())
    }
    assert fields
    assert [name for name in sorted(fields) if f"`{name}`" not in PAGE] == []
