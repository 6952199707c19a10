"""Two clocks that must agree: the wall's and one that only counts.

A wall clock that was set forward would stamp forecasts of today as of tomorrow;
one that was set back would make everything late look early. When both clocks
drift apart by more than the charter allows, nothing is written until an
operator has looked.
"""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from ledger.clock import Clock, instant_text, micros, span
from ledger.durable import make_private, naming, read_regular
from ledger.errors import RefusedError, UsageError

# Seconds since the machine started, sleep included.
Steady = Callable[[], float]
UNREADABLE = "move it away, the next writer makes it again"
_REMEDY = "set the clock right, then run `ledger doctor --accept-clock`"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Both clocks at one moment of one boot.

    An operator has looked at entries received up to `excused_micros`, though they
    are later than the clock: until it gets there, entries keep the last one's time.
    """

    boot: str
    wall_micros: int
    steady_seconds: float
    excused_micros: int = 0


class ClockWatch:
    """Reads the wall clock and refuses a reading that cannot be right.

    `file` keeps the last accepted reading between processes; but for what is excused,
    it concerns one boot of one machine. It may be lost without harm.
    """

    def __init__(
        self, clock: Clock, steady: Steady | None, *, boot: str, file: Path
    ) -> None:
        """Take the clocks; without a steady one only steps back are noticed.

        Raises `UsageError` where the file is there and cannot be read.
        """
        self._clock = clock
        self._steady = steady
        self._boot = boot
        self._file = file
        kept = self._load()
        is_ours = kept is not None and kept.boot == boot
        excused = 0 if kept is None else kept.excused_micros
        self._accepted = kept if is_ours else self._reading(excused)
        # Whether nothing is kept by which the next process could judge this one's clock.
        self.is_new = self._accepted is not kept

    def now(self, last: datetime | None, jump_seconds: int) -> datetime:
        """Return the wall clock's instant, never before `last`.

        Raises `RefusedError` (`clock-jumped`) when it stepped back by more than
        `jump_seconds`, or drifted from the steady clock by more than that.
        """
        wall = self._clock()
        if last is not None and self._is_back(wall, last, jump_seconds):
            msg = f"the clock says {instant_text(wall)}, and the last entry was received {instant_text(last)}: {_REMEDY}"
            raise RefusedError("clock-jumped", msg)
        drift = self._drift(wall)
        if abs(drift) > jump_seconds:
            msg = f"the clock moved {drift:+.0f} s against the machine's steady clock, and {jump_seconds} s are allowed: {_REMEDY}"
            raise RefusedError("clock-jumped", msg)
        return wall if last is None else max(wall, last)

    def drift_seconds(self) -> float:
        """Return how far the wall clock has run ahead of the steady one."""
        return self._drift(self._clock())

    def _drift(self, wall: datetime) -> float:
        # Asked for every event: no more is made than two numbers.
        accepted = self._accepted
        if self._steady is None or accepted is None:
            return 0.0
        gone = (micros(wall) - accepted.wall_micros) / 1_000_000
        return gone - (self._steady() - accepted.steady_seconds)

    def accept(self, last: datetime | None) -> None:
        """Take both clocks and the last entry's time as they stand, and keep them.

        An operator has looked at them.
        """
        self._accepted = self._reading(0 if last is None else micros(last))
        self.save()

    def save(self) -> None:
        """Keep the accepted reading for the next process."""
        if self._accepted is not None:
            # Replaced, not written into: whatever stands there, such as a pipe.
            partial = self._file.with_name(f".{self._file.name}.{os.getpid()}")
            make_private(partial)
            with naming(self._file):
                partial.write_bytes(msgspec.json.encode(self._accepted))
                partial.replace(self._file)

    def _is_back(self, wall: datetime, last: datetime, jump_seconds: int) -> bool:
        """Tell whether the clock is further behind the last entry than is excused."""
        if wall >= last or last - wall <= span(jump_seconds):
            return False
        accepted = self._accepted
        return accepted is None or micros(last) > accepted.excused_micros

    def _reading(self, excused_micros: int) -> Reading | None:
        if self._steady is None:
            return None
        return Reading(
            boot=self._boot,
            wall_micros=micros(self._clock()),
            steady_seconds=self._steady(),
            excused_micros=excused_micros,
        )

    def _load(self) -> Reading | None:
        if self._steady is None:
            return None
        try:
            return msgspec.json.decode(read_regular(self._file), type=Reading)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        except OSError as error:
            msg = f"{self._file} cannot be read ({error.strerror}): {UNREADABLE}"
            raise UsageError(msg) from error
