"""What the suite does to a ledger in seconds, for as many minutes as you say.

`make soak MINUTES=20` kills daemons, strikes system calls and fuzzes, and prints a line
for each phase. It ends with 1 where a receipt was lost, an event stands twice, a ledger
does not verify or a program fell over.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ledger.clock import monotonic_seconds
from tests.flood import kill_often
from tests.served import served
from tests.traced import FAULTS, NeverCameError, Stage, strace_is_missing

KILLS = 300
EXAMPLES = 1_000
# A ledger is verified after each kill: one that grew for long would cost the time.
KILLS_A_LEDGER = 25
ROOT = Path(__file__).resolve().parents[1]
# How a writer may say that it could not: never by what its libraries raise.
SAID = {
    "told",
    "closed",
    "CorruptLogError",
    "OSError",
    "UncheckableError",
    "UsageError",
    "WriterStoppedError",
}


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """When a phase ends, by the clock that only counts."""

    ends_at: float

    @property
    def seconds_left(self) -> float:
        return self.ends_at - monotonic_seconds()


Phase = Callable[[Time, random.Random], str]


def kill(time: Time, chance: random.Random) -> str:
    """Kill daemons under eight writers."""
    killed = told = 0
    while killed < KILLS and time.seconds_left > 0:
        with served() as ledger:
            kills = min(KILLS_A_LEDGER, KILLS - killed)
            told += len(kill_often(ledger, kills, chance).told)
            killed += kills
    return f"{killed} of {KILLS} kills, {told} receipts kept"


def strike(time: Time, chance: random.Random) -> str:
    """Have each system call of opening, appending and closing fail, or be the last."""
    reason = strace_is_missing()
    if reason:
        return f"skipped: {reason}"
    struck = 0
    with tempfile.TemporaryDirectory() as home, Stage(Path(home)) as stage:
        cases = [
            (call, fault) for call in stage.calls() if call.part for fault in FAULTS
        ]
        # Where time is short, some of every kind were struck.
        chance.shuffle(cases)
        for call, fault in cases:
            if time.seconds_left <= 0:
                break
            try:
                said = set(stage.strike(call, fault))
            except NeverCameError:
                continue  # As where a file system was mounted: its table is read first.
            assert said <= SAID, (call, fault, said)
            struck += 1
    return f"{struck} of {len(cases)} faults, no receipt lost"


def fuzz(time: Time, chance: random.Random) -> str:
    """Bring changed events and requests to the door, by Hypothesis."""
    del chance
    command = [
        sys.executable, "-m", "pytest", "--quiet", "--timeout=0", "-p", "no:cacheprovider",
        "tests/test_faults_door.py",
    ]  # fmt: skip
    rounds = 0
    with tempfile.TemporaryDirectory(prefix="sl-") as scratch:
        told = {"SEALED_LEDGER_EXAMPLES": str(EXAMPLES), "TMPDIR": scratch}
        while time.seconds_left > 0:
            code = _run(command, {**os.environ, **told}, time.seconds_left)
            if code is None:
                break
            assert code == 0, f"pytest ended with {code}"
            rounds += 1
    return f"{rounds} whole rounds of {EXAMPLES} examples for each test"


def _run(command: list[str], environment: dict[str, str], seconds: float) -> int | None:
    """Return a program's exit code; None where time was up, and all of it was ended."""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, start_new_session=True
    ) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            # Its daemon too, which a killed parent would leave behind.
            os.killpg(process.pid, signal.SIGKILL)
            return None


def fuzz_by_coverage(time: Time, chance: random.Random) -> str:
    """Feed what decodes lines, envelopes and events, led by the branches it takes."""
    if find_spec("atheris") is None:
        return "skipped: atheris is not installed"
    seconds = max(1, int(time.seconds_left))
    subprocess.run(
        [
            sys.executable, "-m", "tests.soak_decoders", f"-max_total_time={seconds}",
            f"-seed={chance.randrange(1, 1 << 31)}", "-print_final_stats=1",
            "-max_len=65536", "-verbosity=0",
        ],
        cwd=ROOT, check=True,
    )  # fmt: skip
    return f"{seconds} s, nothing but refusals"


# Each with its share of the time; what one leaves over, the next ones have.
PHASES: dict[str, tuple[Phase, int]] = {
    "kill": (kill, 9),
    "strike": (strike, 6),
    "fuzz": (fuzz, 4),
    "coverage": (fuzz_by_coverage, 1),
}


def main() -> int:
    """Run every phase within the time; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("phases", nargs="*", metavar="PHASE", default=[])
    asked = parser.parse_args()
    chosen = asked.phases or list(PHASES)
    print(f"seed {asked.seed}: the same with --seed {asked.seed}", flush=True)
    chance = random.Random(asked.seed)
    ends_at = monotonic_seconds() + 60 * asked.minutes
    failed = []
    for at, name in enumerate(chosen):
        phase, share = PHASES[name]
        shares = sum(PHASES[later][1] for later in chosen[at:])
        began = monotonic_seconds()
        allowed = (ends_at - began) * share / shares
        try:
            done = phase(Time(ends_at=began + allowed), chance)
        except (AssertionError, subprocess.SubprocessError) as error:
            failed.append(name)
            done = f"FAILED: {error}"
        print(f"{name}: {done} ({monotonic_seconds() - began:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
