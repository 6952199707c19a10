"""What people see: tables, colours, notes, and how far long work has come.

Data goes to stdout, everything else to stderr. Colours and progress are for terminals;
`NO_COLOR` switches colours off.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

import msgspec
import typer

from ledger.clock import monotonic_seconds

_SECONDS_BEFORE_PROGRESS = 0.5
_SECONDS_BETWEEN_STEPS = 0.1
_BAR_WIDTH = 24


def line(text: str) -> None:
    """Print a line of data."""
    sys.stdout.write(text + "\n")


def json_line(value: object) -> None:
    """Print a value as one line of JSON, keys in the order that they have."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def note(text: str) -> None:
    """Print a line for the person at the terminal, on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def styled(text: str, colour: str, stream: TextIO) -> str:
    """Return `text` in a colour if `stream` is a terminal that wants colours."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR")
    return typer.style(text, fg=colour) if wanted else text


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their heads, in columns; what is None shows as a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [
        max(len(text) for text in column) for column in zip(heads, *cells, strict=True)
    ]
    for at, row in enumerate([list(heads), *cells]):
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        said = "  ".join(padded).rstrip()
        line(said if at else styled(said, "cyan", sys.stdout))


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values, a line each; a value of many lines is indented."""
    named = [(name, _cell(value)) for name, value in pairs]
    width = max(len(name) for name, _ in named)
    for name, value in named:
        first, *more = value.split("\n")
        line(f"{name.ljust(width)}  {first}".rstrip())
        for text in more:
            line(f"{' ' * width}  {text}".rstrip())


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


class Progress:
    """A line on stderr that says how far long work is; silent where it is short."""

    def __init__(self, what: str, whole: int | None = None) -> None:
        """Count `what`; `whole` is how many units of work there are, if known."""
        self._what = what
        self._whole = whole
        self._shown_at = monotonic_seconds() + _SECONDS_BEFORE_PROGRESS
        self._is_shown = False
        self._is_wanted = sys.stderr.isatty()

    def step(self, count: int, done: int | None = None) -> None:
        """Say that `count` things are finished, and `done` units of the work."""
        now = monotonic_seconds()
        if self._is_wanted and now - self._shown_at >= _SECONDS_BETWEEN_STEPS:
            self._shown_at, self._is_shown = now, True
            sys.stderr.write(f"\r\x1b[K{self._bar(done)}{count:,} {self._what}")
            sys.stderr.flush()

    def _bar(self, done: int | None) -> str:
        if not self._whole or done is None:
            return ""
        filled = min(_BAR_WIDTH, _BAR_WIDTH * done // self._whole)
        percent = min(100, 100 * done // self._whole)
        return f"[{'#' * filled}{' ' * (_BAR_WIDTH - filled)}] {percent:3}% "

    def close(self) -> None:
        """Take the line away."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
