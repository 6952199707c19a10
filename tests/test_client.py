"""The Python client: with a daemon, without one, and when answers are lost."""

import asyncio
import fcntl
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from ledger.daemon import client as client_module
from ledger.daemon import client_async
from ledger.daemon.client import Client, connect
from ledger.errors import (
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from tests.hook_stage import (
    HORIZON,
    OPENING,
    SUITE,
    TEMPLATE,
    Stage,
    fake_daemon,
    fault,
    forwarded,
    result,
)

NAMES = {"suite": SUITE, "template": TEMPLATE, "horizon": HORIZON}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage")).start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Return a ledger that no daemon keeps."""
    return Stage(tmp_path_factory.mktemp("alone"))


@pytest.fixture(params=["with a daemon", "without one"])
def either(request: pytest.FixtureRequest, stage: Stage, alone: Stage) -> Stage:
    return stage if request.param == "with a daemon" else alone


def options(stage: Stage, **said: Any) -> dict[str, Any]:
    return {
        "ledger": stage.ledger,
        "key": stage.ledger / "keys" / "forecaster.key",
        "forecaster": "native",
        "environment": {},
        **NAMES,
        **said,
    }


def client_of(stage: Stage, **said: Any) -> Client:
    return connect(**options(stage, **said))


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "xdg"))


def test_a_seal_opens_the_unit_and_is_durable_when_it_returns(either: Stage) -> None:
    with client_of(either) as client:
        receipt = client.seal("c-1", 0.8, reason_codes=["small-diff"], target="repo-a")
    opened, sealed = either.about("c-1")
    assert either.log()[receipt.seq] == sealed
    assert opened["author"] == "issuer"
    assert opened["question"]["target"] == "repo-a"
    assert sealed["probabilities"] == {"pass": "0.8", "fail": "0.2"}
    assert sealed["reason_codes"] == ["small-diff"]
    assert "origin" not in receipt.checkpoint
    assert receipt.checkpoint.startswith("example.org/test\n")


def test_an_update_adds_to_the_chain(either: Stage) -> None:
    with client_of(either) as client:
        sealed = client.seal("c-2", {"pass": 0.6, "fail": 0.4})
        first = client.update("c-2", "0.7", reason="it compiles")
        second = client.update("c-2", 1)
    assert [each.get("parent") for each in either.about("c-2")] == [
        None, None, sealed.event_id, first.event_id,
    ]  # fmt: skip
    assert either.log()[second.seq]["probabilities"] == {"pass": "1", "fail": "0"}


def test_what_was_sealed_before_is_not_sealed_again(either: Stage) -> None:
    with client_of(either) as client:
        client.seal("c-3", 0.5)
        with pytest.raises(RefusedError, match="update it") as refused:
            client.seal("c-3", 0.6)
    assert refused.value.code == "already-sealed"
    assert len(either.about("c-3")) == 2


def test_what_was_never_sealed_is_not_updated(either: Stage) -> None:
    with (
        client_of(either) as client,
        pytest.raises(RefusedError, match="seal it first"),
    ):
        client.update("c-never", 0.5)


def test_a_dispatch_is_sealed_before_its_body_runs(either: Stage) -> None:
    with client_of(either) as client, client.dispatch("c-4", 0.8) as dispatch:
        assert len(either.about("c-4")) == 2
        assert dispatch.unit.id == "c-4"
        sealed = dispatch.receipt
        updated = dispatch.update(0.3, reason="it hangs")
        assert dispatch.receipt == updated != sealed
    assert [each["type"] for each in either.about("c-4")] == [
        "ResolutionRecorded", "ForecastSealed", "ForecastUpdated",
    ]  # fmt: skip


def test_however_its_body_ends_nothing_is_recorded_of_it(either: Stage) -> None:
    with (
        client_of(either) as client,
        pytest.raises(ZeroDivisionError),
        client.dispatch("c-5", 0.8),
    ):
        _ = 1 / 0
    assert len(either.about("c-5")) == 2


def test_a_body_does_not_run_whose_forecast_is_refused(either: Stage) -> None:
    ran = []
    with (
        client_of(either) as client,
        pytest.raises(RefusedError, match="0 to 1"),
        client.dispatch("c-6", 1.5),
    ):
        ran.append(1)
    assert (ran, either.about("c-6")) == ([], [])


def test_status_names_the_ledger_and_what_it_opens(either: Stage) -> None:
    with client_of(either) as client:
        status = client.status()
    assert status["ledger"] == either.ledger_id
    assert [each["suite"] for each in status["openings"]] == [SUITE]


def test_a_refusal_of_the_door_keeps_its_code(either: Stage) -> None:
    with client_of(either) as client, pytest.raises(RefusedError) as refused:
        client.seal("c-7", 0.5, quantities={"cost_usd": {"point": "1"}})
    assert refused.value.code == "unknown-quantity"
    assert either.about("c-7") == []


def test_what_agents_may_not_say_is_refused(either: Stage) -> None:
    with client_of(either) as client, pytest.raises(UsageError, match="agent_tags"):
        client.seal("c-8", 0.5, tags={"mood": "good"})


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({"key": None}, "connect\\(key="),
    "no forecaster": ({"forecaster": None}, "connect\\(forecaster="),
    "no suite": ({"suite": None}, "connect\\(suite="),
    "no template": ({"template": None}, "connect\\(template="),
    "no horizon": ({"horizon": None}, "connect\\(horizon="),
    "three answers": ({"answers": ("a", "b", "c")}, "3 answers"),
}


@pytest.mark.parametrize(("said", "why"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_said_with_where_to_give_it(
    stage: Stage, said: dict[str, Any], why: str
) -> None:
    with client_of(stage, **said) as client, pytest.raises(UsageError, match=why):
        client.seal("c-9", 0.5)


def test_a_name_given_to_a_call_goes_before_the_one_of_connecting(stage: Stage) -> None:
    with client_of(stage, suite="other@v1", horizon=None) as client:
        client.seal("c-10", 0.5, suite=SUITE, horizon=HORIZON)
    assert len(stage.about("c-10")) == 2


def test_a_forecaster_s_own_question_is_brought(tmp_path: Path) -> None:
    owned = Stage(tmp_path)
    text = owned.console.must("suite", "new", "own", "--track", "self").stdout
    text = text.replace('question_owner = "issuer"', 'question_owner = "forecaster"')
    text = text.replace('"preregistered"', '"exploratory"', 1)
    (tmp_path / "own.toml").write_text(text)
    frozen = owned.console.here("suite", "freeze", tmp_path / "own.toml")
    assert frozen.code == 0, frozen.stderr
    suite_hash = owned.console.here("suite", "list", "--json").objects[-1]["suite_hash"]
    question = {
        "opened_at": "2026-11-30T00:00:00Z", "cutoff_at": "2099-01-01T00:00:00Z",
        "resolve_by": "2099-01-02T00:00:00Z", "acceptance_hash": "a" * 64,
    }  # fmt: skip
    with client_of(owned, suite="own@v1") as client:
        for more, error in (
            ({}, "suite_hash"),
            ({"suite_hash": suite_hash}, "question-outside-template"),
        ):
            with pytest.raises((RefusedError, UsageError), match=error):
                client.seal("o-1", 0.5, question=question, **more)


# --- Answers that do not come ---------------------------------------------------------


def losing(stage: Stage, method: str) -> Callable[[dict[str, Any]], bytes]:
    """Return a daemon that loses its first answer to a method."""
    lost: list[str] = []

    def reply(asked: dict[str, Any]) -> bytes:
        answer = forwarded(stage, asked)
        if asked["method"] == method and not lost:
            lost.append(method)
            return b""
        return answer

    return reply


@pytest.mark.parametrize("method", ["unit", "question", "open_seal", "append"])
def test_a_lost_answer_is_asked_for_again_and_doubles_nothing(
    stage: Stage, tmp_path: Path, method: str
) -> None:
    unit = f"lost-{method}"
    with (
        fake_daemon(tmp_path / "s", losing(stage, method)) as asked,
        client_of(stage, socket=tmp_path / "s") as client,
    ):
        client.seal(unit, 0.8)
        receipt = client.update(unit, 0.7)
    sent = [each for each in asked if each["method"] == method]
    assert sent[0] == sent[1]
    about = stage.about(unit)
    assert [each["type"] for each in about] == [
        "ResolutionRecorded", "ForecastSealed", "ForecastUpdated",
    ]  # fmt: skip
    assert stage.log()[receipt.seq] == about[-1]


def test_a_busy_daemon_is_asked_again_when_it_says(
    stage: Stage, tmp_path: Path
) -> None:
    refused: list[dict[str, Any]] = []

    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "open_seal" and len(refused) < 3:
            refused.append(asked)
            return fault(-32001, "busy", retry_after_ms=5)(asked)
        return forwarded(stage, asked)

    with (
        fake_daemon(tmp_path / "s", reply),
        client_of(stage, socket=tmp_path / "s") as client,
    ):
        client.seal("busy", 0.8)
    assert refused[0] == refused[1] == refused[2]
    assert len(stage.about("busy")) == 2


def test_a_unit_that_somebody_opened_in_between_is_sealed_on_their_question(
    stage: Stage, tmp_path: Path
) -> None:
    missed: list[str] = []

    def reply(asked: dict[str, Any]) -> bytes:
        if asked["method"] == "open_seal" and not missed:
            missed.append("open_seal")
            return fault(-32000, "already-open")(asked)
        return forwarded(stage, asked)

    with (
        fake_daemon(tmp_path / "s", reply),
        client_of(stage, socket=tmp_path / "s") as client,
    ):
        client.seal("raced", 0.8)
    assert len(stage.about("raced")) == 2


SILENT: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "hangs up": lambda _: b"",
    "says no JSON": lambda _: b"HTTP/1.1 400\r\n\n",
    "is busy for ever": fault(-32001, "busy", retry_after_ms=10),
    "is busy and says when in words": fault(-32001, "busy", retry_after_ms="soon"),
    "is busy and says before now": fault(-32001, "busy", retry_after_ms=-1),
    "is busy and says next year": fault(-32001, "busy", retry_after_ms=10**11),
    "says neither result nor error": lambda _: b'{"jsonrpc":"2.0","id":1}\n',
    "says a list": lambda _: b"[]\n",
    "says no text": lambda _: b'{"id":1,"result":"\xff"}\n',
    "says an error of no shape": lambda _: b'{"id":1,"error":{"code":"x"}}\n',
}


@pytest.mark.parametrize("after", SILENT.values(), ids=SILENT)
def test_a_daemon_that_never_answers_is_given_up_after_the_time_stated(
    tmp_path: Path, stage: Stage, after: Callable[[dict[str, Any]], bytes]
) -> None:
    def reply(asked: dict[str, Any]) -> bytes:
        return forwarded(stage, asked) if asked["method"] == "ping" else after(asked)

    with (
        fake_daemon(tmp_path / "s", reply),
        client_of(stage, socket=tmp_path / "s", timeout=0.3) as client,
    ):
        began = time.monotonic()
        with pytest.raises(UncheckableError):
            client.seal("silent", 0.8)
        assert time.monotonic() - began < 30


def test_a_writer_that_stopped_is_told_as_that(stage: Stage, tmp_path: Path) -> None:
    def reply(asked: dict[str, Any]) -> bytes:
        is_ping = asked["method"] == "ping"
        return forwarded(stage, asked) if is_ping else fault(-32002, "stopped")(asked)

    with (
        fake_daemon(tmp_path / "s", reply),
        client_of(stage, socket=tmp_path / "s") as client,
        pytest.raises(WriterStoppedError),
    ):
        client.seal("stopped", 0.8)


# --- Finding the way ------------------------------------------------------------------


def test_nobody_and_no_ledger_is_said(tmp_path: Path) -> None:
    with pytest.raises(UncheckableError, match="no daemon answers"):
        connect(environment={})
    with pytest.raises(UncheckableError, match="no daemon answers"):
        connect(socket=tmp_path / "none", environment={})


def test_the_environment_says_where_the_ledger_or_its_socket_is(stage: Stage) -> None:
    for environment in (
        {"LEDGER_DIR": str(stage.ledger)},
        {"LEDGER_SOCKET": stage.socket},
    ):
        with connect(environment=environment) as client:
            assert client.status()["ledger"] == stage.ledger_id


def test_the_daemon_of_another_ledger_is_not_taken_for_this_one(
    alone: Stage, tmp_path: Path
) -> None:
    with fake_daemon(tmp_path / "s", result({"ledger": "f" * 64})):
        environment = {"LEDGER_SOCKET": str(tmp_path / "s")}
        with client_of(alone, environment=environment) as client:
            assert client.status()["ledger"] == alone.ledger_id


@pytest.mark.parametrize("is_locked", [False, True])
def test_who_listens_and_never_answers_is_this_daemon_where_the_lock_is_taken(
    alone: Stage, monkeypatch: pytest.MonkeyPatch, *, is_locked: bool
) -> None:
    monkeypatch.setattr(client_module, "_PING_SECONDS", 0.2)
    with (
        (alone.ledger / "lock").open("ab") as file,
        fake_daemon(alone.ledger / "agent.sock", None),
    ):
        if is_locked:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(UncheckableError, match=r"did not answer in 0\.2 s"):
                client_of(alone)
        else:
            with client_of(alone) as client:
                assert client.status()["ledger"] == alone.ledger_id
    (alone.ledger / "agent.sock").unlink()


def test_a_full_queue_of_those_to_be_admitted_is_waited_for(
    alone: Stage, tmp_path: Path
) -> None:
    """Nobody accepts, and the system takes no more connections."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as held:
        listener.bind(path)
        listener.listen(0)
        with suppress(BlockingIOError):
            while True:
                caller = held.enter_context(socket.socket(socket.AF_UNIX))
                caller.settimeout(0)
                caller.connect(path)
        with pytest.raises(UncheckableError, match="too many clients wait"):
            client_of(alone, socket=path, timeout=0.2)


def test_without_a_daemon_the_lock_of_another_writer_is_respected(alone: Stage) -> None:
    with client_of(alone) as client, (alone.ledger / "lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process"):
            client.seal("locked", 0.5)
    with client_of(alone) as client:
        client.seal("locked", 0.5)


def test_without_openings_only_what_is_open_can_be_sealed(tmp_path: Path) -> None:
    bare = Stage(tmp_path)
    (bare.ledger / "daemon.toml").unlink()
    with client_of(bare) as client, pytest.raises(RefusedError) as refused:
        client.seal("closed", 0.5)
    assert refused.value.code == "unknown-question"
    assert "`ledger resolve --status PENDING`" in refused.value.message
    (bare.ledger / "daemon.toml").write_text(OPENING)
    with client_of(bare) as client:
        client.seal("closed", 0.5)


# --- In an event loop -----------------------------------------------------------------


def test_an_event_loop_has_the_same_client(either: Stage) -> None:
    async def work() -> tuple[Any, Any, Any]:
        async with await client_async.connect(**options(either)) as client:
            await client.seal("a-1", 0.8)
            updated = await client.update("a-1", 0.7)
            async with client.dispatch("a-2", 0.6) as dispatch:
                unit = dispatch.unit.id
                again = await dispatch.update(0.5)
                assert dispatch.receipt == again
            return updated, unit, await client.status()

    updated, unit, status = asyncio.run(work())
    assert either.log()[updated.seq]["probabilities"] == {"pass": "0.7", "fail": "0.3"}
    assert (unit, status["ledger"]) == ("a-2", either.ledger_id)
    assert len(either.about("a-2")) == 3


def test_calls_of_one_client_take_turns(stage: Stage) -> None:
    async def work() -> set[int]:
        async with await client_async.connect(**options(stage)) as client:
            calls = (client.seal(f"turn-{number}", 0.5) for number in range(20))
            return {each.seq for each in await asyncio.gather(*calls)}

    assert len(asyncio.run(work())) == 20


def test_a_task_that_is_cancelled_leaves_the_client_whole(stage: Stage) -> None:
    async def work() -> str:
        async with await client_async.connect(**options(stage)) as client:
            task = asyncio.create_task(client.seal("cancelled", 0.5))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await client.seal("after", 0.5)).event_id

    assert asyncio.run(work())
    assert len(stage.about("after")) == 2
