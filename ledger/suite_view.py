"""A manifest as the rules read it: its parts by name, and the charter's roles."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from ledger.suite_table import Gap, Table, listed, suggestion


class Suite:
    """The sound parts of a manifest, and what is known of the ledger it is for.

    `roles` is None where no charter is known, `frozen` where no log is.
    """

    def __init__(
        self,
        top: Table,
        roles: Mapping[str, str] | None,
        frozen: Collection[str] | None,
    ) -> None:
        self.top = top
        self.roles = roles
        self.frozen = frozen
        self.templates = top.tables("templates")
        self.competitors = top.tables("competitors")
        self.observable = tuple(
            each for each in self.templates if each.text("kind") == "observable"
        )

    @cached_property
    def competitor_names(self) -> frozenset[str]:
        """What the competitors are called."""
        return _texts(self.competitors, "name")

    @cached_property
    def forecasting(self) -> frozenset[str]:
        """The principals that seal for some competitor."""
        return _texts(self.competitors, "principal")

    @cached_property
    def tags(self) -> frozenset[str]:
        """The tags that a question of some template may have."""
        return frozenset(
            tag for each in self.observable for tag in each.texts("allowed_tags")
        )

    @cached_property
    def answers(self) -> frozenset[str] | None:
        """All fixed answers; None where a template leaves them to its questions."""
        if not all(each.gives("answers") for each in self.observable):
            return None
        return frozenset(
            answer for each in self.observable for answer in each.texts("answers")
        )

    def competitor(self, name: str | None) -> Table | None:
        """Return the competitor called `name`, or None."""
        called = (each for each in self.competitors if each.text("name") == name)
        return next(called, None) if name is not None else None

    def with_role(self, role: str) -> list[Table]:
        """Return the competitors that serve as `role`; more than one is a gap."""
        return [each for each in self.competitors if each.text("role") == role]

    def role_gap(self, table: Table, key: str, name: str, role: str) -> Gap | None:
        """Return a gap if the charter lists no `name`, or not in that role."""
        if self.roles is None or self.roles.get(name) == role:
            return None
        fitting = [each for each, has in self.roles.items() if has == role]
        remedy = f"name a principal with the role {role}"
        remedy += f" ({listed(sorted(fitting)) if fitting else 'there is none yet'})"
        if name in self.roles:
            what = f"names {name}, who is {self.roles[name]}"
        else:
            what = f"names {name}, whom the charter does not list"
        return table.gap(key, what, remedy)


def unknown(table: Table, key: str, name: str, kind: str, known: Iterable[str]) -> Gap:
    """Return the gap of a name under `key` that nothing of that kind has."""
    names = sorted(known)
    if hint := suggestion(name, names):
        remedy = hint
    elif names:
        remedy = f"write {listed(names)}"
    else:
        remedy = "declare it"
    return table.gap(key, f"is {name}, and there is no such {kind}", remedy)


def _texts(tables: Iterable[Table], key: str) -> frozenset[str]:
    found = (table.text(key) for table in tables)
    return frozenset(text for text in found if text is not None)
