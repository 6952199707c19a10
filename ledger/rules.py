"""May this event follow what the log says so far? Who may speak, and of what.

Pure functions of a `State` and an event where it would stand; each raises `RefusedError` with a
stable code, or lets the event pass. What is late, contradictory or doubtful is
not refused here: it is recorded, and the projections flag it.

    rules             who may sign
    rules_frozen      which charter or suite may come into force
    rules_question    which question may be asked, and by whom
    rules_forecast    vectors, chains and reveals
    rules_resolution  what may be said to have happened
"""

from typing import assert_never

from ledger.clock import instant_text, span
from ledger.entry import Recorded
from ledger.errors import RefusedError
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.ids import CHARTER
from ledger.keys.roster import Member, Role, Roster
from ledger.rules_forecast import check_seal, check_update
from ledger.rules_frozen import adopted, check_frozen
from ledger.rules_resolution import check_resolution
from ledger.state import State
from ledger.suite import CharterManifest
from ledger.unit import Place


def check(state: State, recorded: Recorded) -> Place | None:
    """Return where an event belongs; raise `RefusedError` when it may not follow.

    A suite or charter belongs to no unit: None. That the signature verifies under
    `author_key` was found out before.
    """
    event, charter = recorded.event, state.charter
    if charter is None:
        _check_first(recorded)
        return None
    if event.ledger != state.ledger:
        raise _wrong_ledger(event, state.ledger)
    member = state.roster.members.get(event.author)
    if member is None or member.public != recorded.author_key:
        raise _not_its_key(member, state.roster, event.author)
    signers = _SIGNERS.get(type(event)) or _signers(event)
    if member.role not in signers:
        raise _wrong_role(event, member.role, signers)
    if event.created_at > recorded.received_at:
        _check_created(charter, recorded)
    match event:
        case ForecastSealed():
            return check_seal(state, recorded, event)
        case ForecastUpdated():
            return check_update(state, recorded, event)
        case ResolutionRecorded():
            return check_resolution(state, recorded, event, member.role)
        case SuiteFrozen():
            check_frozen(state, event, recorded.seq)
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
    roster = adopted(Roster(), manifest)
    member = roster.members.get(event.author)
    if member is None or member.public != recorded.author_key:
        raise _not_its_key(member, roster, event.author)
    if member.role != "root":
        msg = f"{event.author} is no root of the charter that it signs"
        raise RefusedError("wrong-role", msg)


def _named(event: LedgerEvent) -> str:
    return f"a {type(event).__name__} of {event.suite}"


def _wrong_ledger(event: LedgerEvent, ledger: str | None) -> RefusedError:
    msg = (
        f"the event is signed for ledger {event.ledger or '(none)'}, and this is "
        f"{ledger}: sign it again for this one"
    )
    return RefusedError("wrong-ledger", msg)


def unlisted(author: str, roster: Roster) -> RefusedError:
    """Return what is said of a name that the charter does not list."""
    known = ", ".join(sorted(roster.members))
    msg = f"the charter lists no {author!r}; it lists {known}"
    return RefusedError("unknown-author", msg)


def _not_its_key(member: Member | None, roster: Roster, author: str) -> RefusedError:
    if member is None:
        return unlisted(author, roster)
    msg = f"the signature is not by the key that the charter gives {author}"
    return RefusedError("bad-signature", msg)


# Whose role signs which event; of the others it depends on what they say.
_SIGNERS: dict[type[LedgerEvent], tuple[Role, ...]] = {
    ForecastSealed: ("forecaster",),
    ForecastUpdated: ("forecaster",),
}
_RESOLVES: tuple[Role, ...] = ("resolver",)
_FREEZES: tuple[Role, ...] = ("evaluator",)
_FREEZES_CHARTER: tuple[Role, ...] = ("root",)
_OPENS: tuple[Role, ...] = ("issuer", "resolver")


def _signers(event: LedgerEvent) -> tuple[Role, ...]:
    if isinstance(event, ResolutionRecorded):
        return _OPENS if event.status == "PENDING" else _RESOLVES
    of_charter = isinstance(event, SuiteFrozen) and isinstance(
        event.manifest, CharterManifest
    )
    return _FREEZES_CHARTER if of_charter else _FREEZES


def _wrong_role(
    event: LedgerEvent, role: Role, signers: tuple[Role, ...]
) -> RefusedError:
    what = type(event).__name__
    if isinstance(event, ResolutionRecorded):
        what = f"{what} with status {event.status}"
    msg = f"{event.author} is {role}, and a {what} is signed by {' or '.join(signers)}"
    return RefusedError("wrong-role", msg)


def _check_created(charter: CharterManifest, recorded: Recorded) -> None:
    created_at = recorded.event.created_at
    ahead = charter.created_ahead_seconds
    if created_at - recorded.received_at > span(ahead):
        msg = (
            f"created_at {instant_text(created_at)} is more than {ahead} s after the "
            f"ledger's clock, {instant_text(recorded.received_at)}: check your clock"
        )
        raise RefusedError("created-ahead", msg)
