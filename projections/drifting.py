"""How a row's losses went on in the order of their outcomes (METRICS §20).

That order is the log's: where the record of each unit stands that counts. The loss is
the suite's primary one. It is diagnosis, and no gate looks at it.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ledger.projections.cohort import EMPTY, Measure
from ledger.projections.columns import Integers
from ledger.projections.exact import dec12
from ledger.projections.ground import Ground
from ledger.projections.measures import BRIER
from ledger.projections.prequential import Watch, drift

Shown = dict[str, Any]
_MEANS = ("cumulative", "fading", "sliding", "rise")


def drifting(ground: Ground) -> Shown:
    """Return the means that a row's losses ended at, and the first alarm on the way.

    `alarm` and `onset` count outcomes from 0, and `recovery` from the alarm. `change`
    is how much larger the mean loss is after the onset than before it.
    """
    declared = ground.sample.board.suite.manifest.prequential
    order = np.argsort(ground.of(ground.sample.board.units.resolved_seq))
    name, losses = _primary(ground)
    watch = Watch(
        fading=Fraction(declared.fading),
        window=declared.window,
        tolerated=Fraction(declared.ph_delta),
        limit=Fraction(declared.ph_lambda),
        margin=Fraction(declared.recovery),
    )
    found = drift(losses[order], watch)
    last = found.last
    return {
        "loss": name,
        "n": found.n,
        **{
            each: None if last is None else dec12(getattr(last, each))
            for each in _MEANS
        },
        "alarm": found.alarm,
        "onset": found.onset,
        "before": found.before.told(),
        "after": found.after.told(),
        "change": _change(found.before, found.after).told(),
        "recovery": found.recovery,
    }


def _primary(ground: Ground) -> tuple[str, Integers]:
    """Return the loss that a suite calls its primary one, lower being better."""
    if ground.sample.board.suite.manifest.scoring.primary == "log_score":
        return "ignorance_bits_clipped", -ground.of(ground.mine.picobits_clipped)
    return BRIER[ground.cohort.is_binary], ground.brier(ground.mine)


def _change(before: Measure, after: Measure) -> Measure:
    if before.value is None or after.value is None:
        return Measure(value=None, n=after.n, reason=EMPTY)
    return Measure(value=after.value - before.value, n=after.n)
