"""What may be frozen and can never come to what its author seems to want of it.

A warning keeps nothing from being frozen: it says which verdict a suite cannot reach,
or which rows of it will be labelled, before anybody has waited for them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from math import ceil

from ledger.ids import parse_version
from ledger.suite import SuiteManifest
from ledger.suite_check import as_mapping
from ledger.suite_shape import examine
from ledger.suite_table import Gap, Table, listed
from ledger.suite_view import Suite

_BINARY = 2
_SPENDING = ("train", "tune")
_ROLES = ("r1", "r2")
# Noise passes one of three looks in one suite of twenty, and one of 200 in up to five.
_LOOKS = 5


def warnings(
    manifest: Mapping[str, object] | SuiteManifest,
    frozen: Collection[str] | None = None,
) -> list[Gap]:
    """Return what a suite can be frozen with and its author may not want.

    Where a suite is exploratory or not there to be scored, nothing is said of claims:
    no row of it can make any. `frozen` are the suites of the ledger, if there is one.
    """
    top, _ = examine(as_mapping(manifest), is_written=False)
    suite = Suite(top, None, frozen)
    makes_claims = (
        top.text("run_class") == "preregistered" and top.text("run_purpose") == "score"
    )
    rules = (*_ALWAYS, *(_OF_CLAIMS if makes_claims else ()))
    return [warning for rule in rules for warning in rule(suite)]


def _holdouts_spent(suite: Suite) -> Iterator[Gap]:
    splits = suite.top.table("statistics").tables("splits")
    for holdout in splits:
        for other in splits:
            use = other.text("purpose")
            is_spent = holdout.text("purpose") == "holdout" and use in _SPENDING
            if is_spent and _meet(holdout, other):
                what = f"is holdout, and {other.text('name')}, which is there to {use} on, has instants in common with it"
                remedy = "set them apart, or its rows are labelled spent_holdout and earn nothing"
                yield holdout.gap("purpose", what, remedy)


def _meet(one: Table, other: Table) -> bool:
    starts = one.instant("from"), other.instant("from")
    ends = one.instant("until"), other.instant("until")
    if None in (*starts, *ends):
        return False
    return max(filter(None, starts)) < min(filter(None, ends))


def _pool_unseen(suite: Suite) -> Iterator[Gap]:
    pool, own = suite.top.table("baseline_pool"), suite.top.text("suite")
    for name in pool.texts("suites") if suite.frozen is None else ():
        if name != own:
            what = f"has {name}, which nobody can look up without a ledger"
            yield pool.gap("suites", what, "it must be frozen before this suite is")


def _baselines_missing(suite: Suite) -> Iterator[Gap]:
    lacking = [role for role in _ROLES if not suite.with_role(role)]
    if lacking:
        what = f"has no {listed(lacking)}, and credit is skill over both"
        remedy = "give the role to a baseline, or no row earns credit"
        yield suite.top.gap("competitors", what, remedy)
    is_computed = any(each.text("method") == "past_rate" for each in suite.competitors)
    if not is_computed and not suite.top.gives("incumbent"):
        what = "has no past_rate, and there is no incumbent"
        remedy = "add one, or nobody can be promoted past anybody"
        yield suite.top.gap("competitors", what, remedy)


def _headline_averaged(suite: Suite) -> Iterator[Gap]:
    if suite.top.text("headline") == "time_weighted":
        what = "is time_weighted, which averages over what was said of a unit"
        remedy = "take another slot, or rows with updates have no calibration, no credit and no utility"
        yield suite.top.gap("headline", what, remedy)


def _answers_without_calibration(suite: Suite) -> Iterator[Gap]:
    for template in suite.observable:
        answers = template.texts("answers")
        remedy = (
            "ask for two, with a positive, or no row with its questions earns credit"
        )
        if len(answers) > _BINARY:
            what = (
                f"is {listed(answers, last='and')}, and calibration is of two answers"
            )
            yield template.gap("answers", what, remedy)
        elif not template.gives("answers"):
            what = "is left to each question, and calibration is of two answers"
            yield template.gap("answers", what, remedy)


def _questions_of_forecasters(suite: Suite) -> Iterator[Gap]:
    for template in suite.observable:
        if template.text("question_owner") == "forecaster":
            what = (
                "is forecaster, and what forecasters ask themselves is never official"
            )
            yield template.gap("question_owner", what, "write issuer or evaluator")


def _horizons_mixed(suite: Suite) -> Iterator[Gap]:
    horizons = {name for each in suite.observable for name in each.texts("horizons")}
    reported = {*suite.top.texts("report_by"), *suite.top.texts("slices")}
    if len(horizons) > 1 and "horizon" not in reported:
        what = (
            f"is without horizon, and there are {listed(sorted(horizons), last='and')}"
        )
        remedy = "add it, since a row over several earns no credit"
        yield suite.top.gap("report_by", what, remedy)


def _looks_too_early(suite: Suite) -> Iterator[Gap]:
    statistics = suite.top.table("statistics")
    looks = statistics.sound.get("looks", ())
    if not looks:
        return
    last = int(looks[-1])
    wanted = {
        "min_class_gate": (_BINARY, "in each of two classes, or no row earns credit"),
        "min_clusters": (1, "clusters, or no row has an interval"),
        "min_slice": (1, "units, or each row is a small_sample that earns nothing"),
    }
    for key, (times, why) in wanted.items():
        least = statistics.number(key)
        if least is not None and last < times * int(least):
            what = f"ends at {last} resolved units, and {key} asks for {least} {why}"
            remedy = f"add a look at {times * int(least)} or more"
            yield statistics.gap("looks", what, remedy)


def _looks_too_many(suite: Suite) -> Iterator[Gap]:
    statistics = suite.top.table("statistics")
    looks = statistics.sound.get("looks", ())
    if len(looks) > _LOOKS:
        what = f"has {len(looks)} looks, each of which is a chance for noise to pass"
        remedy = f"write {_LOOKS} or fewer, or each row is labelled lax_gates"
        yield statistics.gap("looks", what, remedy)


def _past_left_out(suite: Suite) -> Iterator[Gap]:
    pool, own = suite.top.table("baseline_pool"), suite.top.text("suite")
    is_computed = any(each.text("method") == "past_rate" for each in suite.competitors)
    if own is None or not is_computed:
        return
    left_out = [
        each for each in _earlier(own, suite.frozen) if each not in pool.texts("suites")
    ]
    if left_out:
        what = f"leaves out {listed(left_out, last='and')}, whose outcomes forecasters may know"
        remedy = "add it, or past rates start cold and are easily beaten"
        yield pool.gap("suites", what, remedy)


def _earlier(own: str, frozen: Collection[str] | None) -> list[str]:
    """Return the earlier versions of a suite; without a ledger, only the last of them."""
    name, version = parse_version(own)
    if frozen is None:
        return [f"{name}@v{version - 1}"] if version > 1 else []
    known = sorted(parse_version(each) for each in frozen)
    return [f"{name}@v{at}" for of, at in known if of == name and at < version]


def _draws_too_few(suite: Suite) -> Iterator[Gap]:
    statistics = suite.top.table("statistics")
    draws = statistics.number("permutations")
    alpha = suite.top.table("gates").table("permutation").number("alpha")
    if draws is None or alpha is None or Fraction(alpha) * (int(draws) + 1) >= 1:
        return
    what = f"is {draws}, of which no p-value is below 1/{int(draws) + 1}, and alpha is {alpha}"
    remedy = f"write {ceil(1 / Fraction(alpha)) - 1} or more, or no row earns credit"
    yield statistics.gap("permutations", what, remedy)


def _promotion_undecided(suite: Suite) -> Iterator[Gap]:
    if not suite.top.gives("utility"):
        what = "is missing, and a promotion is of what is worth acting on"
        remedy = "declare it, or a promotion is INCONCLUSIVE at best"
        yield suite.top.gap("utility", what, remedy)
    promotion = suite.top.table("gates").table("promotion")
    if not promotion.gives("slices"):
        what = (
            "is empty, and a promotion then watches the log loss over all units alone"
        )
        yield promotion.gap(
            "slices", what, 'name what it may not harm, such as "horizon"'
        )


_ALWAYS: tuple[Callable[[Suite], Iterator[Gap]], ...] = (_holdouts_spent, _pool_unseen)
_OF_CLAIMS: tuple[Callable[[Suite], Iterator[Gap]], ...] = (
    _baselines_missing,
    _headline_averaged,
    _answers_without_calibration,
    _questions_of_forecasters,
    _horizons_mixed,
    _looks_too_early,
    _looks_too_many,
    _past_left_out,
    _draws_too_few,
    _promotion_undecided,
)
