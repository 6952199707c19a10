"""May this event follow what the log says so far? Who may speak, and of what.

Pure functions of a `State` and an event where it would stand; each raises `RefusedError` with a
stable code, or lets the event pass. What is late, contradictory or doubtful is
not refused here: it is recorded, and the projections flag it.

    rules             who may sign, what may be frozen
    rules_question    which question may be asked, and by whom
    rules_forecast    vectors, chains and reveals
    rules_resolution  what may be said to have happened
"""

from datetime import timedelta
from typing import assert_never

from ledger.checkpoint import parse_checkpoint, split_note
from ledger.entry import Recorded
from ledger.errors import (
    CorruptLogError,
    RefusedError,
    UncheckableError,
    UsageError,
)
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.ids import CHARTER, parse_version
from ledger.keys.roster import Member, Role, Roster
from ledger.rules_forecast import check_seal, check_update
from ledger.rules_resolution import check_resolution
from ledger.state import State, require_ledger
from ledger.suite import CharterManifest, SuiteManifest
from ledger.suite_check import gaps
from ledger.unit import Place


def check(state: State, recorded: Recorded) -> Place | None:
    """Return where an event belongs; raise `RefusedError` when it may not follow.

    A suite or charter belongs to no unit: None. That the signature verifies under
    `author_key` was found out before.
    """
    event = recorded.event
    if state.charter is None:
        _check_first(recorded)
        return None
    _check_ledger(state, event)
    role = _require_key(state.roster, recorded).role
    _require_role(event, role)
    _check_created(state.charter, recorded)
    match event:
        case ForecastSealed():
            return check_seal(state, event)
        case ForecastUpdated():
            return check_update(state, event, recorded.received_at)
        case ResolutionRecorded():
            return check_resolution(state, event, role, recorded.received_at)
        case SuiteFrozen():
            _check_frozen(state, event)
            return None
        case _:
            assert_never(event)


def _check_first(recorded: Recorded) -> None:
    event = recorded.event
    if not isinstance(event, SuiteFrozen) or event.suite != f"{CHARTER}@v1":
        msg = f"entry 0 of a log freezes {CHARTER}@v1, and this is {_named(event)}"
        raise RefusedError("no-charter", msg)
    if event.ledger is not None or event.supersedes is not None:
        msg = "entry 0 names neither a ledger nor a predecessor: leave both out"
        raise RefusedError("charter-unfit", msg)
    manifest = event.manifest
    if not isinstance(manifest, CharterManifest):
        msg = f"{event.suite} has a manifest of a suite: use format charter/1"
        raise RefusedError("charter-unfit", msg)
    if manifest.compromised_since or manifest.continues:
        msg = "a first charter has no compromised keys and continues nothing"
        raise RefusedError("charter-unfit", msg)
    roster = _adopted(Roster(), manifest)
    _require_key(roster, recorded)
    if roster.members[event.author].role != "root":
        msg = f"{event.author} is no root of the charter that it signs"
        raise RefusedError("wrong-role", msg)


def _named(event: LedgerEvent) -> str:
    return f"a {type(event).__name__} of {event.suite}"


def _check_ledger(state: State, event: LedgerEvent) -> None:
    if event.ledger != state.ledger:
        msg = (
            f"the event is signed for ledger {event.ledger or '(none)'}, and this is "
            f"{state.ledger}: sign it again for this one"
        )
        raise RefusedError("wrong-ledger", msg)


def _require_key(roster: Roster, recorded: Recorded) -> Member:
    author = recorded.event.author
    member = roster.members.get(author)
    if member is None:
        known = ", ".join(sorted(roster.members))
        msg = f"the charter lists no {author!r}; it lists {known}"
        raise RefusedError("unknown-author", msg)
    if member.public != recorded.author_key:
        msg = f"the signature is not by the key that the charter gives {author}"
        raise RefusedError("bad-signature", msg)
    return member


_FORECASTS: tuple[Role, ...] = ("forecaster",)
_RESOLVES: tuple[Role, ...] = ("resolver",)
_OPENS: tuple[Role, ...] = ("issuer", "resolver")


def _require_role(event: LedgerEvent, role: Role) -> None:
    needed: tuple[Role, ...]
    if isinstance(event, SuiteFrozen):
        of_charter = isinstance(event.manifest, CharterManifest)
        needed = ("root",) if of_charter else ("evaluator",)
    elif isinstance(event, ResolutionRecorded):
        needed = _OPENS if event.status == "PENDING" else _RESOLVES
    else:
        needed = _FORECASTS
    if role not in needed:
        what = type(event).__name__
        if isinstance(event, ResolutionRecorded):
            what = f"{what} with status {event.status}"
        msg = (
            f"{event.author} is {role}, and a {what} is signed by {' or '.join(needed)}"
        )
        raise RefusedError("wrong-role", msg)


def _check_created(charter: CharterManifest, recorded: Recorded) -> None:
    created_at = recorded.event.created_at
    if created_at <= recorded.received_at:
        return
    ahead = charter.created_ahead_seconds
    if created_at > recorded.received_at + timedelta(seconds=ahead):
        msg = (
            f"created_at {created_at.isoformat()} is more than {ahead} s after the "
            f"ledger's clock, {recorded.received_at.isoformat()}: check your clock"
        )
        raise RefusedError("created-ahead", msg)


def _check_frozen(state: State, event: SuiteFrozen) -> None:
    try:
        name, number = parse_version(event.suite)
    except ValueError as error:
        raise RefusedError("suite-unfit", str(error)) from None
    if isinstance(event.manifest, CharterManifest):
        _check_charter(state, event, name, number, event.manifest)
    else:
        _check_suite(state, event, name, number, event.manifest)


def _check_version(event: SuiteFrozen, name: str, number: int, latest: int) -> None:
    if number <= latest:
        msg = (
            f"{event.suite} was frozen before: the next version is {name}@v{latest + 1}"
        )
        raise RefusedError("frozen-before", msg)
    expected = f"{name}@v{latest}" if latest else None
    if number != latest + 1 or event.supersedes != expected:
        msg = (
            f"{event.suite} supersedes {event.supersedes or 'nothing'}; the next version "
            f"is {name}@v{latest + 1} and supersedes {expected or 'nothing'}"
        )
        raise RefusedError("supersedes-wrong", msg)


def _check_charter(
    state: State,
    event: SuiteFrozen,
    name: str,
    number: int,
    manifest: CharterManifest,
) -> None:
    if name != CHARTER:
        msg = f"a charter is frozen as {CHARTER}@vN, not as {event.suite}"
        raise RefusedError("charter-unfit", msg)
    _check_version(event, name, number, state.charter_version)
    in_force = require_ledger(state)
    if manifest.origin != in_force.origin:
        msg = f"the origin is {in_force.origin} for ever, not {manifest.origin}"
        raise RefusedError("charter-unfit", msg)
    if manifest.continues is not None:
        _check_continues(manifest)
    _adopted(state.roster.copy(), manifest)


def _check_continues(manifest: CharterManifest) -> None:
    try:
        checkpoint = parse_checkpoint(split_note(manifest.continues or "")[0])
    except CorruptLogError as error:
        msg = f"`continues` is no checkpoint note: {error.reason}"
        raise RefusedError("charter-unfit", msg) from None
    if checkpoint.origin != manifest.origin:
        msg = f"`continues` is a checkpoint of {checkpoint.origin}, not of this log"
        raise RefusedError("charter-unfit", msg)


def _adopted(roster: Roster, manifest: CharterManifest) -> Roster:
    try:
        roster.adopt(manifest.principals, manifest.log_keys)
    except UsageError as error:
        raise RefusedError("charter-unfit", str(error)) from None
    return roster


def _check_suite(
    state: State,
    event: SuiteFrozen,
    name: str,
    number: int,
    manifest: SuiteManifest,
) -> None:
    if name == CHARTER or manifest.suite != event.suite:
        msg = f"the event freezes {event.suite}, and its manifest is {manifest.suite}"
        raise RefusedError("suite-unfit", msg)
    latest = state.latest.get(name, 0)
    _check_version(event, name, number, latest)
    owner = manifest.owner
    if latest:
        owner = state.suites[f"{name}@v{latest}"].manifest.owner
    if event.author != owner:
        msg = (
            f"{event.suite} may be frozen by its owner, {owner}, not by {event.author}"
        )
        raise RefusedError("not-the-owner", msg)
    # Checked once more in full: the client that froze it may not have done so.
    roles = {member.name: member.role for member in state.roster.members.values()}
    problems = gaps(manifest, roles)
    if problems:
        unscorable = any(gap.is_unscorable for gap in problems)
        code = "unscorable-proposition" if unscorable else "suite-incomplete"
        raise RefusedError(code, f"{event.suite}: {'; '.join(map(str, problems))}")
    try:
        state.frozen_suite(event.author, manifest)
    except UncheckableError as error:
        raise RefusedError("pin-missing", str(error)) from None
