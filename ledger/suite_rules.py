"""What the parts of a suite demand of each other.

    who        principals exist, have the role that they need, and judge nobody
               whose forecasts they make
    what       templates that can be scored have all that scoring needs
    whom       competitors have a principal or a method, and what it needs
    how        names meant for another part name something there
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

from ledger.ids import CHARTER
from ledger.suite_table import Gap, Table, listed, nearest

_TEMPLATE_KEYS = {
    "resolution_rule": "say which observation makes which answer true",
    "sources": "name at least one, in order of trust",
    "adjudicator": "name the resolver who decides what the rule leaves open",
    "ambiguity": "write void or adjudicate",
    "horizons": "write at least one label, such as 24h",
    "question_owner": "write evaluator, issuer or forecaster",
    "requires_acceptance": "write true or false",
    "intervention_sensitive": "write true if a forecaster can act on the outcome",
    "max_open_hours": "write within how many hours a question must be resolved",
    "min_lead_hours": "write how many hours lie between cutoff and resolution, or 0",
}
# Without these an observable proposition can never be given an honest label.
_UNSCORABLE = {"resolution_rule", "sources", "ambiguity", "horizons", "max_open_hours"}
_METHOD_KEYS = {
    "past_rate": ("prior_count", "prior_weight", "exclude_own_target", "half_life_days"),
    "platt": ("of", "refit", "min_past"),
    "isotonic": ("of", "refit", "min_past"),
}
_ONLY_WITH_METHOD = {
    "prior_count",
    "prior_weight",
    "exclude_own_target",
    "half_life_days",
    "by",
    "of",
    "refit",
    "min_past",
}
_METHOD_LAYER = {
    "past_rate": "baseline",
    "platt": "calibrated",
    "isotonic": "calibrated",
}
_BINARY = 2


class Suite:
    """A manifest as the rules read it, and the charter's roles where they are known."""

    def __init__(self, top: Table, roles: Mapping[str, str] | None) -> None:
        self.top = top
        self.roles = roles
        self.templates = top.tables("templates")
        self.competitors = top.tables("competitors")
        self.observable = tuple(
            template
            for template in self.templates
            if template.text("kind") == "observable"
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The competitors' names."""
        named = (competitor.text("name") for competitor in self.competitors)
        return tuple(name for name in named if name is not None)

    @cached_property
    def forecasting(self) -> frozenset[str]:
        """The principals that seal for some competitor."""
        named = (competitor.text("principal") for competitor in self.competitors)
        return frozenset(name for name in named if name is not None)

    @cached_property
    def answers(self) -> frozenset[str] | None:
        """All fixed answers; None where some template leaves them to its questions."""
        if any(not template.gives("answers") for template in self.observable):
            return None
        return frozenset(
            answer
            for template in self.observable
            for answer in template.texts("answers")
        )

    def competitor(self, name: str | None) -> Table | None:
        """Return the competitor called `name`, or None."""
        return next(
            (each for each in self.competitors if each.text("name") == name), None
        )
