"""What is stored by others cannot steer the terminal of whoever reads it."""

import io
import sys
from pathlib import Path

import msgspec
import pytest

from ledger import codec
from ledger.cli import render
from tests.console import Console, Shown
from tests.workshop import Workshop

HOSTILE = "\x1b[2J\x1b[31mq\u202e\u200b\x9b\x7f\u2028\nline"
ESCAPED = r"\x1b[2J\x1b[31mq\u202e\u200b\x9b\x7f\u2028\x0aline"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain, ünï, — and 漢字", "plain, ünï, — and 漢字"),
        ("\x00\t\r\n", r"\x00\x09\x0d\x0a"),
        ("\x1f \x20 \x7e \x7f \x80 \x9f \xa0 \xad", "\\x1f \x20 ~ \\x7f \\x80 \\x9f \xa0 \\xad"),
        ("\u200b\u200d\u2060\ufeff", r"\u200b\u200d\u2060\ufeff"),
        ("\u202a\u202e\u2066\u2069", r"\u202a\u202e\u2066\u2069"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800 \U000e0041", r"\ud800 \U000e0041"),
        (HOSTILE, ESCAPED),
    ],
)  # fmt: skip
def test_what_is_unseen_is_shown_as_an_escape(text: str, seen: str) -> None:
    assert render.visible(text) == seen
    assert render.visible(seen) == seen


@pytest.mark.parametrize("printing", [render.line, render.note])
def test_a_line_stays_one_line(
    printing: type, capsys: pytest.CaptureFixture[str]
) -> None:
    printing(HOSTILE)
    shown = capsys.readouterr()
    assert shown.out + shown.err == ESCAPED + "\n"


def test_cells_and_values_are_escaped_before_their_width_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render.table(("id", "n"), [("\x1b[2J", 1), ("plain", 2)])
    render.facts([("id", "\u202e"), ("of many", "one\n\x1btwo")])
    assert capsys.readouterr().out == (
        "id       n\n\\x1b[2J  1\nplain    2\n"
        "id       \\u202e\nof many  one\n         \\x1btwo\n"
    )


def test_a_document_keeps_its_lines_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render.document("a\n\tb\x1b\u202e")
    assert capsys.readouterr().out == "a\n\tb\\x1b\\u202e\n"


def test_colours_are_ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    render.line(f"{render.styled('no', 'red', stream)} \x1b[32myes\x1b[0m")
    assert stream.getvalue() == "\x1b[31mno\x1b[0m \\x1b[32myes\\x1b[0m\n"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    home = tmp_path_factory.mktemp("visible")
    workshop = Workshop(home).found()
    question = msgspec.structs.replace(workshop.question(1), id=HOSTILE, text=HOSTILE)
    workshop.append(workshop.opened(question))
    workshop.append(workshop.sealed(codec.question_hash(question), 50))
    return Console(home)


def steers(shown: Shown) -> bool:
    said = (shown.stdout + shown.stderr).replace("\n", "")
    return not said.isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ("log",),
        ("open",),
        ("rows",),
        ("verify",),
        ("status",),
        ("show", "2"),
        ("lineage",),
        ("lineage", "--id", HOSTILE),
        ("seal", "--id", HOSTILE, "-p", "0.5"),
        ("resolve", "--id", HOSTILE, "--outcome", HOSTILE),
        ("show", HOSTILE),
        ("verify", "--genesis", HOSTILE),
        ("verify", "--key", HOSTILE),
        ("verify", "--against", HOSTILE),
    ],
    ids=lambda words: " ".join(words).replace(HOSTILE, "HOSTILE"),
)
def test_no_command_passes_on_what_steers_a_terminal(
    console: Console, words: tuple[str, ...]
) -> None:
    shown = console.here(*words)
    assert shown.stdout + shown.stderr
    assert not steers(shown)


def test_a_refused_line_is_escaped_and_as_json_it_is_json(console: Console) -> None:
    draft = '{"type":"ForecastSealed","id":"\\u001b[2J\\u202e","\\u202e":1}\n'
    assert not steers(console.here("append", "-", stdin=draft))
    shown = console.here("append", "-", "--json", stdin=draft)
    assert "error" in shown.object
    assert Path(console.ledger).exists()
