"""Seal forecasts from a program: `connect()`, then `seal`, `update` or `dispatch`.

`docs/client.md` shows it at work; `client_async` has the same for event loops. A client
may be used by one thread at a time.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from ledger.clock import Clock, monotonic_seconds, system_clock
from ledger.daemon.calling import Caller, sockets_of
from ledger.daemon.calling_wire import BusyError, SilentError
from ledger.daemon.client_lock import LockWay
from ledger.daemon.client_socket import SocketWay
from ledger.daemon.client_talk import (
    Ask,
    Forecasts,
    Stated,
    Talk,
    UnitName,
    seal,
    unit_of,
    update,
)
from ledger.daemon.doctor_disk import lock_holder
from ledger.daemon.homes import LEDGER_DIR
from ledger.daemon.sockets import AGENT, EVALUATOR, candidates
from ledger.errors import RefusedError, UncheckableError
from ledger.folder import Folder
from ledger.keys.keyfile import read_key
from ledger.writer import Receipt

TIMEOUT_SECONDS = 30.0
ANSWERS = ("pass", "fail")
_PING_SECONDS = 5


class Way(Protocol):
    """How requests are carried: over a socket, or under the lock."""

    def held(self) -> AbstractContextManager[None]:
        """Hold one conversation."""

    def ask(self, ask: Ask) -> Any:  # noqa: ANN401 - any result
        """Return a result; raise a `LedgerError`."""

    def close(self) -> None:
        """Let go of what is held."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client's requests go: a socket, or the folder of a ledger without daemon."""

    ledger: str
    socket: str | None
    folder: Folder | None


class Client:
    """Seals and updates the forecasts of one forecaster."""

    def __init__(self, way: Way, whose: Forecasts, clock: Clock) -> None:
        """Take the way; `connect` finds it."""
        self._way = way
        self._whose = whose
        self._clock = clock

    def seal(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        *,
        suite: str | None = None,
        template: str | None = None,
        horizon: str | None = None,
        **fields: Any,  # noqa: ANN401 - as a ForecastSealed has them
    ) -> Receipt:
        """Seal a forecast; durable when it returns.

        A unit that is not open is opened by the daemon where its settings say so;
        `target`, `cluster`, `text_hash` and `tags` are then said of it. Who owns the
        questions of a template brings one: `question={…}`. Other fields are those of a
        ForecastSealed. Raises `RefusedError`, `already-sealed` among its codes.
        """
        names = {"suite": suite, "template": template, "horizon": horizon}
        unit = unit_of(self._whose, id, names)
        now = self._clock()
        return self._hold(seal(self._whose, unit, probabilities, fields, now))

    def update(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        *,
        suite: str | None = None,
        template: str | None = None,
        horizon: str | None = None,
        **fields: Any,  # noqa: ANN401 - as a ForecastUpdated has them
    ) -> Receipt:
        """Add a later forecast to the chain on a unit; durable when it returns."""
        names = {"suite": suite, "template": template, "horizon": horizon}
        unit = unit_of(self._whose, id, names)
        now = self._clock()
        return self._hold(update(self._whose, unit, probabilities, fields, now))

    @contextmanager
    def dispatch(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        **fields: Any,  # noqa: ANN401 - as `seal` takes them
    ) -> Iterator["Dispatch"]:
        """Seal a forecast before the body runs.

        However the body ends, nothing is recorded of it: what happened is for the
        resolver to say.
        """
        yield self.dispatched(id, probabilities, **fields)

    def dispatched(
        self,
        id: str,  # noqa: A002 - a unit's own word
        probabilities: Stated,
        **fields: Any,  # noqa: ANN401 - as `seal` takes them
    ) -> "Dispatch":
        """Seal a forecast, and return the dispatch that may now start."""
        names = {name: fields.get(name) for name in ("suite", "template", "horizon")}
        receipt = self.seal(id, probabilities, **fields)
        unit = unit_of(self._whose, id, names)
        again = partial(self.update, **msgspec.to_builtins(unit))
        return Dispatch(unit, receipt, again)

    def status(self) -> dict[str, Any]:
        """Return what the daemon says of itself and its ledger."""
        with self._way.held():
            found: dict[str, Any] = self._way.ask(Ask(method="status", params={}))
            return found

    def close(self) -> None:
        """Hang up."""
        self._way.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _hold(self, talk: Talk) -> Receipt:
        with self._way.held():
            try:
                ask = next(talk)
                while True:
                    ask = _next(talk, self._way, ask)
            except StopIteration as done:
                receipt: Receipt = done.value
                return receipt


class Dispatch:
    """A dispatch whose forecast is sealed: its unit, the receipt, and later forecasts."""

    def __init__(
        self, unit: UnitName, receipt: Receipt, update: Callable[..., Receipt]
    ) -> None:
        self.unit = unit
        self.receipt = receipt
        self._update = update

    def update(self, probabilities: Stated, **fields: Any) -> Receipt:  # noqa: ANN401
        """Add a later forecast to the chain; durable when it returns."""
        self.receipt = self._update(probabilities=probabilities, **fields)
        return self.receipt


def connect(
    ledger: str | Path | None = None,
    socket: str | Path | None = None,
    *,
    key: str | Path | None = None,
    forecaster: str | None = None,
    suite: str | None = None,
    template: str | None = None,
    horizon: str | None = None,
    answers: tuple[str, ...] = ANSWERS,
    timeout: float = TIMEOUT_SECONDS,
    environment: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> Client:
    """Return a client of the daemon that answers, or of the ledger where none does.

    `ledger` is its folder (default: LEDGER_DIR), `socket` the daemon's (default:
    LEDGER_SOCKET, then the places that `docs/daemon.md` lists). `key` is the
    forecaster's key file, `forecaster` the competitor that it seals for. `suite`,
    `template` and `horizon` hold for every call that names no other; a number alone is
    the probability of the first of `answers`. `timeout` is in seconds, for a request
    with all its repetitions, and for a daemon that lets nobody in. Raises
    `UncheckableError` where nobody answers and no ledger's folder is known, or nobody
    was let in; `UsageError` for a key that is unfit.
    """
    around = os.environ if environment is None else environment
    found = find(ledger, socket, around, seconds=timeout)
    whose = Forecasts(
        ledger=found.ledger,
        signer=None if key is None else read_key(Path(key)),
        forecaster=forecaster,
        suite=suite,
        template=template,
        horizon=horizon,
        answers=answers,
    )
    return Client(_way(found, timeout, clock), whose, clock)


def find(
    ledger: str | Path | None,
    socket: str | Path | None,
    environment: Mapping[str, str],
    *,
    seconds: float,
) -> Found:
    """Return where the requests of a client go.

    A daemon that lets nobody in is asked again for so many seconds; then `BusyError`.
    """
    stated = ledger or environment.get(LEDGER_DIR)
    folder = None if stated is None else Folder(Path(stated))
    # An agent may know the folder of a ledger that is closed to it.
    is_readable = folder is not None and os.access(folder.settings_file, os.R_OK)
    meant = folder.settings().ledger if folder and is_readable else None
    tried = candidates(
        (AGENT, EVALUATOR),
        stated=None if socket is None else str(socket),
        ledger=None if folder is None else str(folder.path.absolute()),
        environment=environment,
    )
    if folder is not None and is_readable and socket is None:
        tried = list(dict.fromkeys([*tried, *sockets_of(folder, None, environment)]))
    ends_at, there = monotonic_seconds() + seconds, None
    for path in tried:
        caller = Caller(path, seconds=seconds)
        left = max(0.0, ends_at - monotonic_seconds())
        try:
            greeting = caller.greeting(meant, seconds=_PING_SECONDS, busy_seconds=left)
        except (BusyError, SilentError) as error:
            there = there or error
            continue
        except UncheckableError:
            continue  # Nobody is there; the next one may be meant.
        finally:
            caller.close()
        if meant in {None, greeting["ledger"]}:
            return Found(ledger=greeting["ledger"], socket=path, folder=folder)
    # Who is there and says nothing keeps another ledger, where nobody has the lock.
    is_free = there is None or (folder and lock_holder(folder.lock) is None)
    if folder is not None and meant is not None and socket is None and is_free:
        return Found(ledger=meant, socket=None, folder=folder)
    if there is not None:
        raise there
    msg = (
        f"no daemon answers at {', '.join(tried) or 'any socket'}: start one with "
        "`ledger daemon start`, or name the ledger's folder"
    )
    raise UncheckableError(msg)


def _way(found: Found, timeout: float, clock: Clock) -> Way:
    if found.socket is not None:
        return SocketWay(found.socket, timeout)
    assert found.folder is not None
    return LockWay(found.folder, clock)


def _next(talk: Talk, way: Way, ask: Ask) -> Ask:
    """Return what a conversation asks next, once it has its answer."""
    try:
        answer = way.ask(ask)
    except RefusedError as refusal:
        # The conversation's to take or leave: it may know another way.
        return talk.throw(refusal)
    return talk.send(answer)
