"""Bounds beside all the ways in which what is missing may turn out."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.projections.bounds import (
    Bound,
    Losses,
    Unsaid,
    any_vector_skill_bound,
    mean_bound,
    own_rate_skill_bound,
    skill_bound,
)
from ledger.projections.exact import PPM, UNITS, dec12, picobits
from tests.reporting import row
from tests.simulator import History, ppm_text, suite

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


@given(
    known=st.lists(st.tuples(LOSS, st.booleans()), max_size=3),
    missing=st.lists(st.tuples(LOSS, LOSS), max_size=2),
    heard=st.lists(st.booleans(), max_size=2),
    still=st.integers(0, 2),
)
def test_where_anything_could_have_been_said_no_loss_is_left_out(
    known: list[tuple[int, bool]],
    missing: list[tuple[int, int]],
    heard: list[bool],
    still: int,
) -> None:
    lost, events = sum(loss for loss, _ in known), sum(event for _, event in known)
    unsaid = Unsaid(units=len(heard), events=sum(heard), open=still)
    found = any_vector_skill_bound(lost, events, len(known), missing, unsaid)
    settled = [event for _, event in known] + heard
    if not 0 < sum(settled) < len(settled):
        assert found is None
        return
    size = len(settled) + len(missing) + still
    cases = []
    for turned in product((True, False), repeat=len(missing) + still):
        said = sum(
            yes if event else no
            for event, (yes, no) in zip(turned, missing, strict=False)
        )
        rate = Fraction(sum(settled) + sum(turned), size)
        for lacked in product((0, UNITS // 2, UNITS), repeat=len(heard) + still):
            loss = Fraction(lost + said + sum(lacked), size * UNITS)
            cases.append(1 - loss / (rate * (1 - rate)))
    assert found == Bound(min(cases), max(cases))


CELL = st.tuples(
    st.sampled_from([None, 0, 100_000, 700_000]),
    st.sampled_from([None, 200_000, 1_000_000]),
    st.sampled_from([None, True, False]),
)
Cell = tuple[int | None, int | None, bool | None]
CORNERS = (Fraction(0), Fraction(1))


def squared(ppm: int, *, happened: bool) -> Fraction:
    return (Fraction(ppm, PPM) - happened) ** 2


def ways(cell: Cell, *, is_own: bool) -> list[tuple[Fraction, Fraction]]:
    """Return what forecaster and baseline could have lost on a unit, without grading.

    A computed baseline, which knows no outcome yet, says a half wherever it is asked.
    """
    said, other, happened = cell
    found = []
    for answer in (True, False) if happened is None else (happened,):
        mine = CORNERS if said is None else [squared(said, happened=answer)]
        if not is_own:
            theirs = CORNERS if said is None else [Fraction(1, 4)]
        elif other is None:
            return []
        else:
            theirs = [squared(other, happened=answer)]
        found += list(product(mine, theirs))
    return found


def history_of(cells: list[Cell], *, is_own: bool) -> History:
    """Return units asked of all, of which some lack a vector and some an outcome."""
    changes = {"scoring__reference": "rival"} if is_own else {}
    history = History(suite(asks="issuer", **changes))
    asked = [history.question(f"u-{number}") for number in range(len(cells))]
    for question, (said, other, _) in zip(asked, cells, strict=True):
        history.open(question)
        for ppm, forecaster in ((said, "native"), (other, "rival")):
            if ppm is not None:
                history.seal(question, ppm_text(ppm), forecaster=forecaster)
    history.wait(hours=3)
    for question, (_, _, happened) in zip(asked, cells, strict=True):
        if happened is None:
            history.record(question, "CENSORED")
        else:
            history.resolve(question, "pass" if happened else "fail")
    return history


@settings(max_examples=25, deadline=None)
@given(cells=st.lists(CELL, min_size=1, max_size=4), is_own=st.booleans())
def test_a_rows_bounds_with_missing_vectors_are_those_of_all_that_could_have_been(
    cells: list[Cell], *, is_own: bool
) -> None:
    found = row(history_of(cells, is_own=is_own))["bounds"]
    possible = [each for cell in cells if (each := ways(cell, is_own=is_own))]
    whole = list(product(*possible)) if possible else []
    gaps = [sum(mine - other for mine, other in each) for each in whole]
    beyond = found["brier_beyond_reference_with_missing_vectors"]
    assert beyond["n"] == len(possible)
    if possible:
        means = [dec12(Fraction(f(gaps), len(possible))) for f in (min, max)]
        assert [beyond["lo"], beyond["hi"]] == means
    skill = found["bss_frozen_with_missing_vectors"]
    sums = [tuple(map(sum, zip(*each, strict=True))) for each in whole]
    # What the baseline loses, whatever happened and whatever it would have said.
    if not sum(min(other for _, other in each) for each in possible):
        assert skill["lo"] is None
        return
    ratios = [1 - mine / other for mine, other in sums]
    assert [skill["lo"], skill["hi"]] == [dec12(f(ratios)) for f in (min, max)]


@pytest.mark.parametrize(
    ("is_silent", "bounds"),
    [
        (False, ["-2.240000000000", "-2.240000000000"]),
        # 1 - (0.81 + 1) / (0.25 + 0), and 1 - (0.81 + 0) / (0.25 + 1).
        (True, ["-6.240000000000", "0.352000000000"]),
    ],
    ids=str,
)
def test_who_is_silent_where_it_would_lose_widens_the_bounds_of_its_skill(
    bounds: list[str], *, is_silent: bool
) -> None:
    cells: list[Cell] = [(900_000, None, False), (900_000, None, False)]
    if is_silent:
        cells[0] = (None, None, False)
    found = row(history_of(cells, is_own=False))
    skill = found["bounds"]["bss_frozen_with_missing_vectors"]
    assert [skill["lo"], skill["hi"], skill["n"]] == [*bounds, 2]
    as_it_was = found["bounds"]["bss_frozen"]
    assert as_it_was["lo"] == as_it_was["hi"] == "-2.240000000000"


def test_skill_in_bits_is_bounded_by_the_clip_and_by_what_the_baseline_said() -> None:
    """One unit is scored, of one the outcome is missing, and of one the vector."""
    cells: list[Cell] = [
        (500_000, None, True),
        (250_000, None, None),
        (None, None, True),
    ]
    found = row(history_of(cells, is_own=False))["bounds"]
    least, most = picobits(250_000), picobits(750_000)
    assert least is not None
    assert most is not None
    half = -UNITS
    skill = found["skill_vs_r1_bits"]
    assert [skill["lo"], skill["hi"], skill["n"]] == [
        dec12(Fraction(each - half, 2 * UNITS)) for each in (least, most)
    ] + [2]
    worst, best = picobits(1_000), picobits(999_000)
    assert worst is not None
    assert best is not None
    whole = found["skill_vs_r1_bits_with_missing_vectors"]
    assert [whole["lo"], whole["hi"], whole["n"]] == [
        dec12(Fraction(least - half + worst - best, 3 * UNITS)),
        dec12(Fraction(most - half + best - worst, 3 * UNITS)),
        3,
    ]


@pytest.mark.parametrize(("baseline", "is_bounded"), [(0, False), (1, True)])
def test_a_baseline_that_may_have_no_loss_leaves_the_skill_unbounded(
    baseline: int, *, is_bounded: bool
) -> None:
    missing = {(Losses(UNITS, 0), Losses(0, UNITS)): 1}
    assert (skill_bound(Losses(0, baseline), missing) is not None) is is_bounded
