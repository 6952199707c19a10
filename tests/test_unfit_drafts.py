"""Drafts that no event can be made of: each is refused, and takes no other with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.console import Console

HALF = "\ud800"  # of a surrogate pair: JSON can spell it, UTF-8 cannot hold it


def draft(**changes: Any) -> dict[str, Any]:
    return {
        "type": "ForecastSealed",
        "author": "forecaster",
        "suite": "piper-self@v1",
        "forecaster": "native",
        "template": "dispatch-pass",
        "id": "d-1",
        "horizon": "24h",
        "probabilities": {"pass": "0.5", "fail": "0.5"},
    } | changes


def brought(**changes: Any) -> dict[str, Any]:
    """Return a draft that brings its question."""
    asked = {
        "template": "dispatch-pass",
        "id": "d-2",
        "horizon": "24h",
        "opened_at": "now",
        "cutoff_at": "+1d",
        "resolve_by": "+2d",
    }
    made = draft(question=asked | changes)
    return {
        name: made[name] for name in made if name not in ("template", "id", "horizon")
    }


UNFIT: dict[str, dict[str, Any]] = {
    "half a surrogate pair in an id": draft(id=HALF),
    "in the author": draft(author=HALF),
    "in the type": draft(type=HALF),
    "in a key": draft(**{HALF: 1}),
    "in the suite": draft(suite=f"{HALF}@v1"),
    "in an answer": draft(probabilities={HALF: "1"}),
    "in a question's text": brought(text=HALF),
    "in a question's key": brought(**{HALF: "1"}),
    "in a file's name": {"type": "SuiteFrozen", "author": "root", "file": HALF},
    "a NUL in a file's name": {"type": "SuiteFrozen", "author": "root", "file": "a\0"},
    "an opening before the calendar": brought(opened_at="-999999d"),
    "made before the calendar": draft(created_at="-999999d"),
    "a probability of many digits": draft(probabilities={"pass": 10**400, "fail": 0}),
}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    return Console(tmp_path_factory.mktemp("unfit")).found().frozen()


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_an_unfit_draft_is_refused_and_the_others_go_in(
    console: Console, unfit: dict[str, Any]
) -> None:
    known = {"type": "LedgerEvent"}  # refused too, and for a reason of its own
    before = len(console.here("log", "--json").objects)
    shown = console.append(unfit, known, suite_file(console, f"v{before}"))
    assert shown.code == 2
    refused, otherwise, receipt = shown.objects
    assert refused["error"]["code"] in ("draft-unfit", "unknown-question")
    assert "error" in otherwise
    assert receipt["seq"] == before


def suite_file(console: Console, name: str) -> dict[str, Any]:
    """Return a sound draft, which freezes a suite of that name."""
    file = console.home / f"sound-{name}.toml"
    file.write_text(console.must("suite", "new", f"s-{name}", "--track", "self").stdout)
    return {"type": "SuiteFrozen", "author": "evaluator", "file": str(file)}


@pytest.mark.parametrize(
    "unfit",
    [draft(**{HALF: 1}), brought(text=HALF), brought(opened_at="-999999d")],
    ids=["in a key", "in a text", "before the calendar"],
)
def test_one_event_from_stdin_is_refused_in_a_sentence(
    console: Console, unfit: dict[str, Any]
) -> None:
    shown = console.here("seal", "-", stdin=json.dumps(unfit))
    assert shown.code == 2
    assert "refused: " in shown.stderr


def test_no_refusal_leaves_a_group_half_staged(console: Console) -> None:
    before = len(console.here("log", "--json").objects)
    shown = console.append(
        suite_file(console, "atomic"), draft(**{HALF: 1}), more=("--atomic",)
    )
    assert [each["error"]["code"] for each in shown.objects] == [
        "batch-refused",
        "draft-unfit",
    ]
    assert len(console.here("log", "--json").objects) == before
    assert Path(console.ledger, "log.db").exists()
