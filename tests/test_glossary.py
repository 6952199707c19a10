"""Every score of a row is explained, and the page says what the program says."""

import re
from pathlib import Path

import pytest

from ledger.projections.glossary import GLOSSARY
from tests.reporting import row, suite_of, template
from tests.simulator import History, suite

DOCS = (Path(__file__).parents[1] / "docs" / "rows.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| `(?P<score>[a-z0-9_]+)` \| (?P<better>lower|higher|) ?\| (?P<meaning>.+) \|$"
)


def test_the_page_defines_each_score_as_the_program_does() -> None:
    section = DOCS.partition("\n## Scores\n")[2].partition("\n## ")[0]
    found = [match for line in section.splitlines() if (match := ROW.match(line))]
    assert [(each["score"], each["better"], each["meaning"]) for each in found] == [
        (score, entry.better, entry.meaning) for score, entry in GLOSSARY.items()
    ]


@pytest.mark.parametrize("answers", [("pass", "fail"), ("a", "b", "c")])
def test_every_score_of_a_row_is_explained(answers: tuple[str, ...]) -> None:
    history = History(suite_of(template(suite(), answers)))
    question = history.question()
    history.seal(question)
    history.wait(hours=3)
    history.resolve(question, answers[0])
    assert set(row(history)["scores"]) <= GLOSSARY.keys()


def test_an_explanation_names_its_source() -> None:
    unsourced = [
        name for name, each in GLOSSARY.items() if "METRICS §" not in each.source
    ]
    assert unsourced == []
