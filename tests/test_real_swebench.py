"""What an agent's earlier runs say of its later one: rates of real dispatches.

The outcomes of SWE-bench Pro's runs have neither probabilities nor times. Four runs are
the past of a fifth: past-only rates forecast it, over everything, within a repository
and of the very same task.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ledger.projections.exact import dec12
from tests.archive import Archive
from tests.manifests import imported_suite

SUITE = "swebench@v1"
LATER = "kimi-k2-instruct-10132025"
RATES = {"global": "[]", "per-repo": '["tag:repo"]', "per-instance": '["tag:task"]'}
RATE = """[[competitors]]
name = "{name}"
layer = "baseline"
method = "past_rate"
by = {by}
prior_count = "1"
prior_weight = "0"
exclude_own_target = false
half_life_days = 0

"""
# Brier and AUROC, as published beside the data; what is constant ranks nothing.
PUBLISHED = {"global": ("0.21305", "0.50000"), "per-repo": ("0.20029", "0.66763")}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> list[dict[str, str]]:
    path = shared_data / "swebench_pro" / "runs.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def drafts(runs: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield each run on a day of its own: all is opened first, and then resolved."""
    names = sorted({each["run"] for each in runs}, key=lambda run: (run == LATER, run))
    for day, run in enumerate(names, 1):
        of_run = [each for each in runs if each["run"] == run]
        opened, ended = (f"2025-10-{day:02}T{hour:02}:00:00Z" for hour in (8, 20))
        for each in of_run:
            task = each["instance_id"]
            yield {
                "type": "ResolutionRecorded",
                "author": "issuer",
                "created_at": opened,
                "suite": SUITE,
                "status": "PENDING",
                "question": {
                    "template": "dispatch",
                    "id": f"{run}/{task}",
                    "cluster": each["repo"],
                    "opened_at": opened,
                    "cutoff_at": opened,
                    "resolve_by": ended,
                    "horizon": "run",
                    "tags": {"run": run, "repo": each["repo"], "task": task},
                },
            }
        for each in of_run:
            yield {
                "type": "ResolutionRecorded",
                "author": "resolver",
                "created_at": ended,
                "suite": SUITE,
                "template": "dispatch",
                "id": f"{run}/{each['instance_id']}",
                "horizon": "run",
                "status": "RESOLVED",
                "outcome": "pass" if each["resolved"] == "1" else "fail",
                "published_at": ended,
                "source": "SWE-bench Pro",
            }


@pytest.fixture(scope="module")
def later(
    runs: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Row]:
    """Return the rows of the rates on the later run."""
    toml = imported_suite(
        SUITE,
        template="dispatch",
        answers=("pass", "fail"),
        positive="pass",
        horizon="run",
        forecasters=(),
    )
    rates = "".join(RATE.format(name=name, by=by) for name, by in RATES.items())
    head, tail = toml.split("[[competitors]]", 1)
    head = head.replace(
        'allowed_tags = ["source"]', 'allowed_tags = ["run", "repo", "task"]'
    )
    archive = Archive(
        tmp_path_factory.mktemp("swebench"), f"{head}{rates}[[competitors]]{tail}"
    )
    assert archive.append(drafts(runs)) == 2 * 3857
    found = archive.printed("rows", "--by", "tag:run")
    return {
        row["forecaster"]: row for row in found if row["slice"] == f"tag:run={LATER}"
    }


def places(row: Row, score: str, count: int) -> str:
    number = Decimal(row["scores"][score]["value"])
    return str(number.quantize(Decimal(1).scaleb(-count)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_rates_of_earlier_runs_score_on_the_later_one_as_published(
    later: dict[str, Row], name: str
) -> None:
    row = later[name]
    assert row["counts"]["scored"] == 729
    assert (places(row, "brier", 5), places(row, "auroc", 5)) == PUBLISHED[name]


def test_a_task_without_a_past_is_even_where_the_publisher_takes_its_repository_s_rate(
    later: dict[str, Row],
) -> None:
    row = later["per-instance"]
    mean = Fraction(Decimal(row["scores"]["brier"]["value"]))
    assert (places(row, "brier", 5), places(row, "auroc", 5)) == ("0.18459", "0.65516")
    # One task is new; of its repository's 358 earlier dispatches 77 had passed.
    published = mean + (Fraction(78, 360) ** 2 - Fraction(1, 4)) / 729
    assert dec12(published)[:7] == "0.18431"


def test_no_rate_of_the_task_without_a_past_ranks_as_published(
    later: dict[str, Row], runs: list[dict[str, str]]
) -> None:
    """Published is .65566 beside a Brier score that its repository's rate gives."""
    of_task: dict[str, list[int]] = {}
    for each in runs:
        if each["run"] != LATER:
            of_task.setdefault(each["instance_id"], []).append(int(each["resolved"]))
    passed = {e["instance_id"]: e["resolved"] == "1" for e in runs if e["run"] == LATER}
    rates = {
        task: Fraction(sum(of_task[task]) + 1, len(of_task[task]) + 2)
        for task in passed.keys() & of_task.keys()
    }
    [new] = passed.keys() - of_task.keys()

    def ranked(rate: Fraction) -> str:
        said = {**rates, new: rate}
        high = Counter(said[task] for task in passed if passed[task])
        low = Counter(said[task] for task in passed if not passed[task])
        doubled = sum(
            count * other * ((p > q) + (p >= q))
            for p, count in high.items()
            for q, other in low.items()
        )
        pairs = 2 * high.total() * low.total()
        return dec12(Fraction(doubled, pairs))

    assert ranked(Fraction(1, 2)) == later["per-instance"]["scores"]["auroc"]["value"]
    assert f"{float(ranked(Fraction(78, 360))):.5f}" == "0.65565"
    known = sorted({Fraction(0), *rates.values(), Fraction(1)})
    between = [(low + high) / 2 for low, high in pairwise(known)]
    found = {f"{float(ranked(rate)):.5f}" for rate in [*known, *between]}
    assert "0.65565" in found
    assert "0.65566" not in found


def test_the_rates_are_those_of_a_plain_count(
    later: dict[str, Row], runs: list[dict[str, str]]
) -> None:
    earlier = [each["resolved"] == "1" for each in runs if each["run"] != LATER]
    passed = [each["resolved"] == "1" for each in runs if each["run"] == LATER]
    rate = round(Fraction(sum(earlier) + 1, len(earlier) + 2), 6)
    losses = [(rate - happened) ** 2 for happened in passed]
    expected = sum(losses, Fraction(0)) / len(losses)
    assert later["global"]["scores"]["brier"]["value"] == dec12(expected)
    assert later["global"]["scores"]["event_rate"]["exact"] == "202/729"
