"""What a reader must know of a row before believing it, in one word each."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.board import Board
from ledger.projections.board_units import PENDING, RESOLVED
from ledger.projections.cohort import INSUFFICIENT, NOT_DECLARED
from ledger.projections.columns import NEVER
from ledger.projections.counts import Counts, overdue, vectors_in
from ledger.projections.looks import look
from ledger.projections.parts import HORIZON, SPLIT, Part
from ledger.projections.sample import Sample
from ledger.projections.splits import HOLDOUT, SPENT, TRAIN, TUNE, divided, purpose
from ledger.suite import SuiteManifest

LABELS = {
    "exploratory": "the suite is exploratory, or the slice is undeclared or has fewer "
    "scored units than `statistics.min_slice`",
    "undeclared_slot": "the slot is not the suite's headline",
    "off_look": "results are due at other numbers of resolved units, or were due before "
    "an outcome was amended: `look` has which, and `--look N` shows the rows of one that "
    "was reached",
    TRAIN: "units of it are there to train on: no evidence of skill",
    TUNE: "units of it are there to tune on: no evidence of skill",
    HOLDOUT: "the split is a holdout, and nothing shows that it was trained or tuned on",
    SPENT: "units of it were to be a holdout, and were trained or tuned on: no evidence "
    "of skill",
    "claimed": "lateness and baselines go by the authors' own times",
    "forecaster_owned": "the forecaster brought questions itself: never official",
    "shared_custody": "one user holds the keys of several roles",
    "compromised_key": "the suite was frozen with a key that was compromised by then",
    "not_for_score": "the run is for power or debugging",
    "oracle": "knows what no forecaster can know: never a baseline, never official",
    "lax_gates": "the suite declares a smaller sample, a weaker interval, gate or baseline, "
    "or more looks or holdouts, than is proposed below",
    "under_covered": "fewer units are covered than `coverage.minimum` demands, "
    "of at least one",
    "unsettled": "more units lack an outcome (overdue, censored, canceled, void or "
    "invalid) than `coverage.minimum` allows",
    "awaiting": "outcomes are still to come of more units than `coverage.minimum` allows, "
    "and of more than that came out of turn: those that came early may be of a kind",
    "trained_out_of_turn": "more units only train, and came out of turn, than "
    "`coverage.minimum` allows: whoever records outcomes may have chosen what is scored",
    "withheld": "a resolved unit has a hidden vector that nobody opened: what is opened "
    "may be chosen by its outcome",
    "small_sample": "fewer scored units than `statistics.min_slice`",
    "few_clusters": "fewer clusters than `statistics.few_clusters`",
    "single_cluster": "everything hangs together: no interval can be had",
    "dominant_cluster": "one cluster of several has more than half of the scored units",
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
    "oracle": NOT_DECLARED,
    "under_covered": INSUFFICIENT,
    "unsettled": INSUFFICIENT,
    "awaiting": INSUFFICIENT,
    "trained_out_of_turn": INSUFFICIENT,
    "withheld": INSUFFICIENT,
    "small_sample": INSUFFICIENT,
    "single_cluster": INSUFFICIENT,
    "dominant_cluster": INSUFFICIENT,
}
# Under these a number is official all the same, with its label: more units, or the next
# look, take them away.
_PASSING = (
    *("off_look", "awaiting"),
    *("small_sample", "single_cluster", "dominant_cluster"),
)
_HALF = Fraction(1, 2)
# What METRICS proposes for a verdict: no suite has to declare it, but whoever asks for
# less says so on each row (§§9, 10, 12, 22, 23; `SUITE.md` has the share to be covered).
_LEVEL, _COVERED, _RESAMPLES, _MAX_UNDEFINED = "0.95", "0.95", 2000, "0.01"
_MIN_CLUSTERS, _FEW_CLUSTERS, _MIN_CLASS_GATE, _MIN_SLICE = 10, 30, 100, 30
_ALPHA, _RETAINED = "0.05", "0.5"
_SLOPE, _INTERCEPT = ("0.7", "1.4"), ("-0.4", "0.4")
_TRIVIAL_GAIN, _LOSS_MARGIN, _CLIP = "0.005", "0.01", "0.001"
# Each look is a chance, and each holdout; and a prior that weighs much, or a past that is soon forgotten,
# leaves a baseline none.
_LOOKS, _HOLDOUTS = 5, 5
_PRIOR_WEIGHT, _PRIOR_COUNT, _HALF_LIFE_DAYS = 10, 1, 30
# Who exchanges forecasts has to be asked the same at the same time: else what is known
# of a time, or of a kind of question, passes for knowledge of a target.
_STRATA = {"template", "horizon", "slot"}


def labels(
    about: Sample, part: Part, counts: Counts, covered: dict[str, Any], slot: str
) -> list[str]:
    """Return the labels that a row deserves, in the order of `LABELS`."""
    board, manifest = about.board, about.board.suite.manifest
    declared = {*manifest.report_by, *manifest.slices, SPLIT}
    is_undeclared = part.grouping not in {None, *declared} or (
        part.horizon is not None and HORIZON not in declared
    )
    serves = _purposes(about, part)
    at_look = look(board)
    small = small_of(manifest, counts["scored"], counts["clusters"], _largest(about))
    deserved = {
        "exploratory": manifest.run_class == "exploratory"
        or is_undeclared
        or (part.slice is not None and small["small_sample"]),
        "undeclared_slot": slot != manifest.headline,
        "off_look": at_look is not None and not at_look["is_due"],
        **{each: each in serves for each in (TRAIN, TUNE, HOLDOUT, SPENT)},
        "claimed": board.suite.is_claimed,
        "forecaster_owned": _is_forecaster_owned(about),
        "shared_custody": board.custody == "shared",
        "compromised_key": board.is_stolen,
        "not_for_score": manifest.run_purpose != "score",
        "oracle": about.entrant.competitor.layer == "oracle",
        "lax_gates": _is_lax(about.board),
        # Of no units nothing can be said.
        "under_covered": covered["of"] > 0 and not covered["is_met"],
        **_outcomes(about, counts),
        "withheld": _is_withheld(about),
        **small,
    }
    return [label for label in LABELS if deserved[label]]


def small_of(
    manifest: SuiteManifest, scored: int, clusters: int, largest: int
) -> dict[str, bool]:
    """Return which labels so many scored units deserve, in so many clusters.

    `largest` is how many units the largest cluster has.
    """
    statistics = manifest.statistics
    return {
        "small_sample": scored < statistics.min_slice,
        "few_clusters": clusters < statistics.few_clusters,
        "single_cluster": clusters == 1,
        "dominant_cluster": clusters > 1 and largest > scored * _HALF,
    }


def in_the_way(labelled: Sequence[str]) -> tuple[str, ...]:
    """Return those labels of a row that stand in the way of any claim."""
    return tuple(label for label in labelled if label in UNOFFICIAL)


def unofficial(labelled: Sequence[str]) -> str | None:
    """Return why no number of a row is official; None where one can be."""
    lasting = (each for each in in_the_way(labelled) if each not in _PASSING)
    return next((UNOFFICIAL[label] for label in lasting), None)


def _largest(about: Sample) -> int:
    """Return how many scored units the largest cluster has."""
    codes = about.board.units.cluster.code[about.scored]
    return int(np.bincount(codes).max()) if len(codes) else 0


def _outcomes(about: Sample, counts: Counts) -> dict[str, bool]:
    """Return whether outcomes are lacking, for good or so far, of too many units.

    Which ones lack is nobody's chance: work that goes badly takes longer, and whoever
    resolves may leave out what went wrong. Where outcomes come in the order in which
    they are due, those that are still to come are merely of younger units. What only
    trains allows nothing to lack: its outcomes are in no score.
    """
    share = 1 - Fraction(about.board.suite.manifest.coverage.minimum)
    allowed = share * (counts["units"] - counts["training"])
    missing = counts["overdue"] + counts["censored"] + counts["canceled"]
    lacking = missing + counts["void"] + counts["invalid"]
    pending = counts["pending"]
    return {
        "unsettled": lacking > allowed,
        "awaiting": pending > 0
        and lacking + pending > allowed
        and _out_of_turn(about) > share * counts["scored"],
        "trained_out_of_turn": _trained_out_of_turn(about) > share * counts["scored"],
    }


def _out_of_turn(about: Sample) -> int:
    """Return how many scored units are due no earlier than one that is pending.

    Of what was due before, there is no outcome that could still be held back.
    """
    units, rows = about.board.units, about.declared
    is_pending = (units.status[rows] == PENDING) & ~overdue(about)
    first = units.resolve_by_us[rows[is_pending]].min(initial=NEVER)
    return int(np.count_nonzero(units.resolve_by_us[about.scored] >= first))


def _trained_out_of_turn(about: Sample) -> int:
    """Return how many units only train though by when they are due others would.

    The first outcomes train. In the order in which units are due, those would be as
    many that are due before any other; of several that are due together, whose outcome
    comes first is for whoever records them to say.
    """
    board, rows = about.board, about.declared
    units, kept = board.units, int(np.count_nonzero(board.is_training))
    due = np.sort(units.resolve_by_us[units.status == RESOLVED])
    if kept == len(due):
        return 0
    trains = units.resolve_by_us[rows[board.is_training[rows]]]
    return int(np.count_nonzero(trains >= due[kept]))


def _is_withheld(about: Sample) -> bool:
    """Tell whether a hidden vector would count on a unit whose outcome is known."""
    rows, board = vectors_in(about), about.board
    if rows is None:
        return False
    withheld = rows[board.vectors.is_withheld[rows]]
    status = board.units.status[board.vectors.unit[withheld]]
    return bool((status == RESOLVED).any())


def _is_lax(board: Board) -> bool:
    """Tell whether a suite asks for less than is proposed, anywhere."""
    manifest = board.suite.manifest
    reference = manifest.scoring.reference
    measures = [
        each
        for each in manifest.competitors
        if each.role is not None or each.name == reference
    ]
    return (
        _asks_for_less(manifest)
        or board.is_cold
        or len(manifest.statistics.looks) > _LOOKS
        or sum(split.purpose == HOLDOUT for split in manifest.statistics.splits)
        > _HOLDOUTS
        or not set(manifest.gates.permutation.strata) >= _STRATA
        or any(
            Fraction(each.prior_weight or 0) > _PRIOR_WEIGHT
            or Fraction(each.prior_count or 0) > _PRIOR_COUNT
            or 0 < (each.half_life_days or 0) < _HALF_LIFE_DAYS
            for each in measures
        )
        or (
            board.custody == "shared"
            and any(each.principal is not None for each in measures)
        )
    )


def _asks_for_less(manifest: SuiteManifest) -> bool:
    """Tell whether a number of a suite is weaker than the one that is proposed."""
    statistics, gates = manifest.statistics, manifest.gates
    slope, intercept = gates.calibration.slope, gates.calibration.intercept
    lower_than: tuple[tuple[str | int, str | int], ...] = (
        (statistics.level, _LEVEL),
        (statistics.resamples, _RESAMPLES),
        (_MAX_UNDEFINED, statistics.max_undefined),
        (manifest.coverage.minimum, _COVERED),
        (statistics.min_clusters, _MIN_CLUSTERS),
        (statistics.few_clusters, _FEW_CLUSTERS),
        (statistics.min_class_gate, _MIN_CLASS_GATE),
        (statistics.min_slice, _MIN_SLICE),
        (slope[0], _SLOPE[0]),
        (intercept[0], _INTERCEPT[0]),
        (_SLOPE[1], slope[1]),
        (_INTERCEPT[1], intercept[1]),
        (_ALPHA, gates.permutation.alpha),
        (_RETAINED, gates.permutation.retained),
        (gates.promotion.trivial_gain, _TRIVIAL_GAIN),
        (_LOSS_MARGIN, gates.promotion.loss_margin),
        (manifest.scoring.clip, _CLIP),
    )
    return any(Fraction(one) < Fraction(other) for one, other in lower_than)


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
