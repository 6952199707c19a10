"""`ledger sign`: what one user signs without the ledger, another appends to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.console import Console, Shown
from tests.court import BAR

OPENED = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", BAR)
OPEN = ("resolve", "--status", "PENDING", "--id", "d-1", *OPENED)
SEAL = {
    "type": "ForecastSealed",
    "author": "forecaster",
    "suite": "piper-self@v1",
    "forecaster": "native",
    "probabilities": {"pass": 0.8, "fail": 0.2},
}
UPDATE = {
    **SEAL,
    "type": "ForecastUpdated",
    "probabilities": {"pass": 0.6, "fail": 0.4},
}
NAMED = {"template": "dispatch-pass", "id": "d-1"}


class Apart:
    """A ledger with an open question, and an agent elsewhere who holds its own key."""

    def __init__(self, home: Path) -> None:
        self.console = Console(home).found().frozen()
        self.keys = home / "agent"
        self.keys.mkdir()
        key = self.console.ledger / "keys" / "forecaster.key"
        key.rename(self.keys / key.name)
        assert self.console.here(*OPEN).code == 0
        self.ledger = self.console.here("status", "--json").object["ledger"]
        shown = self.console.here("suite", "show", "piper-self", "--json")
        self.suite_hash = shown.object["suite_hash"]
        [told] = self.console.here("lineage", "d-1", "--json").objects
        self.question = told["question_hash"]

    def sign(self, *drafts: dict[str, Any], more: tuple[object, ...] = ()) -> Shown:
        """Sign as the agent, who reads no ledger."""
        words = ("--ledger-id", self.ledger, "--suite-hash", self.suite_hash, *more)
        text = "".join(json.dumps(draft) + "\n" for draft in drafts)
        return self.console.run("sign", "-", "--keys", self.keys, *words, stdin=text)

    def append(self, signed: Shown) -> list[Any]:
        """Append as the ledger's user, who has no key of the agent."""
        shown = self.console.here("append", "-", "--json", stdin=signed.stdout)
        return shown.objects


@pytest.fixture
def apart(tmp_path: Path) -> Apart:
    return Apart(tmp_path)


def test_what_is_signed_apart_is_appended_and_updated(apart: Apart) -> None:
    asked = {"question_hash": apart.question}
    signed = apart.sign({**SEAL, **asked})
    assert (signed.code, signed.stderr) == (0, "")
    [receipt] = apart.append(signed)
    update = {**UPDATE, **asked, "parent": receipt["event_id"]}
    [later] = apart.append(apart.sign(update))
    assert later["seq"] == receipt["seq"] + 1
    [told] = apart.console.here("lineage", "d-1", "--json").objects
    [chain] = told["chains"]
    assert [each["probabilities"]["pass"] for each in chain["vectors"]] == [
        "0.8",
        "0.6",
    ]


def test_what_is_signed_is_one_envelope_a_line(apart: Apart) -> None:
    asked = {"question_hash": apart.question}
    signed = apart.sign({**SEAL, **asked}, {**SEAL, **asked, "model_version": "m-2"})
    assert [sorted(each) for each in signed.objects] == [
        ["payload", "payloadType", "signatures"]
    ] * 2


@pytest.mark.parametrize(
    ("draft", "says"),
    {
        "a question by its name": ({**SEAL, **NAMED}, "template is for the ledger"),
        "no question": (SEAL, "the question is missing"),
        "an update without its parent": (
            {**UPDATE, "question_hash": BAR}, "parent is missing",
        ),
        "what stands": (
            {
                "type": "ResolutionRecorded", "author": "forecaster",
                "suite": "piper-self@v1", "question_hash": BAR, "status": "PENDING",
                "supersedes": "standing",
            },
            "supersedes is standing",
        ),
        "a suite": (
            {"type": "SuiteFrozen", "author": "forecaster", "file": "s.toml"},
            "where the ledger's folder can be read",
        ),
        "a stranger": (
            {**SEAL, "question_hash": BAR, "author": "resolver"}, "--keys FOLDER",
        ),
        "a vector that is none": (
            {**SEAL, "question_hash": BAR, "probabilities": {"pass": 0.8}}, "sum to 0.8",
        ),
    }.values(),
)  # fmt: skip
def test_what_only_the_ledger_knows_is_refused_by_its_name(
    apart: Apart, draft: dict[str, Any], says: str
) -> None:
    good = {**SEAL, "question_hash": apart.question}
    shown = apart.sign(draft, good, more=("--json",))
    assert shown.code == 2
    told = json.loads(shown.stderr)
    assert told["line"] == 1
    assert says in told["error"]["message"]
    assert len(shown.objects) == 1


def test_a_suite_hash_that_is_missing_is_asked_for(apart: Apart) -> None:
    text = json.dumps({**SEAL, "question_hash": apart.question})
    words = ("sign", "--ledger-id", apart.ledger, "--keys", apart.keys)
    shown = apart.console.run(*words, stdin=text)
    assert (shown.code, shown.stdout) == (2, "")
    assert "--suite-hash" in shown.stderr


def test_beside_a_ledger_drafts_are_completed_from_it_and_follow_each_other(
    apart: Apart,
) -> None:
    text = "".join(json.dumps({**each, **NAMED}) + "\n" for each in (SEAL, UPDATE))
    entries = apart.console.here("status", "--json").object["entries"]
    signed = apart.console.here("sign", "--keys", apart.keys, stdin=text)
    assert (signed.code, signed.stderr) == (0, "")
    assert apart.console.here("status", "--json").object["entries"] == entries
    assert [each["seq"] for each in apart.append(signed)] == [entries, entries + 1]


def test_beside_a_ledger_the_rules_are_asked_before_anything_is_handed_over(
    apart: Apart,
) -> None:
    text = json.dumps({**UPDATE, **NAMED})
    shown = apart.console.here("sign", "--keys", apart.keys, stdin=text)
    assert (shown.code, shown.stdout) == (2, "")
    assert "seal a forecast first" in shown.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--ledger-id ID, or --ledger DIR"),
        (("--ledger-id", "x", "--keys", "."), "--ledger-id x is not 64 hex digits"),
        (("--ledger-id", BAR), "--keys FOLDER"),
    ],
)
def test_a_command_that_lacks_something_says_what(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    shown = Console(tmp_path).run("sign", "-", *words, stdin="")
    assert shown.code == 2
    assert says in shown.stderr
