"""What people see: tables, colours, notes, and how far long work has come.

Data goes to stdout, everything else to stderr. Colours and progress are for terminals;
`NO_COLOR` switches colours off.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO
from unicodedata import category

import typer

from ledger.clock import monotonic_seconds
from ledger.unseen import UNSEEN, json_text

_SECONDS_BEFORE_PROGRESS = 0.5
_SECONDS_BETWEEN_STEPS = 0.1
_BAR_WIDTH = 24
_BYTE_MAX, _PLANE_MAX = 0xFF, 0xFFFF
# Nothing that was stored before this process began can hold it.
_OURS = secrets.token_hex(8)
_COLOUR = re.compile(rf"(\x1b\[[0-9;]*m){_OURS}")


class OutputError(OSError):
    """What stdout did not take, as far as the system told it at once."""


def visible(text: str, kept: str = "") -> str:
    r"""Return `text` so that it steers no terminal and hides nothing from a reader.

    Controls, line breaks, marks that turn the direction of writing, characters of no
    width and halves of surrogate pairs become `\xNN` or `\uNNNN`, but for `kept` ones
    and for colours by `styled`.
    """
    if text.isprintable():
        return text
    # Every second part is a colour: what was split by is a group.
    parts = _COLOUR.split(text)
    parts[::2] = [_escaped(part, kept) for part in parts[::2]]
    return "".join(parts)


def _escaped(text: str, kept: str) -> str:
    return "".join(
        _escape(char) if category(char) in UNSEEN and char not in kept else char
        for char in text
    )


def _escape(char: str) -> str:
    code = ord(char)
    if code <= _BYTE_MAX:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _PLANE_MAX else f"\\U{code:08x}"


def line(text: str) -> None:
    """Print a line of data."""
    _put(visible(text) + "\n")


def document(text: str) -> None:
    """Print several lines of data."""
    _put(visible(text, "\n\t") + "\n")


def json_line(value: object) -> None:
    """Print a value as `json_text` has it."""
    _put(json_text(value) + "\n")


def _put(text: str) -> None:
    """Write to stdout; what fails there bears no file's name."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def note(text: str) -> None:
    """Print a line for the person at the terminal, on stderr."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


def json_note(value: object) -> None:
    """Print a value as one line of JSON on stderr, beside data on stdout."""
    sys.stderr.write(json_text(value) + "\n")
    sys.stderr.flush()


def styled(text: str, colour: str, stream: TextIO) -> str:
    """Return `text` in a colour if `stream` is a terminal that wants colours."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR")
    if not wanted:
        return text
    # `text` itself may hold such a sequence: only ours have the sign.
    start, end = typer.style("\0", fg=colour).split("\0")
    return f"{start}{_OURS}{text}{end}{_OURS}"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their heads, in columns; what is None shows as a dash."""
    cells = [[visible(_cell(value)) for value in row] for row in rows]
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


def some(number: int, noun: str) -> str:
    """Return a count of things in words."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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
