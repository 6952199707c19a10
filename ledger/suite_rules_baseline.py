"""What skill is measured against: the past of everybody, in nobody's own hands."""

from collections.abc import Iterator

from ledger.suite_table import Gap, Table, listed
from ledger.suite_view import Suite, unknown

_BASELINE, _TARGET = "baseline", "target"


def measures_in_own_hands(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each measure that is sealed by whoever is measured by it.

    A measure is `scoring.reference`, and whatever serves as r1 or r2. Whoever seals
    it poorly gains skill without forecasting any better, also through a calibration
    of what they seal.
    """
    reference = suite.top.table("scoring").text("reference")
    for measure in suite.competitors:
        owner, name = measure.text("principal"), measure.text("name")
        is_measure = measure.gives("role") or (name is not None and name == reference)
        if owner is None or not is_measure:
            continue
        measured = [
            each.text("name") or "a competitor"
            for each in suite.competitors
            if each.text("layer") not in {None, _BASELINE}
            and _origin(suite, each).text("principal") == owner
        ]
        if measured:
            what = f"is {owner}, whose own {listed(measured, last='and')} would be measured by it"
            remedy = (
                'let another principal seal it, or compute it with method = "past_rate"'
            )
            yield measure.gap("principal", what, remedy)


def _origin(suite: Suite, competitor: Table) -> Table:
    """Return what a computed calibration was made from in the end; mostly itself."""
    passed: list[Table] = []
    while competitor.text("method") is not None and competitor not in passed:
        passed.append(competitor)
        competitor = suite.competitor(competitor.text("of")) or competitor
    return competitor


def past_rates_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap where a past rate is not what its role says (METRICS §7).

    R1 is the rate of the other targets, R2 the target's own. Where public events are
    asked about, each is a target of its own that has no past: there R2 may be the rate
    of the events with the same tag.
    """
    for r1 in suite.with_role("r1"):
        if r1.claims("exclude_own_target") is False:
            what = "is false, and r1 is the rate of the other targets"
            yield r1.gap("exclude_own_target", what, "write true, or drop the role")
        if _TARGET in r1.texts("by"):
            what = "has target, and r1 is the rate of the other targets: none is left"
            yield r1.gap("by", what, "leave target out")
    for r2 in suite.with_role("r2"):
        if r2.text("method") is None:
            continue
        if r2.claims("exclude_own_target"):
            what = "is true, and r2 is the target's own routine"
            yield r2.gap("exclude_own_target", what, "write false, or drop the role")
        keys = r2.texts("by")
        if not r2.gives("by"):
            what = "is missing, and r2 is the target's own routine"
            yield r2.gap("by", what, 'write ["target"], or drop the role')
        elif keys and not {_TARGET, *_tags_of_events(suite)} & set(keys):
            what = f"is {listed(keys, last='and')}, and r2 is the target's own routine"
            yield r2.gap("by", what, "add target, or drop the role")


def _tags_of_events(suite: Suite) -> set[str]:
    is_of_events = suite.top.text("track") == "world"
    return {f"tag:{tag}" for tag in suite.tags} if is_of_events else set()


def pool_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each past that computed competitors would not have.

    They would be left with their priors, which anybody beats.
    """
    pool, own = suite.top.table("baseline_pool"), suite.top.text("suite")
    suites, templates = pool.texts("suites"), pool.texts("templates")
    if suites and own is not None and own not in suites:
        what = f"is {listed(suites, last='and')}, without {own} itself"
        yield pool.gap("suites", what, "add it, since its own outcomes are its past")
    for name in suites:
        if suite.frozen is not None and name not in {own, *suite.frozen}:
            what = f"has {name}, which is not frozen in this ledger"
            yield pool.gap("suites", what, "freeze it first, or leave it out")
    known = (each.text("id") for each in suite.observable)
    ids = [name for name in known if name is not None]
    for own_id in ids if templates else ():
        if own_id not in templates:
            what = f"is {listed(templates, last='and')}, without {own_id}, which is scored here"
            yield pool.gap(
                "templates", what, "add it, since its own outcomes are its past"
            )
    # A template may also belong to another suite of the pool, whose own are unknown.
    for name in templates if suites == (own,) else ():
        if name not in ids:
            yield unknown(pool, "templates", name, "observable template", ids)
