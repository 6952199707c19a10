"""Our bytes beside independent implementations: RFC 8785, DSSE, Merkle trees."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import canonical
from ledger.entry import leaf_hash
from ledger.keys.signing import EVENT_TYPE, new_signer, pae, payload_verifies
from ledger.merkle import (
    Tree,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_from_inclusion,
    root_of,
)

rfc8785 = pytest.importorskip("rfc8785", reason="the crosscheck extra is not installed")
dsse = pytest.importorskip("securesystemslib.dsse")
pymerkle = pytest.importorskip("pymerkle")

VECTORS = Path(__file__).parent / "vectors"
ENTRIES = json.loads((VECTORS / "log-v1.json").read_text())["entries"]

keys = st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9 ._:/+-]{0,12}\Z")
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    texts | st.integers(0, 2**53 - 1) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)
    ),
)


@given(values)
def test_canonical_json_is_that_of_rfc8785(value: object) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("name", ["french", "unicode", "arrays"])
def test_canonical_json_is_that_of_the_published_examples(name: str) -> None:
    source = json.loads((VECTORS / "jcs" / "input" / f"{name}.json").read_text("utf-8"))
    expected = (VECTORS / "jcs" / "output" / f"{name}.json").read_bytes().strip()
    assert canonical.encode(source) == expected


def test_keys_outside_our_grammar_are_what_the_grammar_is_for() -> None:
    """Beyond the basic plane, code points and UTF-16 units sort differently."""
    source = json.loads((VECTORS / "jcs" / "input" / "weird.json").read_text("utf-8"))
    expected = (VECTORS / "jcs" / "output" / "weird.json").read_bytes().strip()
    assert rfc8785.dumps(source) == expected
    assert canonical.encode(source) != expected


@given(st.binary(max_size=300), st.binary(min_size=32, max_size=32))
def test_our_signatures_are_dsse_signatures(payload: bytes, seed: bytes) -> None:
    signer = new_signer("piper", seed)
    envelope = dsse.Envelope(payload, EVENT_TYPE, {})

    assert envelope.pae() == pae(payload)
    signature = signer.sign(envelope.pae())
    assert payload_verifies(payload, signature, signer.verifier.public)
    assert not payload_verifies(payload + b" ", signature, signer.verifier.public)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["index"]))
def test_securesystemslib_verifies_our_entries(entry: dict) -> None:
    signer_module = pytest.importorskip("securesystemslib.signer")
    key = signer_module.SSlibKey(
        "author", "ed25519", "ed25519", {"public": entry["author_key"]}
    )
    signature = signer_module.Signature("author", b64decode(entry["signature"]).hex())
    envelope = dsse.Envelope(
        entry["payload"].encode(), EVENT_TYPE, {"author": signature}
    )
    assert envelope.verify([key], 1)


def reference_tree(leaves: list[bytes]) -> Any:
    """A pymerkle tree over the same entries (it hashes leaves itself)."""
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for leaf in leaves:
        tree.append_entry(leaf)
    return tree


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40))
def test_our_roots_are_those_of_pymerkle(entries: list[bytes]) -> None:
    leaves = [leaf_hash(entry) for entry in entries]
    assert root_of(leaves) == reference_tree(entries).get_root()


@given(st.data(), st.integers(1, 70))
def test_proofs_prove_at_every_size(data: st.DataObject, size: int) -> None:
    leaves = [bytes([number]) * 32 for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    old = data.draw(st.integers(0, size))
    root = root_of(leaves)

    proof = inclusion_proof(leaves, index)
    assert root_from_inclusion(leaves[index], index, size, proof) == root
    ties = consistency_proof(leaves, old)
    assert is_consistent(old, root_of(leaves[:old]), size, root, ties)
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    assert tree.root() == root
