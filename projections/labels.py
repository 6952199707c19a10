"""What a reader must know of a row before believing it, in one word each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ledger.projections.cohort import INSUFFICIENT, NOT_DECLARED
from ledger.projections.counts import Counts
from ledger.projections.looks import look
from ledger.projections.parts import HORIZON, SPLIT, Part
from ledger.projections.sample import Sample
from ledger.projections.splits import HOLDOUT, SPENT, TRAIN, TUNE, divided, purpose

LABELS = {
    "exploratory": "the suite is exploratory, or the slice is undeclared or has fewer "
    "scored units than `statistics.min_slice`",
    "undeclared_slot": "the slot is not the suite's headline",
    "off_look": "results are due at other numbers of resolved units: `look` has which, "
    "and `--look N` shows the rows of one that was reached",
    TRAIN: "units of it are there to train on: no evidence of skill",
    TUNE: "units of it are there to tune on: no evidence of skill",
    HOLDOUT: "the split is a holdout, and nothing shows that it was tuned on",
    SPENT: "units of it were to be a holdout, and were tuned on: no evidence of skill",
    "claimed": "lateness and baselines go by the authors' own times",
    "forecaster_owned": "the forecaster brought questions itself: never official",
    "shared_custody": "one user holds the keys of several roles",
    "compromised_key": "the suite was frozen with a key that was compromised by then",
    "not_for_score": "the run is for power or debugging",
    "oracle": "knows what no forecaster can know: never a baseline",
    "under_covered": "fewer units are covered than `coverage.minimum` demands, "
    "of at least one",
    "small_sample": "fewer scored units than `statistics.min_slice`",
    "few_clusters": "fewer clusters than `statistics.few_clusters`",
    "single_cluster": "everything hangs together: no interval can be had",
}
# The labels of rows that are good for no claim, whatever their numbers say: for no
# credit and no promotion. With each, what is said instead of a number.
UNOFFICIAL = {
    "exploratory": NOT_DECLARED,
    "undeclared_slot": NOT_DECLARED,
    "off_look": NOT_DECLARED,
    TRAIN: NOT_DECLARED,
    TUNE: NOT_DECLARED,
    SPENT: NOT_DECLARED,
    "claimed": NOT_DECLARED,
    "forecaster_owned": NOT_DECLARED,
    "compromised_key": NOT_DECLARED,
    "not_for_score": NOT_DECLARED,
    "under_covered": INSUFFICIENT,
    "small_sample": INSUFFICIENT,
    "single_cluster": INSUFFICIENT,
}
# Under these a number is official all the same, with its label: more units, or the next
# look, take them away.
_PASSING = ("off_look", "small_sample", "single_cluster")


def labels(
    about: Sample, part: Part, counts: Counts, covered: dict[str, Any], slot: str
) -> list[str]:
    """Return the labels that a row deserves, in the order of `LABELS`."""
    board, manifest = about.board, about.board.suite.manifest
    statistics = manifest.statistics
    declared = {*manifest.report_by, *manifest.slices, SPLIT}
    is_undeclared = part.grouping not in {None, *declared} or (
        part.horizon is not None and HORIZON not in declared
    )
    serves = _purposes(about, part)
    at_look = look(board)
    is_small = counts["scored"] < statistics.min_slice
    deserved = {
        "exploratory": manifest.run_class == "exploratory"
        or is_undeclared
        or (part.slice is not None and is_small),
        "undeclared_slot": slot != manifest.headline,
        "off_look": at_look is not None and not at_look["is_due"],
        **{each: each in serves for each in (TRAIN, TUNE, HOLDOUT, SPENT)},
        "claimed": board.suite.is_claimed,
        "forecaster_owned": _is_forecaster_owned(about),
        "shared_custody": board.custody == "shared",
        "compromised_key": board.is_stolen,
        "not_for_score": manifest.run_purpose != "score",
        "oracle": about.entrant.competitor.layer == "oracle",
        # Of no units nothing can be said.
        "under_covered": covered["of"] > 0 and not covered["is_met"],
        "small_sample": is_small,
        "few_clusters": counts["clusters"] < statistics.few_clusters,
        "single_cluster": counts["clusters"] == 1,
    }
    return [label for label in LABELS if deserved[label]]


def in_the_way(labelled: Sequence[str]) -> tuple[str, ...]:
    """Return those labels of a row that stand in the way of any claim."""
    return tuple(label for label in labelled if label in UNOFFICIAL)


def unofficial(labelled: Sequence[str]) -> str | None:
    """Return why no number of a row is official; None where one can be."""
    lasting = (each for each in in_the_way(labelled) if each not in _PASSING)
    return next((UNOFFICIAL[label] for label in lasting), None)


def _purposes(about: Sample, part: Part) -> set[str]:
    """Return what the units of a row are good for, as far as they are of a split.

    A row of a split is what that is. Any other is never a holdout: what was set apart
    is judged by itself.
    """
    if part.grouping == SPLIT:
        return {purpose(about, part.value)}
    splits = about.board.suite.manifest.statistics.splits
    found = divided(splits, about.board.units.cutoff_us, about.declared)
    return {purpose(about, name) for name in found if len(found[name])} - {HOLDOUT}


def _is_forecaster_owned(about: Sample) -> bool:
    owned = {
        template.id
        for template in about.board.suite.manifest.observable
        if template.question_owner == "forecaster"
    }
    templates = about.board.units.template
    used = np.unique(templates.code[about.declared]).tolist()
    return any(templates.names[code] in owned for code in used)
