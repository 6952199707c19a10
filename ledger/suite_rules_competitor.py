"""What a competitor needs: a principal or a method, and others that it refers to."""

from collections.abc import Iterator
from fractions import Fraction

from ledger.suite_table import Gap, Table, listed
from ledger.suite_view import Suite, unknown

_PAST_RATE = ("prior_count", "prior_weight", "exclude_own_target", "half_life_days")
_REFITTED = ("of", "refit", "min_past")
_NEEDED = {"past_rate": _PAST_RATE, "platt": _REFITTED, "isotonic": _REFITTED}
_ALLOWED = {**_NEEDED, "past_rate": (*_PAST_RATE, "by")}
_REMEDIES = {
    "prior_count": 'write "0.5" (Jeffreys), or "1" (Laplace)',
    "prior_weight": 'write "2", or "0" without `by`',
    "exclude_own_target": "write true for r1, else false",
    "half_life_days": "write how many days halve a weight, or 0 for none",
    "of": "name the competitor whose probabilities are calibrated",
    "refit": 'write "doubling"',
    "min_past": "write how many outcomes the first fit needs",
}
_TWO_NAMES = 2
_BASELINE = "baseline"
# What a competitor says of another one, and what to write instead of an oracle.
_NO_ORACLE = {
    "of": "name what is sealed",
    "predecessor": "name what it was made from, or leave it out",
    "sham": "name a control of the same cost, or leave it out",
}
# A computed competitor says what it is: calibration must not pass for native skill.
_LAYER = {"past_rate": _BASELINE, "platt": "calibrated", "isotonic": "calibrated"}


def competitors_without_origin(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each competitor that nobody seals, or that two ways make."""
    for competitor in suite.competitors:
        seals, computed = competitor.gives("principal"), competitor.gives("method")
        if seals and computed:
            what = "is given beside a method"
            remedy = "keep one: a forecast is sealed, or it is computed"
            yield competitor.gap("principal", what, remedy)
        if not seals and not computed:
            what = "is missing, and so is a method"
            yield competitor.gap("principal", what, "say who seals, or how it is made")


def methods_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each key that a method needs, and each that it ignores."""
    for competitor in suite.competitors:
        method = competitor.text("method")
        if method is None and competitor.gives("method"):
            continue
        for key in _NEEDED.get(method or "", ()):
            if not competitor.gives(key):
                what = f"is missing, and {method} needs it"
                yield competitor.gap(key, what, _REMEDIES[key])
        # Somebody may seal what they recalibrated: then it says of whom.
        is_sealed_calibration = competitor.text("layer") == "calibrated"
        sealed = ("of",) if is_sealed_calibration else ()
        for key in dict.fromkeys(key for keys in _ALLOWED.values() for key in keys):
            if competitor.gives(key) and key not in _ALLOWED.get(method or "", sealed):
                who = f"{method} has no use for it" if method else "there is no method"
                yield competitor.gap(key, f"is given, and {who}", "leave it out")
        layer = competitor.text("layer")
        if method is not None and layer is not None and layer != _LAYER[method]:
            what = f"is {layer}, and {method} makes a {_LAYER[method]} one"
            yield competitor.gap("layer", what, f'write "{_LAYER[method]}"')


def priors_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each past rate whose prior is undefined.

    A rate within equal keys is drawn towards the R1 rate by `prior_weight`; one
    over everything has nothing to be drawn to. Without any prior the rate of an
    empty past would be 0/0.
    """
    for competitor in suite.competitors:
        weight, count = (
            competitor.number("prior_weight"),
            competitor.number("prior_count"),
        )
        if competitor.text("method") != "past_rate" or weight is None or count is None:
            continue
        if Fraction(weight) and not competitor.gives("by"):
            what = f"is {weight} without `by`"
            yield competitor.gap("prior_weight", what, 'write "0", or give `by`')
        if not Fraction(weight) and not Fraction(count):
            what = "is 0 and prior_weight is 0: an empty past has no rate"
            yield competitor.gap("prior_count", what, 'write "0.5", say')
        if Fraction(weight) and not suite.with_role("r1"):
            what = f"is {weight}, and no competitor has the role r1"
            yield competitor.gap("prior_weight", what, "declare the R1 rate")


def roles_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap where two serve as one baseline, or what is no baseline as any.

    Skill is what was gained on the past alone. Whoever may earn credit of their own,
    a market too, is compared with others, and nobody is measured against them.
    """
    for role in ("r1", "r2"):
        for other in suite.with_role(role)[1:]:
            yield other.gap("role", f"is {role} a second time", "keep one")
    for competitor in suite.competitors:
        served, layer = competitor.text("role"), competitor.text("layer")
        if served is not None and layer not in {None, _BASELINE}:
            what = f"is {served}, and {competitor.text('name')} is of the layer {layer}"
            yield competitor.gap("role", what, "give it to one of the layer baseline")
    scoring = suite.top.table("scoring")
    reference = suite.competitor(scoring.text("reference"))
    layer = None if reference is None else reference.text("layer")
    if layer not in {None, _BASELINE}:
        what = f"is {scoring.text('reference')}, of the layer {layer}"
        yield scoring.gap("reference", what, "name one of the layer baseline")


def oracles_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each oracle that others are compared with, or made from.

    An oracle knows what no forecaster can: either would be hindsight.
    """
    naming = [(suite.top, "incumbent", "name what forecasts without hindsight")]
    for competitor in suite.competitors:
        naming += [(competitor, key, remedy) for key, remedy in _NO_ORACLE.items()]
    for table, key, remedy in naming:
        name = table.text(key)
        if name is not None and _is_oracle(suite, name):
            what = f"is {name}, an oracle, which is nobody's measure or source"
            yield table.gap(key, what, remedy)
    for ablation in suite.top.tables("ablations"):
        for name in ablation.texts("order"):
            if _is_oracle(suite, name):
                what = f"has {name}, an oracle, whose evidence nobody could have"
                yield ablation.gap("order", what, "leave it out")


def _is_oracle(suite: Suite, name: str) -> bool:
    named = suite.competitor(name)
    return named is not None and named.text("layer") == "oracle"


def layers_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each layer whose honest name needs more than the competitor says.

    What is calibrated or fitted is no native skill: a row says what it was made from.
    """
    for competitor in suite.competitors:
        layer = competitor.text("layer")
        is_sealed = competitor.gives("principal")
        if layer == "calibrated" and is_sealed and not competitor.gives("of"):
            what = "is missing, and what is calibrated names its source"
            yield competitor.gap("of", what, _REMEDIES["of"])
        if layer == "fitted" and not competitor.gives("inputs"):
            what = "is missing, and what is fitted says on what"
            yield competitor.gap("inputs", what, 'write ["features", "native"], say')


def fill_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap where the time before a first vector would have no baseline's.

    Only what is computed from the past alone stands where a unit was opened.
    """
    scoring = suite.top.table("scoring")
    reference = suite.competitor(scoring.text("reference"))
    is_sealed = reference is not None and reference.text("method") != "past_rate"
    if scoring.claims("baseline_fill") and is_sealed:
        what = f"is true, and {scoring.text('reference')} is no past_rate"
        remedy = "write false, or let a past_rate be the reference"
        yield scoring.gap("baseline_fill", what, remedy)


def references_unknown(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each competitor that is named and does not exist."""
    naming = [(suite.top, "incumbent"), (suite.top.table("scoring"), "reference")]
    for competitor in suite.competitors:
        naming += [(competitor, key) for key in ("of", "predecessor", "sham")]
    for table, key in naming:
        name = table.text(key)
        if name is not None and name not in suite.competitor_names:
            yield unknown(table, key, name, "competitor", suite.competitor_names)
        elif name is not None and name == table.text("name"):
            yield table.gap(key, f"is {name} itself", "name another competitor")


def calibrations_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for calibrations of each other, and for those of no probability."""
    for competitor in suite.competitors:
        circle = _circle(suite, competitor)
        if circle:
            what = f"goes in a circle: {' of '.join(circle)}"
            yield competitor.gap("of", what, "calibrate what somebody seals")
        method = competitor.text("method")
        if method in {"platt", "isotonic"} and not _is_some_binary(suite):
            what = f"is {method}, and no template has a positive answer"
            remedy = "calibrate two-answer templates only"
            yield competitor.gap("method", what, remedy)


def _circle(suite: Suite, competitor: Table) -> tuple[str, ...]:
    """Return the names from `competitor` back to itself along `of`, or ()."""
    start = competitor.text("name")
    chain: list[str] = [] if start is None else [start]
    step = suite.competitor(competitor.text("of"))
    while step is not None and (name := step.text("name")) is not None:
        chain.append(name)
        if name == start:
            # A competitor that calibrates itself has its own sentence.
            return tuple(chain) if len(chain) > _TWO_NAMES else ()
        if name in chain[:-1]:
            return ()
        step = suite.competitor(step.text("of"))
    return ()


def _is_some_binary(suite: Suite) -> bool:
    return any(each.gives("positive") for each in suite.observable)


def ablations_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each ablation whose steps do not exist or have no tier."""
    for ablation in suite.top.tables("ablations"):
        order = ablation.texts("order")
        if len(order) == 1:
            yield ablation.gap("order", f"is {order[0]} alone", "name two or more")
        for name in order:
            step = suite.competitor(name)
            if step is None:
                known = suite.competitor_names
                yield unknown(ablation, "order", name, "competitor", known)
            elif not step.gives("evidence_tier"):
                what = f"is missing, and {ablation.text('name')} ranks it by tier"
                yield step.gap("evidence_tier", what, "say which evidence it reads")


def principals_unknown(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each principal whom the charter does not list in that role."""
    named = [(suite.top, "owner", "evaluator")]
    named += [(each, "principal", "forecaster") for each in suite.competitors]
    named += [(each, "adjudicator", "resolver") for each in suite.observable]
    for table, key, role in named:
        name = table.text(key)
        gap = suite.role_gap(table, key, name, role) if name is not None else None
        if gap is not None:
            yield gap
    for name in suite.top.texts("resolvers"):
        gap = suite.role_gap(suite.top, "resolvers", name, "resolver")
        if gap is not None:
            yield gap


def groupings_unknown(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each grouping by what no forecast or question will ever have."""
    top = suite.top
    gates = top.table("gates")
    grouping = [
        (top, "report_by"),
        (top, "slices"),
        (gates.table("promotion"), "slices"),
        (gates.table("permutation"), "strata"),
        *((competitor, "by") for competitor in suite.competitors),
    ]
    for table, key in grouping:
        for text in table.texts(key):
            tag = text.removeprefix("tag:")
            if tag != text and tag not in suite.tags:
                allowed = listed(sorted(suite.tags)) if suite.tags else "none"
                what = f"has {text}, and no template allows that tag"
                remedy = f"add it to allowed_tags (allowed: {allowed})"
                yield table.gap(key, what, remedy)
            if text == "adaptation_budget" and not top.gives("adaptation_budgets"):
                what = "has adaptation_budget, and no budgets are declared"
                yield table.gap(key, what, "declare adaptation_budgets")
            if text == "evidence_tier" and not any(
                each.gives("evidence_tier") for each in suite.competitors
            ):
                what = "has evidence_tier, and no competitor has one"
                yield table.gap(key, what, "give the competitors their evidence_tier")
