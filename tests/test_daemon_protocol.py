"""What a client may send, and what it hears of it: an answer each, never a traceback."""

import json
from base64 import b64encode
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.daemon.protocol import (
    BAD_PARAMS,
    FORBIDDEN,
    INVALID_REQUEST,
    PARSE_ERROR,
    REFUSED,
    UNKNOWN_METHOD,
)
from tests.served import Served, Talk, served, wire

SEAL = b'{"jsonrpc":"2.0","id":1,"method":"append","params":{"events":[%s]}}'
NUMBERS = count(100)
METHODS = (
    "append", "checkpoint", "entry", "head", "open_seal", "ping", "proof", "question",
    "rows", "status", "unit",
)  # fmt: skip


@pytest.fixture(scope="module")
def daemon() -> Iterator[Served]:
    with served() as found:
        found.open_questions()
        yield found.start()


def request(**more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", **more}).encode()


WRONG = {
    "no JSON": (b"hello", PARSE_ERROR, None),
    "half an object": (b'{"jsonrpc":"2.0","id":7', PARSE_ERROR, None),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', PARSE_ERROR, None),
    "invalid UTF-8 in params": (
        b'{"jsonrpc":"2.0","id":7,"method":"unit","params":{"suite":"\xff"}}',
        BAD_PARAMS, 7,
    ),
    "half a surrogate pair": (
        b'{"jsonrpc":"2.0","id":7,"method":"unit","params":{"suite":"\\ud800"}}',
        PARSE_ERROR, None,
    ),
    "a zero byte": (b"\x00", PARSE_ERROR, None),
    "a nest of arrays": (b"[" * 200_000, INVALID_REQUEST, None),
    "a nest of arrays in params": (
        b'{"jsonrpc":"2.0","id":7,"method":"ping","params":'
        + b"[" * 100_000 + b"]" * 100_000 + b"}",
        PARSE_ERROR, None,
    ),
    "a nest of objects in an event": (
        SEAL % (b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        PARSE_ERROR, None,
    ),
    "an array of requests": (b"[" + request() + b"]", INVALID_REQUEST, None),
    "a number": (b"7", INVALID_REQUEST, None),
    "no id: nothing goes unanswered": (
        b'{"jsonrpc":"2.0","method":"ping"}', INVALID_REQUEST, None,
    ),
    "a fraction for an id": (request(id=1.5), INVALID_REQUEST, None),
    "an object for an id": (request(id={}), INVALID_REQUEST, None),
    "no method": (b'{"jsonrpc":"2.0","id":7}', INVALID_REQUEST, None),
    "another version": (request(jsonrpc="1.0"), INVALID_REQUEST, None),
    "a method that there is not": (request(method="appendd"), UNKNOWN_METHOD, 7),
    "a method with a very long name": (request(method="x" * 500_000), UNKNOWN_METHOD, 7),
    "parameters by position": (request(params=[1]), BAD_PARAMS, 7),
    "parameters that there are not": (request(params={"x": 1}), BAD_PARAMS, 7),
    "no parameters where some are needed": (request(method="entry"), BAD_PARAMS, 7),
    "text for a number": (
        request(method="entry", params={"seq": "0"}), BAD_PARAMS, 7,
    ),
    "a position before the first": (
        request(method="entry", params={"seq": -1}), BAD_PARAMS, 7,
    ),
    "a position that no database holds": (
        request(method="entry", params={"seq": 10**30}), BAD_PARAMS, 7,
    ),
    "a large position": (
        request(method="entry", params={"seq": 2**63}), BAD_PARAMS, 7,
    ),
    "a size of which there is no checkpoint": (
        request(method="proof", params={"seq": 0, "size": 10**30}), BAD_PARAMS, 7,
    ),
    "an entry that a proof is not about": (
        request(method="proof", params={"seq": 10**30}), BAD_PARAMS, 7,
    ),
    "rows of a suite that there is not": (
        request(method="rows", params={"suite": "none@v1"}), BAD_PARAMS, 7,
    ),
    "rows by what there is not": (
        request(method="rows", params={"by": ["colour"]}), BAD_PARAMS, 7,
    ),
    "rows of no entry": (request(method="rows", params={"at": 0}), BAD_PARAMS, 7),
    "rows of more entries than there are": (
        request(method="rows", params={"at": 10**9}), BAD_PARAMS, 7,
    ),
    "rows of a size and of a look": (
        request(method="rows", params={"at": 1, "look": 1}), BAD_PARAMS, 7,
    ),
    "rows of nobody's look": (
        request(method="rows", params={"look": 1}), BAD_PARAMS, 7,
    ),
    "rows of a look that there is not": (
        request(method="rows", params={"suite": "workshop@v1", "look": 1}),
        BAD_PARAMS, 7,
    ),
    "a unit of a suite that there is not": (
        request(
            method="unit",
            params={"suite": "none@v1", "template": "t", "id": "i", "horizon": "h"},
        ),
        REFUSED, 7,
    ),
    "no events": (request(method="append", params={"events": []}), BAD_PARAMS, 7),
    "more events than a line may have": (
        request(method="append", params={"events": [0] * 1_001}), BAD_PARAMS, 7,
    ),
    "events that are no list": (
        request(method="append", params={"events": {"a": 1}}), BAD_PARAMS, 7,
    ),
    "a question without an id": (
        request(method="question", params={"id": ""}), BAD_PARAMS, 7,
    ),
    "an opening that is not set up": (
        request(method="question", params={"id": "a", "horizon": "1y"}), BAD_PARAMS, 7,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "code", "answered"), WRONG.values(), ids=WRONG)
def test_a_line_that_is_wrong_is_answered_and_the_next_one_served(
    daemon: Served, line: bytes, code: int, answered: int | None
) -> None:
    with daemon.talk() as talk:
        talk.send(line + b"\n")
        answer = talk.read()
        assert answer is not None
        assert answer["id"] == answered
        assert answer["error"]["code"] == code
        assert answer["error"]["data"]["code"]
        assert "Traceback" not in answer["error"]["message"]
        assert len(answer["error"]["message"]) < 1_000
        assert talk.ask("ping")["side"] == "evaluator"


UNFIT = {
    "a number": (5, "envelope-unfit"),
    "nothing": ({}, "envelope-unfit"),
    "no signature": (
        {"payload": "e30=", "payloadType": "application/vnd.sealed-ledger.event.v1+json",
         "signatures": []},
        "envelope-unfit",
    ),
    "another type": (
        {"payload": "e30=", "payloadType": "text/plain",
         "signatures": [{"sig": "", "keyid": "00" * 32}]},
        "envelope-unfit",
    ),
    "what is no event": (
        {"payload": "e30=", "payloadType": "application/vnd.sealed-ledger.event.v1+json",
         "signatures": [{"sig": "", "keyid": "00" * 32}]},
        "not-canonical",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("event", "code"), UNFIT.values(), ids=UNFIT)
def test_an_event_that_is_unfit_is_refused_in_its_place(
    daemon: Served, event: object, code: str
) -> None:
    [opened, _] = daemon.shop.sealable(next(NUMBERS))
    with daemon.talk() as talk:
        found = talk.ask("append", events=[event, *wire(opened)])
        assert found["receipts"][0]["error"]["code"] == code
        assert found["receipts"][1]["seq"] >= 2
        assert talk.fault("append", events=[event], atomic=True) == (REFUSED, code)


def test_any_bit_of_a_signed_event_that_is_flipped_refuses_it(daemon: Served) -> None:
    [opened, sealed] = daemon.shop.sealable(2)
    with daemon.talk() as talk:
        talk.append(opened)
        [event] = wire(sealed)
        for at in range(0, len(sealed.signature), 7):
            flipped = bytearray(sealed.signature)
            flipped[at] ^= 1
            event["signatures"][0]["sig"] = b64encode(flipped).decode()
            [found] = talk.ask("append", events=[event])["receipts"]
            assert found["error"]["code"] == "bad-signature"


def test_blank_lines_ask_nothing(daemon: Served) -> None:
    with daemon.talk() as talk:
        talk.send(b"\n \n\r\n" + request() + b"\n")
        answer = talk.read()
        assert answer is not None
        assert answer["id"] == 7


def test_an_id_comes_back_as_it_was(daemon: Served) -> None:
    for stated in (None, 0, -1, 10**40, "", "ä\n", "x" * 5_000):
        with daemon.talk() as talk:
            talk.send(request(id=stated) + b"\n")
            answer = talk.read()
            assert answer is not None
            assert answer["id"] == stated


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
NAMES = st.sampled_from(
    ("events", "atomic", "seq", "size", "suite", "template", "id", "horizon", "by",
     "slot", "forecaster", "question", "tags", "target", "text_hash")
)  # fmt: skip
LINES = st.one_of(
    st.binary(max_size=300),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda method, params, id_: json.dumps(
            {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        ).encode(),
        st.sampled_from(METHODS) | st.text(max_size=8),
        st.dictionaries(NAMES, VALUES, max_size=4) | VALUES,
        VALUES,
    ),
)


@settings(
    deadline=None, max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(lines=st.lists(LINES, min_size=1, max_size=5), data=st.data())
def test_whatever_is_sent_each_line_is_answered_and_the_daemon_lives(
    daemon: Served, lines: list[bytes], data: st.DataObject
) -> None:
    asked = [part for line in lines for part in line.split(b"\n") if part.strip()]
    side = data.draw(st.sampled_from(("agent", "evaluator")))
    with daemon.talk(side) as talk:
        talk.send(b"\n".join(lines) + b"\n")
        for _ in asked:
            answer = talk.read()
            assert answer is not None
            assert set(answer) in (
                {"jsonrpc", "id", "result"},
                {"jsonrpc", "id", "error"},
            )
            if "error" in answer:
                assert answer["error"]["data"]["code"] != "internal-error"
        assert talk.ask("ping")


@settings(
    deadline=None, max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    data=st.data(),
    cut=st.integers(min_value=0, max_value=2_000),
    put=st.binary(max_size=6),
    is_atomic=st.booleans(),
)
def test_an_event_that_was_changed_anywhere_is_refused_or_is_the_one_it_was(
    daemon: Served, data: st.DataObject, cut: int, put: bytes, *, is_atomic: bool
) -> None:
    number = data.draw(st.integers(min_value=10_000, max_value=10_050))
    [opened, _] = daemon.shop.sealable(number)
    [event] = wire(opened)
    field = data.draw(st.sampled_from(("payload", "sig", "keyid", "line")))
    text = json.dumps({"events": [event], "atomic": is_atomic})
    if field != "line":
        holder = event if field == "payload" else event["signatures"][0]
        at = cut % (len(holder[field]) + 1)
        holder[field] = (
            holder[field][:at] + put.decode("latin1") + holder[field][at + len(put) :]
        )
        text = json.dumps({"events": [event], "atomic": is_atomic})
    raw = b'{"jsonrpc":"2.0","id":7,"method":"append","params":' + text.encode() + b"}"
    if field == "line":
        at = cut % len(raw)
        raw = (raw[:at] + put + raw[at + len(put) :]).replace(b"\n", b" ")
    with daemon.talk() as talk:
        talk.send(raw + b"\n")
        answer = talk.read()
        assert answer is not None
        if "error" in answer:
            assert answer["error"]["data"]["code"] != "internal-error"
        assert talk.ask("ping")


def test_an_agent_may_send_forecasts_and_nothing_else(daemon: Served) -> None:
    shop = daemon.shop
    [opened, sealed] = shop.sealable(3)
    with daemon.talk() as talk:
        receipt = talk.append(opened)["receipts"][0]
    forbidden = {
        "an opening": shop.signed(shop.opened(shop.question(4))),
        "an outcome": shop.signed(
            shop.resolved(
                shop.opened(shop.question(3)).question_hash, receipt["event_id"]
            )
        ),
        "a suite": shop.signed(shop.frozen()),
        "an outcome under the forecaster's key": shop.signed(
            shop.resolved("00" * 32, "00" * 32), shop.keys["forecaster"]
        ),
    }
    with daemon.talk("agent") as talk:
        for event in forbidden.values():
            assert talk.fault("append", events=wire(event)) == (FORBIDDEN, "forbidden")
        assert talk.fault("append", events=wire(sealed, opened)) == (
            FORBIDDEN,
            "forbidden",
        )
        assert "seq" in talk.append(sealed)["receipts"][0]
        for past in ({"at": 1}, {"suite": "workshop@v1", "look": 1}):
            assert talk.fault("rows", **past) == (FORBIDDEN, "forbidden")
        assert talk.ask("ping")["side"] == "agent"


def test_the_daemon_noted_no_fault_of_its_own(daemon: Served) -> None:
    assert not daemon.noted("fault")


def test_a_talk_needs_no_more_than_one_connection(daemon: Served) -> None:
    with Talk(daemon.socket()) as talk:
        assert [talk.ask(each)["ledger"] for each in ("ping", "status")] == [
            daemon.shop.ledger
        ] * 2
