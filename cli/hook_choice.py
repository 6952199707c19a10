"""What a hook is to be told: what was said, and what the ledger says of the rest."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ledger.cli.context import KeyRing, keys_folder
from ledger.cli.meaning import Meaning
from ledger.daemon.calling import sockets_of
from ledger.daemon.hook_settings import CLOSED, OPEN, POLICIES, RECORD
from ledger.daemon.settings import read_settings
from ledger.daemon.sockets import AGENT, file_name
from ledger.errors import UsageError
from ledger.folder import Folder
from ledger.index import Index
from ledger.keys.keyfile import read_key
from ledger.log import load_state, open_reader


def completed(
    known: dict[str, Any], folder: Folder, keys_at: str | None
) -> dict[str, Any]:
    """Return settings with what a ledger's folder says of the rest."""
    ring = KeyRing(keys_folder(folder, keys_at))
    names = ("suite", "template", "horizon", "forecaster")
    draft: dict[str, object] = {name: known[name] for name in names if known.get(name)}
    # Of a unit that is still to be opened: its template's only horizon is meant.
    draft["id"] = "any"
    with open_reader(folder) as reader:
        state = load_state(folder, reader.store, Index())
        meaning = Meaning(draft, state, ring, opens=True)
        frozen = meaning.suite()
        meaning.unit(frozen)
        # A gate that names nobody takes anybody's forecast.
        if known["mode"] == RECORD or "forecaster" in draft:
            meaning.forecaster(frozen)
        meaning.tell()
    template = frozen.templates[str(draft["template"])]
    author = str(draft.get("author", ""))
    made = {
        **known,
        **{name: draft[name] for name in names if name in draft},
        "ledger": folder.settings().ledger,
        "author": author,
        "answers": known.get("answers") or list(template.answers),
        "positive": known.get("positive") or template.positive,
        "observed": str(folder.path.absolute() / "inbox" / "observed"),
    }
    if known["mode"] == RECORD:
        made.setdefault("key", str((ring.folder / f"{author}.key").absolute()))
    if "sockets" not in known:
        found = sockets_of(folder, None, os.environ)
        # An agent may be kept from the other side's.
        made["sockets"] = sorted(
            found, key=lambda path: not path.endswith(file_name(AGENT))
        )
    return made


def require_complete(known: Mapping[str, Any]) -> None:
    """Raise `UsageError` for settings that the hook could not work with."""
    if known["fail"] not in POLICIES:
        msg = f"--fail {known['fail']}: write {OPEN} or {CLOSED}"
        raise UsageError(msg)
    needed = {
        "suite": "--suite", "template": "--template", "horizon": "--horizon",
        "sockets": "--socket",
    }  # fmt: skip
    if known["mode"] == RECORD:
        needed |= {
            "forecaster": "--as", "author": "--key", "key": "--key",
            "answers": "--answer", "positive": "--answer",
        }  # fmt: skip
    missing = next((word for name, word in needed.items() if not known.get(name)), None)
    if missing is not None:
        msg = f"{missing} is missing: say it, or --ledger DIR where its folder can be read"
        raise UsageError(msg)


def unopened(known: Mapping[str, Any], folder: Folder) -> str | None:
    """Say that the daemon would open no unit for a hook that records, if so it is."""
    if known["mode"] != RECORD:
        return None
    names = tuple(known[name] for name in ("suite", "template", "horizon"))
    try:
        openings = read_settings(folder).openings
    except UsageError as error:
        return str(error)
    if names in {(each.suite, each.template, each.horizon) for each in openings}:
        return None
    return (
        f"{folder.path / 'daemon.toml'} has no [[openings]] for {names[1]} at {names[2]} "
        f"in {names[0]}: until it has, a dispatch is refused unless its unit is open "
        "(docs/daemon.md)."
    )


def by_itself(known: dict[str, Any]) -> dict[str, Any]:
    """Return settings where no ledger can be read: the key says whose it is."""
    if known["mode"] == RECORD and known.get("key"):
        return {**known, "author": read_key(Path(known["key"])).name}
    return known
