"""What people see: columns that line up, and progress that only terminals get."""

import io
import sys

import pytest

from ledger.cli import render


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Ticks:
    """A steady clock that a test moves by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    clock = Ticks()
    monkeypatch.setattr(render, "monotonic_seconds", clock)
    return clock


def progress_on(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, whole: int | None = None
) -> render.Progress:
    monkeypatch.setattr(sys, "stderr", stream)
    return render.Progress("lines", whole)


def test_columns_are_as_wide_as_what_they_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render.table(("name", "n"), [("a longer name", 7), (None, True)])
    assert (
        capsys.readouterr().out
        == "name           n\na longer name  7\n-              yes\n"
    )


def test_a_table_without_rows_shows_its_heads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render.table(("name", "n"), [])
    assert capsys.readouterr().out == "name  n\n"


def test_facts_of_many_lines_stay_in_their_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render.facts([("note", "one\n\ntwo"), ("ok", False)])
    assert capsys.readouterr().out == "note  one\n\n      two\nok    no\n"


@pytest.mark.parametrize(
    ("wanted", "is_terminal", "is_coloured"),
    [(None, True, True), ("1", True, False), (None, False, False), ("", True, True)],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch,
    wanted: str | None,
    *,
    is_terminal: bool,
    is_coloured: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if wanted is not None:
        monkeypatch.setenv("NO_COLOR", wanted)
    stream = Terminal() if is_terminal else io.StringIO()
    assert ("\x1b[" in render.styled("no", "red", stream)) is is_coloured


def test_progress_is_shown_once_work_is_long(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    progress = progress_on(stream, monkeypatch, whole=200)
    progress.step(10, 10)
    assert stream.getvalue() == ""
    ticks.seconds = 10.0
    progress.step(1_000, 50)
    assert stream.getvalue().endswith("[######                  ]  25% 1,000 lines")
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_without_a_known_end_counts(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    progress = progress_on(stream, monkeypatch)
    ticks.seconds = 10.0
    progress.step(3)
    assert stream.getvalue() == "\r\x1b[K3 lines"


def test_progress_is_for_terminals_only(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    progress = progress_on(stream, monkeypatch, whole=2)
    ticks.seconds = 10.0
    progress.step(1, 1)
    progress.close()
    assert stream.getvalue() == ""


def test_progress_never_goes_beyond_its_end(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    progress = progress_on(stream, monkeypatch, whole=10)
    ticks.seconds = 10.0
    progress.step(1, 99)
    assert f"[{'#' * 24}] 100%" in stream.getvalue()
