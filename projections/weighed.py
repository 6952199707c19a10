"""What a row's cohort weighs: its scores and their intervals, its blocks and its gates.

Everything that several of them need is computed once for the row.
"""

from typing import Any, NamedTuple

from ledger.projections.ablating import ablating
from ledger.projections.acting import acting
from ledger.projections.adapting import adapting
from ledger.projections.calibrated import beside_auroc, calibrated, ranking
from ledger.projections.drifting import drifting
from ledger.projections.entrants import Entrant, Field
from ledger.projections.gated import gates
from ledger.projections.ground import Ground
from ledger.projections.inferred import Inference, clamped, told
from ledger.projections.labels import unofficial
from ledger.projections.measures import measures
from ledger.projections.promoting import Standing, candidacy, promoting
from ledger.projections.quantified import quantified
from ledger.projections.recalibrating import recalibrating
from ledger.projections.robust import robust
from ledger.projections.spreading import spreading

Shown = dict[str, Any]
# Whom nobody promotes: what others are measured against, and what nobody could know.
_ANCHORS = ("baseline", "oracle")


class Question(NamedTuple):
    """What a row is asked besides its scores.

    `is_whole` is whether promotion is decided on its part at all, `is_forward` whether
    that is where the suite decides it. `in_the_way` are its labels that stand in the way
    of any claim.
    """

    is_whole: bool
    is_forward: bool
    in_the_way: tuple[str, ...]


class Scale:
    """Weighs the cohorts of a suite's rows, each of a competitor once.

    Where a suite has one horizon, the row of that horizon is about the same units as the
    row over everything.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.inference = Inference(field.board.suite.manifest)
        self._entrant: Entrant | None = None
        self._known: dict[tuple[Question, bytes, bytes], Shown] = {}

    def weigh(self, ground: Ground, asked: Question) -> Shown:
        """Return the fields of a row that are made of its cohort's scores."""
        entrant = ground.sample.entrant
        if entrant is not self._entrant:
            self._entrant, self._known = entrant, {}
        units = (ground.sample.declared.tobytes(), ground.cohort.units.tobytes())
        key = (asked, *units)
        if key not in self._known:
            self._known[key] = _weighed(ground, self.field, self.inference, asked)
        return self._known[key]

    def declared(self, ground: Ground, slot: str) -> Shown:
        """Return the blocks of a row that only some suites ask for, each if it has any.

        Numbers beside the probabilities, ablations in the row of whoever has all the
        evidence, and what a competitor makes of its budgets.
        """
        blocks = {
            "quantities": quantified(ground, self.inference),
            "ablations": ablating(ground, self.field, self.inference),
            "adaptation": adapting(ground.sample, self.field, slot),
        }
        return {name: block for name, block in blocks.items() if block}


def _weighed(
    ground: Ground, field: Field, inference: Inference, asked: Question
) -> Shown:
    found, useful = calibrated(ground, inference), acting(ground)
    scores = {
        **measures(ground, unofficial(asked.in_the_way)),
        **ranking(ground),
    }
    is_asked = asked.is_whole and ground.sample.entrant.competitor.layer not in _ANCHORS
    stood = candidacy(ground, field) if is_asked else None
    # All of them see the same resamples, which are drawn once.
    intervals, of_costs, of_losses = inference.of_all(
        ground, scores, useful.numbers, {} if stood is None else stood.scores
    )
    if scores["official_skill"].measure.value is not None:
        intervals["official_skill"] = clamped(intervals["bss_frozen"])
    shown = {
        name: told(each.measure, intervals.get(name)) for name, each in scores.items()
    }
    shown["auroc"] |= beside_auroc(ground, inference)
    decided = gates(
        ground, inference, scores, intervals, found.fits, in_the_way=asked.in_the_way
    )
    if stood is not None:
        known = Standing(
            is_forward=asked.is_forward,
            may_be_claimed=not asked.in_the_way,
            has_utility=useful.is_useful,
        )
        decided["promotion"] = promoting(ground, stood, of_losses, inference, known)
    is_robust = ground.sample.board.suite.manifest.estimator == "iqm"
    mapped = recalibrating(ground, field)
    return {
        "scores": {**shown, **found.scores},
        **({"recalibration": mapped} if mapped else {}),
        **found.blocks,
        **({"iqm": robust(ground)} if is_robust else {}),
        "extremes": spreading(ground),
        "prequential": drifting(ground),
        "gates": decided,
        "utility": useful.told(of_costs),
        "inference": inference.recorded(ground),
    }
