"""What one vector scored on one outcome, in integers of 1e-12 (METRICS §§2-4)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ledger.projections.columns import NEVER, Integers, integers
from ledger.projections.exact import PPM, UNITS, picobits, piconats

_SCORES_REMEMBERED = 65_536


class Score(NamedTuple):
    """One vector against its unit's outcome, each number in units of 1e-12.

    `brier_sum` is the squared distance over all answers (0 to 2); with two answers
    it is twice the binary Brier score. Logarithms are of the probability of what
    happened: `picobits` is None for minus infinity, the clipped ones never are.
    """

    brier_sum: int
    picobits: int | None
    picobits_clipped: int
    piconats_clipped: int


@lru_cache(_SCORES_REMEMBERED)
def score(vector_ppm: tuple[int, ...], outcome: int, clip_ppm: int) -> Score:
    """Return the scores of a vector when the answer at index `outcome` happened."""
    happened = vector_ppm[outcome]
    clipped = clip(happened, clip_ppm)
    bits, nats = picobits(clipped), piconats(clipped)
    assert bits is not None
    assert nats is not None, "a clip above zero keeps every logarithm finite"
    return Score(
        brier_sum=brier_sum(vector_ppm, outcome),
        picobits=picobits(happened),
        picobits_clipped=bits,
        piconats_clipped=nats,
    )


def clip(p_ppm: int, clip_ppm: int) -> int:
    """Return a probability kept at least `clip_ppm` away from 0 and from 1."""
    return min(max(p_ppm, clip_ppm), PPM - clip_ppm)


def brier_sum(vector_ppm: tuple[int, ...], outcome: int) -> int:
    """Return the squared distance from the outcome, summed over all answers.

    >>> brier_sum((250_000, 750_000), outcome=0) == 2 * brier_binary(250_000, 1)
    True
    """
    squares = sum(p * p for p in vector_ppm)
    return squares - 2 * PPM * vector_ppm[outcome] + UNITS


def brier_binary(p_ppm: int, happened: int) -> int:
    """Return (p - y)^2 of the official binary form; `happened` is 0 or 1."""
    return (p_ppm - PPM * happened) ** 2


class ScoreColumns(NamedTuple):
    """What many vectors scored, a column for each field of `Score`.

    `picobits` is `NEVER` for minus infinity.
    """

    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers


def score_rows(vectors_ppm: Integers, outcome: Integers, clip_ppm: int) -> ScoreColumns:
    """Return the scores of vectors, one a row, each on the outcome of its unit."""
    happened = np.take_along_axis(vectors_ppm, outcome[:, None], axis=1)[:, 0]
    squares = (vectors_ppm * vectors_ppm).sum(axis=1)
    distinct, which = np.unique(happened, return_inverse=True)
    logarithms = [_logarithms(p, clip(p, clip_ppm)) for p in distinct.tolist()]
    table = integers(
        [NEVER if number is None else number for row in logarithms for number in row]
    ).reshape(-1, 3)[which]
    return ScoreColumns(
        squares - 2 * PPM * happened + UNITS, table[:, 0], table[:, 1], table[:, 2]
    )


def _logarithms(p_ppm: int, clipped_ppm: int) -> tuple[int | None, ...]:
    bits = picobits(p_ppm)
    clipped = bits if clipped_ppm == p_ppm else picobits(clipped_ppm)
    return bits, clipped, piconats(clipped_ppm)
