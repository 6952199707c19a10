"""A command run under a forecast: sealed before it starts, its end recorded after."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from ledger.clock import parse_instant, system_clock
from ledger.daemon import running, running_child, running_desk, running_seal
from ledger.daemon.opening import Found
from ledger.daemon.running_child import (
    EXITED,
    INTERRUPTED,
    NOT_STARTED,
    TERMINATED,
    TIMED_OUT,
    Child,
)
from ledger.daemon.running_meaning import Meant, Said, meant
from ledger.daemon.running_seal import Order, Sealed
from ledger.durable import lock
from ledger.errors import HeldError, RefusedError, UsageError
from ledger.keys.roster import Principal, Role
from ledger.keys.signing import SignerKey, new_signer
from ledger.suite import QuantityRule, SuiteManifest
from ledger.writer import Receipt
from tests.console import Console, Shown
from tests.hook_stage import fake_daemon, result
from tests.served import PROGRAM, SECONDS, Served, served, until
from tests.workshop import suite_manifest

PYTHON = sys.executable
BAR = "ab" * 32
AT_A_TERMINAL = (
    "import json, os, pty, sys\n"
    "status = pty.spawn(json.loads(sys.argv[1]))\n"
    "sys.exit(os.waitstatus_to_exitcode(status))\n"
)
ISSUED = ("--suite", "workshop", "--issuer", "dispatcher", "--acceptance", BAR)
FORECAST = ("-p", "0.8")
TAKEN = {
    "receipts": [
        {"seq": 3, "event_id": "ab" * 32, "received_at": "2026-01-01T00:00:00Z", "leaf": "l"}
    ],
    "checkpoint": "c",
}  # fmt: skip
NUMBER = QuantityRule(
    unit="min", levels=(), interpolate=False, scale="1", underage="1", overage="1"
)


def own_suite() -> SuiteManifest:
    """Return a suite whose forecasters ask, and which has numbers beside its answers."""
    manifest = suite_manifest("own")
    [template] = manifest.observable
    asked = msgspec.structs.replace(
        template, question_owner="forecaster", requires_acceptance=False
    )
    return msgspec.structs.replace(
        manifest,
        templates=(asked,),
        quantities={"duration_minutes": NUMBER, "cost_usd": NUMBER},
    )


class House:
    """A ledger with both kinds of suite, and commands that are run in it."""

    def __init__(self, found: Served) -> None:
        self.served = found
        self.path = found.folder.path
        self.console = Console(found.home)
        self.console.ledger = self.path
        found.shop.append(found.shop.frozen(own_suite()))

    def run(self, *words: object) -> Shown:
        return self.console.run("run", "--ledger", self.path, *words)

    def begin(self, *words: str, **more: Any) -> "subprocess.Popen[str]":
        """Start a run as a process of its own."""
        return subprocess.Popen(
            [*PROGRAM, "run", "--ledger", str(self.path), *words],
            env=self.served.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **more,
        )  # fmt: skip

    def payloads(self) -> list[Any]:
        shown = self.console.here("log", "--json")
        return [each["payload"] for each in shown.objects][3:]

    def log(self) -> list[Any]:
        return self.console.here("log", "--json").objects[3:]

    def seen(self) -> Any:
        [path] = self.observed()
        return json.loads(path.read_bytes())

    def observed(self) -> Iterator[Path]:
        return (self.path / "inbox" / "observed").glob("run-*.json")


@pytest.fixture
def house() -> Iterator[House]:
    with served() as found:
        yield House(found)


@pytest.fixture
def _soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a run's cut-off come at once: of no matter where nobody asks who was in time."""
    monkeypatch.setattr(running_seal, "_SEALING_SECONDS", 0)


soon_over = pytest.mark.usefixtures("_soon_over")


def exiting(code: int) -> tuple[str, ...]:
    return ("--", "sh", "-c", f"exit {code}")


# --- Sealing --------------------------------------------------------------------------


def test_without_a_resolver_an_observation_is_left(house: House) -> None:
    assert house.run("-p", "0.8", "--suite", "own", *exiting(3)).code == 3
    [sealed] = house.payloads()
    assert sealed["type"] == "ForecastSealed"
    assert sealed["probabilities"] == {"pass": "0.8", "fail": "0.2"}
    seen = house.seen()
    assert seen["exit_status"] == 3
    assert seen["what"] == "failed"
    assert seen["unit"][:2] == ["own@v1", "dispatch-pass"]
    assert seen["draft"]["outcome"] == "fail"
    assert "author" not in seen["draft"]
    # Of this forecast alone: others on the unit leave their own.
    [path] = house.observed()
    assert path.name == f"run-{seen['run']['key'][:32]}.json"


def test_an_observation_s_draft_is_what_the_resolver_signs(house: House) -> None:
    house.run("-p", "0.8", *ISSUED, *exiting(0))
    shown = house.console.append({**house.seen()["draft"], "author": "resolver"})
    assert shown.code == 0, shown.stdout
    assert house.payloads()[-1]["outcome"] == "pass"


@soon_over
@pytest.mark.parametrize(("code", "answer"), [(0, "pass"), (1, "fail"), (255, "fail")])
def test_a_resolver_records_what_the_exit_status_says(
    house: House, code: int, answer: str
) -> None:
    shown = house.run("-p", "0.8", *ISSUED, "--resolver", "resolver", *exiting(code))
    assert shown.code == code
    opening, sealed, resolved = house.log()
    assert opening["payload"]["status"] == "PENDING"
    record = resolved["payload"]
    assert (record["status"], record["outcome"]) == ("RESOLVED", answer)
    assert record["acceptance_hash"] == BAR
    assert record["supersedes"] == opening["event_id"]
    assert record["run"] == {"runtime": "ledger run", "key": sealed["event_id"]}
    kept = (house.path / "blobs" / record["evidence_hash"]).read_bytes()
    assert json.loads(kept)["exit_status"] == code


def test_the_forecast_is_received_before_the_work_begins(house: House) -> None:
    house.run("-p", "0.8", *ISSUED, "--resolver", "resolver", *exiting(0))
    _, sealed, resolved = house.log()
    record = resolved["payload"]
    assert parse_instant(sealed["received_at"]) < parse_instant(record["started_at"])
    assert parse_instant(record["started_at"]) <= parse_instant(record["occurred_at"])
    [unit] = house.console.here("lineage", "--json").objects
    assert unit["chains"][0]["vectors"][0]["is_eligible"]
    assert unit["findings"] == []


def test_the_forecast_is_in_the_log_when_the_command_starts(house: House) -> None:
    look = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM entries').fetchone())"
    path = str(house.path / "log.db")
    child = house.begin("-p", "0.8", "--suite", "own", "--", PYTHON, "-c", look, path)
    stdout, stderr = child.communicate(timeout=SECONDS)
    assert stdout == "4\n", stderr


REFUSED = {
    "no probability": (("-p", "1.2", "--suite", "own"), "draft-unfit"),
    "not an answer": (("-p", "won=0.2", "--suite", "own"), "answers-mismatch"),
    "no bar": (
        ("-p", "0.8", "--suite", "workshop", "--issuer", "dispatcher"),
        "--acceptance FILE gives it",
    ),
    "a tag that there is not": (
        ("-p", "0.8", *ISSUED, "--tag", "colour=red"),
        "question-outside-template",
    ),
    "an issuer who is none": (
        ("-p", "0.8", "--suite", "own", "--issuer", "resolver"),
        "not-the-question-owner",
    ),
    "no issuer": (("-p", "0.8", "--suite", "workshop"), "--issuer KEY"),
    "no key": (("-p", "0.8", "--suite", "own", "--resolver", "nobody"), "key-missing"),
    "a resolver who is none": (
        ("-p", "0.8", "--suite", "own", "--resolver", "forecaster"),
        "wrong-role: --resolver is forecaster, whose role is forecaster",
    ),
    "no quantity": (
        ("-p", "0.8", *ISSUED, "--cost", "3"),
        "workshop@v1 declares no quantity cost",
    ),
    "no number": (("-p", "0.8", "--suite", "own", "--cost", "dear"), "draft-unfit"),
    "a bar that is read once": (
        (*FORECAST, *ISSUED[:-1], "/dev/null"),
        "--acceptance is /dev/null, no file",
    ),
    "a bar on stdin": ((*FORECAST, *ISSUED[:-1], "-"), "--acceptance is -, no file"),
    "no suite": (("-p", "0.8", "--suite", "owm"), "no suite in force is owm"),
    "no competitor": (("-p", "0.8", "--suite", "own", "--as", "me"), "no competitor"),
    "a competitor misspelt": (
        ("-p", "0.8", "--suite", "own", "--as", "natve"),
        "own@v1 has no competitor natve: did you mean native?",
    ),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_runs_nothing(
    house: House, words: tuple[str, ...], said: str
) -> None:
    mark = house.served.home / "it-ran"
    shown = house.run(*words, "--", "touch", mark)
    assert shown.code == 2, shown.stderr
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
    assert not mark.exists()
    assert house.payloads() == []


def test_a_program_that_there_is_not_seals_nothing(house: House) -> None:
    shown = house.run("-p", "0.8", "--suite", "own", "--", "no-such-program")
    assert shown.code == 127
    assert house.payloads() == []


def another_key(name: str, *seed: bytes) -> SignerKey:
    return new_signer(name, sha256(b"another".join((name.encode(), *seed))).digest())


RIGHT = another_key("resolver")
UNFIT: dict[str, tuple[SignerKey, Role, str, str | None]] = {
    "it is the suite's resolver": (RIGHT, "resolver", "resolver", None),
    "nobody has that name": (another_key("nobody"), "resolver", "resolver", "unknown-author"),
    "its role is another": (RIGHT, "forecaster", "resolver", "wrong-role"),
    "its key is another": (another_key("resolver", b""), "resolver", "resolver", "bad-signature"),
    "the suite has another": (RIGHT, "resolver", "harness", "not-a-resolver"),
}  # fmt: skip


class Desk:
    """A ledger's desk at which nothing can be appended."""

    ledger = "ab" * 32

    def __init__(self, role: Role, resolver: str) -> None:
        own = msgspec.structs.replace(own_suite(), resolvers=(resolver,))
        self.suites = {own.suite: own}
        listed = Principal(name="resolver", role=role, key=str(RIGHT.verifier))
        self.principals = {"resolver": listed}

    def unit(self, _: object) -> Found | None:
        return None

    def append(self, _: object) -> list[Any]:
        raise RefusedError("reached", "all is well with the resolver's key")


@pytest.mark.parametrize(("key", "role", "resolver", "code"), UNFIT.values(), ids=UNFIT)
def test_a_resolver_s_key_is_looked_at_before_anything_is_sealed(
    key: SignerKey, role: Role, resolver: str, code: str | None
) -> None:
    order = Order(
        command=("true",), said=Said(), bar=lambda: None, resolver=key,
        vector=lambda *_: {"pass": "0.8", "fail": "0.2"},
        signers={"forecaster": another_key("forecaster")},
    )  # fmt: skip
    with pytest.raises(RefusedError) as refused:
        running_seal.seal(order, Desk(role, resolver), system_clock())
    assert refused.value.code == (code or "reached")
    assert code is None or "--resolver is " in refused.value.message


class Contested(Desk):
    """A desk at which another opens the unit just before the first is appended."""

    def __init__(self, *sealed_by: str) -> None:
        super().__init__("resolver", "resolver")
        self.sealed_by = sealed_by
        self.asked: list[Any] = []

    def unit(self, _: object) -> Found | None:
        if not self.asked:
            return None
        return Found(
            question_hash="cd" * 32, suite_hash="", status="PENDING", record="ef" * 32,
            acceptance_hash=None, text_hash=None, answers=("pass", "fail"),
            chains=dict.fromkeys(self.sealed_by, "ab" * 32), positions={},
        )  # fmt: skip

    def append(self, events: Any) -> list[Any]:
        self.asked.append([json.loads(each.payload) for each in events])
        if len(self.asked) == 1:
            raise RefusedError("supersedes-missing", "the unit stands at PENDING")
        return [Receipt(**TAKEN["receipts"][0], checkpoint="c")]


def contested(desk: Contested) -> Sealed:
    order = Order(
        command=("true",), said=Said(id="x"), bar=lambda: None,
        vector=lambda *_: {"pass": "0.8", "fail": "0.2"},
        signers={"forecaster": another_key("forecaster")},
    )  # fmt: skip
    return running_seal.seal(order, desk, system_clock())


def test_a_unit_that_another_run_opens_meanwhile_is_taken_as_it_is() -> None:
    desk = Contested("another")
    assert contested(desk).cutoff_at is None
    [[first], [second]] = desk.asked
    assert "question" in first
    assert second["question_hash"] == "cd" * 32


def test_a_run_of_the_same_id_that_was_faster_is_named() -> None:
    with pytest.raises(RefusedError, match="has sealed a forecast on") as no:
        contested(Contested("native"))
    assert no.value.code == "already-sealed"


def test_where_two_suites_fit_they_are_listed(house: House) -> None:
    shown = house.run("-p", "0.8", "--issuer", "dispatcher", *exiting(0))
    assert shown.code == 2
    assert "--suite own@v1" in shown.stderr
    assert "--suite workshop@v1" in shown.stderr


def test_where_one_suite_fits_it_is_taken(house: House) -> None:
    assert house.run("-p", "0.8", *exiting(0)).code == 0
    assert house.payloads()[0]["suite"] == "own@v1"


def test_a_unit_that_is_open_is_sealed_as_it_is(house: House) -> None:
    shop = house.served.shop
    opening, _ = shop.sealable(7)
    with shop.writer() as writer:
        writer.append([opening])
    words = ("-p", "0.3", "--suite", "workshop", "--id", "dispatch-0000007")
    assert house.run(*words, "--resolver", "resolver", *exiting(1)).code == 1
    _, sealed, resolved = house.payloads()
    assert sealed["question_hash"] == resolved["question_hash"]
    assert resolved["acceptance_hash"] == shop.question(7).acceptance_hash
    again = house.run(*words, *exiting(0))
    assert (again.code, "already-sealed" in again.stderr) == (2, True)


def test_a_bar_that_changed_meanwhile_is_recorded_as_it_is_then(house: House) -> None:
    bar = house.served.home / "bar.sh"
    bar.write_text("exit 0\n")
    words = ("--suite", "workshop", "--issuer", "dispatcher", "--acceptance", bar)
    change = ("--", "sh", "-c", f"echo true > {bar}")
    house.run("-p", "0.8", *words, "--resolver", "resolver", *change)
    opening, _, resolved = house.payloads()
    assert opening["question"]["acceptance_hash"] == sha256(b"exit 0\n").hexdigest()
    assert resolved["acceptance_hash"] == sha256(b"true\n").hexdigest()
    [unit] = house.console.here("lineage", "--json").objects
    assert [each["rule"] for each in unit["findings"]] == ["acceptance-hash-mismatch"]


@soon_over
def test_numbers_are_forecast_and_observed_in_the_suite_s_units(house: House) -> None:
    numbers = ("--duration", "1.5", "--cost", "0.25")
    house.run("-p", "0.8", *numbers, "--resolver", "resolver", *exiting(0))
    sealed, resolved = house.payloads()
    assert sealed["quantities"] == {
        "cost_usd": {"point": "0.25"},
        "duration_minutes": {"point": "1.5"},
    }
    assert list(resolved["values"]) == ["duration_minutes"]
    assert 0 < float(resolved["values"]["duration_minutes"]) < 1


@soon_over
def test_keys_may_be_files(house: House) -> None:
    key = house.path / "keys" / "resolver.key"
    house.run("-p", "0.8", "--suite", "own", "--resolver", key, *exiting(0))
    assert house.payloads()[-1]["author"] == "resolver"


@soon_over
def test_what_cannot_be_recorded_is_left_for_another(house: House) -> None:
    words = ("--suite", "own", "--resolver", "resolver")
    blobs = house.path / "blobs"
    command = ("--", "sh", "-c", f"rm -r {blobs}; echo > {blobs}; exit 4")
    shown = house.run("-p", "0.8", *words, *command)
    assert shown.code == 4
    assert "the outcome was not recorded" in shown.stderr
    assert house.seen()["draft"]["outcome"] == "fail"


@soon_over
def test_a_daemon_takes_what_is_sealed_and_recorded(house: House) -> None:
    house.served.start()
    shown = house.run("-p", "0.8", *ISSUED, "--resolver", "resolver", *exiting(1))
    assert shown.code == 1, shown.stderr
    with house.served.talk() as talk:
        assert talk.ask("status")["counts"]["appended"] == 3
    refused = house.run("-p", "0.8", "--suite", "workshop", *exiting(0))
    assert refused.code == 2
    wrong = ("--suite", "own", "--resolver", "dispatcher")
    refused = house.run("-p", "0.8", *wrong, *exiting(0))
    assert (refused.code, "wrong-role" in refused.stderr) == (2, True)
    assert [each["type"] for each in house.payloads()] == [
        "ResolutionRecorded", "ForecastSealed", "ResolutionRecorded",
    ]  # fmt: skip


@soon_over
@pytest.mark.parametrize(
    ("has_daemon", "moment"), [(False, "_pass_cutoff"), (True, "signed")]
)
def test_an_outcome_that_another_recorded_first_is_named_and_ours_is_left(
    house: House, monkeypatch: pytest.MonkeyPatch, moment: str, *, has_daemon: bool
) -> None:
    real = getattr(running, moment)

    def overtaken(*words: Any) -> Any:
        draft = {**house.seen()["draft"], "author": "resolver"}
        assert house.console.append(draft).code == 0
        return real(*words)

    if has_daemon:
        house.served.start()
    monkeypatch.setattr(running, moment, overtaken)
    words = ("--suite", "own", "--id", "x", "--resolver", "resolver")
    shown = house.run(*FORECAST, *words, *exiting(4))
    assert shown.code == 4
    assert "already-resolved: dispatch-pass/x/" in shown.stderr
    assert "is RESOLVED already" in shown.stderr
    assert "supersedes" not in shown.stderr
    assert house.seen()["exit_status"] == 4


@pytest.fixture
def rung() -> Iterator[list[int]]:
    """Give the signals that reached this process, and not a run in it."""
    found: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {
        each: signal.signal(each, lambda number, _: found.append(number))
        for each in numbers
    }
    yield found
    for each, handler in before.items():
        signal.signal(each, handler)


@soon_over
def test_no_signal_ends_a_run_that_waits_to_record_what_it_left_before(
    house: House, monkeypatch: pytest.MonkeyPatch, rung: list[int]
) -> None:
    waits: list[Any] = []

    def signaled(*_: object) -> None:
        waits.append(house.seen()["draft"]["outcome"])
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.raise_signal(each)

    monkeypatch.setattr(running, "_pass_cutoff", signaled)
    words = ("--suite", "own", "--resolver", "resolver")
    assert house.run(*FORECAST, *words, *exiting(3)).code == 3
    assert (waits, rung) == (["fail"], [])
    assert house.payloads()[-1]["outcome"] == "fail"
    assert list(house.observed()) == []
    signal.raise_signal(signal.SIGTERM)
    assert rung == [signal.SIGTERM]


# --- What goes wrong after the seal ---------------------------------------------------

FAULTS: dict[str, Exception] = {
    "somebody else was told its end": ChildProcessError(10, "No child processes"),
    "a fault of the program": OverflowError("too long a wait"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_end_that_is_not_seen_is_left_and_not_recorded(
    house: House, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    started: list[int] = []

    def faulty(_: Child, pid: int) -> int:
        started.append(pid)
        if isinstance(fault, ChildProcessError):
            os.waitpid(pid, 0)
        raise fault

    monkeypatch.setattr(Child, "_waited", faulty)
    words = ("--suite", "own", "--resolver", "resolver")
    slow = "0" if isinstance(fault, ChildProcessError) else "600"
    shown = house.run(*FORECAST, *words, "--", "sleep", slow)
    assert shown.code == 3
    assert "the command was given up, its end was not seen: " in shown.stderr
    assert str(fault.args[-1]) in shown.stderr
    assert not is_running(started[0])
    seen = house.seen()
    assert (seen["exit_status"], seen["what"]) == (None, "canceled")
    assert seen["draft"]["reason_code"] == "lost"
    assert [each["type"] for each in house.payloads()] == ["ForecastSealed"]


def test_a_ledger_that_fails_after_the_seal_starts_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = running_desk.Place.desk

    @contextmanager
    def failing(place: running_desk.Place) -> Iterator[running_desk.Desk]:
        with real(place) as desk:
            yield desk
        raise OSError(5, "the disk is gone")

    monkeypatch.setattr(running_desk.Place, "desk", failing)
    mark = house.served.home / "it-ran"
    shown = house.run(*FORECAST, "--suite", "own", "--", "touch", mark)
    assert (shown.code, mark.exists()) == (3, False)
    assert "it was not started: [Errno 5] the disk is gone" in shown.stderr
    assert house.seen()["draft"]["reason_code"] == NOT_STARTED


def test_who_gave_the_lock_back_just_now_is_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refusals = running_desk.Place._writer, [HeldError("another writes")] * 2

    def held(place: running_desk.Place) -> Any:
        if refusals:
            raise refusals.pop()
        return real(place)

    monkeypatch.setattr(running_desk.Place, "_writer", held)
    assert house.run(*FORECAST, "--suite", "own", *exiting(0)).code == 0
    assert refusals == []


# --- A daemon that hangs --------------------------------------------------------------

UNHEARD: dict[str, dict[str, object]] = {
    "it greets nobody": {},
    "it knows no unit": {"ping": None},
    "it takes no forecast": {"ping": None, "unit": None},
}


@contextmanager
def hanging(house: House, answers: dict[str, object]) -> Iterator[None]:
    """Give a daemon that has the lock, answers each method once, and then hangs."""
    over, left = Event(), dict(answers)

    def reply(asked: dict[str, Any]) -> bytes:
        method = asked["method"]
        if method not in left:
            over.wait(SECONDS)
            return b""
        said = left.pop(method)
        return result(
            {"ledger": house.served.shop.ledger} if method == "ping" else said
        )(asked)

    handle = lock(house.served.folder.lock)
    with fake_daemon(house.served.socket(), reply):
        try:
            yield
        finally:
            over.set()
            os.close(handle)


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_desk, "_PING_SECONDS", 0.2)
    monkeypatch.setattr(running_desk, "_WAIT_SECONDS", 0.4)


@pytest.mark.usefixtures("_hurried")
@pytest.mark.parametrize("answers", UNHEARD.values(), ids=UNHEARD)
def test_a_daemon_that_hangs_runs_nothing_and_is_named_in_time(
    house: House, answers: dict[str, object]
) -> None:
    mark, began = house.served.home / "it-ran", time.monotonic()
    with hanging(house, answers):
        shown = house.run("-p", "0.8", "--suite", "own", "--", "touch", mark)
    assert (shown.code, mark.exists()) == (3, False)
    assert time.monotonic() - began < 10
    assert len(shown.stderr.splitlines()) == 1
    assert str(house.served.socket()) in shown.stderr
    assert re.search(r"in 0\.[24] s", shown.stderr), shown.stderr


@soon_over
@pytest.mark.usefixtures("_hurried")
def test_a_daemon_that_hangs_after_the_command_leaves_an_observation(
    house: House,
) -> None:
    answers = {"ping": None, "unit": None, "append": TAKEN}
    with hanging(house, answers):
        words = ("--suite", "own", "--resolver", "resolver")
        shown = house.run("-p", "0.8", *words, *exiting(5))
    assert shown.code == 5
    assert "the outcome was not recorded: the daemon at" in shown.stderr
    assert house.seen()["draft"]["outcome"] == "fail"


# --- The command ----------------------------------------------------------------------


def test_the_streams_are_the_command_s(house: House) -> None:
    child = house.begin(
        "-p", "0.8", "--suite", "own", "--", "sh", "-c", "cat; echo e >&2"
    )
    stdout, stderr = child.communicate("typed", timeout=SECONDS)
    assert stdout == "typed"
    assert "\ne\n" in stderr


def test_who_closed_stderr_has_the_command_run_all_the_same(house: House) -> None:
    mark = house.served.home / "it-ran"
    child = house.begin("-p", "0.8", "--suite", "own", "--", "touch", str(mark))
    assert child.stderr is not None
    child.stderr.close()
    child.stderr = None
    child.communicate(timeout=SECONDS)
    assert (child.returncode, mark.exists()) == (0, True)


def ended(command: str, *, timeout: int | None = None) -> tuple[int, str]:
    with Child(timeout, system_clock) as child:
        found = child.run(("sh", "-c", command), system_clock())
    assert found.started_at <= found.ended_at
    assert found.code is not None
    return found.code, found.how


ENDS = {
    "of itself": ("exit 0", (0, EXITED)),
    "with a failure": ("exit 130", (130, EXITED)),
    "by a signal of its own": ("kill -KILL $$", (137, EXITED)),
    "by its own SIGTERM": ("kill -TERM $$", (143, EXITED)),
    "by its own SIGINT": ("kill -INT $$", (130, INTERRUPTED)),
}


@pytest.mark.parametrize(("command", "how"), ENDS.values(), ids=ENDS)
def test_a_command_ends(command: str, how: tuple[int, str]) -> None:
    assert ended(command) == how


def test_a_late_command_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    code, how = ended(f"sleep 600 & echo $! > {noted}; wait", timeout=1)
    assert (code, how) == (143, TIMED_OUT)
    inner = int(noted.read_text())
    until(lambda: not is_running(inner))


def is_running(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_command_that_is_in_time_has_no_deadline_left() -> None:
    assert ended("exit 5", timeout=60) == (5, EXITED)


def test_a_late_command_that_will_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_child, "_GRACE_SECONDS", 0.3)
    script = "trap '' TERM; while :; do sleep 0.05; done"
    assert ended(script, timeout=1) == (137, TIMED_OUT)


def test_what_a_late_command_leaves_behind_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_child, "_GRACE_SECONDS", 0.3)
    noted = tmp_path / "pid"
    deaf = f"(trap '' TERM; exec sleep 600) & echo $! > {noted}; wait"
    assert ended(deaf, timeout=1) == (143, TIMED_OUT)
    until(lambda: not is_running(int(noted.read_text())))


def test_what_a_late_command_leaves_behind_may_end_in_its_time(tmp_path: Path) -> None:
    said = tmp_path / "said"
    inner = (
        f"trap 'sleep 0.2; echo tidy > {said}; exit' TERM; while :; do sleep 0.05; done"
    )
    assert ended(f"({inner}) & wait", timeout=1) == (143, TIMED_OUT)
    assert said.read_text() == "tidy\n"


@pytest.mark.parametrize("timeout", [None, 60, 10**11])
def test_a_long_wait_is_several_short_ones(
    monkeypatch: pytest.MonkeyPatch, timeout: int | None
) -> None:
    monkeypatch.setattr(running_child, "_WAIT_SECONDS_MAX", 0.01)
    assert ended("sleep 0.1; exit 5", timeout=timeout) == (5, EXITED)


@pytest.mark.parametrize("seconds", ["31536001", "99999999999"])
def test_a_timeout_beyond_a_year_seals_nothing(house: House, seconds: str) -> None:
    words = (*FORECAST, "--suite", "own", "--timeout")
    shown = house.run(*words, seconds, *exiting(0))
    assert (shown.code, house.payloads()) == (2, [])
    assert "less than or equal to 31536000" in shown.stderr
    assert house.run(*words, "31536000", *exiting(0)).code == 0


def test_a_parent_that_hears_of_no_child_is_no_hindrance(house: House) -> None:
    child = house.begin(
        *FORECAST, "--suite", "own", *exiting(6),
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    try:
        assert child.wait(SECONDS) == 6
    finally:
        child.kill()
        child.communicate()
    assert house.seen()["draft"]["outcome"] == "fail"


def test_what_cannot_be_started_has_not_run(tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    strange.write_bytes(b"\x7fELF nonsense")
    strange.chmod(0o755)
    with Child(None, system_clock) as child:
        found = child.run((str(strange),), system_clock())
    assert (found.code, found.how) == (126, NOT_STARTED)


def test_handlers_and_masks_are_given_back() -> None:
    def standing() -> list[object]:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
        return [mask, *map(signal.getsignal, numbers)]

    before = standing()
    ended("exit 0", timeout=5)
    assert standing() == before


def test_a_command_inherits_nothing_blocked_and_what_was_ignored() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        assert ended("kill -USR1 $$; kill -INT $$; exit 7") == (130, INTERRUPTED)
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


SENT = {
    "interrupted": (signal.SIGINT, 130, "CANCELED", INTERRUPTED),
    "terminated": (signal.SIGTERM, 143, "CANCELED", TERMINATED),
}


@pytest.mark.parametrize(
    ("number", "code", "status", "reason"), SENT.values(), ids=SENT
)
def test_a_signal_is_passed_on(
    house: House, number: int, code: int, status: str, reason: str
) -> None:
    words = ("-p", "0.8", "--suite", "own")
    child = house.begin(*words, "--", "sh", "-c", "echo up; exec sleep 600")
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    child.send_signal(number)
    assert child.wait(SECONDS) == code
    child.communicate()
    record = house.seen()["draft"]
    assert (record["status"], record["reason_code"]) == (status, reason)
    assert "outcome" not in record


def test_a_command_may_take_a_signal_for_something_else(house: House) -> None:
    script = "trap 'echo caught; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    words = ("-p", "0.8", "--suite", "own")
    child = house.begin(*words, "--", "sh", "-c", script)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGTERM)
    assert child.stdout.readline() == "caught\n"
    assert child.wait(SECONDS) == 0
    child.communicate()
    assert house.seen()["draft"]["outcome"] == "pass"


def test_a_late_run_is_censored(house: House) -> None:
    words = ("-p", "0.8", "--suite", "own", "--timeout", "1")
    assert house.run(*words, "--", "sleep", "600").code == 143
    record = house.seen()["draft"]
    assert (record["status"], record["reason_code"]) == ("CENSORED", "timeout")
    assert "values" not in record


def test_ctrl_c_at_a_terminal_is_the_command_s(house: House) -> None:
    """A terminal of its own, in which what is typed reaches the foreground alone."""
    words = ("run", "--ledger", str(house.path), "-p", "0.8", "--suite", "own")
    inner = [*PROGRAM, *words, "--", "sh", "-c"]
    # As a test runner does, it ends by itself with a status of its own.
    script = (
        "trap 'exit 2' INT; read line; echo got $line; while :; do sleep 0.05; done"
    )
    child = subprocess.Popen(
        [PYTHON, "-c", AT_A_TERMINAL, json.dumps([*inner, script])],
        env=house.served.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"hello\n")
    child.stdin.flush()
    while b"got hello" not in (line := child.stdout.readline()):
        assert line, child.stderr and child.stderr.read()
    child.stdin.write(b"\x03")
    child.stdin.flush()
    child.stdout.read()
    assert child.wait(SECONDS) == 2
    child.communicate()
    record = house.seen()["draft"]
    assert (record["status"], record["reason_code"]) == ("CANCELED", "interrupted")


def test_at_a_terminal_another_process_s_signal_is_passed_on(house: House) -> None:
    words = ("run", "--ledger", str(house.path), "-p", "0.8", "--suite", "own")
    inner = [*PROGRAM, *words, "--", "sh", "-c", "echo above $PPID; exec sleep 600"]
    child = subprocess.Popen(
        [PYTHON, "-c", AT_A_TERMINAL, json.dumps(inner)], env=house.served.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    while b"above" not in (line := child.stdout.readline()):
        assert line
    os.kill(int(line.split()[-1]), signal.SIGINT)
    child.stdout.read()
    assert child.wait(SECONDS) == 130
    child.communicate()
    assert house.seen()["draft"]["reason_code"] == "interrupted"


# --- What is meant --------------------------------------------------------------------


def found(said: Said, *suites: SuiteManifest, issuer: bool = False) -> Meant:
    known = {each.suite: each for each in suites or (own_suite(), suite_manifest())}
    return meant(
        said, known, signers={"forecaster"}, has_issuer=issuer,
        is_open=lambda suite, *_: suite == "workshop@v1" and said.id == "open",
    )  # fmt: skip


def test_a_unit_that_is_open_fits_without_an_issuer() -> None:
    assert found(Said(suite="workshop", id="open")).manifest.suite == "workshop@v1"
    with pytest.raises(UsageError, match="--issuer KEY"):
        found(Said(suite="workshop", id="another"))


def test_a_suite_is_named_with_or_without_its_version() -> None:
    for name in ("own", "own@v1"):
        assert found(Said(suite=name)).manifest.suite == "own@v1"
    with pytest.raises(UsageError, match="no suite in force is own@v2"):
        found(Said(suite="own@v2"))


def test_without_any_suite_nothing_fits() -> None:
    with pytest.raises(UsageError, match="those are none"):
        meant(
            Said(), {}, signers=(), has_issuer=False, is_open=lambda *_: False
        )  # fmt: skip
