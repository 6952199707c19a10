"""What the daemon says of itself: one JSON object a line, for people and programs.

An event's content and a key never stand in it: names, numbers, positions and codes do.
"""

import logging
import traceback
from typing import IO

from ledger.clock import Clock, instant_text_micros
from ledger.unseen import json_text


class Journal:
    """Writes lines; counts those that could not be written."""

    def __init__(self, stream: IO[str], clock: Clock) -> None:
        """Write to a stream that is flushed with each line."""
        self._stream = stream
        self._clock = clock
        self.lost = 0

    def note(self, what: str, **facts: object) -> None:
        """Write that something happened, with its facts."""
        self._write("info", what, facts)

    def warn(self, what: str, **facts: object) -> None:
        """Write that something needs looking after."""
        self._write("warning", what, facts)

    def alarm(self, what: str, **facts: object) -> None:
        """Write that something failed."""
        self._write("error", what, facts)

    def _write(self, level: str, what: str, facts: dict[str, object]) -> None:
        """Write a line.

        A journal that cannot be written (its disk is full, its reader gone) stops no
        commit: the loss is counted, and `status` tells of it.
        """
        line = {"at": instant_text_micros(self._clock()), "level": level, "event": what}
        text = json_text({**line, **facts})
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.lost += 1

    def adopt_logging(self) -> None:
        """Have what libraries log stand here too, so that every line is JSON."""
        logging.root.handlers[:] = [_Handler(self)]


class _Handler(logging.Handler):
    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {"logger": record.name, "text": record.getMessage()}
        if record.exc_info is not None:
            facts["trace"] = "".join(traceback.format_exception(*record.exc_info))
        self._journal.warn("log", **facts)
