"""Golden bytes: every field of every event, as version 1 writes it for ever.

The files are added to and never made again. A test that fails here has found a
change that would make old logs unreadable.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger import canonical, codec
from ledger.errors import RefusedError
from ledger.events import (
    Event,
    Evidence,
    FailureTag,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Quantity,
    Question,
    ResolutionRecorded,
    Run,
    SuiteFrozen,
)
from ledger.grammar import Fact

GOLDEN = Path(__file__).parent / "golden"
AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 2, 9, 0, 0, 250_000, tzinfo=UTC)
A, B, C = ("a" * 64, "b" * 64, "c" * 64)

FROZEN = {
    "74e027d16c99459f8b1ab98ca5872cb25ca28106d917f11ae5147758eae24c36",
    "4602b668d8cc5978dabd8b94d0349a0e7b00cd56efb4ed35a6f8a543efd733e6",
}
MAPS = ("tags", "features", "probabilities", "quantiles", "values", "quantities")
NUMERIC = {"point", "quantiles", "samples", "values", "probabilities"}
KEY = "(key)"
Path_ = tuple[Any, ...]

QUESTION = Question(
    template="dispatch-pass",
    id="d/1.x – é",  # noqa: RUF001 - payloads hold any text
    target="repository",
    cluster="ticket",
    slot="monday",
    opened_at=AT,
    cutoff_at=AT,
    resolve_by=LATER,
    horizon="24h",
    text='Will it pass?\n\t"\\ / \u0001 😀',
    text_hash=B,
    answers=("pass", "fail"),
    acceptance_hash=C,
    tags={"repo": "a", "Zeta": "", "_x": "1"},
    extensions={"task": {"budget": "2 h"}},
)
FORECAST = {
    "author": "piper",
    "created_at": LATER,
    "ledger": A,
    "suite": "golden@v1",
    "suite_hash": B,
    "question_hash": codec.question_hash(QUESTION),
    "forecaster": "native",
    "probabilities": {"pass": "0.8", "fail": "0.2"},
    "commitment": C,
    "evidence": Evidence(
        cutoff_at=AT,
        manifest_hash=A,
        feature_snapshot_hash=B,
        training_cutoff_at=AT,
        tiers=("L0", "L1"),
        features={"files": "3"},
    ),
    "reference_class": "bugfix",
    "model_version": "m-1",
    "code_revision": "r-1",
    "adaptation_budget": "few-shot",
    "reason_codes": ("small-diff",),
    "failure_modes": ("flaky test",),
    "quantities": {
        "minutes": Quantity(
            point="41.5", quantiles={"0.1": "9", "0.9": "-0.5"}, samples=("1", "0")
        )
    },
    "extensions": {"cost": {"tokens": "18250"}},
}
EVENTS: dict[str, LedgerEvent] = {
    "forecast-sealed-v1": ForecastSealed(**FORECAST, question=QUESTION),
    "forecast-updated-v1": ForecastUpdated(
        **FORECAST, parent=A, reason="a test is quarantined", opens=B, salt=C
    ),
    "resolution-recorded-v1": ResolutionRecorded(
        author="harness",
        created_at=AT,
        ledger=A,
        suite="golden@v1",
        question=QUESTION,
        question_hash=codec.question_hash(QUESTION),
        status="RESOLVED",
        outcome="pass",
        values={"minutes": "44.25"},
        started_at=AT,
        occurred_at=AT,
        published_at=LATER,
        source="acceptance log",
        evidence_hash=A,
        acceptance_hash=B,
        reason_code="none",
        supersedes=B,
        confirms=C,
        run=Run(runtime="piper", session="s-1", key="k-1", inferred="by time"),
        note="first run",
        failure_tags=(FailureTag(code="F12", evidence="no action"),),
        extensions={"assignment": {"arm": "control"}},
    ),
}


MANIFESTS = ("suite-frozen-v1", "charter-frozen-v1")


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_with_every_field_has_its_golden_bytes(name: str) -> None:
    golden = (GOLDEN / f"{name}.json").read_bytes()

    assert codec.encode(EVENTS[name]) == golden
    assert codec.read(golden) == EVENTS[name]
    assert codec.decode(golden) == EVENTS[name]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_frozen_manifest_is_read_and_spelt_as_it_was(name: str) -> None:
    golden = (GOLDEN / f"{name}.json").read_bytes()

    event = codec.decode(golden)
    assert isinstance(event, SuiteFrozen)
    assert codec.encode(event) == golden
    assert codec.suite_hash(event.manifest) in FROZEN


@pytest.mark.parametrize("name", EVENTS)
def test_the_golden_event_leaves_no_field_unset(name: str) -> None:
    assert unset_fields(EVENTS[name]) == []


def unset_fields(fact: Fact) -> list[str]:
    """Return the dotted names of fields that are at their default, nested too."""
    found = []
    for field in msgspec.structs.fields(fact):
        value = getattr(fact, field.name)
        if value in (None, {}, ()):
            found.append(field.name)
        elif isinstance(value, Fact):
            found += [f"{field.name}.{inner}" for inner in unset_fields(value)]
    return found


def misspellings() -> dict[str, bytes]:
    """Return the golden events with one hash, name, number or time spoilt in each.

    Found by walking what is there: the test above sees that nothing is missing.
    """
    spoilt = {}
    for name in (*EVENTS, *MANIFESTS):
        content = msgspec.json.decode((GOLDEN / f"{name}.json").read_bytes())
        for place in places(content):
            for wrong in misspelt(*place):
                shown = f"{name} {'.'.join(map(str, place[0]))} {wrong!r}"
                spoilt[shown] = canonical.encode(replaced(content, place[0], wrong))
    return spoilt


def places(content: Any, path: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Yield the path and text of each leaf, and of each key that users choose."""
    if isinstance(content, dict):
        for key, value in content.items():
            if is_map(path):
                yield (*path, KEY, key), key
            yield from places(value, (*path, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from places(value, (*path, number))
    elif isinstance(content, str):
        yield path, content


def replaced(content: Any, path: Path_, wrong: str) -> Any:
    """Return a copy with one leaf or key replaced."""
    copy = msgspec.json.decode(msgspec.json.encode(content))
    is_key = KEY in path
    inner = copy
    for part in path[: -2 if is_key else -1]:
        inner = inner[part]
    if is_key:
        inner[wrong] = inner.pop(path[-1])
    else:
        inner[path[-1]] = wrong
    return copy


def is_map(path: Path_) -> bool:
    return path[-1:] != () and (path[-1] in MAPS or "extensions" in path)


def misspelt(path: Path_, text: str) -> list[str]:
    """Return wrong spellings of a leaf or key, where its spelling is fixed at all."""
    if KEY in path or "answers" in path:
        return ["é", "", " a", "a\n", "x" * 129]
    if re.fullmatch("[0-9a-f]{64}", text):
        return ["G" + text[1:], "A" + text[1:], text[:-1], text[:-1] + "\n"]
    if text.endswith("Z") and text[:2] == "20":
        return [text.replace("Z", "+01:00"), text.replace("Z", "+00:00"), text[:-1]]
    if NUMERIC & set(path):
        return [text + "0" if "." in text else text + ".0", "+1", "1e1", text + "\n"]
    return []


SPOILT = misspellings()


@pytest.mark.parametrize("payload", SPOILT.values(), ids=SPOILT)
def test_a_misspelt_leaf_or_key_is_refused_wherever_it_stands(payload: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        codec.decode(payload)
    assert refused.value.code == "not-canonical"


def test_the_common_fields_are_those_of_the_first_version() -> None:
    names = [field.name for field in msgspec.structs.fields(Event)]
    assert names == ["author", "created_at", "ledger"]
