"""Two competitors of one suite, on the units that both forecast (METRICS §11).

Nothing is said of units that only one of them forecast but how many there are:
whoever skips what is hard would win otherwise.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ledger.errors import UsageError
from ledger.projections.auroc import auroc
from ledger.projections.cohort import SINGLE_CLASS, Measure, mean, undefined
from ledger.projections.columns import Integers
from ledger.projections.counts import count
from ledger.projections.delong import applies, paired_delong
from ledger.projections.entrants import Entrant, Field
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, told
from ledger.projections.labels import LABELS, labels, small_of
from ledger.projections.measures import BRIER
from ledger.projections.paired import SignFlip, paired
from ledger.projections.parts import BUDGET, TIER, Part, Parts
from ledger.projections.rates import coverage
from ledger.projections.resampling import Ratio
from ledger.projections.resampling_auroc import Auroc
from ledger.projections.sample import Sample, sample
from ledger.projections.slotted import Slotted
from ledger.suite import Competitor, SuiteManifest
from ledger.suite_table import listed

Shown = dict[str, Any]
# Whom a suite says that a competitor is to be compared with: whether it took what it
# was made from any further, and further than the same cost spent on nothing (Piper §7).
CONTROLS = ("predecessor", "sham")
# Which scores are losses: there a lower one is better.
_LOSSES = {*BRIER, "log_loss"}
NO_INTERVAL = "no_interval"


class Pair(NamedTuple):
    """Two competitors' samples of a part, and the units on which both have a score."""

    one: Sample
    other: Sample
    part: Part
    units: Integers


def controls(manifest: SuiteManifest, name: str) -> list[str]:
    """Return a competitor's predecessor and sham, where the suite names them.

    Raises `UsageError` where it names neither.
    """
    competitor = manifest.competitor(name)
    assert competitor is not None, "who is asked about is of the suite"
    found = [other for key in CONTROLS if (other := getattr(competitor, key))]
    if not found:
        msg = f"{manifest.suite} names neither a predecessor nor a sham of {name}: say with whom to compare it"
        raise UsageError(msg)
    return list(dict.fromkeys(found))


def compared(
    field: Field, one: str, other: str, *, slot: str | None, by: Sequence[str]
) -> Iterator[Shown]:
    """Yield how two competitors compare: on everything, then on each part.

    Raises `UsageError` for competitors that have no rows, and for a slot or grouping
    that there is not.
    """
    manifest = field.board.suite.manifest
    chosen = manifest.headline if slot is None else slot
    if one == other:
        raise UsageError(f"{one!r} cannot be compared with itself: name another one")
    refused = [each for each in by if each in {BUDGET, TIER}]
    if refused:
        msg = f"{refused[0]} divides no units: two competitors cannot be compared by it"
        raise UsageError(msg)
    entered = [field.enter(_competitor(field, name), chosen) for name in (one, other)]
    inference = Inference(manifest)
    relation = [key for key in CONTROLS if getattr(entered[0].competitor, key) == other]
    for part in Parts(field.board, by).of(entered[0].competitor, []):
        pair = _pair(field, entered, part)
        yield {
            "suite": manifest.suite,
            "slot": chosen,
            "relation": relation,
            **_compared(pair, inference, chosen),
        }


def _competitor(field: Field, name: str) -> Competitor:
    manifest = field.board.suite.manifest
    found = manifest.competitor(name)
    if found is None or not field.competes(found):
        known = [each.name for each in manifest.competitors if field.competes(each)]
        raise UsageError(
            f"{name!r} has no rows in {manifest.suite}: {listed(known)} do"
        )
    return found


def _pair(field: Field, entered: Sequence[Entrant], part: Part) -> Pair:
    one, other = (sample(field.board, each, part.units) for each in entered)
    both = one.entrant.slotted.is_scored & other.entrant.slotted.is_scored
    return Pair(one, other, part, part.units[both[part.units]])


def _compared(pair: Pair, inference: Inference, slot: str) -> Shown:
    one, other = (Ground(each, each.cohort(pair.units)) for each in pair[:2])
    alone = [len(each.scored) - len(pair.units) for each in pair[:2]]
    shown: Shown = {
        "horizon": pair.part.horizon,
        "slice": pair.part.slice,
        "one": _side(pair.one, alone[0]),
        "other": _side(pair.other, alone[1]),
        "units": len(pair.units),
        "clusters": one.cluster.size,
        "targets": one.target.size,
        "cohort_hash": one.cohort.hash,
        "unmatched_timing": _apart(one, other),
        "labels": _labels(pair, one, inference, slot),
        "wins": _wins(one, other),
        "differences": {
            name: _difference(one, other, inference, name, column)
            for name, column in _columns(one).items()
        },
        "inference": inference.recorded(one),
    }
    shown["differences"]["auroc"] = _auroc_difference(one, other, inference)
    return shown


def _side(about: Sample, alone: int) -> Shown:
    competitor = about.entrant.competitor
    return {
        "forecaster": competitor.name,
        "layer": competitor.layer,
        "source": competitor.of,
        "alone": alone,
        "coverage": coverage(about),
    }


def _labels(pair: Pair, ground: Ground, inference: Inference, slot: str) -> list[str]:
    """Return what a reader must know: all that either side's own row is labelled.

    What is small of the units that both forecast is small here, though neither side's
    row is. Against an oracle nobody claims anything: it knows what no forecaster can.
    """
    manifest = ground.sample.board.suite.manifest
    largest = int(np.bincount(ground.cluster.code).max()) if ground.size else 0
    deserved = {
        label
        for side in pair[:2]
        for counts in [count(side)]
        for label in labels(side, pair.part, counts, coverage(side), slot)
    }
    here = {
        **small_of(manifest, ground.size, ground.cluster.size, largest),
        NO_INTERVAL: not inference.has_clusters(ground),
    }
    deserved |= {label for label, is_deserved in here.items() if is_deserved}
    return [label for label in (*LABELS, NO_INTERVAL) if label in deserved]


def _apart(one: Ground, other: Ground) -> int:
    """Return on how many units the vectors were sealed too far apart to compare."""
    spread = one.sample.board.suite.max_spread_us
    between = abs(one.of(one.mine.last_us) - one.of(other.mine.last_us))
    return int(np.count_nonzero(between > spread))


def _wins(one: Ground, other: Ground) -> dict[str, int]:
    """Return on how many units which of the two had the lower Brier loss."""
    difference = one.brier(one.mine) - one.brier(other.mine)
    return {
        "one": int(np.count_nonzero(difference < 0)),
        "other": int(np.count_nonzero(difference > 0)),
        "equal": int(np.count_nonzero(difference == 0)),
    }


def _columns(ground: Ground) -> dict[str, Callable[[Slotted], Integers]]:
    return {
        BRIER[ground.cohort.is_binary]: ground.brier,
        "log_score_bits_clipped": lambda each: ground.of(each.picobits_clipped),
        "log_loss": lambda each: -ground.of(each.piconats_clipped),
    }


def _difference(
    one: Ground,
    other: Ground,
    inference: Inference,
    name: str,
    column: Callable[[Slotted], Integers],
) -> Shown:
    """Return the first's mean score less the second's, its interval and its tests."""
    mine, theirs = column(one.mine), column(other.mine)
    found = paired(
        mine - theirs, one.cluster.code, inference.drawn(one), inference.rule
    )
    student = found.student
    return {
        **told(found.difference, found.interval),
        "one": mean(one.loss(mine)).told()["value"],
        "other": mean(one.loss(theirs)).told()["value"],
        "better": "lower" if name in _LOSSES else "higher",
        "sign_flip": _flipped(found.sign_flip),
        "t": {
            "value": _decimal(student.t),
            "degrees": student.degrees,
            **({} if student.reason is None else {"reason": student.reason}),
        },
    }


def _flipped(found: SignFlip | None) -> Shown | None:
    if found is None:
        return None
    return {
        "p_two_sided": dec12(found.p_two_sided),
        "flips": found.flips,
        "is_exact": found.is_exact,
    }


def _decimal(value: Decimal | None) -> str | None:
    return None if value is None else dec12(Fraction(value))


class _AurocDifference:
    """The difference of two AUROCs over the same units: their pairs are the same."""

    needs_spread = True

    def __init__(self, one: Auroc, other: Auroc) -> None:
        self._both = one, other

    def ratios(self, weights: Integers) -> list[Ratio]:
        """Return the difference in each replicate; shape (replicates, clusters)."""
        one, other = (each.ratios(weights) for each in self._both)
        return [
            (won - theirs, pairs)
            for (won, pairs), (theirs, _) in zip(one, other, strict=True)
        ]


def _auroc_difference(one: Ground, other: Ground, inference: Inference) -> Shown:
    """Return the first's AUROC less the second's; undefined where either is."""
    if one.said is None or other.said is None or one.counts is None:
        return {**undefined("not_declared", one.size).told(), "better": "higher"}
    assert other.counts is not None, "counts are of what was said"
    mine, theirs = auroc(one.counts), auroc(other.counts)
    if mine.value is None or theirs.value is None:
        none = undefined(mine.reason or SINGLE_CLASS, one.size)
        return {**none.told(), "better": "higher"}
    measure = Measure(value=mine.value - theirs.value, n=one.size)
    statistic = _AurocDifference(
        Auroc(*one.said, *one.resampled), Auroc(*other.said, *one.resampled)
    )
    found = inference.intervals(one, {"": statistic}, row=one)[""]
    shown: Shown = {
        **told(measure, found),
        "one": dec12(mine.value),
        "other": dec12(theirs.value),
        "better": "higher",
    }
    if applies(one.cluster.code):
        delong = paired_delong(one.said.p_ppm, other.said.p_ppm, one.said.y)
        shown["delong"] = {
            "z": _decimal(delong.z),
            "p_two_sided": _decimal(delong.p),
            **({} if delong.reason is None else {"reason": delong.reason}),
        }
    return shown
