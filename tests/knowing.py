"""Histories of somebody who knows what each target tends to do."""

from typing import Any

from ledger.events import Evidence, Question
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
    rival: tuple[str, str] = ("0.5", "0.5"),
    by_hand: tuple[str, str] | None = None,
    skips: int = 0,
    skipped: int = 0,
    without: tuple[str, ...] = (),
    tags: dict[str, str] | None = None,
    are_tagged_apart: bool = False,
    utility: bool = False,
    leak_tested: bool = False,
    untested: int = 0,
    leaking: int = 0,
    **changes: Any,
) -> History:
    """Return a history in which half of the targets pass and the others fail, mostly.

    Of these two `native` says what `says` has, and `rival`, unless `lacking` is None,
    what `rival` has, of all but the first `lacking` units; `native` skips the first
    `skips`. A competitor `by-hand` says what `by_hand` has, unless that is None.
    Questions of a round have the same horizon, by turns, and so many more are `skipped`
    by everybody; `native` forecasts others that stay `without` an outcome, each of a
    status. All vectors but the first `untested` say what a leak is tested by, if any do;
    the first `leaking` of `native` then say that they knew what came after them.
    Where questions `are_tagged_apart`, no two have the same `repo`.
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
                tags={"repo": f"{turn}-{number}"} if are_tagged_apart else tags or {},
            )
            at = turn * TARGETS + number
            is_tested = leak_tested and at >= untested
            stated = Evidence(cutoff_at=question.opened_at) if is_tested else None
            if at >= skips:
                knew = Evidence(cutoff_at=question.cutoff_at)
                own = knew if at < leaking else stated
                history.seal(question, says[not does], evidence=own)
            if by_hand is not None:
                stated_by = {"forecaster": "by-hand", "evidence": stated}
                history.seal(question, by_hand[not does], **stated_by)
            if lacking is not None and at >= lacking:
                history.seal(question, rival[not does], forecaster="rival")
            asked.append((question, does != odd))
        for number in range(skipped if turn == 0 else 0):
            history.asked(f"u-skipped-{number}")
        gone = _without(history, without if turn == 0 else ())
        history.wait(hours=3)
        for question, does in asked:
            history.resolve(question, "pass" if does else "fail")
        for question, status in gone:
            history.record(question, status, author="resolver")
    return history


def _without(history: History, statuses: tuple[str, ...]) -> list[tuple[Question, str]]:
    """Let `native` forecast a question for each status; return those to be recorded."""
    made = [
        (history.asked(f"u-without-{number}"), status)
        for number, status in enumerate(statuses)
    ]
    for question, _ in made:
        history.seal(question, "0.5")
    return [each for each in made if each[1] != "PENDING"]
