from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.projections import permutation_gate
from ledger.projections.columns import integers
from ledger.projections.exact import PPM, UNITS, dec12, picobits
from ledger.projections.permutation import Rows, full_panel, matched
from ledger.projections.permutation_gate import (
    COLLAPSES,
    SURVIVES,
    Gate,
    Specificity,
    label_of,
    reference_set,
    share_retained,
    specificity,
)
from ledger.projections.rng import stream
from tests.oracle_cases import case, exactly

SEED = b"\1" * 32
HALF, ALPHA = Fraction(1, 2), Fraction(5, 100)
GATE = Gate(alpha=ALPHA, retained=HALF, permutations=999)
EXACT, _ = case("permutation-exact")
# So many draws of the strata below all leave some target in place, and the next none.
NEVER_ALL = 3585


def rows_of(
    places: Sequence[tuple[int, int, int]],
    scores: Sequence[Sequence[int]],
    outcome: Sequence[int],
    silent: Sequence[tuple[int, int]] = (),
) -> Rows:
    """Return rows from (stratum, target, position), scores by answer, and outcomes.

    Of the `silent`, strata and targets, nothing is scored.
    """
    columns = np.array(places, dtype=np.int64).reshape(-1, 3).T
    pairs = {(stratum, target) for stratum, target, _ in places} | set(silent)
    return Rows(
        stratum=columns[0],
        targets_of=np.bincount([stratum for stratum, _ in pairs], minlength=1),
        target=columns[1],
        position=columns[2],
        scores=np.array(scores, dtype=np.int64).reshape(
            len(places), max(map(len, scores), default=1)
        ),
        outcome=integers(outcome),
    )


def oracle_rows() -> tuple[Rows, Any]:
    """Return the rows of the shared case, and what its baseline scored on each."""
    clip = EXACT["eps_ppm"]

    def bits(p_ppm: int) -> int:
        found = picobits(min(max(p_ppm, clip), PPM - clip))
        assert found is not None
        return found

    cells = [(i, slot) for i in range(len(EXACT["t"])) for slot in range(2)]
    said = [EXACT["p"][i][slot] for i, slot in cells]
    came = [EXACT["y"][i][slot] for i, slot in cells]
    base = [EXACT["base"][i][slot] for i, slot in cells]
    rows = rows_of(
        [(0, i, slot) for i, slot in cells],
        [[bits(PPM - p), bits(p)] for p in said],
        came,
    )
    theirs = [
        bits(p if happened else PPM - p) for p, happened in zip(base, came, strict=True)
    ]
    return rows, integers(theirs)


def judged(rows: Rows, baseline: Any, gate: Gate = GATE) -> Specificity:
    names = [f"stratum-{code}" for code in range(9)]
    return specificity(rows, baseline, names, SEED, gate)


def guesses(targets: int, slots: int = 1, stratum: int = 0) -> Rows:
    """Return rows in which everybody's forecast fits nobody but its own target.

    There is an answer for each target, and what happens to a target is its own.
    """
    cells = [(stratum, i, slot) for i in range(targets) for slot in range(slots)]
    own = [[UNITS if a == i else -UNITS for a in range(targets)] for _, i, _ in cells]
    return rows_of(cells, own, [i for _, i, _ in cells])


def nothing(rows: Rows) -> Any:
    return np.zeros(len(rows.outcome), dtype=np.int64)


def test_all_permutations_of_four_targets_are_those_that_others_count() -> None:
    _, expected = case("permutation-exact")
    found = judged(*oracle_rows())
    assert found.observed == exactly(expected["observed_skill_bits"])
    assert found.wrong == exactly(expected["wrong_target_mean_skill_bits"])
    assert found.delta == exactly(expected["delta_bits"])
    assert found.retained == exactly(expected["retained_fraction"])
    assert found.p_value == exactly(expected["p_value"])
    assert found.count == expected["count_ge"]
    assert (found.permutations, found.is_exact) == (expected["permutations"], True)
    assert found.derangements == expected["derangements"]
    assert (found.rows, found.targets, found.decision) == (8, 4, SURVIVES)


def test_drawn_permutations_are_those_that_others_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs, expected = case("permutation-mc")
    monkeypatch.setattr(permutation_gate, "ALL_MAX", 23)
    rows, baseline = oracle_rows()
    (stratum,) = matched(rows, ["only"]).strata
    seed = bytes.fromhex(inputs["root_seed_hex"])
    drawn = next(stratum.drawn_orders(seed, inputs["label"], inputs["B"]))
    assert drawn[:3].tolist() == expected["first_permutations"]
    gate = Gate(alpha=ALPHA, retained=HALF, permutations=inputs["B"])
    found = specificity(rows, baseline, ["only"], seed, gate)
    assert found.count == expected["count_ge"]
    assert found.p_value == exactly(expected["p_value"])
    assert dec12(found.p_value or Fraction(0)) == expected["p_value"]["dec"]
    assert found.is_exact is False


def test_the_forecasts_of_a_target_move_together() -> None:
    rows = guesses(3, slots=2)
    (stratum,) = matched(rows, ["only"]).strata
    swapped = stratum.totals(integers([0, 2, 1])[None])
    # Two rows of the target that kept its own are right, the four others are not.
    assert swapped.tolist() == [2 * UNITS - 4 * UNITS]


@pytest.mark.parametrize(
    ("targets", "decision"), {4: SURVIVES, 5: COLLAPSES}.items(), ids=str
)
def test_skill_of_ones_own_collapses_once_chance_is_unlikely_enough(
    targets: int, decision: str
) -> None:
    """Of four targets there are 24 permutations, of five 120: one of them is ours."""
    rows = guesses(targets)
    strict = Gate(alpha=Fraction(1, 24), retained=HALF, permutations=999)
    found = judged(rows, nothing(rows), strict)
    assert found.decision == COLLAPSES
    lenient = judged(rows, nothing(rows), Gate(
        alpha=Fraction(1, 25), retained=HALF, permutations=999,
    ))  # fmt: skip
    assert lenient.decision == (COLLAPSES if decision == COLLAPSES else "insufficient")


def test_a_gate_that_no_result_could_pass_is_insufficient() -> None:
    rows = guesses(3)
    found = judged(rows, nothing(rows))
    assert (found.p_value, found.decision) == (Fraction(1, 6), "insufficient")
    at_the_edge = Gate(alpha=Fraction(1, 6), retained=HALF, permutations=999)
    assert judged(rows, nothing(rows), at_the_edge).decision == COLLAPSES


def test_few_draws_cannot_pass_either() -> None:
    rows = guesses(9)
    for draws, decision in {98: "insufficient", 99: COLLAPSES}.items():
        gate = Gate(alpha=Fraction(1, 100), retained=HALF, permutations=draws)
        assert judged(rows, nothing(rows), gate).decision == decision


def test_up_to_ten_thousand_permutations_all_are_looked_at() -> None:
    for targets, is_exact in {7: True, 8: False}.items():
        rows = guesses(targets)
        assert judged(rows, nothing(rows)).is_exact is is_exact
    # 5040 * 2 permutations of two strata are too many, though each has few.
    both = [(0, i, 0) for i in range(7)] + [(1, i, 0) for i in range(2)]
    rows = rows_of(both, [[0]] * 9, [0] * 9)
    assert judged(rows, nothing(rows)).is_exact is False


def test_what_is_retained_decides_at_its_edge() -> None:
    rows = guesses(5)
    # On wrong targets every row scores -1 bit, on the right one 1 bit: against a
    # baseline of -2 bits a third of the skill is left.
    baseline = np.full(5, -2 * UNITS)
    for share, decision in {
        Fraction(1, 3): COLLAPSES,
        Fraction(333, 1000): SURVIVES,
    }.items():
        gate = Gate(alpha=ALPHA, retained=share, permutations=999)
        found = judged(rows, baseline, gate)
        assert found.retained == Fraction(1, 3)
        assert found.decision == decision


def test_without_skill_there_is_none_to_retain() -> None:
    rows = guesses(5)
    for level, retained in {UNITS: None, UNITS - 1: False}.items():
        found = judged(rows, np.full(5, level))
        assert (found.retained is None) is (retained is None)
        assert found.decision == (SURVIVES if retained is None else COLLAPSES)


def test_a_stratum_of_one_target_is_left_out_and_counted() -> None:
    places = [(0, i, 0) for i in range(5)] + [(1, 7, 0), (1, 7, 1)]
    scores = [*guesses(5).scores.tolist(), [9] * 5, [9] * 5]
    rows = rows_of(places, scores, [0, 1, 2, 3, 4, 0, 0])
    found = judged(rows, nothing(rows))
    assert (found.rows, found.targets) == (5, 5)
    assert (found.alone, found.strata_alone, found.unpartnered) == (2, 1, 0)
    assert found.observed == 1


@pytest.mark.parametrize("silent", [[], [(1, 8)]], ids=["alone", "not alone"])
@pytest.mark.parametrize(
    ("others", "decision", "reason"),
    [(5, COLLAPSES, None), (6, "insufficient", "cohort_mismatch")],
)
def test_a_gate_does_not_speak_for_more_rows_than_it_keeps_of_whoever_they_are(
    others: int, decision: str, reason: str | None, silent: list[tuple[int, int]]
) -> None:
    """The other stratum has one target, or another one of which nothing is said."""
    places = [(0, i, 0) for i in range(5)] + [(1, 7, slot) for slot in range(others)]
    scores = [*guesses(5).scores.tolist(), *[[9] * 5] * others]
    rows = rows_of(places, scores, [0, 1, 2, 3, 4, *[0] * others], silent=silent)
    found = judged(rows, nothing(rows))
    assert found.rows == 5
    assert found.observed == 1
    assert (found.alone, found.strata_alone, found.unpartnered) == (
        (0, 0, others) if silent else (others, 1, 0)
    )
    assert (found.decision, found.reason) == (decision, reason)


@pytest.mark.parametrize("places", [[], [(0, 0, 0)], [(0, 0, 0), (1, 1, 0)]], ids=str)
def test_where_nobody_can_stand_in_the_gate_is_insufficient(
    places: list[tuple[int, int, int]],
) -> None:
    rows = rows_of(places, [[5]] * len(places), [0] * len(places))
    found = judged(rows, nothing(rows))
    assert (found.decision, found.rows, found.p_value) == ("insufficient", 0, None)
    assert found.alone == found.strata_alone == len(places)


def test_rows_that_lack_a_partner_are_dropped_before_anything_is_computed() -> None:
    places = [(0, 0, 1), (0, 0, 2), (0, 1, 1), (0, 2, 1), (0, 2, 3), (0, 1, 4)]
    rows = rows_of(places, [[1], [100], [2], [4], [100], [100]], [0] * 6)
    found = matched(rows, ["only"])
    assert found.kept.tolist() == [0, 2, 3]
    assert found.unpartnered == 3
    assert judged(rows, nothing(rows)).observed == Fraction(7, 3 * UNITS)


def test_targets_without_a_common_slot_leave_no_stratum() -> None:
    rows = rows_of([(0, 0, 1), (0, 1, 2)], [[1], [1]], [0, 0])
    found = judged(rows, nothing(rows))
    assert (found.decision, found.unpartnered) == ("insufficient", 2)
    assert found.reason == "cohort_mismatch"


def held(*lines: str) -> tuple[Any, Any]:
    """Return targets and positions of the forecasts drawn as `x`, a line a target."""
    cells = [
        (target, place)
        for target, line in enumerate(lines)
        for place, mark in enumerate(line)
        if mark == "x"
    ]
    target, position = zip(*cells, strict=True)
    return integers(target), integers(position)


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (("xxx", "xxx"), ("xxx", "xxx")),
        # A third of the target is missing, and half of the position.
        (("xxx", "x.x"), ("x-x", "x-x")),
        # Half of the target is missing, and a third of the position.
        (("xx", "x.", "xx"), ("xx", "--", "xx")),
        # Of both a third: the position goes, and the target stays.
        (("xxx", ".xx", "xxx"), ("-xx", "-xx", "-xx")),
        # A quarter of two positions and of two targets: the last position goes first,
        # after which a third of the target is missing, and a quarter of the position.
        (("xxxx", "xxx.", "x.xx", "xxxx"), ("xxx-", "xxx-", "----", "xxx-")),
        # One of many that said little costs nobody else a position.
        (("xxxx", "xxxx", "xxxx", "x..."), ("xxxx", "xxxx", "xxxx", "----")),
        (("xxxx", "xxx.", "xx..", "x..."), ("xx--", "xx--", "xx--", "----")),
        # Nobody can exchange what no other target has: such positions go first.
        (("x.", ".x"), ("--", "--")),
        (("xxxxxx", "x.....", "x....."), ("x-----", "x-----", "x-----")),
        (("xxxxxx", "xx....", "x....."), ("xx----", "xx----", "------")),
    ],
    ids=str,
)
def test_a_panel_drops_whatever_lacks_the_greatest_share_until_it_is_full(
    lines: tuple[str, ...], left: tuple[str, ...]
) -> None:
    target, position = held(*lines)
    is_kept, targets = full_panel(target, position)
    drawn = [["-"] * len(line) for line in lines]
    for at in np.flatnonzero(is_kept).tolist():
        drawn[int(target[at])][int(position[at])] = "x"
    assert tuple("".join(line) for line in drawn) == left
    assert int(is_kept.sum()) == targets * max(line.count("x") for line in left)


def test_one_forecast_missing_in_each_slot_costs_six_targets_of_forty() -> None:
    cells = [(i, s) for s in range(6) for i in range(40) if i != 5 * s]
    target, position = zip(*cells, strict=True)
    is_kept, targets = full_panel(integers(target), integers(position))
    assert (targets, int(is_kept.sum())) == (34, 34 * 6)


def test_a_panel_of_thousands_of_targets_is_found_quickly() -> None:
    """Every line is dropped once, and every row counted off once, whatever is missing."""
    cells = np.arange(6_700 * 40)
    cells = cells[cells * 7_919 % 1_000 >= 3]
    target, position = np.unique(cells // 40, return_inverse=True)[1], cells % 40
    began = process_time()
    is_kept, targets = full_panel(target, position)
    assert process_time() - began < 5
    kept = np.unique(position[is_kept])
    assert int(is_kept.sum()) == targets * len(kept) > len(cells) / 2


@pytest.mark.parametrize(
    ("targets", "unpaired", "decision", "reason"),
    [
        (5, 4, COLLAPSES, None),
        (5, 5, COLLAPSES, None),
        (5, 6, "insufficient", "cohort_mismatch"),
        # Too few permutations as well: the first thing that is wrong is said.
        (3, 3, "insufficient", "insufficient"),
        (3, 4, "insufficient", "cohort_mismatch"),
    ],
    ids=str,
)
def test_a_gate_that_keeps_fewer_than_half_does_not_speak_for_the_rest(
    targets: int, unpaired: int, decision: str, reason: str | None
) -> None:
    """In the other stratum each target has a forecast at a slot of its own."""
    rows = guesses(targets)
    lone = [(1, at, at) for at in range(unpaired)]
    places = [(0, i, 0) for i in range(targets)] + lone
    scores = rows.scores.tolist() + [[0] * targets] * unpaired
    more = rows_of(places, scores, [*range(targets), *[0] * unpaired], silent=[(1, 9)])
    found = judged(more, nothing(more))
    assert (found.rows, found.unpartnered) == (targets, unpaired)
    assert (found.decision, found.reason) == (decision, reason)


def test_whoever_withholds_in_most_slots_leaves_nothing_to_decide_on() -> None:
    """In nineteen slots all targets do alike; one forecast is withheld in each."""
    cells = [(i, s) for s in range(20) for i in range(20) if s == 19 or i != s]
    said = [i % 2 if s == 19 else s % 2 for i, s in cells]
    scores = [[-UNITS, UNITS] if each else [UNITS, -UNITS] for each in said]
    rows = rows_of([(0, i, s) for i, s in cells], scores, said)
    found = judged(rows, nothing(rows))
    assert (found.decision, found.reason) == ("insufficient", "cohort_mismatch")
    assert found.rows < found.unpartnered


def test_rows_are_matched_by_position_and_not_by_their_order() -> None:
    places = [(0, 0, 5), (0, 0, 7), (0, 1, 7), (0, 1, 5)]
    rows = rows_of(places, [[1, 0], [0, 1], [0, 1], [1, 0]], [0, 1, 1, 0])
    (stratum,) = matched(rows, ["only"]).strata
    assert stratum.totals(integers([1, 0])[None]).tolist() == [4]


def test_each_of_several_strata_is_drawn_by_its_own_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(permutation_gate, "ALL_MAX", 1)
    places = [(s, i, 0) for s in range(2) for i in range(3)]
    scores = [[7 * i + a * a * (s + 2 * i) for a in range(3)] for s, i, _ in places]
    rows = rows_of(places, scores, [0, 1, 2, 2, 1, 0])
    strata = matched(rows, ["north", "south"]).strata
    found = reference_set(strata, SEED, 50)
    sums, moved = np.zeros(50, dtype=np.int64), np.ones(50, dtype=np.bool_)
    for number, name in enumerate(["north", "south"]):
        words = stream(SEED, f"perm/{name}", 150).reshape(50, 3).tolist()
        for b, row in enumerate(words):
            order = sorted(range(3), key=lambda at: (row[at], at))
            moved[b] &= all(at != order[at] for at in range(3))
            own = range(3 * number, 3 * number + 3)
            sums[b] += sum(
                scores[own[order[i]]][rows.outcome.tolist()[own[i]]] for i in range(3)
            )
    observed = sum(row[a] for row, a in zip(scores, rows.outcome, strict=True))
    assert found.observed == observed
    assert found.count == int((sums >= observed).sum())
    # Wrong targets are those of draws in which nobody of any stratum stays in place.
    strangers = sums[moved].tolist()
    assert 0 < len(strangers) < 50
    assert found.derangements == len(strangers)
    assert found.wrong == Fraction(sum(strangers), len(strangers))


def test_sums_that_64_bits_do_not_hold_are_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    huge = 2**62
    places = [(0, i, 0) for i in range(3)]
    scores = [[huge - 5 * a * i for a in range(3)] for i in range(3)]
    rows = rows_of(places, scores, [0, 1, 2])
    found = judged(rows, nothing(rows))
    assert found.observed == Fraction(3 * huge - 25, 3 * UNITS)
    monkeypatch.setattr(permutation_gate, "ALL_MAX", 5)
    assert judged(rows, nothing(rows)).observed == found.observed


def panel_of(held: set[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Drop target or position by the share that is missing, counting each time anew."""
    targets, places = (sorted({each[side] for each in held}) for side in range(2))
    while any((target, place) not in held for target in targets for place in places):
        missing = [
            (Fraction(sum((t, place) not in held for t in targets), len(targets)),
             True, place)
            for place in places
        ] + [
            (Fraction(sum((target, p) not in held for p in places), len(places)),
             False, target)
            for target in targets
        ]  # fmt: skip
        most = max(share for share, _, _ in missing)
        first = [
            (True, place)
            for place in places
            if sum((target, place) in held for target in targets) < 2
        ]
        equals = [each[1:] for each in missing if each[0] == most]
        is_place, name = max(first or equals)
        (places if is_place else targets).remove(name)
    return targets, places


def plainly(rows: Rows, baseline: Sequence[int]) -> dict[str, Any]:
    """Enumerate every permutation of whole tables, with nothing but Python's own."""
    columns = (rows.stratum.tolist(), rows.target.tolist(), rows.position.tolist())
    cells = {key: at for at, key in enumerate(zip(*columns, strict=True))}
    strata: dict[int, tuple[list[int], list[int]]] = {}
    for stratum in {key[0] for key in cells}:
        held = {key[1:] for key in cells if key[0] == stratum}
        targets, positions = panel_of(held)
        if len(targets) > 1 and positions:
            strata[stratum] = (targets, positions)

    def score(chosen: dict[int, tuple[int, ...]]) -> int:
        total = 0
        for stratum, (targets, positions) in strata.items():
            for own, other in zip(targets, chosen[stratum], strict=True):
                for place in positions:
                    at = cells[(stratum, own, place)]
                    theirs = cells[(stratum, other, place)]
                    total += int(rows.scores[theirs, rows.outcome[at]]) - baseline[at]
        return total

    ways = [
        dict(zip(strata, orders, strict=True))
        for orders in product(*(permutations(each) for each, _ in strata.values()))
    ]
    totals = [score(way) for way in ways]
    strangers = [
        total
        for total, way in zip(totals, ways, strict=True)
        if all(
            own != other
            for stratum, order in way.items()
            for own, other in zip(strata[stratum][0], order, strict=True)
        )
    ]
    observed = score({key: tuple(targets) for key, (targets, _) in strata.items()})
    return {
        "rows": sum(len(targets) * len(places) for targets, places in strata.values()),
        "observed": observed,
        "count": sum(total >= observed for total in totals),
        "size": len(totals),
        "derangements": len(strangers),
        "wrong": Fraction(sum(strangers), len(strangers)) if strangers else None,
    }


@settings(max_examples=60, deadline=None)
@given(
    table=st.lists(
        st.tuples(
            st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)),
            st.lists(st.integers(-9, 9), min_size=2, max_size=2),
            st.integers(0, 1),
            st.integers(-9, 9),
        ),
        min_size=1,
        max_size=16,
        unique_by=lambda row: row[0],
    )
)
def test_a_plain_enumeration_says_the_same(table: list[Any]) -> None:
    places, scores, outcome, baseline = zip(*table, strict=True)
    rows = rows_of(places, scores, outcome)
    expected = plainly(rows, baseline)
    found = judged(rows, integers(baseline))
    assert found.rows == expected["rows"]
    assert found.rows + found.unpartnered + found.alone == len(table)
    if found.rows < found.unpartnered:
        assert (found.decision, found.reason) == ("insufficient", "cohort_mismatch")
    if not found.rows:
        assert found.decision == "insufficient"
    elif found.is_exact:
        scale = expected["rows"] * UNITS
        assert found.observed == Fraction(expected["observed"], scale)
        assert (found.count, found.permutations, found.derangements) == (
            expected["count"],
            expected["size"],
            expected["derangements"],
        )
        assert found.wrong == expected["wrong"] / scale


def pairs(strata: int) -> Rows:
    """Return strata of two targets, in each of which a forecast fits its own alone."""
    places = [(stratum, i, 0) for stratum in range(strata) for i in range(2)]
    own = [[UNITS, -UNITS], [-UNITS, UNITS]] * strata
    return rows_of(places, own, [0, 1] * strata)


def test_draws_that_all_leave_somebody_in_place_say_nothing_of_wrong_targets() -> None:
    """Of 14 strata of two targets each, one draw in 16,384 moves everybody."""
    rows = pairs(14)
    names = [f"stratum-{code:02}" for code in range(14)]
    for draws, moved in {NEVER_ALL: 0, NEVER_ALL + 1: 1}.items():
        gate = Gate(alpha=ALPHA, retained=HALF, permutations=draws)
        found = specificity(rows, nothing(rows), names, SEED, gate)
        assert (found.is_exact, found.derangements, found.strata) == (False, moved, 14)
        assert found.observed == 1
        assert found.p_value is not None
        assert found.p_value <= ALPHA
        effects = (found.wrong, found.delta, found.retained)
        assert effects == ((-1, 2, -1) if moved else (None, None, None))
        assert found.decision == "insufficient"


@pytest.mark.parametrize(
    ("draws", "moved", "decision"),
    [(61, 19, "insufficient"), (62, 20, COLLAPSES)],
)
def test_a_few_draws_that_move_everybody_leave_the_rest_to_chance(
    draws: int, moved: int, decision: str
) -> None:
    rows = guesses(9)
    gate = Gate(alpha=ALPHA, retained=HALF, permutations=draws)
    found = specificity(rows, nothing(rows), ["only"], SEED, gate)
    assert (found.is_exact, found.derangements) == (False, moved)
    assert found.wrong is not None
    reason = None if decision == COLLAPSES else "insufficient"
    assert (found.decision, found.reason) == (decision, reason)


def test_of_all_permutations_a_single_one_that_moves_everybody_is_enough() -> None:
    """Of six strata of two targets, the one in 64 that exchanges all is looked at."""
    rows = pairs(6)
    names = [f"stratum-{code}" for code in range(6)]
    found = specificity(rows, nothing(rows), names, SEED, GATE)
    assert (found.is_exact, found.derangements) == (True, 1)
    assert found.decision == COLLAPSES
    assert found.retained == -1


def test_the_skill_of_others_needs_skill_of_ones_own_to_be_a_share_of() -> None:
    assert share_retained(Fraction(1), Fraction(1, 4)) == Fraction(1, 4)
    assert share_retained(Fraction(1), None) is None
    assert share_retained(Fraction(0), Fraction(1, 4)) is None


def test_one_stratum_has_the_plain_label_and_several_have_their_names() -> None:
    assert label_of("[1]", 1) == "perm"
    assert label_of("[1]", 2) == "perm/[1]"
