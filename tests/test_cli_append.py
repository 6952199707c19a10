"""`ledger append`: every line is answered, once, and no sooner than it is true."""

import io
import json
import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.canonical import encode
from ledger.cli.lines import GROUP_LINES_MAX, LINE_BYTES_MAX, Line, groups
from ledger.ids import sha256_hex
from ledger.keys.keyfile import read_key
from ledger.keys.signing import EVENT_TYPE, SignerKey, sign_payload
from tests.console import CAST, EXAMPLES, Console
from tests.court import BAR

QUESTION = {
    "template": "dispatch-pass",
    "id": "d-1",
    "opened_at": "now",
    "cutoff_at": "+2h",
    "resolve_by": "+24h",
    "horizon": "24h",
    "acceptance_hash": BAR,
}
OPEN = {
    "type": "ResolutionRecorded",
    "author": "issuer",
    "suite": "piper-self@v1",
    "status": "PENDING",
    "question": QUESTION,
}
SEAL = {
    "type": "ForecastSealed",
    "author": "forecaster",
    "suite": "piper-self@v1",
    "forecaster": "native",
    "template": "dispatch-pass",
    "id": "d-1",
    "horizon": "24h",
    "probabilities": {"pass": 0.8, "fail": 0.2},
}


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found().frozen()


def entries(console: Console) -> list[Any]:
    return console.here("log", "--json").objects


def opening(number: int) -> dict[str, Any]:
    return {**OPEN, "question": {**QUESTION, "id": f"d-{number}"}}


# --- Drafts ---------------------------------------------------------------------------


def test_each_draft_is_answered_by_a_receipt(console: Console) -> None:
    shown = console.append(OPEN, SEAL)
    assert shown.code == 0
    assert [list(each) for each in shown.objects] == [
        ["line", "seq", "event_id", "received_at"]
    ] * 2
    assert [(each["line"], each["seq"]) for each in shown.objects] == [(1, 2), (2, 3)]
    in_log = {
        (each["seq"], each["event_id"], each["received_at"])
        for each in entries(console)
    }
    answered = {
        (each["seq"], each["event_id"], each["received_at"]) for each in shown.objects
    }
    assert answered <= in_log


def test_a_refused_line_is_answered_and_the_others_are_appended(
    console: Console,
) -> None:
    shown = console.append(OPEN, {**SEAL, "forecaster": "nobody"}, SEAL)
    assert shown.code == 2
    first, second, third = shown.objects
    assert (first["seq"], third["seq"]) == (2, 3)
    assert list(second) == ["line", "error"]
    assert list(second["error"]) == ["code", "message"]
    assert second["error"]["code"] == "unknown-competitor"


def test_people_are_told_by_the_line_too(console: Console) -> None:
    lines = f"{json.dumps(OPEN)}\nnonsense\n"
    shown = console.here("append", "-", stdin=lines)
    assert shown.code == 2
    first, second = shown.stdout.splitlines()
    assert first.startswith("line 1: entry 2, ")
    assert second.startswith("line 2: refused: not-json: ")
    assert shown.stderr == "1 appended, 1 refused.\n"


def test_lines_are_numbered_as_they_stand_blank_ones_included(console: Console) -> None:
    text = f"\n  \n{json.dumps(OPEN)}\n\n{json.dumps(SEAL)}"
    shown = console.here("append", "--json", stdin=text)
    assert [each["line"] for each in shown.objects] == [3, 5]


def test_an_empty_input_appends_nothing(console: Console) -> None:
    shown = console.here("append", "-", "--json", stdin="\n\n")
    assert (shown.code, shown.stdout) == (0, "")


# The line, the code of its refusal, and a part of the sentence.
REFUSED_LINES: dict[str, tuple[bytes, str, str]] = {
    "broken JSON": (b'{"type":', "not-json", "at character 9"),
    "no UTF-8": (b'{"type":"\xff"}', "not-json", "byte 10 is no UTF-8"),
    "a list": (b"[]", "draft-unfit", "a draft is one JSON object"),
    "a text": (b'"seal"', "draft-unfit", "a draft is one JSON object"),
    "a number": (b"3", "draft-unfit", "a draft is one JSON object"),
    "a key that stands twice": (b'{"a":1,"a":2}', "not-json", "'a' stands twice"),
    "a key that stands twice inside": (
        b'{"probabilities":{"pass":0.8,"pass":0.2}}',
        "not-json",
        "'pass' stands twice",
    ),
    "no number": (b'{"a":NaN}', "not-json", "NaN is no number"),
    "an endless exponent": (b'{"a":1e-99999999999999999999}', "not-json", "too many"),
    "an endless integer": (b'{"a":' + b"9" * 5000 + b"}", "not-json", "too many"),
    "a depth without end": (b"[" * 100_000, "not-json", "too deeply"),
    "more than a line can hold": (
        b'{"note":"' + b"x" * LINE_BYTES_MAX + b'"}',
        "too-large",
        "longer than",
    ),
    "no type": (b"{}", "draft-unfit", "type is missing"),
    "a file that is not there": (
        b'{"type":"SuiteFrozen","author":"evaluator","file":"none.toml"}',
        "file-missing",
        "none.toml",
    ),
    "an author whom the charter does not list": (
        json.dumps({**OPEN, "author": "dispatcher"}).encode(),
        "unknown-author",
        "it lists evaluator",
    ),
    "a byte order mark before a draft": (
        b"\xef\xbb\xbf" + json.dumps(OPEN).encode(),
        "not-json",
        "save it as UTF-8 without one",
    ),
    "a byte order mark before an envelope": (
        b'\xef\xbb\xbf{"payloadType":1}',
        "not-json",
        "byte order mark",
    ),
    "an envelope of nothing": (b'{"payloadType":1}', "envelope-unfit", "payloadType"),
}


@pytest.mark.parametrize(
    ("line", "code", "says"), REFUSED_LINES.values(), ids=REFUSED_LINES
)
def test_an_unfit_line_is_refused_alone(
    console: Console, line: bytes, code: str, says: str
) -> None:
    text = line + b"\n" + json.dumps(OPEN).encode() + b"\n"
    shown = console.here("append", "-", "--json", stdin=text)
    assert shown.code == 2
    refused, appended = shown.objects
    assert (refused["line"], refused["error"]["code"]) == (1, code)
    assert says in refused["error"]["message"]
    assert (appended["line"], appended["seq"]) == (2, 2)


def test_a_suite_is_frozen_from_a_file_beside_the_drafts(console: Console) -> None:
    text = console.must("suite", "new", "other", "--track", "world").stdout
    (console.home / "suites").mkdir()
    (console.home / "suites" / "other.toml").write_text(text)
    draft = {"type": "SuiteFrozen", "author": "evaluator", "file": "suites/other.toml"}
    file = console.home / "drafts.jsonl"
    file.write_text(json.dumps(draft))
    assert console.here("append", file, "--json").object["seq"] == 2


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not beside this")
def test_the_example_drafts_are_appended_as_they_are(tmp_path: Path) -> None:
    console = Console(tmp_path).found(*CAST)
    shown = console.here("append", EXAMPLES / "drafts.jsonl", "--json")
    assert shown.code == 0, shown.stdout
    assert [each["seq"] for each in shown.objects] == [1, 2, 3, 4, 5]
    charter, suite, opened, sealed, updated, resolved = entries(console)
    assert charter["payload"]["suite"] == "charter@v1"
    assert suite["payload"]["manifest"]["suite"] == "piper-self@v1"
    assert opened["payload"]["question"]["target"] == "repo-a"
    assert sealed["payload"]["probabilities"] == {"pass": "0.8", "fail": "0.2"}
    assert updated["payload"]["parent"] == sealed["event_id"]
    assert resolved["payload"]["supersedes"] == opened["event_id"]
    assert [each["author"] for each in entries(console)] == [
        "root", "evaluator", "dispatcher", "piper", "piper", "harness",
    ]  # fmt: skip


# --- All or none ----------------------------------------------------------------------


def test_an_atomic_batch_with_a_refused_line_appends_nothing(console: Console) -> None:
    before = entries(console)
    shown = console.append(OPEN, {**SEAL, "forecaster": "nobody"}, more=("--atomic",))
    assert shown.code == 2
    assert [each["error"]["code"] for each in shown.objects] == [
        "batch-refused",
        "unknown-competitor",
    ]
    assert "line 2 was refused" in shown.objects[0]["error"]["message"]
    assert entries(console) == before
    assert console.append(OPEN, SEAL, more=("--atomic",)).code == 0


def test_an_atomic_batch_may_be_longer_than_a_commit(console: Console) -> None:
    drafts = [opening(number) for number in range(GROUP_LINES_MAX + 1)]
    shown = console.append(*drafts, more=("--atomic",))
    assert [each["seq"] for each in shown.objects] == list(range(2, len(drafts) + 2))


def test_a_refused_atomic_batch_keeps_no_pinned_file(console: Console) -> None:
    (console.home / "bar.sh").write_bytes(b"exit 0\n")
    text = console.must("suite", "new", "other", "--track", "world").stdout
    digest = sha256_hex(b"exit 0\n")
    (console.home / "other.toml").write_text(f'{text}\n[pins]\n"bar.sh" = "{digest}"\n')
    file = console.home / "drafts.jsonl"
    draft = {"type": "SuiteFrozen", "author": "evaluator", "file": "other.toml"}
    file.write_text(json.dumps(draft) + "\nnonsense\n")
    assert console.here("append", file, "--atomic").code == 2
    assert not (console.ledger / "blobs" / digest).exists()
    assert console.here("append", file).code == 2
    assert (console.ledger / "blobs" / digest).exists()


# --- Signed events --------------------------------------------------------------------


def enveloped(payload: bytes, signer: SignerKey, **changes: Any) -> dict[str, Any]:
    signature = {
        "keyid": signer.verifier.public.hex(),
        "sig": b64encode(sign_payload(payload, signer)).decode(),
    }
    return {
        "payload": b64encode(payload).decode(),
        "payloadType": EVENT_TYPE,
        "signatures": [{**signature, **changes}],
    }


def payload_of(console: Console, seq: int) -> bytes:
    shown = console.here("show", seq, "--raw")
    return shown.stdout.encode()


def test_a_signed_event_is_appended_and_may_come_twice(console: Console) -> None:
    console.append(OPEN)
    issuer = read_key(console.ledger / "keys" / "issuer.key")
    again = enveloped(payload_of(console, 2), issuer)
    other = json.loads(payload_of(console, 2))
    other["note"] = "said once more"
    other["supersedes"] = entries(console)[2]["event_id"]
    fresh = enveloped(encode(other), issuer)
    shown = console.append(again, fresh, fresh)
    assert [each["seq"] for each in shown.objects] == [2, 3, 3]
    assert len(entries(console)) == 4


@pytest.mark.parametrize("named", ["hexadecimal", "verifier key", "not at all"])
def test_the_key_of_a_signed_event_is_named_in_several_ways(
    console: Console, named: str
) -> None:
    console.append(OPEN)
    issuer = read_key(console.ledger / "keys" / "issuer.key")
    keyid = {
        "hexadecimal": issuer.verifier.public.hex(),
        "verifier key": str(issuer.verifier),
        "not at all": "",
    }[named]
    line = enveloped(payload_of(console, 2), issuer, keyid=keyid)
    assert console.append(line).object["seq"] == 2


def test_a_signed_event_needs_no_private_key_here(console: Console) -> None:
    console.append(OPEN)
    issuer = read_key(console.ledger / "keys" / "issuer.key")
    other = {**json.loads(payload_of(console, 2)), "note": "from afar"}
    other["supersedes"] = entries(console)[2]["event_id"]
    line = enveloped(encode(other), issuer)
    empty = console.home / "no-keys"
    empty.mkdir()
    assert console.append(line, more=("--keys", str(empty))).code == 0


def test_a_signature_by_another_key_is_refused(console: Console) -> None:
    console.append(OPEN)
    other = read_key(console.ledger / "keys" / "resolver.key")
    payload = {**json.loads(payload_of(console, 2)), "note": "forged"}
    line = enveloped(encode(payload), other)
    assert console.append(line).object["error"]["code"] == "bad-signature"


def test_among_thousands_of_signed_events_a_forged_one_is_refused(
    console: Console,
) -> None:
    console.append(OPEN)
    issuer = read_key(console.ledger / "keys" / "issuer.key")
    good = enveloped(payload_of(console, 2), issuer)
    forged = enveloped(
        payload_of(console, 2), issuer, sig=b64encode(bytes(64)).decode()
    )
    shown = console.append(*[good] * 2_500, forged, *[good] * 500)
    refused = [each["line"] for each in shown.objects if "error" in each]
    assert refused == [2_501]
    assert {each.get("seq", 2) for each in shown.objects} == {2}
    assert len(entries(console)) == 3


def test_an_event_that_is_not_spelled_canonically_is_refused(console: Console) -> None:
    console.append(OPEN)
    issuer = read_key(console.ledger / "keys" / "issuer.key")
    spaced = json.dumps(json.loads(payload_of(console, 2))).encode()
    shown = console.append(enveloped(spaced, issuer))
    assert shown.object["error"]["code"] == "not-canonical"


# --- Lines as they come ---------------------------------------------------------------


def taken(content: bytes) -> list[list[Line]]:
    return list(groups(io.BytesIO(content)))


def test_lines_come_in_groups_of_a_thousand_at_most() -> None:
    sizes = [len(group) for group in taken(b"x\n" * (2 * GROUP_LINES_MAX + 1))]
    assert sizes == [GROUP_LINES_MAX, GROUP_LINES_MAX, 1]
    assert [len(group) for group in taken(b"x\n" * GROUP_LINES_MAX)] == [
        GROUP_LINES_MAX
    ]


def test_the_last_line_needs_no_newline() -> None:
    assert taken(b"a\nb") == taken(b"a\nb\n") == [[Line(1, b"a"), Line(2, b"b")]]


@pytest.mark.parametrize(
    ("length", "is_kept"), [(LINE_BYTES_MAX, True), (LINE_BYTES_MAX + 1, False)]
)
def test_a_line_is_kept_up_to_its_limit(length: int, *, is_kept: bool) -> None:
    [group] = taken(b"x" * length + b"\ny\n")
    assert [line.content is not None for line in group] == [is_kept, True]
    assert [line.number for line in group] == [1, 2]


def test_a_line_without_end_is_passed_over_in_little_memory() -> None:
    class Endless(io.BytesIO):
        left = 64

        def read1(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            return b"x" * (size or 0) if self.left > 0 else b"\ny\n" * (self.left == 0)

    [group] = list(groups(Endless()))
    assert group == [Line(1, None), Line(2, b"y")]


def test_an_input_that_pauses_is_answered_before_it_goes_on() -> None:
    reader, writer = os.pipe()
    answered = threading.Event()

    def type_slowly() -> None:
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(b"first\n")
            pipe.flush()
            assert answered.wait(30)
            pipe.write(b"second\n")

    typist = threading.Thread(target=type_slowly)
    typist.start()
    with os.fdopen(reader, "rb") as source:
        found: Iterator[list[Line]] = groups(source)
        assert next(found) == [Line(1, b"first")]
        answered.set()
        assert next(found) == [Line(2, b"second")]
    typist.join()
