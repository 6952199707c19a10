"""Private keys and look-alike names: given by mistake, and neither shown nor taken."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from ledger.errors import RefusedError, UsageError
from ledger.keys.roster import Principal, Role, Roster
from ledger.keys.signing import EVENT_TYPE, SignerKey, new_signer, parse_verifier
from tests.console import Console, Shown
from tests.workshop import key_of

SECRET = key_of("rival")
LINE = SECRET.line()
SEED = LINE.rpartition("+")[2]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    return Console(tmp_path_factory.mktemp("secrets")).found()


def envelope(keyid: str) -> str:
    """Return a line with a signed event whose key is said to be `keyid`."""
    signature = {"keyid": keyid, "sig": b64encode(bytes(64)).decode()}
    return json.dumps(
        {"payload": "e30=", "payloadType": EVENT_TYPE, "signatures": [signature]}
    )


def said(shown: Shown) -> str:
    return shown.stdout + shown.stderr


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["for people", "as JSON"])
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--key", LINE),
        ("verify", "--witness", LINE),
        ("keys", "add", f"forecaster:rival:{LINE}"),
        ("keys", "add", f"forecsater:rival:{LINE}"),
        ("keys", "rotate", "forecaster", "--key", LINE),
        ("init", "other", "--origin", "other", "--principal", f"forecaster:r:{LINE}"),
        ("append", "-"),
    ],
    ids=" ".join,
)
def test_a_private_key_given_for_a_public_one_is_never_shown(
    console: Console, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    run = console.run if words[0] == "init" else console.here
    shown = run(*words, *more, stdin=envelope(LINE) if words[0] == "append" else None)
    assert shown.code == 2
    assert "this is a private key; give the public one" in said(shown)
    assert SEED not in said(shown)
    assert SEED[:20] not in said(shown)


def test_a_private_key_in_a_place_of_another_kind_is_not_shown_either(
    console: Console,
) -> None:
    for words in (("verify", "--genesis", LINE), ("show", LINE)):
        shown = console.here(*words)
        assert shown.code != 0
        assert SEED[:20] not in said(shown)


@pytest.mark.parametrize(
    "text", [LINE, f"{LINE}x\n", f"{LINE}\n\n", f" {LINE}\n", f"{LINE[:-4]}\n"]
)
def test_a_damaged_key_is_not_shown(console: Console, text: str) -> None:
    file = console.home / "damaged.key"
    file.write_text(text)
    for shown in (
        console.run("keys", "show", file),
        console.run("keys", "show", "-", stdin=text),
    ):
        assert shown.code == 2
        assert SEED[:20] not in said(shown)


@pytest.mark.parametrize(
    "text",
    [LINE, LINE.removeprefix("PRIVATE+KEY+"), f" {LINE}\n", f"forecaster:x:{LINE}"],
    ids=["whole", "its marking cut off", "with white space", "inside another text"],
)
def test_no_message_about_a_verifier_key_shows_a_seed(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_verifier(text)
    assert SEED not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "res\u043elver",  # with a Cyrillic letter
        "\u202erevlover",
        "forecaster\u200b",
        "fore\x1b[2Jcaster",
        "a b",
        "a+b",
        "\u00e9va",
        "",
        "a" * 129,
    ],
)
def test_a_name_that_could_pass_for_another_names_no_key(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a key") as caught:
        new_signer(name, bytes(32))
    assert str(caught.value).isascii()
    with pytest.raises(UsageError):
        parse_verifier(str(SignerKey(name=name, seed=bytes(32)).verifier))


@pytest.mark.parametrize("name", ["!", "~", "ledger.example/piper", "a" * 128])
def test_printable_ascii_names_a_key(name: str) -> None:
    signer = new_signer(name, bytes(32))
    assert parse_verifier(str(signer.verifier)) == signer.verifier


def principal(key: SignerKey, role: Role) -> Principal:
    return Principal(key=str(key.verifier), name=key.name, role=role)


@pytest.mark.parametrize("is_present", [True, False])
def test_no_log_key_is_a_key_that_a_principal_has_or_had(*, is_present: bool) -> None:
    roster = Roster()
    root, rival = principal(key_of("root"), "root"), principal(SECRET, "forecaster")
    log_key = str(key_of("example.org/log").verifier)
    roster.adopt((root, rival), (log_key,))
    if not is_present:
        roster.adopt((root,), (log_key,))
    same = new_signer("example.org/log", sha256(b"rival").digest())
    with pytest.raises(RefusedError) as caught:
        roster.adopt((root,), (log_key, str(same.verifier)))
    assert caught.value.code == "charter-unfit"
    assert "rival" in caught.value.message


def test_the_other_command_left_nothing_behind(console: Console) -> None:
    assert not Path("other").exists()
    assert console.here("verify").code == 0
