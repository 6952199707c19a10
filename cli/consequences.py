"""What a change of the charter means from now on, in sentences for people."""

from collections.abc import Iterable

from ledger.charters import Gap, key_at
from ledger.folder import Folder
from ledger.keys.roster import Principal, Role
from ledger.keys.signing import VerifierKey
from ledger.log import open_reader
from ledger.state import State
from ledger.suite import SuiteManifest
from ledger.suite_table import listed

_MAY: dict[Role, str] = {
    "root": "sign charters",
    "evaluator": "freeze suites",
    "issuer": "open questions",
    "resolver": "resolve in suites that name it",
    "forecaster": "forecast in suites that name it as a competitor",
}


def added(principal: Principal) -> list[str]:
    """Say what somebody new may do, and what is settled by that."""
    name, role = principal.name, principal.role
    said = [
        (
            f"{name} may {_MAY[role]}. The name stays {role}'s for ever, and neither it nor "
            "its key can stand for anybody else."
        )
    ]
    if role in ("forecaster", "resolver"):
        said.append(f"No frozen suite names {name}: freeze a next version that does.")
    return said


def rotated(principal: Principal, seq: int) -> list[str]:
    """Say what a new key means for what the old one signed, and has yet to submit."""
    return [
        (
            f"From entry {seq + 1} on the old key of {principal.name} signs nothing: what it "
            "signed and did not submit is refused. What is in the log stays valid, and the "
            "name goes on where it was."
        )
    ]


def revoked(principal: Principal, state: State, seq: int) -> list[str]:
    """Say what nobody can do any more; `state` is that after the revocation."""
    name = principal.name
    manifests = [
        state.suites[f"{suite}@v{number}"].manifest
        for suite, number in state.latest.items()
    ]
    return [
        f"From entry {seq + 1} on {name} signs nothing, and the name never comes back.",
        *_lost(principal, state, manifests),
    ]


def _lost(
    principal: Principal, state: State, manifests: Iterable[SuiteManifest]
) -> list[str]:
    """Return what is lost with a principal beside its own signature."""
    name, role = principal.name, principal.role
    members = state.roster.members
    left = [each.name for each in members.values() if each.role == role]
    match role:
        case "forecaster":
            return [
                (
                    f"The chains of {name} take no update and its hidden vectors stay "
                    "hidden; where it is a competitor, what it does not seal is missing."
                )
            ]
        case "evaluator":
            orphans = [each.suite for each in manifests if each.owner == name]
            what = "only {}, its owner, could freeze the next version of {}"
        case "resolver":
            orphans = [
                each.suite
                for each in manifests
                if name in each.resolvers and not members.keys() & {*each.resolvers}
            ]
            what = "besides {} nobody may resolve {}: what is open there stays open"
        case _:
            if left:
                return []
            return [f"Nobody is left to {_MAY[role]}: `ledger keys add {role}:NAME`."]
    if not orphans:
        return []
    sentence = what.format(name, listed(orphans, last="and"))
    return [sentence[0].upper() + sentence[1:] + "."]


def compromised(folder: Folder, state: State, name: str, since: int) -> list[str]:
    """Say how many entries a compromised key signed from `since` on."""
    public = key_at(state.charters, name, since)
    assert public is not None, "the rules let a charter in that speaks of no key"
    with open_reader(folder) as reader:
        rows = reader.store.rows(since, reader.events.size())
        count = sum(row.author == public for row in rows)
    what = "1 entry" if count == 1 else f"{count} entries"
    key = VerifierKey(name=name, public=public)
    return [
        (
            f"{what} that {key} signed from entry {since} on will be flagged "
            "compromised-key and never scored. No later charter can take that back."
        )
    ]


def continued(gap: Gap) -> list[str]:
    """Say what a restored copy lacks, and who will see it."""
    return [
        f"{str(gap)[0].upper()}{str(gap)[1:]}.",
        (
            "Checkpoints of what was lost never fit this log again: whoever kept one, and "
            "whoever holds a receipt from there, will see that."
        ),
    ]


def rotated_log(key: str) -> list[str]:
    """Say who must be told of the log's new key."""
    return [
        (
            "The old key signs no checkpoint any more. Whoever checks this log by its key "
            f"(`ledger verify --key`) needs the new one: {key}"
        ),
    ]
