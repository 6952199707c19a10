"""The hook's short ways make the same bytes as the ledger's long ones."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import codec
from ledger.canonical import encode
from ledger.clock import instant_text
from ledger.daemon import hook_wire, protocol
from ledger.daemon.hook_forecast import forecast_fields, instant, vector
from ledger.daemon.hook_signing import EVENT_TYPE as HOOK_EVENT_TYPE
from ledger.daemon.hook_signing import Signer, read_signer, sha256_hex
from ledger.daemon.hook_text import DeniedError, TroubleError, canonical, read_json
from ledger.draft_vector import vector as drafted
from ledger.errors import RefusedError
from ledger.events import ForecastSealed, ForecastUpdated
from ledger.ids import sha256_hex as ids_sha256_hex
from ledger.keys.keyfile import write_key
from ledger.keys.signing import EVENT_TYPE, payload_verifies, sign_payload
from tests.workshop import key_of

ANSWERS = ("pass", "fail")
MADE_AT = "2026-11-30T03:00:00.000001Z"
HASH = "a" * 64

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(st.text("azAZ09_."), inner),
)


@given(values)
def test_canonical_json_is_the_ledger_s(value: Any) -> None:
    assert canonical(value) == encode(value)


@given(values)
def test_json_is_read_as_python_reads_it(value: Any) -> None:
    assert read_json(json.dumps(value, indent=1)) == value
    assert read_json(json.dumps(value).encode()) == value


def test_numbers_with_a_point_stay_the_texts_that_they_were() -> None:
    assert read_json("[0.10, 1e-7, -2.5, 3]") == ["0.10", "1e-7", "-2.5", 3]


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"a"}', "[1] 2", "NaN", "[Infinity]", "nul", "'a'", b"\xff",
     "1" * 5_000, "[" * 100_000, '{"a": 1, "a": 1}', '[{"a": {"b": 1, "b": 2}}]'],
    ids=repr,
)  # fmt: skip
def test_what_is_no_json_is_refused(text: bytes | str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read_json(text)


def test_a_text_that_utf_8_cannot_spell_is_trouble() -> None:
    with pytest.raises(TroubleError, match="UTF-8"):
        canonical({"a": "\ud800"})


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1)))  # noqa: DTZ001
def test_an_instant_is_spelled_as_the_ledger_spells_it(naive: datetime) -> None:
    at = naive.replace(tzinfo=UTC)
    micros = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert instant(micros * 1_000 + 999) == instant_text(at)


millionths = st.integers(0, 1_000_000)


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=6).filter(sum))
def test_a_vector_is_rounded_as_drafts_are(shares: list[int]) -> None:
    answers = tuple(f"a{number}" for number in range(len(shares)))
    given_floats = dict(
        zip(answers, (share / sum(shares) for share in shares), strict=True)
    )
    stated = {name: repr(value) for name, value in given_floats.items()}
    assert vector(stated, answers, answers[0]) == drafted(given_floats, answers)


@given(millionths)
def test_one_probability_is_enough_of_two_answers(count: int) -> None:
    stated = f"{count}e-6"
    made = vector(stated, ANSWERS, "pass")
    assert made == vector({"fail": f"{1_000_000 - count}e-6"}, ANSWERS, "pass")
    assert made == drafted({"pass": count / 10**6, "fail": 1 - count / 10**6}, ANSWERS)


REFUSED: dict[str, tuple[object, str]] = {
    "more than 1": ("1.1", "from 0 to 1"),
    "less than 0": ("-0.1", "from 0 to 1"),
    "a text": ("likely", "write a number"),
    "a truth": (True, "write a number"),
    "nothing": (None, "write a number"),
    "a list": (["0.5"], "write a number"),
    "an endless number": ("0." + "1" * 70, "write a number"),
    "a power beyond reason": ("1e999999999", "write a number"),
    "a sum other than 1": ({"pass": "0.5", "fail": "0.4"}, "sum to 0.9, not to 1"),
    "an answer that there is not": ({"maybe": "0.5"}, "no answer"),
    "no answer at all": ({}, "no probability"),
}


@pytest.mark.parametrize(("stated", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_vector_is_refused(stated: object, why: str) -> None:
    with pytest.raises(DeniedError, match=why):
        vector(stated, ANSWERS, "pass")


def test_an_answer_without_a_probability_is_named() -> None:
    with pytest.raises(DeniedError, match="gives c no probability"):
        vector({"a": "0.5", "b": "0.5"}, ("a", "b", "c"), "a")


def sealed(fields: dict[str, object]) -> bytes:
    return canonical(
        {
            **fields,
            "type": "ForecastSealed",
            "author": "forecaster",
            "created_at": MADE_AT,
            "ledger": HASH,
            "suite": "workshop@v1",
            "suite_hash": HASH,
            "question_hash": HASH,
            "forecaster": "native",
        }
    )


STATED: dict[str, object] = {
    "a number": "0.8",
    "p": {"p": "0.8"},
    "probabilities": {"probabilities": {"pass": "0.80", "fail": "0.20"}},
    "all that may be said": {
        "p": 1,
        "adaptation_budget": "none",
        "code_revision": "abc",
        "evidence": {
            "cutoff_at": "now", "tiers": ["L0"], "features": {"files": "3"},
            "manifest_hash": "",
        },
        "extensions": {"trace": {"trigger_id": "toolu_1"}},
        "failure_modes": ["a test is flaky"],
        "model_version": "native-é",
        "quantities": {
            "cost_usd": "0.420", "minutes": {"point": 30, "quantiles": {"0.5": "2e1"}},
            "tokens": {"samples": [1, "2.50", "-0.0"]},
        },
        "reason_codes": ["small-diff"],
        "reference_class": "bug fixes",
    },
    "nothing that is empty": {"p": 0, "reason_codes": [], "evidence": {}, "quantities": {}},
    "a commitment": {"commitment": HASH},
}  # fmt: skip


@pytest.mark.parametrize("stated", STATED.values(), ids=STATED)
def test_the_door_takes_the_bytes_of_a_forecast(stated: object) -> None:
    payload = sealed(forecast_fields(stated, ANSWERS, "pass", MADE_AT))
    event = codec.decode(payload)
    assert isinstance(event, ForecastSealed)
    assert codec.encode(event) == payload


@given(
    st.fixed_dictionaries(
        {"p": millionths.map(lambda count: f"{count}e-6")},
        optional={
            "reason_codes": st.lists(texts.filter(bool), max_size=3),
            "model_version": texts.filter(bool),
            "extensions": st.dictionaries(
                st.from_regex(r"\A[a-z_]{1,9}\Z"),
                st.dictionaries(st.from_regex(r"\A[a-z_]{1,9}\Z"), texts),
                max_size=2,
            ),
            "quantities": st.dictionaries(
                st.from_regex(r"\A[a-z_]{1,9}\Z"),
                st.decimals(-(10**9), 10**9, places=6).map(str),
                max_size=2,
            ),
        },
    )
)
def test_any_forecast_of_the_hook_is_one_of_the_codec(stated: dict[str, Any]) -> None:
    payload = sealed(forecast_fields(stated, ANSWERS, "pass", MADE_AT))
    assert codec.encode(codec.decode(payload)) == payload


def test_an_update_is_one_of_the_codec() -> None:
    fields = forecast_fields("0.65", ANSWERS, "pass", MADE_AT)
    payload = sealed({**fields}).replace(b"ForecastSealed", b"ForecastUpdated")
    payload = payload.replace(
        b'"probabilities"', b'"parent":"%s","probabilities"' % HASH.encode()
    )
    assert isinstance(codec.decode(payload), ForecastUpdated)


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"p": "0.5", "probability": "0.5"}, "says 'probability'"),
        ({"reason_codes": ["x"]}, "write a number"),
        ({"p": "0.5", "quantities": {"cost": "much"}}, "quantities.cost.point"),
        ({"p": "0.5", "quantities": {"cost": {"samples": ["x"]}}}, "cost.samples"),
    ],
)
def test_an_unfit_forecast_is_refused_by_name(stated: object, why: str) -> None:
    with pytest.raises(DeniedError, match=why):
        forecast_fields(stated, ANSWERS, "pass", MADE_AT)


def test_what_is_odd_beyond_spelling_is_left_to_the_door() -> None:
    fields = forecast_fields(
        {"p": "0.5", "reason_codes": "x"}, ANSWERS, "pass", MADE_AT
    )
    with pytest.raises(RefusedError, match="not-canonical"):
        codec.decode(sealed(fields))


@given(st.binary(max_size=300).filter(lambda content: b"PRIVATE+KEY+" not in content))
def test_hashes_and_signatures_are_the_ledger_s(content: bytes) -> None:
    signer = key_of("forecaster")
    made: Any = Signer(signer.name, signer.seed).envelope(content)
    assert sha256_hex(content) == ids_sha256_hex(content)
    public = signer.verifier.public
    from base64 import b64decode

    [signature] = made["signatures"]
    assert b64decode(made["payload"]) == content
    assert bytes.fromhex(signature["keyid"]) == public
    assert b64decode(signature["sig"]) == sign_payload(content, signer)
    assert payload_verifies(content, b64decode(signature["sig"]), public)


def test_what_both_sides_say_is_the_same() -> None:
    assert HOOK_EVENT_TYPE == EVENT_TYPE
    assert hook_wire.BUSY == protocol.BUSY
    assert hook_wire.REFUSED == protocol.REFUSED


def test_a_key_file_is_read_as_the_ledger_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "forecaster.key"
    write_key(path, key_of("forecaster"))
    found = read_signer(str(path))
    assert (found.name, found.public) == (
        "forecaster", key_of("forecaster").verifier.public,
    )  # fmt: skip


UNFIT_KEYS = {
    "none": (None, 0o600, "cannot be read"),
    "open to others": ("", 0o640, "mode 0640"),
    "empty": ("\n", 0o600, "no key file"),
    "without its end": (lambda line: line[:-1], 0o600, "no key file"),
    "of two parts": ("PRIVATE+KEY+a+b\n", 0o600, "no key file"),
    "no base64": ("PRIVATE+KEY+a+01020304+é\n", 0o600, "no key file"),
    "too short": ("PRIVATE+KEY+a+01020304+AAAA\n", 0o600, "no key file|damaged"),
    "under another name": (
        lambda line: line.replace("forecaster", "stranger"), 0o600, "damaged"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "mode", "why"), UNFIT_KEYS.values(), ids=UNFIT_KEYS)
def test_an_unfit_key_file_is_refused(
    tmp_path: Path, change: Any, mode: int, why: str
) -> None:
    path = tmp_path / "forecaster.key"
    if change is not None:
        line = key_of("forecaster").line() + "\n"
        path.write_text(change(line) if callable(change) else change or line)
        path.chmod(mode)
    with pytest.raises(TroubleError, match=why) as refused:
        read_signer(str(path))
    assert key_of("forecaster").line()[-20:] not in str(refused.value)
