"""Where the daemon's sockets lie, who may use them, and when one is dead."""

import errno
import grp
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.daemon.listening import Place, listen, places
from ledger.daemon.settings import Sockets
from ledger.daemon.sockets import (
    AGENT,
    EVALUATOR,
    PATH_BYTES_MAX,
    candidates,
    file_name,
)
from ledger.errors import UsageError
from ledger.folder import Folder


@pytest.fixture
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="sl-"))
    yield made
    shutil.rmtree(made)


FOUND = {
    "what is stated is meant, and nothing else": (
        {"stated": "/s", "ledger": "/l", "environment": {"LEDGER_SOCKET": "/e"}},
        ["/s"],
    ),
    "then what the environment names": (
        {"stated": None, "ledger": "/l", "environment": {"LEDGER_SOCKET": "/e"}},
        ["/e"],
    ),
    "then the ledger's folder, then the runtime folder": (
        {"stated": None, "ledger": "/l", "environment": {"XDG_RUNTIME_DIR": "/r"}},
        ["/l/agent.sock", "/r/sealed-ledger/agent.sock"],
    ),
    "a relative runtime folder is none": (
        {"stated": None, "ledger": None, "environment": {"XDG_RUNTIME_DIR": "r"}},
        [],
    ),
}


@pytest.mark.parametrize(("said", "found"), FOUND.values(), ids=FOUND)
def test_a_client_looks_for_a_socket_where(said: dict, found: list[str]) -> None:
    assert candidates([AGENT], **said) == found


def test_a_socket_lies_in_the_ledgers_own_folder_unless_the_settings_name_one(
    home: Path,
) -> None:
    folder = Folder(home)
    found = places(folder, Sockets(agent_folder="/run/agents"), {})
    assert found[EVALUATOR].path == home / "evaluator.sock"
    assert found[AGENT].path == Path("/run/agents/agent.sock")


def test_a_path_that_is_too_long_is_refused_unless_there_is_a_runtime_folder(
    home: Path,
) -> None:
    longest = home / ("x" * (PATH_BYTES_MAX - len(f"{home}//{file_name(EVALUATOR)}")))
    assert places(Folder(longest), Sockets(), {})[EVALUATOR].path.parent == longest
    beyond = longest.with_name(longest.name + "x")
    with pytest.raises(UsageError, match=r"too long.*107.*evaluator_folder"):
        places(Folder(beyond), Sockets(agent_folder="/a"), {})
    found = places(Folder(beyond), Sockets(), {"XDG_RUNTIME_DIR": "/run/user/7"})
    assert str(found[EVALUATOR].path) == "/run/user/7/sealed-ledger/evaluator.sock"


def test_a_group_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(UsageError, match="'no-such-group'"):
        places(Folder(home), Sockets(agent_group="no-such-group"), {})


def test_a_dead_daemons_socket_is_replaced(home: Path) -> None:
    path = home / "a.sock"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    listening = listen(Place(path=path))
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
    listening.close()
    assert not path.exists()


def test_a_socket_that_somebody_answers_on_is_left_to_them(home: Path) -> None:
    listening = listen(Place(path=home / "a.sock"))
    with pytest.raises(UsageError, match="another daemon answers"):
        listen(Place(path=home / "a.sock"))
    listening.close()


def test_a_socket_that_cannot_be_given_away_is_taken_away(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def refuse(*_: object) -> None:
        made.append((home / "a.sock").exists())
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr("os.chown", refuse)
    home.chmod(0o750)
    held = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(UsageError, match=r"a\.sock cannot be made: not permitted"):
        listen(Place(path=home / "a.sock", group=os.getgid()))
    assert made == [True]
    assert list(home.iterdir()) == []
    assert len([*Path("/proc/self/fd").iterdir()]) == held


def test_a_file_in_the_way_is_no_socket_and_stays(home: Path) -> None:
    (home / "a.sock").write_text("mine")
    with pytest.raises(UsageError, match="is no socket: move that file away"):
        listen(Place(path=home / "a.sock"))
    assert (home / "a.sock").read_text() == "mine"


def test_a_socket_that_was_replaced_is_not_removed(home: Path) -> None:
    path = home / "a.sock"
    listening = listen(Place(path=path))
    path.unlink()
    path.write_text("somebody else's")
    listening.close()
    assert path.read_text() == "somebody else's"


def test_closing_after_the_file_is_gone_is_well(home: Path) -> None:
    listening = listen(Place(path=home / "a.sock"))
    (home / "a.sock").unlink()
    listening.close()


MODES = [(0o700, True), (0o750, False), (0o701, False), (0o777, False)]


@pytest.mark.parametrize(("mode", "is_fit"), MODES)
def test_the_evaluators_folder_is_closed_to_all_others(
    home: Path, mode: int, *, is_fit: bool
) -> None:
    home.chmod(mode)
    if not is_fit:
        with pytest.raises(UsageError, match=f"mode {mode:04o}.*chmod 700"):
            listen(Place(path=home / "a.sock"))
        return
    listening = listen(Place(path=home / "a.sock"))
    assert (home / "a.sock").stat().st_mode & 0o777 == 0o600
    listening.close()


def test_a_folder_that_holds_other_things_is_not_to_be_closed_for_a_socket(
    home: Path,
) -> None:
    home.chmod(0o755)
    (home / "somebody-s").touch()
    with pytest.raises(UsageError) as refused:
        listen(Place(path=home / "a.sock"))
    assert f"such as {home}/sealed-ledger" in str(refused.value)
    assert "chmod" not in str(refused.value)
    # The ledger's own is.
    Folder(home).settings_file.touch()
    with pytest.raises(UsageError, match="chmod 700"):
        listen(Place(path=home / "a.sock"))


def test_a_groups_number_is_one_that_the_system_knows(home: Path) -> None:
    for number in (0, 2**32 - 2):
        found = places(Folder(home), Sockets(agent_group=str(number)), {})
        assert found[AGENT].group == number
    for number in (2**32 - 1, 10**14, int("9" * 4_000)):
        with pytest.raises(UsageError, match="at most 4294967294"):
            places(Folder(home), Sockets(agent_group=str(number)), {})


MODES_OF_GROUP = [(0o700, True), (0o750, True), (0o770, False), (0o755, False)]


@pytest.mark.parametrize(("mode", "is_fit"), MODES_OF_GROUP)
def test_the_agents_folder_lets_its_group_in_and_not_write(
    home: Path, mode: int, *, is_fit: bool
) -> None:
    group = os.getegid()
    assert grp.getgrgid(group)
    home.chmod(mode)
    place = Place(path=home / "a.sock", group=group)
    if not is_fit:
        with pytest.raises(UsageError, match="chmod 750"):
            listen(place)
        return
    listening = listen(place)
    assert (home / "a.sock").stat().st_mode & 0o777 == 0o660
    listening.close()


def test_a_folder_that_is_not_there_is_made_for_its_group_alone(home: Path) -> None:
    place = Place(path=home / "new" / "a.sock", group=os.getegid())
    listening = listen(place)
    assert (home / "new").stat().st_mode & 0o777 == 0o750
    listening.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_folder_of_another_user_is_refused(home: Path) -> None:
    (home / "theirs").mkdir(mode=0o700)
    os.chown(home / "theirs", 65534, 65534)
    with pytest.raises(UsageError, match="belongs to another user"):
        listen(Place(path=home / "theirs" / "a.sock"))


@pytest.mark.parametrize(("mode", "is_fit"), [(0o777, False), (0o1777, True)])
def test_a_folder_that_anybody_could_move_away_is_refused(
    home: Path, mode: int, *, is_fit: bool
) -> None:
    (home / "open").mkdir()
    (home / "open").chmod(mode)
    place = Place(path=home / "open" / "mine" / "a.sock")
    if not is_fit:
        with pytest.raises(UsageError, match="chmod o-w"):
            listen(place)
        return
    listen(place).close()


def test_a_folder_that_cannot_be_made_is_named(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        listen(Place(path=home / "file" / "a.sock"))
