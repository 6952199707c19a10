"""Recalibrated vectors, beside a plain reading of METRICS that knows no columns.

One moment of the log after the other, and at each the whole past anew; of the product
it takes the judged tables and the two ways of fitting.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.projections.calibration_fit import fit_logistic
from ledger.projections.columns import integers
from ledger.projections.corp import fit_isotonic
from ledger.projections.tally import tally
from tests.reporting import LIVES, report
from tests.story import Step, tell
from tests.test_recalibration import recalibration
from tests.test_rows_plainly import CLIP, Plain, records

Mapping = Callable[[int], int]
FITTED = tuple(
    recalibration(method, min_past=1, name=method) for method in ("platt", "isotonic")
)


class Refitted:
    """A method that is fitted anew while the moments of a log go by."""

    def __init__(self, plain: Plain, method: str) -> None:
        self._plain = plain
        self._method = method
        opened = {
            each["opened_seq"]: each
            for each in plain.forecasts
            if each["opened_seq"] is not None
        }
        # Where each hidden vector was opened, by its position.
        self._opened = {
            opened[each["seq"]]["seq"]: self._place(each)
            for each in plain.forecasts
            if each["seq"] in opened
        }
        self._moments = sorted(
            set(self._moments_of_records()) | {*self._opened.values()}
        )

    def _place(self, event: dict[str, Any]) -> int:
        place: int = event["created_us" if self._plain.claimed else "seq"]
        return place

    def _moments_of_records(self) -> Iterator[int]:
        for record in self._plain.records:
            place = record["published_us" if self._plain.claimed else "seq"]
            if place is not None:
                yield place

    def at(self, place: int) -> Mapping:
        """Return what the method makes of a probability just before a place."""
        mapping: Mapping = lambda p_ppm: p_ppm  # noqa: E731 - what is passed on
        least = 1
        for moment in self._moments:
            known = list(self._known(moment)) if moment < place else []
            while len(known) >= least:
                mapping, least = self._fit(known), 2 * least
        return mapping

    def _known(self, moment: int) -> Iterator[tuple[int, int]]:
        """Yield what was said and what happened, as it was known after a moment."""
        for unit in self._plain.units:
            if (
                unit["template"] != "dispatch-pass"
                or unit["suite"] != self._plain.suite
            ):
                continue
            record = self._plain.known(unit["unit"], moment + 1)
            if record is None or record["status"] != "RESOLVED":
                continue
            for each in self._plain.forecasts:
                if (
                    each["unit"] == unit["unit"]
                    and each["forecaster"] == "native"
                    and each["kind"] == "initial"
                    and each["eligible"]
                    and self._opened.get(each["seq"], -1) <= moment
                ):
                    passes = int(each["probabilities_ppm"].split()[0])
                    yield passes, int(record["outcome"] == "pass")

    def _fit(self, known: list[tuple[int, int]]) -> Mapping:
        p_ppm, y = (integers([each[at] for each in known]) for at in (0, 1))
        if self._method == "isotonic":
            curve = fit_isotonic(tally(p_ppm, y))
            assert curve is not None
            return curve.apply
        line = fit_logistic(p_ppm, y, CLIP).logistic
        return line.apply if line is not None else lambda said: said


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chronology=st.sampled_from(["received", "claimed"]), steps=LIVES)
def test_recalibrated_vectors_are_those_of_a_plain_walk(
    method: str, chronology: str, steps: list[Step]
) -> None:
    history = tell(chronology, steps, FITTED)
    made = report(history)
    made.refresh()
    plain = Plain(made.tables, "history@v1", claimed=chronology == "claimed")
    refitted = Refitted(plain, method)
    two_answers = {
        unit["unit"]: len(unit["answers"]) == 2
        for unit in plain.units
        if unit["suite"] == "history@v1"
    }
    expected = {}
    for each in plain.forecasts:
        if each["forecaster"] != "native" or each["kind"] not in {"initial", "update"}:
            continue
        if each["unit"] not in two_answers or each["probabilities_ppm"] is None:
            continue
        vector = tuple(map(int, each["probabilities_ppm"].split()))
        if two_answers[each["unit"]]:
            place = each["created_us" if plain.claimed else "seq"]
            mapped = refitted.at(place)(vector[0])
            vector = (mapped, 10**6 - mapped)
        expected[each["seq"]] = " ".join(map(str, vector))
    said = records(
        made.tables,
        "SELECT seq, probabilities_ppm FROM baselines JOIN questions USING (unit) "
        f"WHERE competitor = '{method}' AND suite = 'history@v1'",
    )
    assert {each["seq"]: each["probabilities_ppm"] for each in said} == expected
