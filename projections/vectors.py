"""Probability vectors of many events: each distinct one read and scored once."""

import msgspec
import numpy as np

from ledger.projections.columns import NEVER, Flags, Integers
from ledger.projections.docket import Docket
from ledger.projections.exact import ppm_vector
from ledger.projections.lineage import Lineage
from ledger.projections.scores import Score, score

# Answers by their order in the unit, then what an event says of each.
Spelled = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


# A clip, an outcome and a vector's code share 63 bits: a clip is below 2^20, and an
# event of 65,535 bytes has far fewer answers than 2^19.
_OUTCOME_AT, _CODE_AT = 20, 39


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """One row a forecast event: which of the `distinct` vectors it states.

    -1 where it states none over the unit's answers: it is hidden and not opened,
    or speaks of another question.
    """

    code: Integers
    distinct: list[tuple[int, ...]]

    def texts(self) -> list[str]:
        """Return each vector in parts per million, in the order of the answers."""
        shown = [" ".join(map(str, vector)) for vector in self.distinct]
        return ["" if code < 0 else shown[code] for code in self.code.tolist()]


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """One row a forecast event: what it scored, `NEVER` where it did not."""

    brier_sum: Integers
    picobits: Integers
    picobits_clipped: Integers
    piconats_clipped: Integers


def read_vectors(docket: Docket, lineage: Lineage) -> Vectors:
    """Return the vectors that forecast events state, or that reveals state for them."""
    forecasts, answers = docket.forecasts, docket.units.answers
    stated = list(forecasts.probabilities)
    for row in np.flatnonzero(lineage.revealed >= 0).tolist():
        stated[row] = stated[lineage.revealed[row]]
    spelled: dict[Spelled, int] = {}
    codes = [
        spelled.setdefault((answers[unit], tuple(each.items())), len(spelled))
        for unit, each in zip(forecasts.unit.tolist(), stated, strict=True)
    ]
    read = [_vector(*each) for each in spelled]
    distinct = list(dict.fromkeys(vector for vector in read if vector is not None))
    place = {vector: code for code, vector in enumerate(distinct)}
    translated = np.array([-1 if v is None else place[v] for v in read], dtype=np.int64)
    return Vectors(code=translated[codes] if codes else translated, distinct=distinct)


def _vector(
    answers: tuple[str, ...], stated: tuple[tuple[str, str], ...]
) -> tuple[int, ...] | None:
    texts = dict(stated)
    if texts.keys() != set(answers):
        return None
    return ppm_vector(tuple(texts[answer] for answer in answers))


def score_vectors(
    vectors: Vectors, outcome: Integers, clip_ppm: Integers, counts: Flags
) -> Scores:
    """Return what those vectors scored that count and whose unit is resolved.

    `outcome` and `clip_ppm` are those of each vector's unit: the index of the
    answer that happened, -1 for none, and the suite's clip.
    """
    scored = np.flatnonzero(counts & (outcome >= 0) & (vectors.code >= 0))
    keys = vectors.code[scored] << _CODE_AT | outcome[scored] << _OUTCOME_AT
    distinct, which = np.unique(keys | clip_ppm[scored], return_inverse=True)
    table = np.array(
        [
            _cells(score(vectors.distinct[key >> _CODE_AT], *_outcome_and_clip(key)))
            for key in distinct.tolist()
        ],
        dtype=np.int64,
    ).reshape(len(distinct), len(Score._fields))
    found = np.full((len(Score._fields), len(vectors.code)), NEVER, dtype=np.int64)
    found[:, scored] = table[which].T
    return Scores(**dict(zip(Score._fields, found, strict=True)))


def _outcome_and_clip(key: int) -> tuple[int, int]:
    return (key >> _OUTCOME_AT) % (1 << _CODE_AT - _OUTCOME_AT), key % (
        1 << _OUTCOME_AT
    )


def _cells(scored: Score) -> tuple[int, ...]:
    return tuple(NEVER if number is None else number for number in scored)
