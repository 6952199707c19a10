"""Which unit a run is: the suite, template, horizon and competitor that are meant.

Nothing is guessed. Where exactly one of each fits what was said, it is taken; where
none or several do, the refusal lists them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec

from ledger.errors import UsageError
from ledger.suite import SuiteManifest, Template
from ledger.suite_table import listed, suggestion

_TWO = 2


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line says of a run's unit; None is left to be found."""

    suite: str | None = None
    template: str | None = None
    id: str | None = None
    horizon: str | None = None
    forecaster: str | None = None


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """What it means; `principal` seals for `forecaster`."""

    manifest: SuiteManifest
    template: Template
    horizon: str
    forecaster: str
    principal: str

    def called(self) -> str:
        """Return the options that say it."""
        return (
            f"--suite {self.manifest.suite} --template {self.template.id} "
            f"--horizon {self.horizon} --as {self.forecaster}"
        )


def meant(
    said: Said,
    suites: Mapping[str, SuiteManifest],
    *,
    signers: Collection[str],
    has_issuer: bool,
    is_open: Callable[[str, str, str], bool],
) -> Meant:
    """Return the one unit that fits.

    `signers` are the principals whose keys are at hand, and `is_open` tells whether
    the unit of a suite, template and horizon is open already. Raises `UsageError`.
    """
    reasons: list[str] = []
    found: list[Meant] = []
    for suite, manifest in suites.items():
        if said.suite not in {None, suite, suite.partition("@")[0]}:
            continue
        templates = list(_templates(said, manifest))
        fitting = [
            (template, horizon)
            for template, horizon in templates
            if has_issuer
            or template.question_owner == "forecaster"
            or is_open(suite, template.id, horizon)
        ]
        people = list(_people(said, manifest, signers))
        if not templates:
            reasons.append(f"{suite} has no such template of two answers")
        elif not fitting:
            reasons.append(f"{suite} has an issuer open its questions: --issuer KEY")
        elif not people:
            reasons.append(_nobody(said.forecaster, suite, manifest))
        found += [
            Meant(
                manifest=manifest, template=template, horizon=horizon,
                forecaster=forecaster, principal=principal,
            )
            for template, horizon in fitting
            for forecaster, principal in people
        ]  # fmt: skip
    if len(found) == 1:
        return found[0]
    if found:
        ways = "; ".join(each.called() for each in found)
        msg = f"{len(found)} units could be meant, so say which: {ways}"
        raise UsageError(msg)
    known = listed(list(suites), last="and") if suites else "none"
    why = "; ".join(reasons) or f"no suite in force is {said.suite}, those are {known}"
    raise UsageError(f"no suite fits: {why}")


def _nobody(name: str | None, suite: str, manifest: SuiteManifest) -> str:
    """Say why nobody of a suite can be meant."""
    if name is None or manifest.competitor(name) is not None:
        return f"{suite} has no competitor whose key is at hand: --keys"
    known = [each.name for each in manifest.competitors]
    hint = suggestion(name, known) or f"it has {listed(known, last='and')}"
    return f"{suite} has no competitor {name}: {hint}"


def _templates(said: Said, manifest: SuiteManifest) -> Iterator[tuple[Template, str]]:
    """Yield the templates that an exit status can answer, with their horizons."""
    for template in manifest.observable:
        if said.template not in {None, template.id}:
            continue
        if len(template.answers) != _TWO or template.positive is None:
            continue
        for horizon in template.horizons:
            if said.horizon in {None, horizon}:
                yield template, horizon


def _people(
    said: Said, manifest: SuiteManifest, signers: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the competitors that may be meant, with the principals who seal for them."""
    for each in manifest.competitors:
        is_named = said.forecaster in {None, each.name}
        if is_named and each.principal is not None and each.principal in signers:
            yield each.name, each.principal
