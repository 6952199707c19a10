"""Whatever is brought to the door gets a receipt or one refusal, and nothing else."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.daemon.protocol import MESSAGE_LETTERS_MAX
from ledger.errors import RefusedError
from ledger.keys.keyfile import write_key
from ledger.keys.signing import PRIVATE
from ledger.writer import Receipt, Writer
from tests.console import Console
from tests.mutants import ODD, mutants, sound, submissions
from tests.served import SIDES, Served, served, wire
from tests.workshop import Workshop, key_of, signed_bytes

# `make soak` asks for more of them, and for others each time.
EXAMPLES = os.environ.get("SEALED_LEDGER_EXAMPLES", "")
MANY = settings(
    deadline=None,
    max_examples=int(EXAMPLES or 250),
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("door")).found()
    write_key(made.folder.log_key, made.log_key)
    return made


@pytest.fixture(scope="module")
def writer(shop: Workshop) -> Iterator[Writer]:
    with shop.writer() as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon() -> Iterator[Served]:
    with served() as found:
        found.open_questions()
        yield found.start()


def keys(shop: Workshop) -> list[Any]:
    return [*shop.keys.values(), key_of("stranger")]


@MANY
@given(
    # Nobody can sign what holds a private key, and random bytes may be words of ours.
    payload=st.binary(max_size=400).filter(lambda each: PRIVATE.encode() not in each),
    data=st.data(),
)
def test_random_bytes_are_refused(
    shop: Workshop, writer: Writer, payload: bytes, data: st.DataObject
) -> None:
    signer = data.draw(st.sampled_from(keys(shop)))
    [answer] = writer.append([signed_bytes(payload, signer)])
    assert isinstance(answer, RefusedError)
    assert answer.code == "not-canonical"


@MANY
@given(data=st.data())
def test_an_event_that_was_changed_and_signed_gets_a_receipt_or_a_refusal(
    shop: Workshop, writer: Writer, data: st.DataObject
) -> None:
    brought = data.draw(st.lists(submissions(sound(shop), keys(shop)), max_size=3))
    before = writer.size
    answers = writer.append(brought)
    receipts = [each for each in answers if isinstance(each, Receipt)]
    for refusal in (each for each in answers if not isinstance(each, Receipt)):
        assert isinstance(refusal, RefusedError)
        assert refusal.code == refusal.code.lower()
        assert refusal.message
        assert "Traceback" not in refusal.message
    assert before <= writer.size <= before + len(receipts)


def test_what_was_let_in_is_read_and_verified_by_everybody(
    shop: Workshop, writer: Writer
) -> None:
    assert writer.size >= 2
    console = Console(shop.folder.path.parent)
    assert console.here("verify", "--json").code == 0
    for words in (("log",), ("rows",), ("lineage",)):
        shown = console.here(*words, "--json")
        assert shown.code == 0, shown.stderr


def lines(shop: Workshop) -> st.SearchStrategy[bytes]:
    """Return requests whose envelopes, and whose own words, were changed."""
    events = st.lists(
        submissions(sound(shop), keys(shop)).map(lambda each: wire(each)[0]), max_size=3
    )
    request = st.fixed_dictionaries(
        {
            "jsonrpc": st.just("2.0"),
            "id": st.integers(0, 9),
            "method": st.sampled_from(["append", "open_seal"]),
            "params": st.fixed_dictionaries(
                {"events": events},
                optional={
                    "atomic": st.booleans(),
                    "suite": st.just("workshop@v1"),
                    "question": mutants([sound(shop)[0]["question"]]),
                },
            ),
        }
    )
    reading = st.fixed_dictionaries(
        {
            "jsonrpc": st.just("2.0"),
            "id": st.text(max_size=3),
            "method": st.sampled_from(
                ["entry", "proof", "rows", "unit", "unit_state", "question", "head"]
            ),
            "params": st.dictionaries(
                st.sampled_from(
                    ["seq", "size", "suite", "name", "question_hash", "id", "template",
                     "horizon", "tags", "slot", "forecaster", "by"]
                ),
                ODD,
                max_size=4,
            ),
        }
    )  # fmt: skip
    spoilt = st.tuples(request, st.integers(0, 3_000), st.binary(max_size=3)).map(
        lambda spoil: _spoilt(json.dumps(spoil[0]).encode(), *spoil[1:])
    )
    whole = (request | reading).map(lambda each: json.dumps(each).encode())
    return st.one_of(whole, whole, spoilt, st.binary(max_size=200)).map(one_line)


def _spoilt(line: bytes, at: int, by: bytes) -> bytes:
    at %= len(line)
    return line[:at] + by + line[at + 1 :]


def one_line(raw: bytes) -> bytes:
    """Return bytes that are asked as one request."""
    return raw.replace(b"\n", b" ").strip() or b"-"


@MANY
@given(data=st.data(), side=st.sampled_from(SIDES))
def test_a_request_that_was_changed_is_answered_and_never_with_a_traceback(
    daemon: Served, data: st.DataObject, side: str
) -> None:
    asked = data.draw(st.lists(lines(daemon.shop), min_size=1, max_size=8))
    with daemon.talk(side) as talk:
        talk.send(b"".join(line + b"\n" for line in asked))
        for _ in asked:
            answer = talk.read()
            assert answer is not None
            assert set(answer) in (
                {"jsonrpc", "id", "result"},
                {"jsonrpc", "id", "error"},
            )
            if "error" in answer:
                assert answer["error"]["data"]["code"] not in {
                    "internal-error",
                    "stopped",
                }
                assert "Traceback" not in answer["error"]["message"]
                assert len(answer["error"]["message"]) <= MESSAGE_LETTERS_MAX


def test_after_all_that_the_daemon_lives_and_its_log_verifies(daemon: Served) -> None:
    with daemon.talk() as talk:
        assert "seq" in talk.append(*daemon.shop.sealable(1_000))["receipts"][1]
    noted = {note["event"] for note in daemon.notes()}
    assert noted <= {"ready", "connected", "disconnected"}
    assert daemon.verify()["entries"] > 3
    assert daemon.stop() == 0
