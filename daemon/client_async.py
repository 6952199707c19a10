"""`ledger.daemon.client` for event loops: the same client, its methods awaited.

Each client has one thread, in which its calls take turns: signing and waiting never
hold up the loop, and a call whose task was cancelled still ends as one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self, TypeVar

from ledger.daemon import client
from ledger.daemon.client_talk import Stated, UnitName
from ledger.writer import Receipt

T = TypeVar("T")


class AsyncClient:
    """Seals and updates the forecasts of one forecaster."""

    def __init__(self, threaded: client.Client, thread: ThreadPoolExecutor) -> None:
        """Take the client and its thread; `connect` makes them."""
        self._client = threaded
        self._thread = thread

    async def seal(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        **fields: Any,  # noqa: ANN401 - as `Client.seal` takes them
    ) -> Receipt:
        """Seal a forecast; durable when it returns. See `Client.seal`."""
        return await self._turn(partial(self._client.seal, id, probabilities, **fields))

    async def update(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        **fields: Any,  # noqa: ANN401 - as `Client.update` takes them
    ) -> Receipt:
        """Add a later forecast to the chain on a unit. See `Client.update`."""
        return await self._turn(
            partial(self._client.update, id, probabilities, **fields)
        )

    @asynccontextmanager
    async def dispatch(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        **fields: Any,  # noqa: ANN401 - as `seal` takes them
    ) -> AsyncIterator["AsyncDispatch"]:
        """Seal a forecast before the body runs; nothing is recorded of how it ends."""
        begun = await self._turn(
            partial(self._client.dispatched, id, probabilities, **fields)
        )
        yield AsyncDispatch(begun, self._turn)

    async def status(self) -> dict[str, Any]:
        """Return what the daemon says of itself and its ledger."""
        return await self._turn(self._client.status)

    async def close(self) -> None:
        """Hang up, once what was begun has ended."""
        await self._turn(self._client.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def _turn(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


class AsyncDispatch:
    """A dispatch whose forecast is sealed: its unit, the receipt, and later forecasts."""

    def __init__(
        self,
        begun: client.Dispatch,
        turn: Callable[[Callable[[], Receipt]], Any],
    ) -> None:
        self._begun = begun
        self._turn = turn

    @property
    def unit(self) -> UnitName:
        """What the forecast is about."""
        return self._begun.unit

    @property
    def receipt(self) -> Receipt:
        """Where the newest forecast stands in the log."""
        return self._begun.receipt

    async def update(self, probabilities: Stated, **fields: Any) -> Receipt:  # noqa: ANN401 - as `Client.update` takes them
        """Add a later forecast to the chain; durable when it returns."""
        call = partial(self._begun.update, probabilities, **fields)
        receipt: Receipt = await self._turn(call)
        return receipt


async def connect(*stated: Any, **options: Any) -> AsyncClient:  # noqa: ANN401 - as `client.connect` takes them
    """Return a client; the arguments are those of `ledger.daemon.client.connect`."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger-client")
    found = partial(client.connect, *stated, **options)
    loop = asyncio.get_running_loop()
    return AsyncClient(await loop.run_in_executor(thread, found), thread)
