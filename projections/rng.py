"""Chance that is the same on every machine: `fl-rng-1` (METRICS §0.8).

Words come from SHAKE-256 (FIPS 202) over a seed and a label, so that whoever knows a
row's seed draws the same resamples in any language. The seed goes back to one that
was fixed before any outcome: nobody can look for a lucky one.
"""

from collections.abc import Iterator
from hashlib import sha256, shake_256

import numpy as np
import numpy.typing as npt

from ledger.projections.columns import Integers

Words = npt.NDArray[np.uint64]

RNG_ID = "fl-rng-1"
_STREAM_HEAD = b"forecast-ledger/rng/1\0"
_ROW_HEAD = b"forecast-ledger/row-seed/1\0"
_SEED_BYTES = 32
_WORD_BYTES = 8
# One stream is squeezed in one piece. From here on each replicate has its own.
WORDS_OF_A_STREAM_MAX = 2**27


def stream(seed: bytes, label: str, size: int) -> Words:
    """Return the first `size` words of a label's stream.

    The seed has 32 bytes. A stream takes eight bytes of memory a word.
    """
    assert len(seed) == _SEED_BYTES, "a seed is 32 bytes"
    sponge = shake_256(_STREAM_HEAD + seed + b"\0" + label.encode())
    words = np.frombuffer(sponge.digest(_WORD_BYTES * size), dtype="<u8")
    return words.astype(np.uint64, copy=False)


def bounded(words: Words, bound: int) -> Integers:
    """Return each word modulo `bound`, which is at least 1 and below 2^63.

    Small remainders are likelier by less than bound / 2^64; nothing is rejected.
    """
    # numpy divides by a constant without dividing, but takes remainders the slow way.
    divisor = np.uint64(bound)
    return (words - words // divisor * divisor).view(np.int64)


def row_seed(root_seed: bytes, cohort_hash: str) -> bytes:
    """Return the seed of a row: its suite's root seed, and whom the row is about.

    `cohort_hash` is 64 hexadecimal digits, as rows show it.
    """
    cohort = bytes.fromhex(cohort_hash)
    assert len(root_seed) == len(cohort) == _SEED_BYTES, "both are 32 bytes"
    return sha256(_ROW_HEAD + root_seed + cohort).digest()


def draws(
    seed: bytes, label: str, *, replicates: int, words: int, at_once: int
) -> Iterator[Words]:
    """Yield the words of all replicates in order, `at_once` replicates a block.

    A block has the shape (replicates, words). Replicate b takes the words from
    b * words on, or, where all of them are more than 2^27, the first of a stream of
    its own, whose label ends in `/b`.
    """
    spans = (
        range(start, min(start + at_once, replicates))
        for start in range(0, replicates, at_once)
    )
    if replicates * words <= WORDS_OF_A_STREAM_MAX:
        table = stream(seed, label, replicates * words).reshape(replicates, words)
        yield from (table[span.start : span.stop] for span in spans)
        return
    for span in spans:
        yield np.stack([stream(seed, f"{label}/{b}", words) for b in span])
