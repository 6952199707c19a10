"""What a short command means: the only suite, template or competitor there is.

Nothing is guessed: where two things could be meant, the command says so and which.
What was taken as meant is told on stderr.
"""

from collections.abc import Iterable

from ledger.cli import render
from ledger.cli.context import KeyRing
from ledger.cli.submitting import require_listed
from ledger.errors import RefusedError, UsageError
from ledger.keys.roster import Role
from ledger.rules_question import require_observable, require_suite
from ledger.state import FrozenSuite, State
from ledger.suite import Template
from ledger.suite_table import listed, suggestion
from ledger.unit import unit_name

Fields = dict[str, object]
_AT_HAND = "whose key is at hand"


class Meaning:
    """Fills the names that a draft leaves out, and remembers what it filled in."""

    def __init__(self, draft: Fields, state: State, ring: KeyRing) -> None:
        """Take the draft, which is changed in place."""
        self.draft = draft
        self._state = state
        self._ring = ring
        self._taken: list[str] = []

    def tell(self) -> None:
        """Say on stderr what was taken as meant."""
        if self._taken:
            render.note(f"Taken as meant: {', '.join(self._taken)}.")

    def suite(self) -> FrozenSuite:
        """Return the suite that is meant: the named one, or the only one in force.

        Where a unit is named by its id, those that have it open come first.
        """
        if not self.draft.get("suite"):
            in_force = [
                name
                for name in self._state.suites
                if not self._state.is_superseded(name)
            ]
            known = [
                name for name in in_force if self._has_unit(self._state.suites[name])
            ]
            what = "suites in force"
            if known:
                what = f"suites in which {self.draft['id']} is open"
            self.draft["suite"] = self._only("--suite", known or in_force, what)
        named = str(self.draft["suite"])
        if named in self._state.latest:
            self.draft["suite"] = f"{named}@v{self._state.latest[named]}"
            self._taken.append(f"--suite {self.draft['suite']}")
        return require_suite(self._state, str(self.draft["suite"]))

    def unit(self, frozen: FrozenSuite) -> None:
        """Name template and horizon, where a unit is named by its parts."""
        if self.draft.get("question") or self.draft.get("question_hash"):
            return
        if not self.draft.get("template"):
            templates = [each.id for each in frozen.manifest.observable]
            what = f"scored templates in {frozen.manifest.suite}"
            self.draft["template"] = self._only("--template", templates, what)
        if self.draft["template"] not in frozen.templates:
            raise _unknown("template", self.draft["template"], frozen, frozen.templates)
        require_observable(frozen.templates[str(self.draft["template"])])
        if not self.draft.get("horizon") and self.draft.get("id"):
            self._horizon(frozen)

    def _horizon(self, frozen: FrozenSuite) -> None:
        """Name the horizon of the only unit with that id, or the template's only one."""
        template = frozen.templates[str(self.draft["template"])]
        known = self._horizons(frozen.manifest.suite, template)
        what = f"horizons of {template.id}"
        if known:
            what = f"horizons at which {self.draft['id']} is open"
        self.draft["horizon"] = self._only(
            "--horizon", known or template.horizons, what
        )

    def _has_unit(self, frozen: FrozenSuite) -> bool:
        """Tell whether a suite has a unit open that is named so far like this."""
        named = self.draft.get("template")
        return any(
            self._horizons(frozen.manifest.suite, template)
            for template in frozen.templates.values()
            if named in {None, template.id}
        )

    def _horizons(self, suite: str, template: Template) -> list[str]:
        """Return the horizons at which a template has the unit of that id open."""
        id_ = str(self.draft.get("id"))
        return [
            horizon
            for horizon in template.horizons
            if self._state.units.named(unit_name(suite, template.id, id_, horizon))
        ]

    def forecaster(self, frozen: FrozenSuite) -> None:
        """Name the competitor, and the principal who seals for it."""
        author = self.draft.get("author")
        if author:
            require_listed(str(author), self._state.roster)
        if not self.draft.get("forecaster"):
            at_hand = [
                each.name
                for each in frozen.manifest.competitors
                if each.principal is not None
                and (
                    each.principal == author if author else each.principal in self._ring
                )
            ]
            whose = f"for whom {author} seals" if author else _AT_HAND
            what = f"competitors of {frozen.manifest.suite} {whose}"
            self.draft["forecaster"] = self._only("--as", at_hand, what)
        competitor = frozen.competitors.get(str(self.draft["forecaster"]))
        if competitor is None:
            known = frozen.competitors
            raise _unknown("competitor", self.draft["forecaster"], frozen, known)
        if competitor.principal is None:
            msg = f"{competitor.name} is computed ({competitor.method}): nobody seals for it"
            raise RefusedError("not-your-competitor", msg)
        if not author:
            self.draft["author"] = competitor.principal

    def resolver(self, frozen: FrozenSuite) -> None:
        """Name who records: an issuer for PENDING, else a resolver of the suite."""
        if self.draft.get("author"):
            return
        resolvers = [name for name in frozen.manifest.resolvers if name in self._ring]
        people, what = resolvers, f"resolvers of {frozen.manifest.suite}"
        if self.draft.get("status") == "PENDING":
            people = self._people("issuer") or resolvers
            what = "issuers"
        what = f"{what} {_AT_HAND}"
        self.draft["author"] = self._only("--author", people, what)

    def _people(self, role: Role) -> list[str]:
        members = self._state.roster.members.values()
        return [
            each.name
            for each in members
            if each.role == role and each.name in self._ring
        ]

    def _only(self, option: str, candidates: Iterable[str], what: str) -> str:
        names = list(candidates)
        if len(names) != 1:
            known = listed(names, last="and") if names else "none"
            msg = f"say which with {option}: the {what} are {known}"
            if not names and option == "--suite":
                msg = (
                    "no suite is frozen here: `ledger suite new NAME` writes one to "
                    "edit, and `ledger suite freeze FILE` freezes it"
                )
            if not names and what.endswith(_AT_HAND):
                msg += f", for {self._ring.folder} has none of theirs: --keys FOLDER says where it is"
            raise UsageError(msg)
        self._taken.append(f"{option} {names[0]}")
        return names[0]


def _unknown(
    what: str, name: object, frozen: FrozenSuite, known: Iterable[str]
) -> RefusedError:
    names = list(known)
    hint = suggestion(str(name), names) or f"it has {listed(names, last='and')}"
    msg = f"{frozen.manifest.suite} has no {what} {name}: {hint}"
    return RefusedError(f"unknown-{what}", msg)
