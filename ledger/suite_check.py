"""What a suite lacks before it can be frozen, all at once, and the frozen suite.

Pure: the caller reads the file and knows the charter. A frozen suite is checked
again wherever its log is replayed. So a rule here may be loosened within
`suite/1`, never tightened: logs that were accepted would not verify any more.
"""

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ledger import suite_bounds as bounds
from ledger import suite_rules_baseline as baseline
from ledger import suite_rules_competitor as competitor
from ledger import suite_rules_template as template
from ledger.errors import RefusedError
from ledger.ids import CHARTER
from ledger.suite import SuiteManifest
from ledger.suite_shape import examine
from ledger.suite_table import Gap
from ledger.suite_view import Suite


def manifest_from_toml(text: str, file: str = "the suite") -> dict[str, Any]:
    """Return the mapping that a suite's TOML says, as its author wrote it.

    Raises `RefusedError` (`suite-not-toml`) for text that is no TOML.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) or "tables nest too deeply"
        msg = f"{file} is no TOML: {reason}; correct the file there"
        raise RefusedError("suite-not-toml", msg) from None


def gaps(
    manifest: Mapping[str, object] | SuiteManifest,
    roles: Mapping[str, str] | None = None,
    frozen: Collection[str] | None = None,
) -> list[Gap]:
    """Return everything that keeps `manifest` from being frozen; [] if nothing does.

    A mapping is what somebody wrote: each required key must stand there. In a
    struct, which comes from a payload, empty collections are rightly absent.
    `roles` says which role each principal of the charter has; without it nobody's
    role is checked. `frozen` are the suites of the ledger: without them a pool may
    name any. Which version may follow which is for the door to say.
    """
    is_written = not isinstance(manifest, SuiteManifest)
    mapping = as_mapping(manifest)
    table, found = examine(mapping, is_written=is_written)
    suite = Suite(table, roles, frozen)
    # What has the wrong form is named already: no rule speaks of it a second time.
    named = {gap.where for gap in found}
    for rule in _RULES:
        found += (gap for gap in rule(suite) if gap.where not in named)
    return found


def as_mapping(manifest: Mapping[str, object] | SuiteManifest) -> Mapping[str, object]:
    """Return the keys and values of a manifest, whichever form it has."""
    if isinstance(manifest, SuiteManifest):
        built = msgspec.to_builtins(manifest)
        assert isinstance(built, dict)
        return built
    return manifest


def freeze_manifest(
    manifest: Mapping[str, object],
    roles: Mapping[str, str] | None = None,
) -> SuiteManifest:
    """Return the suite that `manifest` describes, complete and sound.

    Raises `RefusedError` with one sentence that names every gap:
    `unscorable-proposition` if one of them is that no honest label could ever be
    given, else `suite-incomplete`.
    """
    found = gaps(manifest, roles)
    if found:
        unscorable = any(gap.is_unscorable for gap in found)
        code = "unscorable-proposition" if unscorable else "suite-incomplete"
        raise RefusedError(code, sentence(manifest, found))
    return msgspec.convert(manifest, SuiteManifest)


def sentence(manifest: Mapping[str, object], found: list[Gap]) -> str:
    """Return one sentence that names the suite and each of its gaps."""
    name = manifest.get("suite")
    called = name if isinstance(name, str) and name else "the suite"
    count = "1 gap" if len(found) == 1 else f"{len(found)} gaps"
    return f"{called} has {count}: {'; '.join(map(str, found))}"


def _claimed_and_preregistered(suite: Suite) -> Iterator[Gap]:
    top = suite.top
    # Authors' own times can be written after the fact: nothing proves an order.
    if top.text("chronology") == "claimed" and top.text("run_class") == "preregistered":
        what = "is claimed in a preregistered suite"
        remedy = 'write run_class = "exploratory", or chronology = "received"'
        yield top.gap("chronology", what, remedy)


def _reserved_name(suite: Suite) -> Iterator[Gap]:
    name = suite.top.text("suite")
    if name is not None and name.split("@")[0] == CHARTER:
        what = f"is {name}, the name of the ledger's charter"
        yield suite.top.gap("suite", what, "take another name")


def _no_look_schedule(suite: Suite) -> Iterator[Gap]:
    statistics = suite.top.table("statistics")
    # Looking whenever one likes is choosing when to stop.
    is_registered = suite.top.text("run_class") == "preregistered"
    if is_registered and not statistics.gives("looks"):
        what = "is empty in a preregistered suite"
        remedy = "write at how many resolved units the results are looked at"
        yield statistics.gap("looks", what, remedy)


def _no_coverage(suite: Suite) -> Iterator[Gap]:
    coverage = suite.top.table("coverage")
    minimum = coverage.number("minimum")
    is_registered = suite.top.text("run_class") == "preregistered"
    if is_registered and minimum is not None and not Fraction(minimum):
        # Whoever chooses what to forecast chooses the score.
        what = "is 0 in a preregistered suite"
        remedy = 'write the share of the units that a row covers, such as "0.95"'
        yield coverage.gap("minimum", what, remedy)


def _on_tables(
    rule: Callable[[Any], Iterator[Gap]],
) -> Callable[[Suite], Iterator[Gap]]:
    return lambda suite: rule(suite.top)


_RULES: tuple[Callable[[Suite], Iterator[Gap]], ...] = (
    _reserved_name,
    _claimed_and_preregistered,
    competitor.principals_unknown,
    template.nothing_to_score,
    template.templates_unfinished,
    template.answers_unfit,
    template.question_lists_unfit,
    template.judges_unfit,
    template.adjudicators_who_cannot_resolve,
    template.labels_that_are_inputs,
    competitor.competitors_without_origin,
    competitor.methods_unfit,
    competitor.priors_unfit,
    competitor.roles_unfit,
    competitor.oracles_unfit,
    competitor.layers_unfit,
    competitor.fill_unfit,
    competitor.references_unknown,
    competitor.calibrations_unfit,
    competitor.ablations_unfit,
    baseline.measures_in_own_hands,
    baseline.past_rates_unfit,
    baseline.pool_unfit,
    competitor.groupings_unknown,
    template.clip_too_wide,
    template.utility_event_unknown,
    _no_look_schedule,
    _no_coverage,
    _on_tables(bounds.numbers_out_of_bounds),
    _on_tables(bounds.numbers_too_fine),
    _on_tables(bounds.lists_out_of_order),
    _on_tables(bounds.pairs_out_of_order),
    _on_tables(bounds.ranges_without_what_is_faultless),
    _on_tables(bounds.costs_without_a_choice),
    _on_tables(bounds.splits_that_end_before_they_start),
)
