"""Losses in the order of their outcomes: the oracle, and plain fractions beside it."""

from collections.abc import Iterable
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.projections.columns import integers
from ledger.projections.exact import UNITS, dec12
from ledger.projections.prequential import Watch, drift, steps
from tests.oracle_cases import case, exactly

WATCH = Watch(
    fading=Fraction(9, 10),
    window=3,
    tolerated=Fraction(1, 20),
    limit=Fraction(1, 2),
    margin=Fraction(1, 100),
)
LOSSES = st.lists(st.integers(0, 100).map(lambda k: k * UNITS // 100), max_size=40)


def in_units(losses: list[str]) -> list[int]:
    return [int(Fraction(loss) * UNITS) for loss in losses]


def test_running_means_and_the_alarm_are_the_oracles() -> None:
    inputs, expected = case("prequential")
    watch = msgspec.structs.replace(
        WATCH,
        fading=Fraction(inputs["alpha"]),
        tolerated=Fraction(inputs["page_hinkley"]["delta"]),
        limit=Fraction(inputs["page_hinkley"]["lam"]),
    )
    losses = in_units(inputs["loss"])
    found = list(steps(losses, watch))
    for name, key in {
        "cumulative": "cumulative_mean",
        "fading": "fading_mean",
        "rise": "ph_statistic",
    }.items():
        wanted = [exactly(each) for each in expected[key]]
        assert [getattr(step, name) for step in found] == wanted
    assert drift(integers(losses), watch).alarm == expected["ph_alarm_index"]


def total_of(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def plainly(losses: list[int], watch: Watch) -> list[tuple[Fraction, ...]]:
    """Return the four running numbers by their definitions, nothing rounded."""
    xs = [Fraction(loss, UNITS) for loss in losses]
    found: list[tuple[Fraction, ...]] = []
    total = least = Fraction(0)
    for t in range(1, len(xs) + 1):
        seen = xs[:t]
        weights = [watch.fading ** (t - 1 - s) for s in range(t)]
        faded = total_of(w * x for w, x in zip(weights, seen, strict=True))
        total += seen[-1] - total_of(seen) / t - watch.tolerated
        least = min(least, total)
        last = seen[-watch.window :]
        found.append(
            (
                total_of(seen) / t,
                faded / total_of(weights),
                total_of(last) / len(last),
                total - least,
            )
        )
    return found


@given(losses=LOSSES.filter(bool), fading=st.integers(1, 10))
def test_the_end_of_the_way_is_its_last_step(losses: list[int], fading: int) -> None:
    watch = msgspec.structs.replace(WATCH, fading=Fraction(fading, 10))
    *_, last = steps(losses, watch)
    assert drift(integers(losses), watch).last == last


def test_losses_that_have_faded_away_are_not_looked_at_and_not_missed() -> None:
    losses = [(k * k) % 97 * UNITS // 97 for k in range(400)]
    watch = msgspec.structs.replace(WATCH, fading=Fraction(1, 10))
    *_, last = steps(losses, watch)
    found = drift(integers(losses), watch).last
    assert found is not None
    assert dec12(found.fading) == dec12(last.fading)


@given(losses=LOSSES, window=st.integers(1, 50))
def test_running_numbers_are_exact_while_there_are_few(
    losses: list[int], window: int
) -> None:
    watch = msgspec.structs.replace(WATCH, window=window)
    found = [
        (step.cumulative, step.fading, step.sliding, step.rise)
        for step in steps(losses, watch)
    ]
    assert found == plainly(losses, watch)


def test_running_numbers_show_the_same_places_however_many_there_are() -> None:
    losses = [(k * k) % 97 * UNITS // 97 for k in range(400)]
    watch = msgspec.structs.replace(WATCH, fading=Fraction(99, 100), window=100)
    *_, last = steps(losses, watch)
    wanted = plainly(losses, watch)[-1]
    found = (last.cumulative, last.fading, last.sliding, last.rise)
    assert [dec12(each) for each in found] == [dec12(each) for each in wanted]


def shifted(*runs: tuple[int, str]) -> list[int]:
    """Return losses that stay the same for a while each."""
    return in_units([loss for count, loss in runs for _ in range(count)])


def test_a_rise_is_seen_where_it_began_and_a_return_after_the_alarm() -> None:
    found = drift(integers(shifted((30, "0.1"), (4, "0.9"), (9, "0.1"))), WATCH)
    assert found.onset == 30
    assert found.alarm == 30
    assert (found.before.value, found.before.n) == (Fraction(1, 10), 30)
    assert found.after.n == 13
    # Three in a row are low again once the last high one has left the window.
    assert found.recovery == 6


@pytest.mark.parametrize(
    ("loss", "alarm"),
    {"as much as the limit": ("1.1", None), "just more": ("1.1000002", 1)}.values(),
)
def test_an_alarm_needs_more_than_the_limit(loss: str, alarm: int | None) -> None:
    # After a loss of 0 the mean is half of the second one: 1.1 - 0.55 - 0.05 = 0.5.
    found = drift(integers(in_units(["0", loss])), WATCH)
    assert found.alarm == alarm


def test_without_an_alarm_there_is_nothing_to_recover_from() -> None:
    found = drift(integers(shifted((20, "0.2"))), WATCH)
    assert (found.alarm, found.onset, found.recovery) == (None, None, None)
    assert found.before.value == Fraction(1, 5)
    assert (found.after.value, found.after.reason) == (None, "empty")


def test_a_loss_that_stays_high_has_not_recovered() -> None:
    found = drift(integers(shifted((20, "0.1"), (20, "0.9"))), WATCH)
    assert found.alarm is not None
    assert found.recovery is None
    assert found.after.value == Fraction(9, 10)


@pytest.mark.parametrize(
    ("loss", "recovery"),
    {"within the margin": ("0.11", 3), "just outside": ("0.1100001", None)}.values(),
)
def test_back_within_the_margin_is_recovered(loss: str, recovery: int | None) -> None:
    losses = shifted((20, "0.1"), (1, "0.9"), (6, loss))
    assert drift(integers(losses), WATCH).recovery == recovery


def test_of_no_losses_nothing_is_known() -> None:
    found = drift(integers([]), WATCH)
    assert (found.n, found.last, found.alarm) == (0, None, None)
    assert (found.before.value, found.before.reason) == (None, "empty")
