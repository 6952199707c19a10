"""One installation of the hook: what it was told, and how often it was called.

The settings are JSON, written once by `ledger hook install`. Each delivery leaves a
letter in a file of the installation's folder, which `ledger hook status` counts.

On the hook's start-up path: reading TOML would cost more than sealing a forecast.
"""

import os

from ledger.daemon.hook_text import TroubleError, read_json

FORMAT = "hook/1"
RECORD, GATE = "record", "gate"
MODES = (RECORD, GATE)
OPEN, CLOSED = "open", "closed"
POLICIES = (OPEN, CLOSED)
DEADLINE_MS = 5_000
_DEADLINE_MS_MAX = 3_600_000  # Nobody waits for an hour.
_SHOWN = 40  # characters of a value that is not understood
_DELIVERIES = "deliveries"
_BYTES_MAX = 1_048_576
LETTERS = {
    "allowed": "a",
    "blocked": "b",
    "failed-open": "o",
    "failed-closed": "c",
    "lifecycle": "l",
    "other": "x",
    "unknown": "u",
    "probe": "p",
}
# Of those that were dispatches, or may have been: what their last ones say of a hook.
_OF_DISPATCHES = b"abocu"
RECENT = 20
_TEXTS = ("mode", "fail", "state", "observed", "suite", "template", "horizon")
_SIGNING = ("forecaster", "author", "key", "positive")


class Settings:
    """One installation: its mode and policy, where the daemon is, what it asks about.

    `sockets` are tried in order. `state` is this installation's own folder, `observed`
    the one where ends of runs are left for the resolver. `forecaster` is the competitor
    whose forecast counts; in gate mode "" means anybody's. `answers`, `positive`,
    `author` and `key` (a file) are for record mode. `ledger` is the id of the ledger
    that is meant.
    """

    __slots__ = (
        "answers",
        "author",
        "deadline_ms",
        "fail",
        "forecaster",
        "horizon",
        "key",
        "ledger",
        "mode",
        "observed",
        "positive",
        "sockets",
        "state",
        "suite",
        "template",
    )

    def __init__(self, said: dict[str, object], path: str) -> None:
        """Take what a file says; raise `TroubleError` for what is missing or unfit."""
        if said.get("format") != FORMAT:
            raise _unfit(path, f"has format {said.get('format')!r}, not {FORMAT!r}")
        found = {name: said.get(name) or "" for name in (*_TEXTS, *_SIGNING, "ledger")}
        needed = (*_TEXTS, *_SIGNING) if said.get("mode") == RECORD else _TEXTS
        for name, value in found.items():
            if not isinstance(value, str) or (name in needed and not value):
                raise _unfit(path, f"has no {name}")
        self.mode = _one_of(found["mode"], MODES, path, "mode")
        self.fail = _one_of(found["fail"], POLICIES, path, "fail")
        self.state, self.observed = str(found["state"]), str(found["observed"])
        self.suite, self.template = str(found["suite"]), str(found["template"])
        self.horizon, self.ledger = str(found["horizon"]), str(found["ledger"])
        self.forecaster, self.author = str(found["forecaster"]), str(found["author"])
        self.key, self.positive = str(found["key"]), str(found["positive"])
        self.answers = _texts(said.get("answers", []), path, "answers")
        self.sockets = _texts(said.get("sockets"), path, "sockets")
        deadline_ms = said.get("deadline_ms", DEADLINE_MS)
        if not isinstance(deadline_ms, int) or not 0 < deadline_ms <= _DEADLINE_MS_MAX:
            stated = repr(deadline_ms)[:_SHOWN]
            allowed = f"not from 1 to {_DEADLINE_MS_MAX}"
            raise _unfit(path, f"has a deadline_ms of {stated}, {allowed}")
        self.deadline_ms = deadline_ms


def read_settings(path: str) -> Settings:
    """Return what an installation's file says; raise `TroubleError` where it is unfit."""
    try:
        # A pipe in its place would have it wait until the deadline.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            said = read_json(file.read(_BYTES_MAX))
    except FileNotFoundError:
        raise _unfit(path, "is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _unfit(path, f"cannot be read ({error})") from None
    if not isinstance(said, dict):
        raise _unfit(path, "holds no object")
    return Settings(said, path)


def _one_of(found: object, known: tuple[str, ...], path: str, name: str) -> str:
    if found not in known:
        raise _unfit(path, f"has {name} {found!r}, not one of {', '.join(known)}")
    return str(found)


def _texts(found: object, path: str, name: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _unfit(path, f"has no list of {name}")
    return tuple(found)


def _unfit(path: str, what: str) -> TroubleError:
    return TroubleError(
        f"the hook's settings {path} {what}: `ledger hook install` writes them"
    )


def count(state: str, outcome: str) -> None:
    """Note that a payload came, and what became of it: one of `LETTERS`."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    place = f"{state}/{_DELIVERIES}"
    # No deadline holds here: a pipe in its place must not have it wait.
    kind = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
    handle = os.open(place, kind, 0o600)
    try:
        os.write(handle, LETTERS[outcome].encode())
    finally:
        os.close(handle)


def counted(state: str) -> dict[str, int]:
    """Return how many payloads had each outcome; all are 0 where none ever came."""
    return _by_outcome(_noted(state))


def recent(state: str) -> dict[str, int]:
    """Return what became of the last `RECENT` payloads that may have been dispatches."""
    dispatches = bytes(each for each in _noted(state) if each in _OF_DISPATCHES)
    return _by_outcome(dispatches[-RECENT:])


def _noted(state: str) -> bytes:
    try:
        with open(f"{state}/{_DELIVERIES}", "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _by_outcome(noted: bytes) -> dict[str, int]:
    return {name: noted.count(letter.encode()) for name, letter in LETTERS.items()}
