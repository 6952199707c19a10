"""A signed event in its envelope: what goes in comes out, and what is unfit is refused."""

import json
from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest

from ledger import codec
from ledger.envelope import envelope, open_envelope
from ledger.errors import RefusedError
from ledger.keys.signing import EVENT_TYPE, sign_payload
from ledger.writer import Submission
from tests.court import Court, key_of

COURT = Court()
ROSTER = COURT.state.roster
SIGNER = key_of("issuer")
PAYLOAD = codec.encode(COURT.pending(COURT.question()))
SIGNED = Submission(
    payload=PAYLOAD,
    author_key=SIGNER.verifier.public,
    signature=sign_payload(PAYLOAD, SIGNER),
)
KEY_HEX = SIGNER.verifier.public.hex()


def written(**changes: Any) -> bytes:
    """Return the envelope's JSON, some of its keys changed or, by None, left out."""
    made = msgspec.to_builtins(envelope(SIGNED)) | changes
    return json.dumps(
        {key: made[key] for key in made if made[key] is not None}
    ).encode()


def signature(**changes: Any) -> list[dict[str, Any]]:
    made = {"keyid": KEY_HEX, "sig": b64encode(SIGNED.signature).decode()} | changes
    return [{key: made[key] for key in made if made[key] is not None}]


def test_an_envelope_gives_back_the_signed_event() -> None:
    assert open_envelope(written(), ROSTER) == SIGNED


def test_an_envelope_is_what_other_programs_call_one() -> None:
    made = json.loads(written())
    assert made.keys() == {"payload", "payloadType", "signatures"}
    assert b64decode(made["payload"]) == PAYLOAD
    assert made["payloadType"] == EVENT_TYPE


@pytest.mark.parametrize("keyid", [KEY_HEX, str(SIGNER.verifier), "", None])
def test_a_key_is_named_by_itself_or_by_the_payloads_author(keyid: str | None) -> None:
    opened = open_envelope(written(signatures=signature(keyid=keyid)), ROSTER)
    assert opened.author_key == SIGNER.verifier.public


def of_nobody() -> str:
    event = msgspec.structs.replace(COURT.pending(COURT.question()), author="nobody")
    return b64encode(codec.encode(event)).decode()


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "another payload type": ({"payloadType": "text/plain"}, f"write {EVENT_TYPE}"),
    "no payload": ({"payload": None}, "payload"),
    "an unknown key": ({"note": "x"}, "note"),
    "no signature": ({"signatures": []}, "0 signatures"),
    "two signatures": ({"signatures": signature() * 2}, "2 signatures"),
    "a payload that is no base64": ({"payload": "!"}, "payload is unfit"),
    "a payload without its padding": ({"payload": "QQ"}, "payload is unfit"),
    "a signature that is no base64": (
        {"signatures": signature(sig="!")},
        "sig is unfit",
    ),
    "a key id that is no key": ({"signatures": signature(keyid="k1")}, "keyid is 'k1'"),
    "a key in capitals": ({"signatures": signature(keyid=KEY_HEX.upper())}, "keyid is"),
    "nobody's key": (
        {"signatures": signature(keyid=None), "payload": of_nobody()},
        "lists no 'nobody'",
    ),
}


@pytest.mark.parametrize(("change", "says"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_envelope_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedError) as refused:
        open_envelope(written(**change), ROSTER)
    assert refused.value.code == "envelope-unfit"
    assert says in refused.value.message


def test_an_envelope_without_a_key_around_no_event_is_refused() -> None:
    text = written(payload=b64encode(b"{}").decode(), signatures=signature(keyid=None))
    with pytest.raises(RefusedError) as refused:
        open_envelope(text, ROSTER)
    assert refused.value.code == "not-canonical"
