"""Histories of somebody who knows what each target tends to do."""

from typing import Any

from ledger.events import Evidence
from ledger.suite import SuiteManifest
from tests.simulator import History, suite

TARGETS, ROUNDS = 12, 6
UNITS = TARGETS * ROUNDS
# What it takes for a verdict on so few units, at the look that they are due at.
FEW = {
    "asks": "issuer",
    "statistics__min_class": 2,
    "statistics__min_class_gate": 2,
    "statistics__looks": [UNITS],
}
UTILITY = {
    "event": "fail",
    "action": "look at it",
    "action_cost": "1",
    "avoidable_loss": "4",
    "thresholds": ["0.1", "0.5"],
}


def knowing(
    manifest: SuiteManifest | None = None,
    *,
    says: tuple[str, str] = ("0.85", "0.15"),
    horizons: tuple[str, ...] = ("24h",),
    lacking: int | None = None,
    by_hand: tuple[str, str] | None = None,
    skips: int = 0,
    skipped: int = 0,
    tags: dict[str, str] | None = None,
    utility: bool = False,
    leak_tested: bool = False,
    **changes: Any,
) -> History:
    """Return a history in which half of the targets pass and the others fail, mostly.

    Of these two `native` says what `says` has, and `rival`, unless `lacking` is None,
    that nobody knows, of all but the first `lacking` units; `native` skips the first
    `skips`. A competitor `by-hand` says what `by_hand` has, unless that is None.
    Questions of a round have the same horizon, by turns, and so many more are `skipped`
    by everybody.
    """
    usual = {**FEW, **({"utility": UTILITY} if utility else {}), **changes}
    history = History(manifest or suite(**usual))
    for turn in range(ROUNDS):
        asked = []
        for number in range(TARGETS):
            does = number % 2 == 0
            odd = (turn * turn + number) % 7 == 0
            question = history.asked(
                f"u-{turn}-{number:02}",
                target=f"t-{number:02}",
                slot=str(turn),
                horizon=horizons[turn % len(horizons)],
                tags=tags or {},
            )
            stated = Evidence(cutoff_at=question.opened_at) if leak_tested else None
            at = turn * TARGETS + number
            if at >= skips:
                history.seal(question, says[not does], evidence=stated)
            if by_hand is not None:
                stated_by = {"forecaster": "by-hand", "evidence": stated}
                history.seal(question, by_hand[not does], **stated_by)
            if lacking is not None and at >= lacking:
                history.seal(question, "0.5", forecaster="rival")
            asked.append((question, does != odd))
        for number in range(skipped if turn == 0 else 0):
            history.asked(f"u-skipped-{number}")
        history.wait(hours=3)
        for question, does in asked:
            history.resolve(question, "pass" if does else "fail")
    return history
