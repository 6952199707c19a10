"""Founding a ledger and holding its keys: `ledger init` and `ledger keys`."""

import stat
from pathlib import Path
from typing import Any

import pytest

from ledger.checkpoint import open_checkpoint
from ledger.keys.keyfile import read_key
from ledger.keys.signing import parse_verifier
from tests.console import CAST, Console
from tests.court import key_of

ORIGIN = "example.org/test"
ROLES = ["root", "evaluator", "issuer", "resolver", "forecaster"]


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def founded(console: Console, *options: str) -> Any:
    return console.must(
        "init", console.ledger, "--origin", ORIGIN, "--json", *options
    ).object


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def vkey(name: str) -> str:
    return str(key_of(name).verifier)


def separate() -> list[str]:
    roles = {
        "evaluator": "eve",
        "issuer": "ivy",
        "resolver": "rex",
        "forecaster": "fay",
    }
    given = [f"{role}:{name}:{vkey(name)}" for role, name in roles.items()]
    return [word for each in given for word in ("--principal", each)]


def test_a_ledger_is_founded_with_a_key_for_each_role(console: Console) -> None:
    told = founded(console)
    assert [each["role"] for each in told["principals"]] == ROLES
    for each in told["principals"]:
        path = console.ledger / "keys" / f"{each['name']}.key"
        assert each["file"] == str(path)
        assert str(read_key(path).verifier) == each["key"]
        assert mode(path) == 0o600
    assert mode(console.ledger) == 0o700
    assert mode(console.ledger / "keys") == 0o700
    assert mode(console.ledger / "log.key") == 0o600


def test_what_is_printed_is_enough_to_check_the_log(console: Console) -> None:
    told = founded(console)
    key = parse_verifier(told["log_key"])
    checkpoint = open_checkpoint(told["checkpoint"], [key], ORIGIN)
    assert (checkpoint.size, key.name) == (1, ORIGIN)
    entry = console.here("show", "0", "--json").object
    assert entry["event_id"] == told["ledger"]
    assert str(read_key(console.ledger / "log.key").verifier) == told["log_key"]


def test_people_are_told_the_same_as_programs(console: Console) -> None:
    shown = console.must("init", console.ledger, "--origin", ORIGIN)
    told = console.here("status", "--json").object
    assert told["ledger"] in shown.stdout
    assert told["root"] in shown.stdout
    assert str(read_key(console.ledger / "log.key").verifier) in shown.stdout


def test_shared_custody_is_said_plainly(console: Console) -> None:
    shown = console.must("init", console.ledger, "--origin", ORIGIN)
    assert "Custody is shared" in shown.stderr
    assert "forecast, open questions and judge them" in shown.stderr
    assert console.here("status", "--json").object["custody"] == "shared"


def test_a_principal_without_a_key_gets_one_under_its_name(console: Console) -> None:
    people = [word for each in CAST for word in ("--principal", each)]
    told = founded(console, *people)
    names = {each["role"]: each["name"] for each in told["principals"]}
    assert names["issuer"] == "dispatcher"
    assert (console.ledger / "keys" / "piper.key").is_file()
    assert not (console.ledger / "keys" / "forecaster.key").exists()


def test_custody_is_separate_once_everybody_brings_a_key(console: Console) -> None:
    shown = console.must(
        "init", console.ledger, "--origin", ORIGIN, "--json", *separate()
    )
    assert shown.object["custody"] == "separate"
    assert shown.stderr == ""
    files = [path.name for path in (console.ledger / "keys").iterdir()]
    assert files == ["root.key"]


@pytest.mark.parametrize("missing", range(0, 8, 2))
def test_custody_is_shared_while_one_more_role_is_held_here(
    console: Console, missing: int
) -> None:
    people = separate()
    del people[missing : missing + 2]
    assert founded(console, *people)["custody"] == "shared"


def test_keys_that_were_all_made_here_may_be_called_shared(console: Console) -> None:
    told = founded(console, *separate(), "--custody", "shared")
    assert told["custody"] == "shared"


def test_a_root_may_sign_with_a_key_that_stays_where_it_is(console: Console) -> None:
    console.must("keys", "new", "offline", "--out", console.home / "vault")
    vault = console.home / "vault" / "offline.key"
    told = founded(console, "--root-key", str(vault), *separate())
    root = told["principals"][0]
    assert (root["name"], root["file"]) == ("offline", None)
    assert not list((console.ledger / "keys").iterdir())
    assert console.here("log", "--json").object["author"] == "offline"


def test_several_principals_may_have_one_role(console: Console) -> None:
    told = founded(
        console, "--principal", "forecaster:ann", "--principal", "forecaster:ben"
    )
    forecasters = [
        each["name"] for each in told["principals"] if each["role"] == "forecaster"
    ]
    assert forecasters == ["ann", "ben"]


REFUSED = {
    "an origin with a space": (["--origin", "my log"], "my log"),
    "an unknown role": (["--principal", "judge:eve"], "the roles are root"),
    "a misspelt role": (["--principal", "forcaster:eve"], "did you mean forecaster?"),
    "a role without a name": (["--principal", "issuer"], "as in issuer:issuer"),
    "an empty name": (["--principal", "issuer:"], "ROLE:NAME"),
    "a key under another name": (
        ["--principal", f"issuer:eve:{vkey('ivy')}"],
        "the key of eve is named ivy",
    ),
    "a key that is none": (["--principal", "issuer:eve:abc"], "abc"),
    "a name that no file can have": (["--principal", "issuer:../eve"], "../eve"),
    "a root whose key is elsewhere": (
        ["--principal", f"root:rob:{vkey('rob')}"],
        "--root-key FILE",
    ),
    "a root key that is not there": (["--root-key", "nowhere.key"], "nowhere.key"),
    "one key for two": (
        [*separate()[:2], "--principal", f"resolver:eve:{vkey('eve')}"],
        "eve",
    ),
    "a custody that is not true": (["--custody", "separate"], "is not separate while"),
    "an unknown custody": (["--custody", "mine"], "write shared or separate"),
}


@pytest.mark.parametrize(("options", "says"), REFUSED.values(), ids=REFUSED)
def test_a_founding_that_fails_leaves_nothing_behind(
    console: Console, options: list[str], says: str
) -> None:
    deep = console.home / "some" / "where"
    origin = [] if "--origin" in options else ["--origin", ORIGIN]
    shown = console.run("init", deep, *origin, *options)
    assert shown.code == 2
    assert says in shown.stderr
    assert list(console.home.iterdir()) == []


def test_a_founding_that_fails_in_an_empty_folder_leaves_it_empty(
    console: Console,
) -> None:
    console.ledger.mkdir()
    clash = ["--principal", "issuer:eve", "--principal", "resolver:eve"]
    shown = console.run("init", console.ledger, "--origin", ORIGIN, *clash)
    assert shown.code == 2
    assert list(console.ledger.iterdir()) == []


def test_a_ledger_is_founded_in_an_empty_folder(console: Console) -> None:
    console.ledger.mkdir(mode=0o755)
    founded(console)
    assert mode(console.ledger) == 0o700


def test_a_ledger_is_never_founded_over_another(console: Console) -> None:
    told = founded(console)
    shown = console.run("init", console.ledger, "--origin", ORIGIN)
    assert shown.code == 2
    assert "holds a ledger already" in shown.stderr
    assert console.here("status", "--json").object["ledger"] == told["ledger"]


def test_a_folder_with_something_in_it_is_left_alone(console: Console) -> None:
    console.ledger.mkdir()
    (console.ledger / "notes.txt").write_text("mine")
    shown = console.run("init", console.ledger, "--origin", ORIGIN)
    assert "is not empty" in shown.stderr
    assert [path.name for path in console.ledger.iterdir()] == ["notes.txt"]


def test_a_file_in_the_place_of_a_ledger_is_called_a_file(console: Console) -> None:
    console.ledger.write_text("mine")
    shown = console.run("init", console.ledger, "--origin", ORIGIN)
    assert shown.code == 2
    assert "is a file, and a ledger is a folder" in shown.stderr
    assert console.ledger.read_text() == "mine"


# --- Keys -----------------------------------------------------------------------------


def test_a_new_key_is_shown_as_its_file_says(console: Console) -> None:
    made = console.must("keys", "new", "piper", "--out", console.home / "k")
    file = console.home / "k" / "piper.key"
    assert mode(file) == 0o600
    assert console.must("keys", "show", file).stdout == made.stdout
    told = console.must("keys", "show", file, "--json").object
    assert told["key"] == made.stdout.strip()
    key = parse_verifier(told["key"])
    assert (told["name"], told["public"]) == ("piper", key.public.hex())
    assert "PRIVATE" not in made.stdout


def test_a_new_key_goes_where_the_ledgers_keys_are(console: Console) -> None:
    console.found()
    assert console.here("keys", "new", "second").code == 0
    assert (console.ledger / "keys" / "second.key").is_file()


def test_a_key_is_never_overwritten(console: Console) -> None:
    words = ("keys", "new", "piper", "--out", console.home)
    first = console.must(*words)
    assert console.run(*words).code == 2
    assert (
        console.must("keys", "show", console.home / "piper.key").stdout == first.stdout
    )


@pytest.mark.parametrize("name", ["a b", "a+b", "a/b", ".hidden", ""])
def test_a_name_that_no_key_can_have_is_refused(console: Console, name: str) -> None:
    shown = console.run("keys", "new", name, "--out", console.home / "k")
    assert shown.code == 2
    assert not (console.home / "k").exists()


def test_a_key_that_others_can_read_is_refused(console: Console) -> None:
    console.must("keys", "new", "piper", "--out", console.home)
    file = console.home / "piper.key"
    file.chmod(0o640)
    shown = console.run("keys", "show", file)
    assert shown.code == 2
    assert f"chmod 600 {file}" in shown.stderr
    # Also where it is more than a key: a secret is exposed before it is misspelt.
    file.write_text(file.read_text() * 2)
    assert f"chmod 600 {file}" in console.run("keys", "show", file).stderr


def test_a_file_among_the_keys_that_is_none_is_to_be_moved(console: Console) -> None:
    founded(console)
    (console.ledger / "keys" / "notes.key").touch()
    shown = console.here("keys", "list")
    assert shown.code == 2
    assert "notes.key holds no private key: move it out of this folder" in shown.stderr


def test_a_key_is_shown_from_stdin_as_from_its_file(console: Console) -> None:
    made = console.must("keys", "new", "piper", "--out", console.home)
    line = (console.home / "piper.key").read_text()
    for said in (line, line.replace("\n", "\r\n")):
        assert console.must("keys", "show", "-", stdin=said).stdout == made.stdout
    told = console.must("keys", "show", "-", "--json", stdin=line).object
    assert (told["name"], told["file"]) == ("piper", "-")


@pytest.mark.parametrize("content", ["", "secret words\n", "secret\nwords\n"])
def test_a_file_that_is_no_key_is_called_so_and_not_shown(
    console: Console, content: str
) -> None:
    file = console.home / "notes.txt"
    file.write_text(content)
    file.chmod(0o644)
    for shown in (
        console.run("keys", "show", file),
        console.run("keys", "show", "-", stdin=content),
    ):
        assert (shown.code, shown.stdout) == (2, "")
        assert "holds no private key: FILE is the path of a key file" in shown.stderr
        assert "chmod" not in shown.stderr
        assert "secret" not in shown.stderr
    assert "/ is no file" in console.run("keys", "show", "/").stderr


def test_the_principals_are_listed_with_the_keys_at_hand(console: Console) -> None:
    founded(console, "--principal", f"forecaster:fay:{vkey('fay')}")
    listed = console.here("keys", "list", "--json").objects
    at_hand = {each["name"]: each["private_key_at_hand"] for each in listed}
    assert at_hand == {
        "root": True, "evaluator": True, "issuer": True, "resolver": True, "fay": False,
    }  # fmt: skip
    assert "fay" in console.here("keys", "list").stdout


def test_a_key_of_the_same_name_is_not_the_charters_key(console: Console) -> None:
    founded(console, "--principal", f"forecaster:fay:{vkey('fay')}")
    console.must("keys", "new", "fay", "--out", console.home / "other")
    elsewhere = ("--keys", console.home / "other")
    listed = console.here("keys", "list", "--json", *elsewhere).objects
    assert not any(each["private_key_at_hand"] for each in listed)


def test_keys_are_listed_of_a_ledger_only(console: Console) -> None:
    shown = console.run("keys", "list", "--ledger", console.home / "none")
    assert shown.code == 2
    assert "is no ledger" in shown.stderr
