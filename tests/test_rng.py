import json
from hashlib import sha256, shake_256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections import rng
from ledger.projections.rng import bounded, draws, row_seed, stream

CASES = json.loads((Path(__file__).parent / "oracles" / "cases.json").read_text())
CASE = next(case for case in CASES["cases"] if case["id"] == "p-rng-vector")
SEED = bytes.fromhex(CASE["inputs"]["root_seed_hex"])


def test_words_are_those_that_others_draw() -> None:
    inputs = CASE["inputs"]
    words = stream(SEED, inputs["label"], inputs["n"])
    assert list(map(str, words.tolist())) == CASE["expected"]["u64"]


def test_two_thousand_resamples_of_twenty_clusters_are_those_that_others_draw() -> None:
    expected = CASE["expected"]
    blocks = draws(
        SEED, expected["boot_label"], replicates=2000, words=expected["K"], at_once=300
    )
    rows = np.concatenate([bounded(block, expected["K"]) for block in blocks])
    assert rows[:3].tolist() == expected["boot_rows_first3_K"]
    one_byte_each = rows.astype(np.uint8).tobytes()
    assert sha256(one_byte_each).hexdigest() == expected["boot_sha256"]


@given(
    seed=st.binary(min_size=32, max_size=32), label=st.text(), size=st.integers(0, 9)
)
def test_a_word_is_eight_bytes_of_the_sponge_least_significant_first(
    seed: bytes, label: str, size: int
) -> None:
    head = b"forecast-ledger/rng/1\0" + seed + b"\0" + label.encode()
    squeezed = shake_256(head).digest(8 * size)
    plainly = [
        int.from_bytes(squeezed[start : start + 8], "little")
        for start in range(0, 8 * size, 8)
    ]
    assert stream(seed, label, size).tolist() == plainly


@given(
    words=st.lists(st.integers(0, 2**64 - 1)),
    bound=st.one_of(st.integers(1, 100), st.integers(1, 2**63 - 1)),
)
def test_a_bounded_word_is_its_remainder(words: list[int], bound: int) -> None:
    found = bounded(np.array(words, dtype=np.uint64), bound)
    assert found.tolist() == [word % bound for word in words]


def test_the_seed_of_a_row_depends_on_the_root_and_on_the_cohort() -> None:
    cohort = "ab" * 32
    head = b"forecast-ledger/row-seed/1\0"
    assert row_seed(SEED, cohort) == sha256(head + SEED + b"\xab" * 32).digest()
    assert row_seed(SEED, "ac" * 32) != row_seed(SEED, cohort)
    assert row_seed(b"\2" * 32, cohort) != row_seed(SEED, cohort)


@pytest.mark.parametrize("length", [31, 33])
def test_a_seed_of_another_length_is_a_fault(length: int) -> None:
    with pytest.raises(AssertionError, match="32 bytes"):
        stream(b"\1" * length, "boot", 1)
    with pytest.raises(AssertionError, match="32 bytes"):
        row_seed(b"\1" * length, "ab" * 32)


def test_at_the_most_words_of_one_stream_all_replicates_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rng, "WORDS_OF_A_STREAM_MAX", 12)
    blocks = list(draws(SEED, "boot", replicates=3, words=4, at_once=2))
    assert [block.shape for block in blocks] == [(2, 4), (1, 4)]
    words = stream(SEED, "boot", 12).reshape(3, 4)
    assert np.concatenate(blocks).tolist() == words.tolist()


def test_beyond_that_each_replicate_has_its_own_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rng, "WORDS_OF_A_STREAM_MAX", 11)
    blocks = list(draws(SEED, "boot", replicates=3, words=4, at_once=2))
    assert [block.shape for block in blocks] == [(2, 4), (1, 4)]
    own = [stream(SEED, f"boot/{b}", 4).tolist() for b in range(3)]
    assert np.concatenate(blocks).tolist() == own


def test_the_size_from_which_streams_are_split_is_the_declared_one() -> None:
    assert rng.WORDS_OF_A_STREAM_MAX == 2**27
