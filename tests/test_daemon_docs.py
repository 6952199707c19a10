"""What `docs/daemon.md` says is said here, line by line, to a real daemon."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ledger.daemon import protocol
from ledger.daemon.settings import DaemonSettings
from tests.served import SIDES, Served, seal, served, wire
from tests.source_tree import REPOSITORY

DOCUMENT = (REPOSITORY / "docs" / "daemon.md").read_text("utf-8")
TRANSCRIPT = [
    line
    for block in re.findall(r"```transcript\n(.*?)```", DOCUMENT, re.DOTALL)
    for line in block.splitlines()
]
ANY = "…"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Served]:
    with served() as found:
        found.open_questions()
        yield found.start()


def is_as_shown(found: Any, shown: Any) -> bool:
    """Tell whether an answer is the document's, but for what differs each time."""
    if shown == ANY:
        return found is not None
    if isinstance(shown, dict):
        return list(found) == list(shown) and all(
            is_as_shown(found[name], shown[name]) for name in shown
        )
    if isinstance(shown, list):
        return len(found) == len(shown) and all(map(is_as_shown, found, shown))
    return bool(found == shown)


def test_the_transcript_is_what_is_said(daemon: Served) -> None:
    shop = daemon.shop
    opened, sealed = shop.sealable(0)
    outcome = shop.signed(shop.resolved("00" * 32, "00" * 32))
    stand_ins = {
        name: json.dumps(wire(event)[0])
        for name, event in {
            "OPENED": opened,
            "SEALED": sealed,
            "RESOLVED": outcome,
        }.items()
    }
    talks = {side: daemon.talk(side) for side in SIDES}
    for line in TRANSCRIPT:
        side, sign, text = re.fullmatch(r"(\w+)([<>]) (.*)", line).groups()
        if sign == ">":
            for name, event in stand_ins.items():
                text = text.replace(f'"{name}"', event)
            talks[side].send(text.encode() + b"\n")
            continue
        answer = talks[side].read()
        assert is_as_shown(answer, json.loads(text)), f"{answer}\nis not\n{text}"
        proposed = answer.get("result")
        if isinstance(proposed, dict) and "question" in proposed:
            stand_ins["QUESTION"] = json.dumps(proposed["question"])
            stand_ins["FORECAST"] = json.dumps(wire(seal(shop, proposed, 80))[0])
    for talk in talks.values():
        talk.close()


def test_every_method_is_in_the_transcript(daemon: Served) -> None:
    with daemon.talk() as talk:
        known = talk.call("no-such-method-at-all")["error"]["message"]
    methods = set(re.findall(r"[a-z_]+", known.partition("there are ")[2])) - {"or"}
    assert methods == set(re.findall(r'"method":"([a-z_]+)"', DOCUMENT)) - {"apend"}


def test_every_code_is_in_the_table() -> None:
    codes = {
        value
        for name, value in vars(protocol).items()
        if name.isupper() and isinstance(value, int) and value < 0
    }
    assert codes == {
        int(code) for code in re.findall(r"^\| (-32\d+) \|", DOCUMENT, re.MULTILINE)
    }


def test_the_settings_that_are_shown_are_all_there_are_with_their_defaults() -> None:
    *_, shown = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    stated = tomllib.loads(shown)
    settings = msgspec.convert(stated, DaemonSettings)
    defaults = DaemonSettings()
    assert settings.limits == defaults.limits
    for part, table in ((settings.sockets, stated["sockets"]),
                        (settings.limits, stated["limits"]),
                        (settings.openings[0], stated["openings"][0])):  # fmt: skip
        assert sorted(part.__struct_fields__) == sorted(table)
