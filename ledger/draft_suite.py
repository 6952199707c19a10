"""Drafts that freeze: a TOML file or an inline manifest made into a SuiteFrozen's fields."""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from ledger.draft_fields import require_known, spelled_fields, unfit
from ledger.errors import RefusedError, UsageError
from ledger.events import SuiteFrozen
from ledger.ids import CHARTER, parse_version
from ledger.state import State
from ledger.suite import CharterManifest, Manifest, SuiteManifest
from ledger.suite_check import freeze_manifest, gaps, manifest_from_toml, sentence
from ledger.suite_words import shown

_KNOWN = ["author", "created_at", "ledger", "suite", "supersedes", "manifest", "file"]


def frozen_fields(
    given: Mapping[str, object],
    state: State,
    now: datetime,
    read_file: Callable[[str], bytes],
) -> dict[str, object]:
    """Return the fields of a SuiteFrozen: its manifest, its name, what it supersedes.

    Raises `RefusedError`: `draft-unfit`, or what makes the manifest unfit.
    """
    require_known(given, _KNOWN, "a SuiteFrozen")
    said = {key: given[key] for key in given if key not in ("manifest", "file")}
    fields = spelled_fields(said, SuiteFrozen, now)
    manifest = _manifest(given, state, read_file)
    fields.setdefault("suite", _suite(manifest, state))
    superseded = _superseded(str(fields["suite"]), manifest, state)
    if superseded is not None:
        fields.setdefault("supersedes", superseded)
    return {**fields, "manifest": manifest}


def _suite(manifest: Manifest, state: State) -> str:
    if isinstance(manifest, SuiteManifest):
        return manifest.suite
    return f"{CHARTER}@v{state.charter_version + 1}"


def _superseded(suite: str, manifest: Manifest, state: State) -> str | None:
    """Return the version in force that the next one supersedes, if there is one."""
    try:
        name, number = parse_version(suite)
    except ValueError:
        return None  # The door says what is wrong with the name.
    is_charter = isinstance(manifest, CharterManifest)
    latest = state.charter_version if is_charter else state.latest.get(name, 0)
    return f"{name}@v{latest}" if latest and number == latest + 1 else None


def _manifest(
    given: Mapping[str, object], state: State, read_file: Callable[[str], bytes]
) -> Manifest:
    file, inline = given.get("file"), given.get("manifest")
    if (file is None) == (inline is None):
        remedy = "name a TOML `file`, or give the `manifest` itself: one of the two"
        raise unfit("the manifest", "is missing or given twice", remedy)
    roles = {each.name: each.role for each in state.roster.members.values()}
    if file is not None:
        if not isinstance(file, str):
            raise unfit("file", f"is {shown(file)}", "write the path of a TOML file")
        return manifest_of_file(read_file(file), file, roles)
    if not isinstance(inline, Mapping):
        raise unfit("manifest", f"is {shown(inline)}", "write an object")
    return _inline(inline, roles)


def manifest_of_file(
    content: bytes, file: str, roles: Mapping[str, str] | None
) -> Manifest:
    """Return the manifest that a TOML file says; raise `RefusedError` for its gaps."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = f"{file} is not UTF-8 text: a suite is a TOML file"
        raise RefusedError("suite-not-toml", msg) from None
    written = manifest_from_toml(text, file)
    if is_charter(written):
        return _charter(written)
    return freeze_manifest(written, roles)


def is_charter(manifest: Mapping[str, object]) -> bool:
    """Tell whether somebody wrote a charter, not a suite."""
    return str(manifest.get("format", "")).startswith(f"{CHARTER}/")


def _inline(inline: Mapping[str, object], roles: Mapping[str, str]) -> Manifest:
    if is_charter(inline):
        return _charter(inline)
    try:
        manifest = msgspec.convert(inline, SuiteManifest)
    except msgspec.ValidationError:
        return freeze_manifest(inline, roles)
    # In JSON, as in a payload, an empty collection may be absent.
    found = gaps(manifest, roles)
    if found:
        raise RefusedError("suite-incomplete", sentence(inline, found))
    return manifest


def _charter(written: Mapping[str, object]) -> CharterManifest:
    try:
        return msgspec.convert(written, CharterManifest)
    except (msgspec.ValidationError, UsageError) as error:
        msg = f"the charter is not one: {error}"
        raise RefusedError("charter-unfit", msg) from None
