"""Rows as points: one number a line, under the path that the Piper paper gives it.

`world/brier`, `self/by_repo/piper/auroc`, `integrity/late_forecast_rate`,
`utility/regret` (S001 §9.3). What acting on the forecasts cost is `utility/extra_compute`,
as there; what making them cost, by each name that their author states, stands beside it as
`utility/costs/usd`. Each carries its N, its window, the versions that it comes
from and its interval, so that a point never stands alone.
"""

from collections.abc import Iterator
from typing import Any

from ledger.projections.rows import Row

# What the paper calls a score; the rest keep their names.
_CALLED = {
    "log_loss": "logloss",
    "bss_frozen": "bss",
    "calibration_slope": "calibration/slope",
    "calibration_intercept": "calibration/intercept",
    "intercept_joint": "calibration/intercept_joint",
    "ece": "calibration/ece",
    "mce": "calibration/mce",
}
_KEPT = (
    *("value", "exact", "total", "lo", "hi", "n", "count", "reason", "ci_reason"),
    "drawn",
)
_OF = (
    *("suite", "suite_hash", "forecaster", "layer", "source", "principal_entries"),
    *("horizon", "slot"),
)
_FROM = ("slice", "window", "as_of", "scorer", "cohort_hash", "labels")
_INTEGRITY = (
    "late_forecast_rate",
    "unresolved_rate",
    "void_rate",
    "hash_mismatch",
    "duplicate_rate",
    "missing_rate",
)


def points(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the points of a row: its scores, its coverage, integrity and utility."""
    around = {name: row[name] for name in (*_OF, *_FROM)}
    for path, measure in _measures(row):
        kept = {name: measure[name] for name in _KEPT if name in measure}
        kept.setdefault("n", measure.get("of", row["counts"]["scored"]))
        yield {"path": path, **kept, **around}


def _measures(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    part = _part(row)
    for score, measure in row["scores"].items():
        yield f"{row['track']}/{part}{_CALLED.get(score, score)}", measure
    status = row["gates"]["calibration"]["status"]
    yield f"{row['track']}/{part}calibration", {"value": status}
    yield f"{row['track']}/{part}coverage", row["coverage"]
    for rate in _INTEGRITY:
        yield f"integrity/{part}{rate}", row["integrity"][rate]
    for test, rate in row["integrity"]["feature_leak_tests"]["tests"].items():
        yield f"integrity/{part}feature_leak_tests/{test}", rate
    for name, measure in row["utility"].items():
        if isinstance(measure, dict) and "value" in measure:
            yield f"utility/{part}{name}", measure
    for name, cost in row.get("costs", {}).items():
        yield f"utility/{part}costs/{name}", cost


def _part(row: Row) -> str:
    """Return where a row's part stands in a path: nowhere for a row over everything."""
    horizon = f"by_horizon/{row['horizon']}/" if row["horizon"] else ""
    if row["slice"] is None:
        return horizon
    grouping, _, value = str(row["slice"]).partition("=")
    return f"{horizon}by_{grouping.removeprefix('tag:')}/{value}/"
