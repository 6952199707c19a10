"""Clients that send too much, too deep, too many or half of it: a daemon that goes on."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

import pytest

from ledger.daemon.protocol import BUSY, INVALID_REQUEST, LINE_BYTES_MAX, PARSE_ERROR
from tests.served import SECONDS, Served, Talk, served, until, wire

MIB = 1_048_576
GIB = 1_024 * MIB
# What may be added to the daemon's memory by whatever is sent: a few lines and answers
# for each of a few clients.
GROWTH_KIB_MAX = 96 * 1_024
CONNECTIONS = 3_000
LINES = 24


@pytest.fixture
def ledger() -> Iterator[Served]:
    with served() as found:
        yield found


@pytest.fixture
def daemon(ledger: Served) -> Served:
    return ledger.start()


def most_memory_kib(daemon: Served) -> int:
    """Return how much memory a daemon ever had at once."""
    assert daemon.process is not None
    text = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system tells no VmHWM"
)


# --- Too much --------------------------------------------------------------------------


@needs_proc
def test_a_gigabyte_without_an_end_of_line_is_never_held(daemon: Served) -> None:
    """From whoever hangs up, comes again and goes on, until all of it was sent."""
    before, sent, chunk = most_memory_kib(daemon), 0, b"x" * MIB
    while sent < GIB:
        with daemon.talk("agent") as talk, suppress(ConnectionError):
            while sent < GIB:
                talk.send(chunk)
                sent += len(chunk)
    assert most_memory_kib(daemon) - before < GROWTH_KIB_MAX
    assert daemon.answers()


@needs_proc
def test_a_client_that_asks_and_asks_and_never_listens_is_held_back(
    daemon: Served,
) -> None:
    before = most_memory_kib(daemon)
    with ExitStack() as held:
        for _ in range(4):
            talk = held.enter_context(daemon.talk("agent"))
            talk.socket.settimeout(0.5)
            line = talk.request("status") * 1_000
            # Once its answers fill what the system keeps, nothing more is read of it.
            with suppress(TimeoutError):
                while True:
                    talk.send(line)
        assert most_memory_kib(daemon) - before < GROWTH_KIB_MAX
        with daemon.talk() as other:
            assert other.append(*daemon.shop.sealable(0))["receipts"]


@needs_proc
def test_lines_of_the_most_events_from_many_at_once_keep_memory_bounded(
    daemon: Served,
) -> None:
    """Each line is as long as a line may be, and every event in it is unfit."""
    before = most_memory_kib(daemon)
    events = [{"payload": "e30=" * 240}] * 1_000
    refused: list[int] = []

    def send() -> None:
        with daemon.talk("agent") as talk:
            while len(refused) < LINES:
                answer = talk.call("append", events=events)
                if "result" not in answer:
                    assert answer["error"]["code"] == BUSY
                    continue
                found = answer["result"]["receipts"]
                refused.append(sum("error" in each for each in found))

    senders = [Thread(target=send) for _ in range(8)]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    assert set(refused) == {1_000}
    assert len(refused) >= LINES
    assert most_memory_kib(daemon) - before < 2 * GROWTH_KIB_MAX


# --- Too deep, or no text --------------------------------------------------------------

ROOM = LINE_BYTES_MAX - 200
REQUEST = b'{"jsonrpc":"2.0","id":7,"method":"append","params":%s}'
BOMBS = {
    "arrays in arrays": b"[" * ROOM,
    "arrays in arrays, closed": b"[" * (ROOM // 2) + b"]" * (ROOM // 2),
    "objects in objects": b'{"a":' * (ROOM // 5),
    "objects in objects, closed": b'{"a":' * (ROOM // 7) + b"1" + b"}" * (ROOM // 7),
    "arrays in params": REQUEST % (b"[" * ROOM),
    "arrays in events": REQUEST % (b'{"events":[' + b"[" * (ROOM // 2) + b"]" * (ROOM // 2) + b"]}"),
    "a number of a million digits": REQUEST % (b'{"seq":' + b"9" * (ROOM - 10) + b"}"),
    "an exponent of a million digits": REQUEST % (b'{"seq":1e' + b"9" * (ROOM - 20) + b"}"),
    "a million equal keys": REQUEST % (b"{" + b'"a":1,' * (ROOM // 6 - 2) + b'"a":1}'),
    "a million empty objects for events": REQUEST % (b'{"events":[' + b"{}," * (ROOM // 3 - 9) + b"{}]}"),
    "a name of a million letters": REQUEST.replace(b"append", b"a" * ROOM) % b"{}",
    "a million escapes": REQUEST % (b'{"suite":"' + b"\\u0000" * (ROOM // 6 - 9) + b'"}'),
    "half a pair of surrogates": REQUEST % b'{"suite":"\\udfff"}',
    "a byte that begins no letter": REQUEST % b'{"suite":"\xff"}',
    "a letter that is cut off": REQUEST % b'{"suite":"\xe2\x82"}',
    "a letter in too many bytes": REQUEST % b'{"suite":"\xc0\xaf"}',
    "a surrogate in bytes": REQUEST % b'{"suite":"\xed\xa0\x80"}',
    "a method that is no text": REQUEST.replace(b"append", b"\x80\x81") % b"{}",
    "another encoding": (REQUEST % b"{}").decode().encode("utf-16")[:-1].replace(b"\n", b""),
    "a mark of the byte order": b"\xef\xbb\xbf" + REQUEST % b"{}",
}  # fmt: skip


@needs_proc
def test_bombs_and_bytes_that_are_no_text_are_answered_with_one_sentence(
    daemon: Served,
) -> None:
    before = most_memory_kib(daemon)
    for name, bomb in BOMBS.items():
        assert len(bomb) < LINE_BYTES_MAX, name
        with daemon.talk("agent") as talk:
            talk.send(bomb + b"\n")
            answer = talk.read()
            assert answer is not None, name
            assert PARSE_ERROR <= answer["error"]["code"] <= INVALID_REQUEST, name
            assert answer["error"]["data"]["code"] != "internal-error", name
            assert "Traceback" not in answer["error"]["message"], name
            assert len(answer["error"]["message"]) < 1_000, name
            assert talk.ask("ping"), name
    assert most_memory_kib(daemon) - before < GROWTH_KIB_MAX
    assert not daemon.noted("fault")


# --- Half of it ------------------------------------------------------------------------


def test_a_client_may_go_away_at_any_byte_of_a_request(daemon: Served) -> None:
    """What is not a whole line asks nothing; what is, is done and told to nobody."""
    opened, sealed = daemon.shop.sealable(0)
    with daemon.talk() as whole:
        line = whole.request("append", events=wire(opened))
        for end in range(0, len(line) - 1, 37):
            with daemon.talk() as half:
                half.send(line[:end])
        assert whole.ask("head")["size"] == 2
        # It goes away in the middle of its next request, its first being under way.
        gone = daemon.talk()
        gone.send(line + line[:99])
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gone.close()
        until(lambda: whole.ask("head")["size"] == 3)
        assert "seq" in whole.append(sealed)["receipts"][0]


def test_a_request_may_come_one_byte_at_a_time(daemon: Served) -> None:
    opened, sealed = daemon.shop.sealable(0)
    with daemon.talk() as talk, daemon.talk() as other:
        line = talk.request("append", events=wire(opened))
        for at in range(len(line)):
            talk.send(line[at : at + 1])
        answer = talk.read()
        assert answer is not None
        assert answer["result"]["receipts"][0]["seq"] == 2
        assert other.append(sealed)["receipts"][0]["seq"] == 3


# --- Too many --------------------------------------------------------------------------


@pytest.fixture
def _many_files() -> Iterator[None]:
    """Let this process and the daemon that it starts have a file for each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this system allows a process {hard} files, fewer than {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_files")
def test_thousands_of_clients_may_be_connected_where_the_settings_allow_it(
    ledger: Served,
) -> None:
    ledger.configure(f"[limits]\nconnections = {CONNECTIONS}\n")
    ledger.start()
    with ExitStack() as held:
        clients = [held.enter_context(patient(ledger)) for _ in range(CONNECTIONS - 1)]
        for each in clients[::100]:
            assert each.ask("ping")
        with ledger.talk() as judge:
            found = judge.ask("status")["connections"]
            assert found["agent"] == CONNECTIONS - 1
            assert judge.append(*ledger.shop.sealable(0))["receipts"]
    with ledger.talk() as judge:
        until(lambda: judge.ask("status")["connections"]["agent"] == 0)


def test_a_crowd_takes_no_file_that_the_log_needs(ledger: Served) -> None:
    """A daemon that was started with few files allows itself what its limits need."""
    ledger.start(preexec_fn=allow_few_files)
    with ledger.talk() as judge, ExitStack() as held:
        assert judge.ask("ping")
        crowd = [held.enter_context(patient(ledger)) for _ in range(200)]
        for each in crowd[:128]:
            assert each.ask("ping")
        assert judge.append(*ledger.shop.sealable(0))["receipts"][0]["seq"] == 2
        for each in crowd[128:]:
            answer = each.read()
            assert answer is not None
            assert answer["error"]["code"] == BUSY


def test_where_there_cannot_be_files_enough_nothing_is_served(ledger: Served) -> None:
    process = ledger.begin(preexec_fn=allow_only_few_files)
    assert process.wait(SECONDS) == 2
    [note] = ledger.notes()
    assert (
        "128 connections take 576 open files, and this process may have 200"
        in (note["message"])
    )
    assert not ledger.socket().exists()


def allow_few_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))


def allow_only_few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))


def patient(ledger: Served) -> Talk:
    """Return a connection, made once there is room in the queue of those to accept."""
    made: list[Talk] = []

    def connects() -> bool:
        with suppress(BlockingIOError):
            made.append(Talk(ledger.socket("agent")))
        return bool(made)

    until(connects)
    return made[0]
