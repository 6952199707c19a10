"""Bounds beside all the ways in which what is missing may turn out."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.bounds import (
    Bound,
    Losses,
    mean_bound,
    own_rate_skill_bound,
    skill_bound,
)
from ledger.projections.exact import UNITS

LOSS = st.sampled_from([0, 1, UNITS // 9, UNITS // 4, UNITS])
PAIR = st.builds(Losses, LOSS, LOSS)


@given(
    known=st.lists(LOSS, max_size=3),
    missing=st.lists(st.tuples(LOSS, LOSS, LOSS), max_size=4),
)
def test_a_mean_is_bounded_by_its_best_and_its_worst_case(
    known: list[int], missing: list[tuple[int, ...]]
) -> None:
    size = len(known) + len(missing)
    cases = [
        Fraction(sum(known) + sum(turned), size * UNITS)
        for turned in product(*missing)
        if size
    ]
    found = mean_bound(sum(known), len(known), Counter(missing))
    assert found == (Bound(min(cases), max(cases)) if cases else None)


@given(
    known=st.lists(PAIR, max_size=3),
    missing=st.lists(st.tuples(PAIR, PAIR), max_size=5),
)
def test_a_skill_is_bounded_by_its_best_and_its_worst_case(
    known: list[Losses], missing: list[tuple[Losses, ...]]
) -> None:
    cases: list[Fraction] = []
    for turned in product(*missing):
        every = [*known, *turned]
        baseline = sum(each.baseline for each in every)
        if not baseline:
            cases = []
            break
        model = sum(each.model for each in every)
        cases.append(1 - Fraction(model, baseline))
    whole = Losses(
        sum(each.model for each in known), sum(each.baseline for each in known)
    )
    found = skill_bound(whole, Counter(missing))
    assert found == (Bound(min(cases), max(cases)) if cases else None)


@given(
    known=st.lists(st.tuples(LOSS, st.booleans()), max_size=4),
    missing=st.lists(st.tuples(LOSS, LOSS), max_size=5),
)
def test_a_skill_against_the_cohorts_own_rate_is_bounded_likewise(
    known: list[tuple[int, bool]], missing: list[tuple[int, int]]
) -> None:
    lost, events = sum(loss for loss, _ in known), sum(event for _, event in known)
    found = own_rate_skill_bound(lost, events, len(known), missing)
    if not 0 < events < len(known):
        # All might turn out alike, which leaves the rate without a loss.
        assert found is None
        return
    size = len(known) + len(missing)
    cases: list[Fraction] = []
    for turned in product((True, False), repeat=len(missing)):
        rate = Fraction(events + sum(turned), size)
        loss = lost + sum(
            yes if event else no
            for event, (yes, no) in zip(turned, missing, strict=True)
        )
        cases.append(1 - Fraction(loss, size * UNITS) / (rate * (1 - rate)))
    assert found == Bound(min(cases), max(cases))


@pytest.mark.parametrize(("baseline", "is_bounded"), [(0, False), (1, True)])
def test_a_baseline_that_may_have_no_loss_leaves_the_skill_unbounded(
    baseline: int, *, is_bounded: bool
) -> None:
    missing = {(Losses(UNITS, 0), Losses(0, UNITS)): 1}
    assert (skill_bound(Losses(0, baseline), missing) is not None) is is_bounded
