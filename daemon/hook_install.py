"""The hook put into a runtime's own configuration, and taken out again.

A runtime's file is its user's: all else in it is kept, a file that cannot be read is
refused, and what was there before the first installation is kept aside, so that
removing the hook gives the same bytes back where nothing else was changed.
"""

import json
import os
import shlex
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ledger.daemon.hook_settings import FORMAT, OPEN
from ledger.durable import read_regular, write_durably
from ledger.errors import UsageError
from ledger.ids import sha256_hex

# The runtime ends a hook after so many seconds; the hook's own deadline is shorter.
TIMEOUT_SECONDS = 10
_CLAUDE_TOOLS = "^(Agent|Task)$"
# Also those whose names are like theirs: `hook_events.may_dispatch`.
_CODEX_TOOLS = "^(.*[Ss]pawn_?[Aa]gent.*|[Dd]elegate.*|[Aa]gent|[Tt]ask|invoke_agent)$"
_GATE = "PreToolUse"
_BYTES_MAX = 16 * 1024 * 1024
_NAME_DIGITS = 12


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """Where a runtime is configured, and which of its events the hook needs.

    `matchers` has the events, each with the tools that it is for, or None for all.
    """

    name: str
    home: str  # the variable that names its folder
    folder: str
    file: str
    matchers: Mapping[str, str | None]
    after: str  # what its user has to do


RUNTIMES = {
    "claude": Runtime(
        name="claude",
        home="CLAUDE_CONFIG_DIR",
        folder=".claude",
        file="settings.json",
        matchers={
            _GATE: _CLAUDE_TOOLS,
            "PostToolUse": _CLAUDE_TOOLS,
            "PostToolUseFailure": _CLAUDE_TOOLS,
            "SubagentStop": None,
        },
        after="Sessions that are open take it up when they are started again.",
    ),
    "codex": Runtime(
        name="codex",
        home="CODEX_HOME",
        folder=".codex",
        file="hooks.json",
        matchers={
            _GATE: _CODEX_TOOLS,
            "PostToolUse": _CODEX_TOOLS,
            "SubagentStop": None,
        },
        after="Codex runs it once you have trusted it there with /hooks.",
    ),
}


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of an installation, to take it back: the file's bytes before it.

    `before` is None where the file was changed since and nobody knows any more.
    """

    runtime: str
    file: str
    command: str
    before: str | None
    existed: bool
    after: str


class Place:
    """The folder of one installation: its settings, its record, its memory."""

    def __init__(self, state_home: Path, runtime: Runtime, file: Path) -> None:
        """Name it after the runtime and the file that the hook is put into."""
        digest = sha256_hex(str(file).encode())[:_NAME_DIGITS]
        self.folder = hooks_folder(state_home) / f"{runtime.name}-{digest}"
        self.settings = self.folder / "hook.json"
        self.record = self.folder / "installed.json"

    def read_settings(self) -> dict[str, Any]:
        """Return the settings of an earlier installation; none where there was none."""
        try:
            return msgspec.json.decode(self.settings.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            return {}  # They are about to be written anew.

    def installed(self) -> Installed | None:
        """Return what is kept of the installation."""
        return read_record(self.record)


def hooks_folder(state_home: Path) -> Path:
    """Return where the installations of this user lie, a folder each."""
    return state_home / "sealed-ledger" / "hooks"


def read_record(path: Path) -> Installed | None:
    """Return a record, or None where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Installed)
    except (OSError, msgspec.DecodeError):
        return None


def runtime_file(runtime: Runtime, scope: str, environment: Mapping[str, str]) -> Path:
    """Return the file that a runtime reads: the user's, or the current project's."""
    if scope == "project":
        return Path.cwd() / runtime.folder / runtime.file
    stated = environment.get(runtime.home)
    folder = Path(stated) if stated else Path.home() / runtime.folder
    return folder.absolute() / runtime.file


def install(
    runtime: Runtime, file: Path, place: Place, program: Path, said: Mapping[str, Any]
) -> bool:
    """Put the hook into `file`, with the settings that are said; tell if it changed.

    Raises `UsageError` for a file that is no configuration, and changes nothing then.
    """
    before = _content(file)
    found = _parsed(file, before)
    fail = str(said["fail"])
    added = _with(found, runtime, place, program, fail)
    place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = {**said, "format": FORMAT, "state": str(place.folder)}
    write_durably(place.settings, _text(settings))
    after = before if added == found and before is not None else _text(added)
    known = place.installed()
    was_ours = known is not None and _digest(before) == known.after
    if known is None or not was_ours:
        is_clean = before is None or str(place.settings).encode() not in before
        known = Installed(
            runtime=runtime.name,
            file=str(file),
            command=str(program),
            before=b64encode(before or b"").decode() if is_clean else None,
            existed=before is not None,
            after="",
        )
    kept = msgspec.structs.replace(known, command=str(program), after=_digest(after))
    write_durably(place.record, msgspec.json.encode(kept))
    if after == before:
        return False
    _replace(file, after)
    return True


def uninstall(file: Path, place: Place) -> bool:
    """Take the hook out of `file`; tell whether it was there.

    Where nothing else was changed since, the file's bytes are those of before.
    """
    current, known = _content(file), place.installed()
    was_there = current is not None and str(place.settings).encode() in current
    if (
        known is not None
        and known.before is not None
        and (_digest(current) == known.after)
    ):
        if known.existed:
            _replace(file, b64decode(known.before))
        else:
            file.unlink()
    elif was_there:
        _replace(file, _text(_without(_parsed(file, current), place)))
    place.settings.unlink(missing_ok=True)
    place.record.unlink(missing_ok=True)
    return was_there


def is_installed(file: Path, place: Place) -> bool:
    """Tell whether a runtime's file still calls this installation's hook."""
    content = _content(file)
    return content is not None and str(place.settings).encode() in content


def call(program: Path, settings: Path, fail: str) -> list[str]:
    """Return the words by which a runtime calls the hook."""
    return [str(program), "hook", "--config", str(settings), "--fail", fail]


def _with(
    found: dict[str, Any], runtime: Runtime, place: Place, program: Path, fail: str
) -> dict[str, Any]:
    """Return a configuration with the hook in it, once."""
    made = _without(found, place)
    hooks = dict(made.get("hooks", {}))
    for event, matcher in runtime.matchers.items():
        # Only before a dispatch may a hook say no.
        words = call(program, place.settings, fail if event == _GATE else OPEN)
        # As one line for a shell: a runtime too old for arguments that stand apart would
        # call the bare program, whose exit status for that is a block.
        handler = {
            "type": "command",
            "command": shlex.join(words),
            "timeout": TIMEOUT_SECONDS,
        }
        group = {"matcher": matcher} if matcher else {}
        hooks[event] = [*hooks.get(event, []), {**group, "hooks": [handler]}]
    return {**made, "hooks": hooks}


def _without(found: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return a configuration without this installation's hook, and without its shells."""
    mark = str(place.settings)
    hooks: dict[str, Any] = {}
    for event, groups in found.get("hooks", {}).items():
        kept = []
        for group in groups:
            others = [each for each in group["hooks"] if mark not in json.dumps(each)]
            if others == group["hooks"]:
                kept.append(group)
            elif others:
                kept.append({**group, "hooks": others})
        if kept or not groups:
            hooks[event] = kept
    if hooks or not found.get("hooks", True):
        return {**found, "hooks": hooks}
    return {name: value for name, value in found.items() if name != "hooks"}


def _content(file: Path) -> bytes | None:
    try:
        return read_regular(file, _BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


def _parsed(file: Path, content: bytes | None) -> dict[str, Any]:
    """Return a configuration; refuse what would not come out as it went in."""
    if content is None or not content.strip():
        return {}
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        msg = f"{file} is no JSON ({error}): mend it first, it was left as it is"
        raise UsageError(msg) from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(map(_are_groups, hooks.values())):
        msg = (
            f"{file} is not what a runtime reads: it has to be an object whose `hooks` "
            "name events, each with a list of groups; it was left as it is"
        )
        raise UsageError(msg)
    assert isinstance(found, dict)
    return found


def _are_groups(groups: object) -> bool:
    return isinstance(groups, list) and all(
        isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for group in groups
    )


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"{twice!r} stands twice in one object"
        raise ValueError(msg)
    return dict(pairs)


def _replace(file: Path, content: bytes) -> None:
    """Write a user's file in one step, its mode kept, through links as they lie."""
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    write_durably(target, content)
    target.chmod(mode)


def _text(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, indent=2, ensure_ascii=False).encode() + b"\n"


def _digest(content: bytes | None) -> str:
    return "" if content is None else sha256_hex(content)


def program_of(argument: str, python: str) -> Path:
    """Return the absolute path of the `ledger` that a runtime can call.

    The one that was called, or that of this environment; raises `UsageError` for none.
    """
    for path in (Path(argument), Path(python).parent / "ledger"):
        found = path.absolute()
        if found.name == "ledger" and os.access(found, os.X_OK) and found.is_file():
            return found
    msg = (
        f"there is no `ledger` beside {python} that a runtime could call: install "
        "sealed-ledger there, or name the program with --program"
    )
    raise UsageError(msg)
