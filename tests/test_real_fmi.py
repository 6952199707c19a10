"""A year of rain forecasts for Tampere, with the 20 numbers published about them.

Data: Finnish Meteorological Institute, kindly provided by P. Nurmi; published in the
WWRP/WGNE verification pages (see the data's own README).
"""

import csv
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from ledger.projections.cohort import Loss, skill_of_rates
from ledger.projections.columns import integers
from ledger.projections.corp import corp
from ledger.projections.exact import PPM, UNITS
from ledger.projections.murphy import Murphy, by_distinct_values
from ledger.projections.tally import Tally, tally

# The event is more rain than this, and not this much: twelve days have exactly .2 mm.
RAIN, HEAVY_RAIN = Decimal("0.2"), Decimal("4.4")
PUBLISHED = {
    "rain, a day ahead": (
        ("p24_cat1", "p24_cat2"),
        RAIN,
        (".144", ".025", ".060", ".179", ".194"),
    ),
    "heavy rain, a day ahead": (
        ("p24_cat2",),
        HEAVY_RAIN,
        (".037", ".003", ".020", ".054", ".312"),
    ),
    "rain, two days ahead": (
        ("p48_cat1", "p48_cat2"),
        RAIN,
        (".178", ".027", ".036", ".187", ".047"),
    ),
    "heavy rain, two days ahead": (
        ("p48_cat2",),
        HEAVY_RAIN,
        (".044", ".003", ".011", ".052", ".146"),
    ),
}
Case = tuple[tuple[str, ...], Decimal, tuple[str, ...]]


@pytest.fixture(scope="module")
def days(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "fmi_pop" / "pop.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def counted(days: list[dict[str, str]], columns: tuple[str, ...], mm: Decimal) -> Tally:
    """Return the counts of the days with a forecast and an observation."""
    complete = [day for day in days if all(day[name] for name in ("obs", *columns))]
    said = [sum(Decimal(day[name]) for name in columns) * PPM for day in complete]
    assert all(p == int(p) for p in said)
    y = [int(Decimal(day["obs"]) > mm) for day in complete]
    return tally(integers([int(p) for p in said]), integers(y))


def parts(counts: Tally) -> Murphy:
    found = by_distinct_values(counts)
    assert found is not None
    return found


@pytest.mark.parametrize("case", PUBLISHED.values(), ids=PUBLISHED)
def test_the_five_published_numbers_of_a_forecast(
    days: list[dict[str, str]], case: Case
) -> None:
    columns, mm, published = case
    counts = counted(days, columns, mm)
    found = parts(counts)
    loss = Loss(
        cohort="346 days",
        total=int(found.brier * counts.units * UNITS),
        units=counts.units,
    )
    others = counts.units - counts.events
    skill = skill_of_rates(loss, [others, counts.events], binary=True).value
    numbers = (
        found.brier,
        found.reliability,
        found.resolution,
        found.uncertainty,
        skill,
    )
    assert counts.units == 346
    assert [round(number or Fraction(0), 3) for number in numbers] == [
        Fraction(text) for text in published
    ]


@pytest.mark.parametrize("case", PUBLISHED.values(), ids=PUBLISHED)
def test_murphys_parts_and_corps_sum_to_the_same_score(
    days: list[dict[str, str]], case: Case
) -> None:
    columns, mm, _ = case
    counts = counted(days, columns, mm)
    murphy, curve = parts(counts), corp(counts)
    assert curve is not None
    assert murphy.brier == murphy.uncertainty - murphy.resolution + murphy.reliability
    assert murphy.brier == curve.brier
    # A curve that may not fall recalibrates less than one that is free.
    assert curve.miscalibration <= murphy.reliability
    assert curve.discrimination <= murphy.resolution
