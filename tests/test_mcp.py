"""The tools of `ledger mcp`, called as an agent's runtime calls them."""

import asyncio
import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from tests.console import Console
from tests.served import PROGRAM, Served, served
from tests.shared import SHARED

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from ledger.daemon.mcp import Place, server

PAYLOADS = SHARED / "hook-payloads" / "mcp"
NAMES = {"suite": "workshop@v1", "template": "dispatch-pass", "horizon": "24h"}


class House:
    """A ledger whose daemon or settings open questions, and a forecaster's tools."""

    def __init__(self, found: Served) -> None:
        self.served = found
        found.open_questions()
        self.console = Console(found.home)
        self.console.ledger = found.folder.path

    def place(self, **other: Any) -> Place:
        stated: dict[str, Any] = {
            "ledger": str(self.served.folder.path),
            "socket": None,
            "key": str(self.served.folder.keys / "forecaster.key"),
            "forecaster": "native",
            "answers": ("pass", "fail"),
            "environment": {"XDG_STATE_HOME": str(self.served.shop.state_home)},
            **NAMES,
            **other,
        }
        return Place(**stated)

    def call(
        self, tool: str, *, place: Place | None = None, meta: Any = None, **said: Any
    ) -> Any:
        return asyncio.run(self._call(place or self.place(), tool, said, meta))

    async def _call(self, place: Place, tool: str, arguments: Any, meta: Any) -> Any:
        async with Client(server(place)) as client:
            result = await client.call_tool(tool, arguments, meta=meta)
        [content] = result.content
        return content.text if result.is_error else json.loads(content.text)

    def payloads(self) -> list[Any]:
        shown = self.console.here("log", "--json")
        return [each["payload"] for each in shown.objects][2:]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    with served() as found:
        monkeypatch.setenv("XDG_STATE_HOME", str(found.shop.state_home))
        yield House(found)


def listed(place: Place) -> list[Any]:
    async def ask() -> list[Any]:
        async with Client(server(place)) as client:
            return list((await client.list_tools()).tools)

    return asyncio.run(ask())


def test_no_tool_resolves_or_freezes(house: House) -> None:
    tools = listed(house.place())
    assert [each.name for each in tools] == [
        "seal_forecast", "update_forecast", "my_record", "status",
    ]  # fmt: skip
    assert all(each.description for each in tools)
    assert all(not each.input_schema["additionalProperties"] for each in tools)


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_forecast_is_sealed_and_updated(house: House, *, has_daemon: bool) -> None:
    if has_daemon:
        house.served.start()
    sealed = house.call(
        "seal_forecast", dispatch_key="d-42", probability=0.67, tags={"domain": "bugfix"},
        reason_codes=["flaky-tests"], failure_modes=["timeout"],
    )  # fmt: skip
    assert sealed["id"] == "d-42"
    updated = house.call(
        "update_forecast", dispatch_key="d-42", probability="0.5", reason="it is slow"
    )
    assert updated["seq"] == sealed["seq"] + 1
    opening, first, second = house.payloads()
    assert opening["question"]["tags"] == {"domain": "bugfix"}
    assert first["probabilities"] == {"pass": "0.67", "fail": "0.33"}
    assert first["reason_codes"] == ["flaky-tests"]
    assert second["probabilities"] == {"pass": "0.5", "fail": "0.5"}
    assert second["parent"] == sealed["event_id"]


def test_a_task_names_its_unit_as_hooks_do(house: House) -> None:
    digest = sha256(b"repair it").hexdigest()
    sealed = house.call("seal_forecast", task="repair it", probability=0.9)
    assert sealed["id"] == f"task-{digest}"
    assert house.payloads()[0]["question"]["text_hash"] == digest
    updated = house.call("update_forecast", task_sha256=digest, probability=0.8)
    assert updated["id"] == sealed["id"]
    both = {"task": "repair it", "task_sha256": digest}
    again = house.call("update_forecast", **both, probability=0.7)
    assert again["id"] == sealed["id"]
    other = house.call("update_forecast", **both | {"task": "it"}, probability=0.6)
    assert "give one of the two" in other


def test_the_runtime_s_id_of_the_call_is_kept(house: House) -> None:
    house.call(
        "seal_forecast", meta={"claudecode/toolUseId": "toolu_1"},
        dispatch_key="d", probability={"pass": 0.6, "fail": 0.4},
    )  # fmt: skip
    assert house.payloads()[1]["extensions"] == {"trace": {"trigger_id": "toolu_1"}}


REFUSED = {
    "no name": ({"probability": 0.5}, "dispatch_key, task or task_sha256"),
    "no probability": (
        {"dispatch_key": "d"},
        "probability is missing: give a number from 0 to 1, decimal text",
    ),
    "more than 1": ({"dispatch_key": "d", "probability": 1.5}, "1.5"),
    "less than 0": ({"dispatch_key": "d", "probability": -0.01}, "-0.01"),
    "true for a probability": (
        {"dispatch_key": "d", "probability": True},
        "probability is true: give a number from 0 to 1",
    ),
    "true in an object": (
        {"dispatch_key": "d", "probability": {"pass": True, "fail": 0}},
        "probability.pass is true: give a number from 0 to 1",
    ),
    "true in words": ({"dispatch_key": "d", "probability": "true"}, '"true"'),
    "null for a probability": (
        {"dispatch_key": "d", "probability": None},
        "probability is null",
    ),
    "a list for a probability": (
        {"dispatch_key": "d", "probability": [0.5]},
        "probability is a list",
    ),
    "percent": ({"dispatch_key": "d", "probability": "70%"}, '"70%"'),
    "true for a quantity": (
        {"dispatch_key": "d", "probability": 0.5, "quantities": {"cost": True}},
        "quantities.cost is true: give an object of numbers",
    ),
    "a number for a text": (
        {"dispatch_key": 7, "probability": 0.5},
        "dispatch_key is 7: give text",
    ),
    "a text for texts": (
        {"dispatch_key": "d", "probability": 0.5, "reason_codes": "flaky"},
        'reason_codes is "flaky": give a list of texts',
    ),
    "a number among texts": (
        {"dispatch_key": "d", "probability": 0.5, "reason_codes": ["a", 7]},
        "reason_codes[1] is 7: give a list of texts",
    ),
    "a number for a tag": (
        {"dispatch_key": "d", "probability": 0.5, "tags": {"domain": 1}},
        "tags.domain is 1: give an object of texts",
    ),
    "not a tag": (
        {"dispatch_key": "d", "probability": 0.5, "tags": {"colour": "red"}},
        "colour",
    ),
    "a slip": (
        {"dispatch_key": "d", "probabilty": 0.5},
        "seal_forecast has no argument 'probabilty': did you mean probability?",
    ),
    "what there is not": (
        {"dispatch_key": "d", "probability": 0.5, "x" * 900: 1},
        "it has probability, dispatch_key,",
    ),
    "no digest": (
        {"task_sha256": "AB" * 32, "probability": 0.5},
        "give 64 digits 0-9a-f",
    ),
    "an empty digest": ({"task_sha256": "", "probability": 0.5}, 'task_sha256 is ""'),
    "another task's digest": (
        {"task": "it", "task_sha256": "ab" * 32, "probability": 0.5},
        f"and that of task is {sha256(b'it').hexdigest()}: give one of the two",
    ),
    "a number that there is not": (
        {"dispatch_key": "d", "probability": 0.5, "quantities": {"cost": 1}},
        "unknown-quantity",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_said_and_changes_nothing(
    house: House, arguments: dict[str, Any], said: str
) -> None:
    answer = house.call("seal_forecast", **arguments)
    assert isinstance(answer, str)
    assert said in answer
    assert "pydantic" not in answer
    assert (len(answer.splitlines()), len(answer) < 600) == (1, True)
    assert house.payloads() == []


def test_a_probability_is_a_number_or_decimal_text_and_the_schema_says_so(
    house: House,
) -> None:
    said = (1, 0, 0.25, "0.25", ".250", {"pass": "0.25", "fail": "0.75"})
    for number, probability in enumerate(said):
        house.call("seal_forecast", dispatch_key=f"d-{number}", probability=probability)
    sealed = [each for each in house.payloads() if "probabilities" in each]
    assert [each["probabilities"]["pass"] for each in sealed] == [
        "1", "0", *["0.25"] * 4,
    ]  # fmt: skip
    schema = listed(house.place())[0].input_schema["properties"]["probability"]
    kinds = [each["type"] for each in schema["anyOf"]]
    assert kinds == ["number", "string", "object"]
    assert "decimal text" in schema["description"]


@pytest.mark.parametrize("task", ['{"do": "it"}', "null", "[1]", "true", "7"])
def test_a_task_that_happens_to_be_json_is_a_text(house: House, task: str) -> None:
    sealed = house.call("seal_forecast", task=task, probability=0.5)
    assert sealed["id"] == f"task-{sha256(task.encode()).hexdigest()}"


def test_a_client_that_writes_json_into_a_text_is_understood(house: House) -> None:
    house.call(
        "seal_forecast", dispatch_key="d", probability='{"pass": 0.6, "fail": 0.4}',
        reason_codes='["flaky"]', tags='{"domain": "docs"}',
    )  # fmt: skip
    opening, sealed = house.payloads()
    assert opening["question"]["tags"] == {"domain": "docs"}
    assert sealed["probabilities"] == {"pass": "0.6", "fail": "0.4"}
    assert sealed["reason_codes"] == ["flaky"]


STRANGE = {
    "a template": ({"template": "dispatch-pas"}, "did you mean dispatch-pass?"),
    "a tag": ({"tags": {"domian": "docs"}}, "did you mean domain?"),
    "an argument": ({"tag": {"domain": "docs"}}, "did you mean tags?"),
}


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_record_of_what_there_is_not_is_refused_by_name(
    house: House, *, has_daemon: bool
) -> None:
    if has_daemon:
        house.served.start()
    for name, (asked, said) in STRANGE.items():
        assert said in house.call("my_record", **asked), name
    place = house.place(suite="workshp@v1")
    assert "did you mean workshop@v1?" in house.call("my_record", place=place)


def test_a_second_seal_is_refused_and_an_update_needs_a_first(house: House) -> None:
    assert "seal it first" in house.call(
        "update_forecast", dispatch_key="d", probability=0.5
    )
    house.call("seal_forecast", dispatch_key="d", probability=0.5)
    again = house.call("seal_forecast", dispatch_key="d", probability=0.6)
    assert "already-sealed" in again


@pytest.mark.skipif(not PAYLOADS.exists(), reason="needs ../shared/hook-payloads")
def test_a_call_as_a_runtime_sends_it(house: House) -> None:
    """Its `targets` name several events at once: what is not known here is refused."""
    sent = json.loads((PAYLOADS / "tools_call.seal_forecast.json").read_bytes())
    params = sent["payload"]["params"]
    arguments = dict(params["arguments"])
    answer = house.call(params["name"], meta=params["_meta"], **arguments)
    assert "targets" in answer
    targets = arguments.pop("targets")
    arguments.pop("predicted_cost_usd")
    arguments["task_sha256"] = "ab" * 32
    answer = house.call(
        params["name"], meta=params["_meta"], probability=targets["pass"], **arguments
    )
    assert answer["id"] == "d-42"


@pytest.mark.parametrize("has_daemon", [True, False])
def test_one_s_own_record_is_that_of_a_reference_class(
    house: House, *, has_daemon: bool
) -> None:
    if has_daemon:
        house.served.start()
    every = house.call("my_record")
    part = house.call("my_record", template="dispatch-pass", tags={"domain": "bugfix"})
    assert (every["forecaster"], every["suite"]) == ("native", "workshop@v1")
    assert part["class"] == {"tag:domain": "bugfix", "template": "dispatch-pass"}
    assert "bins" in every
    none = house.call("my_record", tags={"domain": "docs"})
    assert none["brier"] == {"value": None, "n": 0, "reason": "empty"}


def test_the_status_says_for_whom_it_is(house: House) -> None:
    house.served.start()
    found = house.call("status")
    assert found["forecaster"] == "native"
    assert found["pinned_files_changed"] == []


def test_a_tool_without_arguments_says_that_it_has_none(house: House) -> None:
    said = house.call("status", x=1)
    assert said.endswith("status has no argument 'x': it has none")


def test_what_was_left_open_is_the_only_question_that_is_opened(house: House) -> None:
    place = house.place(suite=None, template=None)
    assert house.call("my_record", place=place)["suite"] == "workshop@v1"
    asked = {"dispatch_key": "d", "probability": 0.5}
    assert house.call("seal_forecast", place=place, **asked)["id"] == "d"
    house.served.configure("")
    refused = house.call("seal_forecast", place=place, **asked)
    assert "with --suite, --template and --horizon" in refused


def test_the_command_serves_over_its_streams(house: House) -> None:
    path = house.served.folder.path
    words = ["mcp", "--ledger", str(path), "--as", "native", "--suite", "workshop@v1"]
    words += ["--key", str(path / "keys" / "forecaster.key")]
    parameters = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], *words], env=house.served.environment
    )

    async def talk() -> Any:
        async with Client(parameters) as client:
            return await client.call_tool("status", {})

    [content] = asyncio.run(talk()).content
    assert json.loads(content.text)["ledger"] == house.served.shop.ledger


def test_without_the_sdk_a_sentence_says_what_to_install(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ledger.daemon.mcp")
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    shown = house.console.here("mcp")
    assert shown.code == 3
    assert "pip install 'sealed-ledger[mcp]'" in shown.stderr


def test_who_forecasts_must_be_said(house: House) -> None:
    shown = house.console.here("mcp")
    assert shown.code == 2
    assert "--key FILE and --as COMPETITOR" in shown.stderr
