"""A history that is large enough for every statistic, and what its rows hash to.

`python -m tests.reproduced` prints a line a row: two machines agree where they print
the same. `tests/test_same_rows.py` runs it under other circumstances.
"""

from collections.abc import Iterator
from hashlib import sha256

from ledger.canonical import encode
from ledger.projections.rng import bounded, stream
from tests.reporting import rows
from tests.simulator import History, ppm_text

DAYS = 12
TARGETS = 20
SLOTS = ("initial", "time_weighted")


def told() -> History:
    """Return twelve days on which twenty targets are forecast, updated and resolved."""
    history = History()
    chance = iter(bounded(stream(b"\7" * 32, "told", 4 * DAYS * TARGETS), 997).tolist())
    for day in range(DAYS):
        asked = [
            history.question(
                f"d-{day:02}-{target:02}",
                target=f"t-{target:02}",
                cluster=f"c-{target:02}",
                slot=f"day-{day:02}",
            )
            for target in range(TARGETS)
        ]
        happened = []
        for target, question in enumerate(asked):
            usual = 100_000 + 40_000 * target
            p = min(max(usual + 300 * (next(chance) - 498), 0), 1_000_000)
            first = history.seal(question, ppm_text(p))
            history.seal(question, ppm_text((2 * p + 500_000) // 3), forecaster="rival")
            if next(chance) % 3 == 0:
                history.update(question, first, ppm_text((p + usual) // 2))
            happened.append(next(chance) * 1_000 < usual)
        history.wait(hours=3)
        for question, came in zip(asked, happened, strict=True):
            status = "VOID" if next(chance) % 19 == 0 else "RESOLVED"
            if status == "VOID":
                history.record(question, status)
            else:
                history.resolve(question, "pass" if came else "fail")
        history.wait(hours=21)
    return history


def lines() -> Iterator[str]:
    """Yield what each row is of, and the SHA-256 of its canonical bytes."""
    history = told()
    for slot in SLOTS:
        for row in rows(history, slot=slot):
            of = f"{row['forecaster']} {row['horizon']} {slot} {row['slice']}"
            yield f"{of} {sha256(encode(row)).hexdigest()}"


if __name__ == "__main__":
    print("\n".join(lines()))
