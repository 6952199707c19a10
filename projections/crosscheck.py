"""The headline scores of rows, computed again with other people's libraries.

In floats, by scikit-learn, scipy and statsmodels (the extra `crosscheck`): whoever
trusts those more than this program can see that they agree to nine places. No module
that makes rows may import this one.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ledger.errors import UncheckableError
from ledger.projections.columns import Integers
from ledger.projections.entrants import Field
from ledger.projections.exact import PPM
from ledger.projections.ground import Ground
from ledger.projections.measures import BRIER
from ledger.projections.parts import HORIZON
from ledger.projections.rows import Row
from ledger.projections.subjects import Subject, subjects
from ledger.suite_table import listed

TOLERANCE = 1e-9
_LIBRARIES = {
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "statsmodels": "statsmodels",
}
_AUTOMATIC = ("split",)
# Which row of a suite it is: forecaster, horizon and slice.
Place = tuple[str, str | None, str | None]
Floats = Any


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A score of a row that another library computes otherwise."""

    row: str
    score: str
    ours: str
    theirs: float


class Outcome(NamedTuple):
    """How many scores were computed again, in how many rows, and which differ."""

    scores: int
    rows: int
    disagreements: list[Disagreement]


def require_libraries() -> None:
    """Raise `UncheckableError` unless every library is there."""
    missing = [name for name, module in _LIBRARIES.items() if find_spec(module) is None]
    if missing:
        msg = (
            f"{listed(missing, last='and')} cannot be imported: install the extra, as in "
            "pip install 'sealed-ledger[crosscheck]'"
        )
        raise UncheckableError(msg)


def crosschecked(rows: Iterable[Row], field_of: Callable[[str], Field]) -> Outcome:
    """Return which scores of rows other libraries compute otherwise.

    `field_of` returns the competitors of a suite by its name. Rows of a slot that
    averages over vectors have nothing to compare; those over more than two answers have
    the log loss and the Brier score.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row["suite"], row["slot"]), []).append(row)
    scores, compared = 0, 0
    found: list[Disagreement] = []
    for (suite, slot), of_suite in grouped.items():
        field = field_of(suite)
        by_place = dict(_subjects(field, slot, of_suite))
        for row in of_suite:
            if _place(row) not in by_place:
                raise UncheckableError(f"{suite} has no row of {_place(row)}")
            theirs = _recomputed(by_place[_place(row)])
            scores, compared = scores + len(theirs), compared + bool(theirs)
            found += _disagreements(row, theirs)
    return Outcome(scores, compared, found)


def _place(row: Row) -> Place:
    return row["forecaster"], row["horizon"], row["slice"]


def _subjects(
    field: Field, slot: str, rows: Iterable[Row]
) -> Iterator[tuple[Place, Subject]]:
    """Yield what rows of a suite are about, by which rows they are."""
    groupings = dict.fromkeys(
        row["slice"].partition("=")[0] for row in rows if row["slice"] is not None
    )
    by = [each for each in groupings if each not in _AUTOMATIC]
    if any(row["horizon"] is not None for row in rows):
        by.append(HORIZON)
    for subject in subjects(field, slot=slot, by=by):
        part, competitor = subject.part, subject.about.entrant.competitor
        yield (competitor.name, part.horizon, part.slice), subject


def _recomputed(subject: Subject) -> dict[str, float]:
    """Return what other libraries make of a row's units, by the names of our scores."""
    about = subject.about
    ground = Ground(about, about.cohort(about.scored))
    if not ground.size or not ground.is_single:
        return {}
    clip_ppm = about.board.suite.clip_ppm
    found = _of_vectors(ground, clip_ppm)
    if ground.said is None:
        return found
    p: Floats = ground.said.p_ppm / PPM
    clipped: Floats = np.clip(ground.said.p_ppm, clip_ppm, PPM - clip_ppm) / PPM
    y: Floats = ground.said.y.astype(np.float64)
    return {**found, **_of_ranks(p, y), **_of_fits(clipped, y)}


class _Stated(NamedTuple):
    """Whole vectors over the very same answers, and which answer happened."""

    vectors: Floats
    outcome: Integers


def _stated(ground: Ground) -> Iterator[_Stated]:
    """Yield what was said and what happened, units with the same answers together."""
    chosen = ground.sample.entrant.chosen
    code = chosen.code[ground.of(ground.mine.last)]
    outcome = ground.of(ground.sample.board.units.outcome)
    answers = ground.of(ground.sample.board.units.answers)
    for each in np.unique(answers).tolist():
        rows = np.flatnonzero(answers == each)
        told = [chosen.distinct[vector] for vector in code[rows].tolist()]
        yield _Stated(np.array(told, dtype=np.float64) / PPM, outcome[rows])


def _of_vectors(ground: Ground, clip_ppm: int) -> dict[str, float]:
    """Return the Brier score in the row's form, and the clipped log loss."""
    from sklearn.metrics import (  # noqa: PLC0415 - an extra
        brier_score_loss,
        log_loss,
    )

    is_binary = ground.cohort.is_binary
    lost, surprised = 0.0, 0.0
    for vectors, outcome in _stated(ground):
        answers = np.arange(vectors.shape[1])
        clipped = _clipped(vectors, outcome, clip_ppm / PPM)
        lost += len(outcome) * brier_score_loss(
            outcome, vectors, labels=answers, scale_by_half=is_binary
        )
        surprised += len(outcome) * log_loss(outcome, clipped, labels=answers)
    return {
        BRIER[is_binary]: float(lost / ground.size),
        "log_loss": float(surprised / ground.size),
    }


def _clipped(vectors: Floats, outcome: Integers, clip: float) -> Floats:
    """Return vectors whose realised answers are clipped, and the others have the rest."""
    at = np.arange(len(outcome)), outcome
    realised = np.clip(vectors[at], clip, 1 - clip)
    others = vectors.copy()
    others[at] = 0
    # Whoever was certain of what happened has said nothing of the others: each alike.
    is_silent = others.sum(axis=1) == 0
    others[is_silent] = 1
    others[at] = 0
    shares = others / others.sum(axis=1, keepdims=True)
    found: Floats = shares * (1 - realised)[:, None]
    found[at] = realised
    return found


def _of_ranks(p: Floats, y: Floats) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 - an extra

    return {"auroc": float(roc_auc_score(y, p))} if 0 < y.sum() < len(y) else {}


def _of_fits(clipped: Floats, y: Floats) -> dict[str, float]:
    """Return the fits by Newton's method; where they do not exist, nothing."""
    from scipy.special import logit  # noqa: PLC0415 - an extra
    from statsmodels.api import GLM, families  # noqa: PLC0415 - an extra

    if not 0 < y.sum() < len(y):
        return {}
    x, ones = logit(clipped), np.ones((len(y), 1))
    shift = GLM(y, ones, family=families.Binomial(), offset=x).fit(
        tol=1e-14, maxiter=200
    )
    found = {"calibration_intercept": float(shift.params[0])}
    events, others = x[y == 1], x[y == 0]
    is_separated = events.min() >= others.max() or events.max() <= others.min()
    if is_separated or x.min() == x.max():
        return found
    line = GLM(y, np.column_stack([ones, x]), family=families.Binomial())
    fitted = line.fit(tol=1e-14, maxiter=200)
    return {
        **found,
        "intercept_joint": float(fitted.params[0]),
        "calibration_slope": float(fitted.params[1]),
    }


def _disagreements(row: Row, theirs: dict[str, float]) -> Iterator[Disagreement]:
    """Yield the scores that have a value and differ; some have none by rule."""
    for score, value in theirs.items():
        ours = row["scores"][score]["value"]
        if ours is not None and abs(float(ours) - value) > TOLERANCE:
            named = " ".join(str(each) for each in _place(row) if each is not None)
            yield Disagreement(
                row=f"{row['suite']} {row['slot']} {named}",
                score=score,
                ours=ours,
                theirs=value,
            )
