"""How a daemon is set up: `daemon.toml` in the ledger's folder, where there is one.

It is the evaluator's file. What agents may say of a unit, which questions are opened
for them and whose key opens them is decided here and not by who connects.
"""

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from ledger.durable import read_regular
from ledger.errors import UsageError
from ledger.folder import Folder
from ledger.grammar import Hex, Key

FILE = "daemon.toml"
_LETTERS_MAX = 4_096  # as many as the bytes of the longest path
_Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
# Names, and files and folders: none of them has a zero byte.
_Text = Annotated[
    str, Meta(min_length=1, max_length=_LETTERS_MAX, pattern=r"\A[^\x00]*\Z")
]


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: closed, so that a misspelled key is refused."""


class Sockets(Part, frozen=True, kw_only=True):
    """Where the sockets lie, and which group may send forecasts.

    A folder that is not named is the ledger's own, which is closed to other users. An
    agent that is another user needs a folder outside of it, and a group.
    """

    agent_folder: _Text | None = None
    agent_group: _Text | None = None  # a name or a number
    evaluator_folder: _Text | None = None


class Limits(Part, frozen=True, kw_only=True):
    """What a side's clients may use of the daemon."""

    connections: _Positive = 128  # of each side
    pending: _Positive = 64  # requests of one connection that wait for their answers
    queue_events: _Positive = 4_096  # that wait for the writer
    queue_mib: _Positive = 64
    reads: _Positive = 64  # that wait for a reader
    idle_seconds: _Positive = 600
    slow_seconds: _Positive = 20  # in which a client must take what it was sent


class Opening(Part, frozen=True, kw_only=True):
    """Which questions the daemon opens for agents, and with whose key.

    Times are counted from the moment of opening. What is fixed here, agents cannot
    say: `target` and `cluster` where they are given, and every tag but `agent_tags`.
    """

    suite: _Text
    template: _Text
    horizon: _Text
    issuer: _Text
    key: _Text | None = None  # a file; default: keys/ISSUER.key in the ledger's folder
    cutoff_seconds: _Positive
    resolve_seconds: _Positive
    acceptance_hash: Hex | None = None
    source: _Text | None = None
    target: _Text | None = None
    cluster: _Text | None = None
    tags: dict[Key, str] = {}
    agent_tags: tuple[Key, ...] = ()


class Watch(Part, frozen=True, kw_only=True):
    """Where pinned files lie on disk, so that a change to one is noticed.

    A folder that is no absolute path begins at the ledger's folder.
    """

    folders: tuple[_Text, ...] = ()


class DaemonSettings(Part, frozen=True, kw_only=True):
    """The whole file."""

    sockets: Sockets = Sockets()
    limits: Limits = Limits()
    openings: tuple[Opening, ...] = ()
    watch: Watch = Watch()


def read_settings(folder: Folder) -> DaemonSettings:
    """Return what the ledger's `daemon.toml` says; the defaults where there is none.

    Raises `UsageError` that names the file and what is wrong in it.
    """
    path = folder.path / FILE
    try:
        text = read_regular(path).decode()
        settings = msgspec.convert(tomllib.loads(text), DaemonSettings)
    except FileNotFoundError:
        return DaemonSettings()
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = f"{path} cannot be used: {reason} (docs/daemon.md lists its keys)"
        raise UsageError(msg) from error
    _require_consistent(settings, path)
    return settings


def _require_consistent(settings: DaemonSettings, path: Path) -> None:
    names = [(each.suite, each.template, each.horizon) for each in settings.openings]
    for name in names:
        if names.count(name) > 1:
            msg = f"{path} opens {'/'.join(name)} twice: keep one of these openings"
            raise UsageError(msg)
    for each in settings.openings:
        if each.resolve_seconds < each.cutoff_seconds:
            msg = (
                f"{path}: {each.template} has cutoff_seconds {each.cutoff_seconds} after "
                f"resolve_seconds {each.resolve_seconds}: forecasts end before outcomes"
            )
            raise UsageError(msg)
