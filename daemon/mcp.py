"""The ledger's tools for agents that speak the Model Context Protocol.

Four tools: seal and update a forecast, look at one's own record, and ask how the ledger
is. None resolves, opens by another's key, or freezes. Each call goes to the daemon that
answers then, or under the lock where none does.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import Field as Described
from pydantic import StrictFloat, StrictStr, ValidationError

from ledger import __version__
from ledger.daemon import reading
from ledger.daemon.client import Client, connect, find
from ledger.daemon.client_socket import SocketWay
from ledger.daemon.client_talk import Ask
from ledger.daemon.protocol import RecordOf
from ledger.errors import LedgerError, UsageError
from ledger.grammar import HEX_PATTERN
from ledger.ids import sha256_hex
from ledger.suite_table import listed, suggestion
from ledger.suite_words import shown
from ledger.writer import Receipt

T = TypeVar("T")
Found = dict[str, Any]
_READ_SECONDS = 60
_LETTERS_MAX = 60
_NAMES = ("suite", "template", "horizon")
_TOOL_ID = "claudecode/toolUseId"
_INSTRUCTIONS = (
    "Seal how likely a dispatch is to succeed before it starts, and say more later with "
    "an update; look at your own record first. What happened is for others to record."
)
# What JSON has for a number; text is exact. `true` is neither, and not 1.
Number = StrictFloat | StrictStr
Probability = Annotated[
    Number | dict[str, Number],
    Described(
        description="Of success, from 0 to 1: a number, or decimal text such as "
        '"0.25"; or an object with one for every answer.'
    ),
]
Key = Annotated[
    str | None,
    Described(description="The dispatch's own key; without it, its task names it."),
]
Task = Annotated[
    str | None, Described(description="The task's text, which is hashed and not kept.")
]
TaskHash = Annotated[
    str | None, Described(description="The SHA-256 of the task's text, 64 hex digits.")
]
Quantities = Annotated[
    dict[str, Number] | None,
    Described(
        description="Points of what the suite declares, by their names: numbers, or "
        "decimal text."
    ),
]
# What an argument is to be, for the sentence that refuses another thing; else text.
_KINDS = {
    "probability": 'a number from 0 to 1, decimal text such as "0.25", or an object '
    "with one of these for every answer",
    "quantities": "an object of numbers, or of decimal texts, by their names",
    "tags": "an object of texts by their names",
    "reason_codes": "a list of texts",
    "failure_modes": "a list of texts",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Whose server it is: its ledger, its key, and what it forecasts where not told."""

    ledger: str | None
    socket: str | None
    key: str
    forecaster: str
    suite: str | None
    template: str | None
    horizon: str | None
    answers: tuple[str, ...]
    environment: Mapping[str, str]

    def client(self) -> Client:
        """Return a client; raise a `LedgerError` where no ledger can be reached."""
        return connect(
            self.ledger,
            self.socket,
            key=Path(self.key),
            forecaster=self.forecaster,
            suite=self.suite,
            template=self.template,
            horizon=self.horizon,
            answers=self.answers,
            environment=self.environment,
        )

    def named(self) -> "Place":
        """Return this with what was left open: the only questions that are opened.

        Raises `UsageError` where there are none, or several could be meant.
        """
        stated = {name: getattr(self, name) for name in _NAMES}
        if None not in stated.values():
            return self
        with self.client() as client:
            openings = client.status()["openings"]
        found = [
            {name: each[name] for name in _NAMES}
            for each in openings
            if all(stated[name] in {None, each[name]} for name in _NAMES)
        ]
        if len(found) != 1:
            known = ", ".join("/".join(each.values()) for each in found) or "none"
            msg = (
                "start `ledger mcp` with --suite, --template and --horizon: the "
                f"questions that are opened here are {known}"
            )
            raise UsageError(msg)
        return msgspec.structs.replace(self, **found[0])

    def record(self, template: str | None, tags: dict[str, str]) -> Found:
        """Return the forecaster's own past."""
        asked = RecordOf(
            suite=str(self.named().suite),
            forecaster=self.forecaster,
            template=template,
            tags=tags,
        )
        found = find(self.ledger, self.socket, self.environment, seconds=_READ_SECONDS)
        if found.socket is None:
            assert found.folder is not None
            return reading.record(found.folder, asked)
        way = SocketWay(found.socket, _READ_SECONDS)
        try:
            answer: Found = way.ask(
                Ask(method="record", params=msgspec.to_builtins(asked))
            )
        finally:
            way.close()
        return answer


def server(place: Place) -> MCPServer:
    """Return the server of a forecaster's tools."""
    tools = _Tools(place)
    made = [
        _strict(each)
        for each in (
            tools.seal_forecast,
            tools.update_forecast,
            tools.my_record,
            tools.status,
        )
    ]
    return MCPServer(
        "ledger", version=__version__, instructions=_INSTRUCTIONS, tools=made
    )


class _StrictTool(Tool):
    """A tool that refuses, in one sentence, what it has no name for or cannot take."""

    async def run(
        self,
        arguments: Found,
        context: Any,  # noqa: ANN401 - as the SDK passes it on
        convert_result: bool = False,  # noqa: FBT001, FBT002 - the SDK's signature
    ) -> Any:  # noqa: ANN401 - any result
        """Run the tool; a slip is not passed over."""
        known = self.parameters["properties"]
        strange = next((each for each in arguments if each not in known), None)
        if strange is not None:
            raise ToolError(f"{self.name} has no argument {_unknown(strange, known)}")
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(_misfit(arguments, error)) from None
        return await super().run(arguments, context, convert_result)


class _Arguments(FuncMetadata):
    """Takes a text for a text: the SDK would read one that happens to be JSON."""

    def pre_parse_json(self, data: Found) -> Found:
        texts = {name: said for name, said in data.items() if name not in _KINDS}
        return {**super().pre_parse_json(data), **texts}


def _misfit(arguments: Found, error: ValidationError) -> str:
    """Return what is wrong with the argument that was looked into furthest."""
    found = max((each["loc"] for each in error.errors()), key=len)
    name = str(found[0])
    kind = _KINDS.get(name, "text")
    if name not in arguments:
        return f"{name} is missing: give {kind}"
    said = arguments[name]
    for step in found[1:]:
        # Between keys there are the names of types.
        if isinstance(said, Mapping) and step in said:
            name, said = f"{name}.{step}", said[str(step)]
        elif isinstance(said, list) and isinstance(step, int):
            name, said = f"{name}[{step}]", said[step]
    text = "an object" if isinstance(said, Mapping) else shown(said)
    return f"{name} is {text}: give {kind}"


def _unknown(name: str, known: Iterable[str]) -> str:
    hint = suggestion(name, known) or f"it has {listed(known, last='and')}"
    return f"{name[:_LETTERS_MAX]!r}: {hint}"


def _strict(function: Callable[..., Any]) -> Tool:
    tool = _StrictTool.from_function(function)
    made = tool.fn_metadata
    made.arg_model.model_config["extra"] = "forbid"
    made.arg_model.model_rebuild(force=True)
    tool.parameters = made.arg_model.model_json_schema(by_alias=True)
    tool.fn_metadata = _Arguments(
        arg_model=made.arg_model,
        output_schema=made.output_schema,
        output_model=made.output_model,
        wrap_output=made.wrap_output,
    )
    return tool


class _Tools:
    def __init__(self, place: Place) -> None:
        self._place = place
        # Without a daemon each call takes the lock: one after the other.
        self._turn = asyncio.Lock()

    async def seal_forecast(
        self,
        *,
        probability: Probability,
        context: Context,
        dispatch_key: Key = None,
        task: Task = None,
        task_sha256: TaskHash = None,
        tags: dict[str, str] | None = None,
        target: str | None = None,
        reason_codes: list[str] | None = None,
        failure_modes: list[str] | None = None,
        reference_class: str | None = None,
        model_version: str | None = None,
        quantities: Quantities = None,
    ) -> Found:
        """Seal a forecast before the dispatch starts; durable when it returns.

        It cannot be taken back: an update adds a later one, and both are kept.
        """
        digest = _task_hash(task, task_sha256)
        said = {
            "tags": tags,
            "target": target,
            "text_hash": digest,
            "reason_codes": reason_codes,
            "failure_modes": failure_modes,
            "reference_class": reference_class,
            "model_version": model_version,
            "quantities": _points(quantities),
            "extensions": _trace(context),
        }
        id_ = _id(dispatch_key, digest)
        return await self._sent(id_, probability, said, Client.seal)

    async def update_forecast(
        self,
        *,
        probability: Probability,
        context: Context,
        dispatch_key: Key = None,
        task: Task = None,
        task_sha256: TaskHash = None,
        reason: str | None = None,
        reason_codes: list[str] | None = None,
        failure_modes: list[str] | None = None,
        quantities: Quantities = None,
    ) -> Found:
        """Add a later forecast to one that you sealed; the earlier one stands too."""
        said = {
            "reason": reason,
            "reason_codes": reason_codes,
            "failure_modes": failure_modes,
            "quantities": _points(quantities),
            "extensions": _trace(context),
        }
        id_ = _id(dispatch_key, _task_hash(task, task_sha256))
        return await self._sent(id_, probability, said, Client.update)

    async def my_record(
        self, *, template: str | None = None, tags: dict[str, str] | None = None
    ) -> Found:
        """Tell how your own forecasts did, in a template or with certain tags.

        The rate at which the event came, what you said on average, your Brier score,
        and for each bin of your probabilities how often the event followed.
        """
        return await self._done(partial(self._place.record, template, tags or {}))

    async def status(self) -> Found:
        """Tell which ledger this is, which suites are in force, and what stops forecasts."""

        def asked() -> Found:
            with self._place.client() as client:
                found = client.status()
            return {"forecaster": self._place.forecaster, **found}

        return await self._done(asked)

    async def _sent(
        self,
        id_: str,
        probability: Any,  # noqa: ANN401 - as a client takes it
        said: Found,
        send: Callable[..., Receipt],
    ) -> Found:
        fields = {name: value for name, value in said.items() if value}

        def sent() -> Found:
            with self._place.named().client() as client:
                receipt = send(client, id_, probability, **fields)
            return {"id": id_, **msgspec.to_builtins(receipt)}

        return await self._done(sent)

    async def _done(self, work: Callable[[], Found]) -> Found:
        """Return what some work returns, done beside the event loop."""
        async with self._turn:
            try:
                return await asyncio.to_thread(work)
            except LedgerError as error:
                raise ToolError(str(error)) from None


def _id(stated: str | None, digest: str | None) -> str:
    """Return a unit's id as the hooks name it."""
    if stated:
        return stated
    if digest is None:
        raise ToolError("name the dispatch by dispatch_key, task or task_sha256")
    return f"task-{digest}"


def _task_hash(task: str | None, stated: str | None) -> str | None:
    """Return the hash of a task's text, which is stated or taken here."""
    if stated is not None and not re.match(HEX_PATTERN, stated):
        raise ToolError(f"task_sha256 is {shown(stated)}: give 64 digits 0-9a-f")
    if task is None:
        return stated
    digest = sha256_hex(task.encode("utf-8", "surrogatepass"))
    if stated not in {None, digest}:
        msg = f"task_sha256 is {stated}, and that of task is {digest}: give one of the two"
        raise ToolError(msg)
    return digest


def _points(stated: Mapping[str, float | str] | None) -> Found:
    return {name: {"point": point} for name, point in (stated or {}).items()}


def _trace(context: Context) -> Found:
    """Return how the runtime calls this call, where it says so."""
    meta: Mapping[str, Any] = context.request_context.meta or {}
    called = meta.get(_TOOL_ID)
    return {"trace": {"trigger_id": called}} if isinstance(called, str) else {}
