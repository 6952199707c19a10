"""What a short command means: the only suite, template or competitor there is.

Nothing is guessed: where two things could be meant, the command says so and which.
What was taken as meant is told on stderr.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ledger.cli import render
from ledger.cli.context import KeyRing
from ledger.cli.submitting import require_listed
from ledger.errors import RefusedError, UsageError
from ledger.keys.roster import Role
from ledger.rules_question import require_observable, require_suite
from ledger.state import FrozenSuite, State
from ledger.suite import Template
from ledger.suite_table import listed, suggestion
from ledger.unit import Unit, unit_name
from ledger.unseen import whole

Fields = dict[str, object]
_AT_HAND = "whose key is at hand"


class Meaning:
    """Fills the names that a draft leaves out, and remembers what it filled in."""

    def __init__(
        self, draft: Fields, state: State, ring: KeyRing, *, opens: bool = False
    ) -> None:
        """Take the draft, which is changed in place; `opens` if it brings a question."""
        self.draft = draft
        self._state = state
        self._ring = ring
        self._opens = opens
        self._taken: list[str] = []

    def tell(self) -> None:
        """Say on stderr what was taken as meant."""
        if self._taken:
            render.note(f"Taken as meant: {', '.join(self._taken)}.")

    def suite(self) -> FrozenSuite:
        """Return the suite that is meant: the named one, or the only one in force.

        Where a unit is named by its id, those that have it open come first, also those
        that were superseded since; then those that have the template.
        """
        if not self.draft.get("suite"):
            suites = self._state.suites
            known, how = self._first_that_have(
                {name: self._units(suites[name]) for name in suites}
            )
            if known:
                names, what = known, f"suites in which {self.draft['id']} {how}"
            else:
                names, what = self._in_force()
            self.draft["suite"] = self._only("--suite", names, what)
        named = str(self.draft["suite"])
        if named in self._state.latest:
            self.draft["suite"] = f"{named}@v{self._state.latest[named]}"
            self._taken.append(f"--suite {self.draft['suite']}")
        return require_suite(self._state, str(self.draft["suite"]))

    def _in_force(self) -> tuple[list[str], str]:
        """Return the suites in force that have the template, and what they are."""
        suites = self._state.suites
        in_force = [name for name in suites if not self._state.is_superseded(name)]
        template = self.draft.get("template")
        if not template or not in_force:
            return in_force, "suites in force"
        templates = {name: [*suites[name].templates] for name in in_force}
        having = [name for name in in_force if template in templates[name]]
        if not having:
            known = sorted({*chain.from_iterable(templates.values())})
            hint = suggestion(str(template), known)
            hint = hint or f"they have {listed(known, last='and')}"
            msg = f"no suite in force has a template {template}: {hint}"
            raise RefusedError("unknown-template", msg)
        return having, f"suites in force with the template {template}"

    def unit(self, frozen: FrozenSuite) -> None:
        """Name template and horizon, where a unit is named by its parts."""
        if self.draft.get("question") or self.draft.get("question_hash"):
            return
        if not self.draft.get("template"):
            self._template(frozen)
        named = self.draft["template"]
        if not isinstance(named, str) or named not in frozen.templates:
            raise _unknown("template", named, frozen, frozen.templates)
        require_observable(frozen.templates[named])
        if not self.draft.get("horizon") and self.draft.get("id"):
            self._horizon(frozen, frozen.templates[named])

    def _template(self, frozen: FrozenSuite) -> None:
        """Name the template of the only unit with that id, or the only one there is."""
        units: dict[str, list[Unit]] = {}
        for template, _, unit in self._units_at(frozen):
            units.setdefault(template, []).append(unit)
        names, how = self._first_that_have(units)
        what = f"templates in which {self.draft.get('id')} {how}"
        if not names:
            names = [each.id for each in frozen.manifest.observable]
            what = f"scored templates in {frozen.manifest.suite}"
        self.draft["template"] = self._only("--template", names, what)

    def _horizon(self, frozen: FrozenSuite, template: Template) -> None:
        """Name the horizon of the only unit with that id, or the template's only one."""
        units = {horizon: [unit] for _, horizon, unit in self._units_at(frozen)}
        names, how = self._first_that_have(units)
        what = f"horizons at which {self.draft['id']} {how}"
        if not names:
            names, what = [*template.horizons], f"horizons of {template.id}"
        self.draft["horizon"] = self._only("--horizon", names, what)

    def _units(self, frozen: FrozenSuite) -> list[Unit]:
        return [unit for _, _, unit in self._units_at(frozen)]

    def _units_at(self, frozen: FrozenSuite) -> Iterator[tuple[str, str, Unit]]:
        """Yield template, horizon and state of each unit of a suite that may be meant.

        None where a question is brought: that one is new.
        """
        id_ = self.draft.get("id")
        if self._opens or not isinstance(id_, str) or not id_ or whole(id_) != id_:
            return
        suite, nothing = frozen.manifest.suite, (None, "")
        stated, at = self.draft.get("template"), self.draft.get("horizon")
        for template in frozen.templates.values():
            for horizon in template.horizons:
                if stated in (*nothing, template.id) and at in (*nothing, horizon):
                    name = unit_name(suite, template.id, id_, horizon)
                    unit = self._state.units.named(name)
                    if unit is not None:
                        yield template.id, horizon, unit

    def _first_that_have(
        self, units: Mapping[str, Sequence[Unit]]
    ) -> tuple[list[str], str]:
        """Return the names that have a unit open, else one at all; and which of these."""
        opened = [
            name for name, those in units.items() if any(map(self._is_open, those))
        ]
        # Who amends or reviews a record may mean any unit that has one.
        if opened and not (self.draft.get("supersedes") or self.draft.get("confirms")):
            return opened, "is open"
        return [name for name, those in units.items() if those], "was asked"

    def _is_open(self, unit: Unit) -> bool:
        standing = unit.standing(self._state.lost)
        return standing is None or standing.status == "PENDING"

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
            if not at_hand:
                self._require_some_listed(frozen)
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

    def _require_some_listed(self, frozen: FrozenSuite) -> None:
        """Refuse where the charter lists nobody who seals here: no key would help."""
        principals = [each.principal for each in frozen.manifest.competitors]
        sealing = [each for each in principals if each is not None]
        if sealing and not self._state.roster.members.keys() & set(sealing):
            require_listed(sealing[0], self._state.roster)

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
