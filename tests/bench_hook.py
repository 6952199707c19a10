"""How long an agent waits for `ledger hook`, beside a Python that does nothing.

    make bench

Starts, reads a payload, signs, asks the daemon twice, waits for its fsync, answers and
exits: all that stands between a dispatch and its start. Both are started in turn, by
the same interpreter.
"""

import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.bench import Table, seconds
from tests.hook_stage import PROGRAM, Installation, Stage, sample

TURNS = 60
IDLE = (sys.executable, "-c", "pass")


def main() -> None:
    table = Table()
    with TemporaryDirectory() as home:
        stage = Stage(Path(home)).start()
        try:
            measure(table, "hook: a seal", stage.installed())
            gate = stage.installed("gate", mode="gate")
            measure(table, "hook: a payload that is no dispatch", gate, is_other=True)
        finally:
            stage.stop()


def measure(
    table: Table, what: str, hook: Installation, *, is_other: bool = False
) -> None:
    """Print the medians of so many turns, and their ratio."""
    numbers = count()

    def answered() -> None:
        payload = {
            "event": "pre_dispatch",
            "dispatch_key": f"d-{next(numbers)}",
            "task": "Find all API endpoints",
            "forecast": {"p": 0.8, "reason_codes": ["small-diff"]},
        }
        given = sample("claude/pre_tool_use.bash") if is_other else payload
        words = (*PROGRAM, "hook", "--config", str(hook.file), "--fail", "closed")
        subprocess.run(
            words, input=json.dumps(given).encode(), check=True, capture_output=True
        )

    def idle() -> None:
        subprocess.run(IDLE, input=b"", check=True, capture_output=True)

    pairs = [(seconds(answered), seconds(idle)) for _ in range(TURNS)]
    ours, least = median(one for one, _ in pairs), median(one for _, one in pairs)
    rate = f"{ours * 1_000:.1f} ms"
    table.line(what, rate, ours / least, "python -c pass", "at most 2.5")


if __name__ == "__main__":
    main()
