"""The scores of rows, beside a plain reading of METRICS that knows no columns.

One unit and one vector at a time, in fractions; of the product it takes the judged
tables, the score of a single vector and the largest remainder.
"""

import json
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.projections.exact import dec12, largest_remainder
from ledger.projections.materialize import Tables
from ledger.projections.scores import score
from tests.reporting import LIVES, report
from tests.story import Step, tell

CLIP = 1_000
HOUR_US = 3_600_000_000
SLOTS = ("initial", "final", "all", "time_weighted", "at_lead:22", "at_lead:23")


class Vector(NamedTuple):
    """A vector that counts or is still hidden, and where it stands in time."""

    ppm: tuple[int, ...] | None
    place: int
    sealed_us: int
    is_root: bool


def records(tables: Tables, sql: str) -> list[dict[str, Any]]:
    cursor = tables.connection.execute(sql)
    return [
        {
            column[0]: cell
            for column, cell in zip(cursor.get_description(), row, strict=True)
        }
        for row in cursor
    ]


class Plain:
    """A suite's tables, read row by row."""

    def __init__(self, tables: Tables, suite: str, *, claimed: bool) -> None:
        self.claimed = claimed
        self.suite = suite
        self.units = [
            {**each, "answers": json.loads(each["answers"])}
            for each in records(tables, "SELECT * FROM questions ORDER BY identity")
        ]
        self.forecasts = records(tables, "SELECT * FROM forecasts ORDER BY seq")
        self.records = records(
            tables, "SELECT * FROM resolutions WHERE counts ORDER BY seq"
        )
        self.as_of = next(
            each["last_us"]
            for each in records(tables, "SELECT * FROM suites")
            if each["suite"] == suite
        )

    def declared(self) -> list[dict[str, Any]]:
        return [
            unit
            for unit in self.units
            if unit["suite"] == self.suite and unit["cutoff_us"] <= self.as_of
        ]

    def chain(self, unit: dict[str, Any], forecaster: str) -> list[Vector]:
        return [
            Vector(
                tuple(map(int, each["probabilities_ppm"].split()))
                if each["eligible"]
                else None,
                each["created_us"] if self.claimed else each["seq"],
                each["created_us"] if self.claimed else each["received_us"],
                each["kind"] == "initial",
            )
            for each in self.forecasts
            if each["unit"] == unit["unit"]
            and each["forecaster"] == forecaster
            and (each["eligible"] or each["reason"] == "hidden")
            and each["kind"] != "reveal"
        ]

    def weighted(
        self, unit: dict[str, Any], forecaster: str, slot: str
    ) -> list[tuple[Vector, int]]:
        """Return the vectors of a slot with their weights; none if one is hidden."""
        taken = self.taken(unit, forecaster, slot)
        return taken if all(vector.ppm for vector, _ in taken) else []

    def taken(
        self, unit: dict[str, Any], forecaster: str, slot: str
    ) -> list[tuple[Vector, int]]:
        """Return the vectors that a slot would take (METRICS §19)."""
        chain = self.chain(unit, forecaster)
        end = min(
            unit["cutoff_us"],
            unit["cutoff_us"] if unit["started_us"] is None else unit["started_us"],
        )
        if slot == "initial":
            return [(each, 1) for each in chain if each.is_root]
        if slot == "all":
            return [(each, 1) for each in chain]
        if slot == "time_weighted" and chain:
            ends = [min(each.sealed_us, end) for each in chain[1:]] + [end]
            timed = zip(chain, ends, strict=True)
            return [(v, e - v.sealed_us) for v, e in timed if e > v.sealed_us]
        if slot.startswith("at_lead:"):
            hours = int(slot.removeprefix("at_lead:"))
            latest = unit["resolve_by_us"] - hours * HOUR_US
            chain = [each for each in chain if each.sealed_us <= latest]
        return [(each, 1) for each in chain[-1:]]

    def past_rate(self, unit: dict[str, Any], place: int) -> tuple[int, ...]:
        """Return what `past-rate` says at a place: of other targets, with 1/2 each."""
        counts = [Fraction(1, 2)] * len(unit["answers"])
        for other in self.units:
            if other["template"] != "dispatch-pass" or other["suite"] != self.suite:
                continue
            if other["target"] == unit["target"] or other["answers"] != unit["answers"]:
                continue
            known = self.known(other["unit"], place)
            if known is not None and known["status"] == "RESOLVED":
                counts[unit["answers"].index(known["outcome"])] += 1
        return largest_remainder([each / sum(counts) for each in counts])

    def known(self, unit: int, place: int) -> dict[str, Any] | None:
        """Return the record that was known of a unit just before a place."""
        of_unit = [each for each in self.records if each["unit"] == unit]
        if not self.claimed:
            before = [each for each in of_unit if each["seq"] < place]
        else:
            before = [
                each
                for each in of_unit
                if each["published_us"] is not None and each["published_us"] < place
            ]
        # Of what was out, the one that stands last in the log.
        return before[-1] if before else None


def mean_of(values: list[tuple[int, int]]) -> int:
    """Return a weighted mean, rounded half-even to an integer of 1e-12."""
    return round(
        Fraction(sum(s * w for s, w in values), sum(weight for _, weight in values))
    )


class Sums(NamedTuple):
    """What the scored units of a row lost, all with two answers or not."""

    is_binary: bool
    losses: list[int]
    bits: list[int]
    against: list[int]
    gains: list[int]


def sums(plain: Plain, forecaster: str, slot: str) -> Sums:
    declared = plain.declared()
    is_binary = all(len(unit["answers"]) == 2 for unit in declared)
    found = Sums(is_binary, [], [], [], [])
    for unit in declared:
        chosen = plain.weighted(unit, forecaster, slot)
        if unit["status"] != "RESOLVED" or not chosen:
            continue
        outcome = unit["answers"].index(unit["outcome"])
        mine = [(score(v.ppm or (), outcome, CLIP), weight) for v, weight in chosen]
        base = [
            (score(plain.past_rate(unit, v.place), outcome, CLIP), weight)
            for v, weight in chosen
        ]
        half = 2 if is_binary else 1
        found.losses.append(mean_of([(s.brier_sum // half, w) for s, w in mine]))
        found.against.append(mean_of([(s.brier_sum // half, w) for s, w in base]))
        bits = mean_of([(s.picobits_clipped, w) for s, w in mine])
        found.bits.append(bits)
        found.gains.append(bits - mean_of([(s.picobits_clipped, w) for s, w in base]))
    return found


def shown(total: int, size: int) -> str | None:
    return dec12(Fraction(total, size * 10**12)) if size else None


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=LIVES,
    slot=st.sampled_from(SLOTS),
)
def test_rows_score_as_a_plain_reading_does(
    chronology: str, steps: list[Step], slot: str
) -> None:
    history = tell(chronology, steps)
    made = report(history)
    for row in made.rows(slot=slot):
        if row["forecaster"] not in {"native", "rival"} or row["horizon"]:
            continue
        claimed = row["chronology"] == "claimed"
        plain = Plain(made.tables, row["suite"], claimed=claimed)
        expected = sums(plain, row["forecaster"], slot)
        size, scores = len(expected.losses), row["scores"]
        name = "brier" if expected.is_binary and plain.declared() else "brier_sum"
        assert row["counts"]["scored"] == size
        assert scores[name]["value"] == shown(sum(expected.losses), size)
        assert scores["log_score_bits_clipped"]["value"] == shown(
            sum(expected.bits), size
        )
        assert scores["skill_vs_r1_bits"]["value"] == shown(sum(expected.gains), size)
        baseline = sum(expected.against)
        skill = (
            dec12(1 - Fraction(sum(expected.losses), baseline)) if baseline else None
        )
        assert scores["bss_frozen"]["value"] == skill
