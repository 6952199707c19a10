"""What in a runtime's own settings keeps it from calling any hook that is put into it.

Such a hook does nothing and nobody is told, so whoever installs it or looks after it is.
What a runtime is told by a word of its command line cannot be seen here.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ledger.daemon.hook_install import Runtime, runtime_file
from ledger.durable import read_regular

_SYSTEM = Path("/")
_BYTES_MAX = 16 * 1024 * 1024
# What an administrator decides for all, where each system has it.
_MANAGED = {
    "claude": (
        "etc/claude-code/managed-settings.json",
        "Library/Application Support/ClaudeCode/managed-settings.json",
    ),
    "codex": ("etc/codex/requirements.toml",),
}
# The others of a runtime's files that have a say, the strongest first.
_BESIDE = {
    "claude": ("settings.local.json", "settings.json"),
    "codex": ("config.toml",),
}
_MANAGED_ONLY = {
    "claude": "allowManagedHooksOnly",
    "codex": "allow_managed_hooks_only",
}


def disabling(
    runtime: Runtime,
    file: Path,
    environment: Mapping[str, str],
    system: Path = _SYSTEM,
) -> str:
    """Return which setting disables the hook in `file`, and where; "" for none.

    `system` is the folder under which an administrator's settings lie.
    """
    for path in (system / each for each in _MANAGED[runtime.name]):
        found = _read(path)
        if path != file and found.get(_MANAGED_ONLY[runtime.name]) is True:
            return f"{_MANAGED_ONLY[runtime.name]} in {path} lets no other hook run"
        stated = _stated(runtime, found)
        if stated is not None:
            return f"{stated} in {path}" if stated else ""
    for path in _deciding(runtime, file, environment):
        stated = _stated(runtime, _read(path))
        if stated is not None:
            return f"{stated} in {path}" if stated else ""
    return ""


def _deciding(
    runtime: Runtime, file: Path, environment: Mapping[str, str]
) -> Iterator[Path]:
    """Give the files that may say it, the one that outweighs the others first."""
    user = runtime_file(runtime, "user", environment).parent
    here = runtime_file(runtime, "project", environment).parent
    folders = (here, file.parent) if file.parent == user else (file.parent, user)
    for folder in folders:
        for name in _BESIDE[runtime.name]:
            yield folder / name
        if folder == file.parent:
            yield file


def _stated(runtime: Runtime, found: Mapping[str, Any]) -> str | None:
    """Return how settings disable all hooks, "" where they say no; None for no word."""
    if runtime.name == "claude":
        said = found.get("disableAllHooks")
        return None if not isinstance(said, bool) else "disableAllHooks" if said else ""
    features = found.get("features")
    for name in ("hooks", "codex_hooks"):
        said = features.get(name) if isinstance(features, dict) else None
        if isinstance(said, bool):
            return "" if said else f"features.{name} = false"
    return None


def _read(path: Path) -> dict[str, Any]:
    """Return settings; none where there are none, or none that can be read.

    The runtime reads no others, and says so itself.
    """
    try:
        content = read_regular(path, _BYTES_MAX).decode()
        found = (
            tomllib.loads(content) if path.suffix == ".toml" else json.loads(content)
        )
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
