"""Two published boards of ForecastBench, recomputed from the resolutions behind them.

The files are turned into drafts as `ledger import forecastbench` does, and go through
the whole ledger: signed, stored, folded into tables, made into rows.
"""

import csv
import gzip
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.forecastbench import convert
from ledger.cli.forecastbench_files import read_rows
from ledger.cli.forecastbench_plan import Plan, Report, forecasters_of
from ledger.cli.forecastbench_suite import toml_of
from tests.archive import Archive

# The commits of the data, and the days on which they were made.
BOARDS = {"10a746bd4e": date(2025, 11, 6), "30c05f16a8": date(2026, 2, 8)}
CONSTANTS = {"Always 0": "always-0", "Always 0.5": "always-0.5", "Always 1": "always-1"}
THOUSANDTHS = Decimal("0.001")


def recomputed(
    commit: str, resolutions: Path, home: Path
) -> tuple[list[dict[str, Any]], Report]:
    """Return the rows of a ledger of these resolutions, and what was imported."""
    report = Report()
    plan = Plan(
        suite="forecastbench@v1",
        issuer="issuer",
        forecaster="forecaster",
        resolver="resolver",
        forecasters=forecasters_of(f"{name}={name[7:]}" for name in CONSTANTS.values()),
        as_of=BOARDS[commit],
    )
    archive = Archive(home, toml_of(plan, "evaluator"))
    archive.append(convert(read_rows(resolutions), plan, report))
    return archive.rows(), report


def digits(value: Fraction) -> Decimal:
    """Return a score as the board prints it: three places."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(THOUSANDTHS, ROUND_HALF_EVEN)


# One test a board, since its ledger takes a hundred thousand signatures: a machine
# that does much else at the same time needs minutes for them.
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("commit", BOARDS)
def test_a_published_board_is_recomputed_to_every_digit(
    commit: str, shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "forecastbench"
    with gzip.open(folder / f"leaderboard_baseline.{commit}.csv.gz", "rt") as lines:
        published = {line["Model"]: line for line in csv.DictReader(lines)}
    found, report = recomputed(
        commit, folder / f"resolutions_singles.{commit}.csv.gz", tmp_path
    )
    rows = {(row["forecaster"], row["slice"]): row for row in found}

    for model, name in CONSTANTS.items():
        line, brier = published[model], []
        for kind in ("dataset", "market"):
            row = rows[name, f"tag:kind={kind}"]
            brier.append(Fraction(row["scores"]["brier"]["value"]))
            assert row["counts"]["scored"] == int(line[f"N {kind}"])
            assert digits(brier[-1]) == Decimal(line[kind.title()])
        # The overall score is the mean of both kinds, not of all questions.
        assert digits(sum(brier) / Fraction(2)) == Decimal(line["Overall"])

    assert report.drafts["RESOLVED"] == int(published["Always 0"]["N"])
    skipped = sum(each.count for each in report.skipped.values())
    assert report.rows == sum(report.units.values()) + skipped
    labels = {(row["chronology"], row["run_class"]) for row in found}
    assert labels == {("claimed", "exploratory")}
