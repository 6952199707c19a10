"""What `docs/hooks.md` and `docs/client.md` show is done here, as it is written there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon.hook_events import ENDS, QUIET
from ledger.daemon.hook_forecast import FIELDS
from ledger.daemon.hook_payload import DIALECTS, PIPER_MOMENTS
from ledger.daemon.hook_settings import RECENT
from tests.hook_stage import Stage
from tests.source_tree import REPOSITORY

HOOKS = (REPOSITORY / "docs" / "hooks.md").read_text("utf-8")
CLIENT = (REPOSITORY / "docs" / "client.md").read_text("utf-8")
ANY = "…"


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage")).start()
    (made.home / "demo").symlink_to(made.ledger)
    yield made
    made.stop()


def is_as_shown(found: Any, shown: Any) -> bool:
    """Tell whether an answer is the document's, but for what differs each time."""
    if isinstance(shown, dict):
        return found.keys() == shown.keys() and all(
            shown[name] == ANY or is_as_shown(found[name], shown[name])
            for name in shown
        )
    return bool(found == shown)


def test_the_contract_is_answered_as_it_is_documented(stage: Stage) -> None:
    hook = stage.installed("documented")
    talk = re.findall(r"```(payload|answer)\n(.*?)```", HOOKS, re.DOTALL)
    asked = [json.loads(text) for kind, text in talk if kind == "payload"]
    shown = [json.loads(text) for kind, text in talk if kind == "answer"]
    answers = [hook.call(payload).shown for payload in asked]

    assert len(asked) == len(shown) + 1
    assert answers[-1] == ""
    for answer, expected in zip(answers, shown, strict=False):
        assert is_as_shown(json.loads(answer), expected), answer
    [observation] = blocks(HOOKS, "observation")
    [seen] = hook.seen()
    assert is_as_shown(seen, json.loads(observation))


def test_every_dialect_moment_and_field_is_documented() -> None:
    rows = [line for line in HOOKS.splitlines() if line.startswith("| `")]
    named = {line.split("`")[1] for line in rows}
    assert {dialect.__name__ for dialect in DIALECTS} <= named
    assert PIPER_MOMENTS.keys() <= named
    assert [name for name in (*FIELDS, *ENDS) if f"`{name}`" not in HOOKS] == []


def test_every_event_that_passes_in_silence_is_listed() -> None:
    [_, after] = HOOKS.split("they start nothing: the hook lets them pass in silence.")
    [listed, _] = after.split("## Piper's contract")
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(QUIET)


def test_the_doctor_s_memory_is_as_long_as_it_says() -> None:
    assert f"until {RECENT} other dispatches came" in HOOKS


def test_the_client_s_page_runs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(stage.home)
    names: dict[str, Any] = {}
    for block in blocks(CLIENT, "python"):
        exec(compile(block, "docs/client.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()

    assert printed[0].split()[1] == names["receipt"].event_id
    assert printed[1].startswith("dispatch-18 ")
    assert printed[2] == stage.ledger_id
    kinds = [
        [each["type"] for each in stage.about(f"dispatch-{n}")] for n in (17, 18, 19)
    ]
    assert kinds == [["ResolutionRecorded", "ForecastSealed", "ForecastUpdated"]] * 3


def test_the_commands_of_the_hook_s_page_are_those_that_there_are() -> None:
    [install] = blocks(HOOKS, "sh")
    commands = {" ".join(line.split()[1:3]) for line in install.splitlines()}
    assert {"hook install", "hook status", "hook uninstall"} <= commands


def test_the_pages_lead_to_files_that_there_are() -> None:
    for text in (HOOKS, CLIENT):
        for link in re.findall(r"\]\(([^)#]+)", text):
            assert Path(REPOSITORY / "docs" / link).exists(), link
