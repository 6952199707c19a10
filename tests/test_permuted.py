from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from hashlib import sha256, shake_256
from itertools import pairwise
from json import dumps
from typing import Any, NamedTuple

import pytest

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


ANSWERS = {"dispatch-pass": ["pass", "fail"], "weather": ["dry", "rain", "snow"]}
NAMES = ["zoë", "Bo", "ann", "ed", "東", "Zed"]
# What was never said: most of one target's slots, and most of the targets' last day.
UNSAID = {("first", 2, 2), ("second", 0, 2), ("second", 3, 2)}
DRAWS = 199


def stratum_of(at: str) -> list[Told]:
    """Return units of six, four and three targets, on three days, and of one alone."""
    template, horizon, tag, count = {
        "first": ("dispatch-pass", "24h", "a", 6),
        "second": ("dispatch-pass", "2h", "", 4),
        "third": ("weather", "24h", 'q"é', 3),
        "alone": ("weather", "2h", "a", 1),
    }[at]
    answers = ANSWERS[template]
    made = []
    for number, target in enumerate(NAMES[:count]):
        for day, name in enumerate(("y", "x", "z")):
            own = (number + day) % len(answers)
            if (at, number, day) in UNSAID:
                continue
            share = ("0.7", "0.9", "0.9999")[(number + day) % 3]
            rest = str(1 - Decimal(share))
            said = dict.fromkeys(answers, "0")
            said |= {answers[own]: share, answers[own - 1]: rest}
            happened = answers[own - (number % 2)]
            is_void = (at, number, day) == ("second", 1, 0)
            made.append(
                Told(
                    template=template,
                    horizon=horizon,
                    tag=tag,
                    slot="late" if day == 2 else "early",
                    id=f"{at}-{name}-{number}",
                    target=target,
                    said=said,
                    outcome=None if is_void else happened,
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
        history.seal(question, told.said)
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
    """Return what is left once every target has a forecast at every position."""
    places = [(slot, nth) for slot in ("early", "late") for nth in range(3)]

    def has(units: list[Told], place: tuple[str, int]) -> bool:
        return len(at_slot(units, place[0])) > place[1]

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
        picobits(other.said[own.outcome])
        for mine, at in zip(table, order, strict=True)
        for own, other in zip(mine, table[at], strict=True)
        if own.outcome is not None
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
    units = [own for table in tables.values() for mine in table for own in mine]
    assert gate["rows"] == sum(own.outcome is not None for own in units)
    lost = observed - Fraction(sum(strangers), len(strangers))
    delta = lost / (gate["rows"] * 10**12)
    assert abs(Fraction(gate["delta_bits"]) - delta) <= Fraction(1, 2 * 10**12)


def test_what_was_left_out_of_the_draws_is_counted(drawn: Row) -> None:
    gate = drawn["gates"]["permutation"]
    assert (gate["alone"], gate["strata_alone"]) == (3, 1)
    # One of six targets lacked a third of its forecasts and was dropped, with two; of
    # four others half lacked one on the last day, which was dropped, with two.
    assert gate["unpartnered"] == 4
    assert (gate["targets"], gate["rows"]) == (6, 15 + 7 + 9)


def test_the_gate_records_what_it_was_decided_by(drawn: Row) -> None:
    gate = drawn["gates"]["permutation"]
    by: dict[str, Any] = gate["inference"]
    assert (by["alpha"], by["rho"]) == ("0.050000000000", "0.500000000000")
    assert gate["vs_r2"]["inference"] == by
    assert by["root_seed"] == drawn["inference"]["root_seed"]
    assert by["cohort_hash"] == drawn["cohort_hash"]


@pytest.mark.parametrize(
    ("draws", "status"), [(18, "insufficient"), (19, "collapses")], ids=str
)
def test_draws_that_could_not_reach_alpha_do_not_pass(draws: int, status: str) -> None:
    """Of nineteen draws the least p-value is one in twenty, which is alpha."""
    history = History(suite(statistics__permutations=draws))
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


def told(*, last: str) -> History:
    """Return six targets on two days, of which the last one's second unit is `last`."""
    history = History(suite(coverage__minimum="0.5"))
    for day in range(2):
        asked = [
            history.question(f"d-{day}-{target}", target=f"t-{target}", slot=f"s-{day}")
            for target in range(6)
        ]
        for target, question in enumerate(asked):
            if last != "unforecast" or (day, target) != (1, 5):
                history.seal(question, "0.9" if target % 2 else "0.1")
        history.wait(hours=3)
        for target, question in enumerate(asked):
            if (day, target) != (1, 5):
                history.resolve(question, "pass" if target % 2 else "fail")
            elif last == "VOID":
                history.record(question, last)
        history.wait(hours=30)
    return history


def test_the_forecast_of_a_void_unit_can_stand_in_for_another_targets() -> None:
    found = row(told(last="VOID"))["gates"]["permutation"]
    assert (found["rows"], found["unpartnered"], found["targets"]) == (11, 0, 6)


def test_where_a_target_has_no_forecast_nobody_can_have_it() -> None:
    found = row(told(last="unforecast"))["gates"]["permutation"]
    assert (found["rows"], found["unpartnered"], found["targets"]) == (10, 1, 5)


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
