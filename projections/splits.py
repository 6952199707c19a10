"""Splits: periods that a suite set apart by cut-off, and whether a holdout still is one.

A holdout is spent once it was trained or tuned on: where a split for either, of this
version or of an earlier one of the suite, has a moment in common with it, and for a
forecaster one of whose vectors there was made by what had been trained until after it began
(`trained-in-holdout`). What only follows the past forward, as a computed competitor
does, spends nothing.
"""

from collections.abc import Sequence

import numpy as np

from ledger.clock import micros
from ledger.projections.columns import Integers, rows_among
from ledger.projections.leakage import IN_HOLDOUT
from ledger.projections.sample import Sample
from ledger.suite import Split

TRAIN, TUNE, HOLDOUT, SPENT = "train", "tune", "holdout", "spent_holdout"


def divided(
    splits: Sequence[Split], cutoff_us: Integers, declared: Integers
) -> dict[str, Integers]:
    """Return the declared units of each split; splits may overlap, or leave some out."""
    cutoffs = cutoff_us[declared]
    return {
        split.name: declared[
            (micros(split.from_) <= cutoffs) & (cutoffs < micros(split.until))
        ]
        for split in splits
    }


def purpose(about: Sample, name: str | None) -> str:
    """Return what a split is good for, for one competitor: its purpose, or `SPENT`."""
    board = about.board
    splits = board.suite.manifest.statistics.splits
    split = next(each for each in splits if each.name == name)
    if split.purpose != HOLDOUT:
        return split.purpose
    begins, ends = micros(split.from_), micros(split.until)
    is_spent = any(since < ends and begins < until for since, until in board.spent)
    return SPENT if is_spent or _is_trained_on(about) else HOLDOUT


def _is_trained_on(about: Sample) -> bool:
    found = about.board.findings
    rows = rows_among(found.unit, about.declared)
    mine = found.forecasters.get(about.entrant.origin.name, -1)
    rules = [code for code, rule in enumerate(found.rule.names) if rule == IN_HOLDOUT]
    is_found = np.isin(found.rule.code[rows], rules)
    return mine >= 0 and bool((is_found & (found.forecaster[rows] == mine)).any())
