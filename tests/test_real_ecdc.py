"""Quantiles and three-way vectors of the European COVID-19 Forecast Hub, 2021.

Four models forecast weekly cases and deaths in four countries, each as 23 quantiles
and as a vector over three answers. The scores of the quantiles were published by the
authors of the R package scoringutils; 15 vectors gave what happened no probability.
"""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger.log import open_reader
from ledger.projections.board import Board, read_board
from ledger.projections.board_units import RESOLVED
from ledger.projections.entrants import Field
from ledger.projections.exact import dec12
from ledger.projections.quantities_scored import Scored, quantity_scores
from ledger.projections.report import no_files
from ledger.projections.stored import open_tables
from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "covid-hub@v1"
ANSWERS = ("low", "medium", "high")
MODELS = (
    "EuroCOVIDhub-baseline",
    "EuroCOVIDhub-ensemble",
    "UMass-MechBayes",
    "epiforecasts-EpiNow2",
)
KINDS = ("Cases", "Deaths")
LEVELS = ["0.01", "0.025", *(f"{k / 100:g}" for k in range(5, 100, 5)), "0.975", "0.99"]
THREE_FIGURES = Context(prec=3)
# Forecasts, then WIS, overprediction, underprediction, dispersion: three figures.
PUBLISHED = {
    ("EuroCOVIDhub-baseline", "Cases"): (128, "28500", "14100", "10300", "4100"),
    ("EuroCOVIDhub-baseline", "Deaths"): (128, "159", "65.9", "2.10", "91.4"),
    ("EuroCOVIDhub-ensemble", "Cases"): (128, "17900", "10000", "4240", "3660"),
    ("EuroCOVIDhub-ensemble", "Deaths"): (128, "41.4", "7.14", "4.10", "30.2"),
    ("UMass-MechBayes", "Deaths"): (128, "52.7", "8.98", "16.8", "26.9"),
    ("epiforecasts-EpiNow2", "Cases"): (128, "20800", "11900", "3260", "5660"),
    ("epiforecasts-EpiNow2", "Deaths"): (119, "66.6", "18.9", "15.9", "31.9"),
}
QUANTITY = """
[quantities.{kind}]
unit = "people"
levels = [{levels}]
interpolate = false
scale = "1"
underage = "3"
overage = "1"
"""


class Asked(NamedTuple):
    """What identifies one observation."""

    kind: str
    location: str
    ends: str
    weeks: str

    @property
    def id(self) -> str:
        return "/".join(self)


class Told(NamedTuple):
    """One forecast: when it was made, and what it says."""

    model: str
    asked: Asked
    made: str
    quantiles: dict[str, str]
    vector: dict[str, str]


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows that are forecasts; others only state what was observed."""
    path = folder / "ecdc_hub" / f"example_{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["model"] and row["predicted"]:
                yield row


def asked(row: dict[str, str]) -> Asked:
    return Asked(
        row["target_type"], row["location"], row["target_end_date"], row["horizon"]
    )


class Hub:
    """The forecasts of the hub, and what was observed."""

    def __init__(self, folder: Path) -> None:
        quantiles: dict[tuple[str, Asked], dict[str, str]] = defaultdict(dict)
        vectors: dict[tuple[str, Asked], dict[str, str]] = defaultdict(dict)
        self.values: dict[Asked, str] = {}
        self.outcomes: dict[Asked, str] = {}
        made: dict[tuple[str, Asked], str] = {}
        for row in rows(folder, "quantile"):
            key = row["model"], asked(row)
            quantiles[key][row["quantile_level"]] = row["predicted"]
            self.values[key[1]] = row["observed"].removesuffix(".0")
            made[key] = row["forecast_date"]
        for row in rows(folder, "nominal"):
            key = row["model"], asked(row)
            vectors[key][row["predicted_label"]] = row["predicted"]
            self.outcomes[key[1]] = row["observed"]
        self.told = [
            Told(*key, made[key], quantiles[key], vectors[key]) for key in sorted(made)
        ]

    def drafts(self) -> Iterator[dict[str, Any]]:
        for each in self.outcomes:
            starts, ends = "2021-05-01T00:00:00Z", f"{each.ends}T23:00:00Z"
            yield {
                "type": "ResolutionRecorded",
                "author": "issuer",
                "created_at": starts,
                "suite": SUITE,
                "status": "PENDING",
                "question": {
                    "template": "weekly",
                    "id": each.id,
                    "cluster": each.location,
                    "opened_at": starts,
                    "cutoff_at": f"{each.ends}T00:00:00Z",
                    "resolve_by": ends,
                    "horizon": "weeks",
                },
            }
        for told in self.told:
            yield {
                "type": "ForecastSealed",
                "author": "forecaster",
                "created_at": f"{told.made}T00:00:00Z",
                "forecaster": told.model,
                **self.unit(told.asked),
                "probabilities": told.vector,
                "quantities": {told.asked.kind: {"quantiles": told.quantiles}},
            }
        for each, outcome in self.outcomes.items():
            ends = f"{each.ends}T23:00:00Z"
            yield {
                "type": "ResolutionRecorded",
                "author": "resolver",
                "created_at": ends,
                **self.unit(each),
                "status": "RESOLVED",
                "outcome": outcome,
                "values": {each.kind: self.values[each]},
                "published_at": ends,
                "source": "ECDC",
            }

    @staticmethod
    def unit(each: Asked) -> dict[str, str]:
        return {"suite": SUITE, "template": "weekly", "id": each.id}


@pytest.fixture(scope="module")
def archive(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    toml = imported_suite(
        SUITE,
        template="weekly",
        answers=ANSWERS,
        positive=None,
        horizon="weeks",
        forecasters=MODELS,
    )
    levels = ", ".join(f'"{level}"' for level in LEVELS)
    asking = "".join(QUANTITY.format(kind=kind, levels=levels) for kind in KINDS)
    made = Archive(tmp_path_factory.mktemp("hub"), toml + asking)
    assert made.append(Hub(shared_data).drafts()) == 256 + 887 + 256
    return made


@pytest.fixture(scope="module")
def board(archive: Archive) -> Board:
    with (
        open_reader(archive.folder) as reader,
        open_tables(archive.folder, reader.store) as (tables, frozen),
    ):
        return read_board(tables, frozen, frozen.suites[SUITE], no_files)


def scores(board: Board, model: str, kind: str) -> dict[str, Scored]:
    competitor = board.suite.manifest.competitor(model)
    assert competitor is not None
    entrant = Field(board).enter(competitor, "initial")
    resolved = (board.units.status == RESOLVED).nonzero()[0]
    return quantity_scores(board, entrant.chosen, resolved)[kind]


@pytest.mark.parametrize(
    ("model", "kind"), PUBLISHED, ids=[f"{model} {kind}" for model, kind in PUBLISHED]
)
def test_interval_scores_are_the_published_ones_to_three_figures(
    board: Board, model: str, kind: str
) -> None:
    n, *published = PUBLISHED[model, kind]
    found = scores(board, model, kind)
    shown = []
    for metric in (
        "wis",
        "wis_overprediction",
        "wis_underprediction",
        "wis_dispersion",
    ):
        measure = found[metric].measure
        assert measure.n == n
        assert measure.value is not None
        shown.append(THREE_FIGURES.create_decimal(dec12(measure.value)))
    assert shown == [Decimal(each) for each in published]


def test_a_model_that_forecast_no_cases_has_no_score_for_them(board: Board) -> None:
    reasons = {
        each.reason for each in scores(board, "UMass-MechBayes", "Cases").values()
    }
    assert reasons == {"not_declared"}


def test_15_vectors_gave_no_probability_to_what_happened_and_are_counted(
    archive: Archive,
) -> None:
    counted = {
        row["forecaster"]: row["counts"]["raw_infinite_count"]
        for row in archive.rows()
        if row["forecaster"] in MODELS
    }
    assert counted == {
        "EuroCOVIDhub-baseline": 6,
        "EuroCOVIDhub-ensemble": 0,
        "UMass-MechBayes": 1,
        "epiforecasts-EpiNow2": 8,
    }
    assert sum(counted.values()) == 15


def test_one_such_vector_makes_the_raw_log_score_minus_infinity(
    archive: Archive,
) -> None:
    raw = {
        row["forecaster"]: row["scores"]["log_score_bits"]["value"]
        for row in archive.rows()
        if row["forecaster"] in MODELS
    }
    finite = raw.pop("EuroCOVIDhub-ensemble")
    assert set(raw.values()) == {"-inf"}
    assert Decimal(finite) < 0
