"""The bytes of the log, against vectors that another program wrote."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from ledger import codec
from ledger.checkpoint import (
    Checkpoint,
    InclusionProof,
    cosign,
    open_checkpoint,
    parse_proof,
    sign_checkpoint,
)
from ledger.clock import instant_text_micros, parse_instant
from ledger.entry import Entry, leaf_hash
from ledger.errors import CorruptLogError, LedgerError, RefusedError, UsageError
from ledger.folder import Folder
from ledger.ids import event_id, sha256_hex
from ledger.keys.keyfile import read_key, write_key
from ledger.keys.signing import (
    SignerKey,
    is_sound_key,
    new_signer,
    pae,
    parse_signer,
    parse_verifier,
    payload_verifies,
    sign_payload,
)
from ledger.log import create, open_writer
from ledger.merkle import (
    Tree,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_from_inclusion,
    root_of,
)
from ledger.writer import Submission, Writer

VECTORS = json.loads((Path(__file__).parent / "vectors" / "log-v1.json").read_text())
ENTRIES = VECTORS["entries"]
KEYS = VECTORS["keys"]
LEAVES = [bytes.fromhex(entry["leaf_hash"]) for entry in ENTRIES]
LOG_KEY = parse_verifier(KEYS["log"]["verifier_key"])
WITNESS = parse_verifier(KEYS["witness"]["verifier_key"])
ORIGIN = VECTORS["origin"]


def signer(who: str) -> SignerKey:
    return parse_signer(KEYS[who]["signer_key"])


def author_of(entry: dict) -> str:
    return next(
        who for who, key in KEYS.items() if key["public"] == entry["author_key"]
    )


@pytest.mark.parametrize("who", KEYS)
def test_a_key_has_its_two_forms_and_its_id(who: str) -> None:
    key = KEYS[who]
    made = new_signer(key["name"], bytes.fromhex(key["seed"]), key["type"])

    assert made.line() == key["signer_key"]
    assert str(made.verifier) == key["verifier_key"]
    assert made.verifier.key_id.hex() == key["key_id"]
    assert made.verifier.public.hex() == key["public"]
    assert parse_signer(key["signer_key"]) == made
    assert parse_verifier(key["verifier_key"]) == made.verifier


def test_a_key_file_is_one_line_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "piper.key"
    write_key(path, signer("forecaster"))

    assert path.read_text() == KEYS["forecaster"]["key_file"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path) == signer("forecaster")
    with pytest.raises(UsageError, match="never overwritten"):
        write_key(path, signer("forecaster"))
    path.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        read_key(path)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["index"]))
def test_an_event_has_the_bytes_id_signature_entry_and_leaf_of_the_vectors(
    entry: dict,
) -> None:
    payload = entry["payload"].encode()
    event = codec.decode(payload)
    who = signer(author_of(entry))
    stored = Entry(
        received_at=parse_instant(entry["received_at"]),
        author_key=bytes.fromhex(entry["author_key"]),
        signature=sign_payload(payload, who),
        payload=payload,
    )

    assert codec.encode(event) == payload
    assert type(event).__name__ == entry["type"]
    assert event_id(payload) == entry["event_id"]
    assert pae(payload).hex() == entry["pae_hex"]
    assert b64encode(stored.signature).decode() == entry["signature"]
    assert stored.to_bytes() == entry["entry"].encode()
    assert Entry.from_bytes(b64decode(entry["entry_base64"])) == stored
    assert leaf_hash(stored.to_bytes()).hex() == entry["leaf_hash"]
    question = getattr(event, "question", None)
    if "question_jcs" in entry:
        assert codec.encode(question).decode() == entry["question_jcs"]
        assert codec.question_hash(question) == entry["question_hash"]
    if "manifest_hash" in entry:
        assert codec.suite_hash(event.manifest) == entry["manifest_hash"]


def test_a_reveal_opens_what_was_committed() -> None:
    reveal = codec.decode(ENTRIES[6]["payload"].encode())
    committed = codec.decode(ENTRIES[2]["payload"].encode())
    made, updated = VECTORS["commitments"]

    assert codec.commitment(reveal, parent=None, salt=reveal.salt) == made["commitment"]
    assert committed.commitment == made["commitment"]
    value = updated["value"]
    update = msgspec.structs.replace(
        codec.decode(ENTRIES[4]["payload"].encode()),
        probabilities=value["probabilities"],
        quantities={"duration_minutes": {"point": "40", "quantiles": {"0.5": "40"}}},
    )
    assert (
        codec.commitment(update, parent=value["parent"], salt=value["salt"])
        == updated["commitment"]
    )
    text = VECTORS["text_of_entry_2"]
    assert committed.question.text_hash == sha256_hex(text.encode())


@pytest.mark.parametrize("root", VECTORS["roots"], ids=lambda root: str(root["size"]))
def test_the_root_of_each_size(root: dict) -> None:
    size = root["size"]
    tree = Tree()
    for leaf in LEAVES[:size]:
        tree.append(leaf)

    assert tree.root().hex() == root_of(LEAVES[:size]).hex() == root["hex"]
    assert Tree(size, tree.edge).root() == tree.root()


@pytest.mark.parametrize("case", VECTORS["inclusions"])
def test_every_inclusion_proof(case: dict) -> None:
    index, size = case["index"], case["size"]
    hashes = [b64decode(item) for item in case["hashes"]]

    assert inclusion_proof(LEAVES[:size], index) == hashes
    assert root_from_inclusion(LEAVES[index], index, size, hashes) == root_of(
        LEAVES[:size]
    )


@pytest.mark.parametrize("case", VECTORS["consistencies"])
def test_every_consistency_proof(case: dict) -> None:
    old, new = case["old"], case["new"]
    hashes = [b64decode(item) for item in case["hashes"]]
    old_root, new_root = root_of(LEAVES[:old]), root_of(LEAVES[:new])

    assert consistency_proof(LEAVES[:new], old) == hashes
    assert is_consistent(old, old_root, new, new_root, hashes)
    assert not is_consistent(old, bytes(32), new, new_root, hashes)
    if old:  # every tree extends the empty one
        assert not is_consistent(old, old_root, new, bytes(32), hashes)
    assert not is_consistent(old, old_root, new, new_root, [*hashes, bytes(32)])


@pytest.mark.parametrize("case", VECTORS["checkpoints"], ids=lambda c: str(c["size"]))
def test_a_checkpoint_is_a_signed_note(case: dict) -> None:
    root = bytes.fromhex(VECTORS["roots"][case["size"]]["hex"])
    checkpoint = Checkpoint(origin=ORIGIN, size=case["size"], root=root)

    assert checkpoint.text() == case["text"]
    assert sign_checkpoint(checkpoint, signer("log")) == case["note"]
    assert open_checkpoint(case["note"], [LOG_KEY], ORIGIN) == checkpoint


def test_a_witness_cosigns_a_checkpoint() -> None:
    case = VECTORS["cosigned"]
    note = VECTORS["checkpoints"][-1]["note"]

    assert cosign(note, signer("witness"), case["time"]) == case["line"]
    assert note + case["line"] == case["note"]
    opened = open_checkpoint(case["note"], [LOG_KEY], ORIGIN, [WITNESS])
    assert opened.size == case["size"]


@pytest.mark.parametrize("case", VECTORS["good_notes"], ids=lambda case: case["name"])
def test_a_note_with_lines_of_strangers_is_good(case: dict) -> None:
    assert open_checkpoint(case["note"], [LOG_KEY], ORIGIN).size == 9


@pytest.mark.parametrize("case", VECTORS["bad_notes"], ids=lambda case: case["name"])
def test_a_bad_note_is_worthless(case: dict) -> None:
    with pytest.raises(CorruptLogError):
        open_checkpoint(case["note"], [LOG_KEY], ORIGIN, [WITNESS])


def test_an_inclusion_proof_has_a_text_form() -> None:
    case = VECTORS["proof"]
    proof = parse_proof(case["tlog_proof"])

    assert proof.index == case["index"]
    assert [b64encode(item).decode() for item in proof.hashes] == case["hashes"]
    assert proof.text() == case["tlog_proof"]
    assert isinstance(proof, InclusionProof)


@pytest.mark.parametrize(
    "case", VECTORS["bad_proofs"]["proofs"], ids=lambda case: case["name"]
)
def test_a_bad_proof_proves_nothing(case: dict) -> None:
    leaf = LEAVES[VECTORS["bad_proofs"]["entry"]]
    try:
        proof = parse_proof(case["proof"])
        checkpoint = open_checkpoint(proof.note, [LOG_KEY], ORIGIN)
        root = root_from_inclusion(leaf, proof.index, checkpoint.size, proof.hashes)
    except CorruptLogError:
        return
    assert root != checkpoint.root


def stored_entry_is_good(content: bytes) -> bool:
    """Judge one entry as an audit does: its form, its bytes, its signature."""
    try:
        entry = Entry.from_bytes(content)
        codec.decode(entry.payload)
    except LedgerError:
        return False
    sound = is_sound_key(entry.author_key)
    return sound and payload_verifies(entry.payload, entry.signature, entry.author_key)


@pytest.mark.parametrize("case", VECTORS["bad_entries"], ids=lambda case: case["name"])
def test_a_bad_entry_does_not_verify(case: dict) -> None:
    assert not stored_entry_is_good(b64decode(case["entry_base64"]))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["index"]))
def test_a_good_entry_verifies(entry: dict) -> None:
    assert stored_entry_is_good(b64decode(entry["entry_base64"]))


def submission(payload: str | bytes, author_key: str, signature: str) -> Submission:
    return Submission(
        payload=payload if isinstance(payload, bytes) else payload.encode(),
        author_key=bytes.fromhex(author_key),
        signature=b64decode(signature),
    )


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    """A ledger that holds entry 0 of the vectors only, at the vectors' clock."""
    home = tmp_path_factory.mktemp("ledger")
    folder, clock = Folder(home / "log"), VECTORS["refused_context"]["clock"]
    first = ENTRIES[0]
    charter = submission(first["payload"], first["author_key"], first["signature"])
    instant = parse_instant(first["received_at"])
    receipt = create(
        folder, charter, signer("log"), clock=lambda: instant, state_home=home
    )
    assert receipt.event_id == VECTORS["ledger"]
    now = parse_instant(clock)
    assert instant_text_micros(now) == clock
    with open_writer(
        folder, signer("log"), clock=lambda: now, state_home=home
    ) as opened:
        yield opened


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: case["name"])
def test_a_submission_with_one_defect_is_refused_by_name(
    writer: Writer, case: dict
) -> None:
    payload = (
        case["payload"].encode()
        if "payload" in case
        else b64decode(case["payload_base64"])
    )
    before = writer.size
    with pytest.raises(RefusedError) as refused:
        writer.stage(submission(payload, case["author_key"], case["signature"]))

    assert refused.value.code == case["code"]
    assert writer.size == before
    assert writer.commit() == []


@pytest.mark.parametrize("case", VECTORS["limits"]["cases"])
def test_the_largest_entry_and_the_first_too_large(case: dict) -> None:
    payload = case["payload_with_text_a"].replace(
        '"text":"a"', '"text":"' + "a" * case["text_length"] + '"'
    )
    assert len(payload) == case["payload_bytes"]
    entry = Entry(
        received_at=parse_instant(case["received_at"]),
        author_key=bytes.fromhex(case["author_key"]),
        signature=b64decode(case["signature"]),
        payload=payload.encode(),
    )
    content = entry.to_bytes()
    assert len(content) == case["entry_bytes"]
    assert sha256(payload.encode()).hexdigest() == case["event_id"]
    assert leaf_hash(content).hex() == case["leaf_hash"]
    if case["code"] is None:
        codec.decode(payload.encode())
        assert Entry.from_bytes(content) == entry
    else:
        with pytest.raises(RefusedError, match=case["code"]):
            codec.decode(payload.encode())
        with pytest.raises(CorruptLogError, match="65535"):
            Entry.from_bytes(content)
