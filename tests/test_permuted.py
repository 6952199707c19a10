from collections import defaultdict
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from hashlib import sha256, shake_256
from itertools import pairwise
from json import dumps
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reporting import Row, row
from tests.simulator import History, suite


class Told(NamedTuple):
    """A unit as a reader knows it: where it stands, what was said, what happened."""

    template: str
    horizon: str
    tag: str
    slot: str
    id: str
    target: str
    said: dict[str, str]
    outcome: str | None
    is_said: bool

    @property
    def is_scored(self) -> bool:
        return self.is_said and self.outcome is not None


ANSWERS = {"dispatch-pass": ["pass", "fail"], "weather": ["dry", "rain", "snow"]}
NAMES = ["zoë", "Bo", "ann", "ed", "東", "Zed"]
# Of what nothing was said, and what was void: by stratum, target and day.
UNSAID = {("first", 2, 2), ("second", 0, 2), ("second", 3, 2)}
VOID = {("second", 1, 0), ("third", 0, 1)}
DRAWS = 199


def stratum_of(at: str) -> list[Told]:
    """Return units of six, five and three targets, on three days, and of one alone."""
    template, horizon, tag, count = {
        "first": ("dispatch-pass", "24h", "a", 6),
        "second": ("dispatch-pass", "2h", "", 5),
        "third": ("weather", "24h", 'q"é', 3),
        "alone": ("weather", "2h", "a", 1),
    }[at]
    answers = ANSWERS[template]
    made = []
    for number, target in enumerate(NAMES[:count]):
        for day, name in enumerate(("y", "x", "z")):
            own = (number + day) % len(answers)
            share = ("0.7", "0.9", "0.9999")[(number + day) % 3]
            rest = str(1 - Decimal(share))
            said = dict.fromkeys(answers, "0")
            said |= {answers[own]: share, answers[own - 1]: rest}
            happened = answers[own - (number % 2)]
            made.append(
                Told(
                    template=template,
                    horizon=horizon,
                    tag=tag,
                    slot="late" if day == 2 else "early",
                    id=f"{at}-{name}-{number}",
                    target=target,
                    said=said,
                    outcome=None if (at, number, day) in VOID else happened,
                    is_said=(at, number, day) not in UNSAID,
                )
            )
    return made


UNITS = [
    told for at in ("third", "first", "alone", "second") for told in stratum_of(at)
]


@pytest.fixture(scope="module")
def drawn() -> Row:
    manifest = suite(
        coverage__minimum="0.5",
        statistics__permutations=DRAWS,
        gates__permutation__strata=["tag:repo", "template", "slot", "horizon"],
    )
    history = History(manifest)
    asked = []
    for told in UNITS:
        tags = {"repo": told.tag} if told.tag else {}
        question = history.question(
            told.id,
            template=told.template,
            horizon=told.horizon,
            target=told.target,
            slot=told.slot,
            tags=tags,
        )
        history.seal(
            question, told.said, forecaster="native" if told.is_said else "rival"
        )
        asked.append(question)
    history.wait(hours=3)
    for question, told in zip(asked, UNITS, strict=True):
        if told.outcome is None:
            history.record(question, "VOID")
        else:
            history.resolve(question, told.outcome)
    return row(history)


def picobits(stated: str) -> int:
    """Return log2 of a probability that is kept a thousandth away from 0 and 1."""
    exactly = Context(prec=50, rounding=ROUND_HALF_EVEN)
    p = min(max(Decimal(stated), Decimal("0.001")), Decimal("0.999"))
    bits = exactly.divide(exactly.ln(p), exactly.ln(Decimal(2)))
    return int(exactly.multiply(bits, Decimal(10**12)).to_integral_value())


def strata() -> dict[str, list[list[Told]]]:
    """Return the tables of targets that are exchanged: rows are targets, in order."""
    tables: dict[str, dict[str, list[Told]]] = defaultdict(lambda: defaultdict(list))
    for told in sorted(UNITS, key=lambda told: told.id.encode()):
        listed = dumps(ANSWERS[told.template], separators=(",", ":"))
        values = [told.tag, told.template, told.horizon, listed]
        compact = dumps(values, separators=(",", ":"), ensure_ascii=False)
        tables[compact][told.target].append(told)
    found = {}
    for name, by_target in tables.items():
        targets = [by_target[each] for each in sorted(by_target, key=str.encode)]
        if len(targets) > 1:
            found[name] = panel(targets)
    return found


def panel(targets: list[list[Told]]) -> list[list[Told]]:
    """Return what is left once every target has a scored unit at every position."""
    places = [(slot, nth) for slot in ("early", "late") for nth in range(3)]

    def has(units: list[Told], place: tuple[str, int]) -> bool:
        held = at_slot(units, place[0])
        return len(held) > place[1] and held[place[1]].is_scored

    def lacks_partner(place: tuple[str, int]) -> bool:
        return sum(has(each, place) for each in targets) < 2

    while not all(has(each, place) for each in targets for place in places):
        without = next(filter(lacks_partner, reversed(places)), None)
        of_place = [
            Fraction(sum(not has(each, place) for each in targets), len(targets))
            for place in places
        ]
        of_target = [
            Fraction(sum(not has(each, place) for place in places), len(places))
            for each in targets
        ]
        if without is not None:
            places.remove(without)
        elif max(of_place) >= max(of_target):
            places.pop(last(of_place))
        else:
            targets.pop(last(of_target))
    return [[at_slot(each, slot)[nth] for slot, nth in places] for each in targets]


def last(shares: list[Fraction]) -> int:
    """Return the last place of the greatest share."""
    return max(range(len(shares)), key=lambda at: (shares[at], at))


def at_slot(units: list[Told], slot: str) -> list[Told]:
    return [each for each in units if each.slot == slot]


def score(table: list[list[Told]], order: list[int]) -> int:
    """Return what a stratum scores where target i has the forecasts of `order[i]`."""
    return sum(
        picobits(other.said[own.outcome or ""])
        for mine, at in zip(table, order, strict=True)
        for own, other in zip(mine, table[at], strict=True)
    )


def orders(seed: bytes, label: str, targets: int) -> list[list[int]]:
    head = b"forecast-ledger/rng/1\0" + seed + b"\0" + label.encode()
    words = shake_256(head).digest(8 * targets * DRAWS)
    ends = pairwise(range(0, len(words) + 1, 8))
    numbers = [int.from_bytes(words[start:end], "little") for start, end in ends]
    rows = [numbers[b * targets : (b + 1) * targets] for b in range(DRAWS)]
    return [sorted(range(targets), key=each.__getitem__) for each in rows]


def test_a_reader_draws_the_permutations_again_from_the_row_and_the_page(
    drawn: Row,
) -> None:
    """Nothing here is the program's: units, recipe and arithmetic are a reader's."""
    gate = drawn["gates"]["permutation"]
    by = gate["inference"]
    seed = sha256(
        b"forecast-ledger/row-seed/1\0"
        + bytes.fromhex(by["root_seed"])
        + bytes.fromhex(by["cohort_hash"])
    ).digest()
    assert by["row_seed"] == seed.hex()
    tables = strata()
    assert (by["rng_id"], by["label"]) == ("fl-rng-1", "perm/<stratum>")
    assert (by["strata"], by["B"]) == (len(tables), DRAWS) == (3, 199)
    sums, moves_all, observed = [0] * DRAWS, [True] * DRAWS, 0
    for name, table in tables.items():
        observed += score(table, list(range(len(table))))
        label = by["label"].replace("<stratum>", name)
        for b, order in enumerate(orders(seed, label, len(table))):
            sums[b] += score(table, order)
            moves_all[b] &= all(at != other for at, other in enumerate(order))
    count = sum(each >= observed for each in sums)
    assert 0 < count < DRAWS
    assert (gate["count"], gate["is_exact"]) == (count, False)
    assert Fraction(gate["p_exact"]) == Fraction(count + 1, DRAWS + 1)
    strangers = [each for each, moves in zip(sums, moves_all, strict=True) if moves]
    assert gate["derangements"] == len(strangers) > 0
    assert gate["rows"] == sum(len(mine) for table in tables.values() for mine in table)
    lost = observed - Fraction(sum(strangers), len(strangers))
    delta = lost / (gate["rows"] * 10**12)
    assert abs(Fraction(gate["delta_bits"]) - delta) <= Fraction(1, 2 * 10**12)


def test_what_was_left_out_of_the_draws_is_counted(drawn: Row) -> None:
    gate = drawn["gates"]["permutation"]
    assert (gate["alone"], gate["strata_alone"]) == (3, 1)
    # One of six targets lacked a third of its forecasts and was dropped, with two. Of
    # five others two lacked one on the last day, which was dropped, with three, and then
    # one of two units of a target was void: it was dropped, with one. Of three a third
    # had a void unit first, and no target is matched there: that dropped two.
    assert gate["unpartnered"] == 2 + 3 + 1 + 2
    assert (gate["targets"], gate["rows"]) == (6, 15 + 8 + 6)


def test_the_gate_records_what_it_was_decided_by(drawn: Row) -> None:
    gate = drawn["gates"]["permutation"]
    by: dict[str, Any] = gate["inference"]
    assert (by["alpha"], by["rho"]) == ("0.050000000000", "0.500000000000")
    assert gate["vs_r2"]["inference"] == by
    assert by["root_seed"] == drawn["inference"]["root_seed"]
    assert by["cohort_hash"] == drawn["cohort_hash"]


@pytest.mark.parametrize(
    ("draws", "status"), [(98, "insufficient"), (99, "collapses")], ids=str
)
def test_draws_that_could_not_reach_alpha_do_not_pass(draws: int, status: str) -> None:
    """Of 99 draws the least p-value is one in a hundred, which is alpha."""
    made = suite(statistics__permutations=draws, gates__permutation__alpha="0.01")
    history = History(made)
    # Each says what nobody else does, and is right.
    asked = [
        (history.question(f"d-{day}-{target}", target=f"t-{target}", slot=f"{day}"),
         bool(target >> day & 1))
        for day in range(4)
        for target in range(9)
    ]  # fmt: skip
    for question, does in asked:
        history.seal(question, "0.9" if does else "0.1")
    history.wait(hours=3)
    for question, does in asked:
        history.resolve(question, "pass" if does else "fail")
    gate = row(history)["gates"]["permutation"]
    assert (gate["status"], gate["count"]) == (status, 0)
    assert Fraction(gate["p_exact"]) == Fraction(1, draws + 1)
    assert ("reason" in gate) is (status == "insufficient")


def unscored(kind: str, said: Sequence[str | None]) -> Row:
    """Return the gate of eight targets in four slots, a unit of each slot not scored.

    Why it is not is `kind`; what was said of it is in `said`, None for nothing. All
    others are right about what happens to their target.
    """
    training = 4 if kind == "training" else 0
    history = History(suite(coverage__minimum="0.5", statistics__min_training=training))
    asked = {
        (target, slot): history.question(
            f"d-{slot}-{target}", target=f"t-{target}", slot=f"s-{slot}"
        )
        for slot in range(4)
        for target in range(8)
    }
    for (target, slot), question in asked.items():
        stated = said[slot] if target == slot else "0.9" if target % 2 else "0.1"
        who = "native" if stated else "rival"
        history.seal(question, stated or "0.5", forecaster=who)
    history.wait(hours=3)
    # What comes first is what others are trained on.
    for target, slot in sorted(asked, key=lambda cell: cell[0] != cell[1]):
        if target != slot or training:
            outcome = "pass" if target % 2 else "fail"
            history.resolve(asked[target, slot], outcome)
        elif kind == "VOID":
            history.record(asked[target, slot], kind)
    found = row(history)
    assert found["counts"]["scored"] == 28
    gate: Row = found["gates"]["permutation"]
    return gate


@pytest.mark.parametrize("kind", ["VOID", "pending", "training"])
@settings(max_examples=8, deadline=None)
@given(said=st.lists(st.sampled_from(["0", "0.001", "0.999", "1", None]),
                     min_size=4, max_size=4))  # fmt: skip
def test_what_is_said_of_a_unit_that_is_not_scored_changes_nothing_of_the_gate(
    kind: str, said: list[str | None]
) -> None:
    """It costs nobody anything, and could be made to look wrong for other targets."""
    honest = unscored(kind, ["0.1", "0.9", "0.1", "0.9"])
    assert (honest["rows"], honest["unpartnered"], honest["targets"]) == (16, 12, 4)
    assert honest["status"] in {"collapses", "survives"}
    assert unscored(kind, said) == honest


@pytest.mark.parametrize("kind", [None, "unforecast", "VOID", "pending"], ids=str)
def test_a_unit_that_is_not_scored_moves_no_other_to_its_place(
    kind: str | None,
) -> None:
    """All targets do alike, day for day; the first day of half of them is not scored.

    Were the others of a target counted anew, each would be matched with the day after.
    """
    history = History(
        suite(
            coverage__minimum="0.5",
            gates__permutation__strata=["template", "horizon"],
        )
    )
    asked = {
        (target, day): history.question(f"d-{day}-{target}", target=f"t-{target}")
        for day in range(6)
        for target in range(8)
    }
    lacking = {(target, 0) for target in range(0, 8, 2)} if kind else set()
    for cell, question in asked.items():
        is_unsaid = cell in lacking and kind == "unforecast"
        who = "rival" if is_unsaid else "native"
        history.seal(question, "0.9" if cell[1] % 2 else "0.1", forecaster=who)
    history.wait(hours=3)
    for cell, question in asked.items():
        if cell not in lacking or kind == "unforecast":
            history.resolve(question, "pass" if cell[1] % 2 else "fail")
        elif kind == "VOID":
            history.record(question, kind)
    found = row(history)["gates"]["permutation"]
    assert found["unpartnered"] == len(lacking)
    assert (found["rows"], found["targets"]) == (40 if kind else 48, 8)
    assert (found["status"], found["p_value"]) == ("survives", "1.000000000000")
    assert found["retained"] == "1.000000000000"


@pytest.mark.parametrize(
    ("lone", "status", "reason"),
    [(8, "collapses", None), (9, "insufficient", "cohort_mismatch")],
    ids=str,
)
def test_a_gate_that_dropped_more_than_it_kept_is_not_decided(
    lone: int, status: str, reason: str | None
) -> None:
    """Eight targets share a slot; so many units stand in slots that no other has."""
    history = History()
    places = [("shared", target) for target in range(8)]
    places += [(f"lone-{nth}", nth % 8) for nth in range(lone)]
    asked = [
        (history.question(f"{slot}-{target}", target=f"t-{target}", slot=slot), target)
        for slot, target in places
    ]
    for question, target in asked:
        history.seal(question, "0.9" if target % 2 else "0.1")
    history.wait(hours=3)
    for question, target in asked:
        history.resolve(question, "pass" if target % 2 else "fail")
    found = row(history)["gates"]["permutation"]
    assert (found["rows"], found["unpartnered"]) == (8, lone)
    assert (found["status"], found.get("reason")) == (status, reason)


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "not alone"])
def test_who_is_alone_is_asked_of_all_units_and_not_of_what_was_forecast(
    others: int,
) -> None:
    history = History(suite(coverage__minimum="0.5"))
    one = history.question("one", horizon="2h", target="t-1", slot="s")
    history.seal(one)
    for nth in range(others):
        other = history.question(f"other-{nth}", horizon="2h", target="t-2", slot="s")
        history.seal(other, forecaster="rival")
    history.wait(hours=3)
    history.resolve(one)
    found = row(history)["gates"]["permutation"]
    assert (found["alone"], found["unpartnered"]) == ((0, 1) if others else (1, 0))
    assert found["reason"] == ("cohort_mismatch" if others else "insufficient")
