"""One score of a row explained: its formula, and what the row put into it."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ledger.errors import UsageError
from ledger.projections.exact import dec12, exact_text
from ledger.projections.glossary import GLOSSARY, Entry
from ledger.projections.rows import Row
from ledger.suite_table import listed, nearest

# Which row a score is of.
_OF = ("suite", "forecaster", "horizon", "slot", "slice", "cohort_hash", "window")
# Intervals that are made of the fit itself (the cluster sandwich), and drawn from nothing.
_FITTED = ("calibration_slope", "calibration_intercept", "intercept_joint")
_ABSENT = object()


def entry_of(score: str) -> Entry:
    """Return what is known of a score; raises `UsageError` for one there is not."""
    found = GLOSSARY.get(score)
    if found is None:
        near = nearest(score, GLOSSARY)
        hint = f"did you mean {near}?" if near else f"there are {listed(GLOSSARY)}"
        raise UsageError(f"no row has a score {score!r}: {hint}")
    return found


def explained(score: str, rows: Iterable[Row]) -> dict[str, Any]:
    """Return a score's definition and, for each row that has it, value and inputs.

    Raises `UsageError` for a score that there is not.
    """
    entry = entry_of(score)
    return {
        "score": score,
        "better": entry.better or None,
        "meaning": entry.meaning,
        "formula": entry.formula,
        "source": entry.source,
        "rows": [_of_row(score, entry, row) for row in rows if score in row["scores"]],
    }


def _of_row(score: str, entry: Entry, row: Row) -> dict[str, Any]:
    measure = row["scores"][score]
    inputs = {"n": measure["n"]}
    if entry.is_mean and "exact" in measure:
        # Every mean is over whole units of 1e-12, so that the sum comes back exactly.
        total = Fraction(measure["exact"]) * measure["n"]
        inputs["sum"] = {"value": dec12(total), "exact": exact_text(total)}
    if "drawn" not in measure:
        inputs["counts.clusters"] = row["counts"]["clusters"]
    for path in entry.inputs:
        found = _at(row, path)
        if found is not _ABSENT:
            inputs[path] = found
    return {
        **{name: row[name] for name in _OF},
        **measure,
        "inputs": inputs,
        "inference": _inference(score, measure, row),
    }


def _inference(score: str, measure: dict[str, Any], row: Row) -> dict[str, Any] | None:
    """Return how the interval of a score was drawn: as the row says, or the score."""
    if score in _FITTED or not {"ci_reason", "lo"} & measure.keys():
        return None
    return {**row["inference"], **measure.get("drawn", {})}


def _at(row: Row, path: str) -> Any:  # noqa: ANN401 - JSON
    found: Any = row
    for key in path.split("."):
        if key not in found:
            return _ABSENT
        found = found[key]
    return found
