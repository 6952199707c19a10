"""The roster: which key may sign what, decided by position in the log."""

from typing import Literal

import msgspec

from ledger.errors import RefusedError
from ledger.grammar import Fact, Text
from ledger.keys.signing import ED25519, is_sound_key, parse_verifier

Role = Literal["root", "evaluator", "issuer", "resolver", "forecaster"]
ROLES: tuple[Role, ...] = ("root", "evaluator", "issuer", "resolver", "forecaster")


class Principal(Fact, frozen=True, kw_only=True):
    """Who may act, with which key (a verifier key under that name), in one role."""

    key: Text
    name: Text
    role: Role


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A principal as the door needs it: the bare key and the role."""

    name: str
    public: bytes
    role: Role


class Roster:
    """The principals in force, and all that ever were.

    Names and keys are never reused: a name keeps its role for ever and, once a charter
    has dropped it, never comes back; a key that once belonged to somebody can belong
    to nobody else.
    """

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._role_of_name: dict[str, Role] = {}
        self._name_of_key: dict[bytes, str] = {}
        self._log_keys: set[bytes] = set()

    def adopt(
        self,
        principals: tuple[Principal, ...],
        log_keys: tuple[str, ...],
    ) -> None:
        """Put a charter in force; raise `RefusedError` and change nothing if unfit."""
        members: dict[str, Member] = {}
        log_publics = {parse_verifier(key).public for key in log_keys}
        for principal in principals:
            member = self._member(principal)
            if member.name in members:
                msg = f"{member.name} stands twice in the charter: list each name once"
                raise RefusedError("charter-unfit", msg)
            if any(member.public == other.public for other in members.values()):
                msg = f"the key of {member.name} is another principal's too: one key, one role"
                raise RefusedError("charter-unfit", msg)
            if member.public in log_publics | self._log_keys:
                msg = f"the key of {member.name} is the log's own: give it another key"
                raise RefusedError("charter-unfit", msg)
            members[member.name] = member
        self._require_own_log_keys(log_publics)
        if not any(member.role == "root" for member in members.values()):
            msg = "the charter lists no root: nobody could ever change it"
            raise RefusedError("charter-unfit", msg)
        self.members = members
        self._log_keys |= log_publics
        for member in members.values():
            self._role_of_name[member.name] = member.role
            self._name_of_key[member.public] = member.name

    def copy(self) -> "Roster":
        """Return a roster that can try a charter without being changed itself."""
        other = Roster()
        other.members = dict(self.members)
        other._role_of_name = dict(self._role_of_name)
        other._name_of_key = dict(self._name_of_key)
        other._log_keys = set(self._log_keys)
        return other

    def _require_own_log_keys(self, log_publics: set[bytes]) -> None:
        # Whoever once held the key could sign checkpoints of another history.
        for public in log_publics & self._name_of_key.keys():
            owner = self._name_of_key[public]
            msg = f"a log key is {owner}'s, now or once: give the log a key of its own"
            raise RefusedError("charter-unfit", msg)

    def _member(self, principal: Principal) -> Member:
        key = parse_verifier(principal.key)
        name, role = principal.name, principal.role
        if key.name != name or key.kind != ED25519:
            msg = f"the key of {name} is a key of {key.name}: use a key under that name"
            raise RefusedError("charter-unfit", msg)
        if not is_sound_key(key.public):
            msg = f"the key of {name} is of small order: anything verifies under it"
            raise RefusedError("charter-unfit", msg)
        was_role = self._role_of_name.get(name, role)
        if was_role != role:
            msg = f"{name} was {was_role} and cannot become {role}: take a new name"
            raise RefusedError("charter-unfit", msg)
        if name in self._role_of_name and name not in self.members:
            msg = f"{name} was revoked, and a name never comes back: take a new one"
            raise RefusedError("name-reused", msg)
        was_name = self._name_of_key.get(key.public, name)
        if was_name != name:
            msg = f"the key of {name} once was {was_name}'s: make a new key"
            raise RefusedError("charter-unfit", msg)
        return Member(name=name, public=key.public, role=role)
